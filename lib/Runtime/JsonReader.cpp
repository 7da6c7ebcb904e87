//===- JsonReader.cpp - a JSON value and where it stands --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every accessor checks the kind first, so a document of any shape is safe to read.
//
//===----------------------------------------------------------------------===//

#include "JsonReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace fa4::runtime {

namespace {

// Longer values say no more in a one-line message.
constexpr size_t kShownCharacters = 48;

std::string shown(const llvm::json::Value *value) {
  if (!value) {
    return "nothing";
  }
  std::string text = llvm::formatv("{0}", *value);
  if (text.size() > kShownCharacters) {
    text = text.substr(0, kShownCharacters) + "…";
  }
  return text;
}

} // namespace

void JsonReader::fail(const llvm::Twine &expected) { failWith(expected, shown(value)); }

void JsonReader::failWith(const llvm::Twine &expected, const llvm::Twine &got) {
  if (!failed()) {
    errors.first = (path + ": expected " + expected + ", but got " + got).str();
  }
}

std::string JsonReader::string(llvm::StringRef what) {
  if (std::optional<llvm::StringRef> text = value ? value->getAsString() : std::nullopt) {
    if (!text->empty()) {
      return text->str();
    }
  }
  fail(what + " to be a string that is not empty");
  return "";
}

int64_t JsonReader::integer(llvm::StringRef what, int64_t min, int64_t max) {
  if (std::optional<int64_t> number = value ? value->getAsInteger() : std::nullopt) {
    if (*number >= min && *number <= max) {
      return *number;
    }
  }
  fail(what + " to be an integer from " + llvm::Twine(min) + " to " + llvm::Twine(max));
  return min;
}

double JsonReader::number(llvm::StringRef what) {
  if (std::optional<double> number = value ? value->getAsNumber() : std::nullopt) {
    if (std::isfinite(*number)) {
      return *number;
    }
  }
  fail(what + " to be a finite number");
  return 0;
}

bool JsonReader::boolean(llvm::StringRef what) {
  if (std::optional<bool> flag = value ? value->getAsBoolean() : std::nullopt) {
    return *flag;
  }
  fail(what + " to be true or false");
  return false;
}

size_t JsonReader::size() const { return isArray() ? value->getAsArray()->size() : 0; }

JsonReader JsonReader::at(size_t index) {
  const llvm::json::Value *element = index < size() ? &(*value->getAsArray())[index] : nullptr;
  return JsonReader(element, path + "[" + std::to_string(index) + "]", errors);
}

void JsonReader::forEach(llvm::StringRef what, size_t min, size_t max,
                         llvm::function_ref<void(JsonReader &)> visit) {
  if (!isArray() || size() < min || size() > max) {
    std::string count =
        min == max ? std::to_string(min) : std::to_string(min) + " to " + std::to_string(max);
    if (!isArray()) {
      fail(what + " to be an array of " + count);
    } else {
      failWith(what + " to be an array of " + count, llvm::Twine(size()));
    }
    return;
  }
  for (size_t i = 0; i < size() && !failed(); ++i) {
    JsonReader element = at(i);
    visit(element);
  }
}

std::optional<JsonReader> JsonReader::optionalMember(llvm::StringRef key) {
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  const llvm::json::Value *found = object ? object->get(key) : nullptr;
  if (!found) {
    return std::nullopt;
  }
  return JsonReader(found, path.empty() ? key.str() : path + "." + key.str(), errors);
}

JsonReader JsonReader::member(llvm::StringRef key) {
  if (std::optional<JsonReader> found = optionalMember(key)) {
    return *found;
  }
  return JsonReader(nullptr, path.empty() ? key.str() : path + "." + key.str(), errors);
}

void JsonReader::checkKeys(llvm::StringRef what, llvm::ArrayRef<llvm::StringRef> keys) {
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object) {
    fail(what + " to be an object");
    return;
  }
  // Objects are hashed; the smallest offender keeps the message the same every time.
  std::string unknown;
  for (const auto &entry : *object) {
    llvm::StringRef key = entry.first;
    if (!llvm::is_contained(keys, key) && (unknown.empty() || key < unknown)) {
      unknown = key.str();
    }
  }
  if (!unknown.empty()) {
    failWith("the members of " + what + " to be among " + llvm::join(keys, ", "),
             "\"" + unknown + "\"");
  }
}

} // namespace fa4::runtime
