//===- PlacedOps.cpp - placed ops -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers of one op make sense by themselves; that they fit together is decided
// by tile-verify-t2.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa4::tile;

LogicalResult BarrierOp::verify() {
  auto family = static_cast<int64_t>(getFamily()), depth = static_cast<int64_t>(getDepth()),
       count = static_cast<int64_t>(getCount()), start = static_cast<int64_t>(getStart());
  if (family <= 0 || depth <= 0 || count <= 0) { // barrier C1
    return emitOpError() << "expected family, depth and count to be positive, but got " << family
                         << ", " << depth << " and " << count;
  }
  if (start < 0 || start % kBytes != 0) { // barrier C2
    return emitOpError() << "expected place to be a multiple of " << kBytes
                         << " bytes and not negative, but got " << start;
  }
  return success();
}

LogicalResult NamedBarrierOp::verify() {
  auto first = static_cast<int64_t>(getFirst()), last = static_cast<int64_t>(getLast()),
       family = static_cast<int64_t>(getFamily());
  int64_t ids = last - first + 1;
  if (first < 0 || ids <= 0 || family <= 0 || ids % family != 0) { // named_barrier C1
    return emitOpError() << "expected ids to be an ascending range that divides among " << family
                         << " elements, but got " << first << " to " << last;
  }
  if (!getPerWarp() && ids != family) { // named_barrier C2
    return emitOpError() << "expected one id for each of " << family << " elements, but got "
                         << ids;
  }
  return success();
}

LogicalResult BarrierWaitOp::verify() {
  if (!getCursor()) { // barrier.wait C1
    return emitOpError() << "expected a cursor, whose phase is waited for, but got none";
  }
  return success();
}

LogicalResult BarrierArriveOp::verify() {
  if (getBy() != Arrival::Thread && getBy() != Arrival::Warp &&
      getBy() != Arrival::Lane) { // barrier.arrive C1
    return emitOpError() << "expected arrival by thread, warp or lane, but got "
                         << stringifyArrival(getBy());
  }
  return success();
}

LogicalResult BarrierExpectOp::verify() {
  if (static_cast<int64_t>(getBytes()) <= 0) { // barrier.expect C1
    return emitOpError() << "expected bytes to be positive, but got "
                         << static_cast<int64_t>(getBytes());
  }
  if (getOnLeader() && getOnPeer()) { // barrier.expect C2
    return emitOpError() << "expected one home of the barrier, but got the leader and the peer";
  }
  return success();
}

LogicalResult GroupWaitOp::verify() {
  if (static_cast<int64_t>(getPending()) < 0) { // group.wait C1
    return emitOpError() << "expected pending groups to be at least 0, but got "
                         << static_cast<int64_t>(getPending());
  }
  if (getResultTypes() != getValues().getTypes()) { // group.wait C2
    return emitOpError() << "expected results to have the types " << getValues().getTypes()
                         << ", but got " << getResultTypes();
  }
  bool wgmma = getKind() == Group::Wgmma;
  if (wgmma ? getRead() : !getValues().empty()) { // group.wait C2
    return emitOpError() << "expected " << (wgmma ? "'read'" : "values") << " only on a "
                         << (wgmma ? "bulk" : "wgmma") << " group, but got a "
                         << stringifyGroup(getKind()) << " group";
  }
  return success();
}

LogicalResult TmemAllocOp::verify() {
  constexpr int64_t smallest = 32; // PTX ISA, tcgen05.alloc: columns are 32, 64, 128, 256 or 512
  auto columns = static_cast<int64_t>(getColumns()), word = static_cast<int64_t>(getWord());
  if (columns < smallest || !llvm::isPowerOf2_64(columns)) { // tmem.alloc C1
    return emitOpError() << "expected columns to be a power of two from " << smallest
                         << ", but got " << columns;
  }
  if (word < 0 || word % 4 != 0) { // tmem.alloc C2
    return emitOpError() << "expected word to be 4-byte aligned, but got " << word;
  }
  return success();
}
