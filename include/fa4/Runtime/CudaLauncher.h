//===- CudaLauncher.h - running a bundle on a GPU ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three steps of falling cost: load a bundle's code into a device, prepare it for
// one set of tensors (checks, formulas, tensor maps), launch what was prepared. The
// last allocates nothing, synchronises with nothing and may be captured in a graph.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_RUNTIME_CUDALAUNCHER_H
#define FA4_RUNTIME_CUDALAUNCHER_H

#include "fa4/Runtime/CudaDevice.h"
#include "fa4/Runtime/Resolve.h"

#include "llvm/ADT/StringMap.h"

#include <mutex>

namespace fa4::runtime {

class CudaProgram;

/// A bundle's launches with every number settled. It holds addresses: the tensors and
/// workspaces it was prepared for outlive it, and so does its program. Runs of one
/// prepared launch share its workspaces and so must not overlap.
class PreparedLaunch {
public:
  /// Queues the launches on `stream`, one of the program's device (null: its default
  /// stream). Any number of threads may do so.
  llvm::Error launch(cuda::Stream stream) const;

private:
  friend class CudaProgram;
  struct Clear {
    cuda::Address address;
    uint64_t bytes;
  };
  struct Step {
    cuda::Function function;
    std::string entry;
    cuda::LaunchConfig config;
    std::vector<cuda::LaunchAttribute> attributes;
    std::vector<std::vector<uint8_t>> parameters;
    std::vector<void *> pointers;
  };
  PreparedLaunch() = default;

  std::shared_ptr<const CudaDevice> device;
  std::vector<Clear> clears;
  std::vector<Step> steps;
};

class CudaProgram {
public:
  /// Loads `image`, a cubin or PTX text, into the context of `device`.
  static llvm::Expected<std::unique_ptr<CudaProgram>> load(std::shared_ptr<const CudaDevice> device,
                                                           Bundle bundle, llvm::StringRef image);
  ~CudaProgram();
  CudaProgram(const CudaProgram &) = delete;
  CudaProgram &operator=(const CudaProgram &) = delete;

  const Bundle &getBundle() const { return bundle; }
  const CudaDevice &getDevice() const { return *device; }

  /// Bytes of each workspace for these tensors, in the bundle's order. The number of
  /// processors in `binding` is this device's, whatever the caller left there.
  llvm::Expected<std::vector<uint64_t>> getWorkspaceBytes(Binding binding) const;

  /// Checks the tensors by name (type, rank, extents, strides, alignment, device) and
  /// settles the launches. The workspaces are bound too, under their names.
  llvm::Expected<PreparedLaunch> prepare(Binding binding);

private:
  struct Entry {
    cuda::Function function = nullptr;
    int dynamicSharedBytes = 0;
    std::vector<size_t> parameterBytes;
    bool hasParameterInfo = false;
  };
  CudaProgram(std::shared_ptr<const CudaDevice> device, Bundle bundle)
      : device(std::move(device)), bundle(std::move(bundle)) {}
  llvm::Error findEntry(const std::string &name, size_t parameters);
  llvm::Error checkPlace(const std::string &name, const BoundTensor &tensor) const;
  llvm::Error reserveShared(const std::string &name, uint32_t bytes, bool wideCluster);
  llvm::Expected<PreparedLaunch::Step> prepareStep(const ResolvedLaunch &resolved);

  std::shared_ptr<const CudaDevice> device;
  Bundle bundle;
  cuda::Module module = nullptr;
  std::mutex mutex; ///< guards `entries`' shared memory
  llvm::StringMap<Entry> entries;
};

} // namespace fa4::runtime

#endif // FA4_RUNTIME_CUDALAUNCHER_H
