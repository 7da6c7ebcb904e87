//===- Opcodes.cpp - the table of opcodes -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Selection and modifier checks. Every modifier of an instruction is accounted
// for by its row, or the kernel is refused: nothing is skipped silently.
//
//===----------------------------------------------------------------------===//

#include "Opcodes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

Type fa4::sim::parseType(StringRef s) {
  return StringSwitch<Type>(s)
      .Case("u8", Type::U8)
      .Case("u16", Type::U16)
      .Case("u32", Type::U32)
      .Case("u64", Type::U64)
      .Case("s8", Type::S8)
      .Case("s16", Type::S16)
      .Case("s32", Type::S32)
      .Case("s64", Type::S64)
      .Case("b8", Type::B8)
      .Case("b16", Type::B16)
      .Case("b32", Type::B32)
      .Case("b64", Type::B64)
      .Case("b128", Type::B128)
      .Case("f16", Type::F16)
      .Case("f16x2", Type::F16x2)
      .Case("bf16", Type::BF16)
      .Case("bf16x2", Type::BF16x2)
      .Case("tf32", Type::TF32)
      .Case("f32", Type::F32)
      .Case("f32x2", Type::F32x2)
      .Case("f64", Type::F64)
      .Case("pred", Type::Pred)
      .Case("e4m3", Type::E4M3)
      .Case("e5m2", Type::E5M2)
      .Case("e2m1", Type::E2M1)
      .Case("e3m2", Type::E3M2)
      .Case("e2m3", Type::E2M3)
      .Case("e4m3x2", Type::E4M3x2)
      .Case("e5m2x2", Type::E5M2x2)
      .Case("e2m1x2", Type::E2M1x2)
      .Case("e2m3x2", Type::E2M3x2)
      .Case("e3m2x2", Type::E3M2x2)
      .Case("ue8m0x2", Type::UE8M0x2)
      .Case("u4", Type::U4)
      .Case("s4", Type::S4)
      .Case("u16x2", Type::U16x2)
      .Case("s16x2", Type::S16x2)
      .Default(Type::None);
}

unsigned fa4::sim::bitWidth(Type t) {
  switch (t) {
  case Type::U8:
  case Type::S8:
  case Type::B8:
  case Type::E4M3:
  case Type::E5M2:
  case Type::E2M1:
  case Type::E3M2:
  case Type::E2M3:
  case Type::E2M1x2:
    return 8;
  case Type::U16:
  case Type::S16:
  case Type::B16:
  case Type::F16:
  case Type::BF16:
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::E2M3x2:
  case Type::E3M2x2:
  case Type::UE8M0x2:
    return 16;
  case Type::U32:
  case Type::S32:
  case Type::B32:
  case Type::F32:
  case Type::F16x2:
  case Type::BF16x2:
  case Type::TF32:
  case Type::U16x2:
  case Type::S16x2:
    return 32;
  case Type::U64:
  case Type::S64:
  case Type::B64:
  case Type::F64:
  case Type::F32x2:
    return 64;
  case Type::B128:
    return 128;
  default:
    return 0;
  }
}

bool fa4::sim::isSignedType(Type t) {
  return t == Type::S8 || t == Type::S16 || t == Type::S32 || t == Type::S64 || t == Type::S16x2;
}

bool fa4::sim::isFloatType(Type t) {
  switch (t) {
  case Type::F16:
  case Type::F16x2:
  case Type::BF16:
  case Type::BF16x2:
  case Type::TF32:
  case Type::F32:
  case Type::F32x2:
  case Type::F64:
    return true;
  default:
    return false;
  }
}

void OpcodeTable::add(ArrayRef<OpcodeInfo> infos) {
  for (const OpcodeInfo &info : infos) {
    byRoot[info.name.split('.').first].push_back(list.size());
    list.push_back(info);
  }
}

const OpcodeTable &OpcodeTable::get() {
  static const OpcodeTable table = [] {
    OpcodeTable t;
    addMoveOpcodes(t);
    addCarryOpcodes(t);
    addIntegerOpcodes(t);
    addBitOpcodes(t);
    addFloatOpcodes(t);
    addApproxOpcodes(t);
    addCompareOpcodes(t);
    addConvertOpcodes(t);
    addControlOpcodes(t);
    addMemoryOpcodes(t);
    addAtomicOpcodes(t);
    addCacheOpcodes(t);
    addWarpOpcodes(t);
    addBarrierOpcodes(t);
    addMbarrierOpcodes(t);
    addFenceOpcodes(t);
    addAsyncCopyOpcodes(t);
    addBulkCopyOpcodes(t);
    addTensorCopyOpcodes(t);
    addTensorMapOpcodes(t);
    addClusterOpcodes(t);
    addMatrixOpcodes(t);
    addWgmmaOpcodes(t);
    addTmemOpcodes(t);
    addTcgen05Opcodes(t);
    addTcgen05CopyOpcodes(t);
    return t;
  }();
  return table;
}

