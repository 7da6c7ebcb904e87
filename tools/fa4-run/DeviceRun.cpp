//===- DeviceRun.cpp - one bundle on one GPU --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every run starts from the values on the command line, so runs are comparable also
// for a tensor that is read and written.
//
//===----------------------------------------------------------------------===//

#include "DeviceRun.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>

using namespace llvm;
using namespace fa4;
using namespace fa4::tool;
namespace cuda = fa4::runtime::cuda;

Expected<std::unique_ptr<DeviceRun>>
DeviceRun::create(std::shared_ptr<const runtime::CudaDevice> device, const runtime::Bundle &bundle,
                  StringRef image, std::vector<GivenArgument> arguments) {
  std::unique_ptr<DeviceRun> run(new DeviceRun(device, std::move(arguments)));
  Expected<std::unique_ptr<runtime::CudaProgram>> program =
      runtime::CudaProgram::load(device, bundle, image);
  if (!program) {
    return program.takeError();
  }
  run->program = std::move(*program);
  const cuda::Driver &driver = device->getDriver();
  runtime::CudaScope scope(*device);
  if (Error e = device->check(driver.streamCreate(&run->stream, cuda::kStreamNonBlocking),
                              "expected a stream")) {
    return std::move(e);
  }
  for (cuda::Event *event : {&run->begin, &run->end}) {
    if (Error e = device->check(driver.eventCreate(event, 0), "expected an event")) {
      return std::move(e);
    }
  }
  if (Error e = run->prepare()) {
    return std::move(e);
  }
  return run;
}

DeviceRun::~DeviceRun() {
  const cuda::Driver &driver = device->getDriver();
  runtime::CudaScope scope(*device);
  if (stream) {
    driver.streamSynchronize(stream);
    driver.streamDestroy(stream);
  }
  for (cuda::Event event : {begin, end}) {
    if (event) {
      driver.eventDestroy(event);
    }
  }
}

Error DeviceRun::prepare() {
  runtime::Binding binding;
  auto allocate = [&](StringRef name, uint64_t bytes) -> Expected<uint64_t> {
    Expected<runtime::CudaBuffer> buffer = runtime::CudaBuffer::allocate(device, bytes);
    if (!buffer) {
      return buffer.takeError();
    }
    uint64_t address = buffer->getAddress();
    buffers.try_emplace(name, std::move(*buffer));
    return address;
  };
  for (const GivenArgument &given : arguments) {
    const std::string &name = given.declared->name;
    if (!given.declared->isTensor) {
      binding.integers[name] = given.integer;
      binding.floats[name] = given.number;
      continue;
    }
    Expected<uint64_t> address = allocate(name, given.tensorBytes());
    if (!address) {
      return address.takeError();
    }
    binding.tensors[name] = runtime::bindDense(*address, given.declared->type, given.shape);
  }
  Expected<std::vector<uint64_t>> sizes = program->getWorkspaceBytes(binding);
  if (!sizes) {
    return sizes.takeError();
  }
  for (auto [workspace, bytes] : zip_equal(program->getBundle().workspaces, *sizes)) {
    Expected<uint64_t> address = allocate(workspace.name, bytes);
    if (!address) {
      return address.takeError();
    }
    binding.tensors[workspace.name] = runtime::bindDense(*address, runtime::ElementType::U8, {});
  }
  Expected<runtime::PreparedLaunch> launch = program->prepare(std::move(binding));
  if (!launch) {
    return launch.takeError();
  }
  prepared = std::move(*launch);
  return Error::success();
}

Error DeviceRun::fill() {
  for (const GivenArgument &given : arguments) {
    if (!given.declared->isTensor) {
      continue;
    }
    runtime::CudaBuffer &buffer = buffers.find(given.declared->name)->second;
    std::vector<uint8_t> poison(given.isEmpty ? given.tensorBytes() : 0, 0xff);
    ArrayRef<uint8_t> bytes(poison);
    if (!given.isEmpty) {
      bytes = {reinterpret_cast<const uint8_t *>(given.bytes.data()), given.bytes.size()};
    }
    if (Error e = buffer.write(bytes)) {
      return e;
    }
  }
  return Error::success();
}

