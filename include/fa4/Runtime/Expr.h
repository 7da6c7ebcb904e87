//===- Expr.h - formulas of a bundle ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Grids, sizes and parameters depend on the caller's tensors. They are integer
// formulas over extents, byte strides and scalars, written in JSON as prefix
// expressions: `["ceildiv", ["extent", "q", 1], 128]`. There is one evaluator, so
// the simulator, the GPU launcher and embedders cannot disagree. Arithmetic that
// leaves 64 bits is an error, never a wrapped number.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_RUNTIME_EXPR_H
#define FA4_RUNTIME_EXPR_H

#include "fa4/Runtime/Binding.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fa4::runtime {

class JsonReader;

class Expr {
public:
  enum class Op : uint8_t {
    Literal,
    Extent, ///< of a tensor, in elements
    Stride, ///< of a tensor, in bytes
    Scalar, ///< an integer scalar argument
    /// Of the device that runs the launch: how many CTAs with all of a processor's
    /// shared memory it holds.
    Processors,
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    Mod, ///< with the sign of the divisor, as floordiv needs it
    Min,
    Max,
    AlignUp, ///< the first operand, rounded up to a multiple of the second
    Less,    ///< 1 or 0
    Equal,   ///< 1 or 0
    Select   ///< the second operand where the first is not 0, else the third
  };

  Expr(int64_t literal = 0) : literal(literal) {}
  static Expr extent(llvm::StringRef tensor, unsigned dim);
  static Expr stride(llvm::StringRef tensor, unsigned dim);
  static Expr scalar(llvm::StringRef name);
  static Expr processors();
  static Expr make(Op op, std::vector<Expr> operands);

  Op getOp() const { return op; }
  bool isLiteral(int64_t value) const { return op == Op::Literal && literal == value; }

  /// Reads the JSON form; errors stay with the reader.
  static Expr read(JsonReader &reader);
  void write(llvm::json::OStream &json) const;

  llvm::Expected<int64_t> evaluate(const Binding &binding) const;

  /// Calls `visit` for every tensor or scalar that the formula names.
  void forEachName(llvm::function_ref<void(llvm::StringRef, Op, int64_t dim)> visit) const;

private:
  llvm::Expected<int64_t> evaluateCall(const Binding &binding) const;

  Op op = Op::Literal;
  int64_t literal = 0; ///< also the dimension of an extent or stride
  std::string name;
  std::vector<Expr> operands;
};

inline Expr operator+(Expr a, Expr b) {
  return Expr::make(Expr::Op::Add, {std::move(a), std::move(b)});
}
inline Expr operator-(Expr a, Expr b) {
  return Expr::make(Expr::Op::Sub, {std::move(a), std::move(b)});
}
inline Expr operator*(Expr a, Expr b) {
  return Expr::make(Expr::Op::Mul, {std::move(a), std::move(b)});
}
inline Expr ceilDiv(Expr a, Expr b) {
  return Expr::make(Expr::Op::CeilDiv, {std::move(a), std::move(b)});
}

} // namespace fa4::runtime

#endif // FA4_RUNTIME_EXPR_H
