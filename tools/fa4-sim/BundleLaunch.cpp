//===- BundleLaunch.cpp - running a bundle's launches -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch reaches the simulator only if its parameters are, one by one, as many
// bytes as the entry declares.
//
//===----------------------------------------------------------------------===//

#include "BundleLaunch.h"

#include "fa4/Numerics/Random.h"
#include "fa4/Simulator/TensorMap.h"
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

static sim::MapElement mapElementOf(ElementType type) {
  switch (type) {
  case ElementType::U8:
  case ElementType::E4M3: // copied as bytes: the map only zero-fills
  case ElementType::E5M2:
    return sim::MapElement::U8;
  case ElementType::U16:
    return sim::MapElement::U16;
  case ElementType::U32:
    return sim::MapElement::U32;
  case ElementType::I32:
    return sim::MapElement::S32;
  case ElementType::U64:
    return sim::MapElement::U64;
  case ElementType::I64:
    return sim::MapElement::S64;
  case ElementType::F16:
    return sim::MapElement::F16;
  case ElementType::BF16:
    return sim::MapElement::BF16;
  case ElementType::F32:
    return sim::MapElement::F32;
  case ElementType::F64:
    return sim::MapElement::F64;
  case ElementType::TF32:
    return sim::MapElement::TF32;
  }
  return sim::MapElement::U8;
}

static sim::Swizzle swizzleOf(runtime::Swizzle swizzle) {
  switch (swizzle) {
  case runtime::Swizzle::None:
    return sim::Swizzle::None;
  case runtime::Swizzle::Bytes32:
    return sim::Swizzle::B32;
  case runtime::Swizzle::Bytes64:
    return sim::Swizzle::B64;
  case runtime::Swizzle::Bytes128:
    return sim::Swizzle::B128;
  }
  return sim::Swizzle::None;
}

static Error encodeMap(const runtime::ResolvedTensorMap &map, MutableArrayRef<uint8_t> bytes) {
  sim::TensorMap result;
  result.type = mapElementOf(map.type);
  result.rank = unsigned(map.extents.size());
  result.swizzle = swizzleOf(map.swizzle);
  result.nanFill = map.fill == runtime::OutsideFill::NaN;
  result.base = map.address;
  for (size_t d = 0; d < map.extents.size(); ++d) {
    result.sizes[d] = map.extents[d];
    result.strides[d] = d == 0 ? runtime::elementBytes(map.type) : map.strides[d - 1];
    result.box[d] = map.box[d];
    result.elementStrides[d] = map.elementStrides[d];
  }
  if (Error e = result.verify()) {
    return e;
  }
  result.encode(bytes);
  return Error::success();
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

/// Lays the parameters out as the entry declares them.
static Expected<sim::Launch> makeLaunch(const runtime::ResolvedLaunch &resolved,
                                        const sim::Kernel &kernel) {
  sim::Launch launch;
  auto dims = [](const std::array<uint32_t, 3> &d) { return sim::Dim3{d[0], d[1], d[2]}; };
  launch.grid = dims(resolved.grid);
  launch.block = dims(resolved.block);
  if (resolved.cluster) {
    launch.cluster = dims(*resolved.cluster);
    launch.hasCluster = true;
  }
  launch.dynamicSharedBytes = resolved.dynamicSharedBytes;
  launch.params.assign(kernel.paramBytes, 0);
  if (kernel.params.size() != resolved.parameters.size()) {
    return wrong("expected entry '" + kernel.name + "' to have " +
                 Twine(resolved.parameters.size()) + " parameters as in the bundle, but got " +
                 Twine(kernel.params.size()));
  }
  for (auto [index, declared, given] : enumerate(kernel.params, resolved.parameters)) {
    if (declared.size != given.bytes.size()) {
      return wrong("expected parameter " + Twine(index) + " of '" + kernel.name + "' to have " +
                   Twine(declared.size) + " bytes, but got " + Twine(given.bytes.size()));
    }
    MutableArrayRef<uint8_t> bytes =
        MutableArrayRef(launch.params).slice(declared.offset, declared.size);
    copy(given.bytes, bytes.begin());
    for (const auto &[offset, map] : given.maps) {
      if (Error e = encodeMap(map, bytes.slice(offset, runtime::kTensorMapBytes))) {
        return std::move(e);
      }
    }
  }
  return launch;
}

Error BundleRun::run(sim::Program &program, const sim::Options &options, sim::FaultLog &log,
                     sim::Statistics &statistics) {
  if (Error e = checkBinding(bundle, binding)) {
    return e;
  }
  Expected<std::vector<uint64_t>> sizes = workspaceBytes(bundle, binding);
  if (!sizes) {
    return sizes.takeError();
  }
  for (auto [workspace, bytes] : zip_equal(bundle.workspaces, *sizes)) {
    uint64_t address = memory.allocate(workspace.name, bytes);
    if (workspace.zero) {
      memory.write(address, std::vector<uint8_t>(bytes));
    }
    binding.tensors[workspace.name] = runtime::bindDense(address, ElementType::U8, {});
  }
  for (const runtime::Launch &description : bundle.launches) {
    Expected<runtime::ResolvedLaunch> resolved = resolveLaunch(description, binding);
    if (!resolved) {
      return resolved.takeError();
    }
    if (resolved->isEmpty()) {
      continue;
    }
    Expected<const sim::Kernel *> kernel = program.kernel(resolved->entry);
    if (!kernel) {
      return kernel.takeError();
    }
    Expected<sim::Launch> launch = makeLaunch(*resolved, **kernel);
    if (!launch) {
      return launch.takeError();
    }
    sim::Statistics part;
    bool clean = sim::runGrid(**kernel, *launch, memory, options, log, &part);
    statistics.warpInstructions += part.warpInstructions;
    statistics.mmaFlops += part.mmaFlops;
    statistics.clusters += part.clusters;
    if (!clean) {
      break;
    }
  }
  return Error::success();
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
