//===- HandText.h - the kernels written by hand, as text ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests change the texts of test/Dialect/Tile/by-hand rather than keep their own.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_TILE_HANDTEXT_H
#define FA4_TEST_UNIT_TILE_HANDTEXT_H

#include <fstream>
#include <sstream>
#include <string>

inline std::string readHandText(const std::string &name) {
  std::ifstream file(std::string(FA4_BY_HAND "/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

#endif // FA4_TEST_UNIT_TILE_HANDTEXT_H
