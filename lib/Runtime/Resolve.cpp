//===- Resolve.cpp - from formulas to the numbers of a launch ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A resolved launch is in range for the machine: no number is cut silently, and a
// grid that is negative is an error while a grid of 0 is an empty launch.
//
//===----------------------------------------------------------------------===//

#include "fa4/Runtime/Resolve.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace fa4::runtime {

namespace {

// CUDA programming guide, technical specifications per compute capability.
constexpr int64_t kMaxGrid[3] = {std::numeric_limits<int32_t>::max(), 65535, 65535};
constexpr int64_t kMaxBlock[3] = {1024, 1024, 64};
constexpr int64_t kMaxThreads = 1024;
// CUDA driver API, cuTensorMapEncodeTiled: extents up to 2^32, strides are
// multiples of 16 below 2^40.
constexpr int64_t kMaxMapExtent = int64_t(1) << 32;
constexpr int64_t kMaxMapStride = (int64_t(1) << 40) - 1;
constexpr uint64_t kMapStrideAlign = 16;

llvm::Error error(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// Evaluates a list of formulas with one error in the end.
class Evaluator {
public:
  explicit Evaluator(const Binding &binding) : binding(binding) {}

  /// Result of the formula, which has to lie in [min, max].
  int64_t number(const Expr &expr, const llvm::Twine &what, int64_t min, int64_t max) {
    llvm::Expected<int64_t> value = expr.evaluate(binding);
    if (!value) {
      fail(what + ": " + llvm::toString(value.takeError()));
      return min;
    }
    if (*value < min || *value > max) {
      fail("expected " + what + " to be from " + llvm::Twine(min) + " to " + llvm::Twine(max) +
           ", but got " + llvm::Twine(*value));
      return min;
    }
    return *value;
  }

  uint64_t address(const std::string &tensor, const Expr &offset) {
    auto found = binding.tensors.find(tensor);
    if (found == binding.tensors.end()) {
      fail("expected '" + tensor + "' to be bound, but got nothing");
      return 0;
    }
    constexpr int64_t limit = std::numeric_limits<int64_t>::max();
    return found->second.address + uint64_t(number(offset, "an offset", -limit, limit));
  }

  double scalar(const FloatParameter &parameter) {
    if (parameter.scalar.empty()) {
      return parameter.value;
    }
    auto found = binding.floats.find(parameter.scalar);
    if (found == binding.floats.end()) {
      fail("expected the scalar '" + parameter.scalar +
           "' to be bound to a number, but got nothing");
      return 0;
    }
    return found->second * parameter.value;
  }

  void fail(const llvm::Twine &message) {
    if (first.empty()) {
      first = message.str();
    }
  }
  llvm::Error take() const { return first.empty() ? llvm::Error::success() : error(first); }

private:
  const Binding &binding;
  std::string first;
};

ResolvedTensorMap resolveMap(const TensorMapRecipe &recipe, Evaluator &evaluator) {
  ResolvedTensorMap map;
  map.tensor = recipe.tensor;
  map.address = evaluator.address(recipe.tensor, recipe.offset);
  map.type = recipe.type;
  map.box = recipe.box;
  map.elementStrides = recipe.elementStrides;
  map.swizzle = recipe.swizzle;
  map.promotion = recipe.promotion;
  map.fill = recipe.fill;
  uint64_t span = elementBytes(recipe.type); // bytes of the dimensions so far
  for (size_t d = 0; d < recipe.extents.size(); ++d) {
    // An empty tensor still needs a legal map; no box of it is ever inside.
    int64_t extent = std::max<int64_t>(
        evaluator.number(recipe.extents[d], "an extent of a tensor map", 0, kMaxMapExtent), 1);
    map.extents.push_back(uint64_t(extent));
    if (d == 0) {
      span *= uint64_t(extent);
      continue;
    }
    uint64_t stride = llvm::alignTo(span, kMapStrideAlign);
    if (extent > 1) {
      stride = uint64_t(
          evaluator.number(recipe.strides[d - 1], "a stride of a tensor map", 0, kMaxMapStride));
    }
    stride = std::min<uint64_t>(stride, kMaxMapStride - kMaxMapStride % kMapStrideAlign);
    map.strides.push_back(stride);
    span = std::max(span, stride);
  }
  return map;
}

template <typename T>
std::vector<uint8_t> bytesOf(T value) {
  std::vector<uint8_t> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

struct ParameterResolver {
  Evaluator &evaluator;

  ResolvedParameter operator()(const AddressParameter &parameter) const {
    return {bytesOf(evaluator.address(parameter.tensor, parameter.offset)), {}};
  }
  ResolvedParameter operator()(const IntegerParameter &parameter) const {
    // Either reading of the bits is accepted: -1 and 255 are both an i8.
    unsigned bits = parameter.bytes * 8;
    bool full = bits == 64;
    int64_t min = full ? std::numeric_limits<int64_t>::min() : -(int64_t(1) << (bits - 1));
    int64_t max = full ? std::numeric_limits<int64_t>::max() : (int64_t(1) << bits) - 1;
    int64_t value = evaluator.number(
        parameter.value, "a parameter of " + llvm::Twine(parameter.bytes) + " bytes", min, max);
    std::vector<uint8_t> bytes = bytesOf(value);
    bytes.resize(parameter.bytes); // little endian, as the GPU
    return {std::move(bytes), {}};
  }
  ResolvedParameter operator()(const FloatParameter &parameter) const {
    return {bytesOf(float(evaluator.scalar(parameter))), {}};
  }
  ResolvedParameter operator()(const TensorMapRecipe &recipe) const {
    ResolvedParameter result{std::vector<uint8_t>(kTensorMapBytes), {}};
    result.maps.emplace_back(0, resolveMap(recipe, evaluator));
    return result;
  }
  ResolvedParameter operator()(const StructParameter &record) const {
    ResolvedParameter result{std::vector<uint8_t>(record.bytes), {}};
    for (const StructParameter::Field &field : record.fields) {
      ResolvedParameter part = std::visit(*this, field.value);
      if (part.bytes.size() > record.bytes - field.offset) {
        evaluator.fail("expected a field at offset " + llvm::Twine(field.offset) +
                       " to end within " + llvm::Twine(record.bytes) + " bytes, but got " +
                       llvm::Twine(part.bytes.size()) + " bytes");
        continue;
      }
      std::memcpy(result.bytes.data() + field.offset, part.bytes.data(), part.bytes.size());
      for (auto &[offset, map] : part.maps) {
        result.maps.emplace_back(field.offset + offset, std::move(map));
      }
    }
    return result;
  }
};

} // namespace

llvm::Error checkBinding(const Bundle &bundle, const Binding &binding) {
  for (const Argument &argument : bundle.arguments) {
    if (!argument.isTensor) {
      bool bound = argument.type == ElementType::F32 ? binding.floats.count(argument.name)
                                                     : binding.integers.count(argument.name);
      if (!bound) {
        return error("expected the scalar '" + argument.name + "' to be bound to an " +
                     elementName(argument.type) + ", but got nothing");
      }
      continue;
    }
    auto found = binding.tensors.find(argument.name);
    if (found == binding.tensors.end()) {
      return error("expected the tensor '" + argument.name + "' to be bound, but got nothing");
    }
    const BoundTensor &tensor = found->second;
    if (tensor.type != argument.type) {
      return error("expected the elements of '" + argument.name + "' to be " +
                   elementName(argument.type) + ", but got " + elementName(tensor.type));
    }
    if (tensor.extents.size() != argument.rank || tensor.strides.size() != argument.rank) {
      return error("expected the rank of '" + argument.name + "' to be " +
                   llvm::Twine(argument.rank) + ", but got " + llvm::Twine(tensor.extents.size()));
    }
  }
  return checkConditions(bundle.conditions, binding);
}

llvm::Error checkConditions(llvm::ArrayRef<Condition> conditions, const Binding &binding) {
  for (const Condition &condition : conditions) {
    llvm::Expected<int64_t> holds = condition.holds.evaluate(binding);
    if (!holds) {
      return holds.takeError();
    }
    if (*holds) {
      continue;
    }
    llvm::Expected<int64_t> value = condition.value.evaluate(binding);
    if (!value) {
      return value.takeError();
    }
    return error("expected " + condition.expected + ", but got " + llvm::Twine(*value));
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<uint64_t>> workspaceBytes(const Bundle &bundle, const Binding &binding) {
  Evaluator evaluator(binding);
  std::vector<uint64_t> sizes;
  for (const Workspace &workspace : bundle.workspaces) {
    int64_t bytes = evaluator.number(workspace.bytes, "the bytes of '" + workspace.name + "'", 0,
                                     std::numeric_limits<int64_t>::max());
    sizes.push_back(uint64_t(std::max<int64_t>(bytes, 1)));
  }
  if (llvm::Error failure = evaluator.take()) {
    return std::move(failure);
  }
  return sizes;
}

llvm::Expected<ResolvedLaunch> resolveLaunch(const Launch &launch, const Binding &binding) {
  Evaluator evaluator(binding);
  ResolvedLaunch result;
  result.entry = launch.entry;
  result.cluster = launch.cluster;
  result.programmaticDependence = launch.programmaticDependence;
  int64_t threads = 1;
  for (unsigned d = 0; d < 3; ++d) {
    std::string at = "[" + std::to_string(d) + "]";
    result.grid[d] = uint32_t(evaluator.number(launch.grid[d], "grid" + at, 0, kMaxGrid[d]));
    result.block[d] = uint32_t(evaluator.number(launch.block[d], "block" + at, 1, kMaxBlock[d]));
    threads *= result.block[d];
    if (launch.cluster && result.grid[d] % (*launch.cluster)[d] != 0) {
      evaluator.fail("expected grid" + at + " to be a multiple of the cluster's " +
                     llvm::Twine((*launch.cluster)[d]) + ", but got " +
                     llvm::Twine(result.grid[d]));
    }
  }
  if (threads > kMaxThreads) {
    evaluator.fail("expected a block to have at most " + llvm::Twine(kMaxThreads) +
                   " threads, but got " + llvm::Twine(threads));
  }
  result.dynamicSharedBytes = uint32_t(evaluator.number(
      launch.dynamicSharedBytes, "dynamic_shared_bytes", 0, std::numeric_limits<int32_t>::max()));
  for (const Parameter &parameter : launch.parameters) {
    result.parameters.push_back(std::visit(ParameterResolver{evaluator}, parameter));
  }
  if (llvm::Error failure = evaluator.take()) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "launch of '" + launch.entry +
                                       "': " + llvm::toString(std::move(failure)));
  }
  return result;
}

} // namespace fa4::runtime
