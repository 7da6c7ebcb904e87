//===- FunctionDecoder.cpp - scopes, registers, control flow ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After decoding, every operand of every instruction is storage of the right
// width, every label is an instruction index, and every instruction was checked
// against its row: running the kernel cannot meet an unknown construct.
//
//===----------------------------------------------------------------------===//

#include "FunctionDecoder.h"
#include "Machine.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace llvm;
using namespace fa4::sim;

/// Inlining is bounded so that call chains in hostile text end.
static constexpr unsigned maxInlineDepth = 16;
static constexpr size_t maxInstructions = size_t(1) << 21;
/// Register files beyond this are not from a compiler (65536 × 32 bits per SM
/// serve whole warps; virtual registers of large kernels stay below 2^14).
static constexpr int32_t maxSlots = 1 << 18;

uint64_t fa4::sim::variableBytes(const ptx::Variable &v) {
  uint64_t element = std::max(1u, bitWidth(parseType(v.type)) / 8) * v.vectorWidth;
  return v.arrayCount < 0 ? element : element * uint64_t(v.arrayCount);
}

static uint32_t variableAlignment(const ptx::Variable &v) {
  uint32_t natural = std::max(1u, bitWidth(parseType(v.type)) / 8) * v.vectorWidth;
  return std::max(v.alignment, natural);
}

void FunctionDecoder::error(unsigned line, const Twine &what, FaultId id) {
  // A kernel of one unknown opcode may use it a thousand times.
  if (errors.size() < 64) {
    errors.push_back(formatv("line {0}: {1}: {2}", line, faultName(id), what.str()).str());
  }
}

Reg FunctionDecoder::newRegister(unsigned bits) {
  int32_t slots = std::max(1u, bits / 32);
  nextSlot = slots > 1 ? alignTo(nextSlot, 2) : nextSlot;
  Reg r = nextSlot * slotBytes;
  if (nextSlot + slots < maxSlots) {
    nextSlot += slots;
  } else {
    error(0, "expected at most " + Twine(maxSlots) + " register slots, but got more");
  }
  return r;
}

Symbol FunctionDecoder::makeRegister(StringRef type) {
  Symbol s;
  if (type == "pred") {
    s.kind = Symbol::Kind::Predicate;
    s.bits = 1;
    s.reg = newPredicate();
    return s;
  }
  s.bits = bitWidth(parseType(type));
  s.reg = newRegister(s.bits);
  return s;
}

const Symbol *FunctionDecoder::lookup(StringRef name) {
  for (size_t i = scopes.size(); i-- > 0;) {
    Scope &scope = scopes[i];
    auto found = scope.names.find(name);
    if (found != scope.names.end()) {
      return &found->second;
    }
    StringRef prefix = name.rtrim("0123456789");
    for (const Range &r : scope.ranges) {
      // A prefix may itself end in digits, so compare by its length.
      uint64_t index;
      if (!name.starts_with(r.prefix) || r.prefix.size() < prefix.size() ||
          name.drop_front(r.prefix.size()).getAsInteger(10, index)) {
        continue;
      }
      if (int64_t(index) < r.count) {
        return &scope.names.insert({name, makeRegister(r.type)}).first->second;
      }
    }
    if (scope.opaque) {
      i = std::min<size_t>(i, 1); // only the module scope is outside
    }
  }
  return nullptr;
}

Reg FunctionDecoder::constant(uint64_t lo, uint64_t hi, unsigned bits) {
  if (bits < 64) {
    lo &= maskTrailingOnes<uint64_t>(bits);
  }
  auto key = std::make_pair(lo, std::make_pair(hi, bits <= 32 ? 32u : bits));
  auto found = constantIndex.find(key);
  if (found != constantIndex.end()) {
    return found->second;
  }
  std::vector<uint8_t> &pool = kernel.constants;
  if (pool.empty()) {
    pool.resize(slotBytes);
  }
  size_t at = pool.size();
  unsigned planes = bits <= 32 ? 0 : bits / 64;
  pool.resize(at + (planes == 0 ? 1 : 2 * planes) * slotBytes);
  for (unsigned lane = 0; lane < warpLanes; ++lane) {
    if (planes == 0) {
      uint32_t v = lo;
      std::memcpy(&pool[at + lane * 4], &v, 4);
    }
    for (unsigned p = 0; p < planes; ++p) {
      uint64_t v = p == 0 ? lo : hi;
      std::memcpy(&pool[at + p * 2 * slotBytes + lane * 8], &v, 8);
    }
  }
  Reg r = -Reg(at);
  constantIndex[key] = r;
  return r;
}

