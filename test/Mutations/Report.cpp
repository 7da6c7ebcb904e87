//===- Report.cpp - which rung objects to which edits ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

namespace fa4::mutations {

/// How kinds of edits end that move an op, or an instruction, up.
static constexpr llvm::StringLiteral kMove = ": one earlier";

/// Why an edit that every asked rung accepts breaks nothing; empty: nobody knows.
static std::string reasonFor(const Edit &edit, const Verdict &verdict) {
  if (verdict.sameCode) {
    return "same PTX as without the edit";
  }
  if (!verdict.proof) {
    return "";
  }
  switch (edit.concern) {
  case Concern::Order:
    return "the proof holds with the edit";
  case Concern::Resource:
    return "another legal kernel: the rules of tile-verify-t2 and the proof hold";
  case Concern::Value:
    return "";
  }
  return "";
}

std::vector<HandArgument> parseArguments(llvm::StringRef text) {
  std::vector<HandArgument> arguments;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef, 3> parts;
    line.split(parts, '|', 2);
    if (parts.size() == 3) {
      arguments.push_back({parts[0].trim().str(), parts[1].trim().str(), parts[2].trim().str()});
    }
  }
  return arguments;
}

Report::Report(bool canRun, llvm::StringRef placedText, llvm::ArrayRef<HandArgument> arguments)
    : canRun(canRun), arguments(arguments) {
  llvm::SmallVector<llvm::StringRef> lines;
  placedText.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    placedLines.push_back(line.str());
  }
}

static bool objects(const std::optional<std::string> &said) { return said && !said->empty(); }

bool Report::count(Row &row, const Edit &edit, const Verdict &verdict) {
  bool byProof = objects(verdict.proof), bySimulator = objects(verdict.simulator);
  ++row.edits;
  row.verifier += objects(verdict.verifier);
  row.proof += byProof;
  row.simulated += verdict.simulator.has_value();
  row.simulator += bySimulator;
  row.both += byProof && bySimulator;
  if (verdict.isKilled() && !verdict.crashed) {
    ++passed;
    return true;
  }
  ++row.survivors;
  return false;
}

void Report::add(const PlacedEdit &edit, const Verdict &verdict) {
  Row &row = placed[edit.kind];
  bool refused = objects(verdict.proof) || objects(verdict.verifier);
  if (edit.concern == Concern::Order) {
    Watch &watch = watched[edit.placedLine];
    ++watch.edits;
    watch.refused += refused;
    watch.mayMove |= !refused && verdict.proof && llvm::StringRef(edit.kind).ends_with(kMove);
  }
  if (objects(verdict.simulator) && !refused) {
    ++row.onlySimulator;
    if (edit.concern == Concern::Order) {
      unseen.push_back({edit.kind, edit.place, *verdict.simulator});
    }
  }
  if (count(row, edit, verdict)) {
    return;
  }
  if (!canRun && edit.concern == Concern::Value && !verdict.crashed) {
    ++row.open;
    return;
  }
  std::string reason = verdict.crashed ? "" : fa4::mutations::reasonFor(edit, verdict);
  row.harmless += !reason.empty();
  ++(reason.empty() ? failed : passed);
  survivors.push_back({edit.kind, edit.place,
                       verdict.crashed  ? "**a rung crashed or hung**"
                       : reason.empty() ? "**nobody objects, and nothing shows why not**"
                                        : reason});
}

std::string Report::reasonFor(const PtxEdit &edit) const {
  if (!edit.argument.empty()) {
    return edit.argument;
  }
  auto watch = watched.find(edit.placedLine);
  bool isMove = llvm::StringRef(edit.kind).ends_with(kMove);
  if (isMove && watch != watched.end() && watch->second.mayMove) {
    return "the proof holds when the op of T2 moves so";
  }
  for (const HandArgument &argument : arguments) {
    bool here = edit.placedLine > 0 && edit.placedLine <= placedLines.size() &&
                llvm::StringRef(placedLines[edit.placedLine - 1]).contains(argument.op);
    if (here && argument.kind == edit.kind) {
      return argument.why;
    }
  }
  // What the lowering adds: around the set-up, and before deallocation, which is
  // synchronous.
  bool ofT2 = edit.placedLine > 0 && edit.placedLine <= placedLines.size() &&
              llvm::StringRef(placedLines[edit.placedLine - 1]).contains("tile.fence");
  if (edit.fencesTensors && !placedLines.empty() && !ofT2) {
    return "T2 has no fence there: race detection, for which allocation is a write and "
           "deallocation an access, finds everything ordered without it";
  }
  return "";
}

void Report::add(const PtxEdit &edit, const Verdict &verdict) {
  Row &row = ptx[edit.kind];
  if (count(row, edit, verdict)) {
    return;
  }
  std::string reason = verdict.crashed ? "" : reasonFor(edit);
  row.harmless += !reason.empty();
  ++(reason.empty() ? failed : passed);
  ptxSurvivors.push_back({edit.kind, edit.place,
                          verdict.crashed  ? "**the simulator crashed or hung**"
                          : reason.empty() ? "**no run shows it, and nothing shows why not**"
                                           : reason});
}

