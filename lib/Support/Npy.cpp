//===- Npy.cpp - reading and writing .npy files -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An array that leaves the parser has exactly as many bytes as its shape and
// type say. The header is a Python dictionary literal; only the subset that a
// .npy header may hold is accepted (strings, booleans, a tuple of integers), in
// any order and spacing.
//
//===----------------------------------------------------------------------===//

#include "fa4/Support/Npy.h"

#include "fa4/Numerics/Float16.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace fa4::support {

namespace {

// Numbers of the format: numpy/lib/format.py, "Format Version 1.0" and "2.0".
constexpr llvm::StringLiteral kMagic("\x93NUMPY");
constexpr size_t kVersionBytes = 2;
constexpr size_t kAlignment = 64;
// Longer than any header of a numeric array: a dimension takes 21 characters.
constexpr uint32_t kMaxHeaderBytes = 1U << 20;

template <typename T>
T loadAs(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
void storeAs(char *bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

llvm::Error failure(llvm::StringRef name, const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "'" + name + "': " + message);
}

std::optional<NpyType> lookupDescr(llvm::StringRef descr) {
  if (descr == "|V2" || descr == "<V2") {
    return NpyType::BF16;
  }
  for (NpyType type :
       {NpyType::BF16, NpyType::F16, NpyType::F32, NpyType::F64, NpyType::I32, NpyType::I64}) {
    if (descr == npyTypeDescr(type)) {
      return type;
    }
  }
  return std::nullopt;
}

/// What a header says.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

class HeaderParser {
public:
  HeaderParser(llvm::StringRef text, llvm::StringRef name) : rest(text), name(name) {}

  llvm::Expected<Header> parse() {
    Header header;
    if (llvm::Error error = expect("{")) {
      return std::move(error);
    }
    while (!take("}")) {
      if (llvm::Error error = parseEntry(header)) {
        return std::move(error);
      }
      if (take("}")) {
        break;
      }
      if (llvm::Error error = expect(",")) {
        return std::move(error);
      }
    }
    if (!rest.trim().empty()) {
      return unexpected("nothing after the dictionary");
    }
    if (!sawDescr || !sawOrder || !sawShape) {
      return failure(name, "expected the header to have 'descr', 'fortran_order' and 'shape', "
                           "but got fewer");
    }
    return header;
  }

private:
  llvm::Error unexpected(const llvm::Twine &what) const {
    llvm::StringRef found = rest.ltrim().take_front(16);
    return failure(name, "expected " + what + " in the header, but got '" + found + "'");
  }

  bool take(llvm::StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }

  llvm::Error expect(llvm::StringRef token) {
    if (take(token)) {
      return llvm::Error::success();
    }
    return unexpected("'" + token + "'");
  }

  llvm::Expected<std::string> parseString() {
    rest = rest.ltrim();
    char quote = rest.empty() ? '\0' : rest.front();
    size_t end = quote == '\'' || quote == '"' ? rest.find(quote, 1) : llvm::StringRef::npos;
    if (end == llvm::StringRef::npos) {
      return unexpected("a string");
    }
    std::string value = rest.slice(1, end).str();
    rest = rest.drop_front(end + 1);
    return value;
  }

  llvm::Expected<std::vector<int64_t>> parseShape() {
    if (llvm::Error error = expect("(")) {
      return std::move(error);
    }
    std::vector<int64_t> shape;
    while (!take(")")) {
      rest = rest.ltrim();
      uint64_t extent = 0;
      if (rest.consumeInteger(10, extent) || extent > std::numeric_limits<int64_t>::max()) {
        return unexpected("an extent");
      }
      shape.push_back(static_cast<int64_t>(extent));
      if (!take(",")) {
        if (llvm::Error error = expect(")")) {
          return std::move(error);
        }
        break;
      }
    }
    return shape;
  }

  llvm::Error parseEntry(Header &header) {
    llvm::Expected<std::string> key = parseString();
    if (!key) {
      return key.takeError();
    }
    if (llvm::Error error = expect(":")) {
      return error;
    }
    if (*key == "descr" && !std::exchange(sawDescr, true)) {
      // A structured type is a list here.
      llvm::Expected<std::string> descr = parseString();
      if (!descr) {
        return descr.takeError();
      }
      header.descr = std::move(*descr);
      return llvm::Error::success();
    }
    if (*key == "fortran_order" && !std::exchange(sawOrder, true)) {
      header.fortranOrder = take("True");
      if (!header.fortranOrder && !take("False")) {
        return unexpected("'True' or 'False'");
      }
      return llvm::Error::success();
    }
    if (*key == "shape" && !std::exchange(sawShape, true)) {
      llvm::Expected<std::vector<int64_t>> shape = parseShape();
      if (!shape) {
        return shape.takeError();
      }
      header.shape = std::move(*shape);
      return llvm::Error::success();
    }
    return failure(name, "expected each key of the header to be 'descr', 'fortran_order' or "
                         "'shape' once, but got '" +
                             *key + "'");
  }

  llvm::StringRef rest;
  llvm::StringRef name;
  bool sawDescr = false, sawOrder = false, sawShape = false;
};

/// Bytes of an array, or nothing where they pass the address range. An extent
/// of 0 makes the array empty whatever the others are.
std::optional<uint64_t> arrayBytes(llvm::ArrayRef<int64_t> shape, unsigned elementBytes) {
  if (llvm::is_contained(shape, 0)) {
    return 0;
  }
  uint64_t bytes = elementBytes;
  for (int64_t extent : shape) {
    bool overflow = false;
    bytes = llvm::SaturatingMultiply(bytes, static_cast<uint64_t>(extent), &overflow);
    if (overflow) {
      return std::nullopt;
    }
  }
  return bytes;
}

/// Splits the version, the header's length and the header off the front.
llvm::Expected<llvm::StringRef> takeHeader(llvm::StringRef &bytes, llvm::StringRef name) {
  if (!bytes.consume_front(kMagic)) {
    return failure(name, "expected the file to start with the .npy magic, but got other bytes");
  }
  if (bytes.size() < kVersionBytes) {
    return failure(name, "expected a version after the magic, but got the end of the file");
  }
  unsigned major = static_cast<uint8_t>(bytes[0]), minor = static_cast<uint8_t>(bytes[1]);
  if ((major != 1 && major != 2) || minor != 0) {
    return failure(name, "expected the format version to be 1.0 or 2.0, but got " +
                             llvm::Twine(major) + "." + llvm::Twine(minor));
  }
  bytes = bytes.drop_front(kVersionBytes);
  size_t lengthBytes = major == 1 ? sizeof(uint16_t) : sizeof(uint32_t);
  if (bytes.size() < lengthBytes) {
    return failure(name, "expected the header's length, but got the end of the file");
  }
  uint32_t length = major == 1 ? llvm::support::endian::read16le(bytes.data())
                               : llvm::support::endian::read32le(bytes.data());
  bytes = bytes.drop_front(lengthBytes);
  if (length > bytes.size() || length > kMaxHeaderBytes) {
    return failure(name, "expected the header to have at most " +
                             llvm::Twine(std::min<uint64_t>(bytes.size(), kMaxHeaderBytes)) +
                             " bytes, but got " + llvm::Twine(length));
  }
  llvm::StringRef header = bytes.take_front(length);
  bytes = bytes.drop_front(length);
  return header;
}

} // namespace

unsigned npyTypeBytes(NpyType type) {
  switch (type) {
  case NpyType::BF16:
  case NpyType::F16:
    return 2;
  case NpyType::F32:
  case NpyType::I32:
    return 4;
  case NpyType::F64:
  case NpyType::I64:
    return 8;
  }
  llvm_unreachable("a case per type");
}

llvm::StringRef npyTypeDescr(NpyType type) {
  switch (type) {
  case NpyType::BF16:
    return "<u2";
  case NpyType::F16:
    return "<f2";
  case NpyType::F32:
    return "<f4";
  case NpyType::F64:
    return "<f8";
  case NpyType::I32:
    return "<i4";
  case NpyType::I64:
    return "<i8";
  }
  llvm_unreachable("a case per type");
}

NpyArray::NpyArray(NpyType type, llvm::ArrayRef<int64_t> shape)
    : type(type), shape(shape.begin(), shape.end()) {
  data.resize(static_cast<size_t>(numElements()) * npyTypeBytes(type));
}

int64_t NpyArray::numElements() const {
  // The product of the others may pass the range when one extent is 0.
  if (llvm::is_contained(shape, 0)) {
    return 0;
  }
  int64_t count = 1;
  for (int64_t extent : shape) {
    count *= extent;
  }
  return count;
}

std::vector<int64_t> NpyArray::elementStrides() const {
  std::vector<int64_t> strides(shape.size());
  if (numElements() == 0) {
    return strides;
  }
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    size_t dim = fortranOrder ? i : shape.size() - 1 - i;
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

double NpyArray::getElement(int64_t position) const {
  const char *bytes = data.data() + position * npyTypeBytes(type);
  switch (type) {
  case NpyType::BF16:
    return numerics::bf16ToFloat(loadAs<uint16_t>(bytes));
  case NpyType::F16:
    return numerics::f16ToFloat(loadAs<uint16_t>(bytes));
  case NpyType::F32:
    return loadAs<float>(bytes);
  case NpyType::F64:
    return loadAs<double>(bytes);
  case NpyType::I32:
    return loadAs<int32_t>(bytes);
  case NpyType::I64:
    return static_cast<double>(loadAs<int64_t>(bytes));
  }
  llvm_unreachable("a case per type");
}

void NpyArray::setElement(int64_t position, double value) {
  char *bytes = data.data() + position * npyTypeBytes(type);
  switch (type) {
  case NpyType::BF16:
    return storeAs(bytes, numerics::doubleToBF16(value));
  case NpyType::F16:
    return storeAs(bytes, numerics::doubleToF16(value));
  case NpyType::F32:
    return storeAs(bytes, static_cast<float>(value));
  case NpyType::F64:
    return storeAs(bytes, value);
  case NpyType::I32:
    return storeAs(bytes, static_cast<int32_t>(value));
  case NpyType::I64:
    return storeAs(bytes, static_cast<int64_t>(value));
  }
  llvm_unreachable("a case per type");
}

NpyArray NpyArray::toCOrder() const {
  if (!fortranOrder) {
    return *this;
  }
  NpyArray result(type, shape);
  unsigned bytes = npyTypeBytes(type);
  std::vector<int64_t> strides = elementStrides(), index(shape.size(), 0);
  for (int64_t target = 0, count = numElements(); target < count; ++target) {
    int64_t source = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      source += index[dim] * strides[dim];
    }
    std::memcpy(result.data.data() + target * bytes, data.data() + source * bytes, bytes);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim]) {
        break;
      }
      index[dim] = 0;
    }
  }
  return result;
}

