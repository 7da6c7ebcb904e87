//===- Entry.cpp - the function that is run, and its arguments ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/Entry.h"

#include "fa4/Driver/HostProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fa4::driver {

/// The operands of the op under the names of its assembly, in lower case.
static llvm::SmallVector<std::pair<Value, std::string>> namedOperands(attn::ForwardOp op) {
  llvm::SmallVector<std::pair<Value, std::string>> named = {
      {op.getQ(), "q"},
      {op.getK(), "k"},
      {op.getV(), "v"},
      {op.getO(), "o"},
      {op.getLse(), "lse"},
      {op.getQueryDocuments(), "query_documents"},
      {op.getKeyDocuments(), "key_documents"},
      {op.getPositionOffset(), "position_offset"},
      {op.getQueryPrefixSums(), "query_prefix_sums"},
      {op.getKeyPrefixSums(), "key_prefix_sums"},
      {op.getQueryUsedLengths(), "query_used_lengths"},
      {op.getKeyUsedLengths(), "key_used_lengths"},
      {op.getSink(), "sink"},
  };
  for (auto [index, capture] : llvm::enumerate(op.getScoreCaptures())) {
    named.push_back({capture, "score" + std::to_string(index)});
  }
  for (auto [index, capture] : llvm::enumerate(op.getPredicateCaptures())) {
    named.push_back({capture, "predicate" + std::to_string(index)});
  }
  return named;
}

llvm::Expected<Entry> Entry::find(ModuleOp module, llvm::StringRef name) {
  llvm::SmallVector<func::FuncOp> candidates;
  for (auto function : module.getOps<func::FuncOp>()) {
    bool wanted = name.empty() ? function.isPublic() : function.getSymName() == name;
    if (wanted && !function.isExternal()) {
      candidates.push_back(function);
    }
  }
  if (candidates.size() != 1) {
    std::string wanted = name.empty() ? "exactly one public function with a body"
                                      : "a function @" + name.str() + " with a body";
    return llvm::createStringError("expected the module to have " + wanted + ", but got " +
                                   llvm::Twine(candidates.size()));
  }
  Entry entry;
  entry.function = candidates.front();
  llvm::SmallVector<attn::ForwardOp> forwards =
      llvm::to_vector(entry.function.getOps<attn::ForwardOp>());
  if (forwards.size() == 1) {
    entry.forward = forwards.front();
  }
  for (unsigned number = 0; number < entry.function.getNumArguments(); ++number) {
    entry.names.push_back("arg" + std::to_string(number));
  }
  if (entry.forward) {
    for (const auto &[operand, operandName] : namedOperands(entry.forward)) {
      auto argument = dyn_cast_or_null<BlockArgument>(operand);
      if (argument && argument.getOwner() == &entry.function.getBody().front()) {
        entry.names[argument.getArgNumber()] = operandName;
      }
    }
  }
  return entry;
}

bool Entry::isDestination(unsigned number) const {
  if (!forward) {
    return false;
  }
  Value argument = function.getArgument(number);
  return argument == forward.getO() || argument == forward.getLse();
}

