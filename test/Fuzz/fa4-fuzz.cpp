//===- fa4-fuzz.cpp - no text crashes parser, verifiers or passes ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A libFuzzer target. Whatever the text: parsing gives errors or a module; a
// module that verifies prints as text that parses again; the passes and
// pipelines that its hash chooses end in success or in an error.
//
//===----------------------------------------------------------------------===//

#include "TokenMutator.h"
#include "fa4/Pipelines/Registration.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>
#include <cstring>
#include <random>

using namespace mlir;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

/// Each pass of ours alone, on whatever the text says.
const char *const passes[] = {
#include "PassNames.inc"
};

/// And in the order in which they are meant to run.
const char *const chains[] = {
    "fa4-attn-to-tile",
    "fa4-attn-to-cpu",
    "fa4-tile-to-nvvm",
    "fa4-full",
};

/// Pipelines that one text goes through: few, so that many texts are tried. The
/// text's hash chooses, so that a crash is found again from its input alone.
constexpr unsigned pipelinesPerText = 4;

struct Fuzzer {
  DialectRegistry registry;
  std::unique_ptr<MLIRContext> context;
  unsigned uses = 0;
  std::vector<std::string> pipelines;

  Fuzzer() {
    registerAllDialects(registry);
    registerAllExtensions(registry);
    registerAllPasses();
    fa4::registerAllDialects(registry);
    fa4::registerAllPasses();
    for (const char *pass : passes) {
      pipelines.push_back(nest(pass));
    }
    for (const char *chain : chains) {
      pipelines.push_back(nest(chain));
    }
  }

  /// `pass` under the op that it is anchored on.
  std::string nest(llvm::StringRef pass) {
    for (const char *anchor : {"", "func.func", "tile.kernel"}) {
      std::string nested =
          *anchor ? (llvm::Twine(anchor) + "(" + pass + ")").str() : std::string(pass);
      PassManager manager(getContext());
      if (succeeded(parsePassPipeline(nested, manager, llvm::nulls()))) {
        return nested;
      }
    }
    llvm::errs() << "no such pass: " << pass << "\n";
    std::abort();
  }

  /// A context keeps every attribute it ever saw: a fresh one now and then.
  MLIRContext *getContext() {
    if (uses++ % 1000 == 0) {
      context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
      context->getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
    }
    return context.get();
  }
};

Fuzzer &getFuzzer() {
  static Fuzzer fuzzer;
  return fuzzer;
}

void checkRoundTrip(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  if (!parseSourceString<ModuleOp>(text, module.getContext())) {
    llvm::errs() << "printed module does not parse again:\n" << text;
    std::abort();
  }
}

void run(ModuleOp module, llvm::StringRef pipeline) {
  PassManager manager(module.getContext());
  if (failed(parsePassPipeline(pipeline, manager))) {
    std::abort();
  }
  OwningOpRef<ModuleOp> copy = module.clone();
  (void)manager.run(*copy);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // MLIR's lexer reads up to a terminating zero: the text needs to own one.
  std::string text(reinterpret_cast<const char *>(data), size);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, getFuzzer().getContext());
  if (module) {
    checkRoundTrip(*module);
    const std::vector<std::string> &pipelines = getFuzzer().pipelines;
    std::mt19937_64 random(llvm::xxh3_64bits(text));
    for (unsigned i = 0; i < pipelinesPerText; ++i) {
      run(*module, pipelines[random() % pipelines.size()]);
    }
  }
  return 0;
}

static size_t store(const std::string &text, uint8_t *data, size_t maxSize) {
  size_t size = std::min(text.size(), maxSize);
  std::memcpy(data, text.data(), size);
  return size;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  std::mt19937 random(seed);
  if (random() % 8 == 0) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  std::string_view text(reinterpret_cast<const char *>(data), size);
  return store(fa4::fuzz::mutateTokens(text, random), data, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize,
                                            const uint8_t *second, size_t secondSize, uint8_t *out,
                                            size_t maxSize, unsigned seed) {
  std::mt19937 random(seed);
  std::string_view text(reinterpret_cast<const char *>(first), firstSize);
  std::string_view donor(reinterpret_cast<const char *>(second), secondSize);
  return store(fa4::fuzz::spliceTokens(text, donor, random), out, maxSize);
}
