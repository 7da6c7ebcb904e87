//===- PtxEdits.cpp - faults of PTX ---------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Edits follow from the operands and modifiers of an instruction. An operand in a
// register is changed by an instruction in front, in a scope with a register of its
// own, so that nobody else sees the change.
//
//===----------------------------------------------------------------------===//

#include "Edit.h"

#include "fa4/Simulator/PtxAst.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace fa4::sim;
using llvm::StringRef;

namespace fa4::mutations {

namespace {

/// Instructions that synchronise, are asynchronous, or manage what warps share.
bool isOfInterest(const ptx::Instruction &instruction) {
  return llvm::StringSwitch<bool>(instruction.opcode)
      .Cases({"mbarrier", "tcgen05", "wgmma", "fence", "membar", "bar", "barrier"}, true)
      .Cases({"setmaxnreg", "cp", "elect", "griddepcontrol", "clusterlaunchcontrol"}, true)
      .Default(false);
}

/// Whether the first operand is written, and by more than a token that nobody reads.
bool hasResult(const ptx::Instruction &instruction) {
  bool polls = instruction.hasModifier("try_wait") || instruction.hasModifier("test_wait");
  bool loads = instruction.opcode == "tcgen05" && instruction.hasModifier("ld");
  return polls || loads || instruction.opcode == "elect";
}

bool hasToken(const ptx::Instruction &instruction) {
  return instruction.opcode == "mbarrier" && instruction.hasModifier("arrive") &&
         !instruction.operands.empty() &&
         instruction.operands.front().kind != ptx::Operand::Kind::Address;
}

std::string print(const ptx::Instruction &instruction) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  ptx::printInstruction(stream, instruction);
  return text;
}

/// The opcode with the modifiers that say what it does.
std::string nameOf(const ptx::Instruction &instruction) {
  std::string name = instruction.opcode.str();
  for (StringRef modifier : instruction.modifiers) {
    bool detail = llvm::StringSwitch<bool>(modifier)
                      .Cases({"sync", "aligned", "b32", "b64", "u32", "cta_group::1"}, true)
                      .Cases({"shared", "shared::cta", "shared::cluster", "one"}, true)
                      .Default(modifier.starts_with("x") || modifier.starts_with("collector"));
    if (!detail) {
      name += "." + modifier.str();
    }
  }
  return name;
}

/// What stands for a modifier in a slip of the pen; empty: nothing does.
StringRef slipFor(StringRef modifier) {
  return llvm::StringSwitch<StringRef>(modifier)
      .Case("fence::before_thread_sync", "fence::after_thread_sync")
      .Case("fence::after_thread_sync", "fence::before_thread_sync")
      .Case("wait::ld", "wait::st")
      .Case("wait::st", "wait::ld")
      .Case("inc", "dec")
      .Case("dec", "inc")
      .Case("cluster", "cta")
      .Case("release", "relaxed")
      .Case("acquire", "relaxed")
      .Case("acq_rel", "relaxed")
      .Default("");
}

/// What an instruction puts in order, or takes part in.
enum class Ordering { Nothing, TensorMemory, Proxies, Registers, Barriers, Everything };

Ordering orderingOf(const ptx::Instruction &instruction) {
  StringRef opcode = instruction.opcode;
  if (opcode == "elect" || opcode == "setmaxnreg" ||
      instruction.hasModifier("relinquish_alloc_permit")) {
    return Ordering::Nothing;
  }
  if (opcode == "tcgen05" && !instruction.hasModifier("commit") &&
      !instruction.hasModifier("mma") && !instruction.hasModifier("cp")) {
    return Ordering::TensorMemory;
  }
  if (opcode == "fence") {
    return instruction.hasModifier("proxy")           ? Ordering::Proxies
           : instruction.hasModifier("mbarrier_init") ? Ordering::Barriers
                                                      : Ordering::Everything;
  }
  return opcode == "wgmma" && instruction.hasModifier("fence") ? Ordering::Registers
                                                               : Ordering::Everything;
}

bool isTensorWait(const ptx::Instruction &instruction) {
  return instruction.hasModifier("wait::ld") || instruction.hasModifier("wait::st");
}

/// Whether two neighbours may change places for what they put in order.
std::string whyTheyCommute(const ptx::Instruction &first, const ptx::Instruction &second) {
  Ordering a = orderingOf(first), b = orderingOf(second);
  if (a == Ordering::Nothing || b == Ordering::Nothing) {
    return "one of the two orders nothing";
  }
  bool registersAlone = (a == Ordering::Registers && second.opcode != "wgmma") ||
                        (b == Ordering::Registers && first.opcode != "wgmma");
  if (registersAlone || (a != b && a != Ordering::Everything && b != Ordering::Everything)) {
    return "the two order different things";
  }
  if (first.opcode == "bar" && first.hasModifier("warp") && b == Ordering::TensorMemory) {
    return "each lane fences for itself";
  }
  bool accesses = first.hasModifier("ld") || first.hasModifier("st");
  if (first.opcode == "tcgen05" && second.opcode == "tcgen05" && accesses &&
      (second.hasModifier("ld") || second.hasModifier("st"))) {
    return "the two access other cells, which race detection sees";
  }
  if (first.hasModifier("expect_tx") && second.opcode == "cp") {
    return "bytes may come before they are expected, in one phase";
  }
  if (isTensorWait(first) && second.opcode == "tcgen05" && second.hasModifier("ld")) {
    return "the load has a wait of its own behind it";
  }
  return "";
}

class Finder {
public:
  explicit Finder(std::vector<PtxEdit> &edits) : edits(edits) {}
  void visitBlock(const ptx::Block &block);
  void declare(llvm::ArrayRef<ptx::Variable> variables);

private:
  using Lines = std::vector<std::pair<unsigned, std::string>>;
  void add(const llvm::Twine &what, Lines lines, Concern concern = Concern::Order);
  void replace(const llvm::Twine &what, const ptx::Instruction &changed,
               Concern concern = Concern::Order);
  void visit(const ptx::Instruction &visited);
  /// At a label or jump.
  void leaveLine() {
    previous = nullptr;
    straight.clear();
  }
  void addDeletion();
  void addModifiers();
  void addGuard();
  void addOperand(unsigned index);
  void addImmediate(unsigned index);
  void addAddress(unsigned index);
  void addRegister(unsigned index, StringRef name);
  void addDescriptor(unsigned index, StringRef name);
  void addInstructionWord(unsigned index, StringRef name);
  void addMove();
  /// Whether `wait` waits for what an equal one has waited for.
  bool isCovered(const ptx::Instruction &wait) const;
  void argue(const llvm::Twine &why);
  std::string whyDeletable() const;
  std::string whyOtherNumber(unsigned index, int64_t sign) const;
  /// `operation` on operand `index`, as `DESTINATION, SOURCE, constant`.
  void compute(const llvm::Twine &what, unsigned index, StringRef type, StringRef operation,
               uint64_t constant, Concern concern);
  StringRef typeOf(StringRef name) const;

