//===- OpsCluster.cpp - mapa, remote stores, launch control -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// st.async and red.async are engine operations that announce themselves at an
// mbarrier beside their destination. A cluster launch request takes the next
// cluster that has not started out of the grid's list, and fails when there is
// none; the response is opaque to programs.
//
//===----------------------------------------------------------------------===//

#include "AsyncOps.h"
#include "Lanes.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

static constexpr uint64_t inWindow = (uint64_t(1) << sharedRankShift) - 1;

template <typename T>
static Step execMapa(Warp &w, const Inst &i, LaneMask m) {
  const T *a = w.in<T>(i.a);
  const uint32_t *b = w.in<uint32_t>(i.b);
  LaneMask bad =
      m & ~w.poisonIn(i.b) & maskLanes([&](unsigned l) { return b[l] >= w.cluster->ctas.size(); });
  if (bad) {
    return w.fault(FaultId::CtaRange, i, bad,
                   "expected a rank below " + Twine(w.cluster->ctas.size()) + ", but got " +
                       Twine(b[__builtin_ctz(bad)]));
  }
  // A generic address keeps its window, a shared one has none.
  bool generic = i.aux;
  forLanes(w.out<T>(i.d), m, [=](unsigned l) {
    uint64_t base = generic ? sharedWindow : 0;
    return T(base | uint64_t(b[l]) << sharedRankShift | (a[l] & inWindow));
  });
  setPoisonOf<T>(w, i.d, m, poisonOf<T>(w, i.a) | w.poisonIn(i.b));
  return Step::Next;
}

static void decodeMapa(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  d.inst.aux = !d.has("shared::cluster");
  d.inst.exec = bits == 64 ? execMapa<uint64_t> : execMapa<uint32_t>;
  d.inst.a = d.src(1, bits);
  d.inst.b = d.src(2, 32);
  d.inst.d = d.dst(0, bits);
  d.emit();
}

template <typename T>
static Step execCtaRank(Warp &w, const Inst &i, LaneMask m) {
  const T *a = w.in<T>(i.a);
  bool generic = i.aux;
  forLanes(w.out<uint32_t>(i.d), m, [=](unsigned l) {
    return uint32_t((uint64_t(a[l]) - (generic ? sharedWindow : 0)) >> sharedRankShift);
  });
  w.setPoison(i.d, m, poisonOf<T>(w, i.a));
  return Step::Next;
}

static void decodeCtaRank(Decoder &d) {
  unsigned bits = bitWidth(d.type());
  d.inst.aux = !d.has("shared::cluster");
  d.inst.exec = bits == 64 ? execCtaRank<uint64_t> : execCtaRank<uint32_t>;
  d.inst.a = d.src(1, bits);
  d.inst.d = d.dst(0, 32);
  d.emit();
}

//===----------------------------------------------------------------------===//
// st.async, red.async
//===----------------------------------------------------------------------===//

namespace {
struct RemoteExtra : Extra {
  AddressRef to, mbarrier;
  SmallVector<Reg, 4> values;
  unsigned elementBytes = 4;
  Type type = Type::None;
  ReduceOp reduce = ReduceOp::Invalid;
};

class RemoteStore final : public CopyOp {
public:
  const RemoteExtra *x = nullptr;
  uint64_t to = 0;
  uint8_t bytes[16];
  bool poisoned = false;

  const char *describe() const override { return "remote store"; }
  bool perform(Cluster &cluster) override {
    unsigned size = x->values.size() * x->elementBytes;
    Target t;
    if (!resolve(cluster, Space::SharedCluster, to, size, t) || !completesAt(cluster, mbarrier)) {
      return false;
    }
    touch(cluster, t, size, /*write=*/true, x->reduce != ReduceOp::Invalid);
    for (unsigned k = 0; k < size; ++k) {
      if (t.shadow[k] == shadowBarrier) {
        return fault(FaultId::MbOverwrite,
                     "expected a remote store to keep off live mbarriers, but got one");
      }
      if (x->reduce != ReduceOp::Invalid && t.shadow[k] == shadowPoison) {
        return fault(FaultId::UninitSmem,
                     "expected the destination of red.async to be written, but got a byte that "
                     "was not");
      }
      t.shadow[k] = poisoned ? shadowPoison : shadowValid;
    }
    if (x->reduce != ReduceOp::Invalid) {
      reduceElement(x->reduce, x->type, t.data, bytes, /*flush=*/false);
    } else {
      std::memcpy(t.data, bytes, size);
    }
    return mbarrierCompleteTx(actor(), mbarrier, size);
  }
};
} // namespace

