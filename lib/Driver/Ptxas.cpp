//===- Ptxas.cpp - from PTX to machine code -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel that ptxas said nothing about is an error, not a kernel without spills.
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/Ptxas.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

namespace fa4::driver {

namespace path = llvm::sys::path;
namespace fs = llvm::sys::fs;

/// Folders in `folder` whose names start with `prefix`, in order.
static std::vector<std::string> subfolders(const llvm::Twine &folder, llvm::StringRef prefix) {
  std::vector<std::string> found;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    if (path::filename(entry->path()).starts_with(prefix)) {
      found.push_back(entry->path());
    }
  }
  llvm::sort(found);
  return found;
}

/// Where the packages of the `python3` on PATH are.
static std::vector<std::string> pythonPackageFolders() {
  std::vector<std::string> roots;
  if (llvm::ErrorOr<std::string> python = llvm::sys::findProgramByName("python3")) {
    roots.push_back(path::parent_path(path::parent_path(*python)).str());
  }
  llvm::SmallString<64> home;
  if (path::home_directory(home)) {
    path::append(home, ".local");
    roots.push_back(home.str().str());
  }
  roots.emplace_back("/usr/local");
  std::vector<std::string> folders;
  for (const std::string &root : roots) {
    for (const std::string &python : subfolders(root + "/lib", "python3")) {
      folders.push_back(python + "/site-packages");
      folders.push_back(python + "/dist-packages");
    }
  }
  return folders;
}

std::optional<std::string> findPtxas(llvm::StringRef given) {
  if (!given.empty()) {
    return given.str();
  }
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas")) {
    return *found;
  }
  std::vector<std::string> candidates = {"/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas"};
  for (const std::string &folder : pythonPackageFolders()) {
    // nvidia/cuda_nvcc up to CUDA 12, nvidia/cu13 from CUDA 13 on.
    for (const std::string &package : subfolders(folder + "/nvidia", "cu")) {
      candidates.push_back(package + "/bin/ptxas");
    }
  }
  for (const std::string &candidate : candidates) {
    if (fs::can_execute(candidate)) {
      return candidate;
    }
  }
  return std::nullopt;
}

/// The number that `pattern` captures in `line`, if it matches.
static bool readNumber(llvm::StringRef pattern, llvm::StringRef line, unsigned &number) {
  llvm::SmallVector<llvm::StringRef> groups;
  return llvm::Regex(pattern).match(line, &groups) && !groups[1].getAsInteger(10, number);
}

PtxasReport parsePtxasLog(llvm::StringRef log) {
  PtxasReport report;
  const llvm::Regex entry("Compiling entry function '([^']+)'");
  const llvm::Regex note("warning|\\(C[0-9]+\\)|Potential Performance Loss");
  for (llvm::StringRef line : llvm::split(log, '\n')) {
    llvm::SmallVector<llvm::StringRef> groups;
    if (entry.match(line, &groups)) {
      report.kernels.push_back({groups[1].str()});
    }
    if (note.match(line)) {
      report.notes.push_back(line.trim().str());
    }
    if (report.kernels.empty()) {
      continue;
    }
    KernelUsage &kernel = report.kernels.back();
    readNumber("Used ([0-9]+) registers", line, kernel.registers);
    readNumber("([0-9]+) bytes stack frame", line, kernel.stackBytes);
    readNumber("([0-9]+) bytes spill stores", line, kernel.spillStoreBytes);
    readNumber("([0-9]+) bytes spill loads", line, kernel.spillLoadBytes);
  }
  return report;
}

llvm::Expected<PtxasReport> assemble(llvm::StringRef ptxas, llvm::StringRef chip,
                                     llvm::StringRef ptx, llvm::StringRef cubin) {
  llvm::SmallString<64> logPath;
  if (std::error_code code = fs::createTemporaryFile("fa4-ptxas", "log", logPath)) {
    return llvm::createStringError(code, "expected a temporary file for ptxas, but got: " +
                                             code.message());
  }
  llvm::FileRemover removeLog(logPath);
  std::string arch = ("-arch=" + chip).str();
  llvm::StringRef arguments[] = {ptxas, arch, "-v", ptx, "-o", cubin};
  std::optional<llvm::StringRef> redirects[] = {"", llvm::StringRef(logPath),
                                                llvm::StringRef(logPath)};
  std::string message;
  std::optional<llvm::sys::ProcessStatistics> statistics;
  int code = llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects,
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message,
                                       /*ExecutionFailed=*/nullptr, &statistics);
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> log = llvm::MemoryBuffer::getFile(logPath);
  std::string text = log ? (*log)->getBuffer().str() : std::string();
  if (code != 0) {
    return llvm::createStringError("expected " + ptxas + " to assemble " + ptx + " for " + chip +
                                   ", but got: " + message + llvm::StringRef(text).trim());
  }
  PtxasReport report = parsePtxasLog(text);
  if (statistics) {
    report.seconds = std::chrono::duration<double>(statistics->UserTime).count();
  }
  bool silent = llvm::any_of(report.kernels, [](auto &kernel) { return kernel.registers == 0; });
  if (report.kernels.empty() || silent) {
    return llvm::createStringError("expected ptxas -v to state the registers of every kernel, but "
                                   "got: " +
                                   llvm::StringRef(text).trim());
  }
  return report;
}

namespace {
/// A file that goes away with the scope.
struct TemporaryFile {
  explicit TemporaryFile(llvm::StringRef suffix)
      : code(fs::createTemporaryFile("fa4", suffix, name)), remover(name) {}
  llvm::SmallString<64> name;
  std::error_code code;
  llvm::FileRemover remover;
};
} // namespace

llvm::Expected<Assembly> assembleText(llvm::StringRef ptxas, llvm::StringRef chip,
                                      llvm::StringRef ptx) {
  TemporaryFile source("ptx");
  TemporaryFile result("cubin");
  for (const TemporaryFile *file : {&source, &result}) {
    if (file->code) {
      return llvm::createStringError(file->code, "expected a temporary file for ptxas, but got: " +
                                                     file->code.message());
    }
  }
  std::error_code code;
  llvm::raw_fd_ostream stream(source.name, code);
  stream << ptx;
  stream.close();
  if (code || stream.has_error()) {
    code = code ? code : stream.error();
    stream.clear_error();
    return llvm::createStringError(code, "expected '" + source.name +
                                             "' to be writable, but got: " + code.message());
  }
  llvm::Expected<PtxasReport> report = assemble(ptxas, chip, source.name, result.name);
  if (!report) {
    return report.takeError();
  }
  auto cubin = llvm::MemoryBuffer::getFile(result.name, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!cubin) {
    return llvm::createStringError(cubin.getError(), "expected ptxas to write a cubin, but got: " +
                                                         cubin.getError().message());
  }
  return Assembly{(*cubin)->getBuffer().str(), std::move(*report)};
}

} // namespace fa4::driver
