//===- Opcodes.h - the table of opcodes and its decoder ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A family of instructions is one file `Ops<Family>.cpp`: executors, decode
// functions, and `add<Family>Opcodes`, which adds rows to the table. A row names
// the opcode with the modifiers that select it ("cp.async.bulk.tensor"), and
// every other modifier that it admits, as groups of alternatives:
//
//   "ftz rn|rz|rm|rp :f32|f32x2"   at most one of a group; `:` a group of types,
//                                  matched in order; `?` before `:` = may miss;
//                                  `^` before a name: ptxas takes it for sm_100
//                                  on, which the conformance table tells apart
//
// A modifier that the row does not name refuses the kernel at load time.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_LIB_SIMULATOR_OPCODES_H
#define FA4_LIB_SIMULATOR_OPCODES_H

#include "fa4/Simulator/Fault.h"
#include "fa4/Simulator/Program.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Twine.h"

namespace fa4::sim {

class Decoder;

struct OpcodeInfo {
  llvm::StringRef name; ///< "add", "mbarrier.try_wait", …
  llvm::StringRef modifiers;
  unsigned minOperands, maxOperands;
  void (*decode)(Decoder &);
  Arch arch = Arch::Any;
};

class OpcodeTable {
public:
  static const OpcodeTable &get();

  /// The row with most selecting modifiers that are all present, or null.
  const OpcodeInfo *lookup(const ptx::Instruction &inst) const;
  llvm::ArrayRef<OpcodeInfo> rows() const { return list; }

  void add(llvm::ArrayRef<OpcodeInfo> infos);

private:
  std::vector<OpcodeInfo> list;
  llvm::StringMap<llvm::SmallVector<unsigned, 4>> byRoot;
};

/// Scalar and packed types as PTX spells them.
enum class Type : uint8_t {
  None,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  B8,
  B16,
  B32,
  B64,
  B128,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
  Pred,
  E4M3,
  E5M2,
  E2M1,
  E3M2,
  E2M3,
  E4M3x2,
  E5M2x2,
  E2M1x2,
  E2M3x2,
  E3M2x2,
  UE8M0x2,
  B8x16,
  B1024,
  U4,
  S4,
  U16x2,
  S16x2
};
Type parseType(llvm::StringRef s);
unsigned bitWidth(Type t);
bool isSignedType(Type t);
bool isFloatType(Type t);

/// What kind of name an address starts with.
enum class SymbolSpace : uint8_t { None, Shared, Global, Local, Param, CallParam };

/// What an address operand resolves to.
struct AddressRef {
  Reg base = 0;
  bool narrow = false; ///< the base has 32 bits
  int64_t offset = 0;
  SymbolSpace symbol = SymbolSpace::None;
};

/// What a decode function sees: the instruction, checked against its row, and
/// the operand readers. Errors are sticky; a reader that fails returns a harmless
/// reference, so decode functions need no error paths.
class Decoder {
public:
  const ptx::Instruction *source = nullptr;
  const OpcodeInfo *info = nullptr;
  Inst inst; ///< to be filled in
  llvm::SmallVector<Type, 4> types;

  bool has(llvm::StringRef modifier) const { return source->hasModifier(modifier); }
  Type type(unsigned i = 0) const { return i < types.size() ? types[i] : Type::None; }
  unsigned operandCount() const { return source->operands.size(); }
  /// A missing operand reads as `_`, which every reader of a source refuses.
  const ptx::Operand &operand(unsigned i) const;
  bool isVector(unsigned i) const { return operand(i).kind == ptx::Operand::Kind::Vector; }

  /// Source of exactly `bits` (8, 16, 32, 64, 128); immediates are splat.
  Reg src(unsigned i, unsigned bits) { return srcOf(operand(i), bits); }
  Reg dst(unsigned i, unsigned bits) { return dstOf(operand(i), bits); }
  Reg srcOf(const ptx::Operand &op, unsigned bits);
  /// A source that may be written `reg+imm`, as LLVM does with matrix descriptors
  /// and ptxas reads it: the sum. `offset` gets the second part.
  Reg srcPlus(unsigned i, unsigned bits, int64_t &offset);
  Reg dstOf(const ptx::Operand &op, unsigned bits);
  /// Width of a register operand, 32 for immediates.
  unsigned widthOf(const ptx::Operand &op);
  /// Source register of whatever width it has (ld/st/cvt relax widths).
  Reg srcAny(const ptx::Operand &op, unsigned minBits, unsigned &actual);
  Reg dstAny(const ptx::Operand &op, unsigned minBits, unsigned &actual);
  /// Predicate source; `negated` is null when `!` is not allowed there.
  Pred predSrc(unsigned i, bool *negated = nullptr);
  Pred predDst(unsigned i) { return predDstOf(operand(i)); }
  Pred predDstOf(const ptx::Operand &op);
  /// `d|p`: the parts, or d with a sink when only d is written.
  void pairDst(unsigned i, unsigned bits, Reg &d, Pred &p);
  /// An integer literal.
  uint64_t immediate(unsigned i);
  uint64_t immediateOf(const ptx::Operand &op);
  bool isImmediate(unsigned i) const;
  /// `[reg+imm]`, `[symbol+imm]`, `[imm]`.
  AddressRef address(unsigned i) { return addressOf(operand(i)); }
  /// Puts the address into the fields that Warp::addresses reads (a, imm, flags).
  SymbolSpace setAddress(unsigned i);
  AddressRef addressOf(const ptx::Operand &op);
  /// A label in scope.
  uint32_t label(unsigned i) { return labelNamed(operand(i).name); }
  uint32_t labelNamed(llvm::StringRef name);
  /// The labels of a `.branchtargets` list.
  llvm::ArrayRef<llvm::StringRef> branchTargets(llvm::StringRef name);

