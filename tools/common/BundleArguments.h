//===- BundleArguments.h - a bundle's arguments in words --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the launching tools take for an argument of a bundle:
//
//   NAME=PATH.npy          a tensor's shape and elements
//   NAME=zeros:2x256       memory of zeros
//   NAME=empty:2x256       memory that holds nothing yet
//   NAME=random:2x256      seeded normal numbers, rounded to the argument's type
//   NAME=5  NAME=0.125     a scalar
//
// The same seed draws the same numbers in every tool.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_COMMON_BUNDLEARGUMENTS_H
#define FA4_TOOLS_COMMON_BUNDLEARGUMENTS_H

#include "fa4/Runtime/Bundle.h"
#include "fa4/Support/Npy.h"

namespace fa4::tool {

/// One argument with its value.
struct GivenArgument {
  const runtime::Argument *declared = nullptr;
  std::vector<int64_t> shape;
  std::vector<char> bytes; ///< of a tensor, in C order; none if it holds nothing yet
  bool isEmpty = false;
  int64_t integer = 0;
  double number = 0;
  std::string text; ///< what stood behind the `=`

  /// Bytes of the whole tensor.
  uint64_t tensorBytes() const;
};

/// The type that a .npy file has for `type`, if there is one.
std::optional<support::NpyType> npyTypeOf(runtime::ElementType type);

/// Reads one `NAME=VALUE`; a tensor has the type and rank that the bundle declares.
llvm::Expected<GivenArgument> parseArgument(const runtime::Bundle &bundle, llvm::StringRef spec,
                                            uint64_t seed);

/// An array of a tensor's elements.
support::NpyArray toArray(const runtime::Argument &declared, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<uint8_t> bytes);

} // namespace fa4::tool

#endif // FA4_TOOLS_COMMON_BUNDLEARGUMENTS_H
