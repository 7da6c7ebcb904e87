//===- Views.cpp - tile.read and tile.write -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread moves its own row, in the largest accesses of its memory. In
// shared memory that is 16 bytes; a swizzled row is permuted in such chunks, so
// a chunk's place is a constant or, in a swizzled view, one of few offsets that
// depend on the row.
//
//===----------------------------------------------------------------------===//

#include "TensorMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fa4::tile::gpu {

namespace {
/// Where chunks of a thread's row are in shared memory.
class RowPlace {
public:
  /// Of the part of the view that `access` reads or writes.
  RowPlace(ImplicitLocOpBuilder &b, const Lowering &lowering, Operation *access,
           const Place &place);

  /// The pointer to byte `byte` after the first column; a multiple of the chunk if
  /// swizzled.
  Value at(int64_t byte);

private:
  Value i32(int64_t value) { return intConstant(b, b.getI32Type(), value); }

  ImplicitLocOpBuilder &b;
  const Lowering &lowering;
  const RoleContext &role;
  Place place;
  int64_t swizzle, firstByte;
  int64_t panelPitch = 0;
  /// The row's first byte in its panel, and the permutation of its chunks: an
  /// offset to be combined by exclusive or. Null without a swizzle.
  Value row, permutation;
  llvm::DenseMap<int64_t, Value> chunks;
};
} // namespace

RowPlace::RowPlace(ImplicitLocOpBuilder &b, const Lowering &lowering, Operation *access,
                   const Place &place)
    : b(b), lowering(lowering), role(lowering.role(access)), place(place) {
  ViewOp view = lowering.view(place.symbol);
  auto layout = cast<SmemLayoutAttr>(view.getLayout());
  FragType type = view.getTileType();
  swizzle = layout.getSwizzle();
  firstByte = lowering.firstColumns.lookup(access) * getElementBytes(type.getElementType());
  if (layout.getMajor() == Major::Linear) {
    int64_t bytes = type.getColumns() * getElementBytes(type.getElementType());
    row = arith::MulIOp::create(b, role.thread, i32(bytes));
    return;
  }
  panelPitch = getPanelPitch(view);
  // Opaque, so that the chunks' places are computed here: hoisted out of the loop
  // over tiles they take as many registers as the swizzle has chunks.
  Value thread = emitPtx(b, b.getI32Type(), role.thread, "mov.b32 $0, $1;", "=r,r",
                         /*hasSideEffects=*/true);
  row = arith::MulIOp::create(b, thread, i32(swizzle));
  // Of a byte's number in the panel, bits 4 and up are changed by bits 7 and up,
  // as many as the swizzle has chunks (cuTensorMap swizzle modes).
  int64_t rowsPerLine = 128 / swizzle;
  Value line = arith::ShRUIOp::create(b, thread, i32(llvm::Log2_64(rowsPerLine)));
  Value changed = arith::AndIOp::create(b, line, i32(swizzle / kChunkBytes - 1));
  permutation = arith::ShLIOp::create(b, changed, i32(llvm::Log2_64(kChunkBytes)));
}

Value RowPlace::at(int64_t byte) {
  byte += firstByte;
  int64_t constant = byte;
  Value offset = row;
  if (permutation) {
    constant = byte / swizzle * panelPitch;
    Value &known = chunks[byte % swizzle];
    if (!known) {
      Value permuted = arith::XOrIOp::create(b, permutation, i32(byte % swizzle));
      known = arith::AddIOp::create(b, row, permuted);
    }
    offset = known;
  }
  Location loc = b.getLoc();
  Value start = lowering.smemPointer(b, loc, role, place);
  auto pointer = cast<LLVM::LLVMPointerType>(start.getType());
  Value moved =
      LLVM::GEPOp::create(b, pointer, b.getI8Type(), start, ArrayRef<LLVM::GEPArg>{offset});
  if (constant == 0) {
    return moved;
  }
  return LLVM::GEPOp::create(b, pointer, b.getI8Type(), moved,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(constant)});
}

