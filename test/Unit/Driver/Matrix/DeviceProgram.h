//===- DeviceProgram.h - compiled kernels on a GPU --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// SimulatedProgram's counterpart where there is a GPU: the same bundle and PTX on
// the arrays of this host.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_DEVICEPROGRAM_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_DEVICEPROGRAM_H

#include "fa4/Driver/HostArray.h"
#include "fa4/Runtime/CudaLauncher.h"

namespace fa4::matrix {

class DeviceProgram {
public:
  static llvm::Expected<std::unique_ptr<DeviceProgram>>
  create(std::shared_ptr<const runtime::CudaDevice> device, const runtime::Bundle &bundle,
         llvm::StringRef ptx);

  /// Runs the launches `repeats` times, each from what `arguments` held; every run has
  /// to write the same bits, which arrive in `arguments`.
  llvm::Error run(llvm::MutableArrayRef<driver::Argument> arguments, unsigned repeats);

private:
  DeviceProgram() = default;
  std::shared_ptr<const runtime::CudaDevice> device;
  std::unique_ptr<runtime::CudaProgram> program;
};

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_DEVICEPROGRAM_H