  bool isPredicate(const ptx::Operand &op) const;
  /// Name of a special register operand, or empty.
  llvm::StringRef specialName(unsigned i) const;

  /// Attaches family data to the instruction.
  template <typename T>
  T *extra() {
    auto owned = std::make_unique<T>();
    T *raw = owned.get();
    kernel->extras.push_back(std::move(owned));
    inst.extra = raw;
    return raw;
  }

  /// Refuses the kernel. `what` reads `expected …, but got …`.
  void error(const llvm::Twine &what);
  void error(FaultId id, const llvm::Twine &what);
  /// Emits `inst` and starts another one for the same source line.
  void emit();

  Kernel *kernel = nullptr;
  class FunctionDecoder *function = nullptr;
  llvm::SmallVector<RegUse, 8> uses; ///< filled by the readers
};

/// A modifier of an instruction and the group of its row that admits it.
struct ModifierUse {
  unsigned group;
  llvm::StringRef name;
};

/// Everything between one opcode and its row; used by the loader. `uses` is for
/// those who count what kernels need.
bool checkModifiers(const ptx::Instruction &inst, const OpcodeInfo &info,
                    llvm::SmallVectorImpl<Type> &types, std::string &why,
                    llvm::SmallVectorImpl<ModifierUse> *uses = nullptr);

// Integer forms of opcodes that floats share; called from the float family.
void decodeIntegerAdd(Decoder &d);
void decodeIntegerSub(Decoder &d);
void decodeIntegerMul(Decoder &d);
void decodeIntegerMad(Decoder &d);
void decodeIntegerDiv(Decoder &d);
void decodeIntegerMinMax(Decoder &d, bool isMax);
void decodeIntegerUnary(Decoder &d, bool isAbs);
// Half-precision forms, in OpsHalf.cpp.
void decodeHalfBinary(Decoder &d);
void decodeHalfFma(Decoder &d);
void decodeHalfUnary(Decoder &d);
void decodeHalfApprox(Decoder &d);

void addMoveOpcodes(OpcodeTable &table);
void addIntegerOpcodes(OpcodeTable &table);
void addCarryOpcodes(OpcodeTable &table);
void addBitOpcodes(OpcodeTable &table);
void addFloatOpcodes(OpcodeTable &table);
void addApproxOpcodes(OpcodeTable &table);
void addCompareOpcodes(OpcodeTable &table);
void addConvertOpcodes(OpcodeTable &table);
void addControlOpcodes(OpcodeTable &table);
void addMemoryOpcodes(OpcodeTable &table);
void addAtomicOpcodes(OpcodeTable &table);
void addCacheOpcodes(OpcodeTable &table);
void addWarpOpcodes(OpcodeTable &table);
void addBarrierOpcodes(OpcodeTable &table);
void addMbarrierOpcodes(OpcodeTable &table);
void addFenceOpcodes(OpcodeTable &table);
void addAsyncCopyOpcodes(OpcodeTable &table);
void addBulkCopyOpcodes(OpcodeTable &table);
void addTensorCopyOpcodes(OpcodeTable &table);
void addTensorMapOpcodes(OpcodeTable &table);
void addClusterOpcodes(OpcodeTable &table);
void addMatrixOpcodes(OpcodeTable &table);
void addWgmmaOpcodes(OpcodeTable &table);
void addTmemOpcodes(OpcodeTable &table);
void addTcgen05Opcodes(OpcodeTable &table);
void addTcgen05CopyOpcodes(OpcodeTable &table);

} // namespace fa4::sim

#endif // FA4_LIB_SIMULATOR_OPCODES_H