static Step execRemote(Warp &w, const Inst &i, LaneMask m) {
  const auto &x = *static_cast<const RemoteExtra *>(i.extra);
  uint64_t to[warpLanes], barrier[warpLanes];
  if (!w.addresses(i, x.to.base, x.to.narrow, x.to.offset, m, to) ||
      !w.addresses(i, x.mbarrier.base, x.mbarrier.narrow, x.mbarrier.offset, m, barrier)) {
    return Step::Stop;
  }
  unsigned size = x.values.size() * x.elementBytes;
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    LaneMask bit = LaneMask(1) << l;
    if (to[l] & (size - 1)) {
      return w.fault(
          FaultId::Align, i, bit,
          formatv("expected an address aligned to {0}, but got {1:x}", size, to[l]).str());
    }
    if (to[l] >> sharedRankShift != barrier[l] >> sharedRankShift) {
      return w.fault(FaultId::CtaRange, i, bit,
                     "expected the mbarrier in the CTA of the destination, but got another rank");
    }
    auto op = std::make_unique<RemoteStore>();
    op->x = &x;
    op->issuer = &w;
    op->inst = &i;
    op->lane = bit;
    op->to = to[l];
    op->mbarrier = barrier[l];
    for (size_t k = 0; k < x.values.size(); ++k) {
      Reg r = x.values[k];
      uint64_t v = x.elementBytes == 8 ? w.in<uint64_t>(r)[l] : w.in<uint32_t>(r)[l];
      std::memcpy(op->bytes + k * x.elementBytes, &v, x.elementBytes);
      op->poisoned |= (x.elementBytes == 8 ? w.poisonWide(r) : w.poisonIn(r)) >> l & 1;
    }
    issueCopy(w, std::move(op), RaceKind::Remote);
  }
  return Step::Next;
}

