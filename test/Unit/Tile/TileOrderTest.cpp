//===- TileOrderTest.cpp - tile.work visits every tile once ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes what convert-attn-to-tile writes, the host's scalars and count of tiles and
// the region of tile.work, for grids that are multiples of nothing.
//
//===----------------------------------------------------------------------===//

#include "ParsedModule.h"

#include "fa4/Conversion/AttnToTile.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace mlir;
using namespace fa4::tile;

namespace {

constexpr int64_t kRows = 128;

/// One attention of whatever extents.
struct Grid {
  int64_t batches, heads, queries, keys;
  int64_t group = 1;
  /// Of packed sequences, instead of batches and extents.
  std::vector<int32_t> queryStarts = {}, keyStarts = {};

  bool isPacked() const { return !queryStarts.empty(); }
  static int64_t countBlocks(int64_t rows) { return (rows + kRows - 1) / kRows; }

  /// Of q, k, v, o (0 to 3) and the prefix sums.
  int64_t getExtent(unsigned argument, int64_t dim) const {
    constexpr int64_t headDim = 64;
    if (argument > 3) {
      return static_cast<int64_t>(argument == 4 ? queryStarts.size() : keyStarts.size());
    }
    const bool isQuery = argument == 0 || argument == 3;
    const int64_t mine = isQuery ? heads : heads / group;
    if (isPacked()) {
      return dim == 0 ? (isQuery ? queryStarts : keyStarts).back() : dim == 1 ? mine : headDim;
    }
    const int64_t extents[] = {batches, isQuery ? queries : keys, mine, headDim};
    return extents[dim];
  }
};

/// The scalars that tile.work gives a tile.
using Tile = std::map<std::string, int64_t>;

/// A work as a function of a tile's number, with the scalars that the host gives it.
class Work {
public:
  /// `mask` and `work` as they are spelled in attn.forward and its schedule.
  Work(const std::string &mask, const std::string &work, bool packed, const std::string &target)
      : parsed(text(mask, work, packed, target)) {
    if (!parsed.module) {
      return;
    }
    PassManager pm(&parsed.context);
    pm.addPass(fa4::createConvertAttnToTile());
    if (succeeded(pm.run(*parsed.module))) {
      op = parsed.first<WorkOp>();
    }
  }

  /// The host's number of tiles, and each of them.
  std::vector<Tile> run(const Grid &grid) {
    std::vector<Tile> result;
    if (!op) {
      ADD_FAILURE() << "expected attn.forward to become a kernel";
      return result;
    }
    launch(grid);
    int64_t tiles = get(op.getTiles());
    for (int64_t number = 0; number < tiles && !::testing::Test::HasFailure(); ++number) {
      result.push_back(runTile(number));
    }
    return result;
  }

private:
  static std::string text(const std::string &mask, const std::string &work, bool packed,
                          const std::string &target) {
    std::string dims = packed ? "?x?x64xbf16" : "?x?x?x64xbf16";
    std::string tensor = "memref<" + dims + ">";
    return "module attributes {fa4.target = #fa4.target<" + target +
           ">} { func.func @f(%q: " + tensor + ", %k: " + tensor + ", %v: " + tensor +
           ", %o: " + tensor + (packed ? ", %a: memref<?xi32>, %b: memref<?xi32>" : "") +
           ") { attn.forward ins(%q, %k, %v : " + tensor + ", " + tensor + ", " + tensor +
           ") outs(%o : " + tensor + ") " + (packed ? "layout(thd) " : "") +
           (mask.empty() ? "" : "mask [" + mask + "] ") +
           (packed ? "prefix_sums(%a, %b : memref<?xi32>, memref<?xi32>) " : "") +
           "schedule(#fa4.schedule<forward, tile = 128 x 64, work = " + work + ">) return } }";
  }

