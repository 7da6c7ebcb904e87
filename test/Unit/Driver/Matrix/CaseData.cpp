//===- CaseData.cpp - the arrays of a case --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaseData.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using fa4::driver::Argument;
using fa4::driver::HostArray;
using fa4::support::NpyType;
using llvm::StringRef;

namespace fa4::matrix {

namespace {
constexpr uint64_t kSeed = 2026;

class DataMaker {
public:
  explicit DataMaker(const Case &point);
  Argument make(StringRef name);

private:
  bool isPacked() const { return !queryLengths.empty(); }
  std::shared_ptr<HostArray> makeTensor(StringRef name);
  void fill(HostArray &array, numerics::InputTensor tensor) const;
  void spoilUnused(HostArray &array) const;
  std::shared_ptr<HostArray> integers(llvm::ArrayRef<int64_t> values) const;
  std::shared_ptr<HostArray> documents(int64_t length, int64_t period, int64_t count) const;
  std::shared_ptr<HostArray> normal(llvm::ArrayRef<int64_t> shape, uint64_t stream, double scale,
                                    double mean) const;

  const Case &point;
  int64_t sq, sk, batch, queryHeads, keyHeads, queryDim, valueDim;
  /// Lengths of the packed sequences; empty if not packed.
  llvm::SmallVector<int64_t> queryLengths, keyLengths;
};
} // namespace

static int64_t toNumber(StringRef text) {
  int64_t value = 0;
  text.getAsInteger(10, value);
  return value;
}

static llvm::SmallVector<int64_t> prefixOf(llvm::ArrayRef<int64_t> lengths) {
  llvm::SmallVector<int64_t> prefix(1, 0);
  for (int64_t length : lengths) {
    prefix.push_back(prefix.back() + length);
  }
  return prefix;
}

/// Some rows at the end of each sequence are not used.
static llvm::SmallVector<int64_t> usedOf(llvm::ArrayRef<int64_t> lengths, int64_t unused) {
  return llvm::map_to_vector(lengths,
                             [&](int64_t length) { return std::max<int64_t>(length - unused, 0); });
}
constexpr int64_t kUnusedQueries = 5;
constexpr int64_t kUnusedKeys = 3;

DataMaker::DataMaker(const Case &point)
    : point(point), sq(toNumber(levelName(point, QueryLength))),
      sk(toNumber(levelName(point, KeyLength))) {
  int64_t ratio = toNumber(levelName(point, Ratio));
  // Two sequences and two kv heads where the oracle can afford them.
  constexpr int64_t smallProblem = 300 * 300;
  keyHeads = ratio <= 3 ? 2 : 1;
  queryHeads = ratio * keyHeads;
  batch = sq * sk <= smallProblem ? 2 : 1;
  auto [query, value] = StringRef(levelName(point, HeadDim)).split('/');
  queryDim = toNumber(query);
  valueDim = value.empty() ? queryDim : toNumber(value);
  if (StringRef(levelName(point, LayoutKind)).starts_with("thd")) {
    queryLengths = {sq, 0, sq / 3 + 1};
    keyLengths = {sk, 9, sk / 2};
    batch = static_cast<int64_t>(queryLengths.size());
  }
}

void DataMaker::fill(HostArray &array, numerics::InputTensor tensor) const {
  numerics::InputGenerator generator;
  generator.seed = kSeed;
  generator.distribution = *numerics::parseInputDistribution(levelName(point, Inputs));
  generator.scale = 1.0 / std::sqrt(static_cast<double>(queryDim));
  array.forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
    array.set(index, generator.element(tensor, static_cast<uint64_t>(number),
                                       static_cast<uint64_t>(index.back())));
  });
}

void DataMaker::spoilUnused(HostArray &array) const {
  llvm::SmallVector<int64_t> prefix = prefixOf(keyLengths);
  llvm::SmallVector<int64_t> used = usedOf(keyLengths, kUnusedKeys);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t s = used[b]; s < keyLengths[b]; ++s) {
      for (int64_t h = 0; h < array.getShape()[1]; ++h) {
        for (int64_t d = 0; d < array.getShape()[2]; ++d) {
          array.set({prefix[b] + s, h, d}, std::nan(""));
        }
      }
    }
  }
}

/// q, k, v or o, with the strides of the case.
std::shared_ptr<HostArray> DataMaker::makeTensor(StringRef name) {
  bool isQuery = name == "q" || name == "o";
  int64_t heads = isQuery ? queryHeads : keyHeads;
  int64_t dim = name == "v" || name == "o" ? valueDim : queryDim;
  int64_t length = isQuery ? sq : sk;
  bool headsFirst = levelName(point, LayoutKind) == "bhsd";
  llvm::SmallVector<int64_t> shape;
  unsigned sequenceDim = headsFirst ? 2 : 1;
  unsigned headDim = headsFirst ? 1 : 2;
  if (isPacked()) {
    shape = {prefixOf(isQuery ? queryLengths : keyLengths).back(), heads, dim};
    sequenceDim = 0;
    headDim = 1;
  } else {
    shape.assign(4, batch);
    shape[sequenceDim] = length;
    shape[headDim] = heads;
    shape[3] = dim;
  }
  // The order of the dimensions in memory, outermost first, and the heads that
  // the memory has in all.
  llvm::SmallVector<unsigned> order;
  for (unsigned number = 0; number < shape.size(); ++number) {
    order.push_back(number);
  }
  const std::string &kind = levelName(point, Strides);
  if (kind == "transposed") {
    std::swap(order[sequenceDim], order[headDim]);
  }
  int64_t headsInMemory = heads;
  int64_t firstHead = 0;
  if (kind == "fused" && name != "o") {
    headsInMemory = queryHeads + 2 * keyHeads;
    firstHead = name == "q" ? 0 : name == "k" ? queryHeads : queryHeads + keyHeads;
  }
  llvm::SmallVector<int64_t> strides(shape.size());
  int64_t next = 1;
  for (unsigned dimension : llvm::reverse(order)) {
    strides[dimension] = next;
    next *= std::max<int64_t>(dimension == headDim ? headsInMemory : shape[dimension], 1);
  }
  int64_t offset = firstHead * strides[headDim];
  if (kind == "broadcast" && !isQuery) {
    strides[headDim] = 0;
    if (name == "k" && !isPacked()) {
      strides[0] = 0;
    }
  }
  NpyType type = levelName(point, ElementType) == "bf16" ? NpyType::BF16 : NpyType::F16;
  auto array = std::make_shared<HostArray>(type, shape, strides, offset);
  if (name == "o") {
    return array;
  }
  fill(*array, name == "q"   ? numerics::InputTensor::Query
               : name == "k" ? numerics::InputTensor::Key
                             : numerics::InputTensor::Value);
  if (!isQuery && levelName(point, LayoutKind) == "thd+used") {
    spoilUnused(*array);
  }
  return array;
}

