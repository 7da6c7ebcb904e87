//===- Engine.h - asynchronous operations -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An asynchronous operation is an object that the issuing instruction hands to
// the cluster's engine. The scheduler performs it at some later time. Operations
// with equal nonzero `order` key are performed in the order of their issue; all
// others in any order. Operations read their sources when performed, not when
// issued, so a source overwritten too early shows as wrong data.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_ENGINE_H
#define FA4_LIB_SIMULATOR_ENGINE_H

#include "fa4/Simulator/Program.h"

#include "llvm/ADT/Twine.h"

#include <memory>
#include <random>
#include <vector>

namespace fa4::sim {

class Cluster;
class Cta;
struct RaceTicket;
enum class FaultId : uint8_t;

class AsyncOp {
public:
  AsyncOp();
  virtual ~AsyncOp();
  /// Performs the operation, or one step of it: then `unfinished` is set, and the
  /// next step is performed as if it were another operation. False after a fault of
  /// severity Error.
  virtual bool perform(Cluster &cluster) = 0;
  /// May be performed now, apart from order (commit: always).
  virtual bool ready(Cluster &) { return true; }
  /// For reports: "tensor copy", "mma", …
  virtual const char *describe() const = 0;
  /// Reads shared memory of the issuing CTA that it has not read yet.
  virtual bool readsShared() const { return false; }
  /// Only tells somebody that others are done: the cruellest order lets it wait.
  virtual bool isSignal() const { return false; }
  /// A cp.async, which cp.async.mbarrier.arrive of the same thread waits for.
  virtual bool isThreadCopy() const { return false; }

  uint64_t order = 0;
  bool unfinished = false;
  const Inst *inst = nullptr;
  Warp *issuer = nullptr;
  LaneMask lane = 0;
  std::unique_ptr<RaceTicket> races; ///< null unless races are looked for

protected:
  /// Reports with the place of issue; returns false for errors, true for warnings.
  bool fault(FaultId id, const llvm::Twine &message);
};

class Engine {
public:
  void push(std::unique_ptr<AsyncOp> op);
  bool empty() const { return pending.empty(); }
  const std::vector<std::unique_ptr<AsyncOp>> &ops() const { return pending; }

  enum class Result : uint8_t { None, Performed, Stopped };
  /// Performs one operation that may go now: the oldest, or a seeded choice. If signals
  /// wait, none while there is another operation.
  Result performOne(Cluster &cluster, bool randomly, bool signalsWait);

private:
  std::vector<std::unique_ptr<AsyncOp>> pending;
};

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_ENGINE_H
