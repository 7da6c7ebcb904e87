//===- BareLaunch.cpp - parameters from the command line --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every part of a specification is checked; nothing is guessed from the kernel
// but the offsets of its parameters.
//
//===----------------------------------------------------------------------===//

#include "BareLaunch.h"
#include "fa4/Simulator/ElementTypes.h"
#include "fa4/Simulator/TensorMap.h"
#include "fa4/Support/Npy.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <optional>

using namespace llvm;
using namespace fa4;
using namespace fa4::tool;

namespace {
enum class Scalar : uint8_t { I8, I16, I32, I64, U32, F16, BF16, F32, F64 };
} // namespace

static Error wrong(const Twine &what) { return createStringError(inconvertibleErrorCode(), what); }

static std::optional<Scalar> parseScalar(StringRef s) {
  return StringSwitch<std::optional<Scalar>>(s)
      .Case("i8", Scalar::I8)
      .Case("i16", Scalar::I16)
      .Cases({"i32", "s32"}, Scalar::I32)
      .Cases({"i64", "u64", "s64"}, Scalar::I64)
      .Case("u32", Scalar::U32)
      .Case("f16", Scalar::F16)
      .Case("bf16", Scalar::BF16)
      .Case("f32", Scalar::F32)
      .Case("f64", Scalar::F64)
      .Default(std::nullopt);
}

static unsigned scalarBytes(Scalar s) {
  switch (s) {
  case Scalar::I8:
    return 1;
  case Scalar::I16:
  case Scalar::F16:
  case Scalar::BF16:
    return 2;
  case Scalar::I64:
  case Scalar::F64:
    return 8;
  default:
    return 4;
  }
}

static uint64_t encode(Scalar s, double v) {
  switch (s) {
  case Scalar::F16:
    return sim::roundToElement(sim::ElementType::F16, v);
  case Scalar::BF16:
    return sim::roundToElement(sim::ElementType::BF16, v);
  case Scalar::F32: {
    float f = float(v);
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    return bits;
  }
  case Scalar::F64: {
    uint64_t bits;
    std::memcpy(&bits, &v, 8);
    return bits;
  }
  default:
    return uint64_t(int64_t(v));
  }
}

static double decode(Scalar s, uint64_t bits) {
  switch (s) {
  case Scalar::I8:
    return int8_t(bits);
  case Scalar::I16:
    return int16_t(bits);
  case Scalar::I32:
    return int32_t(bits);
  case Scalar::I64:
    return double(int64_t(bits));
  case Scalar::U32:
    return uint32_t(bits);
  case Scalar::F16:
    return sim::elementToDouble(sim::ElementType::F16, uint32_t(bits));
  case Scalar::BF16:
    return sim::elementToDouble(sim::ElementType::BF16, uint32_t(bits));
  case Scalar::F32: {
    float f;
    uint32_t b = uint32_t(bits);
    std::memcpy(&f, &b, 4);
    return f;
  }
  case Scalar::F64:
    break;
  }
  double v;
  std::memcpy(&v, &bits, 8);
  return v;
}

Expected<sim::Dim3> fa4::tool::parseDim(StringRef text) {
  SmallVector<StringRef, 3> parts;
  text.split(parts, ',');
  uint32_t v[3] = {1, 1, 1};
  if (parts.size() > 3) {
    return wrong("expected at most three dimensions, but got '" + text + "'");
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].getAsInteger(10, v[i])) {
      return wrong("expected dimensions such as 4,2,1, but got '" + text + "'");
    }
  }
  return sim::Dim3{v[0], v[1], v[2]};
}

static Expected<std::vector<uint64_t>> parseList(StringRef text) {
  std::vector<uint64_t> values;
  if (text.empty()) {
    return values;
  }
  SmallVector<StringRef, 5> parts;
  text.split(parts, 'x');
  for (StringRef p : parts) {
    uint64_t v;
    if (p.getAsInteger(10, v)) {
      return wrong("expected numbers separated by 'x', but got '" + text + "'");
    }
    values.push_back(v);
  }
  return values;
}

