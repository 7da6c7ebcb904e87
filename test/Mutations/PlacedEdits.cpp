//===- PlacedEdits.cpp - faults of placed kernels -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Edits follow from the form of an op alone: its attributes by their types, its
// operands by theirs, and its neighbours. An op that is added to the dialect gets
// its edits without a change here.
//
//===----------------------------------------------------------------------===//

#include "Edit.h"

#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fa4::tile;

namespace fa4::mutations {

namespace {

/// The segments of operands, as every op with optional operands has them.
constexpr llvm::StringLiteral kSegments = "operandSegmentSizes";

class Finder {
public:
  explicit Finder(std::vector<PlacedEdit> &edits) : edits(edits) {}
  void visit(unsigned number, Operation *op);

private:
  using Apply = std::function<void(Operation *)>;
  void add(Concern concern, const llvm::Twine &what, Apply apply);
  void addDeletion();
  void addMove();
  void addAttributes();
  void addInteger(StringAttr name, IntegerAttr value);
  void addEnum(StringAttr name, Attribute value);
  void addReference(StringAttr name, FlatSymbolRefAttr value);
  void addFlag(StringAttr name);
  void addOperand(OpOperand &operand);

  std::vector<PlacedEdit> &edits;
  unsigned number = 0;
  Operation *op = nullptr;
};

bool isCursor(Type type) { return isa<CursorType>(type); }

/// Whether an op waits, signals, orders, moves data or counts slots.
bool isPartOfProtocol(Operation *op) {
  bool ours = isa<TileDialect>(op->getDialect()) && op->getNumRegions() == 0 &&
              !op->hasTrait<OpTrait::IsTerminator>() && !isa<SymbolOpInterface>(op);
  return ours && (!isMemoryEffectFree(op) || llvm::any_of(op->getOperandTypes(), isCursor) ||
                  llvm::any_of(op->getResultTypes(), isCursor));
}

/// Whether an op moves data, so that a wrong place shows in numbers.
bool movesData(Operation *op) {
  return llvm::any_of(
             op->getAttrs(),
             [](NamedAttribute attr) { return attr.getName().getValue().ends_with("view"); }) ||
         llvm::any_of(op->getOperandTypes(), [](Type type) { return isa<GlobalType>(type); });
}

std::string placeOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto loc = dyn_cast<FileLineColLoc>(op->getLoc());
  stream << "line " << (loc ? loc.getLine() : 0) << ", `" << op->getName().getStringRef();
  for (NamedAttribute attr : op->getAttrs()) {
    if (isa<FlatSymbolRefAttr>(attr.getValue()) ||
        attr.getName() == SymbolTable::getSymbolAttrName()) {
      stream << ' ';
      if (auto name = dyn_cast<StringAttr>(attr.getValue())) {
        stream << '@' << name.getValue();
      } else {
        stream << attr.getValue();
      }
      break;
    }
  }
  stream << '`';
  if (auto role = op->getParentOfType<RoleOp>()) {
    stream << " in `@" << role.getSymName() << '`';
  }
  return text;
}

/// An operand to stand for each result, if every result has one.
std::optional<SmallVector<Value>> standIns(Operation *op) {
  SmallVector<Value> values;
  auto operands = op->getOperands();
  auto next = operands.begin();
  for (Value result : op->getResults()) {
    next = std::find_if(next, operands.end(),
                        [&](Value value) { return value.getType() == result.getType(); });
    if (next == operands.end()) {
      return std::nullopt;
    }
    values.push_back(*next++);
  }
  return values;
}

/// The op in front that has an effect and that `op` could stand before.
Operation *findPredecessor(Operation *op) {
  Operation *found = op->getPrevNode();
  while (found && isMemoryEffectFree(found)) {
    found = found->getPrevNode();
  }
  if (!found) {
    return nullptr;
  }
  bool free = llvm::all_of(op->getOperands(), [&](Value operand) {
    Operation *source = operand.getDefiningOp();
    return !source || source->getBlock() != op->getBlock() || source->isBeforeInBlock(found);
  });
  return free ? found : nullptr;
}

/// The smallest change of an integer that is not refused for its alignment alone.
int64_t unitOf(Operation *op, StringRef name) {
  constexpr int64_t swizzleBytes = 1024, granule = 16, barrierBytes = 8, wordBytes = 4,
                    threadsPerWarp = 32;
  if (auto alloc = dyn_cast<PlacedAllocOp>(op); alloc && name != "family") {
    return alloc.getSpace() == Space::Smem ? swizzleBytes : granule;
  }
  if (auto view = dyn_cast<ViewOp>(op)) {
    auto layout = dyn_cast<SmemLayoutAttr>(view.getLayout());
    return layout && layout.getMajor() != Major::Linear ? swizzleBytes : granule;
  }
  return llvm::StringSwitch<int64_t>(name)
      .Case("start", barrierBytes)
      .Case("bytes", granule)
      .Case("word", wordBytes)
      .Case("regs", barrierBytes)
      .Case("threads", threadsPerWarp)
      .Default(1);
}

bool isSymmetric(Attribute a, Attribute b) { return a == b; }

} // namespace

