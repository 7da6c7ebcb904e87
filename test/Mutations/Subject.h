//===- Subject.h - the kernel that edits break ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel as text of T2 with line numbers, what it computes, and the rungs that
// judge an edited copy, each by itself. A kernel without a host function has no
// numbers: the simulator has nothing to say about it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_MUTATIONS_SUBJECT_H
#define FA4_TEST_MUTATIONS_SUBJECT_H

#include "Edit.h"
#include "Runs.h"

#include "fa4/Driver/SimulatedProgram.h"
#include "fa4/Target/TargetInfo.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace fa4::mutations {

/// What each rung says: empty if it accepts, nothing if it was not asked.
struct Verdict {
  std::optional<std::string> verifier, proof, simulator;
  /// The edit changes no instruction.
  bool sameCode = false;
  /// A rung ended the process.
  bool crashed = false;

  bool isKilled() const {
    return (verifier && !verifier->empty()) || (proof && !proof->empty()) ||
           (simulator && !simulator->empty());
  }
};

/// One line, without tabs, and back.
std::string toLine(const Verdict &verdict);
std::optional<Verdict> fromLine(llvm::StringRef line);

class Subject {
public:
  /// The kernel of a module at any level. Where there is a host function, it is run on
  /// each of `runs`.
  static llvm::Expected<std::unique_ptr<Subject>>
  create(mlir::MLIRContext &context, llvm::StringRef moduleText, llvm::ArrayRef<Run> runs);

  /// A kernel that is PTX, with the bundle that launches it; each of `runs` gives the
  /// shapes of all tensors. Nobody says how deep its rings are, so no run may have a step.
  /// `lenient`: as the simulator's option for others' tcgen05 is.
  static llvm::Expected<std::unique_ptr<Subject>>
  createFromBundle(llvm::StringRef path, llvm::ArrayRef<Run> runs, bool lenient);

  /// Null for PTX.
  mlir::ModuleOp getPlaced() const { return placed ? *placed : mlir::ModuleOp(); }
  llvm::StringRef getPlacedText() const { return placedText; }
  /// One statement a line.
  llvm::StringRef getPtx() const { return spreadText; }
  bool canRun() const { return baseline != nullptr; }

  /// In how many random orders the simulator may try, besides one that is not: each on one
  /// input, in turn, or on every input.
  void setOrders(unsigned count, bool onEveryInput = false) {
    seeds = count;
    everyInput = onEveryInput;
  }
  /// What the simulator has against the unedited kernel in these orders; empty: nothing.
  std::string checkBaseline() const { return canRun() ? simulate(*baseline) : ""; }

  Verdict judge(const PlacedEdit &edit, bool simulate) const;
  Verdict judge(const PtxEdit &edit) const;

private:
  /// Arguments for one run, and what the unedited kernel makes of those it writes.
  struct Case {
    std::vector<driver::Argument> arguments;
    std::vector<std::shared_ptr<driver::HostArray>> results;
    /// One of many lengths, which are for where things stand: one order will do.
    bool isStep = false;
    uint64_t instructionBudget = 0;
  };

  Subject() = default;
  llvm::Error prepareRuns(llvm::ArrayRef<Run> runs);
  llvm::Error finishRuns(llvm::ArrayRef<Run> runs, int64_t slots);
  llvm::Expected<std::vector<driver::Argument>>
  makeArguments(const driver::InputOptions &inputs) const;
  int64_t countProcessors() const;
  llvm::Expected<Case> makeCase(const driver::InputOptions &inputs) const;
  std::string verify(mlir::ModuleOp module) const;
  std::string prove(mlir::ModuleOp module) const;
  std::string simulate(driver::SimulatedProgram &program) const;
  /// What one run of `program` says.
  std::string runOnce(driver::SimulatedProgram &program, const Case &point,
                      const sim::Options &options) const;

  mlir::OwningOpRef<mlir::ModuleOp> stated, placed;
  std::string placedText, ptx, spreadText;
  std::optional<driver::Entry> entry;
  TargetInfo target;
  unsigned seeds = 3;
  bool everyInput = false;
  bool strictTensor = true;
  std::vector<Case> cases;
  std::unique_ptr<driver::SimulatedProgram> baseline;
};

} // namespace fa4::mutations

#endif // FA4_TEST_MUTATIONS_SUBJECT_H
