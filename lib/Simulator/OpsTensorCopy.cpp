//===- OpsTensorCopy.cpp - tensor-map copies (TMA) --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiled mode only. The map is read, and its checksum tested, when the engine
// performs the operation. The swizzle permutes the absolute shared address.
//
//===----------------------------------------------------------------------===//

#include "AsyncOps.h"
#include "Lanes.h"
#include "fa4/Simulator/TensorMap.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

namespace {
enum class TensorRoute : uint8_t { Load, Store, Reduce, Prefetch };

struct TensorExtra : Extra {
  TensorRoute route = TensorRoute::Load;
  AddressRef map, shared, mbarrier;
  SmallVector<Reg, 5> coordinates;
  Reg mask = 0;
  bool ownOnly = false, multicast = false, pair = false;
  ReduceOp reduce = ReduceOp::Invalid;
};

class TensorCopy final : public CopyOp {
public:
  const TensorExtra *x = nullptr;
  uint64_t mapAddress = 0, shared = 0;
  int32_t coordinates[kMaxMapRank] = {};
  uint16_t mask = 0;

  const char *describe() const override {
    return x->route == TensorRoute::Load    ? "tensor load"
           : x->route == TensorRoute::Store ? "tensor store"
                                            : "tensor reduction";
  }
  bool perform(Cluster &cluster) override;

private:
  bool readMap(Cluster &cluster, TensorMap &map);
  bool checkPlace(const TensorMap &map, uint64_t address);
  bool load(Cluster &cluster, const TensorMap &map, uint64_t address);
  bool readBox(Cluster &cluster, const TensorMap &map);
  bool store(Cluster &cluster, const TensorMap &map);
  bool performStore(Cluster &cluster);
  uint64_t barrierOf(uint32_t rank) const;
  /// Calls `visit` with a piece's shared address, its global one and its size, for
  /// what lies inside of the tensor.
  bool forEachPiece(const TensorMap &map, function_ref<bool(uint32_t, uint64_t, uint32_t)> visit);

  TensorMap map;                     ///< as it was when the operation began
  std::vector<uint8_t> data, shadow; ///< what a store has read
  uint32_t ranks = 0;                ///< to be signalled
  enum class Stage : uint8_t { First, Second } stage = Stage::First;
};
} // namespace

/// Piece of shared memory that a swizzle moves as a whole.
static constexpr uint32_t swizzlePiece = 16;

static Type reduceType(MapElement e) {
  switch (e) {
  case MapElement::U32:
    return Type::U32;
  case MapElement::S32:
    return Type::S32;
  case MapElement::U64:
    return Type::U64;
  case MapElement::S64:
    return Type::S64;
  case MapElement::F16:
    return Type::F16;
  case MapElement::BF16:
    return Type::BF16;
  case MapElement::F32:
  case MapElement::F32Ftz:
    return Type::F32;
  case MapElement::F64:
    return Type::F64;
  default:
    return Type::None;
  }
}

bool TensorCopy::readMap(Cluster &cluster, TensorMap &map) {
  if (mapAddress % 64 != 0) {
    return fault(FaultId::TmapBad, formatv("expected a tensor map aligned to 64 bytes, but got "
                                           "{0:x}",
                                           mapAddress)
                                       .str());
  }
  if (mapAddress - localWindow < windowSize || mapAddress - sharedWindow < windowSize) {
    return fault(FaultId::TmapSpace,
                 formatv("expected a tensor map in parameter, constant or global memory, but got "
                         "{0:x}",
                         mapAddress)
                     .str());
  }
  Target t;
  if (!resolve(cluster, Space::Generic, mapAddress, kMapBytes, t)) {
    return false;
  }
  Expected<TensorMap> decoded = TensorMap::decode(ArrayRef<uint8_t>(t.data, kMapBytes));
  if (!decoded) {
    return fault(FaultId::TmapBad, toString(decoded.takeError()));
  }
  map = *decoded;
  // tensormap.replace can put anything in.
  if (Error broken = map.verify()) {
    return fault(FaultId::TmapBad, toString(std::move(broken)));
  }
  if (map.rank != x->coordinates.size()) {
    return fault(FaultId::TmapBox, "expected " + Twine(map.rank) +
                                       " coordinates for the tensor map, but got " +
                                       Twine(x->coordinates.size()));
  }
  return true;
}

