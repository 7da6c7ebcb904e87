//===- RegionInterpreter.h - score regions in float64 -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle's reading of the regions of `attn.forward`: every float is a
// double, every integer wraps at its width. Shares nothing with the lowering.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_REGIONINTERPRETER_H
#define FA4_DRIVER_REGIONINTERPRETER_H

#include "fa4/Driver/HostArray.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"

namespace fa4::driver {

/// A value of a region: `real` for float types, `integer` for the others.
union RegionValue {
  double real;
  int64_t integer;
};

class RegionInterpreter {
public:
  /// Reads `region`, whose leading arguments are scalars that `run` gives and
  /// whose others are `captures` (arrays or scalars).
  static llvm::Expected<RegionInterpreter> create(mlir::Region &region,
                                                  llvm::ArrayRef<Argument> captures);

  /// The yielded value for these leading scalars. Thread-safe.
  RegionValue run(llvm::ArrayRef<RegionValue> scalars) const;

  /// One operation on slots.
  struct Instruction {
    void (*execute)(const Instruction &instruction, RegionValue *slots);
    unsigned result = 0;
    unsigned operands[3] = {0, 0, 0};
    /// Integer width, comparison predicate or rank, by operation.
    int64_t detail = 0;
    /// The array that a fetch reads; its coordinates are `coordinates`.
    const HostArray *array = nullptr;
    llvm::SmallVector<unsigned, 4> coordinates;
    /// The branches of an `scf.if`, with the slots they yield.
    std::vector<Instruction> thenPart, elsePart;
    llvm::SmallVector<unsigned, 2> thenYields, elseYields, results;
  };

private:
  class Reader;
  std::vector<Instruction> program;
  std::vector<RegionValue> initial;
  unsigned numScalars = 0;
  unsigned yielded = 0;
};

} // namespace fa4::driver

#endif // FA4_DRIVER_REGIONINTERPRETER_H
