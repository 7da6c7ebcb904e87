//===- TileText.h - T0 programs of one body, as text ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_TILETEXT_H
#define FA4_TEST_UNIT_DRIVER_TILETEXT_H

#include <string>
#include <vector>

namespace fa4::driver {

/// One argument of a kernel: `global` is the parameter of its `!tile.global`,
/// `memref` the type of the array it is launched with; for scalars both are the type.
struct KernelArgument {
  std::string name, global, memref;
};

inline bool isScalar(const KernelArgument &argument) { return argument.global == argument.memref; }

/// A module whose `@main` launches a kernel with `tiles` tiles; `body` sees the
/// arguments as %name, the tile's number as %t, and the defs in `defs`.
inline std::string kernelText(const std::vector<KernelArgument> &arguments, const std::string &body,
                              int tiles = 1, const std::string &defs = "") {
  std::string kernelArgs, mainArgs, operands, types;
  for (const KernelArgument &argument : arguments) {
    std::string separator = kernelArgs.empty() ? "" : ", ";
    std::string type =
        isScalar(argument) ? argument.global : "!tile.global<" + argument.global + ">";
    kernelArgs += separator + "%" + argument.name + ": " + type;
    mainArgs += separator + "%" + argument.name + ": " + argument.memref;
    operands += separator + "%" + argument.name;
    types += separator + argument.memref;
  }
  return defs + "tile.kernel @kernel(" + kernelArgs + ", %nt: i32) " +
         "target(#fa4.target<\"sm_100a\">) schedule(#fa4.schedule<forward, tile = 128 x 128>) {\n"
         "tile.work @work(%w) tiles(%nt : i32) -> (%t) facts() { tile.yield %w : i32 }\n"
         "tile.for_each_tile (%t) in @work {\n%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 "
         ": i32\n" +
         body + "\n}\n}\nfunc.func @main(" + mainArgs + ") {\n%nt = arith.constant " +
         std::to_string(tiles) + " : i32\ntile.launch @kernel(" + operands + ", %nt) : " + types +
         ", i32\nreturn\n}\n";
}

} // namespace fa4::driver

#endif // FA4_TEST_UNIT_DRIVER_TILETEXT_H