void Report::printTable(llvm::raw_ostream &os, const std::map<std::string, Row> &rows,
                        bool ofPtx) const {
  os << (ofPtx ? "| Class | Edits | Not loaded | Simulated | Simulator | Survivors | of them "
                 "harmless |\n"
                 "|---|---|---|---|---|---|---|\n"
               : "| Class | Edits | Verifiers | Proof | Simulated | Simulator | Proof and "
                 "simulator | "
                 "Simulator alone | Survivors | of them harmless | of them values, not run |\n"
                 "|---|---|---|---|---|---|---|---|---|---|---|\n");
  Row total;
  auto printRow = [&](llvm::StringRef name, const Row &row) {
    os << "| " << name << " | " << row.edits << " | " << row.verifier << " | ";
    if (ofPtx) {
      os << row.simulated << " | " << row.simulator << " | " << row.survivors << " | "
         << row.harmless << " |\n";
      return;
    }
    os << row.proof << " | " << row.simulated << " | " << row.simulator << " | " << row.both
       << " | " << row.onlySimulator << " | " << row.survivors << " | " << row.harmless << " | "
       << row.open << " |\n";
  };
  for (const auto &[kind, row] : rows) {
    printRow(kind, row);
    total.edits += row.edits;
    total.verifier += row.verifier;
    total.proof += row.proof;
    total.simulated += row.simulated;
    total.simulator += row.simulator;
    total.both += row.both;
    total.onlySimulator += row.onlySimulator;
    total.survivors += row.survivors;
    total.harmless += row.harmless;
    total.open += row.open;
  }
  printRow("**all**", total);
}

void Report::printPreface(llvm::raw_ostream &os, llvm::StringRef note) {
  os << "# Every single fault, and who finds it\n\n"
        "Written by `fa4-mutations` (`ninja check-fa4-deep-mutations`); not edited by hand.\n"
     << note << R"(

The tool takes a kernel that holds and breaks it in one place: each op of T2 that waits, signals,
orders or moves data is deleted, moved one earlier, and changed in each attribute and operand; so are the
declarations of memory, barriers and roles, and the instructions of the PTX. Which edits there are follows
from the form of ops and instructions alone (`test/Mutations`). Each rung is asked by itself:

- *verifiers*: those of the ops, `tile-verify-t2`, `tile-verify-target`, and what the lowering refuses;
- *proof*: `tile-verify-protocol`;
- *simulator*: the edited kernel is compiled and run: each input in one order without race detection, then in
  random orders with it, with waits that fail for no reason and with both orders of the tensor pipe. It
  objects by a fault (a trap, a deadlock, a race) or if a bit of a result differs from the unedited kernel's.

An edit survives if no rung that was asked objects. It is harmless if its PTX is that of the unedited kernel, if
it is one of order and the proof, which covers all lengths, holds with it, or if it is one of place, size or
threads and every rule of the placed program and the proof hold with it. Of a kernel that is only proved, nobody can say what
edits of values do: those are counted apart. An edit of the PTX is harmless if the instructions around it say
so, if the proof holds when its op of T2 moves alike, or for a reason that somebody wrote down (`test/Mutations/Inputs/*.arguments`);
the reason stands beside each. Any other survivor is a failure.

Line numbers are those of the T2 text (`fa4c --emit=tile-t2`) and of the PTX with one statement a line
(`fa4-sim --print`). What the classes of the judge's list are called here:

| Kind of fault | Classes |
|---|---|
| wait | `barrier.wait`, `group.wait`, `named.sync`: deleted; `mbarrier.try_wait`: always true; `wait_group`, `tcgen05.wait`: deleted |
| arrive | `barrier.arrive`, `named.arrive`: deleted, by other; `mbarrier.arrive`, `bar.arrive`: deleted |
| commit | `barrier.commit`, `group.commit`: deleted; `tcgen05.commit`, `commit_group`: deleted |
| fence | `fence`: deleted, without before, after, proxy, init, wgmma, tmem_loads, tmem_stores; each fence of PTX |
| count | `barrier`: count; `named_barrier`: threads; `mbarrier.init`: operand 1; `bar`: operand 1 |
| phase | cursors: credit, + 1, - 1; `advance`: deleted; trips left out or added |
| parity | `mbarrier.try_wait.parity`: parity |
| expected bytes | `barrier.expect`: bytes; `mbarrier.arrive.expect_tx`: operand 2 |
| swizzle | `view`: swizzle, layout, major, panel; descriptors of products: swizzle, stride, leading |
| descriptor offset | descriptors of products: start, base offset; `view`: offset; instruction descriptors |
| slot release | `barrier.arrive`, `barrier.commit`: deleted, one earlier, another element |
| ring depth | `barrier`: depth, family |
| placement | `placed_alloc`: start, stride, family, space; `barrier`: start; `view`: alloc |
| allocation | `tmem.alloc`, `tcgen05.alloc` |
| teardown | `tmem.free`, `tcgen05.dealloc`, `relinquish_alloc_permit` |
| cluster barrier | `cluster_sync`; `barrier.cluster`: deleted, one earlier |
| lane quarter | `tcgen05.ld`, `st`, `mma`: lanes of the next warp |
| register budget | `role`: regs; `setmaxnreg` |
)";
}

void Report::print(llvm::raw_ostream &os) const {
  if (!placed.empty()) {
    os << "Edits of the placed kernel (T2):\n\n";
    printTable(os, placed, /*ofPtx=*/false);
  }
  if (!ptx.empty()) {
    os << "\nEdits of its PTX:\n\n";
    printTable(os, ptx, /*ofPtx=*/true);
  }
  auto printList = [&](llvm::StringRef title, const std::vector<Line> &lines) {
    if (lines.empty()) {
      return;
    }
    os << '\n' << title << "\n\n";
    for (const Line &line : lines) {
      os << "- " << line.place << ", " << line.kind << ": " << line.text << '\n';
    }
  };
  printList("Faults of order that the simulator finds and the proof does not:", unseen);
  printList("Edits of the placed kernel to which nobody objects:", survivors);
  printList("Edits of the PTX that no run shows:", ptxSurvivors);
}

} // namespace fa4::mutations