  std::vector<PtxEdit> &edits;
  /// Declared names or prefixes of ranges, with their types.
  std::vector<std::pair<StringRef, StringRef>> types;
  const ptx::Instruction *instruction = nullptr;
  unsigned sourceLine = 0;
  /// Since the last label or jump: the previous instruction of interest, and what was
  /// written after it.
  const ptx::Instruction *previous = nullptr;
  llvm::StringSet<> written;
  /// Of interest, since the last label or jump.
  std::vector<const ptx::Instruction *> straight;
  /// Of interest, the last one in the text.
  const ptx::Instruction *before = nullptr;
  bool initialised = false;
};

} // namespace

void Finder::declare(llvm::ArrayRef<ptx::Variable> variables) {
  for (const ptx::Variable &variable : variables) {
    types.emplace_back(variable.name, variable.type);
  }
}

StringRef Finder::typeOf(StringRef name) const {
  StringRef prefix = name.rtrim("0123456789");
  for (auto [declared, type] : llvm::reverse(types)) {
    if (declared == name || declared == prefix) {
      return type;
    }
  }
  return "";
}

void Finder::add(const llvm::Twine &what, Lines lines, Concern concern) {
  PtxEdit edit;
  edit.kind = nameOf(*instruction) + ": " + what.str();
  constexpr size_t longest = 90;
  edit.place = "line " + std::to_string(instruction->line) + " (T2 line " +
               std::to_string(sourceLine) + "), `" +
               StringRef(print(*instruction)).take_front(longest).str() + "`";
  edit.concern = concern;
  edit.placedLine = sourceLine;
  auto isFence = [](const ptx::Instruction &fence) {
    return fence.hasModifier("fence::before_thread_sync") ||
           fence.hasModifier("fence::after_thread_sync");
  };
  edit.fencesTensors = isFence(*instruction) || (lines.size() == 2 && isFence(*previous));
  edit.lines = std::move(lines);
  edits.push_back(std::move(edit));
}

/// Says of the last edit why it breaks nothing.
void Finder::argue(const llvm::Twine &why) { edits.back().argument = why.str(); }

