//===- DeviceCommand.cpp - fa4c for a GPU ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files are functions of the module and the options alone; times go to standard
// output only.
//
//===----------------------------------------------------------------------===//

#include "DeviceCommand.h"

#include "TargetArgument.h"
#include "fa4/Driver/DeviceCode.h"
#include "fa4/Driver/DeviceCompiler.h"
#include "fa4/Driver/Entry.h"
#include "fa4/Driver/Ptxas.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace fa4::driver;

namespace fa4::tool {

namespace path = llvm::sys::path;

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef text) {
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_None);
  if (code) {
    return llvm::createStringError("expected '" + path +
                                   "' to be writable, but got: " + code.message());
  }
  file.os() << text;
  file.keep();
  return llvm::Error::success();
}

static DeviceLevel levelFor(Emit emit) {
  switch (emit) {
  case Emit::Attn:
    return DeviceLevel::Attn;
  case Emit::Tile:
    return DeviceLevel::T0;
  case Emit::T1:
    return DeviceLevel::T1;
  case Emit::Barriers:
    return DeviceLevel::Barriers;
  case Emit::T2:
  case Emit::Report:
    return DeviceLevel::T2;
  default:
    return DeviceLevel::Machine;
  }
}

static std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << '\n';
  return text;
}

static void printReport(llvm::raw_ostream &os, const DeviceCompiler &compiler,
                        const std::optional<PtxasReport> &assembled) {
  for (const KernelReport &kernel : compiler.getKernels()) {
    kernel.print(os);
  }
  if (!assembled) {
    os << "ptxas     none found: no cubin\n";
    return;
  }
  for (const KernelUsage &kernel : assembled->kernels) {
    os << "ptxas     " << kernel.name << ": registers " << kernel.registers << ", stack bytes "
       << kernel.stackBytes << ", spill stores " << kernel.spillStoreBytes << ", spill loads "
       << kernel.spillLoadBytes << '\n';
  }
  for (const std::string &note : assembled->notes) {
    os << "ptxas     note: " << note << '\n';
  }
}

static llvm::Expected<bool> emitBundle(DeviceCompiler &compiler, const DeviceRequest &request,
                                       llvm::StringRef entry, llvm::ArrayRef<std::string> names) {
  if (request.output == "-") {
    return llvm::createStringError("expected -o to be a folder for the bundle, but got none");
  }
  std::string stem = request.inputFile == "-" ? "kernel" : path::stem(request.inputFile).str();
  if (failed(compiler.lowerTo(DeviceLevel::Machine))) {
    return false;
  }
  FailureOr<runtime::Bundle> bundle = compiler.makeBundle(entry, names, stem + ".ptx");
  FailureOr<std::string> ptx = compiler.emitPtx();
  if (failed(bundle) || failed(ptx)) {
    return false;
  }
  if (std::error_code code = llvm::sys::fs::create_directories(request.output)) {
    return llvm::createStringError(code, "expected '" + request.output +
                                             "' to be a folder, but got: " + code.message());
  }
  auto write = [&](llvm::StringRef extension, llvm::StringRef text) {
    llvm::SmallString<128> file(request.output);
    path::append(file, stem + extension);
    llvm::outs() << "wrote " << file << '\n';
    return writeFile(file, text);
  };
  std::string json;
  llvm::raw_string_ostream jsonStream(json);
  runtime::writeBundle(jsonStream, *bundle);
  if (llvm::Error error = llvm::joinErrors(write(".json", json), write(".ptx", *ptx))) {
    return std::move(error);
  }
  std::optional<PtxasReport> assembled;
  if (std::optional<std::string> ptxas = findPtxas(request.ptxas)) {
    llvm::Expected<Assembly> result = assembleText(*ptxas, request.chip, *ptx);
    if (!result) {
      return result.takeError();
    }
    compiler.addTime("ptxas", result->report.seconds);
    if (llvm::Error error = write(".cubin", result->cubin)) {
      return std::move(error);
    }
    assembled = std::move(result->report);
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  printReport(stream, compiler, assembled);
  if (llvm::Error error = write(".report.txt", text)) {
    return std::move(error);
  }
  llvm::outs() << text;
  for (const StageTime &time : compiler.getTimes()) {
    llvm::outs() << "seconds   " << llvm::format("%-14s %.4f", time.stage.c_str(), time.seconds)
                 << '\n';
  }
  return true;
}

llvm::Expected<bool> runDeviceCommand(ModuleOp module, const DeviceRequest &request) {
  llvm::Expected<TargetInfo> target = settleTarget(module, request.chip);
  if (!target) {
    return target.takeError();
  }
  DeviceCompiler compiler(module, *target);
  compiler.addTime("parse", request.parseSeconds);
  if (request.emit == Emit::None || request.emit == Emit::Bundle) {
    llvm::Expected<Entry> entry = Entry::find(module, request.entry);
    if (!entry) {
      return entry.takeError();
    }
    // The function itself may be replaced on the way.
    std::string name = entry->getFunction().getSymName().str();
    return emitBundle(compiler, request, name, entry->getArgumentNames());
  }
  if (failed(compiler.lowerTo(levelFor(request.emit)))) {
    return false;
  }
  std::string text;
  if (request.emit == Emit::LLVM) {
    FailureOr<std::string> code = compiler.emitLLVM(/*optimized=*/true);
    if (failed(code)) {
      return false;
    }
    text = std::move(*code);
  } else if (request.emit == Emit::Ptx || request.emit == Emit::Cubin) {
    FailureOr<std::string> ptx = compiler.emitPtx();
    if (failed(ptx)) {
      return false;
    }
    text = std::move(*ptx);
  } else if (request.emit == Emit::Report) {
    llvm::raw_string_ostream stream(text);
    for (const KernelReport &kernel : compiler.getKernels()) {
      kernel.print(stream);
    }
  } else {
    text = printModule(module);
  }
  if (request.emit == Emit::Cubin) {
    std::optional<std::string> ptxas = findPtxas(request.ptxas);
    if (!ptxas) {
      return llvm::createStringError("expected ptxas to be on PATH, in CUDA's folder or in the "
                                     "Python package nvidia-cuda-nvcc, but got none; state it with "
                                     "--ptxas");
    }
    llvm::Expected<Assembly> result = assembleText(*ptxas, request.chip, text);
    if (!result) {
      return result.takeError();
    }
    text = std::move(result->cubin);
  }
  if (llvm::Error error = writeFile(request.output, text)) {
    return std::move(error);
  }
  return true;
}

} // namespace fa4::tool
