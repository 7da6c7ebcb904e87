//===- ControlFlow.cpp - where diverged lanes meet again --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX has no reconvergence points, so the simulator takes the immediate
// post-dominator of each branch that can diverge. Blocks that only leave the
// kernel are not counted as a way around a join: lanes that exit are not waited
// for, and compilers share one `ret` block between all early returns.
//
//===----------------------------------------------------------------------===//

#include "FunctionDecoder.h"
#include "Machine.h"

#include "llvm/ADT/PostOrderIterator.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
struct BasicBlock {
  uint32_t begin = 0, end = 0;
  SmallVector<uint32_t, 2> successors;
  SmallVector<uint32_t, 4> predecessors;
};
} // namespace

static Step execJoin(Warp &w, const Inst &, LaneMask) { return w.reachJoin(); }

static bool isLeave(const Inst &i) {
  return (i.flags & EndsBlock) && i.target == noTarget && !(i.extra);
}
static bool isGuarded(const Inst &i) { return i.guard != noGuard; }

static std::vector<BasicBlock> buildBlocks(const Kernel &kernel, std::vector<uint32_t> &blockOf) {
  const std::vector<Inst> &code = kernel.code;
  std::vector<bool> leader(code.size() + 1, false);
  leader[0] = true;
  auto targetsOf = [](const Inst &i) -> ArrayRef<uint32_t> {
    if (i.extra && (i.flags & EndsBlock)) {
      return const_cast<Extra *>(i.extra)->targets();
    }
    return i.target == noTarget ? ArrayRef<uint32_t>() : ArrayRef<uint32_t>(i.target);
  };
  for (uint32_t pc = 0; pc < code.size(); ++pc) {
    if (code[pc].flags & EndsBlock) {
      leader[pc + 1] = true;
      for (uint32_t t : targetsOf(code[pc])) {
        leader[t] = true;
      }
    }
  }
  std::vector<BasicBlock> blocks;
  blockOf.resize(code.size());
  for (uint32_t pc = 0; pc < code.size(); ++pc) {
    if (leader[pc]) {
      blocks.push_back({pc, pc, {}, {}});
    }
    blockOf[pc] = blocks.size() - 1;
    blocks.back().end = pc + 1;
  }
  for (BasicBlock &b : blocks) {
    const Inst &last = code[b.end - 1];
    bool falls = !(last.flags & EndsBlock) || isGuarded(last);
    if (last.flags & EndsBlock) {
      for (uint32_t t : targetsOf(last)) {
        b.successors.push_back(blockOf[t]);
      }
    }
    if (falls && b.end < code.size()) {
      b.successors.push_back(blockOf[b.end]);
    }
  }
  // Early returns do not count as ways around a join.
  auto onlyLeaves = [&](uint32_t index) {
    const BasicBlock &b = blocks[index];
    return b.end - b.begin == 1 && isLeave(code[b.begin]) && !isGuarded(code[b.begin]);
  };
  for (BasicBlock &b : blocks) {
    if (b.successors.size() > 1 &&
        !all_of(b.successors, [&](uint32_t s) { return onlyLeaves(s); })) {
      erase_if(b.successors, onlyLeaves);
    }
  }
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    for (uint32_t s : blocks[i].successors) {
      blocks[s].predecessors.push_back(i);
    }
  }
  return blocks;
}

/// Immediate post-dominators by the iterative algorithm of Cooper, Harvey and
/// Kennedy on the reversed graph. Index blocks.size() is the virtual exit.
static std::vector<uint32_t> postDominators(const std::vector<BasicBlock> &blocks) {
  uint32_t n = blocks.size(), exit = n;
  std::vector<SmallVector<uint32_t, 4>> preds(n + 1); // in the forward graph
  for (uint32_t i = 0; i < n; ++i) {
    preds[i].assign(blocks[i].predecessors.begin(), blocks[i].predecessors.end());
    if (blocks[i].successors.empty()) {
      preds[exit].push_back(i);
    }
  }
  // Post-order of the reversed graph from the exit, without recursion.
  std::vector<uint32_t> order, number(n + 1, noTarget);
  std::vector<std::pair<uint32_t, uint32_t>> stack{{exit, 0}};
  std::vector<bool> seen(n + 1, false);
  seen[exit] = true;
  while (!stack.empty()) {
    auto &[node, next] = stack.back();
    if (next < preds[node].size()) {
      uint32_t p = preds[node][next++];
      if (!seen[p]) {
        seen[p] = true;
        stack.push_back({p, 0});
      }
      continue;
    }
    number[node] = order.size();
    order.push_back(node);
    stack.pop_back();
  }
  std::vector<uint32_t> idom(n + 1, noTarget);
  idom[exit] = exit;
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t k = order.size() - 1; k-- > 0;) {
      uint32_t node = order[k], best = noTarget;
      auto meet = [&](uint32_t s) {
        if (idom[s] == noTarget) {
          return;
        }
        if (best == noTarget) {
          best = s;
          return;
        }
        uint32_t a = best, b = s;
        while (a != b) {
          while (number[a] < number[b]) {
            a = idom[a];
          }
          while (number[b] < number[a]) {
            b = idom[b];
          }
        }
        best = a;
      };
      for (uint32_t s : blocks[node].successors) {
        meet(s);
      }
      if (blocks[node].successors.empty()) {
        meet(exit);
      }
      if (best != noTarget && idom[node] != best) {
        idom[node] = best;
        changed = true;
      }
    }
  }
  return idom;
}

void fa4::sim::insertJoins(Kernel &kernel) {
  std::vector<uint32_t> blockOf;
  std::vector<BasicBlock> blocks = buildBlocks(kernel, blockOf);
  std::vector<uint32_t> idom = postDominators(blocks);
  std::vector<Inst> &code = kernel.code;
  std::vector<bool> joinAt(code.size(), false);
  for (uint32_t pc = 0; pc < code.size(); ++pc) {
    Inst &i = code[pc];
    bool canDiverge = (i.flags & EndsBlock) && ((isGuarded(i) && i.target != noTarget) || i.extra);
    if (!canDiverge) {
      continue;
    }
    uint32_t block = idom[blockOf[pc]];
    if (block < blocks.size()) {
      i.reconverge = blocks[block].begin;
      joinAt[blocks[block].begin] = true;
    }
  }
  // A label lands on the join that stands before its instruction.
  std::vector<uint32_t> moved(code.size() + 1);
  std::vector<Inst> out;
  out.reserve(code.size());
  for (uint32_t pc = 0; pc < code.size(); ++pc) {
    moved[pc] = out.size();
    if (joinAt[pc]) {
      Inst join;
      join.exec = execJoin;
      join.source = code[pc].source;
      join.location = code[pc].location;
      out.push_back(join);
    }
    out.push_back(code[pc]);
  }
  for (Inst &i : out) {
    i.target = i.target == noTarget ? noTarget : moved[i.target];
    i.reconverge = i.reconverge == noTarget ? noTarget : moved[i.reconverge];
  }
  for (auto &extra : kernel.extras) {
    for (uint32_t &t : extra->targets()) {
      t = moved[t];
    }
  }
  code = std::move(out);
}
