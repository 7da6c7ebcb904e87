//===- CudaDevice.cpp - one GPU and its memory ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device that is open holds one reference to its primary context.
//
//===----------------------------------------------------------------------===//

#include "fa4/Runtime/CudaDevice.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

namespace fa4::runtime {

using llvm::Twine;

llvm::Expected<std::shared_ptr<const CudaDevice>> CudaDevice::open(const cuda::Driver &driver,
                                                                   int ordinal) {
  auto check = [&](cuda::Result result, const Twine &what) {
    return cuda::check(driver, result, what);
  };
  int count = 0;
  if (llvm::Error e = check(driver.init(0), "expected a CUDA device")) {
    return std::move(e);
  }
  if (llvm::Error e = check(driver.deviceGetCount(&count), "expected to count CUDA devices")) {
    return std::move(e);
  }
  if (ordinal < 0 || ordinal >= count) {
    return llvm::createStringError("expected the device to be from 0 to " + Twine(count - 1) +
                                   ", but got " + Twine(ordinal));
  }
  std::shared_ptr<CudaDevice> result(new CudaDevice(driver, ordinal));
  std::string which = "device " + std::to_string(ordinal);
  if (llvm::Error e =
          check(driver.deviceGet(&result->device, ordinal), "expected " + which + " to open")) {
    return std::move(e);
  }
  char name[256] = {};
  driver.deviceGetName(name, sizeof(name), result->device);
  result->name = name;
  const std::pair<int, int *> attributes[] = {
      {cuda::kComputeCapabilityMajor, &result->major},
      {cuda::kComputeCapabilityMinor, &result->minor},
      {cuda::kMultiprocessorCount, &result->processors},
      {cuda::kMaxSharedMemoryPerBlockOptin, &result->maxSharedBytes},
  };
  for (auto [attribute, value] : attributes) {
    if (llvm::Error e = check(driver.deviceGetAttribute(value, attribute, result->device),
                              "expected the attributes of " + which)) {
      return std::move(e);
    }
  }
  if (llvm::Error e = check(driver.primaryContextRetain(&result->context, result->device),
                            "expected a context on " + which)) {
    return std::move(e);
  }
  return std::shared_ptr<const CudaDevice>(std::move(result));
}

CudaDevice::~CudaDevice() {
  if (context) {
    driver.primaryContextRelease(device);
  }
}

llvm::Error CudaDevice::checkChip(llvm::StringRef chip) const {
  llvm::StringRef digits = chip.drop_until(llvm::isDigit);
  llvm::StringRef number = digits.take_while(llvm::isDigit);
  llvm::StringRef suffix = digits.drop_front(number.size());
  int version = 0;
  if (number.getAsInteger(10, version) || (!suffix.empty() && suffix != "a" && suffix != "f")) {
    return llvm::createStringError("expected the target to be a chip such as those that fa4c "
                                   "takes, but got '" +
                                   chip + "'");
  }
  int wantedMajor = version / 10, wantedMinor = version % 10;
  bool fits = major == wantedMajor && (suffix == "a" ? minor == wantedMinor : minor >= wantedMinor);
  if (fits) {
    return llvm::Error::success();
  }
  return llvm::createStringError("expected device " + Twine(ordinal) +
                                 " to have compute capability " + Twine(wantedMajor) + "." +
                                 Twine(wantedMinor) + " for code of '" + chip + "', but got " +
                                 Twine(major) + "." + Twine(minor) + " ('" + name + "')");
}

llvm::Expected<CudaBuffer> CudaBuffer::allocate(std::shared_ptr<const CudaDevice> device,
                                                uint64_t bytes) {
  CudaScope scope(*device);
  cuda::Address address = 0;
  if (llvm::Error e =
          device->check(device->getDriver().memAlloc(&address, std::max<uint64_t>(bytes, 1)),
                        "expected " + Twine(bytes) + " bytes of memory on device " +
                            Twine(device->getOrdinal()))) {
    return std::move(e);
  }
  return CudaBuffer(std::move(device), address, bytes);
}

CudaBuffer::CudaBuffer(CudaBuffer &&other) noexcept
    : device(std::move(other.device)), address(other.address), bytes(other.bytes) {}

CudaBuffer::~CudaBuffer() {
  if (device) {
    CudaScope scope(*device);
    device->getDriver().memFree(address);
  }
}

llvm::Error CudaBuffer::write(llvm::ArrayRef<uint8_t> from) {
  CudaScope scope(*device);
  if (from.empty()) {
    return llvm::Error::success();
  }
  const cuda::Driver &driver = device->getDriver();
  std::string what = "expected a copy to the device to succeed";
  if (llvm::Error e = device->check(driver.memcpyHtoD(address, from.data(), from.size()), what)) {
    return e;
  }
  // From pageable memory the call returns when the bytes are staged, and streams that do
  // not wait for the default stream could overtake them.
  return device->check(driver.streamSynchronize(nullptr), what);
}

llvm::Error CudaBuffer::read(llvm::MutableArrayRef<uint8_t> to) const {
  CudaScope scope(*device);
  if (to.empty()) {
    return llvm::Error::success();
  }
  return device->check(device->getDriver().memcpyDtoH(to.data(), address, to.size()),
                       "expected a copy from the device to succeed");
}

} // namespace fa4::runtime