static Expected<NamedBuffer> makeBuffer(BareState &state, StringRef name, uint64_t bytes) {
  // 16 GiB and its shadow would exceed the hosts this runs on.
  if (name.empty() || bytes == 0 || bytes > (uint64_t(1) << 34)) {
    return wrong("expected a name and 1 to 2^34 bytes, but got '" + name + "' and " + Twine(bytes));
  }
  NamedBuffer b{state.memory.allocate(name, bytes), bytes};
  state.buffers[name] = b;
  return b;
}

/// A counter-based generator: element k of buffer `name` under `seed`.
static uint64_t hashOf(uint64_t seed, StringRef name, uint64_t k) {
  uint64_t x = seed;
  for (char c : name) {
    x = (x ^ uint8_t(c)) * 0x100000001b3ull;
  }
  x += k * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

static double normal(uint64_t h) {
  double u = (double(h >> 32) + 0.5) * 0x1p-32, v = double(uint32_t(h)) * 0x1p-32;
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * v);
}

static Expected<NamedBuffer> filledBuffer(BareState &state, StringRef text, bool random) {
  SmallVector<StringRef, 3> p;
  text.split(p, ':');
  uint64_t count;
  if (p.size() != 3 || !parseScalar(p[1]) || p[2].getAsInteger(10, count)) {
    return wrong("expected NAME:TYPE:COUNT, but got '" + text + "'");
  }
  Scalar s = *parseScalar(p[1]);
  unsigned bytes = scalarBytes(s);
  auto buffer = makeBuffer(state, p[0], count * bytes);
  if (!buffer) {
    return buffer;
  }
  std::vector<uint8_t> data(count * bytes);
  for (uint64_t k = 0; k < count; ++k) {
    uint64_t bits = encode(s, random ? normal(hashOf(state.seed, p[0], k)) : double(k));
    std::memcpy(&data[k * bytes], &bits, bytes);
  }
  state.memory.write(buffer->address, data);
  return buffer;
}

static Expected<NamedBuffer> fileBuffer(BareState &state, StringRef text) {
  auto [name, path] = text.split(':');
  auto array = fa4::support::readNpy(path);
  if (!array) {
    return array.takeError();
  }
  fa4::support::NpyArray dense = array->toCOrder();
  auto buffer = makeBuffer(state, name, dense.data.size());
  if (buffer) {
    state.memory.write(
        buffer->address,
        ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(dense.data.data()), dense.data.size()));
  }
  return buffer;
}

static Expected<std::vector<uint8_t>> encodeMap(BareState &state, StringRef text) {
  SmallVector<StringRef, 6> p;
  text.split(p, ':');
  auto buffer = state.buffers.find(p[0]);
  if (p.size() != 6 || buffer == state.buffers.end()) {
    return wrong(
        "expected BUFFER:TYPE:SIZES:STRIDES:BOX:SWIZZLE with an earlier buffer, but got '" + text +
        "'");
  }
  auto type = StringSwitch<std::optional<sim::MapElement>>(p[1])
                  .Case("u8", sim::MapElement::U8)
                  .Case("f16", sim::MapElement::F16)
                  .Case("bf16", sim::MapElement::BF16)
                  .Case("f32", sim::MapElement::F32)
                  .Case("i32", sim::MapElement::S32)
                  .Case("u32", sim::MapElement::U32)
                  .Default(std::nullopt);
  auto swizzle = StringSwitch<std::optional<sim::Swizzle>>(p[5])
                     .Case("none", sim::Swizzle::None)
                     .Case("32", sim::Swizzle::B32)
                     .Case("64", sim::Swizzle::B64)
                     .Case("128", sim::Swizzle::B128)
                     .Default(std::nullopt);
  auto sizes = parseList(p[2]), strides = parseList(p[3]), box = parseList(p[4]);
  for (auto *list : {&sizes, &strides, &box}) {
    if (!*list) {
      return list->takeError();
    }
  }
  size_t rank = sizes->size();
  if (!type || !swizzle || rank == 0 || rank > sim::kMaxMapRank || strides->size() + 1 != rank ||
      box->size() != rank) {
    return wrong("expected a known type and swizzle and lists of one rank, but got '" + text + "'");
  }
  sim::TensorMap map;
  map.type = *type;
  map.rank = rank;
  map.swizzle = *swizzle;
  map.base = buffer->second.address;
  for (size_t d = 0; d < rank; ++d) {
    map.sizes[d] = (*sizes)[d];
    map.strides[d] = d == 0 ? sim::mapElementBytes(*type) : (*strides)[d - 1];
    map.box[d] = (*box)[d];
    map.elementStrides[d] = 1;
  }
  if (Error e = map.verify()) {
    return std::move(e);
  }
  std::vector<uint8_t> bytes(sim::kMapBytes);
  map.encode(bytes);
  return bytes;
}