static void decodeRemote(Decoder &d) {
  auto *x = d.extra<RemoteExtra>();
  x->type = d.type();
  x->elementBytes = bitWidth(x->type) / 8;
  if (d.source->opcode == "red") {
    x->reduce = parseReduce(d);
    if (x->reduce == ReduceOp::Invalid) {
      d.error("expected an operation such as '.add', but got none");
      return;
    }
  }
  x->to = d.address(0);
  const ptx::Operand &value = d.operand(1);
  ArrayRef<ptx::Operand> elements = value.kind == ptx::Operand::Kind::Vector
                                        ? ArrayRef<ptx::Operand>(value.elements)
                                        : ArrayRef<ptx::Operand>(value);
  for (const ptx::Operand &e : elements) {
    x->values.push_back(d.srcOf(e, bitWidth(x->type)));
  }
  if (x->values.size() * x->elementBytes > 16 || (x->values.size() & (x->values.size() - 1)) != 0) {
    d.error("expected 1, 2 or 4 elements of at most 16 bytes, but got others");
    return;
  }
  x->mbarrier = d.address(2);
  d.inst.exec = execRemote;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

//===----------------------------------------------------------------------===//
// Cluster launch control
//===----------------------------------------------------------------------===//

namespace {
/// The response: a mark, whether it succeeded, and the first CTA's position.
constexpr uint32_t responseMark = 0xC1C00000;

class CancelOp final : public CopyOp {
public:
  uint64_t to = 0;
  bool multicast = false;
  uint32_t response[4] = {};

  const char *describe() const override { return "cluster launch request"; }
  bool perform(Cluster &cluster) override {
    uint32_t first = to >> sharedRankShift, last = first;
    if (multicast) {
      first = 0;
      last = cluster.ctas.size() - 1;
    }
    for (uint64_t rank = first; rank <= last; ++rank) {
      Target t;
      uint64_t window = rank << sharedRankShift;
      if (!resolve(cluster, Space::SharedCluster, window | (to & inWindow), 16, t) ||
          !completesAt(cluster, window | (mbarrier & inWindow))) {
        return false;
      }
      touch(cluster, t, 16, /*write=*/true);
      std::memcpy(t.data, response, 16);
      std::memset(t.shadow, shadowValid, 16);
      if (!mbarrierCompleteTx(actor(), window | (mbarrier & inWindow), 16)) {
        return false;
      }
    }
    return true;
  }
};
} // namespace

static Step execTryCancel(Warp &w, const Inst &i, LaneMask m) {
  uint64_t to[warpLanes], barrier[warpLanes];
  const auto &x = *static_cast<const RemoteExtra *>(i.extra);
  if (!w.addresses(i, x.to.base, x.to.narrow, x.to.offset, m, to) ||
      !w.addresses(i, x.mbarrier.base, x.mbarrier.narrow, x.mbarrier.offset, m, barrier)) {
    return Step::Stop;
  }
  Grid &g = *w.grid;
  for (LaneMask left = m; left != 0; left &= left - 1) {
    unsigned l = __builtin_ctz(left);
    LaneMask bit = LaneMask(1) << l;
    if (to[l] % 16 != 0) {
      return w.fault(FaultId::Align, i, bit,
                     "expected a response aligned to 16 bytes, but got less");
    }
    if (w.cluster->cancelSeen) {
      return w.fault(FaultId::ClcRequest, i, bit,
                     "expected no request after a failed one was observed, but got another");
    }
    auto op = std::make_unique<CancelOp>();
    op->issuer = &w;
    op->inst = &i;
    op->lane = bit;
    op->to = to[l];
    op->mbarrier = barrier[l];
    op->multicast = i.aux;
    op->response[0] = responseMark;
    if (std::optional<uint64_t> index = g.cancelCluster(w.cluster->random)) {
      ++g.finished;
      uint64_t nx = g.launch.grid.x / g.clusterSize[0], ny = g.launch.grid.y / g.clusterSize[1];
      op->response[0] |= 1;
      op->response[1] = *index % nx * g.clusterSize[0];
      op->response[2] = *index / nx % ny * g.clusterSize[1];
      op->response[3] = *index / nx / ny * g.clusterSize[2];
    }
    issueCopy(w, std::move(op), RaceKind::Answer);
  }
  return Step::Next;
}

static void decodeTryCancel(Decoder &d) {
  auto *x = d.extra<RemoteExtra>();
  x->to = d.address(0);
  x->mbarrier = d.address(1);
  d.inst.aux = d.has("multicast::cluster::all");
  d.inst.exec = execTryCancel;
  d.inst.flags |= SwitchPoint;
  d.emit();
}

/// Word k of a 128-bit register.
static uint32_t responseWord(Warp &w, Reg r, unsigned lane, unsigned word) {
  int32_t plane = int32_t(word / 2) * 2 * slotBytes;
  return uint32_t(w.in<uint64_t>(r + plane)[lane] >> (32 * (word % 2)));
}

static LaneMask poison128(Warp &w, Reg r) {
  return w.poisonWide(r) | w.poisonWide(r + 2 * slotBytes);
}

static Step execIsCanceled(Warp &w, const Inst &i, LaneMask m) {
  LaneMask r = maskLanes([&](unsigned l) { return responseWord(w, i.a, l, 0) & 1; });
  if (m & ~r & ~poison128(w, i.a)) {
    w.cluster->cancelSeen = true;
  }
  w.setPred(i.q, m, r, poison128(w, i.a));
  return Step::Next;
}

static Step execFirstCta(Warp &w, const Inst &i, LaneMask m) {
  const auto *x = static_cast<const RemoteExtra *>(i.extra);
  LaneMask poison = poison128(w, i.a);
  // The ISA leaves the result of a failed request undefined, not the instruction:
  // FlashAttention-4 asks first and looks at is_canceled later.
  poison |= maskLanes([&](unsigned l) { return !(responseWord(w, i.a, l, 0) & 1); });
  for (size_t k = 0; k < x->values.size(); ++k) {
    unsigned word = i.aux + k + 1;
    forLanes(w.out<uint32_t>(x->values[k]), m,
             [&](unsigned l) { return word > 3 ? 0 : responseWord(w, i.a, l, word); });
    w.setPoison(x->values[k], m, poison);
  }
  return Step::Next;
}

static void decodeIsCanceled(Decoder &d) {
  d.inst.exec = execIsCanceled;
  d.inst.q = d.predDst(0);
  d.inst.a = d.src(1, 128);
  d.emit();
}

static void decodeFirstCta(Decoder &d) {
  auto *x = d.extra<RemoteExtra>();
  bool vector = d.isVector(0);
  if (vector != d.has("v4")) {
    d.error("expected a vector of four exactly with '.v4', but got otherwise");
    return;
  }
  if (vector) {
    for (const ptx::Operand &e : d.operand(0).elements) {
      x->values.push_back(d.dstOf(e, 32));
    }
  } else {
    x->values.push_back(d.dst(0, 32));
  }
  d.inst.aux = d.has("get_first_ctaid::y") ? 1 : d.has("get_first_ctaid::z") ? 2 : 0;
  d.inst.a = d.src(1, 128);
  d.inst.exec = execFirstCta;
  d.emit();
}

void fa4::sim::addClusterOpcodes(OpcodeTable &t) {
  t.add({
      {"mapa", "shared::cluster :u32|u64", 3, 3, decodeMapa},
      {"getctarank", "shared::cluster :u32|u64", 2, 2, decodeCtaRank},
      {"st.async",
       "weak shared::cluster mbarrier::complete_tx::bytes v2|v4 :b32|b64|u32|u64|s32|s64|f32|f64",
       3, 3, decodeRemote},
      {"red.async",
       "relaxed cluster shared::cluster mbarrier::complete_tx::bytes "
       "inc|dec|min|max|add|and|or|xor "
       ":u32|s32|u64|b32",
       3, 3, decodeRemote},
      {"clusterlaunchcontrol.try_cancel",
       "async shared::cta mbarrier::complete_tx::bytes multicast::cluster::all :b128", 2, 2,
       decodeTryCancel, Arch::Sm100a},
      {"clusterlaunchcontrol.query_cancel.is_canceled", ":pred :b128", 2, 2, decodeIsCanceled,
       Arch::Sm100a},
      {"clusterlaunchcontrol.query_cancel",
       "get_first_ctaid|get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z v4 :b32 :b128", 2,
       2, decodeFirstCta, Arch::Sm100a},
  });
}