bool Finder::isCovered(const ptx::Instruction &wait) const {
  StringRef access = wait.hasModifier("wait::ld") ? "ld" : "st";
  for (const ptx::Instruction *earlier : llvm::reverse(straight)) {
    if (earlier == &wait) {
      continue;
    }
    if (earlier->opcode == "tcgen05" && earlier->hasModifier(access)) {
      return false;
    }
    if (nameOf(*earlier) == nameOf(wait)) {
      return true;
    }
  }
  return false;
}

std::string Finder::whyDeletable() const {
  if (isTensorWait(*instruction) && isCovered(*instruction)) {
    return "an equal wait stands before it, with no such access between them";
  }
  if (instruction->hasModifier("relinquish_alloc_permit")) {
    return "it only lets other CTAs allocate earlier";
  }
  if (instruction->opcode == "bar" && instruction->hasModifier("warp") && before &&
      (before->hasModifier("try_wait") || before->hasModifier("test_wait"))) {
    return "each lane has waited for itself, and every order of a warp's lanes is the same to what "
           "follows";
  }
  if (instruction->opcode == "setmaxnreg" && instruction->hasModifier("inc")) {
    return "registers are a budget that ptxas keeps: fewer cost time, not results";
  }
  return "";
}

std::string Finder::whyOtherNumber(unsigned index, int64_t sign) const {
  if (sign < 0 && instruction->opcode == "setmaxnreg") {
    return "registers are a budget that ptxas keeps: fewer cost time, not results";
  }
  if (sign < 0 && instruction->hasModifier("wait_group")) {
    return "it waits for more";
  }
  if (instruction->opcode == "bar" && index == 0 && instruction->operands.size() == 1) {
    return "all threads meet at another barrier";
  }
  return "";
}

void Finder::replace(const llvm::Twine &what, const ptx::Instruction &changed, Concern concern) {
  add(what, {{instruction->line, print(changed)}}, concern);
}

void Finder::addDeletion() {
  if (!hasResult(*instruction)) {
    add("deleted", {{instruction->line, ""}});
    argue(whyDeletable());
    return;
  }
  const ptx::Operand &result = instruction->operands.front();
  if (result.kind == ptx::Operand::Kind::Name) {
    add("always true", {{instruction->line, "setp.eq.u32 " + result.name.str() + ", 0, 0;"}});
  } else if (result.kind == ptx::Operand::Kind::Pair) {
    add("all lanes",
        {{instruction->line, "setp.eq.u32 " + result.elements[1].name.str() + ", 0, 0;"}});
    argue(initialised ? "" : "lanes that initialise barriers alike make one of each");
  }
}

void Finder::addModifiers() {
  for (auto [index, modifier] : llvm::enumerate(instruction->modifiers)) {
    ptx::Instruction changed = *instruction;
    if (StringRef slip = slipFor(modifier); !slip.empty()) {
      changed.modifiers[index] = slip;
      replace(modifier + " as " + slip, changed);
      argue(isTensorWait(*instruction) ? whyDeletable() : "");
    } else if (modifier == "read") {
      changed.modifiers.erase(changed.modifiers.begin() + static_cast<ptrdiff_t>(index));
      replace("without read", changed);
      argue("it waits for more");
    } else if (modifier == "wait_group") {
      if (!instruction->hasModifier("read")) {
        changed.modifiers.insert(changed.modifiers.begin() + static_cast<ptrdiff_t>(index) + 1,
                                 "read");
        replace("with read", changed);
      }
    }
  }
}

void Finder::addGuard() {
  if (instruction->guard.empty()) {
    return;
  }
  ptx::Instruction changed = *instruction;
  changed.guardNegated = !changed.guardNegated;
  replace("guard negated", changed);
  changed.guard = "";
  replace("guard removed", changed);
}

void Finder::compute(const llvm::Twine &what, unsigned index, StringRef type, StringRef operation,
                     uint64_t constant, Concern concern) {
  ptx::Instruction changed = *instruction;
  ptx::Operand &operand = changed.operands[index];
  std::string source;
  llvm::raw_string_ostream stream(source);
  stream << operand.name;
  operand.name = "edited";
  std::string text = "{ .reg ." + type.str() + " edited; ";
  // An offset stays where it is: it adds up.
  text += operation.str() + " edited, " + source;
  if (type != "pred") {
    text += ", " + std::to_string(constant);
  }
  text += "; " + print(changed) + " }";
  add(what, {{instruction->line, text}}, concern);
}