static Expected<std::vector<uint8_t>> parameterBytes(BareState &state, StringRef spec) {
  auto [kind, text] = spec.split('=');
  auto address = [](const NamedBuffer &b) {
    std::vector<uint8_t> bytes(8);
    std::memcpy(bytes.data(), &b.address, 8);
    return bytes;
  };
  if (kind == "map") {
    return encodeMap(state, text);
  }
  if (kind == "same") {
    auto found = state.buffers.find(text);
    if (found == state.buffers.end()) {
      return wrong("expected the name of an earlier buffer, but got '" + text + "'");
    }
    return address(found->second);
  }
  if (kind == "buffer" || kind == "zero") {
    auto [name, size] = text.split(':');
    uint64_t bytes;
    if (size.getAsInteger(10, bytes)) {
      return wrong("expected NAME:BYTES, but got '" + text + "'");
    }
    auto b = makeBuffer(state, name, bytes);
    if (!b) {
      return b.takeError();
    }
    if (kind == "zero") {
      state.memory.write(b->address, std::vector<uint8_t>(bytes));
    }
    return address(*b);
  }
  if (kind == "bytes") {
    uint64_t count;
    // Parameters take at most 32764 bytes (PTX ISA 5.2.1).
    if (text.getAsInteger(10, count) || count > 32764) {
      return wrong("expected a number of bytes up to 32764, but got '" + text + "'");
    }
    return std::vector<uint8_t>(count);
  }
  if (kind == "random" || kind == "iota" || kind == "file") {
    auto b = kind == "file" ? fileBuffer(state, text) : filledBuffer(state, text, kind == "random");
    if (!b) {
      return b.takeError();
    }
    return address(*b);
  }
  std::optional<Scalar> s = parseScalar(kind);
  if (!s) {
    return wrong("expected a kind of parameter such as i32 or buffer, but got '" + kind + "'");
  }
  uint64_t bits;
  int64_t integer;
  double real;
  bool isFloat = *s >= Scalar::F16;
  if (!isFloat && !text.getAsInteger(0, integer)) {
    bits = uint64_t(integer);
  } else if (!isFloat && !text.getAsInteger(0, bits)) {
    // An unsigned value beyond the signed range.
  } else if (isFloat && !text.getAsDouble(real)) {
    bits = encode(*s, real);
  } else {
    return wrong("expected a number, but got '" + text + "'");
  }
  std::vector<uint8_t> bytes(scalarBytes(*s));
  std::memcpy(bytes.data(), &bits, bytes.size());
  return bytes;
}