Reg FunctionDecoder::special(SpecialReg what, bool wide, uint64_t addend, uint32_t index) {
  auto key = std::make_pair(std::make_pair(what, wide), std::make_pair(addend, index));
  auto found = specialIndex.find(key);
  if (found != specialIndex.end()) {
    return found->second;
  }
  Reg r = newRegister(wide ? 64 : 32);
  kernel.warpInits.push_back({what, r, wide, addend, index});
  specialIndex[key] = r;
  return r;
}

uint32_t FunctionDecoder::labelNamed(StringRef name) {
  for (size_t i = scopes.size(); i-- > 0;) {
    auto found = scopes[i].labels.find(name);
    if (found != scopes[i].labels.end()) {
      return found->second;
    }
    if (scopes[i].opaque) {
      break;
    }
  }
  return noTarget;
}

const ptx::Statement *FunctionDecoder::branchTargets(StringRef name) {
  for (size_t i = scopes.size(); i-- > 0;) {
    auto found = scopes[i].targetLists.find(name);
    if (found != scopes[i].targetLists.end()) {
      return found->second;
    }
  }
  return nullptr;
}

void FunctionDecoder::emit(Inst inst, ArrayRef<RegUse> uses) {
  if (kernel.code.size() >= maxInstructions) {
    if (kernel.code.size() == maxInstructions) {
      error(inst.source->line, "expected at most 2^21 instructions after inlining, but got more");
    }
    return;
  }
  inst.useBegin = kernel.uses.size();
  inst.useCount = std::min<size_t>(uses.size(), UINT16_MAX);
  kernel.uses.insert(kernel.uses.end(), uses.begin(), uses.begin() + inst.useCount);
  inst.location = currentLocation;
  kernel.code.push_back(inst);
}

void FunctionDecoder::declareVariable(const ptx::Variable &v) {
  Scope &scope = scopes.back();
  if (v.space == "reg") {
    StringRef type = v.type;
    if (type != "pred" && bitWidth(parseType(type)) == 0) {
      error(v.line, "expected a register type, but got '." + type + "'");
      return;
    }
    if (v.rangeCount >= 0) {
      scope.ranges.push_back({v.name, v.rangeCount, type});
    } else {
      scope.names.insert_or_assign(v.name, makeRegister(type));
    }
    return;
  }
  Symbol s;
  uint64_t bytes = variableBytes(v);
  uint32_t alignment = variableAlignment(v);
  if (v.space == "shared") {
    s.kind = Symbol::Kind::Shared;
    if (v.arrayCount == 0) {
      // Dynamic memory: all such names start where static memory ends; the
      // largest alignment decides, see finish().
      kernel.dynamicAlignment = std::max(kernel.dynamicAlignment, alignment);
      s.index = 1;
    } else {
      sharedTop = alignTo(sharedTop, alignment);
      s.offset = sharedTop;
      sharedTop += bytes;
    }
  } else if (v.space == "local" || v.space == "param") {
    s.kind = v.space == "local" ? Symbol::Kind::Local : Symbol::Kind::CallParam;
    uint64_t at = alignTo(kernel.localBytes, alignment);
    // 512 KB of local memory per thread is the documented limit.
    if (at + bytes > 512 * 1024) {
      error(v.line, "expected at most 524288 bytes of local memory, but got more");
      return;
    }
    s.offset = at;
    kernel.localBytes = at + bytes;
  } else {
    s.kind = Symbol::Kind::Global;
    s.index = kernel.globals.size();
    GlobalVariable g{v.name, std::max<uint64_t>(bytes, 1), alignment, v.space == "const", {}};
    if (v.hasSymbolInitializer) {
      error(v.line, "expected initialisers to be numbers, but got a symbol in '" + v.name + "'");
    }
    unsigned element = std::max(1u, bitWidth(parseType(v.type)) / 8);
    // The manual zero-fills variables of these spaces.
    g.data.resize(g.size);
    if (v.initializer.size() * element > g.size) {
      error(v.line, "expected initialisers to fit into '" + v.name + "', but got " +
                        Twine(v.initializer.size()));
      return;
    }
    for (size_t i = 0; i < v.initializer.size(); ++i) {
      std::memcpy(&g.data[i * element], &v.initializer[i], element);
    }
    kernel.globals.push_back(std::move(g));
  }
  scope.names.insert_or_assign(v.name, s);
}