bool TensorCopy::checkPlace(const TensorMap &map, uint64_t address) {
  // PTX ISA, tensor copies: 128 bytes whatever the swizzle.
  if (address % 128 != 0) {
    return fault(FaultId::Align,
                 formatv("expected shared memory of a tensor copy to be aligned to 128 bytes, but "
                         "got {0:x}",
                         address)
                     .str());
  }
  // Measured on an H200: an illegal instruction otherwise.
  if (int64_t(coordinates[0]) * mapElementBytes(map.type) % 16 != 0) {
    return fault(FaultId::Align,
                 "expected the inner coordinate to start at a multiple of 16 bytes, but got " +
                     Twine(coordinates[0]) + " elements of " + Twine(mapElementBytes(map.type)));
  }
  uint32_t inner = map.boxCount(0) * mapElementBytes(map.type);
  bool swizzled = map.swizzle != Swizzle::None;
  if (inner % 16 != 0 || (swizzled && inner > swizzleSpan(map.swizzle))) {
    return fault(FaultId::TmapBox,
                 "expected the inner box to be a multiple of 16 bytes within the swizzle span, but "
                 "got " +
                     Twine(inner));
  }
  return true;
}

bool TensorCopy::load(Cluster &cluster, const TensorMap &map, uint64_t address) {
  Target whole;
  uint32_t bytes = map.footprint();
  // The permutation stays within its period, which may begin before the box.
  if (!checkPlace(map, address) || !resolve(cluster, Space::SharedCluster, address, bytes, whole)) {
    return false;
  }
  bool ok = true;
  uint32_t base = uint32_t(address);
  uint32_t element = mapElementBytes(map.type);
  walkBox(map, ArrayRef<int32_t>(coordinates, map.rank), [&](const BoxRun &run) {
    for (uint32_t at = 0; at < run.bytes && ok;) {
      uint32_t linear = base + run.offset + at;
      uint32_t piece = std::min(run.bytes - at, swizzlePiece - linear % swizzlePiece);
      uint32_t place = map.swizzle == Swizzle::None ? linear : swizzleAddress(map.swizzle, linear);
      Target to;
      ok = resolve(cluster, Space::SharedCluster, place, piece, to);
      if (!ok) {
        return;
      }
      touch(cluster, to, piece, /*write=*/true);
      if (run.inside) {
        Target from;
        ok = resolve(cluster, Space::Global, run.global + at, piece, from);
        if (!ok) {
          return;
        }
        touch(cluster, from, piece, /*write=*/false);
        ok = move(to, from, piece, false);
        for (uint32_t k = 0; ok && element == 4 && k < piece; k += element) {
          uint32_t bits;
          std::memcpy(&bits, to.data + k, element);
          bits = map.convertLoaded(bits);
          std::memcpy(to.data + k, &bits, element);
        }
      } else {
        for (uint32_t k = 0; k < piece; ++k) {
          to.data[k] = uint8_t(map.fillPattern() >> (8 * ((linear + k) % 2)));
          if (to.shadow[k] == shadowBarrier) {
            ok = fault(FaultId::MbOverwrite,
                       "expected a tensor load to keep off live mbarriers, but got one in its box");
            return;
          }
          to.shadow[k] = shadowValid;
        }
      }
      at += piece;
    }
  });
  return ok;
}

bool TensorCopy::forEachPiece(const TensorMap &map,
                              function_ref<bool(uint32_t, uint64_t, uint32_t)> visit) {
  bool ok = true;
  uint32_t base = uint32_t(shared);
  walkBox(map, ArrayRef<int32_t>(coordinates, map.rank), [&](const BoxRun &run) {
    for (uint32_t at = 0; run.inside && at < run.bytes && ok;) {
      uint32_t linear = base + run.offset + at;
      uint32_t piece = std::min(run.bytes - at, swizzlePiece - linear % swizzlePiece);
      uint32_t place = map.swizzle == Swizzle::None ? linear : swizzleAddress(map.swizzle, linear);
      ok = visit(place, run.global + at, piece);
      at += piece;
    }
  });
  return ok;
}

/// Reads the source of a store.
bool TensorCopy::readBox(Cluster &cluster, const TensorMap &map) {
  if (!checkPlace(map, shared)) {
    return false;
  }
  for (unsigned d = 0; d < map.rank; ++d) {
    if (coordinates[d] < 0 &&
        !fault(FaultId::TmapNegativeStore,
               "expected start coordinates of a tensor store not to be negative, but got " +
                   Twine(coordinates[d]))) {
      return false;
    }
  }
  return forEachPiece(map, [&](uint32_t place, uint64_t, uint32_t piece) {
    Target from;
    if (!resolve(cluster, Space::Shared, place, piece, from)) {
      return false;
    }
    touch(cluster, from, piece, /*write=*/false);
    data.insert(data.end(), from.data, from.data + piece);
    shadow.insert(shadow.end(), from.shadow, from.shadow + piece);
    return true;
  });
}

