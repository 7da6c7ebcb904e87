//===- HostProgram.cpp - run a module's functions on this host ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments are checked against the lowered signature before the call, since a
// compiled function trusts its descriptors.
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/HostProgram.h"

#include "HostFormula.h"
#include "fa4/Conversion/TileToCPU.h"
#include "fa4/Dialect/Attn/Transforms/Passes.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "fa4/Driver/Entry.h"
#include "fa4/Pipelines/Pipelines.h"
#include "fa4/Runtime/Resolve.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/TargetParser/Host.h"

#include <thread>

using namespace mlir;

namespace fa4::driver {

/// The register block of a product: accumulators of 16 doubles for 8 rows fill
/// half of AVX-512's 32 registers; hosts with half the registers of half the
/// width have room for 2 rows.
static int64_t mmaRowsOfHost() { return llvm::sys::getHostCPUFeatures().lookup("avx512f") ? 8 : 2; }

/// Four shares per thread even out tiles of different length.
static int64_t workersOfHost() {
  return 4 * static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
}

/// From T0 to upstream dialects.
static LogicalResult lowerTiles(ModuleOp module) {
  PassManager pm(module.getContext());
  ConvertTileToCPUOptions options;
  options.workers = workersOfHost();
  options.mmaRows = mmaRowsOfHost();
  pm.addPass(createConvertTileToCPU(options));
  return pm.run(module);
}

LogicalResult lowerForHost(ModuleOp module, HostStage stage) {
  PassManager pm(module.getContext());
  if (stage == HostStage::Attn) {
    pm.addNestedPass<func::FuncOp>(attn::createAttnLegalize());
    pm.addNestedPass<func::FuncOp>(attn::createAttnSelectSchedule());
    return pm.run(module);
  }
  AttnToTileOptions tiling;
  tiling.pairCtas = false;
  buildAttnToTilePipeline(pm, tiling);
  if (failed(pm.run(module))) {
    return failure();
  }
  return stage == HostStage::Upstream ? lowerTiles(module) : success();
}

std::optional<support::NpyType> getArrayType(Type type) {
  if (type.isBF16()) {
    return support::NpyType::BF16;
  }
  if (type.isF16()) {
    return support::NpyType::F16;
  }
  if (type.isF32()) {
    return support::NpyType::F32;
  }
  if (type.isF64()) {
    return support::NpyType::F64;
  }
  if (type.isInteger(32)) {
    return support::NpyType::I32;
  }
  if (type.isInteger(64)) {
    return support::NpyType::I64;
  }
  return std::nullopt;
}

llvm::Expected<std::unique_ptr<HostProgram>> HostProgram::create(ModuleOp module,
                                                                 Threading threading) {
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone()));
  auto refuse = [] {
    return llvm::createStringError("expected the module to be lowered for the host, but a pass "
                                   "failed");
  };
  llvm::StringMap<Extents> extents;
  for (auto function : copy->getOps<func::FuncOp>()) {
    if (llvm::Expected<Entry> entry = Entry::find(*copy, function.getSymName())) {
      extents[function.getSymName()].names = llvm::to_vector(entry->getArgumentNames());
    } else {
      llvm::consumeError(entry.takeError()); // a declaration
    }
  }
  if (failed(lowerForHost(*copy, HostStage::Tile))) {
    return refuse();
  }
  for (auto function : copy->getOps<func::FuncOp>()) {
    if (auto asked = extents.find(function.getSymName()); asked != extents.end()) {
      const HostFormula formula(function, asked->second.names);
      function.walk([&](tile::LaunchOp launch) {
        llvm::append_range(asked->second.conditions, formula.getConditions(launch));
      });
    }
  }
  if (failed(lowerTiles(*copy))) {
    return refuse();
  }
  llvm::Expected<std::unique_ptr<HostProgram>> program = compileLowered(*copy, threading);
  if (program) {
    (*program)->extents = std::move(extents);
  }
  return program;
}

llvm::Expected<std::unique_ptr<HostProgram>> HostProgram::compileLowered(ModuleOp module,
                                                                         Threading threading) {
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone()));
  exposeEntries(*copy);
  std::unique_ptr<HostProgram> program(new HostProgram());
  for (auto function : copy->getOps<func::FuncOp>()) {
    if (function.isPublic()) {
      FunctionType type = function.getFunctionType();
      program->signatures[function.getSymName()] = {llvm::to_vector(type.getInputs()),
                                                    llvm::to_vector(type.getResults())};
    }
  }
  llvm::Expected<std::unique_ptr<CompiledModule>> compiled =
      CompiledModule::compile(*copy, threading);
  if (!compiled) {
    return compiled.takeError();
  }
  program->compiled = std::move(*compiled);
  return program;
}