void Finder::addImmediate(unsigned index) {
  int64_t unit = 1;
  if (instruction->opcode == "setmaxnreg") {
    unit = 8; // PTX ISA, setmaxnreg: counts are multiples of 8
  } else if (instruction->opcode == "bar" && index == 1) {
    unit = 32; // PTX ISA, bar: thread counts are multiples of a warp
  }
  for (int64_t sign : {1, -1}) {
    ptx::Instruction changed = *instruction;
    ptx::Operand &operand = changed.operands[index];
    operand.bits += static_cast<uint64_t>(sign * unit);
    if (sign < 0 && instruction->operands[index].bits < static_cast<uint64_t>(unit)) {
      continue;
    }
    replace("operand " + llvm::Twine(index) + (sign > 0 ? " + " : " - ") + llvm::Twine(unit),
            changed);
    argue(whyOtherNumber(index, sign));
  }
}

void Finder::addAddress(unsigned index) {
  const ptx::Operand &address = instruction->operands[index];
  bool tensorMemory = instruction->opcode == "tcgen05" && !instruction->hasModifier("commit") &&
                      !instruction->hasModifier("alloc");
  // Tensor memory: a column further, or the next warp's lanes (PTX ISA: lane << 16).
  std::vector<std::pair<const char *, int64_t>> steps = {{"address + 8", 8}};
  if (tensorMemory) {
    steps = {{"column + 1", 1}, {"lanes of the next warp", int64_t(32) << 16}};
  }
  for (auto [what, step] : steps) {
    ptx::Instruction changed = *instruction;
    changed.operands[index].elements.front().offset += step;
    // A map's address says which tensor; its coordinates stand beside it.
    if (address.elements.size() == 1) {
      replace("operand " + llvm::Twine(index) + " " + what, changed,
              tensorMemory ? Concern::Value : Concern::Order);
    }
  }
  if (address.elements.size() == 2) {
    for (auto [number, coordinate] : llvm::enumerate(address.elements[1].elements)) {
      ptx::Instruction changed = *instruction;
      changed.operands[index].elements[1].elements[number].name = "edited";
      add("coordinate " + llvm::Twine(number) + " + 1",
          {{instruction->line, "{ .reg .b32 edited; add.s32 edited, " + coordinate.name.str() +
                                   ", 1; " + print(changed) + " }"}},
          Concern::Value);
    }
  }
}

void Finder::addDescriptor(unsigned index, StringRef name) {
  // PTX ISA, shared memory matrix descriptor.
  static constexpr std::pair<const char *, unsigned> fields[] = {
      {"start", 0}, {"leading", 16}, {"stride", 32}, {"base offset", 49}, {"swizzle", 61}};
  for (auto [field, bit] : fields) {
    compute("operand " + llvm::Twine(index) + " " + field, index, typeOf(name), "xor.b64",
            uint64_t(1) << bit, Concern::Value);
    // PTX ISA, matrix descriptor; where the field is read, the product differs.
    argue(StringRef(field) == "leading" ? "a swizzled operand along K has no leading offset" : "");
  }
}

void Finder::addInstructionWord(unsigned index, StringRef name) {
  // PTX ISA, instruction descriptor of tcgen05.mma.
  static constexpr std::pair<const char *, unsigned> fields[] = {
      {"type of D", 4},   {"type of A", 7},  {"type of B", 10},
      {"sign of A", 13},  {"sign of B", 14}, {"major of A", 15},
      {"major of B", 16}, {"N", 17},         {"M", 24}};
  for (auto [field, bit] : fields) {
    compute("operand " + llvm::Twine(index) + " " + field, index, typeOf(name), "xor.b32",
            uint64_t(1) << bit, Concern::Value);
  }
}

void Finder::addRegister(unsigned index, StringRef name) {
  StringRef type = typeOf(name);
  bool product = instruction->hasModifier("mma") || instruction->hasModifier("mma_async");
  if (type == "pred") {
    compute("operand " + llvm::Twine(index) + " negated", index, type, "not.pred", 0,
            Concern::Value);
  } else if (product && type == "b64") {
    addDescriptor(index, name);
  } else if (product && type == "b32") {
    addInstructionWord(index, name);
  } else if (instruction->hasModifier("parity")) {
    compute("parity", index, type, "xor.b32", 1, Concern::Order);
  } else if (type == "b32" || type == "u32" || type == "s32") {
    bool bytes = instruction->hasModifier("expect_tx");
    bool barrier = instruction->opcode == "bar" && index == 1;
    unsigned unit = bytes ? 16 : barrier ? 32 : 1;
    compute("operand " + llvm::Twine(index) + " + " + llvm::Twine(unit), index, type, "add.s32",
            unit, Concern::Order);
    compute("operand " + llvm::Twine(index) + " - " + llvm::Twine(unit), index, type, "sub.s32",
            unit, Concern::Order);
  }
}