void FunctionDecoder::declareModuleVariables() {
  // 4 GiB per variable would be honoured by calloc; a module needs far less.
  for (const ptx::Variable &v : module.variables) {
    if (variableBytes(v) > (uint64_t(1) << 28)) {
      error(v.line, "expected a module variable of at most 2^28 bytes, but got '" + v.name + "'");
      continue;
    }
    declareVariable(v);
  }
}

void FunctionDecoder::declareParams(const ptx::Function &entry) {
  uint64_t offset = 0;
  for (const ptx::Variable &v : entry.parameters) {
    offset = alignTo(offset, variableAlignment(v));
    uint64_t bytes = variableBytes(v);
    Symbol s;
    s.kind = Symbol::Kind::Param;
    s.offset = offset;
    kernel.params.push_back({v.name, uint32_t(offset), uint32_t(bytes), variableAlignment(v)});
    scopes.back().names.insert_or_assign(v.name, s);
    offset += bytes;
    // PTX ISA 5.2.1: entry parameters take at most 32764 bytes.
    if (offset > 32764) {
      error(v.line, "expected at most 32764 bytes of parameters, but got " + Twine(offset));
      return;
    }
  }
  kernel.paramBytes = offset;
}

void FunctionDecoder::readAttributes(const ptx::Function &entry) {
  auto dims = [](uint32_t (&out)[3], const ptx::Attribute &a) {
    for (unsigned i = 0; i < 3; ++i) {
      out[i] = i < a.values.size() ? a.values[i] : 1;
    }
  };
  for (const ptx::Attribute &a : entry.attributes) {
    uint32_t first = a.values.empty() ? 0 : a.values[0];
    if (a.name == "reqntid") {
      dims(kernel.reqntid, a);
    } else if (a.name == "maxntid") {
      dims(kernel.maxntid, a);
    } else if (a.name == "reqnctapercluster") {
      dims(kernel.reqcluster, a);
    } else if (a.name == "explicitcluster") {
      kernel.explicitCluster = true;
    } else if (a.name == "maxnreg") {
      kernel.maxnreg = first;
    } else if (a.name == "minnctapersm") {
      kernel.minnctapersm = first;
    } else if (a.name != "maxclusterrank" && a.name != "noreturn" && a.name != "maxnctapersm") {
      error(entry.line, "expected a modelled entry attribute, but got '." + a.name + "'");
    }
  }
}

void FunctionDecoder::bindLabel(uint32_t label) { labelTargets[label] = kernel.code.size(); }

void FunctionDecoder::decodeBlock(const ptx::Block &block) {
  for (const auto &s : block) {
    if (s->kind == ptx::Statement::Kind::Label) {
      scopes.back().labels.insert_or_assign(s->name, uint32_t(labelTargets.size()));
      labelTargets.push_back(noTarget);
    } else if (s->kind == ptx::Statement::Kind::BranchTargets) {
      scopes.back().targetLists.insert_or_assign(s->name, s.get());
    }
  }
  for (const auto &s : block) {
    switch (s->kind) {
    case ptx::Statement::Kind::Instruction:
      decodeInstruction(s->instruction);
      break;
    case ptx::Statement::Kind::Label:
      bindLabel(scopes.back().labels.lookup(s->name));
      break;
    case ptx::Statement::Kind::Variable:
      for (const ptx::Variable &v : s->variables) {
        declareVariable(v);
      }
      break;
    case ptx::Statement::Kind::Block:
      scopes.emplace_back();
      decodeBlock(s->block);
      scopes.pop_back();
      break;
    case ptx::Statement::Kind::Location:
      currentLocation = kernel.locations.size();
      kernel.locations.push_back({s->locFile, s->locLine});
      break;
    case ptx::Statement::Kind::Pragma:
    case ptx::Statement::Kind::BranchTargets:
    case ptx::Statement::Kind::CallPrototype:
      break;
    }
  }
}

static std::string instructionName(const ptx::Instruction &inst) {
  std::string name = inst.opcode.str();
  for (StringRef m : inst.modifiers) {
    name += "." + m.str();
  }
  return name;
}