/// Writes what was read, piece by piece in the same order.
bool TensorCopy::store(Cluster &cluster, const TensorMap &map) {
  uint32_t element = mapElementBytes(map.type);
  Type type = reduceType(map.type);
  size_t next = 0;
  return forEachPiece(map, [&](uint32_t, uint64_t global, uint32_t piece) {
    Target from, to;
    from.data = data.data() + next;
    from.shadow = shadow.data() + next;
    next += piece;
    if (!resolve(cluster, Space::Global, global, piece, to)) {
      return false;
    }
    touch(cluster, to, piece, /*write=*/true, x->route == TensorRoute::Reduce);
    if (x->route == TensorRoute::Store) {
      return move(to, from, piece, true);
    }
    for (uint32_t k = 0; k < piece; ++k) {
      if (from.shadow[k] != shadowValid || to.shadow[k] != shadowValid) {
        return fault(from.shadow[k] != shadowValid ? FaultId::UninitSmem : FaultId::UninitGlobal,
                     "expected both sides of a reduction to be written, but got a byte that was "
                     "never written");
      }
    }
    for (uint32_t k = 0; k < piece; k += element) {
      reduceElement(x->reduce, type, to.data + k, from.data + k, /*flush=*/true);
    }
    return true;
  });
}

bool TensorCopy::performStore(Cluster &cluster) {
  if (stage == Stage::First) {
    if (!readMap(cluster, map)) {
      return false;
    }
    if (x->route == TensorRoute::Reduce && reduceType(map.type) == Type::None) {
      return fault(FaultId::TmapBox,
                   "expected an element type that can be reduced, but got another one");
    }
    bool ok = readBox(cluster, map);
    finishReads();
    ++cluster.changes;
    stage = Stage::Second;
    if (!ok || pause(cluster)) {
      return ok;
    }
  }
  bool ok = store(cluster, map);
  finishWrites();
  ++cluster.changes;
  return ok;
}

constexpr uint64_t kInWindow = (uint64_t(1) << sharedRankShift) - 1;

/// The mbarrier that is told of the copy to `rank`. Pair form: in the CTA of the
/// destination's pair that has the barrier's parity.
uint64_t TensorCopy::barrierOf(uint32_t rank) const {
  uint32_t own = mbarrier >> sharedRankShift;
  uint64_t signalled = x->pair ? ((rank & ~1u) | (own & 1)) : x->multicast ? rank : own;
  return signalled << sharedRankShift | (mbarrier & kInWindow);
}

bool TensorCopy::perform(Cluster &cluster) {
  if (x->route != TensorRoute::Load) {
    return performStore(cluster);
  }
  if (stage == Stage::First) {
    if (!readMap(cluster, map)) {
      return false;
    }
    ranks = x->multicast ? mask : 1u << (shared >> sharedRankShift);
    for (uint32_t left = ranks; left != 0; left &= left - 1) {
      uint32_t rank = countr_zero(left);
      uint64_t address = uint64_t(rank) << sharedRankShift | (shared & kInWindow);
      if (!completesAt(cluster, barrierOf(rank)) || !load(cluster, map, address)) {
        return false;
      }
    }
    stage = Stage::Second;
    if (pause(cluster)) {
      return true;
    }
  }
  // Each destination's CTA is told at a moment of its own.
  while (ranks != 0) {
    uint32_t rank = countr_zero(ranks);
    ranks &= ranks - 1;
    if (!mbarrierCompleteTx(actor(), barrierOf(rank), map.boxBytes())) {
      return false;
    }
    if (ranks != 0 && pause(cluster)) {
      return true;
    }
  }
  return true;
}

static uint64_t windowed(uint64_t address) {
  return address - sharedWindow < windowSize ? address - sharedWindow : address;
}

