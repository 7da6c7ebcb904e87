//===- Apart.h - work in processes of its own -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A broken kernel may break who looks at it: what ends a process, or never ends,
// costs that one piece of work.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_MUTATIONS_APART_H
#define FA4_TEST_MUTATIONS_APART_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace fa4::mutations {

/// Calls `work` for each of `numbers`, `jobs` at a time, each in a copy of this
/// process, which has one thread; `done` gets here what it returned, or nothing if the
/// copy crashed or took longer than `seconds`. Ends early once `stop` says so.
void runApart(llvm::ArrayRef<size_t> numbers, unsigned jobs, unsigned seconds,
              llvm::function_ref<std::string(size_t)> work,
              llvm::function_ref<void(size_t, std::optional<std::string>)> done,
              llvm::function_ref<bool()> stop);

} // namespace fa4::mutations

#endif // FA4_TEST_MUTATIONS_APART_H
