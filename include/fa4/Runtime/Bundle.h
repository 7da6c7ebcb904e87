//===- Bundle.h - a compiled kernel and how to launch it --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bundle is a JSON file beside a PTX file: which arguments a caller binds, which
// workspaces are needed, and an ordered list of launches whose grids, sizes and
// parameters are formulas over the arguments. The reader accepts what
// docs/bundle.schema.json describes and nothing else; the writer's output is the
// same bytes for the same bundle.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_RUNTIME_BUNDLE_H
#define FA4_RUNTIME_BUNDLE_H

#include "fa4/Runtime/Expr.h"

#include <array>
#include <memory>
#include <variant>

namespace fa4::runtime {

constexpr int64_t kBundleSchemaVersion = 1;

enum class Access : uint8_t { Read, Write, ReadWrite };

struct Argument {
  std::string name;
  bool isTensor = true;
  /// A scalar has one of i32, i64, f32.
  ElementType type = ElementType::F32;
  unsigned rank = 0;
  Access access = Access::Read;
};

struct Workspace {
  std::string name;
  Expr bytes;
  bool zero = false; ///< filled with zeros before the first launch
};

enum class Swizzle : uint8_t { None, Bytes32, Bytes64, Bytes128 };
enum class L2Promotion : uint8_t { None, Bytes64, Bytes128, Bytes256 };
enum class OutsideFill : uint8_t { Zero, NaN };

/// How to encode a tensor map (tiled mode, no interleave). Dimension 0 moves
/// fastest and is contiguous; `strides` are those of dimensions 1 and up, in bytes.
struct TensorMapRecipe {
  std::string tensor;
  Expr offset; ///< bytes
  ElementType type = ElementType::BF16;
  std::vector<Expr> extents, strides;
  std::vector<uint32_t> box, elementStrides;
  Swizzle swizzle = Swizzle::None;
  L2Promotion promotion = L2Promotion::None;
  OutsideFill fill = OutsideFill::Zero;
};

struct AddressParameter {
  std::string tensor; ///< or workspace
  Expr offset;        ///< bytes
};

struct IntegerParameter {
  unsigned bytes = 4; ///< 1, 2, 4 or 8
  Expr value;
};

/// An f32: a number, or a scalar argument times a number.
struct FloatParameter {
  double value = 1;
  std::string scalar; ///< empty: `value` alone
};

struct StructParameter;
using Parameter = std::variant<AddressParameter, IntegerParameter, FloatParameter, TensorMapRecipe,
                               StructParameter>;

/// Fields at byte offsets; what no field covers is zero.
struct StructParameter {
  struct Field;
  uint32_t bytes = 0;
  std::vector<Field> fields;
};

struct StructParameter::Field {
  uint32_t offset = 0;
  Parameter value;
};

struct Launch {
  std::string entry;
  std::array<Expr, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::optional<std::array<uint32_t, 3>> cluster;
  Expr dynamicSharedBytes;
  std::vector<Parameter> parameters;
  /// May start before the launch before it has ended.
  bool programmaticDependence = false;
};

/// What the compiled code takes for granted of its arguments.
struct Condition {
  Expr holds;           ///< not 0
  std::string expected; ///< "extent 1 of 'q' to be 1024"
  Expr value;           ///< what to quote if it does not hold
};

struct Bundle {
  std::string target; ///< "sm_100a"
  std::string ptx;    ///< file name, relative to the bundle
  std::vector<Argument> arguments;
  std::vector<Condition> conditions;
  std::vector<Workspace> workspaces;
  std::vector<Launch> launches;
};

/// Parses and checks; `name` stands for the file in errors, which also carry the
/// place: `q.json: launches[0].grid[1]: expected …, but got …`.
llvm::Expected<Bundle> parseBundle(llvm::StringRef text, llvm::StringRef name);
llvm::Expected<Bundle> readBundle(llvm::StringRef path);
void writeBundle(llvm::raw_ostream &os, const Bundle &bundle);

} // namespace fa4::runtime

#endif // FA4_RUNTIME_BUNDLE_H
