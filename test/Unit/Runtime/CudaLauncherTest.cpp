//===- CudaLauncherTest.cpp - launches through a fake driver ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What reaches the driver, what is refused before it does, and which calls a launch
// makes: the fake driver logs them all.
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"

#include "fa4/Runtime/CudaLauncher.h"

#include "llvm/ADT/STLExtras.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace fa4::runtime;
using cuda::FakeCuda;

namespace {

constexpr cuda::Address kQ = 0x10000, kO = 0x20000, kSums = 0x30000;

class CudaLauncher : public ::testing::Test {
protected:
  CudaLauncher() {
    llvm::Expected<Bundle> read = readBundle(FA4_TEST_BUNDLES "/good.json");
    EXPECT_TRUE(bool(read));
    bundle = std::move(*read);
    bundle.target = "sm_90a";
    bundle.launches[0].dynamicSharedBytes = 100 * 1024;
    fake.entries["main"] = {128, 8, 4, 4, 24};
    // The sample's map starts one q-stride further.
    fake.memory = {{kQ, 0}, {kO, 0}, {kSums, 0}};
    driver = fake.table();
  }

  Binding binding(std::vector<int64_t> extents = {2, 300, 64}) const {
    Binding result;
    result.tensors["q"] = bindDense(kQ, ElementType::BF16, extents);
    result.tensors["o"] = bindDense(kO, ElementType::F32, {300, 64});
    result.tensors["sums"] = bindDense(kSums, ElementType::U8, {});
    result.integers["n"] = 3;
    result.floats["scale"] = 0.5;
    return result;
  }

  std::unique_ptr<CudaProgram> load(int ordinal = 0) {
    auto device = CudaDevice::open(driver, ordinal);
    EXPECT_TRUE(bool(device));
    auto program = CudaProgram::load(*device, bundle, "code");
    if (!program) {
      ADD_FAILURE() << llvm::toString(program.takeError());
      return nullptr;
    }
    return std::move(*program);
  }
  std::string loadError(llvm::StringRef image = "code") {
    auto device = CudaDevice::open(driver, 0);
    auto program = CudaProgram::load(*device, bundle, image);
    return program ? "" : llvm::toString(program.takeError());
  }
  std::string prepareError(const Binding &given) {
    auto program = load();
    auto prepared = program->prepare(given);
    return prepared ? "" : llvm::toString(prepared.takeError());
  }

