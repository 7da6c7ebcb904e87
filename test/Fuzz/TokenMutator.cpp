//===- TokenMutator.cpp - changes to IR text that still lex ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenMutator.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace {

using Tokens = std::vector<std::string>;

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

/// Words with their sigil, strings, runs of white space, single other characters.
Tokens split(std::string_view text) {
  Tokens tokens;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    char first = text[begin];
    if (first == '"') {
      while (end < text.size() && text[end] != '"') {
        ++end;
      }
      end = std::min(end + 1, text.size());
    } else if (std::isspace(static_cast<unsigned char>(first))) {
      while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end]))) {
        ++end;
      }
    } else if (isWord(first) || std::string_view("%@#!^").find(first) != std::string_view::npos) {
      while (end < text.size() && isWord(text[end])) {
        ++end;
      }
    }
    tokens.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return tokens;
}

std::string join(const Tokens &tokens) {
  std::string text;
  for (const std::string &token : tokens) {
    text += token;
  }
  return text;
}

size_t below(size_t bound, std::mt19937 &random) {
  return std::uniform_int_distribution<size_t>(0, bound - 1)(random);
}

bool isNumber(const std::string &token) {
  return std::isdigit(static_cast<unsigned char>(token.front()));
}

const char *const boundaryNumbers[] = {"0",
                                       "1",
                                       "-1",
                                       "2",
                                       "7",
                                       "16",
                                       "257",
                                       "65536",
                                       "2147483647",
                                       "4294967296",
                                       "-2147483648",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "0x7FC00000",
                                       "1.0e400",
                                       "-0.0"};

void mutateOnce(Tokens &tokens, std::mt19937 &random) {
  size_t at = below(tokens.size(), random);
  size_t other = below(tokens.size(), random);
  switch (below(6, random)) {
  case 0:
    tokens.erase(tokens.begin() + at);
    break;
  case 1: {
    std::string copy = tokens[other];
    tokens.insert(tokens.begin() + at, std::move(copy));
    break;
  }
  case 2:
    std::swap(tokens[at], tokens[other]);
    break;
  case 3:
    tokens[at] = std::string(tokens[other]);
    break;
  case 4: {
    // The next number from a random place: most bugs are in what numbers mean.
    auto number = std::find_if(tokens.begin() + at, tokens.end(), isNumber);
    if (number != tokens.end()) {
      *number = boundaryNumbers[below(std::size(boundaryNumbers), random)];
    }
    break;
  }
  default: {
    // A whole line goes, or comes twice.
    auto newline = [](const std::string &token) { return token.find('\n') != std::string::npos; };
    auto begin = std::find_if(tokens.begin() + at, tokens.end(), newline);
    if (begin == tokens.end()) {
      return;
    }
    auto end = std::find_if(begin + 1, tokens.end(), newline);
    Tokens line(begin, end);
    if (below(2, random) == 0) {
      tokens.erase(begin, end);
    } else {
      tokens.insert(end, line.begin(), line.end());
    }
    break;
  }
  }
}

} // namespace

std::string fa4::fuzz::mutateTokens(std::string_view text, std::mt19937 &random) {
  Tokens tokens = split(text);
  for (size_t count = 1 + below(3, random); count > 0 && !tokens.empty(); --count) {
    mutateOnce(tokens, random);
  }
  return join(tokens);
}

std::string fa4::fuzz::spliceTokens(std::string_view text, std::string_view donor,
                                    std::mt19937 &random) {
  Tokens tokens = split(text);
  Tokens source = split(donor);
  if (tokens.empty() || source.empty()) {
    return std::string(text);
  }
  size_t begin = below(source.size(), random);
  size_t length = 1 + below(std::min<size_t>(source.size() - begin, 40), random);
  tokens.insert(tokens.begin() + below(tokens.size(), random), source.begin() + begin,
                source.begin() + begin + length);
  return join(tokens);
}
