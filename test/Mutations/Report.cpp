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

static std::vector<std::string> splitLines(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  return {lines.begin(), lines.end()};
}

/// Finds the lines that an argument speaks of.
static llvm::Error findLines(HandArgument &argument, llvm::ArrayRef<std::string> placedLines) {
  llvm::StringRef op = argument.op;
  size_t number = 1;
  size_t count = 1;
  bool all = false;
  if (op.consume_back(")")) {
    auto [text, which] = op.rsplit(" (");
    all = which.consume_front("all ");
    auto [first, last] = which.split(" of ");
    if ((all ? which : last).getAsInteger(10, count) || (!all && first.getAsInteger(10, number))) {
      op = argument.op; // the text's own parenthesis
      all = false;
      number = count = 1;
    } else {
      op = text;
    }
  }
  std::vector<unsigned> found;
  for (auto [index, line] : llvm::enumerate(placedLines)) {
    if (llvm::StringRef(line).contains(op)) {
      found.push_back(static_cast<unsigned>(index) + 1);
    }
  }
  if (found.size() != count || number < 1 || number > count) {
    return llvm::createStringError("expected the text of an argument, '" + argument.op +
                                   "', to stand on one line of T2 or to say which, as in ' (1 of " +
                                   llvm::Twine(found.size()) + ")', but got " +
                                   llvm::Twine(found.size()) + " lines");
  }
  argument.placedLines = all ? found : std::vector<unsigned>{found[number - 1]};
  return llvm::Error::success();
}

