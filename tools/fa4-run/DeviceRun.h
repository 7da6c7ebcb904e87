//===- DeviceRun.h - one bundle on one GPU ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory, runs, comparisons and times. What holds nothing yet is filled with bytes
// of 0xff, NaN in every float type, so that what a kernel leaves out is seen.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_RUN_DEVICERUN_H
#define FA4_TOOLS_FA4_RUN_DEVICERUN_H

#include "BundleArguments.h"
#include "fa4/Runtime/CudaLauncher.h"

namespace fa4::tool {

/// Milliseconds of one run in a row of runs without a gap.
struct Timing {
  double median = 0, lowerQuartile = 0, upperQuartile = 0;
  unsigned blocks = 0, runsPerBlock = 0;
};

class DeviceRun {
public:
  static llvm::Expected<std::unique_ptr<DeviceRun>>
  create(std::shared_ptr<const runtime::CudaDevice> device, const runtime::Bundle &bundle,
         llvm::StringRef image, std::vector<GivenArgument> arguments);
  ~DeviceRun();
  DeviceRun(const DeviceRun &) = delete;
  DeviceRun &operator=(const DeviceRun &) = delete;

  /// Puts the arguments' values back and runs once; `asGraph` captures the launches
  /// and replays them.
  llvm::Error run(bool asGraph);
  /// The bytes of a tensor after the last run.
  llvm::Expected<std::vector<uint8_t>> read(const GivenArgument &argument) const;
  /// Runs for `seconds`, half of it to warm up, on the values that are there.
  llvm::Expected<Timing> time(double seconds);

  llvm::ArrayRef<GivenArgument> getArguments() const { return arguments; }
  /// Null if there is no such tensor.
  const GivenArgument *findTensor(llvm::StringRef name) const;

private:
  DeviceRun(std::shared_ptr<const runtime::CudaDevice> device, std::vector<GivenArgument> arguments)
      : device(std::move(device)), arguments(std::move(arguments)) {}
  llvm::Error prepare();
  llvm::Error fill();
  llvm::Error launchAsGraph();
  llvm::Error synchronize();
  llvm::Expected<double> timeBlock(unsigned runs);

  std::shared_ptr<const runtime::CudaDevice> device;
  std::vector<GivenArgument> arguments;
  std::unique_ptr<runtime::CudaProgram> program;
  llvm::StringMap<runtime::CudaBuffer> buffers;
  std::optional<runtime::PreparedLaunch> prepared;
  runtime::cuda::Stream stream = nullptr;
  runtime::cuda::Event begin = nullptr, end = nullptr;
};

} // namespace fa4::tool

#endif // FA4_TOOLS_FA4_RUN_DEVICERUN_H
