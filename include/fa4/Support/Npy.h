//===- Npy.h - reading and writing .npy files -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The .npy format, versions 1.0 and 2.0, for the element types that attention
// takes, in C and Fortran order. Every malformed file ends in an llvm::Error.
//
// NumPy has no bf16. Read as bf16: `<u2` (raw bits, what we write, loadable
// everywhere) and `|V2` / `<V2` (what ml_dtypes' bfloat16 is saved as). Written as
// bf16: `<u2`; in NumPy `np.load(f).view(ml_dtypes.bfloat16)` gives numbers.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SUPPORT_NPY_H
#define FA4_SUPPORT_NPY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fa4::support {

enum class NpyType : uint8_t { BF16, F16, F32, F64, I32, I64 };

/// Bytes of one element.
unsigned npyTypeBytes(NpyType type);

/// The `descr` that is written for a type.
llvm::StringRef npyTypeDescr(NpyType type);

/// A dense array. `data` holds the elements in the order that `fortranOrder`
/// says, little endian.
struct NpyArray {
  NpyType type = NpyType::F32;
  std::vector<int64_t> shape;
  bool fortranOrder = false;
  std::vector<char> data;

  NpyArray() = default;
  /// An array of zeros in C order.
  NpyArray(NpyType type, llvm::ArrayRef<int64_t> shape);

  int64_t numElements() const;
  /// Distance of neighbours in each dimension, in elements.
  std::vector<int64_t> elementStrides() const;
  /// Element at a position in memory (not an index in the shape), exactly.
  double getElement(int64_t position) const;
  /// Stores `value` rounded to nearest even in a float type. In an integer type,
  /// which holds positions and lengths, the caller's value has to be one already.
  void setElement(int64_t position, double value);
  /// The same elements in C order.
  NpyArray toCOrder() const;
};

/// Parses the bytes of a file; `name` stands for it in errors.
llvm::Expected<NpyArray> parseNpy(llvm::StringRef bytes, llvm::StringRef name);

/// The bytes of a file, in version 1.0 unless the header needs 2.0.
std::string serializeNpy(const NpyArray &array);

llvm::Expected<NpyArray> readNpy(llvm::StringRef path);
llvm::Error writeNpy(llvm::StringRef path, const NpyArray &array);

} // namespace fa4::support

#endif // FA4_SUPPORT_NPY_H
