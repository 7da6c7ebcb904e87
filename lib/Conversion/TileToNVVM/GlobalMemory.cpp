//===- GlobalMemory.cpp - threads at global tensors -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No access ever leaves the tensor: every one is predicated on its bounds.
// Positions and offsets are 64 bits wide. Rows move in 16-byte accesses where
// the tensor allows it, which is asked once per tile, and by elements otherwise.
//
//===----------------------------------------------------------------------===//

#include "ThreadLayout.h"
#include "Values.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/bit.h"

#include <vector>

using namespace mlir;

namespace fa4::tile::gpu {

namespace {
/// How PTX names registers and memory of one width.
struct Width {
  /// Of a mov or ld.
  StringRef suffix;
  /// LLVM's constraint letter.
  char letter;
  unsigned bits;
};
} // namespace

static Width widthOf(Type element) {
  switch (element.getIntOrFloatBitWidth()) {
  case 16:
    return {"b16", 'h', 16};
  case 32:
    return {"b32", 'r', 32};
  default: // checkValues: no other
    return {"b64", 'l', 64};
  }
}

static Value toBits(ImplicitLocOpBuilder &b, Value scalar) {
  if (isa<IntegerType>(scalar.getType())) {
    return scalar;
  }
  return arith::BitcastOp::create(b, b.getIntegerType(scalar.getType().getIntOrFloatBitWidth()),
                                  scalar);
}

Value loadIfInside(ImplicitLocOpBuilder &b, Type element, Value address, Value inside) {
  Width width = widthOf(element);
  std::string suffix = width.suffix.str();
  std::string text = "{ mov." + suffix + " $0, 0; @$2 ld.global." + suffix + " $0, [$1]; }";
  std::string constraints = std::string("=&") + width.letter + ",l,b";
  Type bits = b.getIntegerType(width.bits);
  Value loaded = emitPtx(b, bits, {address, inside}, text, constraints,
                         /*hasSideEffects=*/true);
  return element == bits ? loaded : arith::BitcastOp::create(b, element, loaded).getResult();
}

/// ".v4.b32" and the braced registers from `first` on.
static std::pair<std::string, std::string> vectorForm(int64_t words, int64_t first) {
  if (words == 1) {
    return {".b32", "$" + std::to_string(first)};
  }
  std::string registers;
  for (int64_t word = 0; word < words; ++word) {
    registers += (word ? ", $" : "$") + std::to_string(first + word);
  }
  return {".v" + std::to_string(words) + ".b32", "{" + registers + "}"};
}

Value loadWordsIfInside(ImplicitLocOpBuilder &b, int64_t words, Value address, Value inside) {
  auto [suffix, registers] = vectorForm(words, 0);
  std::string text = "{ ";
  std::string constraints;
  for (int64_t word = 0; word < words; ++word) {
    text += "mov.b32 $" + std::to_string(word) + ", 0; ";
    constraints += "=&r,";
  }
  text += "@$" + std::to_string(words + 1) + " ld.global" + suffix + " " + registers + ", [$" +
          std::to_string(words) + "]; }";
  Type word = b.getI32Type();
  Type result =
      words == 1 ? word
                 : LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(words, word));
  Value loaded = emitPtx(b, result, {address, inside}, text, constraints + "l,b",
                         /*hasSideEffects=*/true);
  SmallVector<Value> lanes;
  for (int64_t index = 0; index < words; ++index) {
    lanes.push_back(words == 1 ? loaded
                               : LLVM::ExtractValueOp::create(b, loaded, index).getResult());
  }
  return fromLanes(b, word, lanes);
}

void storeIfInside(ImplicitLocOpBuilder &b, Value scalar, Value address, Value inside) {
  Width width = widthOf(scalar.getType());
  std::string text = "@$2 st.global." + width.suffix.str() + " [$1], $0;";
  std::string constraints = std::string(1, width.letter) + ",l,b,~{memory}";
  emitPtx(b, Type(), {toBits(b, scalar), address, inside}, text, constraints,
          /*hasSideEffects=*/true);
}

void storeWordsIfInside(ImplicitLocOpBuilder &b, Value words, Value address, Value inside) {
  int64_t count = cast<VectorType>(words.getType()).getDimSize(0);
  auto [suffix, registers] = vectorForm(count, 2);
  SmallVector<Value> operands{address, inside};
  std::string constraints = "l,b";
  for (int64_t word = 0; word < count; ++word) {
    operands.push_back(takeLane(b, words, word));
    constraints += ",r";
  }
  emitPtx(b, Type(), operands, "@$1 st.global" + suffix + " [$0], " + registers + ";",
          constraints + ",~{memory}", /*hasSideEffects=*/true);
}

