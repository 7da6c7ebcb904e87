//===- BundleArguments.cpp - a bundle's arguments in words ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An argument has the type and rank that the bundle declares before it gets memory.
//
//===----------------------------------------------------------------------===//

#include "BundleArguments.h"

#include "fa4/Numerics/Random.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace fa4;
using namespace fa4::tool;
using runtime::ElementType;

static Error wrong(const Twine &what) { return createStringError(inconvertibleErrorCode(), what); }

std::optional<fa4::support::NpyType> tool::npyTypeOf(ElementType type) {
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

uint64_t GivenArgument::tensorBytes() const {
  uint64_t bytes = runtime::elementBytes(declared->type);
  for (int64_t extent : shape) {
    bytes *= uint64_t(extent);
  }
  return bytes;
}

static Expected<std::vector<int64_t>> parseShape(StringRef text) {
  std::vector<int64_t> shape;
  if (text.empty()) {
    return shape; // rank 0
  }
  SmallVector<StringRef, 8> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t extent;
    // Every product of eight such extents is checked again below.
    if (part.getAsInteger(10, extent) || extent < 0) {
      return wrong("expected a shape such as 2x256x64, but got '" + text + "'");
    }
    shape.push_back(extent);
  }
  return shape;
}

static Error checkShape(const runtime::Argument &declared, ArrayRef<int64_t> shape) {
  if (shape.size() != declared.rank) {
    return wrong("expected the rank of '" + declared.name + "' to be " + Twine(declared.rank) +
                 ", but got " + Twine(shape.size()));
  }
  // 16 GiB and its shadow would exceed the hosts this runs on.
  constexpr int64_t maxBytes = int64_t(1) << 34;
  int64_t bytes = runtime::elementBytes(declared.type);
  for (int64_t extent : shape) {
    if (MulOverflow(bytes, extent, bytes) || bytes > maxBytes) {
      return wrong("expected '" + declared.name + "' to have at most 2^34 bytes, but got more");
    }
  }
  return Error::success();
}

static Error parseScalar(GivenArgument &given) {
  const runtime::Argument &declared = *given.declared;
  StringRef text = given.text;
  if (declared.type == ElementType::F32) {
    if (text.getAsDouble(given.number)) {
      return wrong("expected '" + declared.name + "' to be a number, but got '" + text + "'");
    }
    return Error::success();
  }
  bool wide = declared.type == ElementType::I64;
  if (text.getAsInteger(0, given.integer) || (!wide && !isInt<32>(given.integer))) {
    return wrong("expected '" + declared.name + "' to be an " +
                 runtime::elementName(declared.type) + ", but got '" + text + "'");
  }
  return Error::success();
}

static Error readFile(GivenArgument &given, fa4::support::NpyType type) {
  const runtime::Argument &declared = *given.declared;
  Expected<fa4::support::NpyArray> file = fa4::support::readNpy(given.text);
  if (!file) {
    return file.takeError();
  }
  // A file of bf16 bits cannot say that it is one: NumPy has no such type.
  if (file->type != type) {
    return wrong("expected the elements of '" + declared.name + "' to be " +
                 fa4::support::npyTypeDescr(type) + ", but got " +
                 fa4::support::npyTypeDescr(file->type));
  }
  fa4::support::NpyArray array = file->toCOrder();
  given.shape = array.shape;
  given.bytes = std::move(array.data);
  return checkShape(declared, given.shape);
}

static Error parseTensor(GivenArgument &given, uint64_t seed) {
  const runtime::Argument &declared = *given.declared;
  std::optional<fa4::support::NpyType> type = npyTypeOf(declared.type);
  auto [how, shapeText] = StringRef(given.text).split(':');
  bool random = how == "random", zeros = how == "zeros";
  given.isEmpty = how == "empty";
  if (!given.isEmpty && !type) {
    return wrong("expected the elements of '" + declared.name +
                 "' to have a type that .npy files can hold, but got " +
                 runtime::elementName(declared.type));
  }
  if (!given.isEmpty && !random && !zeros) {
    return readFile(given, *type);
  }
  Expected<std::vector<int64_t>> shape = parseShape(shapeText);
  if (!shape) {
    return shape.takeError();
  }
  given.shape = std::move(*shape);
  if (Error e = checkShape(declared, given.shape)) {
    return e;
  }
  if (given.isEmpty) {
    return Error::success();
  }
  fa4::support::NpyArray array(*type, given.shape);
  numerics::CounterRandom stream(seed, xxh3_64bits(declared.name));
  for (int64_t i = 0; random && i < array.numElements(); ++i) {
    array.setElement(i, stream.gaussian(uint64_t(i)));
  }
  given.bytes = std::move(array.data);
  return Error::success();
}

Expected<GivenArgument> tool::parseArgument(const runtime::Bundle &bundle, StringRef spec,
                                            uint64_t seed) {
  auto [name, text] = spec.split('=');
  for (const runtime::Argument &declared : bundle.arguments) {
    if (declared.name != name) {
      continue;
    }
    GivenArgument given;
    given.declared = &declared;
    given.text = text.str();
    if (Error e = declared.isTensor ? parseTensor(given, seed) : parseScalar(given)) {
      return std::move(e);
    }
    return given;
  }
  return wrong("expected NAME=VALUE with an argument of the bundle, but got '" + spec + "'");
}

fa4::support::NpyArray tool::toArray(const runtime::Argument &declared, ArrayRef<int64_t> shape,
                                     ArrayRef<uint8_t> bytes) {
  fa4::support::NpyArray array(*npyTypeOf(declared.type), shape);
  std::copy(bytes.begin(), bytes.end(), array.data.begin());
  return array;
}