llvm::Expected<NpyArray> parseNpy(llvm::StringRef bytes, llvm::StringRef name) {
  llvm::Expected<llvm::StringRef> text = takeHeader(bytes, name);
  if (!text) {
    return text.takeError();
  }
  llvm::Expected<Header> header = HeaderParser(*text, name).parse();
  if (!header) {
    return header.takeError();
  }
  std::optional<NpyType> type = lookupDescr(header->descr);
  if (!type) {
    return failure(name, "expected the element type to be '<f2', '<f4', '<f8', '<i4', '<i8', "
                         "or '<u2' or '|V2' for bf16, but got '" +
                             header->descr + "'");
  }
  std::optional<uint64_t> size = arrayBytes(header->shape, npyTypeBytes(*type));
  if (!size || *size != bytes.size()) {
    return failure(name, "expected the data to be " +
                             (size ? llvm::utostr(*size) : std::string("less than 2^64")) +
                             " bytes, but got " + llvm::Twine(bytes.size()));
  }
  NpyArray array;
  array.type = *type;
  array.shape = std::move(header->shape);
  array.fortranOrder = header->fortranOrder;
  array.data.assign(bytes.begin(), bytes.end());
  return array;
}

std::string serializeNpy(const NpyArray &array) {
  std::string header = "{'descr': '" + npyTypeDescr(array.type).str() +
                       "', 'fortran_order': " + (array.fortranOrder ? "True" : "False") +
                       ", 'shape': (";
  for (int64_t extent : array.shape) {
    header += std::to_string(extent) + ", ";
  }
  header += "), }";
  // Spaces and a newline fill up to the alignment of the data.
  size_t front = kMagic.size() + kVersionBytes + sizeof(uint16_t);
  bool longHeader = front + header.size() + kAlignment > std::numeric_limits<uint16_t>::max();
  if (longHeader) {
    front += sizeof(uint32_t) - sizeof(uint16_t);
  }
  header.append(llvm::alignTo(front + header.size() + 1, kAlignment) - front - header.size() - 1,
                ' ');
  header += '\n';

  std::string bytes = kMagic.str();
  bytes += longHeader ? '\2' : '\1';
  bytes += '\0';
  char length[sizeof(uint32_t)];
  llvm::support::endian::write32le(length, static_cast<uint32_t>(header.size()));
  bytes.append(length, longHeader ? sizeof(uint32_t) : sizeof(uint16_t));
  bytes += header;
  bytes.append(array.data.begin(), array.data.end());
  return bytes;
}

llvm::Expected<NpyArray> readNpy(llvm::StringRef path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> file =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) {
    return failure(path, "expected a readable file, but got '" + file.getError().message() + "'");
  }
  return parseNpy((*file)->getBuffer(), path);
}

llvm::Error writeNpy(llvm::StringRef path, const NpyArray &array) {
  std::error_code code;
  llvm::raw_fd_ostream stream(path, code, llvm::sys::fs::OF_None);
  if (!code) {
    stream << serializeNpy(array);
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  if (code) {
    return failure(path, "expected a writable file, but got '" + code.message() + "'");
  }
  return llvm::Error::success();
}

} // namespace fa4::support
