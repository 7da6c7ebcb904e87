//===- CudaDevice.h - one GPU and its memory --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device with its primary context, the one that CUDA's runtime and every framework
// use, so that their memory and streams are valid here. Each call that needs the
// context makes it current for its own duration: a thread's current device is not
// changed for its other work.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_RUNTIME_CUDADEVICE_H
#define FA4_RUNTIME_CUDADEVICE_H

#include "fa4/Runtime/CudaDriver.h"

#include "llvm/ADT/ArrayRef.h"

#include <memory>
#include <string>

namespace fa4::runtime {

class CudaDevice {
public:
  /// Device number `ordinal`; `driver` outlives it.
  static llvm::Expected<std::shared_ptr<const CudaDevice>> open(const cuda::Driver &driver,
                                                                int ordinal);
  ~CudaDevice();
  CudaDevice(const CudaDevice &) = delete;
  CudaDevice &operator=(const CudaDevice &) = delete;

  const cuda::Driver &getDriver() const { return driver; }
  int getOrdinal() const { return ordinal; }
  llvm::StringRef getName() const { return name; }
  int getMajor() const { return major; }
  int getMinor() const { return minor; }
  int getProcessors() const { return processors; }
  int getMaxSharedBytes() const { return maxSharedBytes; }

  /// Whether code for `chip` runs here: a chip with the suffix `a` is exactly one,
  /// `f` its family, none means this one and later ones of its major version.
  llvm::Error checkChip(llvm::StringRef chip) const;

  llvm::Error check(cuda::Result result, const llvm::Twine &what) const {
    return cuda::check(driver, result, what);
  }

private:
  CudaDevice(const cuda::Driver &driver, int ordinal) : driver(driver), ordinal(ordinal) {}
  friend class CudaScope;

  const cuda::Driver &driver;
  int ordinal;
  cuda::Device device = 0;
  cuda::Context context = nullptr;
  std::string name;
  int major = 0, minor = 0, processors = 0, maxSharedBytes = 0;
};

/// Makes a device's context the thread's current one while it lives.
class CudaScope {
public:
  explicit CudaScope(const CudaDevice &device)
      : driver(device.driver), entered(driver.contextPush(device.context) == cuda::kSuccess) {}
  ~CudaScope() {
    cuda::Context popped;
    if (entered) {
      driver.contextPop(&popped);
    }
  }
  CudaScope(const CudaScope &) = delete;
  CudaScope &operator=(const CudaScope &) = delete;

private:
  const cuda::Driver &driver;
  bool entered;
};

/// Memory of a device, for tools and tests; embedders bring their own.
class CudaBuffer {
public:
  static llvm::Expected<CudaBuffer> allocate(std::shared_ptr<const CudaDevice> device,
                                             uint64_t bytes);
  CudaBuffer(CudaBuffer &&other) noexcept;
  CudaBuffer &operator=(CudaBuffer &&) = delete;
  ~CudaBuffer();

  uint64_t getAddress() const { return address; }
  uint64_t getBytes() const { return bytes; }
  /// Both wait until the copy is done, for every stream.
  llvm::Error write(llvm::ArrayRef<uint8_t> from);
  llvm::Error read(llvm::MutableArrayRef<uint8_t> to) const;

private:
  CudaBuffer(std::shared_ptr<const CudaDevice> device, uint64_t address, uint64_t bytes)
      : device(std::move(device)), address(address), bytes(bytes) {}

  std::shared_ptr<const CudaDevice> device;
  uint64_t address, bytes;
};

} // namespace fa4::runtime

#endif // FA4_RUNTIME_CUDADEVICE_H