/// Calls `access` for each chunk of a row of `bytes` bytes.
static void forEachChunk(int64_t bytes,
                         llvm::function_ref<void(int64_t byte, int64_t size)> access) {
  for (int64_t byte = 0; byte < bytes;) {
    int64_t size = std::min<int64_t>(kChunkBytes, int64_t(1) << llvm::Log2_64(bytes - byte));
    // An odd row length leaves rows that start on its own multiple only.
    while (bytes % size != 0) {
      size /= 2;
    }
    access(byte, size);
    byte += size;
  }
}

static Value readShared(ImplicitLocOpBuilder &b, RowPlace &row, FragType type, Type converted) {
  Type element = type.getElementType();
  int64_t elementBytes = getElementBytes(element);
  SmallVector<Value> pieces;
  forEachChunk(type.getColumns() * elementBytes, [&](int64_t byte, int64_t size) {
    auto chunk = VectorType::get({size / elementBytes}, element);
    pieces.push_back(LLVM::LoadOp::create(b, chunk, row.at(byte), static_cast<unsigned>(size)));
  });
  Value joined = joinLanes(b, pieces);
  return isa<VectorType>(converted) ? joined : takeLane(b, joined, 0);
}

static void writeShared(ImplicitLocOpBuilder &b, RowPlace &row, FragType type, Value value) {
  int64_t elementBytes = getElementBytes(type.getElementType());
  Value lanes = broadcast(b, value, 1);
  forEachChunk(type.getColumns() * elementBytes, [&](int64_t byte, int64_t size) {
    Value piece = takeLanes(b, lanes, byte / elementBytes, size / elementBytes);
    if (size >= kWordBytes) {
      piece = toWords(b, piece);
    }
    LLVM::StoreOp::create(b, piece, row.at(byte), static_cast<unsigned>(size));
  });
}

/// Where the part of a view in tensor memory that `access` reads or writes starts.
static Value addressOf(ImplicitLocOpBuilder &b, const Lowering &lowering, Operation *access,
                       const Place &place, FragType type) {
  const RoleContext &role = lowering.role(access);
  int64_t bytes = lowering.firstColumns.lookup(access) * getElementBytes(type.getElementType());
  return ownLanes(b, lowering.tmemAddress(b, b.getLoc(), role, place, bytes / kWordBytes), role);
}

namespace {
struct ReadLowering : LoweringPattern<ReadOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(ReadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Place place(op.getViewAttr(), op.getHandle(), adaptor.getHandle(), adaptor.getElement(),
                op.getStaticElementAttr());
    FragType type = tileOf(op.getResult());
    Type converted = getTypeConverter()->convertType(type);
    if (isa<TmemLayoutAttr>(lowering.view(op.getViewAttr()).getLayout())) {
      Value address = addressOf(b, lowering, op, place, type);
      rewriter.replaceOp(op, readTensorMemory(b, address, type, converted));
    } else {
      RowPlace row(b, lowering, op, place);
      rewriter.replaceOp(op, readShared(b, row, type, converted));
    }
    return success();
  }
};

struct WriteLowering : LoweringPattern<WriteOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(WriteOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Place place(op.getViewAttr(), op.getHandle(), adaptor.getHandle(), adaptor.getElement(),
                op.getStaticElementAttr());
    FragType type = tileOf(op.getValue());
    Value value = adaptor.getValue().front();
    if (isa<TmemLayoutAttr>(lowering.view(op.getViewAttr()).getLayout())) {
      Value address = addressOf(b, lowering, op, place, type);
      writeTensorMemory(b, address, type, value);
    } else {
      RowPlace row(b, lowering, op, place);
      writeShared(b, row, type, value);
    }
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void populateViewPatterns(const TileToNVVMTypeConverter &converter, RewritePatternSet &patterns,
                          const Lowering &lowering) {
  patterns.add<ReadLowering, WriteLowering>(converter, patterns.getContext(), lowering);
}

} // namespace fa4::tile::gpu
