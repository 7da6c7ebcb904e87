//===- JsonReader.h - a JSON value and where it stands ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cursor over parsed JSON that remembers its path. Errors are sticky: the first
// one is kept with its place, and after it every reader returns a harmless value,
// so that code which reads a structure needs no error paths of its own.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_RUNTIME_JSONREADER_H
#define FA4_LIB_RUNTIME_JSONREADER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace fa4::runtime {

/// The first error of a document; empty = none.
struct JsonErrors {
  std::string first;
};

class JsonReader {
public:
  JsonReader(const llvm::json::Value *value, std::string path, JsonErrors &errors)
      : value(value), path(std::move(path)), errors(errors) {}

  bool failed() const { return !errors.first.empty(); }
  /// Records `<path>: expected <expected>, but got <this value>`.
  void fail(const llvm::Twine &expected);
  /// The same with `got` in place of the value.
  void failWith(const llvm::Twine &expected, const llvm::Twine &got);

  bool isArray() const { return value && value->kind() == llvm::json::Value::Array; }
  bool isInteger() const { return value && value->getAsInteger(); }

  std::string string(llvm::StringRef what);
  int64_t integer(llvm::StringRef what, int64_t min, int64_t max);
  double number(llvm::StringRef what);
  bool boolean(llvm::StringRef what);

  /// Calls `visit` per element; fails when the array is not one of `min` to `max`.
  void forEach(llvm::StringRef what, size_t min, size_t max,
               llvm::function_ref<void(JsonReader &)> visit);
  size_t size() const;
  JsonReader at(size_t index);

  /// The member, or an error that names it.
  JsonReader member(llvm::StringRef key);
  std::optional<JsonReader> optionalMember(llvm::StringRef key);
  /// Fails unless this is an object whose keys are all among `keys`.
  void checkKeys(llvm::StringRef what, llvm::ArrayRef<llvm::StringRef> keys);

private:
  const llvm::json::Value *value;
  std::string path;
  JsonErrors &errors;
};

} // namespace fa4::runtime

#endif // FA4_LIB_RUNTIME_JSONREADER_H
