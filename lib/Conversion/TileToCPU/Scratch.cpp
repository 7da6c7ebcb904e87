//===- Scratch.cpp - one arena for all buffers of a tile ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers of static shape get offsets in one arena, first fit by lifetime. A
// lifetime is a range of op numbers in program order; a use inside a loop that
// does not contain the buffer's allocation lasts to the end of the loop.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace fa4::tile::cpu {

/// A buffer starts on a cache line of the hosts we know (x86-64, AArch64: 64 bytes).
constexpr int64_t kAlignment = 64;

namespace {
struct Placement {
  memref::AllocOp alloc;
  int64_t begin;
  int64_t end;
  int64_t bytes;
  int64_t offset = 0;

  bool livesWith(const Placement &other) const { return begin <= other.end && other.begin <= end; }
};

/// First and last number of every op under a block, the nested ones included.
class Numbering {
public:
  explicit Numbering(Block &block) { visit(block); }
  int64_t first(Operation *op) const { return range.lookup(op).first; }
  int64_t last(Operation *op) const { return range.lookup(op).second; }

private:
  void visit(Block &block) {
    for (Operation &op : block) {
      int64_t first = next++;
      for (Region &region : op.getRegions()) {
        for (Block &inner : region) {
          visit(inner);
        }
      }
      range[&op] = {first, next - 1};
    }
  }
  llvm::DenseMap<Operation *, std::pair<int64_t, int64_t>> range;
  int64_t next = 0;
};
} // namespace

static int64_t lastUse(Value buffer, Block *home, const Numbering &numbering) {
  int64_t last = -1;
  for (Operation *user : buffer.getUsers()) {
    int64_t end = numbering.last(user);
    for (Operation *parent = user->getParentOp();
         parent && !parent->isAncestor(home->getParentOp()); parent = parent->getParentOp()) {
      if (isa<LoopLikeOpInterface>(parent)) {
        end = std::max(end, numbering.last(parent));
      }
    }
    last = std::max(last, end);
    if (isa<ViewLikeOpInterface>(user)) {
      last = std::max(last, lastUse(user->getResult(0), home, numbering));
    }
  }
  return last;
}

static int64_t sizeInBytes(MemRefType type) {
  // Storage types are whole bytes.
  return type.getNumElements() * static_cast<int64_t>(type.getElementTypeBitWidth() / 8);
}

int64_t placeBuffers(Block &body, Value arena, ArrayRef<memref::AllocOp> buffers) {
  Numbering numbering(body);
  SmallVector<Placement> placed;
  int64_t total = 0;
  for (memref::AllocOp alloc : buffers) {
    int64_t begin = numbering.first(alloc);
    int64_t end = std::max(begin, lastUse(alloc.getResult(), alloc->getBlock(), numbering));
    int64_t bytes = static_cast<int64_t>(
        llvm::alignTo(static_cast<uint64_t>(sizeInBytes(alloc.getType())), kAlignment));
    Placement placement{alloc, begin, end, bytes};
    // The lowest gap between those alive at the same time.
    SmallVector<const Placement *> alive;
    for (const Placement &other : placed) {
      if (other.livesWith(placement)) {
        alive.push_back(&other);
      }
    }
    llvm::sort(alive, [](const Placement *x, const Placement *y) { return x->offset < y->offset; });
    for (const Placement *other : alive) {
      if (placement.offset + bytes <= other->offset) {
        break;
      }
      placement.offset = std::max(placement.offset, other->offset + other->bytes);
    }
    total = std::max(total, placement.offset + bytes);
    placed.push_back(placement);
  }
  for (Placement &placement : placed) {
    ImplicitLocOpBuilder b(placement.alloc.getLoc(), placement.alloc);
    Value view = memref::ViewOp::create(b, placement.alloc.getType(), arena,
                                        indexConstant(b, placement.offset), ValueRange());
    placement.alloc.getResult().replaceAllUsesWith(view);
    placement.alloc.erase();
  }
  return total;
}

} // namespace fa4::tile::cpu
