//===- OpsTensorMap.cpp - kernels that make tensor maps ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tensormap.replace edits the simulator's own encoding. Bytes that are all zero
// count as an empty map, since compilers fill every field of cleared memory; any
// other bytes must be a map. A copy that uses the map checks what came out.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"
#include "MemoryOps.h"
#include "fa4/Simulator/TensorMap.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
enum class MapField : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElementType,
  Interleave,
  Swizzle,
  Fill,
  Atomicity,
  Invalid
};

struct ReplaceExtra : Extra {
  MapField field = MapField::Invalid;
  uint32_t dimension = 0;
  Space space = Space::Generic;
  bool wide = false;
};

struct CopyFenceExtra : Extra {
  AddressRef to, from;
};
} // namespace

/// PTX ISA, tensormap.replace: the values of .elemtype.
static constexpr MapElement elementTypes[] = {
    MapElement::U8,   MapElement::U16,  MapElement::U32,    MapElement::S32,    MapElement::U64,
    MapElement::S64,  MapElement::F16,  MapElement::F32,    MapElement::F32Ftz, MapElement::F64,
    MapElement::BF16, MapElement::TF32, MapElement::TF32Ftz};
/// Same: the values of .swizzle_mode.
static constexpr Swizzle swizzleModes[] = {Swizzle::None, Swizzle::B32, Swizzle::B64,
                                           Swizzle::B128};

/// Maps lie at multiples of this (PTX ISA 5.5.8).
static constexpr uint64_t mapAlignment = 64;

static bool isSmall(MapField field) { return field >= MapField::ElementType; }
static bool hasDimension(MapField field) {
  return field >= MapField::BoxDim && field <= MapField::ElementStride;
}

static void replaceField(TensorMap &map, const ReplaceExtra &x, uint64_t value) {
  switch (x.field) {
  case MapField::GlobalAddress:
    map.base = value;
    break;
  case MapField::Rank:
    // One less than the rank; what is too large stays so for the copy to refuse.
    map.rank = unsigned(std::min<uint64_t>(value, kMaxMapRank)) + 1;
    break;
  case MapField::BoxDim:
    map.box[x.dimension] = uint32_t(value);
    break;
  case MapField::GlobalDim:
    map.sizes[x.dimension] = value;
    break;
  case MapField::GlobalStride:
    map.strides[x.dimension + 1] = value;
    break;
  case MapField::ElementStride:
    map.elementStrides[x.dimension] = uint32_t(value);
    break;
  case MapField::ElementType:
    map.type = elementTypes[value];
    break;
  case MapField::Swizzle:
    map.swizzle = swizzleModes[value];
    break;
  case MapField::Fill:
    map.nanFill = value != 0;
    break;
  case MapField::Interleave:
  case MapField::Atomicity:
  case MapField::Invalid:
    break;
  }
}

/// The 128 bytes of a map at a legal place, or null after a fault.
static uint8_t *mapBytes(Warp &w, const Inst &i, Space space, uint64_t address, Access access,
                         unsigned lane, uint8_t *&shadow) {
  if (address % mapAlignment != 0) {
    w.fault(
        FaultId::TmapBad, i, LaneMask(1) << lane,
        formatv("expected a tensor map aligned to {0} bytes, but got {1:x}", mapAlignment, address)
            .str());
    return nullptr;
  }
  return w.access(i, space, address, kMapBytes, access, lane, shadow);
}

static bool checkMapBytes(Warp &w, const Inst &i, Space space, unsigned lane,
                          const uint8_t *shadow) {
  if (all_of(ArrayRef<uint8_t>(shadow, kMapBytes), [](uint8_t s) { return s == shadowValid; })) {
    return true;
  }
  w.fault(uninitFault(space), i, LaneMask(1) << lane,
          "expected the 128 bytes of a tensor map to hold values, but got some never written");
  return false;
}

static Step execReplace(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const ReplaceExtra *>(i.extra);
  uint64_t address[warpLanes];
  if (!w.addresses(i, m, address) || !w.checkUsed(i, i.b, x.wide, m, "the new value")) {
    return Step::Stop;
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    uint8_t *shadow;
    uint8_t *p = mapBytes(w, i, x.space, address[l], Access::Write, l, shadow);
    if (!p || !checkMapBytes(w, i, x.space, l, shadow)) {
      return Step::Stop;
    }
    MutableArrayRef<uint8_t> bytes(p, kMapBytes);
    TensorMap map;
    if (any_of(bytes, [](uint8_t b) { return b != 0; })) {
      Expected<TensorMap> decoded = TensorMap::decode(bytes);
      if (!decoded) {
        return w.fault(FaultId::TmapBad, i, LaneMask(1) << l, toString(decoded.takeError()));
      }
      map = *decoded;
    }
    replaceField(map, x, x.wide ? w.in<uint64_t>(i.b)[l] : w.in<uint32_t>(i.b)[l]);
    map.encode(bytes);
  }
  ++w.cluster->changes;
  return Step::Next;
}

