//===- TensorMemory.cpp - rows between registers and tensor memory --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A warp reaches its 32 lanes, and lane = row = thread: the 32x32b shape moves
// columns straight between registers and their row, whatever the piece.
//
// A read waits for its loads, and its values pass through an empty asm behind
// the wait: nothing else ties their uses to it. What a fence owes at the next
// hand-over is not paid by that; see `tile.fence`.
//
//===----------------------------------------------------------------------===//

#include "TensorMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fa4::tile::gpu {

/// Words of one store of 16-bit elements, 32 columns of them: longer ones keep
/// too many registers alive at once (codegen-recipes, section 2).
static constexpr int64_t kPackedStoreWords = 16;
/// Columns rescaled at once. Halves of it with the next one on its way hide a load's
/// latency but take more instructions than FlashAttention-4's (201 against 186 for two
/// stages of 128 columns; this takes 175: codegen-recipes, section 7); a rescale is
/// rare, as the factor is mostly exactly 1.
static constexpr int64_t kRescaleColumns = 32;

/// The next piece's length: a power of two, as the instructions have it.
static int64_t pieceLength(int64_t rest, int64_t largest) {
  return std::min<int64_t>(largest, int64_t(1) << llvm::Log2_64(rest));
}

/// The values of `words` after a point that no use may cross, as f32 if they are; a
/// cast in front of it would be a use.
static Value pinWords(ImplicitLocOpBuilder &b, Value words, Type element) {
  SmallVector<Value> lanes =
      emitPtxOnLanes(b, takeAllLanes(b, words), {}, "", /*clobbersMemory=*/false);
  if (!element.isF32()) {
    return fromLanes(b, b.getI32Type(), lanes);
  }
  for (Value &lane : lanes) {
    lane = LLVM::BitcastOp::create(b, element, lane);
  }
  return fromLanes(b, element, lanes);
}

static Value loadPiece(ImplicitLocOpBuilder &b, Value pointer, int64_t words) {
  Type type = b.getI32Type();
  if (words > 1) {
    type = VectorType::get({words}, type);
  }
  Value loaded = NVVM::Tcgen05LdOp::create(b, type, /*pack=*/false,
                                           NVVM::Tcgen05LdStShape::SHAPE_32X32B, pointer,
                                           /*offset=*/Value());
  return broadcast(b, loaded, 1);
}

static void storePiece(ImplicitLocOpBuilder &b, Value pointer, Value words) {
  if (cast<VectorType>(words.getType()).getDimSize(0) == 1) {
    words = takeLane(b, words, 0);
  }
  NVVM::Tcgen05StOp::create(b, /*unpack=*/false, NVVM::Tcgen05LdStShape::SHAPE_32X32B, pointer,
                            words, /*offset=*/Value());
}

static void waitForLoads(ImplicitLocOpBuilder &b) {
  NVVM::Tcgen05WaitOp::create(b, NVVM::Tcgen05WaitKind::LOAD);
}

/// The place of a view as one address: pieces of it differ by a constant.
static Value pieceOf(ImplicitLocOpBuilder &b, Value base, int64_t column) {
  Value address = base;
  if (column != 0) {
    address = arith::AddIOp::create(b, base, intConstant(b, b.getI32Type(), column));
  }
  return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), kTensorSpace),
                                  address);
}

static int64_t wordsOf(FragType type) {
  return llvm::divideCeil(type.getColumns() * getElementBytes(type.getElementType()), kWordBytes);
}

Value readTensorMemory(ImplicitLocOpBuilder &b, Value base, FragType type, Type converted) {
  int64_t words = wordsOf(type);
  SmallVector<Value> pieces;
  for (int64_t word = 0; word < words;) {
    int64_t length = pieceLength(words - word, kPieceColumns);
    pieces.push_back(loadPiece(b, pieceOf(b, base, word), length));
    word += length;
  }
  waitForLoads(b);
  for (Value &piece : pieces) {
    piece = pinWords(b, piece, type.getElementType());
  }
  Value joined = joinLanes(b, pieces);
  return joined.getType() == converted ? joined : fromWords(b, joined, converted);
}

void writeTensorMemory(ImplicitLocOpBuilder &b, Value base, FragType type, Value value) {
  Value words = toWords(b, value);
  int64_t count = wordsOf(type);
  bool isPacked = getElementBytes(type.getElementType()) < kWordBytes;
  for (int64_t word = 0; word < count;) {
    int64_t length = pieceLength(count - word, isPacked ? kPackedStoreWords : kPieceColumns);
    storePiece(b, pieceOf(b, base, word), takeLanes(b, words, word, length));
    word += length;
  }
}

Value ownLanes(ImplicitLocOpBuilder &b, Value address, const RoleContext &role) {
  // Lane 32 w of the warp's w, in the upper half of an address (PTX ISA, tensor
  // memory addressing); w counts in the warpgroup.
  auto i32 = b.getI32Type();
  Value quarter = arith::AndIOp::create(b, role.warp, intConstant(b, i32, 3));
  Value lanes = arith::ShLIOp::create(b, quarter, intConstant(b, i32, 16 + 5));
  return arith::AddIOp::create(b, address, lanes);
}

/// Multiplies `columns` columns from `base` by `factor`, in place.
static void emitRescale(ImplicitLocOpBuilder &b, Value base, int64_t columns, Value factor) {
  for (int64_t column = 0; column < columns;) {
    int64_t length = pieceLength(columns - column, kRescaleColumns);
    Value words = loadPiece(b, pieceOf(b, base, column), length);
    waitForLoads(b);
    Value piece = pinWords(b, words, b.getF32Type());
    Value scaled = arith::MulFOp::create(b, piece, broadcast(b, factor, length));
    storePiece(b, pieceOf(b, base, column), toWords(b, scaled));
    column += length;
  }
}

namespace {
struct RescaleLowering : LoweringPattern<RescaleOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(RescaleOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const RoleContext &role = lowering.role(op);
    Place place(op.getViewAttr(), op.getHandle(), adaptor.getHandle(), adaptor.getElement(),
                op.getStaticElementAttr());
    int64_t columns = lowering.view(op.getViewAttr()).getTileType().getColumns();
    Value factor = adaptor.getBy().front();
    auto emit = [&](ImplicitLocOpBuilder &inner) {
      Value base = lowering.tmemAddress(inner, op.getLoc(), role, place);
      emitRescale(inner, ownLanes(inner, base, role), columns, factor);
    };
    if (!op.getLikelyOne()) {
      emit(b);
    } else {
      // The accesses are the whole warp's: so is the decision.
      Value differs = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factor,
                                            floatConstant(b, b.getF32Type(), 1.0));
      auto branch = scf::IfOp::create(b, anyLane(b, differs), /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      // The warp has been told of O, and tells of it: markers that cost the path without
      // a rescale an issue slot each.
      NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
      emit(b);
      NVVM::Tcgen05WaitOp::create(b, NVVM::Tcgen05WaitKind::STORE);
      NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
    }
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void populateTensorMemoryPatterns(const TileToNVVMTypeConverter &converter,
                                  RewritePatternSet &patterns, const Lowering &lowering) {
  patterns.add<RescaleLowering>(converter, patterns.getContext(), lowering);
}

} // namespace fa4::tile::gpu
