//===- Configurations.h - kernels that many orders are run of ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler makes by default of a list of attentions, and of one attention
// with every scheduler.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_CONFIGURATIONS_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_CONFIGURATIONS_H

#include "Case.h"

namespace fa4::matrix {

struct Configuration {
  std::string chip;
  std::string name;
  Case point;
  /// Otherwise the planner chooses who draws the tiles, and in which order.
  bool statesScheduler = false;
  /// Two CTAs compute each tile.
  bool onPairs = false;
};

std::vector<Configuration> listConfigurations();

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_CONFIGURATIONS_H
