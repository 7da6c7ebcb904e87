//===- Views.cpp - tile.read and tile.write -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread moves what it has, in the largest accesses of its memory. In shared
// memory that is 16 bytes of its own row; a swizzled row is permuted in such chunks,
// so a chunk's place is a constant or, in a swizzled view, one of few offsets that
// depend on the row. A thread of a fragment has less of a row than that: matrices of
// 16-bit elements are stored by the warp as a whole, others in pairs.
//
//===----------------------------------------------------------------------===//

#include "TensorMemory.h"
#include "ThreadLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <vector>

using namespace mlir;

namespace fa4::tile::gpu {

namespace {
/// Where chunks of one row are in shared memory.
class RowPlace {
public:
  /// Of the part of the view that `access` reads or writes, row `number` (i32). Bytes
  /// are counted from `firstByte` (i32) of the row, if that is not null; it has no
  /// bit in common with them.
  RowPlace(ImplicitLocOpBuilder &b, const Lowering &lowering, Operation *access, const Place &place,
           Value number, Value firstByte = Value());

  /// The pointer to byte `byte` after the first column; a multiple of the chunk if
  /// swizzled.
  Value at(int64_t byte);

private:
  Value i32(int64_t value) { return intConstant(b, b.getI32Type(), value); }

  ImplicitLocOpBuilder &b;
  const Lowering &lowering;
  const RoleContext &role;
  Place place;
  int64_t swizzle, accessByte;
  int64_t panelPitch = 0;
  /// The row's first byte in its panel, and the permutation of its chunks: an
  /// offset to be combined by exclusive or. Null without a swizzle.
  Value row, permutation;
  llvm::DenseMap<int64_t, Value> chunks;
};
} // namespace

RowPlace::RowPlace(ImplicitLocOpBuilder &b, const Lowering &lowering, Operation *access,
                   const Place &place, Value number, Value firstByte)
    : b(b), lowering(lowering), role(lowering.role(access)), place(place) {
  ViewOp view = lowering.view(place.symbol);
  auto layout = cast<SmemLayoutAttr>(view.getLayout());
  FragType type = view.getTileType();
  swizzle = layout.getSwizzle();
  accessByte = lowering.firstColumns.lookup(access) * getElementBytes(type.getElementType());
  if (layout.getMajor() == Major::Linear) {
    int64_t bytes = type.getColumns() * getElementBytes(type.getElementType());
    row = arith::MulIOp::create(b, number, i32(bytes));
    row = firstByte ? arith::AddIOp::create(b, row, firstByte).getResult() : row;
    return;
  }
  panelPitch = getPanelPitch(view);
  // Opaque, so that the chunks' places are computed here: hoisted out of the loop
  // over tiles they take as many registers as the swizzle has chunks.
  number = emitPtx(b, b.getI32Type(), number, "mov.b32 $0, $1;", "=r,r", /*hasSideEffects=*/true);
  row = arith::MulIOp::create(b, number, i32(swizzle));
  // Of a byte's number in the panel, bits 4 and up are changed by bits 7 and up,
  // as many as the swizzle has chunks (cuTensorMap swizzle modes).
  int64_t rowsPerLine = 128 / swizzle;
  Value line = arith::ShRUIOp::create(b, number, i32(llvm::Log2_64(rowsPerLine)));
  Value changed = arith::AndIOp::create(b, line, i32(swizzle / kChunkBytes - 1));
  permutation = arith::ShLIOp::create(b, changed, i32(llvm::Log2_64(kChunkBytes)));
  if (firstByte) {
    permutation = arith::XOrIOp::create(b, permutation, firstByte);
  }
}

Value RowPlace::at(int64_t byte) {
  byte += accessByte;
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

static Value readRow(ImplicitLocOpBuilder &b, RowPlace &row, FragType type, Type converted) {
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

static void writeRow(ImplicitLocOpBuilder &b, RowPlace &row, FragType type, Value value) {
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

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// Where the thread's lanes are in the tile's rows, if each thread moves its own.
static std::vector<RowPlace> ownRows(ImplicitLocOpBuilder &b, const Lowering &lowering,
                                     Operation *access, const Place &place, FragType type) {
  const RoleContext &role = lowering.role(access);
  ThreadLayout layout = ThreadLayout::of(type);
  Value firstByte;
  if (Value column = type.isRow() ? Value() : layout.firstColumn(b, role)) {
    firstByte = arith::MulIOp::create(
        b, column, intConstant(b, b.getI32Type(), getElementBytes(type.getElementType())));
  }
  std::vector<RowPlace> rows;
  for (int64_t row = 0; row < layout.rows(); ++row) {
    rows.emplace_back(b, lowering, access, place, layout.rowNumber(b, role, row), firstByte);
  }
  return rows;
}

static Value readFragment(ImplicitLocOpBuilder &b, MutableArrayRef<RowPlace> rows, FragType type) {
  ThreadLayout layout = ThreadLayout::of(type);
  int64_t elementBytes = getElementBytes(type.getElementType());
  int64_t run = type.isRow() ? 1 : layout.run();
  SmallVector<Value> pieces;
  for (int64_t lane = 0; lane < layout.lanes(); lane += run) {
    int64_t row = type.isRow() ? lane : layout.rowOf(lane);
    int64_t byte = type.isRow() ? 0 : layout.columnOf(lane) * elementBytes;
    pieces.push_back(LLVM::LoadOp::create(b, VectorType::get({run}, type.getElementType()),
                                          rows[row].at(byte),
                                          static_cast<unsigned>(run * elementBytes)));
  }
  return joinLanes(b, pieces);
}

static void writeFragment(ImplicitLocOpBuilder &b, MutableArrayRef<RowPlace> rows, FragType type,
                          Value value) {
  ThreadLayout layout = ThreadLayout::of(type);
  int64_t elementBytes = getElementBytes(type.getElementType());
  int64_t run = type.isRow() ? 1 : layout.run();
  for (int64_t lane = 0; lane < layout.lanes(); lane += run) {
    int64_t row = type.isRow() ? lane : layout.rowOf(lane);
    int64_t byte = type.isRow() ? 0 : layout.columnOf(lane) * elementBytes;
    Value piece = takeLanes(b, value, lane, run);
    if (run * elementBytes >= kWordBytes) {
      piece = toWords(b, piece);
    }
    LLVM::StoreOp::create(b, piece, rows[row].at(byte), static_cast<unsigned>(run * elementBytes));
  }
}

/// Columns of four matrices of eight rows and columns that a warp stores at once.
static constexpr int64_t kMatrixColumns = 16;

/// Whether the warp can store its rows of a tile as 8x8 matrices: of 16-bit elements,
/// whose rows start at multiples of 16 bytes.
static bool isMatrixStore(ViewOp view, FragType type) {
  int64_t elementBytes = getElementBytes(type.getElementType());
  int64_t rowBytes = view.getTileType().getColumns() * elementBytes;
  return ThreadLayout::of(type).rows() == 2 && !type.isRow() && elementBytes == 2 &&
         type.getColumns() % kMatrixColumns == 0 && rowBytes % kChunkBytes == 0;
}

static void writeMatrices(ImplicitLocOpBuilder &b, const Lowering &lowering, WriteOp op,
                          const Place &place, Value value) {
  // PTX ISA, stmatrix .x4: lanes 8 i to 8 i + 7 give the rows of matrix i, whose
  // elements are in register i as in a fragment. Of 16 columns registers 0 and 1
  // are the first eight, rows 0 to 7 and 8 to 15, registers 2 and 3 the others.
  constexpr int64_t registers = 4, rowsPerWarp = 16;
  const RoleContext &role = lowering.role(op);
  auto i32 = [&](int64_t number) { return intConstant(b, b.getI32Type(), number); };
  Value inWarp = arith::AndIOp::create(b, role.lane, i32(rowsPerWarp - 1));
  Value number =
      arith::AddIOp::create(b, arith::MulIOp::create(b, role.warp, i32(rowsPerWarp)), inWarp);
  Value isRight = arith::ShRUIOp::create(b, role.lane, i32(llvm::Log2_64(rowsPerWarp)));
  Value firstByte = arith::MulIOp::create(b, isRight, i32(kChunkBytes));
  RowPlace row(b, lowering, op, place, number, firstByte);
  Value words = toWords(b, value);
  FragType type = tileOf(op.getValue());
  for (int64_t column = 0; column < type.getColumns(); column += kMatrixColumns) {
    SmallVector<Value> sources;
    for (int64_t index = 0; index < registers; ++index) {
      sources.push_back(takeLane(b, words, column / kMatrixColumns * registers + index));
    }
    auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
    NVVM::StMatrixOp::create(b, row.at(column * getElementBytes(type.getElementType())), sources,
                             NVVM::MMALayout::row, shape, NVVM::LdStMatrixEltType::B16);
  }
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
    if (!op.getFragType()) {
      rewriter.replaceOp(op, readTileNumber(b, lowering, lowering.role(op), place));
      return success();
    }
    FragType type = tileOf(op.getResult());
    Type converted = getTypeConverter()->convertType(type);
    if (isa<TmemLayoutAttr>(lowering.view(op.getViewAttr()).getLayout())) {
      Value address = addressOf(b, lowering, op, place, type);
      rewriter.replaceOp(op, readTensorMemory(b, address, type, converted));
    } else {
      std::vector<RowPlace> rows = ownRows(b, lowering, op, place, type);
      rewriter.replaceOp(op, rows.size() == 1 ? readRow(b, rows.front(), type, converted)
                                              : readFragment(b, rows, type));
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
      writeShared(b, op, place, value);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  void writeShared(ImplicitLocOpBuilder &b, WriteOp op, const Place &place, Value value) const {
    FragType type = tileOf(op.getValue());
    if (isMatrixStore(lowering.view(op.getViewAttr()), type)) {
      return writeMatrices(b, lowering, op, place, value);
    }
    OpBuilder::InsertionGuard restore(b);
    ThreadLayout layout = ThreadLayout::of(type);
    // Threads that hold the same number do not write it twice.
    if (Value speaks = type.isRow() ? layout.isFirstOfRow(b, lowering.role(op)) : Value()) {
      auto guard = scf::IfOp::create(b, speaks, /*withElseRegion=*/false);
      b.setInsertionPointToStart(guard.thenBlock());
    }
    std::vector<RowPlace> rows = ownRows(b, lowering, op, place, type);
    rows.size() == 1 ? writeRow(b, rows.front(), type, value) : writeFragment(b, rows, type, value);
  }
};
} // namespace

void populateViewPatterns(const TileToNVVMTypeConverter &converter, RewritePatternSet &patterns,
                          const Lowering &lowering) {
  patterns.add<ReadLowering, WriteLowering>(converter, patterns.getContext(), lowering);
}

} // namespace fa4::tile::gpu
