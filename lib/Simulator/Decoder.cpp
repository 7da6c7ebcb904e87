//===- Decoder.cpp - operand readers ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Readers never return a reference outside of the register file or the pool,
// whatever the text says: a failed one returns a sink or a zero.
//
//===----------------------------------------------------------------------===//

#include "FunctionDecoder.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <optional>

using namespace llvm;
using namespace fa4::sim;
using ptx::Operand;

Extra::~Extra() = default;

MutableArrayRef<uint32_t> Extra::targets() { return {}; }

static std::optional<SpecialReg> specialRegister(StringRef name) {
  return StringSwitch<std::optional<SpecialReg>>(name)
      .Case("%tid.x", SpecialReg::TidX)
      .Case("%tid.y", SpecialReg::TidY)
      .Case("%tid.z", SpecialReg::TidZ)
      .Case("%ntid.x", SpecialReg::NtidX)
      .Case("%ntid.y", SpecialReg::NtidY)
      .Case("%ntid.z", SpecialReg::NtidZ)
      .Case("%ctaid.x", SpecialReg::CtaidX)
      .Case("%ctaid.y", SpecialReg::CtaidY)
      .Case("%ctaid.z", SpecialReg::CtaidZ)
      .Case("%nctaid.x", SpecialReg::NctaidX)
      .Case("%nctaid.y", SpecialReg::NctaidY)
      .Case("%nctaid.z", SpecialReg::NctaidZ)
      .Case("%laneid", SpecialReg::LaneId)
      .Case("%warpid", SpecialReg::WarpId)
      .Case("%nwarpid", SpecialReg::NwarpId)
      .Case("%smid", SpecialReg::SmId)
      .Case("%nsmid", SpecialReg::NsmId)
      .Case("%gridid", SpecialReg::GridId)
      .Case("%cluster_ctaid.x", SpecialReg::ClusterCtaidX)
      .Case("%cluster_ctaid.y", SpecialReg::ClusterCtaidY)
      .Case("%cluster_ctaid.z", SpecialReg::ClusterCtaidZ)
      .Case("%cluster_nctaid.x", SpecialReg::ClusterNctaidX)
      .Case("%cluster_nctaid.y", SpecialReg::ClusterNctaidY)
      .Case("%cluster_nctaid.z", SpecialReg::ClusterNctaidZ)
      .Case("%cluster_ctarank", SpecialReg::ClusterCtaRank)
      .Case("%cluster_nctarank", SpecialReg::ClusterNctaRank)
      .Case("%clusterid.x", SpecialReg::ClusterIdX)
      .Case("%clusterid.y", SpecialReg::ClusterIdY)
      .Case("%clusterid.z", SpecialReg::ClusterIdZ)
      .Case("%nclusterid.x", SpecialReg::NclusterIdX)
      .Case("%nclusterid.y", SpecialReg::NclusterIdY)
      .Case("%nclusterid.z", SpecialReg::NclusterIdZ)
      .Case("%lanemask_eq", SpecialReg::LanemaskEq)
      .Case("%lanemask_le", SpecialReg::LanemaskLe)
      .Case("%lanemask_lt", SpecialReg::LanemaskLt)
      .Case("%lanemask_ge", SpecialReg::LanemaskGe)
      .Case("%lanemask_gt", SpecialReg::LanemaskGt)
      .Case("%dynamic_smem_size", SpecialReg::DynamicSmemSize)
      .Case("%total_smem_size", SpecialReg::TotalSmemSize)
      .Default(std::nullopt);
}

void Decoder::error(const Twine &what) { function->error(source->line, what); }

void Decoder::error(FaultId id, const Twine &what) { function->error(source->line, what, id); }

StringRef Decoder::specialName(unsigned i) const {
  const Operand &op = operand(i);
  bool special =
      op.kind == Operand::Kind::Name && op.name.starts_with("%") && !function->lookup(op.name);
  return special ? op.name : StringRef();
}

const Operand &Decoder::operand(unsigned i) const {
  static const Operand missing;
  return i < source->operands.size() ? source->operands[i] : missing;
}

bool Decoder::isPredicate(const Operand &op) const {
  const Symbol *s = op.kind == Operand::Kind::Name ? function->lookup(op.name) : nullptr;
  return s && s->kind == Symbol::Kind::Predicate;
}

static void record(SmallVectorImpl<RegUse> &uses, Reg r, unsigned bits, bool write) {
  if (r > sinkReg + 3 * slotBytes) {
    uses.push_back({uint32_t(r / slotBytes), uint16_t(std::max(1u, bits / 32)), write});
  }
}

