//===- Descriptors.cpp - words that describe matrix operands --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operand in shared memory is described by a 64-bit word, formed once from its
// view's address; a step, a slot or a panel only adds to the address in it.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"

using namespace mlir;

namespace fa4::tile::gpu {

uint64_t sharedDescriptorConstant(SmemLayoutAttr layout, int64_t panelPitch,
                                  const TargetInfo &target) {
  // PTX ISA, matrix descriptors of wgmma and tcgen05: bits 16-29 leading and 32-45
  // stride byte offset in units of 16. Groups of 8 rows follow each other; the
  // leading offset goes from one panel to the next of an mn-major operand and is
  // not used for a k-major one.
  constexpr uint64_t rowsPerGroup = 8, unit = 16;
  auto swizzle = static_cast<uint64_t>(layout.getSwizzle());
  bool kMajor = layout.getMajor() == Major::KMajor;
  uint64_t leading = kMajor ? 1 : static_cast<uint64_t>(panelPitch) / unit;
  uint64_t stride = rowsPerGroup * swizzle / unit;
  uint64_t word = leading << 16 | stride << 32;
  if (target.asyncWarpgroupMma) {
    // wgmma: 62-63 the swizzle (1: 128 bytes, 2: 64, 3: 32).
    uint64_t code = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
    return word | code << 62;
  }
  // tcgen05: 46 fixed to 1, 61-63 the swizzle (2: 128 bytes, 4: 64, 6: 32).
  constexpr uint64_t fixed = uint64_t(1) << 46;
  uint64_t code = swizzle == 128 ? 2 : swizzle == 64 ? 4 : 6;
  return word | fixed | code << 61;
}

/// The type field of an operand; none if the unit does not take the type.
static std::optional<uint32_t> operandCode(Type type) {
  // PTX ISA, tcgen05 instruction descriptor, .kind::f16 and .kind::f8f6f4.
  if (type.isF16() || isa<Float8E4M3FNType>(type)) {
    return 0;
  }
  if (type.isBF16() || isa<Float8E5M2Type>(type)) {
    return 1;
  }
  return std::nullopt;
}

bool isMmaOperandType(Type type) { return operandCode(type).has_value(); }

uint32_t instructionDescriptor(Type a, Type b, bool aMnMajor, bool bMnMajor, int64_t rows,
                               int64_t columns) {
  // PTX ISA, tcgen05 instruction descriptor: bits 4-5 the type of D (1: f32), 7-9
  // and 10-12 those of A and B, 15 and 16 their majors (1: mn), 17-22 N / 8, 24-28
  // M / 16.
  constexpr uint32_t f32 = 1, columnUnit = 8, rowUnit = 16;
  return f32 << 4 | *operandCode(a) << 7 | *operandCode(b) << 10 | uint32_t(aMnMajor) << 15 |
         uint32_t(bMnMajor) << 16 | static_cast<uint32_t>(columns) / columnUnit << 17 |
         static_cast<uint32_t>(rows) / rowUnit << 24;
}

int64_t stepByteOffset(ViewOp view, int64_t step, int64_t kBytes) {
  auto layout = cast<SmemLayoutAttr>(view.getLayout());
  int64_t swizzle = layout.getSwizzle();
  if (layout.getMajor() == Major::KMajor) {
    int64_t stepsPerPanel = swizzle / kBytes;
    return step / stepsPerPanel * getPanelPitch(view) + step % stepsPerPanel * kBytes;
  }
  int64_t elementBytes = view.getTileType().getElementType().getIntOrFloatBitWidth() / 8;
  int64_t rowsPerStep = kBytes / elementBytes;
  return step * rowsPerStep * swizzle;
}

bool isMnMajor(ViewOp view) {
  auto layout = dyn_cast<SmemLayoutAttr>(view.getLayout());
  return layout && layout.getMajor() == Major::MnMajor;
}

Value pinValue(OpBuilder &b, Location loc, Value value) {
  bool wide = value.getType().isInteger(64);
  return LLVM::InlineAsmOp::create(b, loc, TypeRange{value.getType()}, ValueRange{value},
                                   wide ? "mov.b64 $0, $1;" : "mov.b32 $0, $1;",
                                   wide ? "=l,l" : "=r,r", /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

SharedOperand::SharedOperand(OpBuilder &b, Location loc, const Lowering &lowering,
                             const RoleContext &role, const Place &place)
    : view(lowering.view(place.symbol)), kBytes(lowering.target().mmaKBytes) {
  PlacedAllocOp memory = lowering.allocOf(view);
  RegionOffset offset =
      regionOffset(b, loc, place, static_cast<int64_t>(memory.getStride()) / kUnit);
  auto constant = static_cast<int64_t>(sharedDescriptorConstant(
      cast<SmemLayoutAttr>(view.getLayout()), getPanelPitch(view), lowering.target()));
  // In this order everything but the slot is formed before the loops.
  Value address = LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), role.smem);
  Value units = LLVM::LShrOp::create(b, loc, address, i32Constant(b, loc, llvm::Log2_64(kUnit)));
  Value wide = LLVM::ZExtOp::create(b, loc, b.getI64Type(), units);
  word = LLVM::OrOp::create(b, loc, wide, i64Constant(b, loc, constant));
  if (offset.rest) {
    Value rest = LLVM::ZExtOp::create(b, loc, b.getI64Type(), offset.rest);
    word = LLVM::AddOp::create(b, loc, word, rest);
  } else {
    word = pinValue(b, loc, word);
  }
  known = static_cast<int64_t>(memory.getStart() + view.getOffset()) / kUnit + offset.known;
}

int64_t SharedOperand::offset(int64_t step) const {
  return known + stepByteOffset(view, step, kBytes) / kUnit;
}

Value SharedOperand::descriptor(OpBuilder &b, Location loc, int64_t step) const {
  return LLVM::AddOp::create(b, loc, word, i64Constant(b, loc, offset(step)));
}

} // namespace fa4::tile::gpu
