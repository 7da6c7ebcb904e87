//===- FakeCuda.cpp - a driver without a GPU --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCuda.h"

#include <cstring>

namespace fa4::runtime::cuda {

FakeCuda *FakeCuda::current = nullptr;

namespace {
// CUDA driver API, CUresult.
constexpr Result kInvalidContext = 201, kNotFound = 500, kInvalidImage = 200;
} // namespace

struct FakeCalls {
  static FakeCuda &fake(const char *call) {
    FakeCuda::get().calls.emplace_back(call);
    return FakeCuda::get();
  }
  static Result name(Result error, const char **text) {
    *text = error == kInvalidValue ? "CUDA_ERROR_INVALID_VALUE" : "CUDA_ERROR_FAKE";
    return kSuccess;
  }
  static Result attribute(int *value, int attribute, Device) {
    FakeCuda &f = fake("deviceGetAttribute");
    *value = attribute == kComputeCapabilityMajor   ? f.major
             : attribute == kComputeCapabilityMinor ? f.minor
             : attribute == kMultiprocessorCount    ? f.processors
                                                    : f.sharedBytes;
    return kSuccess;
  }
  static Result load(Module *module, const void *image, unsigned count, int *options,
                     void **values) {
    FakeCuda &f = fake("moduleLoadDataEx");
    f.image = static_cast<const char *>(image);
    if (f.image == "bad") {
      if (count == 2 && options[0] == kErrorLogBuffer) {
        std::strcpy(static_cast<char *>(values[0]), "line 3: no such instruction\n");
      }
      return kInvalidImage;
    }
    ++f.modules;
    *module = new ModuleHandle{f.currentDevice(), {}};
    for (const auto &[name, bytes] : f.entries) {
      FunctionHandle &function = (*module)->functions[name];
      function.name = name;
      function.parameterBytes = bytes;
      function.device = f.currentDevice();
    }
    return f.currentDevice() < 0 ? kInvalidContext : kSuccess;
  }
  static Result find(Function *function, Module module, const char *name) {
    fake("moduleGetFunction");
    auto found = module->functions.find(name);
    if (found == module->functions.end()) {
      return kNotFound;
    }
    *function = &found->second;
    return kSuccess;
  }
  static Result paramInfo(Function function, size_t index, size_t *offset, size_t *bytes) {
    if (index >= function->parameterBytes.size()) {
      fake("functionGetParamInfo past the end");
      return kInvalidValue;
    }
    *offset = 0;
    *bytes = function->parameterBytes[index];
    return kSuccess;
  }
  static Result pointer(void *value, int attribute, Address address) {
    FakeCuda &f = fake("pointerGetAttribute");
    auto found = f.memory.find(address);
    if (found == f.memory.end()) {
      return kInvalidValue;
    }
    if (attribute == kMemoryType) {
      *static_cast<unsigned *>(value) = found->second < 0 ? kHostMemory : 2;
    } else {
      *static_cast<int *>(value) = found->second;
    }
    return kSuccess;
  }
  static Result encode(TensorMap *map, int type, uint32_t rank, void *address,
                       const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                       const uint32_t *, int, int swizzle, int promotion, int fill) {
    FakeCuda &f = fake("tensorMapEncodeTiled");
    f.maps.push_back({type,
                      {extents, extents + rank},
                      {strides, strides + rank - 1},
                      {box, box + rank},
                      swizzle,
                      promotion,
                      fill,
                      address});
    map->words.fill(f.maps.size());
    return kSuccess;
  }
  static Result launch(const LaunchConfig *config, Function function, void **parameters, void **) {
    FakeCuda &f = fake("launchKernelEx");
    // A function lives in one context, and that has to be the thread's current one.
    if (f.currentDevice() != function->device) {
      return kInvalidContext;
    }
    if (int(config->sharedBytes) > function->dynamicSharedBytes) {
      return kInvalidValue;
    }
    FakeCuda::Launched launched{function->name, f.currentDevice(), *config, {}, {}};
    launched.attributes.assign(config->attributes, config->attributes + config->numAttributes);
    for (size_t i = 0; i < function->parameterBytes.size(); ++i) {
      const auto *bytes = static_cast<const uint8_t *>(parameters[i]);
      launched.parameters.emplace_back(bytes, bytes + function->parameterBytes[i]);
    }
    f.launches.push_back(std::move(launched));
    return kSuccess;
  }
};

Driver FakeCuda::table() {
  Driver t;
  t.init = [](unsigned) { return FakeCalls::fake("init").devices == 0 ? 100 : kSuccess; };
  t.getErrorName = FakeCalls::name;
  t.getErrorString = [](Result, const char **text) {
    *text = "fake text";
    return kSuccess;
  };
  t.deviceGetCount = [](int *count) {
    *count = FakeCuda::get().devices;
    return kSuccess;
  };
  t.deviceGet = [](Device *device, int ordinal) {
    *device = ordinal;
    return kSuccess;
  };
  t.deviceGetName = [](char *name, int length, Device) {
    std::strncpy(name, FakeCuda::get().deviceName.c_str(), size_t(length) - 1);
    return kSuccess;
  };
  t.deviceGetAttribute = FakeCalls::attribute;
  t.primaryContextRetain = [](Context *context, Device device) {
    FakeCuda &f = FakeCalls::fake("primaryContextRetain");
    ++f.retained;
    *context = &f.contexts[device];
    return kSuccess;
  };
  t.primaryContextRelease = [](Device) {
    --FakeCalls::fake("primaryContextRelease").retained;
    return kSuccess;
  };
  t.contextPush = [](Context context) {
    FakeCalls::fake("contextPush").stack.push_back(context);
    return kSuccess;
  };
  t.contextPop = [](Context *context) {
    FakeCuda &f = FakeCalls::fake("contextPop");
    *context = f.stack.back();
    f.stack.pop_back();
    return kSuccess;
  };
  t.moduleLoadDataEx = FakeCalls::load;
  t.moduleUnload = [](Module module) {
    --FakeCalls::fake("moduleUnload").modules;
    delete module;
    return kSuccess;
  };
  t.moduleGetFunction = FakeCalls::find;
  t.functionSetAttribute = [](Function function, int attribute, int value) {
    FakeCalls::fake("functionSetAttribute");
    if (attribute == kMaxDynamicSharedBytes) {
      function->dynamicSharedBytes = value;
    }
    return kSuccess;
  };
  t.functionGetParamInfo = FakeCalls::paramInfo;
  t.memAlloc = [](Address *, size_t) {
    FakeCalls::fake("memAlloc");
    return kInvalidValue;
  };
  t.memsetD8Async = [](Address, unsigned char, size_t, Stream) {
    return FakeCalls::fake("memsetD8Async").currentDevice() < 0 ? kInvalidContext : kSuccess;
  };
  t.pointerGetAttribute = FakeCalls::pointer;
  t.tensorMapEncodeTiled = FakeCalls::encode;
  t.launchKernelEx = FakeCalls::launch;
  t.streamSynchronize = [](Stream) {
    FakeCalls::fake("streamSynchronize");
    return kSuccess;
  };
  return t;
}

} // namespace fa4::runtime::cuda