void Finder::add(Concern concern, const llvm::Twine &what, Apply apply) {
  PlacedEdit edit;
  edit.kind = (op->getName().stripDialect() + ": " + what).str();
  edit.place = placeOf(op);
  edit.concern = concern;
  edit.op = number;
  auto loc = dyn_cast<FileLineColLoc>(op->getLoc());
  edit.placedLine = loc ? loc.getLine() : 0;
  edit.apply = std::move(apply);
  edits.push_back(std::move(edit));
}

void Finder::addDeletion() {
  if (!standIns(op)) {
    return;
  }
  add(movesData(op) ? Concern::Value : Concern::Order, "deleted", [](Operation *clone) {
    for (auto [result, value] : llvm::zip_equal(clone->getResults(), *standIns(clone))) {
      result.replaceAllUsesWith(value);
    }
    clone->erase();
  });
}

void Finder::addMove() {
  if (isMemoryEffectFree(op)) {
    return;
  }
  if (findPredecessor(op)) {
    add(Concern::Order, "one earlier",
        [](Operation *clone) { clone->moveBefore(findPredecessor(clone)); });
  }
}

void Finder::addInteger(StringAttr name, IntegerAttr value) {
  Concern concern = isa<SymbolOpInterface>(op) && name != "count" ? Concern::Resource
                    : movesData(op)                               ? Concern::Value
                                                                  : Concern::Order;
  if (isa<TmemAllocOp, TmemFreeOp>(op)) {
    concern = Concern::Resource;
  }
  int64_t old = value.getInt();
  auto set = [&](const llvm::Twine &what, int64_t changed) {
    auto attr = IntegerAttr::get(value.getType(), changed);
    add(concern, name.getValue() + " " + what,
        [name, attr](Operation *clone) { clone->setAttr(name, attr); });
  };
  if (name == "columns") {
    set("doubled", 2 * old);
    set("halved", old / 2);
    return;
  }
  int64_t unit = unitOf(op, name);
  set("+ " + llvm::Twine(unit), old + unit);
  if (old >= unit) {
    set("- " + llvm::Twine(unit), old - unit);
  }
}

