//===- BundleBuilderTest.cpp - host code as launches ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the host function computes, its bundle computes, too; what a bundle cannot
// say is refused at the op that says it.
//
//===----------------------------------------------------------------------===//

#include "HostRun.h"

#include "fa4/Driver/BundleBuilder.h"
#include "fa4/Driver/Ptxas.h"
#include "fa4/Runtime/Resolve.h"

using namespace fa4::driver;
using namespace fa4::runtime;

namespace {

/// A kernel of one integer and a map, and the body of the host function around it.
std::string moduleText(const std::string &body, const std::string &launch,
                       const std::string &cut = "") {
  return R"(
    llvm.func @k(%m: !llvm.ptr {fa4.param = #fa4.param<tensor_map of 0 )" +
         cut + R"(box [1, 64, 32] swizzle 64>},
                 %n: i32 {fa4.param = #fa4.param<scalar of 1>})
        attributes {nvvm.kernel, fa4.launch = #fa4.launch<threads = 64, smem_bytes = 4096, )" +
         launch + R"(>} {
      llvm.return
    }
    func.func @main(%x: memref<?x?x32xbf16, strided<[?, ?, 1], offset: ?>>, %i: i32, %f: f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      )" +
         body + R"(
      return
    })";
}
constexpr const char *kWhole = "cluster = 1, tiles = 1, persistent = false";
constexpr const char *kLaunch =
    "\n tile.launch @k(%x, %n) : memref<?x?x32xbf16, strided<[?, ?, 1], offset: "
    "?>>, i32";

struct Built {
  std::optional<Bundle> bundle;
  std::string errors;
};

Built build(const std::string &text) {
  Built built;
  mlir::ScopedDiagnosticHandler handler(&testContext(), [&](mlir::Diagnostic &diagnostic) {
    built.errors += diagnostic.str() + "\n";
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &testContext());
  if (!module) {
    return built;
  }
  auto function = module->lookupSymbol<mlir::func::FuncOp>("main");
  std::vector<std::string> names = {"x", "i", "f"};
  mlir::FailureOr<Bundle> bundle = buildBundle(function, names, {}, "sm_100a", "k.ptx");
  if (succeeded(bundle)) {
    built.bundle = std::move(*bundle);
  }
  return built;
}

Binding bind(std::vector<int64_t> extents, int64_t i) {
  Binding binding;
  binding.tensors["x"] = bindDense(0x10000, ElementType::BF16, extents);
  binding.integers["i"] = i;
  binding.floats["f"] = 0.5;
  binding.processors = 3;
  return binding;
}

/// The kernel's integer for these arguments.
int32_t numberOf(const std::string &body, const Binding &binding) {
  Built built = build(moduleText(body + kLaunch, "cluster = 1, tiles = 1, persistent = true"));
  if (!built.bundle) {
    ADD_FAILURE() << built.errors;
    return 0;
  }
  // The grid may be out of range; only the parameter counts here.
  const auto &parameter = std::get<IntegerParameter>(built.bundle->launches[0].parameters[1]);
  llvm::Expected<int64_t> value = parameter.value.evaluate(binding);
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError());
    return 0;
  }
  return static_cast<int32_t>(*value);
}

TEST(BundleBuilder, ArithmeticOfTheHost) {
  auto divide = [](const std::string &op, int64_t a, int64_t b) {
    return numberOf("%b = arith.constant " + std::to_string(b) + " : i32\n %n = arith." + op +
                        " %i, %b : i32",
                    bind({2, 3, 32}, a));
  };
  for (int64_t a : {-7, -6, 0, 6, 7}) {
    for (int64_t b : {-3, 2, 3}) {
      EXPECT_EQ(divide("divsi", a, b), a / b) << a << ' ' << b;
      EXPECT_EQ(divide("remsi", a, b), a % b) << a << ' ' << b;
      EXPECT_EQ(divide("minsi", a, b), std::min(a, b));
      EXPECT_EQ(divide("subi", a, b), a - b);
    }
  }
  EXPECT_EQ(divide("floordivsi", -7, 2), -4);
  EXPECT_EQ(divide("ceildivsi", -7, 2), -3);
  EXPECT_EQ(divide("divui", 7, 2), 3);
  EXPECT_EQ(divide("remui", 7, 2), 1);
  const char *compare = R"(
      %d = memref.dim %x, %c1 : memref<?x?x32xbf16, strided<[?, ?, 1], offset: ?>>
      %e = arith.index_cast %d : index to i32
      %p = arith.cmpi sge, %e, %i : i32
      %n = arith.select %p, %e, %i : i32)";
  EXPECT_EQ(numberOf(compare, bind({2, 3, 32}, 3)), 3);
  EXPECT_EQ(numberOf(compare, bind({2, 3, 32}, 4)), 4);
  EXPECT_EQ(numberOf(compare, bind({2, 9, 32}, 4)), 9);
}

