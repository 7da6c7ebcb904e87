//===- Schedule.cpp - comparing and searching schedules -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Equality is member by member and hashing covers a subset of what is compared,
// so equal schedules are one attribute.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/FA4/IR/Schedule.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace fa4;

bool Home::operator==(const Home &other) const {
  return std::tie(step, result, space, allocation, slots, column, name) ==
         std::tie(other.step, other.result, other.space, other.allocation, other.slots,
                  other.column, other.name);
}

bool Role::operator==(const Role &other) const {
  return std::tie(name, steps, warps, replicas, firstWarp, registers, ctas) ==
         std::tie(other.name, other.steps, other.warps, other.replicas, other.firstWarp,
                  other.registers, other.ctas);
}

bool Role::runs(llvm::StringRef step) const {
  return llvm::any_of(steps, [&](llvm::StringRef pattern) {
    return pattern.consume_back("*") ? step.starts_with(pattern) : step == pattern;
  });
}

bool Exp2Share::operator==(const Exp2Share &other) const {
  return std::tie(degree, period, last, firstChunk, lastChunk) ==
         std::tie(other.degree, other.period, other.last, other.firstChunk, other.lastChunk);
}

bool Schedule::operator==(const Schedule &other) const {
  return std::tie(direction, tileRows, tileColumns, stages, ctas, work, workOrder, order, homes,
                  roles, splitP, rescaleLog2Threshold, exp2, grain, via, earlyAcquire, stagger,
                  turn, reduceColumns, reduceDepth, open) ==
         std::tie(other.direction, other.tileRows, other.tileColumns, other.stages, other.ctas,
                  other.work, other.workOrder, other.order, other.homes, other.roles, other.splitP,
                  other.rescaleLog2Threshold, other.exp2, other.grain, other.via,
                  other.earlyAcquire, other.stagger, other.turn, other.reduceColumns,
                  other.reduceDepth, other.open);
}

llvm::hash_code fa4::hash_value(const Schedule &schedule) {
  llvm::hash_code hash = llvm::hash_combine(
      schedule.direction, schedule.tileRows, schedule.tileColumns, schedule.stages, schedule.ctas,
      schedule.work, schedule.workOrder, schedule.open, schedule.order.size(),
      schedule.homes.size(), schedule.roles.size(),
      llvm::hash_combine_range(schedule.splitP.begin(), schedule.splitP.end()));
  for (const OrderEntry &entry : schedule.order) {
    hash = llvm::hash_combine(hash, entry.step.name, entry.step.index.value_or(-1), entry.stage);
  }
  for (const Home &home : schedule.homes) {
    hash = llvm::hash_combine(hash, home.step, home.space, home.allocation, home.slots);
  }
  for (const Role &role : schedule.roles) {
    hash = llvm::hash_combine(hash, role.name, role.warps, role.registers.value_or(0));
  }
  return hash;
}

int64_t Schedule::maxPipelineStage() const {
  int64_t stage = 0;
  for (const OrderEntry &entry : order) {
    stage = std::max(stage, entry.stage);
  }
  return stage;
}

const OrderEntry *Schedule::findStep(llvm::StringRef name, std::optional<int64_t> index) const {
  auto it = llvm::find_if(order, [&](const OrderEntry &entry) {
    return entry.step.name == name && entry.step.index == index;
  });
  return it == order.end() ? nullptr : &*it;
}

const Home *Schedule::findHome(llvm::StringRef step, std::optional<int64_t> result) const {
  auto it = llvm::find_if(
      homes, [&](const Home &home) { return home.step == step && home.result == result; });
  return it == homes.end() ? nullptr : &*it;
}

const Role *Schedule::findRoleOf(llvm::StringRef step) const {
  auto it = llvm::find_if(roles, [&](const Role &role) { return role.runs(step); });
  return it == roles.end() ? nullptr : &*it;
}