  /// Runs the host code and gives its operands to the kernel.
  void launch(const Grid &grid) {
    values.clear();
    tables.clear();
    LaunchOp launch = parsed.first<LaunchOp>();
    Block &host = *launch->getBlock();
    for (Operation &inner : host) {
      if (auto dim = dyn_cast<memref::DimOp>(inner)) {
        unsigned argument = cast<BlockArgument>(dim.getSource()).getArgNumber();
        set(dim.getResult(), grid.getExtent(argument, *dim.getConstantIndex()));
      } else if (&inner == launch.getOperation()) {
        break;
      } else {
        runOp(inner);
      }
    }
    Block &entry = *op->getParentOfType<KernelOp>().getEntry();
    for (auto [operand, argument] : llvm::zip_equal(launch.getInputs(), entry.getArguments())) {
      if (!isa<MemRefType>(operand.getType())) {
        values[argument] = values[operand];
      } else if (unsigned number = cast<BlockArgument>(operand).getArgNumber(); number > 3) {
        tables[argument] = number == 4 ? grid.queryStarts : grid.keyStarts;
      }
    }
  }

  Tile runTile(int64_t number) {
    Block &body = op.getBody().front();
    set(body.getArgument(0), number);
    for (auto [outer, inner] : llvm::zip_equal(op.getUses(), body.getArguments().drop_front())) {
      if (isa<GlobalType>(inner.getType())) {
        tables[inner] = tables[outer];
      } else {
        values[inner] = values[outer];
      }
    }
    runBlock(body);
    Tile tile;
    for (auto [index, value] : llvm::enumerate(op.getYield().getValues())) {
      tile[op.getResultName(static_cast<unsigned>(index)).str()] = get(value);
    }
    return tile;
  }

  void set(Value value, int64_t number) {
    values[value] = IntegerAttr::get(value.getType(), number);
  }
  int64_t get(Value value) { return cast<IntegerAttr>(values[value]).getInt(); }

  void runBlock(Block &block) {
    for (Operation &inner : block.without_terminator()) {
      runOp(inner);
    }
  }

  void runOp(Operation &inner) {
    if (auto fetch = dyn_cast<FetchOp>(inner)) {
      const std::vector<int32_t> &table = tables[fetch.getGlobal()];
      auto index = static_cast<size_t>(get(fetch.getCoordinates().front()));
      set(fetch.getResult(), index < table.size() ? table[index] : 0);
      return;
    }
    if (auto loop = dyn_cast<scf::ForOp>(inner)) {
      runLoop(loop);
      return;
    }
    SmallVector<Attribute> operands =
        llvm::map_to_vector(inner.getOperands(), [&](Value operand) { return values[operand]; });
    SmallVector<OpFoldResult> results;
    ASSERT_TRUE(succeeded(inner.fold(operands, results))) << inner.getName().getStringRef().str();
    for (auto [result, folded] : llvm::zip_equal(inner.getResults(), results)) {
      auto constant = dyn_cast<Attribute>(folded);
      // Not in one statement: a new entry moves the others.
      Attribute number = constant ? constant : values.lookup(cast<Value>(folded));
      values[result] = number;
    }
  }

  void runLoop(scf::ForOp loop) {
    std::vector<Attribute> carried;
    for (Value init : loop.getInitArgs()) {
      carried.push_back(values[init]);
    }
    for (int64_t trip = get(loop.getLowerBound()); trip < get(loop.getUpperBound());
         trip += get(loop.getStep())) {
      set(loop.getInductionVar(), trip);
      for (auto [argument, value] : llvm::zip_equal(loop.getRegionIterArgs(), carried)) {
        values[argument] = value;
      }
      runBlock(*loop.getBody());
      carried.clear();
      for (Value value : loop.getBody()->getTerminator()->getOperands()) {
        carried.push_back(values[value]);
      }
    }
    for (auto [result, value] : llvm::zip_equal(loop.getResults(), carried)) {
      values[result] = value;
    }
  }