void FunctionDecoder::decodeInstruction(const ptx::Instruction &source) {
  Decoder d;
  d.source = &source;
  d.kernel = &kernel;
  d.function = this;
  d.info = OpcodeTable::get().lookup(source);
  if (!d.info) {
    error(source.line,
          "expected an instruction that is modelled, but got '" + instructionName(source) + "'");
    return;
  }
  std::string why;
  if (!checkModifiers(source, *d.info, d.types, why)) {
    error(source.line, why + " in '" + instructionName(source) + "'");
    return;
  }
  if (source.operands.size() < d.info->minOperands ||
      source.operands.size() > d.info->maxOperands) {
    error(source.line, formatv("expected '{0}' to have {1} to {2} operands, but got {3}",
                               instructionName(source), d.info->minOperands, d.info->maxOperands,
                               source.operands.size()));
    return;
  }
  d.inst.source = &source;
  if (!source.guard.empty()) {
    const Symbol *s = lookup(source.guard);
    if (!s || s->kind != Symbol::Kind::Predicate) {
      error(source.line, "expected a predicate register, but got '" + source.guard + "'");
      return;
    }
    d.inst.guard = uint32_t(s->reg) * 2 + source.guardNegated;
  }
  if (source.opcode == "call") {
    inlineCall(d);
    return;
  }
  d.info->decode(d);
}

/// What the device library's assert ends in.
static Step execAssert(Warp &w, const Inst &i, LaneMask m) {
  return w.fault(FaultId::Assertion, i, m,
                 "expected the kernel's assertion to hold, but it failed");
}

void FunctionDecoder::inlineCall(Decoder &d) {
  const ptx::Instruction &call = *d.source;
  // call (results), name, (arguments), prototype; parts may be missing.
  const ptx::Operand *results = nullptr, *arguments = nullptr, *callee = nullptr;
  for (const ptx::Operand &op : call.operands) {
    if (op.kind == ptx::Operand::Kind::Group) {
      (callee ? arguments : results) = &op;
    } else if (op.kind == ptx::Operand::Kind::Name && !callee) {
      callee = &op;
    }
  }
  if (callee && callee->name == "__assertfail") {
    d.inst.exec = execAssert;
    emit(d.inst, {});
    return;
  }
  const ptx::Function *f = callee ? module.lookup(callee->name) : nullptr;
  if (!f || f->isEntry) {
    error(call.line, "expected a call of a function with a body, but got '" +
                         (callee ? callee->name : StringRef("?")) + "'");
    return;
  }
  if (!call.guard.empty()) {
    error(call.line, "expected an unguarded call, but got a guard");
    return;
  }
  if (inlineDepth >= maxInlineDepth) {
    error(call.line, "expected calls nested at most 16 deep (no recursion), but got more");
    return;
  }
  Scope inner;
  inner.opaque = true;
  auto bind = [&](const std::vector<ptx::Variable> &formals, const ptx::Operand *actuals) {
    size_t count = actuals ? actuals->elements.size() : 0;
    if (count != formals.size()) {
      error(call.line, formatv("expected {0} arguments for '{1}', but got {2}", formals.size(),
                               f->name, count));
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      const Symbol *actual = lookup(actuals->elements[i].name);
      if (!actual) {
        error(call.line,
              "expected a declared argument, but got '" + actuals->elements[i].name + "'");
        return false;
      }
      inner.names.insert_or_assign(formals[i].name, *actual);
    }
    return true;
  };
  if (!bind(f->results, results) || !bind(f->parameters, arguments)) {
    return;
  }
  ++inlineDepth;
  uint32_t after = labelTargets.size();
  labelTargets.push_back(noTarget);
  returnLabels.push_back(after);
  scopes.push_back(std::move(inner));
  decodeBlock(f->body);
  scopes.pop_back();
  returnLabels.pop_back();
  bindLabel(after);
  --inlineDepth;
}

void FunctionDecoder::resolveLabels() {
  for (Inst &inst : kernel.code) {
    if (inst.target != noTarget) {
      inst.target = labelTargets[inst.target];
    }
  }
  for (auto &extra : kernel.extras) {
    for (uint32_t &target : extra->targets()) {
      target = labelTargets[target];
    }
  }
}

void FunctionDecoder::decodeEntry(const ptx::Function &entry) {
  kernel.name = entry.name.str();
  kernel.module = &module;
  kernel.locations.push_back({});
  kernel.constants.resize(slotBytes);
  kernel.globals.reserve(module.variables.size());
  scopes.emplace_back();
  declareModuleVariables();
  readAttributes(entry);
  scopes.emplace_back();
  declareParams(entry);
  decodeBlock(entry.body);
  // Falling off the end is an exit; a trailing label needs an instruction too.
  kernel.strings.emplace_back();
  static const ptx::Instruction exitInstruction = [] {
    ptx::Instruction i;
    i.opcode = "exit";
    return i;
  }();
  decodeInstruction(exitInstruction);
  if (!errors.empty()) {
    return;
  }
  resolveLabels();
  insertJoins(kernel);
  kernel.staticSharedBytes = sharedTop;
  kernel.registerBytes = nextSlot * slotBytes;
}