static MapField fieldOf(const Decoder &d) {
  for (StringRef m : d.source->modifiers) {
    MapField field = StringSwitch<MapField>(m)
                         .Case("global_address", MapField::GlobalAddress)
                         .Case("rank", MapField::Rank)
                         .Case("box_dim", MapField::BoxDim)
                         .Case("global_dim", MapField::GlobalDim)
                         .Case("global_stride", MapField::GlobalStride)
                         .Case("element_stride", MapField::ElementStride)
                         .Case("elemtype", MapField::ElementType)
                         .Case("interleave_layout", MapField::Interleave)
                         .Case("swizzle_mode", MapField::Swizzle)
                         .Case("fill_mode", MapField::Fill)
                         .Case("swizzle_atomicity", MapField::Atomicity)
                         .Default(MapField::Invalid);
    if (field != MapField::Invalid) {
      return field;
    }
  }
  return MapField::Invalid;
}

static void decodeReplace(Decoder &d) {
  auto *x = d.extra<ReplaceExtra>();
  x->field = fieldOf(d);
  x->wide = x->field == MapField::GlobalAddress || x->field == MapField::GlobalStride;
  unsigned value = hasDimension(x->field) ? 2 : 1;
  if (x->field == MapField::Invalid || d.operandCount() != value + 1 ||
      x->wide != (d.type() == Type::B64)) {
    d.error("expected a field, the operands that it has, and .b64 exactly for addresses and "
            "strides, but got others");
    return;
  }
  x->space = spaceOf(d, d.setAddress(0));
  if (hasDimension(x->field)) {
    // Strides are of all dimensions but the first.
    uint64_t dimensions = kMaxMapRank - (x->field == MapField::GlobalStride);
    if (d.immediate(1) >= dimensions) {
      d.error("expected a dimension below " + Twine(dimensions) + ", but got " +
              Twine(d.immediate(1)));
      return;
    }
    x->dimension = uint32_t(d.immediate(1));
  }
  if (isSmall(x->field)) {
    uint64_t limit = x->field == MapField::ElementType ? std::size(elementTypes)
                     : x->field == MapField::Swizzle   ? std::size(swizzleModes)
                     : x->field == MapField::Fill      ? 2
                                                       : 1;
    if (d.immediate(value) >= limit) {
      d.error("expected a value below " + Twine(limit) + " that is modelled, but got " +
              Twine(d.immediate(value)));
      return;
    }
  }
  d.inst.b = d.src(value, x->wide ? 64 : 32);
  d.inst.exec = execReplace;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

/// Copies a map out for the warp as a whole, and publishes it.
static Step execCopyFence(Warp &w, const Inst &i, LaneMask m) {
  Step s;
  if (!w.gatherAll(i, m, s)) {
    return s;
  }
  uint64_t to[warpLanes], from[warpLanes];
  const auto &x = *static_cast<const CopyFenceExtra *>(i.extra);
  if (!w.addresses(i, x.to.base, x.to.narrow, x.to.offset, w.live, to) ||
      !w.addresses(i, x.from.base, x.from.narrow, x.from.offset, w.live, from)) {
    return Step::Stop;
  }
  unsigned l = __builtin_ctz(w.live);
  uint8_t *shadow, *sourceShadow;
  uint8_t *p = mapBytes(w, i, Space::Shared, from[l], Access::Read, l, sourceShadow);
  if (!p || !checkMapBytes(w, i, Space::Shared, l, sourceShadow)) {
    return Step::Stop;
  }
  uint8_t *q = mapBytes(w, i, Space::Global, to[l], Access::Write, l, shadow);
  if (!q) {
    return Step::Stop;
  }
  std::memcpy(q, p, kMapBytes);
  std::memset(shadow, shadowValid, kMapBytes);
  ++w.cluster->changes;
  return Step::Next;
}

static void decodeCopyFence(Decoder &d) {
  auto *x = d.extra<CopyFenceExtra>();
  x->to = d.address(0);
  x->from = d.address(1);
  if (d.immediate(2) != kMapBytes) {
    d.error("expected a size of " + Twine(kMapBytes) + ", but got " + Twine(d.immediate(2)));
    return;
  }
  d.inst.exec = execCopyFence;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

void fa4::sim::addTensorMapOpcodes(OpcodeTable &t) {
  t.add({
      {"tensormap.replace",
       "tile global_address|rank|box_dim|global_dim|global_stride|element_stride|elemtype|"
       "interleave_layout|swizzle_mode|fill_mode|^swizzle_atomicity global|shared::cta b1024 "
       ":b32|b64",
       2, 3, decodeReplace},
      {"tensormap.cp_fenceproxy.sync.aligned",
       "global shared::cta tensormap::generic release cta|cluster|gpu|sys", 3, 3, decodeCopyFence},
  });
}
