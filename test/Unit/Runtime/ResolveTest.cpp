//===- ResolveTest.cpp - launches for given tensors -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers of the sample bundle worked out by hand, the tensor-map rules for
// extents of 0 and 1, and every range that a launch must not leave.
//
//===----------------------------------------------------------------------===//

#include "fa4/Runtime/Resolve.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace fa4::runtime;

namespace {

Bundle sampleBundle() {
  llvm::Expected<Bundle> bundle = readBundle(FA4_TEST_BUNDLES "/good.json");
  EXPECT_TRUE(bool(bundle));
  return bundle ? std::move(*bundle) : Bundle();
}

Binding sampleBinding(std::vector<int64_t> extents = {2, 300, 64}, int64_t n = 3) {
  Binding binding;
  binding.tensors["q"] = bindDense(0x10000, ElementType::BF16, extents);
  binding.tensors["o"] = bindDense(0x20000, ElementType::F32, {300, 64});
  binding.tensors["sums"] = bindDense(0x30000, ElementType::U8, {});
  binding.integers["n"] = n;
  binding.floats["scale"] = 0.5;
  binding.processors = 2;
  return binding;
}

std::string errorOf(const Launch &launch, const Binding &binding) {
  llvm::Expected<ResolvedLaunch> resolved = resolveLaunch(launch, binding);
  return resolved ? "" : llvm::toString(resolved.takeError());
}

template <typename T>
T at(const ResolvedParameter &parameter, size_t offset = 0) {
  T value{};
  EXPECT_LE(offset + sizeof(T), parameter.bytes.size());
  std::memcpy(&value, parameter.bytes.data() + offset, sizeof(T));
  return value;
}

TEST(Resolve, ConditionsOfTheCode) {
  Bundle bundle = sampleBundle();
  EXPECT_EQ(llvm::toString(checkBinding(bundle, sampleBinding({2, 300, 72}))),
            "expected extent 2 of 'q' to be 64, but got 72");
  Binding small = sampleBinding();
  small.processors = 1;
  EXPECT_EQ(llvm::toString(checkBinding(bundle, small)),
            "expected the device to have 2 processors or more, but got 1");
  small.processors = 0;
  EXPECT_EQ(llvm::toString(checkBinding(bundle, small)),
            "expected the device's number of processors to be bound, but got 0");
}

TEST(Resolve, TheSampleByHand) {
  Bundle bundle = sampleBundle();
  Binding binding = sampleBinding();
  EXPECT_FALSE(bool(checkBinding(bundle, binding)));
  llvm::Expected<std::vector<uint64_t>> bytes = workspaceBytes(bundle, binding);
  ASSERT_TRUE(bool(bytes));
  EXPECT_EQ(*bytes, std::vector<uint64_t>{4 * 384 * 2});

  llvm::Expected<ResolvedLaunch> launch = resolveLaunch(bundle.launches[0], binding);
  ASSERT_TRUE(bool(launch)) << llvm::toString(launch.takeError());
  EXPECT_EQ(launch->entry, "main");
  EXPECT_EQ(launch->grid, (std::array<uint32_t, 3>{3, 3, 1}));
  EXPECT_EQ(launch->block, (std::array<uint32_t, 3>{384, 1, 1}));
  EXPECT_EQ(launch->dynamicSharedBytes, 2048U);
  EXPECT_FALSE(launch->isEmpty());
  ASSERT_EQ(launch->parameters.size(), 5U);

  ASSERT_EQ(launch->parameters[0].maps.size(), 1U);
  const ResolvedTensorMap &map = launch->parameters[0].maps[0].second;
  EXPECT_EQ(launch->parameters[0].bytes.size(), 128U);
  EXPECT_EQ(map.address, 0x10000U + 300 * 64 * 2);
  EXPECT_EQ(map.extents, (std::vector<uint64_t>{64, 300}));
  EXPECT_EQ(map.strides, std::vector<uint64_t>{128});
  EXPECT_EQ(map.box, (std::vector<uint32_t>{64, 128}));
  EXPECT_EQ(map.swizzle, Swizzle::Bytes128);

  EXPECT_EQ(at<uint64_t>(launch->parameters[1]), 0x30000U);
  EXPECT_EQ(at<float>(launch->parameters[2]), 1.25F);
  EXPECT_EQ(at<int32_t>(launch->parameters[3]), 2);
  EXPECT_EQ(launch->parameters[4].bytes.size(), 24U);
  EXPECT_EQ(at<uint64_t>(launch->parameters[4]), 0x20040U);
  EXPECT_EQ(at<uint64_t>(launch->parameters[4], 8), 0U);
  EXPECT_EQ(at<uint64_t>(launch->parameters[4], 16), 7U);
}

TEST(Resolve, AGridOfZeroIsAnEmptyLaunch) {
  llvm::Expected<ResolvedLaunch> launch =
      resolveLaunch(sampleBundle().launches[0], sampleBinding({2, 300, 64}, -1));
  ASSERT_TRUE(bool(launch)) << llvm::toString(launch.takeError());
  EXPECT_TRUE(launch->isEmpty());
}

TEST(Resolve, MapsOfEmptyAndUnitDimensionsStayLegal) {
  Binding binding = sampleBinding({2, 0, 60});
  llvm::Expected<ResolvedLaunch> launch = resolveLaunch(sampleBundle().launches[0], binding);
  ASSERT_TRUE(bool(launch)) << llvm::toString(launch.takeError());
  const ResolvedTensorMap &map = launch->parameters[0].maps[0].second;
  EXPECT_EQ(map.extents, (std::vector<uint64_t>{60, 1}));
  // 120 bytes are no legal stride; nothing ever steps by it.
  EXPECT_EQ(map.strides, std::vector<uint64_t>{128});
  binding.tensors["q"].extents[1] = 1;
  binding.tensors["q"].strides[1] = -5;
  launch = resolveLaunch(sampleBundle().launches[0], binding);
  ASSERT_TRUE(bool(launch)) << llvm::toString(launch.takeError());
  EXPECT_EQ(launch->parameters[0].maps[0].second.strides, std::vector<uint64_t>{128});
  binding.tensors["q"].extents[1] = 2;
  EXPECT_EQ(errorOf(sampleBundle().launches[0], binding),
            "launch of 'main': expected a stride of a tensor map to be from 0 to 1099511627775, "
            "but got -5");
}

TEST(Resolve, EveryNumberHasItsRange) {
  Launch launch;
  launch.entry = "e";
  launch.grid = {1, 65536, 1};
  EXPECT_EQ(errorOf(launch, {}),
            "launch of 'e': expected grid[1] to be from 0 to 65535, but got 65536");
  launch.grid = {Expr(-1), 1, 1};
  EXPECT_EQ(errorOf(launch, {}),
            "launch of 'e': expected grid[0] to be from 0 to 2147483647, but got -1");
  launch.grid = {3, 1, 1};
  launch.cluster = {2, 1, 1};
  EXPECT_EQ(errorOf(launch, {}),
            "launch of 'e': expected grid[0] to be a multiple of the cluster's 2, but got 3");
  launch.cluster.reset();
  launch.block = {0, 1, 1};
  EXPECT_EQ(errorOf(launch, {}),
            "launch of 'e': expected block[0] to be from 1 to 1024, but got 0");
  launch.block = {64, 32, 1};
  EXPECT_EQ(errorOf(launch, {}),
            "launch of 'e': expected a block to have at most 1024 threads, but got 2048");
  launch.block = {32, 1, 1};
  launch.dynamicSharedBytes = -1;
  EXPECT_NE(errorOf(launch, {}).find("dynamic_shared_bytes"), std::string::npos);
}

TEST(Resolve, IntegersKeepTheirBitsOrAreRefused) {
  Launch launch;
  launch.entry = "e";
  for (int64_t fits : {-128, -1, 0, 255}) {
    launch.parameters = {IntegerParameter{1, fits}};
    llvm::Expected<ResolvedLaunch> resolved = resolveLaunch(launch, {});
    ASSERT_TRUE(bool(resolved));
    EXPECT_EQ(resolved->parameters[0].bytes, std::vector<uint8_t>{uint8_t(fits)});
  }
  for (int64_t wide : {-129, 256}) {
    launch.parameters = {IntegerParameter{1, wide}};
    EXPECT_NE(errorOf(launch, {}), "") << wide;
  }
  launch.parameters = {IntegerParameter{4, int64_t(1) << 32}};
  EXPECT_EQ(errorOf(launch, {}), "launch of 'e': expected a parameter of 4 bytes to be from "
                                 "-2147483648 to 4294967295, but got 4294967296");
}

TEST(Resolve, AFieldHasToEndInsideItsStruct) {
  Launch launch;
  launch.entry = "e";
  StructParameter record;
  record.bytes = 8;
  record.fields.push_back({4, IntegerParameter{8, 1}});
  launch.parameters = {record};
  EXPECT_EQ(errorOf(launch, {}), "launch of 'e': expected a field at offset 4 to end within 8 "
                                 "bytes, but got 8 bytes");
}

TEST(Resolve, WhatIsNotBoundAsDeclaredIsNamed) {
  Bundle bundle = sampleBundle();
  auto message = [&](const Binding &binding) {
    return llvm::toString(checkBinding(bundle, binding));
  };
  Binding binding = sampleBinding();
  binding.tensors["q"].type = ElementType::F16;
  EXPECT_EQ(message(binding), "expected the elements of 'q' to be bf16, but got f16");
  binding = sampleBinding({300, 64});
  EXPECT_EQ(message(binding), "expected the rank of 'q' to be 3, but got 2");
  binding = sampleBinding();
  binding.tensors.erase("o");
  EXPECT_EQ(message(binding), "expected the tensor 'o' to be bound, but got nothing");
  binding = sampleBinding();
  binding.floats.clear();
  EXPECT_EQ(message(binding), "expected the scalar 'scale' to be bound to an f32, but got nothing");
}

} // namespace
