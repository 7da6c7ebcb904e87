//===- HandTextTest.cpp - the hand-written T0 kernels compute attention ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The T0 texts that the rest of the design is derived from are run and judged
// by the oracle, like kernels that the compiler makes.
//
//===----------------------------------------------------------------------===//

#include "HostRun.h"

#include "fa4/Conversion/TileToCPU.h"
#include "fa4/Driver/Entry.h"
#include "fa4/Driver/ReferenceAdapter.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <fstream>
#include <sstream>

using namespace fa4;
using namespace fa4::driver;
using fa4::support::NpyType;

namespace {

constexpr int64_t kHeadDim = 128;

struct Extents {
  int64_t batch, sq, sk, queryHeads, keyHeads;
};

/// The kernel's text with a @main that launches it, and the op it stands for.
std::string launchText(const std::string &file) {
  std::ifstream stream(std::string(FA4_BY_HAND) + "/" + file);
  std::stringstream text;
  text << stream.rdbuf();
  EXPECT_FALSE(text.str().empty()) << file;
  return text.str() + R"(
    func.func @main(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>, %v: memref<?x?x?x128xbf16>,
                    %o: memref<?x?x?x128xbf16>, %l: memref<?x?x?xf32>, %c: f32, %sq: i32, %sk: i32,
                    %hq: i32, %group: i32, %nb: i32, %nt: i32) {
      tile.launch @fwd(%q, %k, %v, %o, %l, %c, %sq, %sk, %hq, %group, %nb, %nt) : memref<?x?x?x128xbf16>,
          memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?xf32>, f32,
          i32, i32, i32, i32, i32, i32
      return
    })";
}

constexpr const char *kCausalOp = R"(
    func.func @main(%q: memref<?x?x?x128xbf16>, %k: memref<?x?x?x128xbf16>, %v: memref<?x?x?x128xbf16>,
                    %o: memref<?x?x?x128xbf16>, %l: memref<?x?x?xf32>) {
      attn.forward ins(%q, %k, %v : memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>, memref<?x?x?x128xbf16>)
          outs(%o, %l : memref<?x?x?x128xbf16>, memref<?x?x?xf32>) mask [#attn.causal]
      return
    })";

std::shared_ptr<HostArray> drawn(numerics::InputTensor tensor, llvm::ArrayRef<int64_t> shape) {
  auto array = makeArray(NpyType::BF16, shape);
  numerics::InputGenerator generator;
  array->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
    array->set(index, generator.element(tensor, static_cast<uint64_t>(number),
                                        static_cast<uint64_t>(index.back())));
  });
  return array;
}

/// Runs the kernel in `file`, whose CTA covers `ctaRows` queries.
void checkKernel(const std::string &file, int64_t ctaRows, const Schedule &plan) {
  mlir::OwningOpRef<mlir::ModuleOp> kernel =
      mlir::parseSourceString<mlir::ModuleOp>(launchText(file), &testContext());
  mlir::OwningOpRef<mlir::ModuleOp> stated =
      mlir::parseSourceString<mlir::ModuleOp>(kCausalOp, &testContext());
  ASSERT_TRUE(kernel && stated);
  mlir::PassManager pm(&testContext());
  pm.addPass(createConvertTileToCPU());
  ASSERT_TRUE(succeeded(pm.run(*kernel)));
  auto program = HostProgram::compileLowered(*kernel, Threading::Caller);
  ASSERT_TRUE(static_cast<bool>(program)) << llvm::toString(program.takeError());
  auto entry = Entry::find(*stated, "main");
  ASSERT_TRUE(static_cast<bool>(entry)) << llvm::toString(entry.takeError());

  for (const Extents &extents : {Extents{2, 300, 300, 4, 2}, Extents{1, 1, 1, 1, 1},
                                 Extents{1, 129, 513, 3, 1}, Extents{1, 400, 130, 2, 2}}) {
    auto q = drawn(numerics::InputTensor::Query,
                   {extents.batch, extents.sq, extents.queryHeads, kHeadDim});
    auto k =
        drawn(numerics::InputTensor::Key, {extents.batch, extents.sk, extents.keyHeads, kHeadDim});
    auto v = drawn(numerics::InputTensor::Value,
                   {extents.batch, extents.sk, extents.keyHeads, kHeadDim});
    auto o = makeArray(NpyType::BF16, {extents.batch, extents.sq, extents.queryHeads, kHeadDim});
    auto lse = makeArray(NpyType::F32, {extents.batch, extents.queryHeads, extents.sq});
    auto scalar = [](int64_t value) { return Argument(static_cast<int32_t>(value)); };
    int64_t tiles = (extents.sq + ctaRows - 1) / ctaRows * extents.batch * extents.queryHeads;
    auto c = static_cast<float>(std::log2(std::exp(1.0)) / std::sqrt(double(kHeadDim)));
    std::vector<Argument> arguments = {q,
                                       k,
                                       v,
                                       o,
                                       lse,
                                       c,
                                       scalar(extents.sq),
                                       scalar(extents.sk),
                                       scalar(extents.queryHeads),
                                       scalar(extents.queryHeads / extents.keyHeads),
                                       scalar(extents.batch),
                                       scalar(tiles)};
    auto results = (*program)->run("main", arguments);
    ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
    std::vector<Argument> operands = {q, k, v, o, lse};
    auto oracle = ForwardOracle::create(
        entry->getForward(), [&](mlir::Value operand) { return entry->bind(operand, operands); },
        ScheduleAttr::get(&testContext(), plan));
    ASSERT_TRUE(static_cast<bool>(oracle)) << llvm::toString(oracle.takeError());
    ref::CheckReport report = oracle->check(*o, lse.get());
    EXPECT_TRUE(report.passed) << file << ", sq " << extents.sq << ", sk " << extents.sk << ": "
                               << report.message;
  }
}

TEST(HandText, ForwardSm100) {
  Schedule plan;
  plan.tileRows = 128;
  plan.tileColumns = 128;
  plan.exp2 = Exp2Share{3, 16, 4, 1, 2};
  checkKernel("forward-sm100-t0.mlir", 256, plan);
}

TEST(HandText, ForwardSm90) {
  Schedule plan;
  plan.tileRows = 64;
  plan.tileColumns = 128;
  checkKernel("forward-sm90-t0.mlir", 128, plan);
}

} // namespace