const OpcodeInfo *OpcodeTable::lookup(const ptx::Instruction &inst) const {
  auto found = byRoot.find(inst.opcode);
  if (found == byRoot.end()) {
    return nullptr;
  }
  const OpcodeInfo *best = nullptr;
  size_t bestCount = 0;
  for (unsigned index : found->second) {
    SmallVector<StringRef, 6> parts;
    list[index].name.split(parts, '.');
    bool all = llvm::all_of(ArrayRef<StringRef>(parts).drop_front(),
                            [&](StringRef m) { return inst.hasModifier(m); });
    if (all && parts.size() > bestCount) {
      best = &list[index];
      bestCount = parts.size();
    }
  }
  return best;
}

bool fa4::sim::checkModifiers(const ptx::Instruction &inst, const OpcodeInfo &info,
                              SmallVectorImpl<Type> &types, std::string &why,
                              SmallVectorImpl<ModifierUse> *uses) {
  SmallVector<StringRef, 16> groups;
  info.modifiers.split(groups, ' ', -1, /*KeepEmpty=*/false);
  SmallVector<StringRef, 6> selecting;
  info.name.split(selecting, '.');
  struct PlainGroup {
    StringRef alternatives;
    unsigned number;
  };
  struct TypeGroup {
    StringRef alternatives;
    bool optional;
    unsigned number;
  };
  SmallVector<PlainGroup, 16> plain;
  SmallVector<TypeGroup, 4> typeGroups;
  for (auto [number, g] : enumerate(groups)) {
    if (g.consume_front("?:")) {
      typeGroups.push_back({g, true, unsigned(number)});
    } else if (g.consume_front(":")) {
      typeGroups.push_back({g, false, unsigned(number)});
    } else {
      plain.push_back({g, unsigned(number)});
    }
  }
  auto use = [&](unsigned group, StringRef m) {
    if (uses) {
      uses->push_back({group, m});
    }
  };
  auto among = [](StringRef alternatives, StringRef m) {
    SmallVector<StringRef, 16> parts;
    alternatives.split(parts, '|');
    return llvm::any_of(parts, [&](StringRef part) {
      part.consume_front("^");
      return part == m;
    });
  };
  SmallVector<StringRef, 16> seen(plain.size());
  SmallVector<bool, 8> selectingSeen(selecting.size(), false);
  size_t nextType = 0;
  for (StringRef m : inst.modifiers) {
    bool done = false;
    for (size_t i = 1; i < selecting.size() && !done; ++i) {
      if (!selectingSeen[i] && selecting[i] == m) {
        selectingSeen[i] = done = true;
      }
    }
    StringRef rival;
    for (size_t i = 0; i < plain.size() && !done; ++i) {
      if (among(plain[i].alternatives, m)) {
        rival = seen[i];
        if (rival.empty()) {
          seen[i] = m;
          done = true;
          use(plain[i].number, m);
        }
      }
    }
    if (!done && !rival.empty()) {
      why =
          formatv("expected only one modifier of a kind, but got both '.{0}' and '.{1}'", rival, m);
      return false;
    }
    bool isType = parseType(m) != Type::None;
    for (; !done && isType && nextType < typeGroups.size();) {
      const TypeGroup &g = typeGroups[nextType++];
      if (among(g.alternatives, m)) {
        types.push_back(parseType(m));
        done = true;
        use(g.number, m);
      } else if (!g.optional) {
        std::string listed = join(split(g.alternatives, '^'), "");
        why = formatv("expected type of '{0}' to be one of '{1}', but got '.{2}'", info.name,
                      listed, m);
        return false;
      }
    }
    if (!done) {
      why = formatv("expected a modifier of '{0}' that is modelled, but got '.{1}'", info.name, m);
      return false;
    }
  }
  for (; nextType < typeGroups.size(); ++nextType) {
    if (!typeGroups[nextType].optional) {
      why = formatv("expected '{0}' to have a type among '{1}', but got none", info.name,
                    join(split(typeGroups[nextType].alternatives, '^'), ""));
      return false;
    }
  }
  return true;
}