  ParsedModule parsed;
  WorkOp op;
  llvm::DenseMap<Value, Attribute> values;
  llvm::DenseMap<Value, std::vector<int32_t>> tables;
};

using Coordinates = std::tuple<int64_t, int64_t, int64_t>; // batch, head, block

Coordinates place(const Tile &tile) { return {tile.at("b"), tile.at("h"), tile.at("q0")}; }

struct OrderCase {
  const char *name, *mask, *work, *target = "\"sm_100a\"";
};

class TileOrder : public ::testing::TestWithParam<OrderCase> {};

const OrderCase kOrders[] = {
    {"InOrder", "", "static_persistent"},
    {"InOrderCausal", "#attn.causal", "one_per_cluster"},
    {"LongestCausal", "#attn.causal", "static_persistent<longest_first>"},
    {"LongestCausalHopper", "#attn.causal", "one_per_cluster<longest_first>", "\"sm_90a\""},
    {"LongestSmallSections", "#attn.causal", "one_per_cluster<longest_first>",
     "\"sm_90a\", l2_section_bytes = 100000"},
    {"LongestWindow", "#attn.window<left = 300, right = 40>", "one_per_cluster<longest_first>"},
    {"LongestLeftWindow", "#attn.causal, #attn.window<left = 130, right = none>",
     "one_per_cluster<longest_first>"},
    {"LongestLowerOnly", "#attn.window<left = 70, right = none>",
     "static_persistent<longest_first>"},
    {"LongestTopLeft", "#attn.window<left = 700, right = -200, align = top_left>",
     "one_per_cluster<longest_first>"},
};

} // namespace

TEST_P(TileOrder, IsABijectionOverTheGrid) {
  const OrderCase &order = GetParam();
  Work work(order.mask, order.work, /*packed=*/false, order.target);
  for (const Grid &grid : {Grid{1, 1, 1, 1}, Grid{1, 1, 128, 64}, Grid{3, 5, 129, 1000},
                           Grid{2, 7, 1000, 129}, Grid{5, 1, 640, 640}, Grid{2, 6, 1153, 1153, 3},
                           Grid{0, 3, 100, 100}, Grid{2, 3, 0, 100}, Grid{2, 3, 300, 0}}) {
    int64_t blocks = grid.countBlocks(grid.queries);
    int64_t tiles = grid.batches * grid.heads * blocks;
    std::set<Coordinates> seen;
    int64_t count = 0;
    for (const Tile &tile : work.run(grid)) {
      auto [batch, head, block] = place(tile);
      EXPECT_TRUE(batch >= 0 && batch < grid.batches && head >= 0 && head < grid.heads &&
                  block >= 0 && block < blocks)
          << batch << " " << head << " " << block;
      EXPECT_EQ(tile.at("kvh"), head / grid.group);
      seen.insert({batch, head, block});
      ++count;
    }
    EXPECT_EQ(count, tiles);
    EXPECT_EQ(static_cast<int64_t>(seen.size()), tiles);
  }
}

INSTANTIATE_TEST_SUITE_P(Schedulers, TileOrder, ::testing::ValuesIn(kOrders),
                         [](const auto &info) { return info.param.name; });

/// Tiles of one head that fits its section, in the order they come.
static std::vector<int64_t> lengthsOf(const char *mask, int64_t queries, int64_t keys) {
  Work work(mask, "one_per_cluster<longest_first>", /*packed=*/false, "\"sm_100a\"");
  Grid grid{1, 1, queries, keys};
  std::vector<int64_t> lengths;
  for (const Tile &tile : work.run(grid)) {
    lengths.push_back(tile.at("n"));
  }
  return lengths;
}

