//===- CursorClasses.cpp - cursors that step together ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cursor is two registers that live through every loop. Both halves of P of both
// stages, say, are waited for equally often, so that one will do.
//
//===----------------------------------------------------------------------===//

#include "CursorClasses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace fa4::tile;

static Value elementOf(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case<AcquireOp, WaitOp, SettleOp>([](auto use) { return use.getElement(); })
      .Default([](Operation *) { return Value(); });
}

static std::optional<int64_t> fixedElementOf(Operation *op) {
  std::optional<uint64_t> fixed =
      TypeSwitch<Operation *, std::optional<uint64_t>>(op)
          .Case<AcquireOp, WaitOp, SettleOp>([](auto use) { return use.getStaticElement(); })
          .Default([](Operation *) { return std::nullopt; });
  return fixed ? std::optional<int64_t>(static_cast<int64_t>(*fixed)) : std::nullopt;
}

bool CursorKey::names(Operation *op) const {
  return isa<AcquireOp, WaitOp, SettleOp>(op) && isa<WaitOp>(op) != producer &&
         channelOf(op) == channel && elementOf(op) == element && fixedElementOf(op) == fixed;
}

unsigned CursorClasses::keyOf(Operation *op) const {
  const auto *key = llvm::find_if(keys, [&](const CursorKey &key) { return key.names(op); }).base();
  return static_cast<unsigned>(key - keys.data());
}

bool CursorClasses::advancesIn(Operation *op, unsigned cursorClass) const {
  return op
      ->walk([&](Operation *inner) {
        bool advances =
            isa<AcquireOp, WaitOp>(inner) && llvm::any_of(keys, [&](const CursorKey &key) {
              return key.cursorClass == cursorClass && key.names(inner);
            });
        return advances ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool holdsTokenStart(Operation &op) {
  return op
      .walk([](Operation *inner) {
        return isa<AcquireOp, WaitOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool fa4::tile::fillsSlots(ChannelOp channel) {
  std::optional<ArrayRef<int64_t>> starts = channel.getStarts();
  return starts && llvm::any_of(*starts, [](int64_t full) { return full != 0; });
}

/// How often `key` is advanced between the loops and branches of a region.
static std::string signature(Region &region, const CursorKey &key) {
  std::string text;
  for (Block &block : region) {
    unsigned count = 0;
    for (Operation &op : block) {
      if (isa<AcquireOp, WaitOp>(op)) {
        count += key.names(&op) ? 1 : 0;
      } else if (op.getNumRegions() != 0 && holdsTokenStart(op)) {
        text += std::to_string(count) + "[";
        count = 0;
        for (Region &inner : op.getRegions()) {
          text += signature(inner, key) + ";";
        }
        text += "]";
      }
    }
    text += std::to_string(count);
  }
  return text;
}

FailureOr<CursorClasses> fa4::tile::findCursorClasses(RoleOp role, const HalvesOfChannels &halves) {
  CursorClasses result;
  WalkResult walk = role.walk([&](Operation *op) {
    if (!isa<AcquireOp, WaitOp, SettleOp>(op)) {
      return WalkResult::advance();
    }
    ChannelOp channel = channelOf(op);
    if (isa<WaitOp>(op) && halves.lookup(channel).full.isNamed()) {
      return WalkResult::advance();
    }
    if (llvm::any_of(result.keys, [&](const CursorKey &key) { return key.names(op); })) {
      return WalkResult::advance();
    }
    CursorKey key{channel, !isa<WaitOp>(op), elementOf(op), fixedElementOf(op)};
    if (key.element && key.element.getParentRegion() != &role.getBody()) {
      op->emitOpError() << "expected an element of '@" << channel.getSymName()
                        << "' to be known at the head of the role, but got one of a loop";
      return WalkResult::interrupt();
    }
    for (const CursorKey &other : result.keys) {
      if (other.channel == channel && other.producer == key.producer &&
          (other.element || key.element) && other.element != key.element) {
        op->emitOpError() << "expected a role to name the elements of '@" << channel.getSymName()
                          << "' all by number or all by one value, but got both";
        return WalkResult::interrupt();
      }
    }
    result.keys.push_back(key);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted()) {
    return failure();
  }
  llvm::StringMap<unsigned> known;
  for (auto [number, key] : llvm::enumerate(result.keys)) {
    auto depth = static_cast<int64_t>(key.channel.getDepth());
    std::string text = signature(role.getBody(), key) + "/" + std::to_string(depth) +
                       (key.producer ? "/credit" : "");
    bool starts = key.producer && fillsSlots(key.channel);
    if (starts) {
      text += "/" + std::to_string(number);
    }
    auto [entry, added] = known.try_emplace(text, static_cast<unsigned>(result.classes.size()));
    if (added) {
      result.classes.push_back({depth, key.producer, std::nullopt});
      if (starts) {
        result.classes.back().startsOf = static_cast<unsigned>(number);
      }
    }
    key.cursorClass = entry->second;
  }
  return result;
}