void Finder::addEnum(StringAttr name, Attribute value) {
  MLIRContext *context = value.getContext();
  auto set = [&](const llvm::Twine &what, Attribute changed) {
    add(isa<ViewOp, PlacedAllocOp>(op) ? Concern::Resource : Concern::Order, what,
        [name, changed](Operation *clone) { clone->setAttr(name, changed); });
  };
  auto setOthers = [&](auto current, auto symbolize, auto make) {
    for (uint32_t number = 0; auto other = symbolize(number); ++number) {
      if (*other != current) {
        set(llvm::Twine(name.getValue()) + " other", make(*other));
      }
    }
  };
  if (auto fence = dyn_cast<FenceKindAttr>(value)) {
    for (unsigned bit = 0; auto kind = symbolizeFenceKind(1U << bit); ++bit) {
      FenceKind rest = fence.getValue() & ~*kind;
      if (rest == fence.getValue()) {
        continue;
      }
      add(Concern::Order, "without " + stringifyFenceKind(*kind), [name, rest](Operation *clone) {
        if (static_cast<uint32_t>(rest) == 0) {
          clone->erase();
        } else {
          clone->setAttr(name, FenceKindAttr::get(clone->getContext(), rest));
        }
      });
    }
  } else if (auto arrival = dyn_cast<ArrivalAttr>(value)) {
    setOthers(
        arrival.getValue(), [](uint32_t n) { return symbolizeArrival(n); },
        [&](Arrival other) { return ArrivalAttr::get(context, other); });
  } else if (auto group = dyn_cast<GroupAttr>(value)) {
    setOthers(
        group.getValue(), [](uint32_t n) { return symbolizeGroup(n); },
        [&](Group other) { return GroupAttr::get(context, other); });
  } else if (auto space = dyn_cast<SpaceAttr>(value)) {
    setOthers(
        space.getValue(), [](uint32_t n) { return symbolizeSpace(n); },
        [&](Space other) { return SpaceAttr::get(context, other); });
  } else if (auto ctas = dyn_cast<CtasAttr>(value)) {
    setOthers(
        ctas.getValue(), [](uint32_t n) { return symbolizeCtas(n); },
        [&](Ctas other) { return CtasAttr::get(context, other); });
  } else if (auto tmem = dyn_cast<TmemLayoutAttr>(value)) {
    setOthers(
        tmem.getForm(), [](uint32_t n) { return symbolizeTmemForm(n); },
        [&](TmemForm other) { return TmemLayoutAttr::get(context, other); });
  } else if (auto smem = dyn_cast<SmemLayoutAttr>(value); smem && smem.getSwizzle() != 0) {
    set("swizzle halved",
        SmemLayoutAttr::get(context, smem.getMajor(), smem.getSwizzle() / 2, smem.getPanel()));
    Major other = smem.getMajor() == Major::KMajor ? Major::MnMajor : Major::KMajor;
    set("major other", SmemLayoutAttr::get(context, other, smem.getSwizzle(), smem.getPanel()));
    if (smem.getPanel() != 0) {
      set("panel removed", SmemLayoutAttr::get(context, smem.getMajor(), smem.getSwizzle()));
    }
  }
}

void Finder::addReference(StringAttr name, FlatSymbolRefAttr value) {
  auto kernel = op->getParentOfType<KernelOp>();
  Operation *target = SymbolTable::lookupSymbolIn(kernel, value);
  if (!target) {
    return;
  }
  // The next one that could be meant: as long a family, as deep a ring, a tile alike.
  auto alike = [&](Operation *other) {
    return other != target && other->getName() == target->getName() &&
           isSymmetric(other->getAttr("family"), target->getAttr("family")) &&
           isSymmetric(other->getAttr("depth"), target->getAttr("depth")) &&
           isSymmetric(other->getAttr("tile"), target->getAttr("tile"));
  };
  Operation *other = target->getNextNode();
  while (other && !alike(other)) {
    other = other->getNextNode();
  }
  if (!other) {
    other = &kernel.getEntry()->front();
    while (other != target && !alike(other)) {
      other = other->getNextNode();
    }
    if (other == target) {
      return;
    }
  }
  auto changed = FlatSymbolRefAttr::get(SymbolTable::getSymbolName(other));
  add(isa<ViewOp, TmemAllocOp, TmemFreeOp>(op) ? Concern::Resource
      : movesData(op)                          ? Concern::Value
                                               : Concern::Order,
      name.getValue() + " other",
      [name, changed](Operation *clone) { clone->setAttr(name, changed); });
}

void Finder::addFlag(StringAttr name) {
  // Says how a value is likely to be; no meaning depends on it.
  if (name == "likely_one") {
    return;
  }
  Concern concern = isa<SymbolOpInterface>(op) ? Concern::Resource
                    : movesData(op)            ? Concern::Value
                                               : Concern::Order;
  if (op->getAttr(name)) {
    add(concern, name.getValue() + " removed",
        [name](Operation *clone) { clone->removeAttr(name); });
    return;
  }
  NamedAttrList list;
  list.set(name, UnitAttr::get(op->getContext()));
  ScopedDiagnosticHandler silence(op->getContext(), [](Diagnostic &) { return success(); });
  Location loc = op->getLoc();
  if (succeeded(op->getName().verifyInherentAttrs(list, [&] { return emitError(loc); }))) {
    add(concern, name.getValue() + " added",
        [name](Operation *clone) { clone->setAttr(name, UnitAttr::get(clone->getContext())); });
  }
}

void Finder::addAttributes() {
  for (StringAttr name : op->getName().getAttributeNames()) {
    Attribute value = op->getAttr(name);
    if (auto integer = dyn_cast_or_null<IntegerAttr>(value)) {
      // A shift by rank means nothing where there are no ranks.
      if (name != "rank_stride" || integer.getInt() != 0) {
        addInteger(name, integer);
      }
    } else if (auto reference = dyn_cast_or_null<FlatSymbolRefAttr>(value)) {
      addReference(name, reference);
    } else if (!value || isa<UnitAttr>(value)) {
      addFlag(name);
    } else {
      addEnum(name, value);
    }
  }
}