void addIfInside(ImplicitLocOpBuilder &b, Value scalar, Value address, Value inside) {
  emitPtx(b, Type(), {scalar, address, inside}, "@$2 red.global.add.f32 [$1], $0;",
          "f,l,b,~{memory}", /*hasSideEffects=*/true);
}

namespace {
/// One row of a tile of a global tensor.
class GlobalRow {
public:
  /// `coordinates` in boxes. Row `number` (i32) of the tile, its columns counted from
  /// `ownColumn` (i32) if that is not null.
  GlobalRow(ImplicitLocOpBuilder &b, const GlobalContext &global, GlobalType type,
            ValueRange coordinates, Value number, Value ownColumn);

  bool hasColumns() const { return columnDim >= 0; }
  /// Whether the row and, in tiles with columns, `column` are inside.
  Value isInside(int64_t column);
  /// Takes the row for outside where `condition` does not hold.
  void require(Value condition) { inside = arith::AndIOp::create(b, inside, condition); }
  Value address(int64_t column);
  /// Whether chunks of the row may be accessed whole; one answer for all threads.
  Value allowsChunks(int64_t elementsPerChunk);

private:
  Value i64(int64_t value) { return intConstant(b, b.getI64Type(), value); }
  Value wide(Value value) { return arith::ExtSIOp::create(b, b.getI64Type(), value); }
  Value isBelowExtent(Value index, int64_t dim) {
    // Unsigned: a negative index is far above.
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, wide(global.extents[dim]));
  }
  ImplicitLocOpBuilder &b;
  const GlobalContext &global;
  int64_t elementBytes;
  int64_t columnDim = -1;
  /// Element 0 of the row as an address (i64), its first column's index, and
  /// whether all other coordinates are inside.
  Value start, firstColumn, inside;
};
} // namespace

GlobalRow::GlobalRow(ImplicitLocOpBuilder &b, const GlobalContext &global, GlobalType type,
                     ValueRange coordinates, Value number, Value ownColumn)
    : b(b), global(global), elementBytes(getElementBytes(type.getElementType())) {
  SmallVector<int64_t> tileDims = type.getTileDims();
  if (tileDims.size() == 2) {
    columnDim = tileDims[1];
  }
  start = LLVM::PtrToIntOp::create(b, b.getI64Type(), global.pointer);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Value index = i64(0);
    if (dim < static_cast<int64_t>(coordinates.size())) {
      index = arith::MulIOp::create(b, wide(coordinates[dim]), i64(type.getBox()[dim]));
    }
    if (dim == tileDims[0]) {
      index = arith::AddIOp::create(b, index, wide(number));
    }
    if (dim == columnDim && ownColumn) {
      index = arith::AddIOp::create(b, index, wide(ownColumn));
    }
    start = arith::AddIOp::create(b, start, arith::MulIOp::create(b, index, global.strides[dim]));
    if (dim == columnDim) {
      firstColumn = index;
      continue;
    }
    Value below = isBelowExtent(index, dim);
    inside = inside ? arith::AndIOp::create(b, inside, below).getResult() : below;
  }
  if (!inside) {
    inside = arith::ConstantOp::create(b, b.getBoolAttr(true));
  }
}

Value GlobalRow::isInside(int64_t column) {
  if (!hasColumns()) {
    return inside;
  }
  Value index = arith::AddIOp::create(b, firstColumn, i64(column));
  return arith::AndIOp::create(b, inside, isBelowExtent(index, columnDim));
}

Value GlobalRow::address(int64_t column) {
  if (column == 0) {
    return start;
  }
  Value offset = arith::MulIOp::create(b, global.strides[columnDim], i64(column));
  return arith::AddIOp::create(b, start, offset);
}