static llvm::Error checkArgument(Type type, const Argument &argument, size_t number) {
  auto refuse = [&](const llvm::Twine &rule, const llvm::Twine &got) {
    return llvm::createStringError("expected argument " + llvm::Twine(number) + " to be " + rule +
                                   ", but got " + got);
  };
  if (type.isF32() || type.isInteger(32)) {
    bool fits = type.isF32() ? std::holds_alternative<float>(argument)
                             : std::holds_alternative<int32_t>(argument);
    return fits ? llvm::Error::success()
                : refuse(type.isF32() ? "an f32" : "an i32", "another kind of value");
  }
  auto memref = dyn_cast<MemRefType>(type);
  auto *held = std::get_if<std::shared_ptr<HostArray>>(&argument);
  std::optional<support::NpyType> element =
      memref ? getArrayType(memref.getElementType()) : std::nullopt;
  if (!element || !held) {
    return refuse("an f32, an i32 or an array of a type that .npy has", "another kind of value");
  }
  const HostArray &array = **held;
  if (array.getType() != *element) {
    return refuse("of the function's element type", support::npyTypeDescr(array.getType()));
  }
  if (static_cast<int64_t>(array.getShape().size()) != memref.getRank()) {
    return refuse("of rank " + llvm::Twine(memref.getRank()),
                  "rank " + llvm::Twine(array.getShape().size()));
  }
  for (int64_t dim = 0; dim < memref.getRank(); ++dim) {
    int64_t extent = array.getShape()[dim];
    if (!memref.isDynamicDim(dim) && memref.getDimSize(dim) != extent) {
      return refuse("of extent " + llvm::Twine(memref.getDimSize(dim)) + " in dimension " +
                        llvm::Twine(dim),
                    llvm::Twine(extent));
    }
  }
  SmallVector<int64_t> strides;
  int64_t offset;
  bool strided = succeeded(memref.getStridesAndOffset(strides, offset));
  for (int64_t dim = 0; strided && dim < memref.getRank(); ++dim) {
    // Strides of extents up to 1 are never used (S2).
    if (array.getShape()[dim] > 1 && !ShapedType::isDynamic(strides[dim]) &&
        strides[dim] != array.getStrides()[dim]) {
      return refuse("of stride " + llvm::Twine(strides[dim]) + " in dimension " + llvm::Twine(dim),
                    llvm::Twine(array.getStrides()[dim]));
    }
  }
  return llvm::Error::success();
}

/// The extents of arrays by argument name.
static runtime::Binding bindExtents(llvm::ArrayRef<std::string> names,
                                    llvm::ArrayRef<Argument> arguments) {
  runtime::Binding binding;
  for (auto [name, argument] : llvm::zip_equal(names, arguments)) {
    if (auto *array = std::get_if<std::shared_ptr<HostArray>>(&argument)) {
      llvm::ArrayRef<int64_t> shape = (*array)->getShape();
      binding.tensors[name].extents.assign(shape.begin(), shape.end());
    }
  }
  return binding;
}

/// Copies what a descriptor in `words` says into an array.
static llvm::Expected<HostArray> readResult(MemRefType type, const int64_t *words) {
  std::optional<support::NpyType> element = getArrayType(type.getElementType());
  if (!element) {
    return llvm::createStringError("expected a returned array to be of a type that .npy has");
  }
  auto rank = static_cast<size_t>(type.getRank());
  llvm::ArrayRef<int64_t> sizes(words + 3, rank);
  llvm::ArrayRef<int64_t> strides(words + 3 + rank, rank);
  HostArray view =
      HostArray::viewOf(*element, sizes, strides, words[2], reinterpret_cast<char *>(words[1]));
  return HostArray::fromNpy(view.toNpy());
}

llvm::Expected<std::vector<HostArray>> HostProgram::run(llvm::StringRef entry,
                                                        llvm::MutableArrayRef<Argument> arguments) {
  auto found = signatures.find(entry);
  if (found == signatures.end()) {
    return llvm::createStringError("expected the entry to be a public function, but got @" + entry);
  }
  const Signature &signature = found->second;
  if (signature.inputs.size() != arguments.size()) {
    return llvm::createStringError("expected " + llvm::Twine(signature.inputs.size()) +
                                   " arguments, but got " + llvm::Twine(arguments.size()));
  }
  size_t resultWords = 0;
  for (Type type : signature.results) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref) {
      return llvm::createStringError("expected the entry to return arrays only");
    }
    resultWords += 3 + 2 * static_cast<size_t>(memref.getRank());
  }

  std::vector<MemRefDescriptor> descriptors;
  std::vector<void *> pointers(arguments.size());
  llvm::SmallVector<void *> packed;
  std::vector<int64_t> results(resultWords);
  void *resultPointer = results.data();
  if (!signature.results.empty()) {
    packed.push_back(static_cast<void *>(&resultPointer));
  }
  descriptors.reserve(arguments.size());
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    if (llvm::Error error = checkArgument(signature.inputs[number], argument, number)) {
      return error;
    }
    if (auto *array = std::get_if<std::shared_ptr<HostArray>>(&argument)) {
      descriptors.push_back((*array)->describe());
      pointers[number] = descriptors.back().get();
      packed.push_back(static_cast<void *>(&pointers[number]));
    } else if (auto *real = std::get_if<float>(&argument)) {
      packed.push_back(real);
    } else {
      packed.push_back(&std::get<int32_t>(argument));
    }
  }
  if (auto asked = extents.find(entry); asked != extents.end()) {
    const auto &[names, conditions] = asked->second;
    if (llvm::Error error = runtime::checkConditions(conditions, bindExtents(names, arguments))) {
      return error;
    }
  }
  if (llvm::Error error = compiled->invoke(entry, packed)) {
    return error;
  }
  std::vector<HostArray> returned;
  const int64_t *words = results.data();
  for (Type type : signature.results) {
    auto memref = cast<MemRefType>(type);
    llvm::Expected<HostArray> array = readResult(memref, words);
    if (!array) {
      return array.takeError();
    }
    returned.push_back(std::move(*array));
    words += 3 + 2 * memref.getRank();
  }
  return returned;
}

} // namespace fa4::driver
