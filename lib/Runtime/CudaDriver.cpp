//===- CudaDriver.cpp - NVIDIA's driver, found at run time ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table that is returned has every function that is not optional.
//
//===----------------------------------------------------------------------===//

#include "fa4/Runtime/CudaDriver.h"

#include "llvm/ADT/Twine.h"

#include <dlfcn.h>

namespace fa4::runtime::cuda {

namespace {

template <typename Pointer>
bool find(void *library, const char *symbol, Pointer &function) {
  function = reinterpret_cast<Pointer>(::dlsym(library, symbol));
  return function != nullptr;
}

} // namespace

llvm::Expected<Driver> loadDriver(llvm::StringRef library) {
  std::string name = library.str();
  // Never closed: the driver does not survive that, and CUDA's own runtime never does it.
  void *handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = ::dlerror();
    return llvm::createStringError("expected the CUDA driver to be on this machine, but got: " +
                                   llvm::Twine(reason ? reason : "no reason"));
  }
  Driver driver;
  const char *missing = nullptr;
#define FA4_CUDA_OPTIONAL(FIELD, SYMBOL, ...) find(handle, #SYMBOL, driver.FIELD);
#define FA4_CUDA_FUNCTION(FIELD, SYMBOL, ...)                                                      \
  if (!find(handle, #SYMBOL, driver.FIELD)) {                                                      \
    missing = #SYMBOL;                                                                             \
  }
#include "fa4/Runtime/CudaFunctions.def"
  if (missing) {
    return llvm::createStringError("expected the driver '" + name +
                                   "' to be of CUDA 12 or newer, but got one without '" + missing +
                                   "'");
  }
  return driver;
}

llvm::Error check(const Driver &driver, Result result, const llvm::Twine &what) {
  if (result == kSuccess) {
    return llvm::Error::success();
  }
  const char *name = nullptr, *text = nullptr;
  driver.getErrorName(result, &name);
  driver.getErrorString(result, &text);
  // A driver newer than this table may have errors without a name.
  std::string got = name ? name : "error " + std::to_string(result);
  if (text) {
    got += " (" + std::string(text) + ")";
  }
  return llvm::createStringError(what + ", but got " + got);
}

} // namespace fa4::runtime::cuda