Value GlobalRow::allowsChunks(int64_t elementsPerChunk) {
  int64_t chunkBytes = elementsPerChunk * elementBytes;
  auto low = LLVM::PtrToIntOp::create(b, b.getI64Type(), global.pointer);
  Value bits = arith::AndIOp::create(b, low, i64(chunkBytes - 1));
  auto require = [&](Value value, int64_t multiple) {
    Value rest = arith::AndIOp::create(b, value, i64(multiple - 1));
    bits = arith::OrIOp::create(b, bits, rest);
  };
  for (int64_t dim = 0; dim < static_cast<int64_t>(global.strides.size()); ++dim) {
    if (dim != columnDim) {
      require(global.strides[dim], chunkBytes);
    }
  }
  // A chunk is inside or outside as a whole.
  require(wide(global.extents[columnDim]), elementsPerChunk);
  require(firstColumn, elementsPerChunk);
  Value difference = arith::SubIOp::create(b, global.strides[columnDim], i64(elementBytes));
  bits = arith::OrIOp::create(b, bits, difference);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits, i64(0));
}

namespace {
/// Emits two forms of an access; `allowed` chooses. Both give `results`.
template <typename Chunked, typename ByElement>
ValueRange chooseForm(ImplicitLocOpBuilder &b, Value allowed, TypeRange results, Chunked chunked,
                      ByElement byElement) {
  auto branch = scf::IfOp::create(b, results, allowed, /*withElseRegion=*/true);
  auto emit = [&](Block *block, auto form) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    SmallVector<Value> values = form();
    if (results.empty()) {
      return;
    }
    scf::YieldOp::create(b, values);
  };
  emit(branch.thenBlock(), chunked);
  emit(branch.elseBlock(), byElement);
  return branch.getResults();
}

/// The rows that the thread has of the tile that `access` moves.
template <typename AccessOp>
std::vector<GlobalRow> ownRows(ImplicitLocOpBuilder &b, const Lowering &lowering, AccessOp access,
                               ValueRange coordinates, FragType tile) {
  const RoleContext &role = lowering.role(access);
  ThreadLayout layout = ThreadLayout::of(tile);
  std::vector<GlobalRow> rows;
  Value ownColumn = tile.isRow() ? Value() : layout.firstColumn(b, role);
  for (int64_t row = 0; row < layout.rows(); ++row) {
    rows.emplace_back(b, lowering.global(access.getGlobal()), gridOf(access.getGlobal()),
                      coordinates, layout.rowNumber(b, role, row), ownColumn);
  }
  return rows;
}

/// Elements that a thread moves at once where the tensor allows it; none if there is
/// nothing to be gained.
int64_t elementsPerChunk(FragType tile) {
  int64_t elementBytes = getElementBytes(tile.getElementType());
  // PTX has vectors of 1, 2 and 4 words.
  auto run =
      static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(ThreadLayout::of(tile).run())));
  int64_t elements = std::min(kChunkBytes / elementBytes, run);
  bool isWhole = tile.getColumns() % elements == 0 && elements * elementBytes % kWordBytes == 0;
  return isWhole ? elements : 0;
}

struct LoadLowering : LoweringPattern<LoadOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(LoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragType tile = tileOf(op.getResult());
    ThreadLayout layout = ThreadLayout::of(tile);
    std::vector<GlobalRow> rows = ownRows(b, lowering, op, adaptor.getCoordinates(), tile);
    Type element = gridOf(op.getGlobal()).getElementType();
    if (!rows.front().hasColumns()) {
      SmallVector<Value> numbers = llvm::map_to_vector(rows, [&](GlobalRow &row) {
        return loadIfInside(b, element, row.address(0), row.isInside(0));
      });
      rewriter.replaceOp(op, layout.joinNumbers(b, numbers));
      return success();
    }
    auto type = VectorType::get({layout.lanes()}, element);
    int64_t perChunk = elementsPerChunk(tile);
    auto byElement = [&]() -> SmallVector<Value> {
      SmallVector<Value> lanes;
      for (int64_t lane = 0; lane < layout.lanes(); ++lane) {
        GlobalRow &row = rows[layout.rowOf(lane)];
        int64_t column = layout.columnOf(lane);
        lanes.push_back(loadIfInside(b, element, row.address(column), row.isInside(column)));
      }
      return {fromLanes(b, element, lanes)};
    };
    auto chunked = [&]() -> SmallVector<Value> {
      SmallVector<Value> chunks;
      int64_t words = perChunk * getElementBytes(element) / kWordBytes;
      for (int64_t lane = 0; lane < layout.lanes(); lane += perChunk) {
        GlobalRow &row = rows[layout.rowOf(lane)];
        int64_t column = layout.columnOf(lane);
        chunks.push_back(loadWordsIfInside(b, words, row.address(column), row.isInside(column)));
      }
      return {fromWords(b, joinLanes(b, chunks), type)};
    };
    if (perChunk == 0) {
      rewriter.replaceOp(op, byElement());
      return success();
    }
    rewriter.replaceOp(
        op, chooseForm(b, rows.front().allowsChunks(perChunk), type, chunked, byElement));
    return success();
  }
};

