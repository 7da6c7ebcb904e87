//===- TokenMutator.h - changes to IR text that still lex -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_FUZZ_TOKENMUTATOR_H
#define FA4_TEST_FUZZ_TOKENMUTATOR_H

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace fa4::fuzz {

/// Deletes, repeats, swaps or replaces tokens of `text`, or sets a number to a
/// boundary value. Byte mutations almost never get past the lexer; these do.
std::string mutateTokens(std::string_view text, std::mt19937 &random);

/// Copies a run of tokens of `donor` into `text`.
std::string spliceTokens(std::string_view text, std::string_view donor, std::mt19937 &random);

} // namespace fa4::fuzz

#endif // FA4_TEST_FUZZ_TOKENMUTATOR_H