std::shared_ptr<HostArray> DataMaker::integers(llvm::ArrayRef<int64_t> values) const {
  auto array = std::make_shared<HostArray>(
      NpyType::I32, llvm::ArrayRef<int64_t>{static_cast<int64_t>(values.size())});
  for (auto [number, value] : llvm::enumerate(values)) {
    array->set({static_cast<int64_t>(number)}, static_cast<double>(value));
  }
  return array;
}

std::shared_ptr<HostArray> DataMaker::documents(int64_t length, int64_t period,
                                                int64_t count) const {
  llvm::SmallVector<int64_t> shape = {batch, length};
  if (isPacked()) {
    shape = {length};
  }
  auto array = std::make_shared<HostArray>(NpyType::I32, shape);
  array->forEach([&](llvm::ArrayRef<int64_t> index, int64_t) {
    array->set(index, static_cast<double>(index.back() / period % count));
  });
  return array;
}

std::shared_ptr<HostArray> DataMaker::normal(llvm::ArrayRef<int64_t> shape, uint64_t stream,
                                             double scale, double mean) const {
  auto array = std::make_shared<HostArray>(NpyType::F32, shape);
  numerics::CounterRandom random(kSeed, stream);
  array->forEach([&](llvm::ArrayRef<int64_t> index, int64_t number) {
    array->set(index, mean + scale * random.gaussian(static_cast<uint64_t>(number)));
  });
  return array;
}

Argument DataMaker::make(StringRef name) {
  // Streams beside those of q, k and v.
  constexpr uint64_t sinkStream = 100;
  constexpr uint64_t biasStream = 101;
  if (name == "q" || name == "k" || name == "v" || name == "o") {
    return makeTensor(name);
  }
  if (name == "lse") {
    llvm::SmallVector<int64_t> shape = {batch, queryHeads, sq};
    if (isPacked()) {
      shape = {queryHeads, prefixOf(queryLengths).back()};
    }
    return std::make_shared<HostArray>(NpyType::F32, shape);
  }
  if (name == "query_prefix_sums") {
    return integers(prefixOf(queryLengths));
  }
  if (name == "key_prefix_sums") {
    return integers(prefixOf(keyLengths));
  }
  if (name == "query_used_lengths") {
    return integers(usedOf(queryLengths, kUnusedQueries));
  }
  if (name == "key_used_lengths") {
    return integers(usedOf(keyLengths, kUnusedKeys));
  }
  // One document of the queries has no key.
  if (name == "query_documents") {
    return documents(isPacked() ? prefixOf(queryLengths).back() : sq, 50, 4);
  }
  if (name == "key_documents") {
    return documents(isPacked() ? prefixOf(keyLengths).back() : sk, 64, 3);
  }
  if (name == "position_offset") {
    llvm::SmallVector<int64_t> offsets = {-3, 40, 5};
    offsets.truncate(batch);
    return integers(offsets);
  }
  if (name == "sink") {
    return normal({queryHeads}, sinkStream, 2.0, 0.0);
  }
  // The capture of the score region.
  const std::string &score = levelName(point, Score);
  if (score == "alibi") {
    auto slopes = std::make_shared<HostArray>(NpyType::F32, llvm::ArrayRef<int64_t>{queryHeads});
    for (int64_t h = 0; h < queryHeads; ++h) {
      slopes->set({h}, std::exp2(-static_cast<double>(h % 8 + 1)));
    }
    return slopes;
  }
  if (score == "bias") {
    return normal({sq, sk}, biasStream, 1.0, 0.0);
  }
  return 0.7F;
}

std::vector<Argument> makeArguments(const Case &point, const driver::Entry &entry) {
  DataMaker maker(point);
  std::vector<Argument> arguments;
  for (unsigned number = 0; number < entry.getNumArguments(); ++number) {
    arguments.push_back(maker.make(entry.getArgumentName(number)));
  }
  return arguments;
}

std::vector<Argument> makePacked(llvm::ArrayRef<Argument> arguments) {
  std::vector<Argument> packed;
  for (const Argument &argument : arguments) {
    if (auto *array = std::get_if<std::shared_ptr<HostArray>>(&argument)) {
      packed.emplace_back(std::make_shared<HostArray>(HostArray::fromNpy((*array)->toNpy())));
    } else {
      packed.push_back(argument);
    }
  }
  return packed;
}

} // namespace fa4::matrix