static Step execTensor(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const TensorExtra *>(i.extra);
  uint64_t map[warpLanes], shared[warpLanes] = {}, barrier[warpLanes] = {};
  bool load = x.route == TensorRoute::Load, prefetch = x.route == TensorRoute::Prefetch;
  if (!w.addresses(i, x.map.base, x.map.narrow, x.map.offset, m, map) ||
      (!prefetch && !w.addresses(i, x.shared.base, x.shared.narrow, x.shared.offset, m, shared)) ||
      (load &&
       !w.addresses(i, x.mbarrier.base, x.mbarrier.narrow, x.mbarrier.offset, m, barrier)) ||
      (x.mask && !w.checkUsed(i, x.mask, false, m, "the CTA mask"))) {
    return Step::Stop;
  }
  for (Reg c : x.coordinates) {
    if (!w.checkUsed(i, c, false, m, "the coordinate")) {
      return Step::Stop;
    }
  }
  if (prefetch) {
    return Step::Next;
  }
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    LaneMask bit = LaneMask(1) << l;
    auto op = std::make_unique<TensorCopy>();
    op->x = &x;
    op->issuer = &w;
    op->inst = &i;
    op->lane = bit;
    op->mapAddress = x.map.symbol == SymbolSpace::Param ? map[l] + paramWindow : map[l];
    op->shared = windowed(shared[l]);
    op->mbarrier = windowed(barrier[l]);
    op->mask = x.mask ? maskOperand(w, x.mask, l) : 0;
    for (size_t k = 0; k < x.coordinates.size(); ++k) {
      op->coordinates[k] = int32_t(w.in<uint32_t>(x.coordinates[k])[l]);
    }
    if (!load) {
      op->sourceShared = true;
      op->group = joinBulkGroup(w, l);
    } else {
      uint64_t offset = 0;
      Cta *target = w.cluster->sharedOwner(*w.cta, op->shared, offset);
      Cta *signalled = w.cluster->sharedOwner(*w.cta, op->mbarrier, offset);
      if (!target || !signalled || (op->mask >> w.cluster->ctas.size()) != 0) {
        return w.fault(FaultId::CtaRange, i, bit,
                       "expected destination, mbarrier and mask in the cluster, but got another "
                       "rank");
      }
      if (x.ownOnly && target != w.cta) {
        return w.fault(FaultId::OobSmem, i, bit,
                       "expected a shared::cta destination in the own CTA, but got rank " +
                           Twine(target->rank));
      }
      bool near = x.pair ? (target->rank | 1) == (signalled->rank | 1) : target == signalled;
      if (!x.multicast && !near) {
        return w.fault(FaultId::CtaRange, i, bit,
                       "expected the mbarrier in the CTA of the destination (or, with "
                       "cta_group::2, its pair), but got ranks " +
                           Twine(signalled->rank) + " and " + Twine(target->rank));
      }
    }
    issueCopy(w, std::move(op), load ? RaceKind::Bulk : RaceKind::BulkGroup);
  }
  return Step::Next;
}

static void decodeTensor(Decoder &d) {
  auto *x = d.extra<TensorExtra>();
  bool prefetch = d.has("prefetch"), reduce = d.has("reduce");
  bool load = d.has("mbarrier::complete_tx::bytes");
  x->route = prefetch ? TensorRoute::Prefetch
             : reduce ? TensorRoute::Reduce
             : load   ? TensorRoute::Load
                      : TensorRoute::Store;
  x->ownOnly = load && d.has("shared::cta");
  x->multicast = d.has("multicast::cluster");
  x->pair = d.has("cta_group::2");
  if (reduce) {
    x->reduce = parseReduce(d);
    if (x->reduce == ReduceOp::Invalid) {
      d.error("expected an operation such as '.add', but got none");
      return;
    }
  }
  unsigned rank = 0;
  for (StringRef m : d.source->modifiers) {
    if (m.size() == 2 && m[1] == 'd' && m[0] >= '1' && m[0] <= '5') {
      rank = m[0] - '0';
    }
  }
  unsigned at = load ? 1 : 0;
  const ptx::Operand &tensor = d.operand(at);
  if (tensor.kind != ptx::Operand::Kind::Address || tensor.elements.size() != 2 ||
      tensor.elements[1].elements.size() != rank || rank == 0) {
    d.error("expected [map, {coordinates}] with " + Twine(rank) +
            " coordinates, but got another "
            "operand");
    return;
  }
  ptx::Operand mapOnly;
  mapOnly.kind = ptx::Operand::Kind::Address;
  mapOnly.elements.push_back(tensor.elements[0]);
  mapOnly.offset = tensor.elements[0].offset;
  x->map = d.addressOf(mapOnly);
  for (const ptx::Operand &c : tensor.elements[1].elements) {
    x->coordinates.push_back(d.srcOf(c, 32));
  }
  if (!prefetch) {
    x->shared = d.address(load ? 0 : 1);
  }
  if (load) {
    x->mbarrier = d.address(2);
    if (x->multicast) {
      if (d.operandCount() < 4) {
        d.error("expected a CTA mask, but got none");
        return;
      }
      x->mask = d.src(3, 16);
    }
  }
  d.inst.exec = execTensor;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

void fa4::sim::addTensorCopyOpcodes(OpcodeTable &t) {
  t.add({
      {"cp.async.bulk.tensor",
       "1d|2d|3d|4d|5d shared::cta|shared::cluster|global shared::cta|global tile "
       "mbarrier::complete_tx::bytes|bulk_group multicast::cluster ^cta_group::1|^cta_group::2 "
       "L2::cache_hint",
       2, 5, decodeTensor},
      {"cp.reduce.async.bulk.tensor",
       "1d|2d|3d|4d|5d global shared::cta add|min|max|inc|dec|and|or|xor tile bulk_group "
       "L2::cache_hint",
       2, 3, decodeTensor},
      {"cp.async.bulk.prefetch.tensor", "1d|2d|3d|4d|5d L2 global tile L2::cache_hint", 1, 2,
       decodeTensor},
  });
}
