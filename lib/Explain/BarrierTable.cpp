//===- BarrierTable.cpp - who arrives and who waits -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of one role that do the same equally often are one entry.
//
//===----------------------------------------------------------------------===//

#include "fa4/Explain/BarrierTable.h"

#include "fa4/Driver/KernelReport.h"
#include "fa4/Explain/Svg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace fa4;
using namespace fa4::explain;

namespace {
struct Use {
  std::string barrier, what;
  bool waits = false;
};

/// Entries of one cell: text and number of ops.
using Cell = std::vector<std::pair<std::string, unsigned>>;
} // namespace

/// What an op does at barriers; a sync does both.
static SmallVector<Use, 2> usesOf(Operation *op) {
  SmallVector<Use, 2> uses;
  auto add = [&](StringRef barrier, StringRef what, bool waits = false) {
    uses.push_back({barrier.str(), what.str(), waits});
  };
  if (auto wait = dyn_cast<tile::BarrierWaitOp>(op)) {
    add(wait.getBarrier(), "wait", true);
  } else if (auto arrive = dyn_cast<tile::BarrierArriveOp>(op)) {
    add(arrive.getBarrier(), "arrive by " + tile::stringifyArrival(arrive.getBy()).str());
  } else if (auto expect = dyn_cast<tile::BarrierExpectOp>(op)) {
    add(expect.getBarrier(), "expect " + llvm::utostr(expect.getBytes()) + " bytes");
  } else if (auto commit = dyn_cast<tile::BarrierCommitOp>(op)) {
    add(commit.getBarrier(), "commit");
  } else if (auto arrive = dyn_cast<tile::NamedArriveOp>(op)) {
    add(arrive.getBarrier(), "arrive");
  } else if (auto sync = dyn_cast<tile::NamedSyncOp>(op)) {
    add(sync.getBarrier(), "sync");
    add(sync.getBarrier(), "sync", true);
  } else if (auto free = dyn_cast<tile::TmemFreeOp>(op)) {
    add(free.getAfter(), "sync");
    add(free.getAfter(), "sync", true);
  }
  return uses;
}

static StringRef howOften(Operation *op) {
  if (op->getParentOfType<scf::ForOp>()) {
    return "each trip";
  }
  return op->getParentOfType<tile::ForEachTileOp>() ? "each tile" : "once";
}

static std::string whoActs(Operation *op) {
  if (auto role = op->getParentOfType<tile::RoleOp>()) {
    return role.getSymName().str();
  }
  if (auto free = dyn_cast<tile::TmemFreeOp>(op)) {
    return free.getRole().str();
  }
  return "set-up";
}

static std::vector<std::string> entriesOf(const Cell &cell) {
  std::vector<std::string> entries;
  for (const auto &[text, count] : cell) {
    entries.push_back(text + (count > 1 ? " (" + llvm::utostr(count) + " ops)" : ""));
  }
  return entries;
}

BarrierTable BarrierTable::of(tile::KernelOp kernel) {
  llvm::StringMap<Cell> arrives, waits;
  kernel.walk([&](Operation *op) {
    for (const Use &use : usesOf(op)) {
      std::string text = whoActs(op) + ": " + use.what + " " + howOften(op).str();
      Cell &cell = (use.waits ? waits : arrives)[use.barrier];
      auto entry = llvm::find_if(cell, [&](const auto &known) { return known.first == text; });
      if (entry == cell.end()) {
        cell.emplace_back(text, 1);
      } else {
        ++entry->second;
      }
    }
  });
  BarrierTable table;
  table.kernel = kernel.getSymName().str();
  auto add = [&](StringRef name, std::string slots, int64_t count, std::string place) {
    table.rows.push_back({"@" + name.str(), std::move(slots), llvm::itostr(count), std::move(place),
                          entriesOf(arrives[name]), entriesOf(waits[name])});
  };
  for (Operation &op : *kernel.getEntry()) {
    if (auto barrier = dyn_cast<tile::BarrierOp>(op)) {
      add(barrier.getSymName(),
          llvm::itostr(barrier.getFamily()) + " x " + llvm::itostr(barrier.getDepth()),
          barrier.getCount(), "byte " + llvm::itostr(barrier.getStart()));
    } else if (auto named = dyn_cast<tile::NamedBarrierOp>(op)) {
      add(named.getSymName(), llvm::itostr(named.getFamily()) + " x 1", named.getThreads(),
          "ids " + llvm::itostr(named.getFirst()) + " to " + llvm::itostr(named.getLast()));
    }
  }
  return table;
}

void BarrierTable::printText(llvm::raw_ostream &os) const {
  os << "kernel @" << kernel << ": barriers, family x depth, arrivals per phase, place\n";
  for (const Row &row : rows) {
    os << llvm::left_justify(row.name, 18) << ' ' << llvm::left_justify(row.slots, 6) << ' '
       << llvm::right_justify(row.count, 5) << "  " << row.place << '\n';
    for (const std::string &entry : row.arrives) {
      os << "    arrives  " << entry << '\n';
    }
    for (const std::string &entry : row.waits) {
      os << "    waits    " << entry << '\n';
    }
  }
}

void BarrierTable::printHtml(llvm::raw_ostream &os) const {
  beginPage(os, "Barriers of @" + kernel);
  os << "<h1>Barriers of @" << escaped(kernel) << "</h1>\n<table><thead><tr><th>Barrier</th>"
     << "<th>Family x depth</th><th>Arrivals per phase</th><th>Place</th><th>Who arrives</th>"
     << "<th>Who waits</th></tr></thead>\n<tbody>\n";
  auto list = [&](const std::vector<std::string> &entries) {
    os << "<td>";
    for (size_t index = 0; index < entries.size(); ++index) {
      os << (index != 0 ? "<br/>" : "") << escaped(entries[index]);
    }
    os << "</td>";
  };
  for (const Row &row : rows) {
    os << "<tr><td><b>" << escaped(row.name) << "</b></td><td>" << escaped(row.slots) << "</td><td>"
       << escaped(row.count) << "</td><td>" << escaped(row.place) << "</td>";
    list(row.arrives);
    list(row.waits);
    os << "</tr>\n";
  }
  os << "</tbody></table>\n";
  endPage(os);
}