/// Drops operand `number`, which is a segment of its own.
static void dropOperand(Operation *op, unsigned number) {
  auto segments = op->getAttrOfType<DenseI32ArrayAttr>(kSegments);
  SmallVector<int32_t> sizes(segments.asArrayRef());
  int32_t end = 0;
  for (int32_t &size : sizes) {
    end += size;
    if (static_cast<int32_t>(number) < end) {
      --size;
      break;
    }
  }
  op->eraseOperand(number);
  op->setAttr(kSegments, DenseI32ArrayAttr::get(op->getContext(), sizes));
}

void Finder::addOperand(OpOperand &operand) {
  unsigned index = operand.getOperandNumber();
  Type type = operand.get().getType();
  bool isLoop = isa<scf::ForOp>(op);
  Concern concern = movesData(op) ? Concern::Value : Concern::Order;
  auto replace = [&](const llvm::Twine &what, std::function<Value(OpBuilder &, Value)> make) {
    add(concern, what, [index, make](Operation *clone) {
      OpBuilder builder(clone);
      clone->setOperand(index, make(builder, clone->getOperand(index)));
    });
  };
  auto addConstant = [&](const llvm::Twine &what, int64_t delta) {
    replace(what, [delta](OpBuilder &builder, Value old) -> Value {
      Location loc = old.getLoc();
      Value change =
          arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(old.getType(), delta));
      return arith::AddIOp::create(builder, loc, old, change);
    });
  };
  if (isCursor(type) && !isa<AdvanceOp>(op)) {
    replace("cursor + 1", [](OpBuilder &builder, Value old) -> Value {
      return AdvanceOp::create(builder, old.getLoc(), old);
    });
    if (operand.get().getDefiningOp<AdvanceOp>()) {
      replace("cursor - 1", [](OpBuilder &, Value old) -> Value {
        return old.getDefiningOp<AdvanceOp>().getCursor();
      });
    }
  } else if (type.isInteger(1) && op->hasAttr(kSegments)) {
    add(concern, "condition removed", [index](Operation *clone) { dropOperand(clone, index); });
    replace("condition negated", [](OpBuilder &builder, Value old) -> Value {
      Location loc = old.getLoc();
      Value one = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
      return arith::XOrIOp::create(builder, loc, old, one);
    });
  } else if (type.isInteger(32) && isLoop && index < 2) {
    concern = Concern::Order;
    addConstant(index == 0 ? "first trip left out" : "one trip more", 1);
    if (index == 1) {
      addConstant("last trip left out", -1);
    }
  } else if (type.isInteger(32) && isPartOfProtocol(op)) {
    addConstant(op->hasAttr("barrier") || op->hasAttr("view") ? "index + 1" : "coordinate + 1", 1);
  }
}

void Finder::visit(unsigned opNumber, Operation *visited) {
  number = opNumber;
  op = visited;
  bool declares =
      isa<SymbolOpInterface>(op) && op->getParentOp() && isa<KernelOp>(op->getParentOp());
  bool protocol = isPartOfProtocol(op);
  if (!op->getParentOfType<KernelOp>() || op->getParentOfType<WorkOp>() || isa<WorkOp>(op)) {
    return;
  }
  if (protocol) {
    addDeletion();
    addMove();
  }
  if (protocol || declares) {
    addAttributes();
  }
  // Bounds and carried cursors of loops too, and what they yield.
  for (OpOperand &operand : op->getOpOperands()) {
    addOperand(operand);
  }
}

std::vector<PlacedEdit> findPlacedEdits(ModuleOp module) {
  std::vector<PlacedEdit> edits;
  Finder finder(edits);
  unsigned number = 0;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) { finder.visit(number++, op); });
  return edits;
}

OwningOpRef<ModuleOp> applyEdit(ModuleOp module, const PlacedEdit &edit) {
  OwningOpRef<ModuleOp> clone(cast<ModuleOp>(module->clone()));
  Operation *target = nullptr;
  unsigned number = 0;
  clone->walk<WalkOrder::PreOrder>(
      [&](Operation *op) { target = number++ == edit.op ? op : target; });
  edit.apply(target);
  return clone;
}

} // namespace fa4::mutations
