//===- HostArray.h - strided arrays that kernels run on ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An array owns its bytes and says where each element is; the logical content is
// independent of the strides. What is given to a kernel is always 16-byte
// aligned (S2).
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DRIVER_HOSTARRAY_H
#define FA4_DRIVER_HOSTARRAY_H

#include "fa4/Driver/Jit.h"
#include "fa4/Support/Npy.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <variant>

namespace fa4::driver {

class HostArray {
public:
  /// A packed array of zeros, row-major.
  HostArray(support::NpyType type, llvm::ArrayRef<int64_t> shape);
  /// An array of zeros whose element (i, j, ...) is at `offset` + i * strides[0] + ...
  HostArray(support::NpyType type, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides,
            int64_t offset);
  /// Elements that somebody else owns.
  static HostArray viewOf(support::NpyType type, llvm::ArrayRef<int64_t> shape,
                          llvm::ArrayRef<int64_t> strides, int64_t offset, char *data);
  static HostArray fromNpy(const support::NpyArray &array);
  /// The elements in row-major order.
  support::NpyArray toNpy() const;

  support::NpyType getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  llvm::ArrayRef<int64_t> getStrides() const { return strides; }
  int64_t numElements() const;

  double get(llvm::ArrayRef<int64_t> index) const { return getAt(positionOf(index)); }
  void set(llvm::ArrayRef<int64_t> index, double value);
  int64_t positionOf(llvm::ArrayRef<int64_t> index) const;
  double getAt(int64_t position) const;

  /// Calls `body` with every index in row-major order and its number.
  void forEach(llvm::function_ref<void(llvm::ArrayRef<int64_t> index, int64_t number)> body) const;

  /// The bytes from the first element to the last, with what stands between.
  llvm::MutableArrayRef<uint8_t> getSpan();
  /// Takes the elements from `span`, which is laid out as this array's.
  void copyElements(llvm::ArrayRef<uint8_t> span);

  /// Valid as long as the array is.
  MemRefDescriptor describe();

private:
  HostArray() = default;
  /// Calls `body` with the runs of elements that are neighbours in memory, in row-major
  /// order: where one starts, the number of its first element, and its length.
  void
  forEachRun(llvm::function_ref<void(int64_t position, int64_t number, int64_t length)> body) const;

  support::NpyType type = support::NpyType::F32;
  llvm::SmallVector<int64_t, 4> shape, strides;
  int64_t offset = 0;
  std::shared_ptr<char> bytes;
};

/// What an argument of a function is bound to.
using Argument = std::variant<std::shared_ptr<HostArray>, float, int32_t>;

/// Whether both hold the same bits at every index.
bool haveEqualBits(const HostArray &a, const HostArray &b);

} // namespace fa4::driver

#endif // FA4_DRIVER_HOSTARRAY_H