unsigned Decoder::widthOf(const Operand &op) {
  if (op.kind == Operand::Kind::Name) {
    const Symbol *s = function->lookup(op.name);
    if (s && s->kind == Symbol::Kind::Register) {
      return s->bits;
    }
  }
  return op.kind == Operand::Kind::Double ? 64 : 32;
}

Reg Decoder::srcOf(const Operand &op, unsigned bits) {
  bool wide = bits == 64;
  switch (op.kind) {
  case Operand::Kind::Integer:
    return function->constant(op.bits, int64_t(op.bits) < 0 ? ~uint64_t(0) : 0, bits);
  case Operand::Kind::Float:
  case Operand::Kind::Double:
    if ((op.kind == Operand::Kind::Double) != wide) {
      error(formatv("expected a literal of {0} bits, but got another width", bits));
    }
    return function->constant(op.bits, 0, bits);
  case Operand::Kind::Name:
    break;
  default:
    error("expected a register or an immediate, but got another operand");
    return function->constant(0, 0, bits);
  }
  const Symbol *s = function->lookup(op.name);
  if (!s) {
    if (op.name == "WARP_SZ") {
      return function->constant(warpLanes, 0, bits);
    }
    if (std::optional<SpecialReg> special = specialRegister(op.name)) {
      return function->special(*special, wide, 0);
    }
    error("expected a declared name, but got '" + op.name + "'");
    return function->constant(0, 0, bits);
  }
  switch (s->kind) {
  case Symbol::Kind::Register:
    if (op.offset != 0) {
      error("expected '" + op.name + "' without an offset, but got " + Twine(op.offset));
    }
    if (s->bits != bits && !(s->bits < 32 && bits < 32)) {
      error(formatv("expected '{0}' to have {1} bits, but got {2}", op.name, bits, s->bits));
      return function->constant(0, 0, bits);
    }
    record(uses, s->reg, bits, false);
    return s->reg;
  case Symbol::Kind::Shared:
    return function->special(SpecialReg::SharedBase, wide, s->offset + op.offset, s->index);
  case Symbol::Kind::Global:
    return function->special(SpecialReg::GlobalBase, true, op.offset, s->index);
  case Symbol::Kind::Local:
  case Symbol::Kind::Param:
  case Symbol::Kind::CallParam:
    return function->constant(s->offset + op.offset, 0, bits);
  case Symbol::Kind::Predicate:
    break;
  }
  error("expected a value, but got the predicate '" + op.name + "'");
  return function->constant(0, 0, bits);
}

Reg Decoder::srcPlus(unsigned i, unsigned bits, int64_t &offset) {
  Operand op = operand(i);
  offset = 0;
  const Symbol *s = op.kind == Operand::Kind::Name ? function->lookup(op.name) : nullptr;
  if (s && s->kind == Symbol::Kind::Register) {
    std::swap(offset, op.offset);
  }
  return srcOf(op, bits);
}

Reg Decoder::dstOf(const Operand &op, unsigned bits) {
  if (op.kind == Operand::Kind::Sink) {
    return sinkReg;
  }
  const Symbol *s =
      op.kind == Operand::Kind::Name && op.offset == 0 ? function->lookup(op.name) : nullptr;
  if (!s || s->kind != Symbol::Kind::Register) {
    error("expected a destination register, but got '" + op.name + "'");
    return sinkReg;
  }
  if (s->bits != bits && !(s->bits < 32 && bits < 32)) {
    error(formatv("expected '{0}' to have {1} bits, but got {2}", op.name, bits, s->bits));
    return sinkReg;
  }
  record(uses, s->reg, bits, true);
  return s->reg;
}

Reg Decoder::srcAny(const Operand &op, unsigned minBits, unsigned &actual) {
  actual = op.kind == Operand::Kind::Name && function->lookup(op.name) ? widthOf(op) : minBits;
  if (actual < minBits) {
    error(
        formatv("expected '{0}' to have at least {1} bits, but got {2}", op.name, minBits, actual));
    actual = minBits;
    return function->constant(0, 0, minBits);
  }
  return srcOf(op, actual);
}

Reg Decoder::dstAny(const Operand &op, unsigned minBits, unsigned &actual) {
  if (op.kind == Operand::Kind::Sink) {
    actual = minBits;
    return sinkReg;
  }
  actual = widthOf(op);
  if (actual < minBits) {
    error(
        formatv("expected '{0}' to have at least {1} bits, but got {2}", op.name, minBits, actual));
    actual = minBits;
    return sinkReg;
  }
  return dstOf(op, actual);
}