struct StoreLowering : LoweringPattern<StoreOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(StoreOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragType tile = tileOf(op.getValue());
    std::vector<GlobalRow> rows = ownRows(b, lowering, op, adaptor.getCoordinates(), tile);
    Value value = adaptor.getValue();
    auto storeOne = [&](GlobalRow &row, Value scalar, int64_t column) {
      Value address = row.address(column);
      Value inside = row.isInside(column);
      op.getAdd() ? addIfInside(b, scalar, address, inside)
                  : storeIfInside(b, scalar, address, inside);
    };
    if (rows.front().hasColumns()) {
      storeTile(b, op, rows, value, storeOne);
    } else {
      storeNumbers(b, op, rows, value, storeOne);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  using StoreOne = llvm::function_ref<void(GlobalRow &, Value, int64_t)>;

  void storeNumbers(ImplicitLocOpBuilder &b, StoreOp op, MutableArrayRef<GlobalRow> rows,
                    Value numbers, StoreOne storeOne) const {
    ThreadLayout layout = ThreadLayout::of(op.getValue());
    Value speaks = layout.isFirstOfRow(b, lowering.role(op));
    for (auto [number, row] : llvm::enumerate(rows)) {
      if (speaks) {
        row.require(speaks);
      }
      storeOne(row, layout.numberOf(b, numbers, static_cast<int64_t>(number)), 0);
    }
  }

  void storeTile(ImplicitLocOpBuilder &b, StoreOp op, MutableArrayRef<GlobalRow> rows, Value value,
                 StoreOne storeOne) const {
    FragType tile = tileOf(op.getValue());
    ThreadLayout layout = ThreadLayout::of(tile);
    int64_t perChunk = elementsPerChunk(tile);
    // Pieces start at whole chunks.
    int64_t begin = lowering.firstColumns.lookup(op);
    auto byElement = [&]() -> SmallVector<Value> {
      for (int64_t lane = 0; lane < layout.lanes(); ++lane) {
        storeOne(rows[layout.rowOf(lane)], takeLane(b, value, lane), begin + layout.columnOf(lane));
      }
      return {};
    };
    auto chunked = [&]() -> SmallVector<Value> {
      for (int64_t lane = 0; lane < layout.lanes(); lane += perChunk) {
        GlobalRow &row = rows[layout.rowOf(lane)];
        int64_t column = begin + layout.columnOf(lane);
        storeWordsIfInside(b, toWords(b, takeLanes(b, value, lane, perChunk)), row.address(column),
                           row.isInside(column));
      }
      return {};
    };
    if (op.getAdd() || perChunk == 0) {
      byElement();
      return;
    }
    chooseForm(b, rows.front().allowsChunks(perChunk), {}, chunked, byElement);
  }
};

struct FetchLowering : LoweringPattern<FetchOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(FetchOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    const GlobalContext &global = lowering.global(op.getGlobal());
    Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), global.pointer);
    Value inside = arith::ConstantOp::create(b, b.getBoolAttr(true));
    for (auto [index, stride, extent] :
         llvm::zip_equal(adaptor.getCoordinates(), global.strides, global.extents)) {
      Value offset =
          arith::MulIOp::create(b, arith::ExtSIOp::create(b, b.getI64Type(), index), stride);
      address = arith::AddIOp::create(b, address, offset);
      // Unsigned: a negative index is far above.
      Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, extent);
      inside = arith::AndIOp::create(b, inside, below);
    }
    rewriter.replaceOp(op, loadIfInside(b, op.getResult().getType(), address, inside));
    return success();
  }
};
} // namespace

void populateGlobalMemoryPatterns(const TileToNVVMTypeConverter &converter,
                                  RewritePatternSet &patterns, const Lowering &lowering) {
  patterns.add<LoadLowering, StoreLowering, FetchLowering>(converter, patterns.getContext(),
                                                           lowering);
}

} // namespace fa4::tile::gpu
