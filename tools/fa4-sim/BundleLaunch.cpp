//===- BundleLaunch.cpp - running a bundle's launches -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An argument has the type and rank that the bundle declares before it gets memory.
//
//===----------------------------------------------------------------------===//

#include "BundleLaunch.h"

#include "fa4/Numerics/Random.h"
#include "fa4/Simulator/SimulatedRuntime.h"
#include "fa4/Support/Npy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace fa4;
using namespace fa4::tool;
using runtime::ElementType;

static Error wrong(const Twine &what) { return createStringError(inconvertibleErrorCode(), what); }

static std::optional<fa4::support::NpyType> npyTypeOf(ElementType type) {
  switch (type) {
  case ElementType::BF16:
    return fa4::support::NpyType::BF16;
  case ElementType::F16:
    return fa4::support::NpyType::F16;
  case ElementType::F32:
  case ElementType::TF32:
    return fa4::support::NpyType::F32;
  case ElementType::F64:
    return fa4::support::NpyType::F64;
  case ElementType::I32:
    return fa4::support::NpyType::I32;
  case ElementType::I64:
    return fa4::support::NpyType::I64;
  default:
    return std::nullopt;
  }
}

static Expected<std::vector<int64_t>> parseShape(StringRef text) {
  std::vector<int64_t> shape;
  SmallVector<StringRef, 8> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t extent;
    // Every product of eight such extents is checked again by the allocation.
    if (part.getAsInteger(10, extent) || extent < 0) {
      return wrong("expected a shape such as 2x256x64, but got '" + text + "'");
    }
    shape.push_back(extent);
  }
  return shape;
}

Error BundleRun::allocate(const runtime::Argument &argument, ArrayRef<int64_t> shape) {
  if (shape.size() != argument.rank) {
    return wrong("expected the rank of '" + argument.name + "' to be " + Twine(argument.rank) +
                 ", but got " + Twine(shape.size()));
  }
  // 16 GiB and its shadow would exceed the hosts this runs on.
  constexpr int64_t maxBytes = int64_t(1) << 34;
  int64_t bytes = runtime::elementBytes(argument.type);
  for (int64_t extent : shape) {
    if (MulOverflow(bytes, extent, bytes) || bytes > maxBytes) {
      return wrong("expected '" + argument.name + "' to have at most 2^34 bytes, but got more");
    }
  }
  uint64_t address = memory.allocate(argument.name, uint64_t(std::max<int64_t>(bytes, 1)),
                                     argument.access == runtime::Access::Read);
  binding.tensors[argument.name] = runtime::bindDense(address, argument.type, shape);
  return Error::success();
}

Error BundleRun::bindScalar(const runtime::Argument &argument, StringRef text) {
  int64_t integer;
  double number;
  if (argument.type == ElementType::F32) {
    if (text.getAsDouble(number)) {
      return wrong("expected '" + argument.name + "' to be a number, but got '" + text + "'");
    }
    binding.floats[argument.name] = number;
    return Error::success();
  }
  bool wide = argument.type == ElementType::I64;
  if (text.getAsInteger(0, integer) || (!wide && !isInt<32>(integer))) {
    return wrong("expected '" + argument.name + "' to be an " +
                 runtime::elementName(argument.type) + ", but got '" + text + "'");
  }
  binding.integers[argument.name] = integer;
  return Error::success();
}

Error BundleRun::bindTensor(const runtime::Argument &argument, StringRef text) {
  std::optional<fa4::support::NpyType> type = npyTypeOf(argument.type);
  auto [how, shapeText] = text.split(':');
  bool empty = how == "empty", random = how == "random", zeros = how == "zeros";
  if (!empty && !type) {
    return wrong("expected the elements of '" + argument.name +
                 "' to have a type that .npy files can hold, but got " +
                 runtime::elementName(argument.type));
  }
  fa4::support::NpyArray array;
  if (empty || random || zeros) {
    Expected<std::vector<int64_t>> shape = parseShape(shapeText);
    if (!shape) {
      return shape.takeError();
    }
    if (Error e = allocate(argument, *shape)) {
      return e;
    }
    if (empty) {
      return Error::success();
    }
    array = fa4::support::NpyArray(*type, *shape);
    numerics::CounterRandom stream(seed, xxh3_64bits(argument.name));
    for (int64_t i = 0; random && i < array.numElements(); ++i) {
      array.setElement(i, stream.gaussian(uint64_t(i)));
    }
  } else {
    Expected<fa4::support::NpyArray> file = fa4::support::readNpy(text);
    if (!file) {
      return file.takeError();
    }
    // A file of bf16 bits cannot say that it is one: NumPy has no such type.
    if (file->type != *type) {
      return wrong("expected the elements of '" + argument.name + "' to be " +
                   fa4::support::npyTypeDescr(*type) + ", but got " +
                   fa4::support::npyTypeDescr(file->type));
    }
    array = file->toCOrder();
    if (Error e = allocate(argument, array.shape)) {
      return e;
    }
  }
  memory.write(binding.tensors[argument.name].address,
               ArrayRef(reinterpret_cast<const uint8_t *>(array.data.data()), array.data.size()));
  return Error::success();
}

Error BundleRun::bind(StringRef spec) {
  auto [name, text] = spec.split('=');
  for (const runtime::Argument &argument : bundle.arguments) {
    if (argument.name == name) {
      return argument.isTensor ? bindTensor(argument, text) : bindScalar(argument, text);
    }
  }
  return wrong("expected NAME=VALUE with an argument of the bundle, but got '" + spec + "'");
}

Error BundleRun::run(sim::Program &program, const sim::Options &options, sim::FaultLog &log,
                     sim::Statistics &statistics) {
  return runtime::runSimulated(bundle, binding, program, memory, options, log, statistics);
}

Error BundleRun::save(StringRef spec) const {
  auto [name, path] = spec.split('=');
  auto found = binding.tensors.find(name);
  std::optional<fa4::support::NpyType> type =
      found == binding.tensors.end() ? std::nullopt : npyTypeOf(found->second.type);
  if (!type || path.empty()) {
    return wrong("expected NAME=PATH.npy with a tensor of the bundle, but got '" + spec + "'");
  }
  fa4::support::NpyArray array(*type, found->second.extents);
  memory.read(found->second.address,
              MutableArrayRef(reinterpret_cast<uint8_t *>(array.data.data()), array.data.size()));
  return fa4::support::writeNpy(path, array);
}