Error DeviceRun::synchronize() {
  return device->check(device->getDriver().streamSynchronize(stream),
                       "expected the kernels to end without a fault");
}

Error DeviceRun::launchAsGraph() {
  const cuda::Driver &driver = device->getDriver();
  if (Error e = device->check(driver.streamBeginCapture(stream, cuda::kCaptureThreadLocal),
                              "expected a capture to begin")) {
    return e;
  }
  Error launched = prepared->launch(stream);
  cuda::Graph graph = nullptr;
  Error captured = device->check(driver.streamEndCapture(stream, &graph),
                                 "expected the launches to be captured");
  if (Error e = joinErrors(std::move(launched), std::move(captured))) {
    return e;
  }
  cuda::GraphExec exec = nullptr;
  Error e = device->check(driver.graphInstantiate(&exec, graph, 0),
                          "expected the captured graph to be instantiated");
  if (!e) {
    e = device->check(driver.graphLaunch(exec, stream), "expected the graph to start");
    e = joinErrors(std::move(e), synchronize());
    driver.graphExecDestroy(exec);
  }
  driver.graphDestroy(graph);
  return e;
}

Error DeviceRun::run(bool asGraph) {
  if (Error e = fill()) {
    return e;
  }
  runtime::CudaScope scope(*device);
  if (asGraph) {
    return launchAsGraph();
  }
  if (Error e = prepared->launch(stream)) {
    return e;
  }
  return synchronize();
}

Expected<std::vector<uint8_t>> DeviceRun::read(const GivenArgument &argument) const {
  std::vector<uint8_t> bytes(argument.tensorBytes());
  if (Error e = buffers.find(argument.declared->name)->second.read(bytes)) {
    return std::move(e);
  }
  return bytes;
}

const GivenArgument *DeviceRun::findTensor(StringRef name) const {
  for (const GivenArgument &given : arguments) {
    if (given.declared->isTensor && given.declared->name == name) {
      return &given;
    }
  }
  return nullptr;
}

Expected<double> DeviceRun::timeBlock(unsigned runs) {
  const cuda::Driver &driver = device->getDriver();
  float milliseconds = 0;
  if (Error e = device->check(driver.eventRecord(begin, stream), "expected an event")) {
    return std::move(e);
  }
  for (unsigned run = 0; run < runs; ++run) {
    if (Error e = prepared->launch(stream)) {
      return std::move(e);
    }
  }
  if (Error e = device->check(driver.eventRecord(end, stream), "expected an event")) {
    return std::move(e);
  }
  if (Error e = synchronize()) {
    return std::move(e);
  }
  if (Error e = device->check(driver.eventElapsedTime(&milliseconds, begin, end),
                              "expected the time between two events")) {
    return std::move(e);
  }
  return double(milliseconds) / runs;
}

Expected<Timing> DeviceRun::time(double seconds) {
  runtime::CudaScope scope(*device);
  Expected<double> first = timeBlock(3);
  if (!first) {
    return first.takeError();
  }
  // About 40 blocks: 20 to reach the steady clock, 20 to judge.
  Timing timing;
  double block = seconds * 1e3 / 40;
  timing.runsPerBlock = unsigned(std::clamp(block / std::max(*first, 1e-3), 1.0, 10000.0));
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::vector<double> times;
  while (elapsed() < seconds || times.empty()) {
    bool judged = elapsed() >= seconds / 2;
    Expected<double> milliseconds = timeBlock(timing.runsPerBlock);
    if (!milliseconds) {
      return milliseconds.takeError();
    }
    if (judged) {
      times.push_back(*milliseconds);
    }
  }
  sort(times);
  timing.blocks = unsigned(times.size());
  timing.median = times[times.size() / 2];
  timing.lowerQuartile = times[times.size() / 4];
  timing.upperQuartile = times[times.size() - 1 - times.size() / 4];
  return timing;
}