static llvm::Error checkNames(llvm::ArrayRef<std::string> names, const InputOptions &options) {
  auto check = [&](llvm::StringRef name) -> llvm::Error {
    if (llvm::is_contained(names, name)) {
      return llvm::Error::success();
    }
    return llvm::createStringError("expected the name of an argument to be one of " +
                                   llvm::join(names, ", ") + ", but got " + name);
  };
  for (const auto &file : options.files) {
    if (llvm::Error error = check(file.first())) {
      return error;
    }
  }
  for (const auto &elements : options.integers) {
    if (llvm::Error error = check(elements.first())) {
      return error;
    }
  }
  for (const auto &shape : options.shapes) {
    if (llvm::Error error = check(shape.first())) {
      return error;
    }
  }
  for (const auto &scalar : options.scalars) {
    if (llvm::Error error = check(scalar.first())) {
      return error;
    }
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<Argument>> Entry::makeArguments(const InputOptions &options) const {
  if (llvm::Error error = checkNames(names, options)) {
    return error;
  }
  std::vector<Argument> arguments;
  for (unsigned number = 0; number < function.getNumArguments(); ++number) {
    llvm::Expected<Argument> argument = makeArgument(number, options);
    if (!argument) {
      return argument.takeError();
    }
    arguments.push_back(std::move(*argument));
  }
  return arguments;
}

/// Random numbers for q, k and v by their family, standard normal for the rest.
static void fillRandom(HostArray &array, llvm::StringRef name, unsigned number,
                       const numerics::InputGenerator &random) {
  std::optional<numerics::InputTensor> tensor =
      llvm::StringSwitch<std::optional<numerics::InputTensor>>(name)
          .Case("q", numerics::InputTensor::Query)
          .Case("k", numerics::InputTensor::Key)
          .Case("v", numerics::InputTensor::Value)
          .Default(std::nullopt);
  // Streams 0 to 2 are q, k and v.
  constexpr uint64_t firstOtherStream = 16;
  numerics::CounterRandom normal(random.seed, firstOtherStream + number);
  array.forEach([&](llvm::ArrayRef<int64_t> index, int64_t element) {
    auto counter = static_cast<uint64_t>(element);
    array.set(index, tensor ? random.element(*tensor, counter, static_cast<uint64_t>(index.back()))
                            : normal.gaussian(counter));
  });
}

llvm::Expected<Argument> Entry::makeArgument(unsigned number, const InputOptions &options) const {
  llvm::StringRef name = names[number];
  Type type = function.getArgumentTypes()[number];
  auto refuse = [&](const llvm::Twine &rule, const llvm::Twine &got) {
    return llvm::createStringError("expected argument '" + name + "' to be " + rule + ", but got " +
                                   got);
  };
  if (type.isF32() || type.isInteger(32)) {
    auto given = options.scalars.find(name);
    if (given == options.scalars.end()) {
      return refuse("given with --scalar", "no value");
    }
    if (type.isF32()) {
      return Argument(static_cast<float>(given->second));
    }
    return Argument(static_cast<int32_t>(given->second));
  }
  auto shaped = dyn_cast<ShapedType>(type);
  std::optional<support::NpyType> element =
      shaped ? getArrayType(shaped.getElementType()) : std::nullopt;
  if (!element || !shaped.hasRank()) {
    return refuse("an array of a type that .npy has, an f32 or an i32", "another type");
  }
  auto file = options.files.find(name);
  if (file != options.files.end()) {
    llvm::Expected<support::NpyArray> read = support::readNpy(file->second);
    if (!read) {
      return read.takeError();
    }
    return Argument(std::make_shared<HostArray>(HostArray::fromNpy(*read)));
  }
  auto elements = options.integers.find(name);
  if (elements != options.integers.end()) {
    const bool fits =
        shaped.getElementType().isInteger(64) || llvm::all_of(elements->second, llvm::isInt<32>);
    if (shaped.getRank() != 1 || !isa<IntegerType>(shaped.getElementType()) || !fits) {
      std::string got;
      llvm::raw_string_ostream(got) << type;
      return refuse("a row of integers that hold those of --input", got);
    }
    const auto count = static_cast<int64_t>(elements->second.size());
    auto array = std::make_shared<HostArray>(*element, llvm::ArrayRef<int64_t>{count});
    for (auto [index, value] : llvm::enumerate(elements->second)) {
      array->set({static_cast<int64_t>(index)}, static_cast<double>(value));
    }
    return Argument(std::move(array));
  }
  llvm::SmallVector<int64_t> shape(shaped.getShape());
  auto given = options.shapes.find(name);
  if (given != options.shapes.end()) {
    shape = given->second;
  }
  if (llvm::any_of(shape, ShapedType::isDynamic)) {
    return refuse("given with --input or --shape", "open extents");
  }
  auto array = std::make_shared<HostArray>(*element, shape);
  if (!isDestination(number)) {
    if (!isa<FloatType>(shaped.getElementType())) {
      return refuse("given with --input, since integers are not drawn", "no file");
    }
    fillRandom(*array, name, number, options.random);
  }
  return Argument(std::move(array));
}

llvm::Expected<Argument> Entry::bind(Value operand, llvm::ArrayRef<Argument> arguments) const {
  auto argument = dyn_cast<BlockArgument>(operand);
  if (argument && argument.getOwner() == &function->getRegion(0).front()) {
    return arguments[argument.getArgNumber()];
  }
  DenseElementsAttr elements;
  if (matchPattern(operand, m_Constant(&elements))) {
    auto type = cast<ShapedType>(operand.getType());
    if (std::optional<support::NpyType> element = getArrayType(type.getElementType())) {
      auto array = std::make_shared<HostArray>(*element, type.getShape());
      bool isReal = isa<FloatType>(type.getElementType());
      SmallVector<APFloat> reals;
      SmallVector<APInt> integers;
      isReal ? llvm::append_range(reals, elements.getValues<APFloat>())
             : llvm::append_range(integers, elements.getValues<APInt>());
      array->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
        if (!isReal) {
          array->set(index, static_cast<double>(integers[number].getSExtValue()));
          return;
        }
        APFloat value = reals[number];
        bool losesInfo;
        value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
        array->set(index, value.convertToDouble());
      });
      return Argument(std::move(array));
    }
  }
  Attribute scalar;
  if (matchPattern(operand, m_Constant(&scalar))) {
    if (auto real = dyn_cast<FloatAttr>(scalar)) {
      return Argument(static_cast<float>(real.getValueAsDouble()));
    }
    if (auto integer = dyn_cast<IntegerAttr>(scalar)) {
      return Argument(static_cast<int32_t>(integer.getInt()));
    }
  }
  return llvm::createStringError("expected the operands of attn.forward to be arguments of the "
                                 "entry or constants, to be checked");
}

const HostArray *Entry::findOutput(llvm::StringRef name, llvm::ArrayRef<Argument> arguments,
                                   llvm::ArrayRef<HostArray> results) const {
  if (forward && !results.empty() && results.size() == function.getFunctionType().getNumResults()) {
    Operation *terminator = function->getRegion(0).front().getTerminator();
    for (auto [value, array] : llvm::zip_equal(terminator->getOperands(), results)) {
      for (auto [number, result] : llvm::enumerate(forward.getResults())) {
        if (value == result && name == (number == 0 ? "o" : "lse")) {
          return &array;
        }
      }
    }
  }
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    auto *array = std::get_if<std::shared_ptr<HostArray>>(&argument);
    if (array && names[number] == name) {
      return array->get();
    }
  }
  return nullptr;
}

} // namespace fa4::driver