void Finder::addOperand(unsigned index) {
  const ptx::Operand &operand = instruction->operands[index];
  if (index == 0 && (hasResult(*instruction) || hasToken(*instruction))) {
    return;
  }
  switch (operand.kind) {
  case ptx::Operand::Kind::Integer:
    return addImmediate(index);
  case ptx::Operand::Kind::Address:
    return addAddress(index);
  case ptx::Operand::Kind::Name:
    return addRegister(index, operand.name);
  default:
    return;
  }
}

/// The registers in `operand`.
static void collectNames(const ptx::Operand &operand, llvm::StringSet<> &names) {
  if (operand.kind == ptx::Operand::Kind::Name) {
    names.insert(operand.name);
  }
  for (const ptx::Operand &element : operand.elements) {
    collectNames(element, names);
  }
}

void Finder::addMove() {
  // Two alike, such as loads of neighbouring columns, have no order to get wrong.
  if (!previous || nameOf(*previous) == nameOf(*instruction)) {
    return;
  }
  llvm::StringSet<> read;
  for (const ptx::Operand &operand : instruction->operands) {
    collectNames(operand, read);
  }
  if (!instruction->guard.empty()) {
    read.insert(instruction->guard);
  }
  if (llvm::any_of(read, [&](const auto &name) { return written.contains(name.getKey()); })) {
    return;
  }
  add("one earlier",
      {{previous->line, print(*instruction) + " " + print(*previous)}, {instruction->line, ""}});
  std::string why = whyTheyCommute(*previous, *instruction);
  if (why.empty() && ((isTensorWait(*previous) && isCovered(*previous)) ||
                      (isTensorWait(*instruction) && isCovered(*instruction)))) {
    why = "one of the two waits for nothing that an equal one has not waited for";
  }
  if (instruction->opcode == "fence" && instruction->hasModifier("mbarrier_init")) {
    why = "no copy completes at the barrier between: race detection asks for the fence there";
  }
  argue(why);
}

void Finder::visit(const ptx::Instruction &visited) {
  instruction = &visited;
  if (!isOfInterest(visited)) {
    return;
  }
  addDeletion();
  addModifiers();
  addGuard();
  addMove();
  for (unsigned index = 0; index < visited.operands.size(); ++index) {
    addOperand(index);
  }
}

void Finder::visitBlock(const ptx::Block &block) {
  size_t outer = types.size();
  for (const auto &statement : block) {
    switch (statement->kind) {
    case ptx::Statement::Kind::Location:
      sourceLine = statement->locLine != 0 ? statement->locLine : sourceLine;
      break;
    case ptx::Statement::Kind::Variable:
      declare(statement->variables);
      break;
    case ptx::Statement::Kind::Block:
      leaveLine();
      visitBlock(statement->block);
      leaveLine();
      break;
    case ptx::Statement::Kind::Instruction: {
      const ptx::Instruction &next = statement->instruction;
      visit(next);
      if (isOfInterest(next)) {
        previous = before = &next;
        straight.push_back(&next);
        written.clear();
        initialised |= next.opcode == "mbarrier" && next.hasModifier("init");
      } else if (next.opcode == "bra" || next.opcode == "ret" || next.opcode == "exit") {
        leaveLine();
      }
      // Whatever is written stands first.
      if (!next.operands.empty()) {
        collectNames(next.operands.front(), written);
      }
      break;
    }
    default:
      leaveLine();
      break;
    }
  }
  types.resize(outer);
}

llvm::Expected<std::string> spreadPtx(StringRef ptx) {
  auto module = ptx::parseModule(ptx);
  if (!module) {
    return module.takeError();
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  ptx::printModule(stream, **module);
  return text;
}

llvm::Expected<std::vector<PtxEdit>> findPtxEdits(StringRef ptx) {
  auto module = ptx::parseModule(ptx);
  if (!module) {
    return module.takeError();
  }
  std::vector<PtxEdit> edits;
  Finder finder(edits);
  finder.declare((*module)->variables);
  for (const auto &function : (*module)->functions) {
    finder.visitBlock(function->body);
  }
  return edits;
}

std::string applyEdit(StringRef ptx, const PtxEdit &edit) {
  std::string text;
  for (unsigned number = 1; !ptx.empty(); ++number) {
    auto [line, rest] = ptx.split('\n');
    ptx = rest;
    auto changed =
        llvm::find_if(edit.lines, [&](const auto &entry) { return entry.first == number; });
    text += changed == edit.lines.end() ? line.str() : changed->second;
    text += '\n';
  }
  return text;
}

} // namespace fa4::mutations