  FakeCuda fake;
  cuda::Driver driver;
  Bundle bundle;
};

TEST_F(CudaLauncher, WhatReachesTheDriver) {
  bundle.launches[0].cluster = {3, 1, 1};
  bundle.launches[0].programmaticDependence = true;
  auto program = load();
  EXPECT_EQ(fake.image, "code");
  auto prepared = program->prepare(binding());
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  ASSERT_EQ(fake.maps.size(), 1U);
  const FakeCuda::EncodedMap &map = fake.maps[0];
  EXPECT_EQ(map.type, 9); // CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
  EXPECT_EQ(map.extents, (std::vector<uint64_t>{64, 300}));
  EXPECT_EQ(map.strides, std::vector<uint64_t>{128});
  EXPECT_EQ(map.box, (std::vector<uint32_t>{64, 128}));
  EXPECT_EQ(map.swizzle, 3); // CU_TENSOR_MAP_SWIZZLE_128B
  EXPECT_EQ(map.fill, 0);
  EXPECT_EQ(map.address, reinterpret_cast<void *>(kQ + 300 * 128));

  cuda::Stream stream = reinterpret_cast<cuda::Stream>(0x77);
  ASSERT_FALSE(bool(prepared->launch(stream)));
  ASSERT_EQ(fake.launches.size(), 1U);
  const FakeCuda::Launched &launched = fake.launches[0];
  EXPECT_EQ(launched.config.grid, (std::array<uint32_t, 3>{3, 3, 1}));
  EXPECT_EQ(launched.config.block, (std::array<uint32_t, 3>{384, 1, 1}));
  EXPECT_EQ(launched.config.sharedBytes, 100U * 1024);
  EXPECT_EQ(launched.config.stream, stream);
  ASSERT_EQ(launched.attributes.size(), 2U);
  EXPECT_EQ(launched.attributes[0].id, cuda::kClusterDimension);
  EXPECT_EQ(launched.attributes[0].value[0], 3U);
  EXPECT_EQ(launched.attributes[1].id, cuda::kProgrammaticStreamSerialization);
  EXPECT_EQ(launched.attributes[1].value[0], 1U);
  // The encoded map is what the kernel gets; the fake marks its words.
  EXPECT_EQ(launched.parameters[0][0], 1);
  uint64_t sums = 0;
  std::memcpy(&sums, launched.parameters[1].data(), 8);
  EXPECT_EQ(sums, kSums);
  float scale = 0;
  std::memcpy(&scale, launched.parameters[2].data(), 4);
  EXPECT_EQ(scale, 1.25F);
  EXPECT_FALSE(llvm::is_contained(fake.calls, "functionGetParamInfo past the end"));
}

TEST_F(CudaLauncher, LaunchNeitherAllocatesNorWaits) {
  auto program = load();
  auto prepared = program->prepare(binding());
  ASSERT_TRUE(bool(prepared));
  fake.calls.clear();
  ASSERT_FALSE(bool(prepared->launch(nullptr)));
  EXPECT_EQ(fake.calls, (std::vector<std::string>{"contextPush", "memsetD8Async", "launchKernelEx",
                                                  "contextPop"}));
}

TEST_F(CudaLauncher, PreparedSurvivesAMove) {
  auto program = load();
  std::vector<PreparedLaunch> list;
  for (int i = 0; i < 8; ++i) {
    auto prepared = program->prepare(binding());
    ASSERT_TRUE(bool(prepared));
    list.push_back(std::move(*prepared));
  }
  for (const PreparedLaunch &prepared : list) {
    ASSERT_FALSE(bool(prepared.launch(nullptr)));
  }
  for (size_t i = 0; i < list.size(); ++i) {
    EXPECT_EQ(fake.launches[i].parameters[0][0], i + 1);
  }
}

TEST_F(CudaLauncher, EachDeviceHasItsOwnModule) {
  auto first = load(0), second = load(1);
  EXPECT_EQ(fake.modules, 2);
  auto prepared0 = first->prepare(binding());
  fake.memory = {{kQ, 1}, {kO, 1}, {kSums, 1}};
  auto prepared1 = second->prepare(binding());
  ASSERT_TRUE(bool(prepared0));
  ASSERT_TRUE(bool(prepared1));
  ASSERT_FALSE(bool(prepared1->launch(nullptr)));
  ASSERT_FALSE(bool(prepared0->launch(nullptr)));
  ASSERT_EQ(fake.launches.size(), 2U);
  EXPECT_EQ(fake.launches[0].device, 1);
  EXPECT_EQ(fake.launches[1].device, 0);
  EXPECT_EQ(fake.currentDevice(), -1); // the thread's own choice is untouched
}

TEST_F(CudaLauncher, EverythingIsGivenBack) {
  {
    auto program = load();
  }
  EXPECT_EQ(fake.modules, 0);
  EXPECT_EQ(fake.retained, 0);
}

TEST_F(CudaLauncher, SharedMemoryIsNeverLowered) {
  bundle.launches[0].dynamicSharedBytes =
      Expr::make(Expr::Op::Mul, {Expr::scalar("n"), Expr(30 * 1024)});
  auto program = load();
  Binding large = binding(), small = binding();
  small.integers["n"] = 1;
  auto first = program->prepare(large);
  auto second = program->prepare(small);
  ASSERT_TRUE(bool(first));
  ASSERT_TRUE(bool(second));
  EXPECT_FALSE(bool(first->launch(nullptr)));
}

TEST_F(CudaLauncher, EmptyGridIsNotLaunched) {
  auto program = load();
  Binding none = binding();
  none.integers["n"] = 0;
  bundle.launches[0].parameters.clear();
  auto prepared = program->prepare(none);
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  ASSERT_FALSE(bool(prepared->launch(nullptr)));
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(CudaLauncher, RefusesDevices) {
  auto none = CudaDevice::open(driver, 2);
  EXPECT_EQ(llvm::toString(none.takeError()), "expected the device to be from 0 to 1, but got 2");
  fake.devices = 0;
  auto missing = CudaDevice::open(driver, 0);
  EXPECT_EQ(llvm::toString(missing.takeError()),
            "expected a CUDA device, but got CUDA_ERROR_FAKE (fake text)");
}

TEST_F(CudaLauncher, RefusesOtherChips) {
  struct Case {
    const char *chip;
    int major, minor;
    bool runs;
  };
  const Case cases[] = {
      {"sm_90a", 9, 0, true},   {"sm_90a", 10, 0, false},  {"sm_100a", 10, 3, false},
      {"sm_100f", 10, 3, true}, {"sm_100f", 11, 0, false}, {"sm_80", 8, 6, true},
      {"sm_86", 8, 0, false},   {"sm_80", 9, 0, false},
  };
  for (const Case &c : cases) {
    fake.major = c.major;
    fake.minor = c.minor;
    auto device = CudaDevice::open(driver, 0);
    llvm::Error e = (*device)->checkChip(c.chip);
    EXPECT_EQ(!bool(e), c.runs) << c.chip << " on " << c.major << "." << c.minor;
    llvm::consumeError(std::move(e));
  }
  fake.major = 10;
  fake.minor = 0;
  EXPECT_EQ(loadError(), "expected device 0 to have compute capability 9.0 for code of 'sm_90a', "
                         "but got 10.0 ('Fake GPU')");
  bundle.target = "gfx942";
  EXPECT_NE(loadError().find("expected device 0 to have compute capability 94.2"),
            std::string::npos);
  bundle.target = "sm_x";
  EXPECT_EQ(loadError(),
            "expected the target to be a chip such as those that fa4c takes, but got 'sm_x'");
}

TEST_F(CudaLauncher, RefusesCode) {
  EXPECT_EQ(loadError("bad"), "expected device 0 to load code for 'sm_90a' (line 3: no such "
                              "instruction), but got CUDA_ERROR_FAKE (fake text)");
  fake.entries.clear();
  EXPECT_EQ(loadError(),
            "expected the code to have an entry 'main', but got CUDA_ERROR_FAKE (fake text)");
  fake.entries["main"] = {128, 8, 4, 4};
  EXPECT_EQ(prepareError(binding()), "launch of 'main': expected entry 'main' to have 5 parameters "
                                     "as in the bundle, but got 4");
  fake.entries["main"] = {128, 8, 8, 4, 24};
  EXPECT_EQ(prepareError(binding()),
            "launch of 'main': expected parameter 2 of 'main' to have 8 bytes, but got 4");
  bundle.launches[0].dynamicSharedBytes = 201 * 1024;
  EXPECT_EQ(prepareError(binding()),
            "launch of 'main': expected the dynamic shared memory of 'main' to be at most the "
            "204800 bytes of device 0, but got 205824");
}

TEST_F(CudaLauncher, RefusesTensors) {
  Binding given = binding();
  given.tensors["q"].type = ElementType::F16;
  EXPECT_EQ(prepareError(given), "expected the elements of 'q' to be bf16, but got f16");
  EXPECT_EQ(prepareError(binding({2, 300, 72})), "expected extent 2 of 'q' to be 64, but got 72");
  given = binding();
  given.tensors["q"].strides[1] = 136;
  EXPECT_EQ(prepareError(given), "launch of 'main': expected the strides of 'q' to be multiples of "
                                 "16 bytes, but got 136");
  given = binding();
  given.tensors["q"].address = kQ + 8;
  fake.memory[kQ + 8] = 0;
  EXPECT_EQ(prepareError(given), "launch of 'main': expected the address of 'q' to be a multiple "
                                 "of 16 bytes, but got a remainder of 8");
  given = binding();
  given.tensors.erase("sums");
  EXPECT_EQ(prepareError(given),
            "expected the workspace 'sums' of 3072 bytes to be bound, but got nothing");
  fake.memory[kO] = 1;
  EXPECT_EQ(prepareError(binding()),
            "expected 'o' to be in memory of device 0, but got memory of device 1");
  fake.memory[kO] = -1;
  EXPECT_EQ(prepareError(binding()),
            "expected 'o' to be in memory of device 0, but got memory of the host");
  fake.memory.erase(kO);
  EXPECT_EQ(prepareError(binding()),
            "expected 'o' to be in memory of device 0, but got memory of the host");
}

TEST(CudaDriver, SaysThatThereIsNone) {
  auto driver = cuda::loadDriver("libno-such-driver.so.1");
  ASSERT_FALSE(bool(driver));
  std::string message = llvm::toString(driver.takeError());
  EXPECT_EQ(message.find("expected the CUDA driver to be on this machine, but got: "), 0U);
  EXPECT_NE(message.find("libno-such-driver.so.1"), std::string::npos);
  // A library that is no driver.
  auto other = cuda::loadDriver("libm.so.6");
  ASSERT_FALSE(bool(other));
  EXPECT_NE(
      llvm::toString(other.takeError()).find("to be of CUDA 12 or newer, but got one without "),
      std::string::npos);
}

} // namespace