Pred Decoder::predSrc(unsigned i, bool *negated) {
  const Operand &op = operand(i);
  if (negated) {
    *negated = op.negated;
  } else if (op.negated) {
    error("expected a predicate without '!', but got one");
  }
  if (op.kind == Operand::Kind::Integer) {
    return op.bits != 0 ? predTrue : predFalse;
  }
  if (op.kind == Operand::Kind::Name && op.name == "%is_explicit_cluster") {
    kernel->explicitClusterPred =
        kernel->explicitClusterPred ? kernel->explicitClusterPred : function->newPredicate();
    return kernel->explicitClusterPred;
  }
  const Symbol *s = op.kind == Operand::Kind::Name ? function->lookup(op.name) : nullptr;
  if (!s || s->kind != Symbol::Kind::Predicate) {
    error("expected a predicate, but got '" + op.name + "'");
    return predFalse;
  }
  return s->reg;
}

Pred Decoder::predDstOf(const Operand &op) {
  if (op.kind == Operand::Kind::Sink) {
    return predSink;
  }
  const Symbol *s = op.kind == Operand::Kind::Name ? function->lookup(op.name) : nullptr;
  if (!s || s->kind != Symbol::Kind::Predicate) {
    error("expected a predicate register, but got '" + op.name + "'");
    return predSink;
  }
  return s->reg;
}

void Decoder::pairDst(unsigned i, unsigned bits, Reg &d, Pred &p) {
  const Operand &op = operand(i);
  if (op.kind == Operand::Kind::Pair) {
    d = dstOf(op.elements[0], bits);
    p = predDstOf(op.elements[1]);
  } else {
    d = dstOf(op, bits);
    p = predSink;
  }
}

uint64_t Decoder::immediateOf(const Operand &op) {
  if (op.kind != Operand::Kind::Integer) {
    error("expected an integer literal, but got '" + op.name + "'");
    return 0;
  }
  return op.bits;
}

uint64_t Decoder::immediate(unsigned i) { return immediateOf(operand(i)); }

bool Decoder::isImmediate(unsigned i) const { return operand(i).kind == Operand::Kind::Integer; }

AddressRef Decoder::addressOf(const Operand &op) {
  AddressRef result;
  if (op.kind != Operand::Kind::Address) {
    error("expected an address in brackets, but got another operand");
    result.base = function->constant(0, 0, 64);
    return result;
  }
  const Operand &base = op.elements[0];
  result.offset = base.offset;
  if (base.kind == Operand::Kind::Integer) {
    result.base = function->constant(base.bits, 0, 64);
    return result;
  }
  const Symbol *s = base.kind == Operand::Kind::Name ? function->lookup(base.name) : nullptr;
  if (!s) {
    error("expected an address to start with a declared name, but got '" + base.name + "'");
    result.base = function->constant(0, 0, 64);
    return result;
  }
  switch (s->kind) {
  case Symbol::Kind::Register:
    if (s->bits != 32 && s->bits != 64) {
      error(formatv("expected an address register of 32 or 64 bits, but got {0}", s->bits));
      result.base = function->constant(0, 0, 64);
      return result;
    }
    record(uses, s->reg, s->bits, false);
    result.base = s->reg;
    result.narrow = s->bits == 32;
    return result;
  case Symbol::Kind::Shared:
    result.symbol = SymbolSpace::Shared;
    result.base = function->special(SpecialReg::SharedBase, true, s->offset, s->index);
    return result;
  case Symbol::Kind::Global:
    result.symbol = SymbolSpace::Global;
    result.base = function->special(SpecialReg::GlobalBase, true, 0, s->index);
    return result;
  case Symbol::Kind::Local:
    result.symbol = SymbolSpace::Local;
    break;
  case Symbol::Kind::Param:
    result.symbol = SymbolSpace::Param;
    break;
  case Symbol::Kind::CallParam:
    result.symbol = SymbolSpace::CallParam;
    break;
  case Symbol::Kind::Predicate:
    error("expected an address, but got the predicate '" + base.name + "'");
    break;
  }
  result.base = function->constant(s->offset, 0, 64);
  return result;
}

SymbolSpace Decoder::setAddress(unsigned i) {
  AddressRef a = address(i);
  inst.a = a.base;
  inst.imm = a.offset;
  inst.flags |= a.narrow ? NarrowAddress : 0;
  return a.symbol;
}

uint32_t Decoder::labelNamed(StringRef name) {
  uint32_t label = function->labelNamed(name);
  if (label == noTarget) {
    error("expected a label in scope, but got '" + name + "'");
    return 0;
  }
  return label;
}

ArrayRef<StringRef> Decoder::branchTargets(StringRef name) {
  const ptx::Statement *s = function->branchTargets(name);
  if (!s) {
    error("expected a list of branch targets, but got '" + name + "'");
    return {};
  }
  return s->targets;
}

void Decoder::emit() {
  function->emit(inst, uses);
  uint32_t guard = inst.guard;
  inst = Inst();
  inst.guard = guard;
  inst.source = source;
  uses.clear();
}
