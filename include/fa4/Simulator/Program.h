//===- Program.h - decoded kernels ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a flat array of instructions. Each holds the function that
// executes it for the 32 lanes of a warp and references to its operands. A
// register is an array of 32 lanes: 4 bytes per lane for 8-, 16- and 32-bit
// registers, 8 bytes for 64-bit ones, two 64-bit planes for 128-bit ones.
// Whatever the launch fixes (special registers, shared addresses) is a register
// too, filled when the warp starts; immediates are arrays in the constant pool.
// So an executor never asks what kind of operand it has.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_SIMULATOR_PROGRAM_H
#define FA4_SIMULATOR_PROGRAM_H

#include "fa4/Simulator/PtxAst.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace fa4::sim {

class Warp;
struct Inst;

/// One bit per lane, lane 0 lowest.
using LaneMask = uint32_t;
constexpr unsigned warpLanes = 32;
constexpr LaneMask allLanes = ~LaneMask(0);

/// What an executor tells the dispatch loop.
enum class Step : uint8_t {
  Next,       ///< go on with the following instruction
  Jump,       ///< the executor set the program counter
  Block,      ///< not possible yet: execute again after the next event
  Yield,      ///< done, but let others run (polls)
  Reschedule, ///< the fragments of the warp changed (divergence, join, exit)
  Stop        ///< a fault of severity Error was reported
};

using ExecFn = Step (*)(Warp &, const Inst &, LaneMask);

/// Byte offset into the register file; negative: into the constant pool.
using Reg = int32_t;
/// Index of a predicate register.
using Pred = int32_t;

/// Bytes of one 32-bit register: one slot. A 64-bit register takes two.
constexpr int32_t slotBytes = 128;
/// Slot 0 is never written, so it stands for "no poison"; four slots after it
/// take what is written to `_`.
constexpr Reg sinkReg = slotBytes;
constexpr int32_t firstFreeSlot = 5;
/// Reserved predicates.
constexpr Pred predFalse = 0, predTrue = 1, predSink = 2;
constexpr Pred firstFreePred = 3;
constexpr uint32_t noGuard = ~0u;
constexpr uint32_t noTarget = ~0u;

enum InstFlags : uint16_t {
  SwitchPoint = 1,   ///< schedulers may interleave here (sync, memory, async)
  EndsBlock = 2,     ///< branch, ret, exit, trap
  NarrowAddress = 4, ///< the base register of the address has 32 bits
  // Memory order of ld, st, atom, red and fence, for the race detector.
  OrderStrong = 8,
  OrderAcquire = 16,
  OrderRelease = 32,
  OrderScopeUnit = 64, ///< two bits: 0 CTA, 1 cluster, 2 beyond
  OrderScope = 192,
};

/// Base of what a family attaches to an instruction beyond the plain fields.
struct Extra {
  virtual ~Extra();
  /// Labels, then instruction indices, of an instruction with several targets.
  virtual llvm::MutableArrayRef<uint32_t> targets();
};

/// Registers an instruction touches, for checks against asynchronous writers.
struct RegUse {
  uint32_t slot;
  uint16_t slots;
  bool write;
};

struct Inst {
  ExecFn exec = nullptr;
  uint32_t guard = noGuard; ///< predicate index * 2 + negated
  uint32_t target = noTarget;
  Reg d = 0, a = 0, b = 0, c = 0; ///< registers or predicates, as the family likes
  Pred p = predTrue, q = predSink;
  uint64_t imm = 0;
  uint32_t aux = 0;
  uint16_t flags = 0;
  uint16_t useCount = 0;
  uint32_t useBegin = 0; ///< into Kernel::uses
  uint32_t reconverge = noTarget;
  uint32_t location = 0; ///< into Kernel::locations
  const Extra *extra = nullptr;
  const ptx::Instruction *source = nullptr;
};

/// Values that are registers filled at warp start.
enum class SpecialReg : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  SmId,
  NsmId,
  GridId,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtaRank,
  ClusterNctaRank,
  ClusterIdX,
  ClusterIdY,
  ClusterIdZ,
  NclusterIdX,
  NclusterIdY,
  NclusterIdZ,
  LanemaskEq,
  LanemaskLe,
  LanemaskLt,
  LanemaskGe,
  LanemaskGt,
  DynamicSmemSize,
  TotalSmemSize,
  SharedBase,
  GlobalBase
};

struct WarpInit {
  SpecialReg what;
  Reg reg;
  bool wide;          ///< 64-bit register
  uint64_t addend;    ///< SharedBase, GlobalBase: added to the address
  uint32_t index = 0; ///< GlobalBase: which module variable; SharedBase: 1 = dynamic memory
};

struct Param {
  llvm::StringRef name;
  uint32_t offset, size, alignment;
};

struct SourceLocation {
  unsigned file = 0, line = 0;
};

/// A module variable in .global or .const.
struct GlobalVariable {
  llvm::StringRef name;
  uint64_t size;
  uint32_t alignment;
  bool readOnly;
  std::vector<uint8_t> data; ///< empty: not initialised
};

struct Kernel {
  std::string name;
  const ptx::Module *module = nullptr;
  std::vector<Inst> code;
  std::vector<RegUse> uses;
  std::vector<uint8_t> constants; ///< the pool; offset 0..slotBytes unused
  uint32_t registerBytes = 0;
  uint32_t predicates = firstFreePred;
  Pred explicitClusterPred = 0; ///< %is_explicit_cluster; 0 = not used
  std::vector<WarpInit> warpInits;
  std::vector<Param> params;
  uint32_t paramBytes = 0;
  uint32_t staticSharedBytes =
      0; ///< offset where dynamic memory starts, from the window's data start
  uint32_t dynamicAlignment = 16;
  uint32_t localBytes = 0;
  std::vector<GlobalVariable> globals;
  std::vector<SourceLocation> locations;
  std::vector<std::unique_ptr<Extra>> extras;
  std::deque<std::string> strings; ///< text made by the decoder

  // Entry attributes; 0 = absent.
  uint32_t reqntid[3] = {0, 0, 0};
  uint32_t maxntid[3] = {0, 0, 0};
  uint32_t reqcluster[3] = {0, 0, 0};
  bool explicitCluster = false;
  uint32_t maxnreg = 0, minnctapersm = 0;
  /// cta_group used by tcgen05 instructions: 0 none, 1, 2.
  uint32_t tcgen05Group = 0;
  bool usesWgmma = false;

  llvm::StringRef fileName(unsigned index) const;
};

enum class Arch : uint8_t { Any, Sm90a, Sm100a };

/// A loaded module: syntax tree plus kernels decoded on demand.
class Program {
public:
  /// Parses the text. Nothing is decoded yet.
  static llvm::Expected<std::unique_ptr<Program>> load(llvm::StringRef text);
  ~Program();

  const ptx::Module &module() const { return *tree; }
  std::vector<llvm::StringRef> entries() const;

  /// Decodes one entry. All unknown opcodes and modifiers are listed in the
  /// error, one per line: `line N: UNSUPPORTED: expected …, but got …`.
  llvm::Expected<const Kernel *> kernel(llvm::StringRef name);

private:
  Program() = default;
  std::unique_ptr<ptx::Module> tree;
  llvm::StringMap<std::unique_ptr<Kernel>> kernels;
};

} // namespace fa4::sim

#endif // FA4_SIMULATOR_PROGRAM_H