Error fa4::tool::bindParameters(BareState &state, const sim::Kernel &kernel,
                                ArrayRef<std::string> specs, sim::Launch &launch) {
  launch.params.assign(kernel.paramBytes, 0);
  size_t next = 0;
  for (const std::string &spec : specs) {
    // `let` gives a buffer a name without passing it.
    StringRef text = spec;
    bool hidden = text.consume_front("let:");
    auto bytes = parameterBytes(state, text);
    if (!bytes) {
      return bytes.takeError();
    }
    if (hidden) {
      continue;
    }
    if (next >= kernel.params.size()) {
      return wrong("expected " + Twine(kernel.params.size()) + " parameters, but got more");
    }
    const sim::Param &p = kernel.params[next++];
    if (p.size != bytes->size()) {
      return wrong("expected parameter '" + p.name + "' to have " + Twine(p.size) +
                   " bytes, but got " + Twine(bytes->size()));
    }
    std::memcpy(&launch.params[p.offset], bytes->data(), bytes->size());
  }
  if (next != kernel.params.size()) {
    return wrong("expected " + Twine(kernel.params.size()) + " parameters, but got " + Twine(next));
  }
  return Error::success();
}

Error fa4::tool::dumpBuffer(BareState &state, StringRef spec, raw_ostream &os) {
  SmallVector<StringRef, 4> p;
  spec.split(p, ':');
  uint64_t first, count;
  auto buffer = state.buffers.find(p[0]);
  if (p.size() != 4 || !(parseScalar(p[1]) || p[1] == "x32") || p[2].getAsInteger(10, first) ||
      p[3].getAsInteger(10, count) || buffer == state.buffers.end()) {
    return wrong("expected NAME:TYPE:FIRST:COUNT, but got '" + spec + "'");
  }
  bool hex = p[1] == "x32";
  Scalar s = hex ? Scalar::U32 : *parseScalar(p[1]);
  unsigned bytes = scalarBytes(s);
  if (first + count > buffer->second.bytes / bytes) {
    return wrong("expected elements inside '" + p[0] + "', but got " + Twine(first) + " to " +
                 Twine(first + count));
  }
  os << p[0] << ':';
  for (uint64_t k = first; k < first + count; ++k) {
    uint64_t bits = 0;
    state.memory.read(buffer->second.address + k * bytes,
                      MutableArrayRef<uint8_t>(reinterpret_cast<uint8_t *>(&bits), bytes));
    if (hex) {
      os << ' ' << format_hex(bits, 10);
    } else {
      os << format(" %.9g", decode(s, bits));
    }
  }
  os << '\n';
  return Error::success();
}

Error fa4::tool::saveBuffer(BareState &state, StringRef spec) {
  auto [what, path] = spec.split('=');
  SmallVector<StringRef, 3> p;
  what.split(p, ':');
  auto type = p.size() == 3 ? StringSwitch<std::optional<fa4::support::NpyType>>(p[1])
                                  .Case("bf16", fa4::support::NpyType::BF16)
                                  .Case("f16", fa4::support::NpyType::F16)
                                  .Case("f32", fa4::support::NpyType::F32)
                                  .Case("f64", fa4::support::NpyType::F64)
                                  .Case("i32", fa4::support::NpyType::I32)
                                  .Case("i64", fa4::support::NpyType::I64)
                                  .Default(std::nullopt)
                            : std::nullopt;
  auto buffer = state.buffers.find(p[0]);
  if (!type || path.empty() || buffer == state.buffers.end()) {
    return wrong("expected NAME:TYPE:SHAPE=PATH, but got '" + spec + "'");
  }
  auto shape = parseList(p[2]);
  if (!shape) {
    return shape.takeError();
  }
  fa4::support::NpyArray array(*type, std::vector<int64_t>(shape->begin(), shape->end()));
  if (array.data.size() > buffer->second.bytes) {
    return wrong("expected a shape within the " + Twine(buffer->second.bytes) + " bytes of '" +
                 p[0] + "', but got " + Twine(array.data.size()));
  }
  state.memory.read(
      buffer->second.address,
      MutableArrayRef<uint8_t>(reinterpret_cast<uint8_t *>(array.data.data()), array.data.size()));
  return fa4::support::writeNpy(path, array);
}