/// Rows are whole blocks and a block of keys is half of one of rows, so lengths in
/// blocks of keys differ from those in keys by less than one block.
TEST(TileOrderTest, LongestTilesComeFirst) {
  for (const char *mask : {"#attn.causal", "#attn.window<left = 300, right = 40>",
                           "#attn.window<left = 1000, right = 900>",
                           "#attn.causal, #attn.window<left = 130, right = none>",
                           "#attn.window<left = 70, right = none>",
                           "#attn.window<left = none, right = 0, align = top_left>",
                           "#attn.window<left = 700, right = -200, align = top_left>"}) {
    for (auto [queries, keys] : {std::pair<int64_t, int64_t>{2048, 2048},
                                 {2048, 640},
                                 {640, 2048},
                                 {2048, 2000},
                                 {1152, 1152}}) {
      std::vector<int64_t> lengths = lengthsOf(mask, queries, keys);
      int64_t shortest = lengths.front();
      for (int64_t length : lengths) {
        EXPECT_LE(length, shortest + 1) << mask << ", " << queries << " queries, " << keys;
        shortest = std::min(shortest, length);
      }
    }
  }
}

TEST(TileOrderTest, SectionsKeepTheirKeysInL2) {
  // 64 + 64 elements of 1000 keys are 256000 bytes a head: three fit, in groups of two, so
  // fourteen heads take three sections, as even as can be.
  Work work("#attn.causal", "one_per_cluster<longest_first>", /*packed=*/false,
            "\"sm_90a\", l2_section_bytes = 800000");
  Grid grid{1, 14, 256, 1000, 2};
  std::vector<std::set<int64_t>> sections(3);
  std::vector<Tile> tiles = work.run(grid);
  ASSERT_EQ(tiles.size(), 28U);
  for (auto [number, tile] : llvm::enumerate(tiles)) {
    sections[number / 10].insert(tile.at("h"));
  }
  EXPECT_EQ(sections[0], (std::set<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(sections[1], (std::set<int64_t>{5, 6, 7, 8, 9}));
  EXPECT_EQ(sections[2], (std::set<int64_t>{10, 11, 12, 13}));
}

class PackedOrder : public ::testing::TestWithParam<OrderCase> {};

TEST_P(PackedOrder, VisitsEveryBlockOfEverySequence) {
  const OrderCase &order = GetParam();
  Work work(order.mask, order.work, /*packed=*/true, order.target);
  for (const std::vector<int32_t> &starts :
       std::vector<std::vector<int32_t>>{{0, 130, 137, 400},
                                         {0, 0, 1, 1, 129, 129},
                                         {0, 0},
                                         {0, 1},
                                         {0, 5, 10, 15, 20, 25, 900},
                                         {7, 7, 300}}) {
    auto sequences = static_cast<int64_t>(starts.size()) - 1;
    Grid grid{sequences, 3, 0, 0, 1, starts, starts};
    std::map<Coordinates, int64_t> seen;
    for (const Tile &tile : work.run(grid)) {
      if (tile.at("b") == sequences) {
        EXPECT_EQ(tile.at("qe"), tile.at("qs"));
        EXPECT_EQ(tile.at("q0"), 0);
        continue;
      }
      EXPECT_EQ(tile.at("qs"), starts[tile.at("b")]);
      ++seen[place(tile)];
    }
    std::map<Coordinates, int64_t> expected;
    for (int64_t sequence = 0; sequence < sequences; ++sequence) {
      int64_t blocks = grid.countBlocks(starts[sequence + 1] - starts[sequence]);
      for (int64_t block = 0; block < blocks; ++block) {
        for (int64_t head = 0; head < grid.heads; ++head) {
          expected[{sequence, head, block}] = 1;
        }
      }
    }
    EXPECT_EQ(seen, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Schedulers, PackedOrder,
    ::testing::Values(OrderCase{"InOrder", "", "static_persistent"},
                      OrderCase{"LongestCausal", "#attn.causal", "one_per_cluster<longest_first>"},
                      OrderCase{"LongestWindow", "#attn.window<left = 200, right = 30>",
                                "one_per_cluster<longest_first>", "\"sm_90a\""}),
    [](const auto &info) { return info.param.name; });
