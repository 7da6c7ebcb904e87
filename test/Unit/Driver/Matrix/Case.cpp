//===- Case.cpp - one point of the feature matrix -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Case.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using llvm::StringRef;

namespace fa4::matrix {

const std::vector<FactorInfo> &factors() {
  static const std::vector<std::string> lengths = {"0",   "1",   "63",  "127", "128",
                                                   "129", "255", "256", "300", "1000"};
  static const std::vector<FactorInfo> table = {
      {"element", {"bf16", "f16"}},
      {"head_dim", {"8", "64", "72", "96", "128", "192/128", "256"}},
      {"mask",
       {"none", "causal", "top_left", "window:none:0", "window:none:33", "window:0:none",
        "window:0:0", "window:0:33", "window:33:none", "window:33:0", "window:33:33",
        "window:-1:-1", "document", "predicate", "causal+window:70:none+document",
        "top_left+predicate+document", "window:70:20+predicate"}},
      {"score", {"none", "softcap", "alibi", "bias", "temperature"}},
      {"sink", {"no", "yes"}},
      {"layout", {"bshd", "bhsd", "thd", "thd+used"}},
      {"exp2_percent", {"0", "12", "25", "100"}},
      {"lag", {"0", "8"}},
      {"offset", {"no", "yes"}},
      {"scheduler", {"one", "one+longest", "strided", "strided+longest", "drawn+longest"}},
      {"sq", lengths},
      {"sk", lengths},
      {"ratio", {"1", "3", "7", "10"}},
      {"strides", {"packed", "fused", "transposed", "broadcast"}},
      {"inputs", {"gaussian", "large-mean", "peaked", "below-minus-5e4"}},
  };
  return table;
}

Levels allLevels() {
  Levels levels;
  for (unsigned factor = 0; factor < NumFactors; ++factor) {
    for (unsigned level = 0; level < factors()[factor].levels.size(); ++level) {
      levels[factor].push_back(level);
    }
  }
  return levels;
}

Levels deviceLevels(bool hasLaunchControl, bool pairs) {
  Levels levels = allLevels();
  auto keep = [&](Factor factor, std::initializer_list<StringRef> names) {
    llvm::erase_if(levels[factor], [&](unsigned level) {
      return !llvm::is_contained(names, StringRef(factors()[factor].levels[level]));
    });
  };
  keep(HeadDim, {"64", "96", "128"});
  if (!hasLaunchControl || pairs) {
    keep(Scheduler, {"one", "one+longest", "strided", "strided+longest"});
  }
  if (pairs) {
    keep(LayoutKind, {"bshd", "bhsd"});
  }
  return levels;
}

std::string describe(const Case &point) {
  std::string text;
  for (unsigned factor = 0; factor < NumFactors; ++factor) {
    text += (factor ? " " : "") + std::string(factors()[factor].name) + "=" +
            levelName(point, static_cast<Factor>(factor));
  }
  return text;
}

namespace {
/// Collects the pieces of the module.
class ModuleWriter {
public:
  explicit ModuleWriter(const Case &point)
      : point(point), element(levelName(point, ElementType)),
        packed(StringRef(levelName(point, LayoutKind)).starts_with("thd")) {}

  std::string write();

private:
  /// An argument `%name` of `type`; returns the name.
  std::string argument(const std::string &name, const std::string &type) {
    arguments.push_back("%" + name + ": " + type);
    return "%" + name;
  }
  static std::string strided(unsigned rank, const std::string &last, const std::string &element) {
    std::string shape, strides;
    for (unsigned dim = 0; dim + 1 < rank; ++dim) {
      shape += "?x";
      strides += "?, ";
    }
    return "memref<" + shape + last + "x" + element + ", strided<[" + strides + "1], offset: ?>>";
  }
  void addMask();
  void addScore();

