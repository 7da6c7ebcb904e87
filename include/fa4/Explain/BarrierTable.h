//===- BarrierTable.h - who arrives and who waits ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The barriers of a kernel at T2, with every op that arrives or waits at them: by
// role, and how often.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_EXPLAIN_BARRIERTABLE_H
#define FA4_EXPLAIN_BARRIERTABLE_H

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include <string>
#include <vector>

namespace fa4::explain {

struct BarrierTable {
  struct Row {
    std::string name;
    std::string slots; ///< "2 x 3": family and depth
    std::string count; ///< arrivals that end a phase; threads of a named barrier
    std::string place; ///< byte or ids
    /// "load: expect each trip".
    std::vector<std::string> arrives, waits;
  };
  std::string kernel;
  std::vector<Row> rows;

  static BarrierTable of(tile::KernelOp kernel);
  void printText(llvm::raw_ostream &os) const;
  void printHtml(llvm::raw_ostream &os) const;
};

} // namespace fa4::explain

#endif // FA4_EXPLAIN_BARRIERTABLE_H
