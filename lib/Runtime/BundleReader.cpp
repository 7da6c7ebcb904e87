//===- BundleReader.cpp - bundles from JSON ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bundle that leaves the reader is closed: every name that a launch mentions is
// an argument or workspace of the right kind, and every dimension is in its rank.
// What remains to go wrong depends on the caller's numbers alone.
//
//===----------------------------------------------------------------------===//

#include "BundleNames.h"
#include "JsonReader.h"
#include "fa4/Runtime/Bundle.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <limits>

namespace fa4::runtime {

namespace {

// Bounds that only keep a hostile file from costing memory or stack.
constexpr size_t kMaxItems = 4096;
constexpr unsigned kMaxNesting = 64;
// CUDA programming guide, "Maximum size of kernel parameters" for compute
// capability 7.0 and up: 32764 bytes.
constexpr int64_t kMaxParameterBytes = 32764;
// CUDA programming guide, technical specifications per compute capability.
constexpr int64_t kMaxClusterSize = 16;
// CUDA driver API, cuTensorMapEncodeTiled.
constexpr size_t kMaxMapRank = 5;
constexpr int64_t kMaxBox = 256, kMaxElementStride = 8;
constexpr int64_t kMaxTensorRank = 8;

template <typename Enum, size_t N>
Enum readChoice(JsonReader reader, llvm::StringRef what, const NamedValue<Enum> (&table)[N]) {
  std::string text = reader.string(what), names;
  for (const NamedValue<Enum> &row : table) {
    if (row.name == text) {
      return row.value;
    }
    names += (names.empty() ? "" : ", ") + row.name.str();
  }
  reader.fail(what + " to be one of " + names);
  return table[0].value;
}

ElementType readElementType(JsonReader reader) {
  if (std::optional<ElementType> type = elementNamed(reader.string("an element type"))) {
    return *type;
  }
  reader.fail("an element type to be one of " + elementNames());
  return ElementType::F32;
}

std::vector<uint32_t> readIntegers(JsonReader reader, llvm::StringRef what, size_t count,
                                   int64_t max) {
  std::vector<uint32_t> numbers;
  reader.forEach(what, count, count, [&](JsonReader &number) {
    numbers.push_back(uint32_t(number.integer("a number of " + what.str(), 1, max)));
  });
  return numbers;
}

/// What the arguments and workspaces of a bundle are, for the checks of names.
struct Names {
  llvm::StringMap<unsigned> tensorRanks; ///< of arguments
  llvm::StringMap<bool> workspaces, integers, floats;

  bool isTaken(llvm::StringRef name) const {
    return tensorRanks.count(name) || workspaces.count(name) || integers.count(name) ||
           floats.count(name);
  }
};

class BundleReader {
public:
  BundleReader(const llvm::json::Value &root, JsonErrors &errors) : root(&root, "", errors) {}

  Bundle read();

private:
  Expr expr(JsonReader reader);
  std::array<Expr, 3> dimensions(JsonReader reader);
  std::vector<Expr> exprs(JsonReader reader, llvm::StringRef what, size_t min, size_t max);
  Expr optionalExpr(JsonReader &parent, llvm::StringRef key);
  std::string memoryName(JsonReader reader);
  Argument argument(JsonReader &reader);
  Condition condition(JsonReader &reader);
  Workspace workspace(JsonReader &reader);
  Launch launch(JsonReader &reader);
  Parameter parameter(JsonReader &reader);
  TensorMapRecipe tensorMap(JsonReader &reader);
  StructParameter record(JsonReader &reader);
  FloatParameter number(JsonReader &reader);
  std::string newName(JsonReader reader);
  void checkNames(JsonReader &reader, const Expr &expr);