  const Case &point;
  std::string element;
  bool packed;
  std::vector<std::string> arguments;
  std::string clauses, regions;
};
} // namespace

void ModuleWriter::addMask() {
  llvm::SmallVector<StringRef> parts;
  StringRef(levelName(point, Mask)).split(parts, '+');
  std::vector<std::string> masks;
  bool predicate = false;
  for (StringRef part : parts) {
    if (part == "causal") {
      masks.push_back("#attn.causal");
    } else if (part == "top_left") {
      masks.push_back("#attn.causal<top_left>");
    } else if (part.consume_front("window:")) {
      auto [left, right] = part.split(':');
      masks.push_back(("#attn.window<left = " + left + ", right = " + right + ">").str());
    } else if (part == "document") {
      std::string type = packed ? "memref<?xi32>" : "memref<?x?xi32>";
      std::string names = argument("query_documents", type) + ", ";
      names += argument("key_documents", type);
      clauses += " document_ids(" + names + " : " + type + ", " + type + ")";
    } else if (part == "predicate") {
      predicate = true;
    }
  }
  if (!masks.empty()) {
    clauses = " mask [" + llvm::join(masks, ", ") + "]" + clauses;
  }
  if (predicate) {
    regions += R"( predicate {
  ^bb0(%b: i32, %h: i32, %i: i32, %j: i32):
    %three = arith.constant 3 : i32
    %five = arith.constant 5 : i32
    %zero = arith.constant 0 : i32
    %x = arith.muli %i, %three : i32
    %y = arith.addi %x, %j : i32
    %z = arith.addi %y, %h : i32
    %w = arith.addi %z, %b : i32
    %r = arith.remsi %w, %five : i32
    %p = arith.cmpi ne, %r, %zero : i32
    attn.yield %p : i1
  })";
  }
}

void ModuleWriter::addScore() {
  const std::string &score = levelName(point, Score);
  if (score == "none") {
    return;
  }
  std::string captured, type, body;
  if (score == "softcap") {
    body = R"(
    %cap = arith.constant 15.0 : f32
    %x = arith.divf %s, %cap : f32
    %y = math.tanh %x : f32
    %z = arith.mulf %y, %cap : f32)";
  } else if (score == "alibi") {
    captured = "slopes";
    type = "memref<?xf32>";
    body = R"(
    %slope = attn.fetch %c[%h] : memref<?xf32>
    %d = arith.subi %j, %i : i32
    %x = arith.sitofp %d : i32 to f32
    %y = arith.mulf %x, %slope : f32
    %z = arith.addf %s, %y : f32)";
  } else if (score == "bias") {
    captured = "bias";
    type = "memref<?x?xf32>";
    body = R"(
    %x = attn.fetch %c[%i, %j] : memref<?x?xf32>
    %z = arith.addf %s, %x : f32)";
  } else {
    captured = "temperature";
    type = "f32";
    body = R"(
    %z = arith.mulf %s, %c : f32)";
  }
  std::string captures;
  std::string parameter;
  if (!captured.empty()) {
    captures = " captures(" + argument(captured, type) + " : " + type + ")";
    parameter = ", %c: " + type;
  }
  regions = " score" + captures + " {\n  ^bb0(%s: f32, %b: i32, %h: i32, %i: i32, %j: i32" +
            parameter + "):" + body + "\n    attn.yield %z : f32\n  }" + regions;
}

std::string ModuleWriter::write() {
  StringRef dims = levelName(point, HeadDim);
  auto [queryDim, valueDim] = dims.split('/');
  if (valueDim.empty()) {
    valueDim = queryDim;
  }
  unsigned rank = packed ? 3 : 4;
  std::string q = strided(rank, queryDim.str(), element);
  std::string v = strided(rank, valueDim.str(), element);
  std::string lse = packed ? "memref<?x?xf32>" : "memref<?x?x?xf32>";
  std::string head = "attn.forward ins(" + argument("q", q) + ", " + argument("k", q) + ", " +
                     argument("v", v) + " : " + q + ", " + q + ", " + v + ") outs(" +
                     argument("o", v) + ", " + argument("lse", lse) + " : " + v + ", " + lse + ")";
  head += " layout(" + std::string(packed ? "thd" : levelName(point, LayoutKind)) + ")";
  addMask();
  if (point[PositionOffset]) {
    clauses +=
        " position_offset(" + argument("position_offset", "memref<?xi32>") + " : memref<?xi32>)";
  }
  if (packed) {
    std::string names = argument("query_prefix_sums", "memref<?xi32>") + ", ";
    names += argument("key_prefix_sums", "memref<?xi32>");
    clauses += " prefix_sums(" + names + " : memref<?xi32>, memref<?xi32>)";
  }
  if (levelName(point, LayoutKind) == "thd+used") {
    std::string names = argument("query_used_lengths", "memref<?xi32>") + ", ";
    names += argument("key_used_lengths", "memref<?xi32>");
    clauses += " used_lengths(" + names + " : memref<?xi32>, memref<?xi32>)";
  }
  if (point[Sink]) {
    clauses += " sink(" + argument("sink", "memref<?xf32>") + " : memref<?xf32>)";
  }
  addScore();
  return "func.func @main(" + llvm::join(arguments, ", ") + ") {\n  " + head + clauses + regions +
         "\n  return\n}\n";
}

std::string moduleText(const Case &point) { return ModuleWriter(point).write(); }

} // namespace fa4::matrix
