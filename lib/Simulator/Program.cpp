//===- Program.cpp - loading modules ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are decoded when first asked for, so a module may hold kernels that
// use what is not modelled; only launching those is refused.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Program.h"

#include "FunctionDecoder.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace fa4::sim;

Program::~Program() = default;

StringRef Kernel::fileName(unsigned index) const {
  for (const auto &[number, name] : module->files) {
    if (number == index) {
      return name;
    }
  }
  return "?";
}

Expected<std::unique_ptr<Program>> Program::load(StringRef text) {
  auto tree = ptx::parseModule(text);
  if (!tree) {
    return tree.takeError();
  }
  std::unique_ptr<Program> program(new Program());
  program->tree = std::move(*tree);
  return std::move(program);
}

std::vector<StringRef> Program::entries() const {
  std::vector<StringRef> names;
  for (const auto &f : tree->functions) {
    if (f->isEntry && f->hasBody) {
      names.push_back(f->name);
    }
  }
  return names;
}

Expected<const Kernel *> Program::kernel(StringRef name) {
  auto found = kernels.find(name);
  if (found != kernels.end()) {
    return found->second.get();
  }
  const ptx::Function *f = tree->lookup(name);
  if (!f || !f->isEntry) {
    return createStringError(inconvertibleErrorCode(),
                             "expected the name of an entry, but got '" + name + "'");
  }
  auto kernel = std::make_unique<Kernel>();
  FunctionDecoder decoder(*kernel, *tree);
  decoder.decodeEntry(*f);
  if (!decoder.errors.empty()) {
    return createStringError(inconvertibleErrorCode(), join(decoder.errors, "\n"));
  }
  return kernels.insert({name, std::move(kernel)}).first->second.get();
}
