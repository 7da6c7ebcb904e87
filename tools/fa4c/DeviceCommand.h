//===- DeviceCommand.h - fa4c for a GPU -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4C_DEVICECOMMAND_H
#define FA4_TOOLS_FA4C_DEVICECOMMAND_H

#include "fa4/Target/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace fa4::tool {

/// `None`: everything that belongs to a bundle, into a folder.
enum class Emit {
  None,
  Attn,
  Tile,
  T1,
  Barriers,
  T2,
  Nvvm,
  HostMlir,
  LLVM,
  Ptx,
  Cubin,
  Bundle,
  Report
};

struct DeviceRequest {
  std::string chip;
  Emit emit = Emit::None;
  std::string inputFile;
  /// A file, or a folder for a bundle.
  std::string output;
  std::string entry;
  std::string ptxas;
  /// What reading the module took.
  double parseSeconds = 0.0;
};

/// Compiles `module` in place and writes what is asked for. False: it does not
/// compile, which its diagnostics say; an error: files or the request are wrong.
llvm::Expected<bool> runDeviceCommand(mlir::ModuleOp module, const DeviceRequest &request);

/// Writes `text` to the file `path`, `-` for standard output.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef text);

} // namespace fa4::tool

#endif // FA4_TOOLS_FA4C_DEVICECOMMAND_H
