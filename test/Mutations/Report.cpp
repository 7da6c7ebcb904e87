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
  // What the lowering adds: around the set-up, and before deallocation, which is
  // synchronous.
  bool fence = llvm::StringRef(edit.kind).starts_with("tcgen05.fence");
  if (fence && !placed.empty() && watch == watched.end()) {
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
     << note
     << "\n\n"
        "The tool takes a kernel that holds and breaks it in one place: each op of T2 that waits, "
        "signals,\norders or moves data is deleted, moved one earlier, and changed in each "
        "attribute and operand; so are the\ndeclarations of memory, barriers and roles, and the "
        "instructions of the PTX. Which edits there are follows\nfrom the form of ops and "
        "instructions alone (`test/Mutations`). Each rung is asked by itself:\n\n"
        "- *verifiers*: those of the ops, `tile-verify-t2`, `tile-verify-target`, and what the "
        "lowering refuses;\n"
        "- *proof*: `tile-verify-protocol`;\n"
        "- *simulator*: the edited kernel is compiled and run in several orders, and every result "
        "compared bit by\n  bit with the unedited kernel's.\n\n"
        "An edit survives if no rung that was asked objects. It is harmless if its PTX is that of "
        "the unedited kernel, if\nit is one of order and the proof, which covers all lengths, "
        "holds with it, or if it is one of place, size or\nthreads and every rule of the placed "
        "program and the proof hold with it. Of a kernel that is only proved, nobody can say what "
        "edits of values do:\nthose are counted apart. Of the PTX, runs alone can speak: what no "
        "run "
        "shows is listed, and counts neither way.\nLine numbers are those of the T2 text\n"
        "(`fa4c --emit=tile-t2`) and of the PTX with one statement a line (`fa4-sim --print`).\n";
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
