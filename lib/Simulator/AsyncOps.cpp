//===- AsyncOps.cpp - parts of asynchronous copies --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies never write over a live mbarrier and never move values that were never
// written into global memory.
//
//===----------------------------------------------------------------------===//

#include "AsyncOps.h"
#include "FloatMath.h"
#include "Races.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace fa4::sim;

void CopyOp::touch(Cluster &cluster, const Target &target, uint64_t bytes, bool write,
                   bool atomic) {
  if (Races *detector = cluster.races.get()) {
    detector->access(*this, target, bytes, write, atomic);
  }
}

bool CopyOp::completesAt(Cluster &cluster, uint64_t address) {
  if (Races *detector = cluster.races.get()) {
    const Mbarrier *b = findMbarrier(actor(), address, false);
    if (!b) {
      return false;
    }
    bool inProxy = races->kind == RaceKind::Bulk || races->kind == RaceKind::Answer;
    if (inProxy && !detector->copySees(*issuer, *b) &&
        !fault(FaultId::MbVisible,
               "expected fence.mbarrier_init or fence.proxy.async between the initialisation of "
               "the mbarrier and a copy that completes there, but got none")) {
      return false;
    }
    detector->completesAt(*this, *b);
  }
  return true;
}

void fa4::sim::issueCopy(Warp &w, std::unique_ptr<CopyOp> op, RaceKind kind) {
  if (Races *races = w.cluster->races.get()) {
    races->issue(*op, kind);
  }
  w.cluster->engine.push(std::move(op));
}

bool CopyOp::resolve(Cluster &cluster, Space space, uint64_t address, uint64_t bytes, Target &out) {
  out = cluster.resolve(*issuer->cta, space, address, bytes, 0, &issuer->lastRegion);
  if (out.data) {
    return true;
  }
  std::string place = out.fault == FaultId::OobGlobal ? issuer->grid->memory.describe(address)
                                                      : formatv("{0:x}", address).str();
  return fault(out.fault, formatv("expected {0} bytes of a copy to lie inside an allocation, but "
                                  "got {1}",
                                  bytes, place)
                              .str());
}

bool CopyOp::move(const Target &to, const Target &from, uint64_t bytes, bool toGlobal) {
  if (to.readOnly) {
    return fault(FaultId::ReadOnly, "expected a writable destination, but got a read-only buffer");
  }
  // A copy of nothing has places without memory.
  if (bytes == 0) {
    return true;
  }
  for (uint64_t k = 0; k < bytes; ++k) {
    if (from.shadow[k] == shadowBarrier || to.shadow[k] == shadowBarrier) {
      return fault(FaultId::MbOverwrite,
                   "expected a copy to keep off live mbarriers, but got byte " + Twine(k) +
                       " of it on one");
    }
    if (toGlobal && from.shadow[k] == shadowPoison) {
      return fault(FaultId::UninitSmem,
                   "expected the source of a copy to global memory to be written, but got byte " +
                       Twine(k) + " never written");
    }
  }
  std::memmove(to.data, from.data, bytes);
  std::memmove(to.shadow, from.shadow, bytes);
  return true;
}

ReduceOp fa4::sim::parseReduce(const Decoder &d) {
  for (StringRef m : d.source->modifiers) {
    ReduceOp op = StringSwitch<ReduceOp>(m)
                      .Case("add", ReduceOp::Add)
                      .Case("min", ReduceOp::Min)
                      .Case("max", ReduceOp::Max)
                      .Case("inc", ReduceOp::Inc)
                      .Case("dec", ReduceOp::Dec)
                      .Case("and", ReduceOp::And)
                      .Case("or", ReduceOp::Or)
                      .Case("xor", ReduceOp::Xor)
                      .Default(ReduceOp::Invalid);
    if (op != ReduceOp::Invalid) {
      return op;
    }
  }
  return ReduceOp::Invalid;
}

template <typename T>
static T reduceInteger(ReduceOp op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
  case ReduceOp::Add:
    return T(U(a) + U(b));
  case ReduceOp::Min:
    return a < b ? a : b;
  case ReduceOp::Max:
    return a < b ? b : a;
  case ReduceOp::Inc:
    return U(a) >= U(b) ? T(0) : T(U(a) + 1);
  case ReduceOp::Dec:
    return U(a) == 0 || U(a) > U(b) ? b : T(U(a) - 1);
  case ReduceOp::And:
    return T(U(a) & U(b));
  case ReduceOp::Or:
    return T(U(a) | U(b));
  case ReduceOp::Xor:
    return T(U(a) ^ U(b));
  case ReduceOp::Invalid:
    break;
  }
  return a;
}

template <typename T, typename F>
static void update(uint8_t *dst, F combine) {
  T *word = reinterpret_cast<T *>(dst);
  T old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(word, &old, combine(old), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
}

template <typename T>
static void reduceAs(ReduceOp op, uint8_t *dst, const uint8_t *src) {
  using U = std::make_unsigned_t<T>;
  U v;
  std::memcpy(&v, src, sizeof(v));
  update<U>(dst, [=](U old) { return U(reduceInteger<T>(op, T(old), T(v))); });
}

void fa4::sim::reduceElement(ReduceOp op, Type type, uint8_t *dst, const uint8_t *src, bool flush) {
  switch (type) {
  case Type::F32: {
    float v;
    std::memcpy(&v, src, 4);
    update<uint32_t>(dst, [=](uint32_t old) {
      float a = bitCast<float>(old);
      float r = op == ReduceOp::Add   ? (flush ? addFloat<Rounding::Nearest, true, false>(a, v)
                                               : addFloat<Rounding::Nearest, false, false>(a, v))
                : op == ReduceOp::Min ? minmaxFloat<false, false, false>(a, v)
                                      : minmaxFloat<true, false, false>(a, v);
      return bitCast<uint32_t>(r);
    });
    return;
  }
  case Type::F64: {
    double v;
    std::memcpy(&v, src, 8);
    update<uint64_t>(dst, [=](uint64_t old) {
      double a = bitCast<double>(old);
      return bitCast<uint64_t>(withPlainNan(a + v, a, v));
    });
    return;
  }
  case Type::F16:
  case Type::BF16: {
    uint16_t v;
    std::memcpy(&v, src, 2);
    bool bf = type == Type::BF16;
    update<uint16_t>(dst, [=](uint16_t old) {
      return op == ReduceOp::Add ? addHalfBits(old, v, bf)
                                 : minmaxHalfBits(old, v, bf, op == ReduceOp::Max);
    });
    return;
  }
  case Type::S32:
    return reduceAs<int32_t>(op, dst, src);
  case Type::S64:
    return reduceAs<int64_t>(op, dst, src);
  case Type::U64:
  case Type::B64:
    return reduceAs<uint64_t>(op, dst, src);
  default:
    return reduceAs<uint32_t>(op, dst, src);
  }
}

std::shared_ptr<AsyncGroup> fa4::sim::joinBulkGroup(Warp &w, unsigned lane) {
  if (!w.bulk) {
    w.bulk = std::make_unique<BulkGroups>();
  }
  std::shared_ptr<AsyncGroup> g = w.bulk->bulk[lane].current();
  ++g->pendingReads;
  ++g->pendingWrites;
  return g;
}