TEST(BundleBuilder, MapsOfRanges) {
  auto resolve = [](const std::string &cut, const Binding &binding) {
    Built built =
        build(moduleText(std::string("%n = arith.addi %i, %i : i32") + kLaunch, kWhole, cut));
    EXPECT_TRUE(built.bundle) << built.errors;
    llvm::Expected<ResolvedLaunch> resolved = resolveLaunch(built.bundle->launches[0], binding);
    EXPECT_TRUE(bool(resolved));
    return resolved->parameters[0].maps[0].second;
  };
  // Rows are 64 bytes: a box of 64 rows, all 100 and one more, from 64 rows before.
  ResolvedTensorMap map = resolve("dim 1 ", bind({3, 100, 32}, 1));
  EXPECT_EQ(map.address, 0x10000U - 64 * 64);
  EXPECT_EQ(map.extents, (std::vector<uint64_t>{32, 64, 101, 3}));
  EXPECT_EQ(map.strides, (std::vector<uint64_t>{64, 64, 6400}));
  EXPECT_EQ(map.box, (std::vector<uint32_t>{32, 64, 1, 1}));
  // Whatever stride one row has.
  map = resolve("dim 1 ", bind({3, 1, 32}, 1));
  EXPECT_EQ(map.address % 16, 0U);
  EXPECT_EQ(map.extents, (std::vector<uint64_t>{32, 64, 2, 3}));
  EXPECT_EQ(map.strides[0], map.strides[1]);
  EXPECT_EQ(map.address, 0x10000U - 64 * map.strides[0]);
  Built built =
      build(moduleText(std::string("%n = arith.addi %i, %i : i32") + kLaunch, kWhole, "dim 2 "));
  EXPECT_NE(built.errors.find("cut along a dimension with a stride of its own"), std::string::npos);
}

TEST(BundleBuilder, GridsOfThreeKinds) {
  auto grid = [](const char *launch, int64_t tiles) {
    Built built = build(moduleText(std::string("%n = arith.addi %i, %i : i32") + kLaunch, launch));
    EXPECT_TRUE(built.bundle) << built.errors;
    llvm::Expected<ResolvedLaunch> resolved =
        resolveLaunch(built.bundle->launches[0], bind({2, 3, 32}, tiles / 2));
    EXPECT_TRUE(bool(resolved));
    return resolved ? resolved->grid[0] : 0;
  };
  EXPECT_EQ(grid(kWhole, 10), 10U);
  EXPECT_EQ(grid("cluster = 1, tiles = 1, persistent = true", 10), 3U);
  EXPECT_EQ(grid("cluster = 1, tiles = 1, persistent = true", 2), 2U);
  EXPECT_EQ(grid("cluster = 2, tiles = 1, persistent = false", 10), 20U);
  EXPECT_EQ(grid("cluster = 2, tiles = 1, persistent = true", 10), 2U);
}

TEST(BundleBuilder, MapsAndConditions) {
  Built built = build(moduleText(std::string("%n = arith.addi %i, %i : i32") + kLaunch, kWhole));
  ASSERT_TRUE(built.bundle) << built.errors;
  llvm::Expected<ResolvedLaunch> launch =
      resolveLaunch(built.bundle->launches[0], bind({2, 3, 32}, 1));
  ASSERT_TRUE(bool(launch));
  ASSERT_EQ(launch->parameters[0].maps.size(), 1U);
  const ResolvedTensorMap &map = launch->parameters[0].maps[0].second;
  EXPECT_EQ(map.extents, (std::vector<uint64_t>{32, 3, 2}));
  EXPECT_EQ(map.strides, (std::vector<uint64_t>{64, 192}));
  EXPECT_EQ(map.box, (std::vector<uint32_t>{32, 64, 1}));
  EXPECT_EQ(map.swizzle, Swizzle::Bytes64);
  EXPECT_EQ(llvm::toString(checkBinding(*built.bundle, bind({2, 3, 40}, 1))),
            "expected extent 2 of 'x' to be 32, but got 40");
  Binding strided = bind({2, 3, 32}, 1);
  strided.tensors["x"].strides[2] = 4;
  EXPECT_EQ(llvm::toString(checkBinding(*built.bundle, strided)),
            "expected the byte stride of the innermost dimension of 'x' to be 2, but got 4");
}

TEST(BundleBuilder, WhatABundleCannotSay) {
  auto errorOf = [](const std::string &body, const char *launch = kWhole) {
    Built built = build(moduleText(body, launch));
    EXPECT_FALSE(built.bundle);
    return built.errors;
  };
  auto contains = [](const std::string &text, const char *part) {
    return text.find(part) != std::string::npos ? ::testing::AssertionSuccess()
                                                : ::testing::AssertionFailure() << text;
  };
  const std::string n = "%n = arith.addi %i, %i : i32";
  EXPECT_TRUE(contains(errorOf("%a = memref.alloc() : memref<4xf32>\n" + n + kLaunch),
                       "to do nothing but launch kernels, but got 'memref.alloc'"));
  EXPECT_TRUE(contains(errorOf(n), "expected the function to launch a kernel, but got none"));
  EXPECT_TRUE(contains(errorOf("%z = arith.fptosi %f : f32 to i32\n %n = arith.addi %z, %i : i32" +
                               std::string(kLaunch)),
                       "extents and scalars of the host function's arguments, but got "
                       "'arith.fptosi'"));
  EXPECT_TRUE(contains(errorOf(n + kLaunch, "cluster = 1, tiles = 7, persistent = false"),
                       "expected the kernel's tiles to be an operand of the launch, but got #7"));
}

TEST(Ptxas, LogsAreRead) {
  PtxasReport report = parsePtxasLog(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_100a'\n"
      "ptxas info    : Function properties for a\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 16 barriers\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_100a'\n"
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored\n"
      "ptxas info    : Function properties for b\n"
      "    792 bytes stack frame, 1948 bytes spill stores, 2156 bytes spill loads\n"
      "ptxas info    : Used 128 registers, used 2 barriers, 792 bytes cumulative stack size\n");
  ASSERT_EQ(report.kernels.size(), 2U);
  EXPECT_EQ(report.kernels[0].name, "a");
  EXPECT_EQ(report.kernels[0].registers, 168U);
  EXPECT_EQ(report.kernels[0].spillStoreBytes, 0U);
  EXPECT_EQ(report.kernels[1].stackBytes, 792U);
  EXPECT_EQ(report.kernels[1].spillStoreBytes, 1948U);
  EXPECT_EQ(report.kernels[1].spillLoadBytes, 2156U);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("C7508"), std::string::npos);
}

} // namespace