  JsonReader root;
  Names names;
};

void BundleReader::checkNames(JsonReader &reader, const Expr &expr) {
  expr.forEachName([&](llvm::StringRef name, Expr::Op op, int64_t dim) {
    if (op == Expr::Op::Scalar) {
      if (!names.integers.count(name)) {
        reader.failWith("a scalar of a formula to be an integer argument", "\"" + name + "\"");
      }
      return;
    }
    auto found = names.tensorRanks.find(name);
    if (found == names.tensorRanks.end()) {
      reader.failWith("a tensor of a formula to be a tensor argument", "\"" + name + "\"");
    } else if (dim >= found->second) {
      reader.failWith("a dimension of '" + name + "' to be less than " + llvm::Twine(found->second),
                      llvm::Twine(dim));
    }
  });
}

Expr BundleReader::expr(JsonReader reader) {
  Expr result = Expr::read(reader);
  checkNames(reader, result);
  return result;
}

std::array<Expr, 3> BundleReader::dimensions(JsonReader reader) {
  std::array<Expr, 3> dims;
  size_t at = 0;
  reader.forEach("dimensions", 3, 3, [&](JsonReader &dim) { dims[at++] = expr(dim); });
  return dims;
}

std::vector<Expr> BundleReader::exprs(JsonReader reader, llvm::StringRef what, size_t min,
                                      size_t max) {
  std::vector<Expr> list;
  reader.forEach(what, min, max, [&](JsonReader &item) { list.push_back(expr(item)); });
  return list;
}

Expr BundleReader::optionalExpr(JsonReader &parent, llvm::StringRef key) {
  std::optional<JsonReader> found = parent.optionalMember(key);
  return found ? expr(*found) : Expr(0);
}

std::string BundleReader::memoryName(JsonReader reader) {
  std::string name = reader.string("a tensor or workspace");
  if (!names.tensorRanks.count(name) && !names.workspaces.count(name)) {
    reader.fail("a tensor or workspace to be one of the bundle's");
  }
  return name;
}

std::string BundleReader::newName(JsonReader reader) {
  std::string name = reader.string("a name");
  if (names.isTaken(name)) {
    reader.fail("a name to be used once");
  }
  return name;
}

Argument BundleReader::argument(JsonReader &reader) {
  reader.checkKeys("an argument", {"name", "kind", "type", "rank", "access"});
  Argument argument;
  argument.name = newName(reader.member("name"));
  JsonReader kind = reader.member("kind");
  std::string kindName = kind.string("a kind");
  argument.type = readElementType(reader.member("type"));
  argument.isTensor = kindName == "tensor";
  if (argument.isTensor) {
    argument.rank = unsigned(reader.member("rank").integer("a rank", 0, kMaxTensorRank));
    argument.access = readChoice(reader.member("access"), "an access", kAccessNames);
    names.tensorRanks[argument.name] = argument.rank;
    return argument;
  }
  if (kindName != "scalar") {
    kind.fail("the kind of an argument to be tensor or scalar");
  }
  reader.checkKeys("a scalar argument", {"name", "kind", "type"});
  bool isInteger = argument.type == ElementType::I32 || argument.type == ElementType::I64;
  if (!isInteger && argument.type != ElementType::F32) {
    reader.member("type").fail("the type of a scalar to be i32, i64 or f32");
  }
  (isInteger ? names.integers : names.floats)[argument.name] = true;
  return argument;
}

Condition BundleReader::condition(JsonReader &reader) {
  reader.checkKeys("a condition", {"holds", "expected", "value"});
  Condition condition;
  condition.holds = expr(reader.member("holds"));
  condition.expected = reader.member("expected").string("what is expected");
  condition.value = expr(reader.member("value"));
  return condition;
}

Workspace BundleReader::workspace(JsonReader &reader) {
  reader.checkKeys("a workspace", {"name", "bytes", "zero"});
  Workspace workspace;
  workspace.name = newName(reader.member("name"));
  workspace.bytes = expr(reader.member("bytes"));
  workspace.zero = reader.member("zero").boolean("'zero'");
  names.workspaces[workspace.name] = true;
  return workspace;
}

TensorMapRecipe BundleReader::tensorMap(JsonReader &reader) {
  reader.checkKeys("a tensor map", {"kind", "of", "offset", "type", "extents", "strides", "box",
                                    "element_strides", "swizzle", "l2_promotion", "fill"});
  TensorMapRecipe map;
  map.tensor = memoryName(reader.member("of"));
  map.offset = optionalExpr(reader, "offset");
  map.type = readElementType(reader.member("type"));
  map.extents = exprs(reader.member("extents"), "the extents of a tensor map", 1, kMaxMapRank);
  size_t rank = std::max<size_t>(map.extents.size(), 1);
  map.strides = exprs(reader.member("strides"), "the strides of a tensor map", rank - 1, rank - 1);
  map.box = readIntegers(reader.member("box"), "a box", rank, kMaxBox);
  map.elementStrides =
      readIntegers(reader.member("element_strides"), "element strides", rank, kMaxElementStride);
  map.swizzle = readChoice(reader.member("swizzle"), "a swizzle", kSwizzleNames);
  map.promotion = readChoice(reader.member("l2_promotion"), "an L2 promotion", kPromotionNames);
  map.fill = readChoice(reader.member("fill"), "a fill", kFillNames);
  return map;
}

StructParameter BundleReader::record(JsonReader &reader) {
  reader.checkKeys("a struct", {"kind", "bytes", "fields"});
  StructParameter record;
  record.bytes =
      uint32_t(reader.member("bytes").integer("the bytes of a struct", 1, kMaxParameterBytes));
  reader.member("fields").forEach("the fields of a struct", 0, kMaxItems, [&](JsonReader &field) {
    field.checkKeys("a field", {"offset", "parameter"});
    uint32_t offset =
        uint32_t(field.member("offset").integer("a field's offset", 0, record.bytes - 1));
    JsonReader value = field.member("parameter");
    record.fields.push_back({offset, parameter(value)});
  });
  return record;
}

FloatParameter BundleReader::number(JsonReader &reader) {
  reader.checkKeys("an f32 parameter", {"kind", "scalar", "value"});
  FloatParameter number;
  number.value = reader.member("value").number("an f32 value");
  if (std::optional<JsonReader> scalar = reader.optionalMember("scalar")) {
    number.scalar = scalar->string("a scalar");
    if (!names.floats.count(number.scalar)) {
      scalar->fail("the scalar of an f32 parameter to be an f32 argument");
    }
  }
  return number;
}

Parameter BundleReader::parameter(JsonReader &reader) {
  JsonReader kind = reader.member("kind");
  std::string name = kind.string("the kind of a parameter");
  if (name == "address") {
    reader.checkKeys("an address", {"kind", "of", "offset"});
    return AddressParameter{memoryName(reader.member("of")), optionalExpr(reader, "offset")};
  }
  if (name == "f32") {
    return number(reader);
  }
  if (name == "tensor_map") {
    return tensorMap(reader);
  }
  if (name == "struct") {
    return record(reader);
  }
  for (unsigned bytes : {1, 2, 4, 8}) {
    if (name == "i" + std::to_string(bytes * 8)) {
      reader.checkKeys("an integer parameter", {"kind", "value"});
      return IntegerParameter{bytes, expr(reader.member("value"))};
    }
  }
  kind.fail("the kind of a parameter to be one of address, i8, i16, i32, i64, f32, tensor_map, "
            "struct");
  return IntegerParameter{};
}

Launch BundleReader::launch(JsonReader &reader) {
  reader.checkKeys("a launch", {"entry", "grid", "cluster", "block", "dynamic_shared_bytes",
                                "parameters", "programmatic_dependence"});
  Launch launch;
  launch.entry = reader.member("entry").string("an entry");
  launch.grid = dimensions(reader.member("grid"));
  launch.block = dimensions(reader.member("block"));
  if (std::optional<JsonReader> cluster = reader.optionalMember("cluster")) {
    std::vector<uint32_t> dims = readIntegers(*cluster, "a cluster", 3, kMaxClusterSize);
    if (dims.size() == 3) {
      launch.cluster = {dims[0], dims[1], dims[2]};
      if (int64_t(dims[0]) * dims[1] * dims[2] > kMaxClusterSize) {
        cluster->fail("a cluster to have at most " + llvm::Twine(kMaxClusterSize) + " CTAs");
      }
    }
  }
  launch.dynamicSharedBytes = expr(reader.member("dynamic_shared_bytes"));
  reader.member("parameters").forEach("parameters", 0, kMaxItems, [&](JsonReader &item) {
    launch.parameters.push_back(parameter(item));
  });
  launch.programmaticDependence =
      reader.member("programmatic_dependence").boolean("'programmatic_dependence'");
  return launch;
}

Bundle BundleReader::read() {
  Bundle bundle;
  root.checkKeys("a bundle", {"schema_version", "target", "ptx", "arguments", "conditions",
                              "workspaces", "launches"});
  root.member("schema_version")
      .integer("schema_version", kBundleSchemaVersion, kBundleSchemaVersion);
  bundle.target = root.member("target").string("a target");
  bundle.ptx = root.member("ptx").string("a PTX file");
  root.member("arguments").forEach("arguments", 0, kMaxItems, [&](JsonReader &item) {
    bundle.arguments.push_back(argument(item));
  });
  if (std::optional<JsonReader> conditions = root.optionalMember("conditions")) {
    conditions->forEach("conditions", 0, kMaxItems,
                        [&](JsonReader &item) { bundle.conditions.push_back(condition(item)); });
  }
  root.member("workspaces").forEach("workspaces", 0, kMaxItems, [&](JsonReader &item) {
    bundle.workspaces.push_back(workspace(item));
  });
  root.member("launches").forEach("launches", 1, kMaxItems, [&](JsonReader &item) {
    bundle.launches.push_back(launch(item));
  });
  return bundle;
}

/// Brackets outside of strings, nested deepest. LLVM's parser recurses per level.
unsigned nesting(llvm::StringRef text) {
  unsigned depth = 0, deepest = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth) {
      --depth;
    }
  }
  return deepest;
}

} // namespace

llvm::Expected<Bundle> parseBundle(llvm::StringRef text, llvm::StringRef name) {
  auto failure = [&](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), name + ": " + message);
  };
  if (unsigned depth = nesting(text); depth > kMaxNesting) {
    return failure("expected brackets to be nested at most " + llvm::Twine(kMaxNesting) +
                   " deep, but got " + llvm::Twine(depth));
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value) {
    return failure("expected the file to be JSON, but got " + llvm::toString(value.takeError()));
  }
  JsonErrors errors;
  Bundle bundle = BundleReader(*value, errors).read();
  if (!errors.first.empty()) {
    return failure(errors.first);
  }
  return bundle;
}

llvm::Expected<Bundle> readBundle(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    return llvm::createStringError(buffer.getError(), "expected '" + path +
                                                          "' to be a file, but got " +
                                                          buffer.getError().message());
  }
  return parseBundle((*buffer)->getBuffer(), path);
}

} // namespace fa4::runtime
