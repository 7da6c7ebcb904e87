//===- ChannelsTest.cpp - values with homes and channels are the values ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory and channels change no value: kernels of many plans give the same bits
// before tile-assign-memory, after it, and after tile-insert-channels.
//
//===----------------------------------------------------------------------===//

#include "HostRun.h"

#include "fa4/Conversion/TileToCPU.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Dialect/Tile/Transforms/Passes.h"
#include "fa4/Numerics/Random.h"
#include "fa4/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"

using namespace fa4::driver;
using fa4::support::NpyType;

namespace {

enum class Stage { Values, Homes, Channels };

/// What differs from the causal kernel in bf16 with the default plan.
struct Variant {
  const char *name;
  const char *schedule = "";
  const char *mask = "mask [#attn.causal]";
  const char *layout = "bshd";
  const char *score = "";
  const char *target = "sm_100a";
};

constexpr const char *kPlain = "tile = 128 x 128, stages = 1, order = [load_k at 0, load_v at 0, "
                               "qk[0] at 0, softmax[0] at 0, rescale[0] at 0, pv[0] at 0]";
constexpr const char *kRegisters =
    "tile = 64 x 48, stages = 2, order = [load_k at 0, load_v at 0, qk[0] at 0, softmax[0] at 0, "
    "rescale[0] at 0, pv[0] at 0, qk[1] at 0, softmax[1] at 0, rescale[1] at 0, pv[1] at 0]";
constexpr const char *kMerged =
    "tile = 128 x 64, stages = 2, split_p = [48, 16], "
    "roles = [softmax = {softmax, rescale, finish, store} warps 4 x 2 at 0, "
    "mma = {qk, pv} warps 1 at 8, load = {load_q, load_k, load_v} warps 1 at 9]";
constexpr const char *kOverQuery =
    "tile = 128 x 128, stages = 1, homes = [load_q = smem @q_mem as q, load_k = smem @kv_mem x 2 "
    "as k, load_v = smem @kv_mem as v, qk = tmem @s_mem as s, softmax.0 = tmem @p_mem as p, "
    "softmax.1 = smem @stat_mem x 2 as alpha, pv = tmem @o_mem as o, finish.0 = smem @q_mem as "
    "out]";

const Variant kVariants[] = {
    {"default plan"},
    {"no rotation", kPlain},
    {"correction in softmax, no store role", kMerged},
    {"output over Q, P apart, two slots of statistics", kOverQuery},
    {"window and a score region", "tile = 128 x 64, stages = 1",
     "mask [#attn.window<left = 100, right = 30>]", "bhsd",
     "score { ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32): %t = math.tanh %s : f32 "
     "attn.yield %t : f32 }"},
    {"Hopper, taking turns", "tile = 64 x 48, stages = 2, turn = [qk, pv]", "mask [#attn.causal]",
     "bshd", "", "sm_90a"},
    {"Hopper, no rotation, no turn", kRegisters, "mask [#attn.window<left = 100, right = 30>]",
     "bhsd", "", "sm_90a"},
};

std::shared_ptr<HostArray> drawn(uint64_t stream, llvm::ArrayRef<int64_t> shape) {
  auto array = makeArray(NpyType::BF16, shape);
  fa4::numerics::CounterRandom numbers(5, stream);
  array->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
    array->set(index, 2.0 * numbers.gaussian(static_cast<uint64_t>(number)));
  });
  return array;
}

std::unique_ptr<HostProgram> compile(const Variant &variant, Stage stage) {
  std::string schedule = variant.schedule;
  if (!schedule.empty()) {
    schedule = "schedule(#fa4.schedule<forward, " + schedule + ">) ";
  }
  const std::string tensor = "memref<?x?x?x96xbf16>";
  const std::string text = R"(
    module attributes {fa4.target = #fa4.target<")" +
                           std::string(variant.target) + R"(">} {
    func.func @main(%q: )" +
                           tensor + ", %k: " + tensor + ", %v: " + tensor + ", %o: " + tensor +
                           R"(, %lse: memref<?x?x?xf32>) {
      attn.forward ins(%q, %k, %v : )" +
                           tensor + ", " + tensor + ", " + tensor + ") outs(%o, " +
                           "%lse : " + tensor + ", memref<?x?x?xf32>) layout(" + variant.layout +
                           ") " + variant.mask + " " + schedule + variant.score + R"(
      return
    }
    })";
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &testContext());
  if (!module) {
    return nullptr;
  }
  mlir::PassManager manager(&testContext());
  fa4::buildAttnToTilePipeline(manager, fa4::AttnToTileOptions());
  if (stage != Stage::Values) {
    manager.addNestedPass<fa4::tile::KernelOp>(fa4::tile::createTileAssignMemory());
  }
  if (stage == Stage::Channels) {
    manager.addNestedPass<fa4::tile::KernelOp>(fa4::tile::createTileInsertChannels());
  }
  manager.addPass(fa4::createConvertTileToCPU());
  if (failed(manager.run(*module))) {
    return nullptr;
  }
  auto program = HostProgram::compileLowered(*module, Threading::Caller);
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return nullptr;
  }
  return std::move(*program);
}

struct Result {
  std::shared_ptr<HostArray> o, lse;
};

Result run(HostProgram &program, const Variant &variant, int64_t rows, int64_t keys) {
  bool headsFirst = llvm::StringRef(variant.layout) == "bhsd";
  auto shape = [&](int64_t length, int64_t heads) {
    return headsFirst ? std::vector<int64_t>{1, heads, length, 96}
                      : std::vector<int64_t>{1, length, heads, 96};
  };
  constexpr int64_t kHeads = 2;
  Result result{makeArray(NpyType::BF16, shape(rows, kHeads)),
                makeArray(NpyType::F32, {1, kHeads, rows})};
  runMain(program, {drawn(0, shape(rows, kHeads)), drawn(1, shape(keys, 1)),
                    drawn(2, shape(keys, 1)), result.o, result.lse});
  return result;
}

class Channels : public testing::TestWithParam<Variant> {};

} // namespace

TEST_P(Channels, ChangeNoValue) {
  const Variant &variant = GetParam();
  auto values = compile(variant, Stage::Values);
  auto channels = compile(variant, Stage::Channels);
  ASSERT_TRUE(values && channels) << variant.name;
  std::vector<HostProgram *> programs = {channels.get()};
  // Channels are put into what homes made: once in between is enough.
  std::unique_ptr<HostProgram> homes;
  if (variant.schedule == kPlain) {
    homes = compile(variant, Stage::Homes);
    ASSERT_TRUE(homes) << variant.name;
    programs.push_back(homes.get());
  }
  for (auto [rows, keys] : {std::pair<int64_t, int64_t>{129, 127}, {200, 300}, {40, 0}}) {
    Result expected = run(*values, variant, rows, keys);
    for (HostProgram *program : programs) {
      Result actual = run(*program, variant, rows, keys);
      EXPECT_TRUE(haveEqualBits(*expected.o, *actual.o)) << variant.name << ", " << rows;
      EXPECT_TRUE(haveEqualBits(*expected.lse, *actual.lse)) << variant.name << ", " << rows;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, Channels, testing::ValuesIn(kVariants));