llvm::Expected<std::vector<HandArgument>> parseArguments(llvm::StringRef text,
                                                         llvm::StringRef placedText) {
  std::vector<HandArgument> arguments;
  std::vector<std::string> placedLines = splitLines(placedText);
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef, 4> parts;
    line.split(parts, '|', 3);
    HandArgument argument;
    if (parts.size() != 4 || parts[2].trim().getAsInteger(10, argument.edits)) {
      return llvm::createStringError(
          "expected an argument to be 'class | text of the op | edits | why', but got '" + line +
          "'");
    }
    argument.kind = parts[0].trim().str();
    argument.op = parts[1].trim().str();
    argument.why = parts[3].trim().str();
    if (llvm::Error error = findLines(argument, placedLines)) {
      return std::move(error);
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Report::Report(bool canRun, llvm::StringRef placedText, llvm::ArrayRef<HandArgument> arguments)
    : canRun(canRun), placedLines(splitLines(placedText)), arguments(arguments),
      uses(arguments.size()) {}

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

bool Report::mayDo(unsigned placedLine, llvm::StringRef kind) const {
  return accepted.count({placedLine, kind.str()}) != 0;
}

bool Report::add(const PlacedEdit &edit, const Verdict &verdict) {
  Row &row = placed[edit.kind];
  bool refused = objects(verdict.proof) || objects(verdict.verifier);
  if (edit.concern == Concern::Order && !refused && verdict.proof) {
    accepted.emplace(edit.placedLine, edit.kind);
  }
  if (objects(verdict.simulator) && !refused) {
    ++row.onlySimulator;
    if (edit.concern == Concern::Order) {
      unseen.push_back({edit.kind, edit.place, *verdict.simulator});
    }
  }
  if (count(row, edit, verdict)) {
    return true;
  }
  if (!canRun && edit.concern == Concern::Value && !verdict.crashed) {
    ++row.open;
    return true;
  }
  std::string reason = verdict.crashed ? "" : fa4::mutations::reasonFor(edit, verdict);
  row.harmless += !reason.empty();
  ++(reason.empty() ? failed : passed);
  survivors.push_back({edit.kind, edit.place,
                       verdict.crashed  ? "**a rung crashed or hung**"
                       : reason.empty() ? "**nobody objects, and nothing shows why not**"
                                        : reason});
  return !reason.empty();
}

std::string Report::reasonFor(const PtxEdit &edit) {
  if (!edit.argument.empty()) {
    return edit.argument;
  }
  llvm::StringRef kind = edit.kind;
  auto hasOp = [&](llvm::StringRef name) {
    return edit.placedLine > 0 && edit.placedLine <= placedLines.size() &&
           llvm::StringRef(placedLines[edit.placedLine - 1]).trim().starts_with(name);
  };
  auto mayMove = [&] {
    auto first = accepted.lower_bound({edit.placedLine, ""});
    return std::any_of(first, accepted.end(), [&](const auto &edited) {
      return edited.first == edit.placedLine && llvm::StringRef(edited.second).ends_with(kMove);
    });
  };
  if (kind.ends_with(kMove) && mayMove()) {
    return "the proof holds when the op of T2 moves so";
  }
  for (llvm::StringRef half : {"before", "after"}) {
    if (kind.starts_with(("tcgen05.fence::" + half + "_thread_sync: ").str()) &&
        !kind.ends_with(kMove) && mayDo(edit.placedLine, ("fence: without " + half).str())) {
      return "the proof holds when this half of the fence of T2 is deleted";
    }
  }
  for (auto [argument, used] : llvm::zip_equal(arguments, uses)) {
    if (argument.kind == kind && llvm::is_contained(argument.placedLines, edit.placedLine)) {
      ++used;
      return argument.why;
    }
  }
  // What the lowering adds: around the set-up, and before deallocation, which is
  // synchronous.
  if (edit.fencesTensors && !placedLines.empty() && !hasOp("tile.fence ")) {
    return "T2 has no fence there: race detection, for which allocation is a write and "
           "deallocation an access, finds everything ordered without it";
  }
  return "";
}

void Report::checkArguments() {
  for (auto [argument, used] : llvm::zip_equal(arguments, uses)) {
    if (used != argument.edits) {
      ++failed;
      idle.push_back({argument.kind, "`" + argument.op + "`",
                      "**an argument for " + std::to_string(argument.edits) + " edits, but " +
                          std::to_string(used) + " need it**"});
    }
  }
}

bool Report::add(const PtxEdit &edit, const Verdict &verdict) {
  Row &row = ptx[edit.kind];
  if (count(row, edit, verdict)) {
    return true;
  }
  std::string reason = verdict.crashed ? "" : reasonFor(edit);
  row.harmless += !reason.empty();
  ++(reason.empty() ? failed : passed);
  ptxSurvivors.push_back({edit.kind, edit.place,
                          verdict.crashed  ? "**the simulator crashed or hung**"
                          : reason.empty() ? "**no run shows it, and nothing shows why not**"
                                           : reason});
  return !reason.empty();
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
        "Written by `fa4-mutations` (`ninja check-fa4-deep-mutations`), which writes it anew.\n"
     << note << R"(

The tool takes a kernel that holds and breaks it in one place: each op of T2 that waits, signals,
orders or moves data is deleted, moved one earlier, and changed in each attribute and operand; so are the
declarations of memory, barriers and roles, and the instructions of the PTX. Which edits there are follows
from the form of ops and instructions alone (`test/Mutations`). Each rung is asked by itself:

- *verifiers*: those of the ops, `tile-verify-t2`, `tile-verify-target`, and what the lowering refuses;
- *proof*: `tile-verify-protocol`;
- *simulator*: the edited kernel is compiled and run under race detection: each input in one order without chance,
  then in random orders, with waits that fail for no reason and with both orders of the tensor pipe. Among the inputs
  are as many lengths as the deepest ring has slots, a block apart, so that every slot is the last one somewhere. It
  objects by a fault (a trap, a deadlock, a race) or if a bit of a result differs from the unedited kernel's. What is
  then still unexplained is asked again in many more orders on every input, among them all cruel ones
  ([Simulator-races.md](Simulator-races.md)).

An edit survives if no rung that was asked objects. It is harmless if its PTX is that of the unedited kernel, if
it is one of order and the proof, which covers all lengths, holds with it, or if it is one of place, size or
threads and every rule of the placed program and the proof hold with it. Of a kernel that is only proved, nobody can say what
edits of values do: those are counted apart. An edit of the PTX is harmless if the instructions around it say
so, if the proof holds when its op of T2 moves or goes alike, or for a reason that somebody wrote down for the instructions of
one op of T2 and for that number of edits (`KERNEL.arguments` beside each kernel); the reason stands beside each. Any other
survivor is a failure, and so is a reason that is needed for another number of edits.

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

/// Of a kernel without a run: what nobody has looked at.
void Report::printReach(llvm::raw_ostream &os) const {
  os << R"(No function calls this kernel, so it has no numbers and no PTX here: verifiers and proof are the only rungs.
They see who waits for whom: each edit of a wait, an arrival, a commit, a fence, a count or a phase, and of a place or a
size where two accesses then meet, in tiles of every length. They do not see which numbers an access means as long as the
same memory is touched in the same order: another element of an operand with its own wait, another coordinate of a copy,
a product that adds instead of overwriting. Nor do they see the way from T2 to PTX, which the other kernels' edits of PTX
test for the ops that they share with this one. Edits that are of values alone are neither found nor shown harmless:
)";
  unsigned edits = 0;
  for (const auto &[kind, row] : placed) {
    if (row.open != 0) {
      os << (edits == 0 ? "" : ", ") << row.open << " of `" << kind << '`';
      edits += row.open;
    }
  }
  os << (edits == 0 ? "none of this kernel's.\n\n" : "; in all ");
  if (edits != 0) {
    os << edits << ".\n\n";
  }
}

void Report::print(llvm::raw_ostream &os) const {
  if (!canRun) {
    printReach(os);
  }
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
  printList("Arguments that miss their edits:", idle);
}

} // namespace fa4::mutations
