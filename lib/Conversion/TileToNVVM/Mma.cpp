//===- Mma.cpp - matrix products on tensor memory -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is cut along k into instructions of 32 bytes of k. Operands in shared
// memory are described by 64-bit words, formed once from the view's address; a
// step, a slot or a panel only adds to the address in them.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"
#include "Lowering.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace fa4::tile;
using namespace fa4::tile::gpu;

//===----------------------------------------------------------------------===//
// Bit layouts
//===----------------------------------------------------------------------===//

uint64_t fa4::tile::gpu::sharedDescriptorConstant(SmemLayoutAttr layout, int64_t panelPitch) {
  // PTX ISA, tcgen05 shared memory descriptor: bits 16-29 leading and 32-45 stride
  // byte offset in units of 16, 46 fixed to 1, 61-63 the swizzle (2: 128 bytes, 4:
  // 64, 6: 32). Groups of 8 rows follow each other; the leading offset goes from
  // one panel to the next of an mn-major operand and is not used for a k-major one.
  constexpr uint64_t rowsPerGroup = 8, unit = 16, fixed = uint64_t(1) << 46;
  auto swizzle = static_cast<uint64_t>(layout.getSwizzle());
  uint64_t code = swizzle == 128 ? 2 : swizzle == 64 ? 4 : 6;
  bool kMajor = layout.getMajor() == Major::KMajor;
  uint64_t leading = kMajor ? 1 : static_cast<uint64_t>(panelPitch) / unit;
  uint64_t stride = rowsPerGroup * swizzle / unit;
  return leading << 16 | stride << 32 | fixed | code << 61;
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

bool fa4::tile::gpu::isMmaOperandType(Type type) { return operandCode(type).has_value(); }

uint32_t fa4::tile::gpu::instructionDescriptor(Type a, Type b, bool aMnMajor, bool bMnMajor,
                                               int64_t rows, int64_t columns) {
  // PTX ISA, tcgen05 instruction descriptor: bits 4-5 the type of D (1: f32), 7-9
  // and 10-12 those of A and B, 15 and 16 their majors (1: mn), 17-22 N / 8, 24-28
  // M / 16.
  constexpr uint32_t f32 = 1, columnUnit = 8, rowUnit = 16;
  return f32 << 4 | *operandCode(a) << 7 | *operandCode(b) << 10 | uint32_t(aMnMajor) << 15 |
         uint32_t(bMnMajor) << 16 | static_cast<uint32_t>(columns) / columnUnit << 17 |
         static_cast<uint32_t>(rows) / rowUnit << 24;
}

int64_t fa4::tile::gpu::stepByteOffset(ViewOp view, int64_t step, int64_t kBytes) {
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

//===----------------------------------------------------------------------===//
// tile.issue_mma
//===----------------------------------------------------------------------===//

/// `value` as LLVM cannot see through it, so that sums with it are not formed before
/// the loops: constants beside a register cost nothing, but sixteen sums a stage do.
static Value pin(OpBuilder &b, Location loc, Value value) {
  bool wide = value.getType().isInteger(64);
  return LLVM::InlineAsmOp::create(b, loc, TypeRange{value.getType()}, ValueRange{value},
                                   wide ? "mov.b64 $0, $1;" : "mov.b32 $0, $1;",
                                   wide ? "=l,l" : "=r,r", /*has_side_effects=*/true,
                                   /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                   LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

namespace {
/// An operand in shared memory.
class SharedOperand {
public:
  SharedOperand(OpBuilder &b, Location loc, const Lowering &lowering, const RoleContext &role,
                const Place &place)
      : view(lowering.view(place.symbol)), kBytes(lowering.target().mmaKBytes) {
    constexpr int64_t unitLog2 = 4, unit = 16; // addresses in descriptors count 16 bytes
    PlacedAllocOp memory = lowering.allocOf(view);
    RegionOffset offset =
        regionOffset(b, loc, place, static_cast<int64_t>(memory.getStride()) / unit);
    auto constant = static_cast<int64_t>(
        sharedDescriptorConstant(cast<SmemLayoutAttr>(view.getLayout()), getPanelPitch(view)));
    // In this order everything but the slot is formed before the loops.
    Value address = LLVM::PtrToIntOp::create(b, loc, b.getI32Type(), role.smem);
    Value units = LLVM::LShrOp::create(b, loc, address, i32Constant(b, loc, unitLog2));
    Value wide = LLVM::ZExtOp::create(b, loc, b.getI64Type(), units);
    base = LLVM::OrOp::create(b, loc, wide, i64Constant(b, loc, constant));
    if (offset.rest) {
      Value rest = LLVM::ZExtOp::create(b, loc, b.getI64Type(), offset.rest);
      base = LLVM::AddOp::create(b, loc, base, rest);
    } else {
      base = pin(b, loc, base);
    }
    known = static_cast<int64_t>(memory.getStart() + view.getOffset()) / unit + offset.known;
  }

  Value descriptor(OpBuilder &b, Location loc, int64_t step) const {
    constexpr int64_t unit = 16;
    int64_t offset = known + stepByteOffset(view, step, kBytes) / unit;
    return LLVM::AddOp::create(b, loc, base, i64Constant(b, loc, offset));
  }

private:
  ViewOp view;
  int64_t kBytes;
  Value base;
  int64_t known = 0;
};

bool isMnMajor(ViewOp view) {
  auto layout = dyn_cast<SmemLayoutAttr>(view.getLayout());
  return layout && layout.getMajor() == Major::MnMajor;
}

struct IssueMmaLowering : LoweringPattern<IssueMmaOp> {
  using LoweringPattern::LoweringPattern;

  LogicalResult matchAndRewrite(IssueMmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &b) const override {
    if (!op.getAView() || !op.getAccView()) {
      return failure(); // a product of fragments is another machine's
    }
    Location loc = op.getLoc();
    const RoleContext &role = lowering.role(op);
    lowering.emitByOne(b, loc, role, [&](OpBuilder &b) { emit(b, op, adaptor, role); });
    b.eraseOp(op);
    return success();
  }

private:
  void emit(OpBuilder &b, IssueMmaOp op, OneToNOpAdaptor adaptor, RoleContext role) const {
    Location loc = op.getLoc();
    role.tmem = pin(b, loc, role.tmem);
    ViewOp aView = lowering.view(op.getAViewAttr()), bView = lowering.view(op.getBViewAttr());
    FragType acc = lowering.view(op.getAccViewAttr()).getTileType();
    Place aPlace(op.getAViewAttr(), op.getA(), adaptor.getA(), adaptor.getAElement(),
                 op.getStaticAElementAttr());
    Place bPlace(op.getBViewAttr(), op.getB(), adaptor.getB(), adaptor.getBElement(),
                 op.getStaticBElementAttr());
    Place accPlace(op.getAccViewAttr(), op.getAcc(), adaptor.getAcc(), adaptor.getAccElement(),
                   op.getStaticAccElementAttr());

    Type aType = aView.getTileType().getElementType(), bType = bView.getTileType().getElementType();
    int64_t elementBytes = bType.getIntOrFloatBitWidth() / 8;
    FragType bTile = bView.getTileType();
    int64_t inner = isMnMajor(bView) ? bTile.getRows() : bTile.getColumns();
    int64_t steps = inner * elementBytes / lowering.target().mmaKBytes;
    NVVM::Tcgen05MMAKind kind =
        elementBytes == 1 ? NVVM::Tcgen05MMAKind::F8F6F4 : NVVM::Tcgen05MMAKind::F16;
    Value descriptor =
        i32Constant(b, loc,
                    instructionDescriptor(aType, bType, isMnMajor(aView), isMnMajor(bView),
                                          acc.getRows(), acc.getColumns()));

    std::optional<SharedOperand> aShared;
    if (aView.getSpace() == Space::Smem) {
      aShared.emplace(b, loc, lowering, role, aPlace);
    }
    SharedOperand bShared(b, loc, lowering, role, bPlace);
    Value accumulator = lowering.tmemPointer(b, loc, role, accPlace, 0, /*ownLanes=*/false);
    Value yes = LLVM::ConstantOp::create(b, loc, b.getBoolAttr(true));
    Value accumulates = yes;
    if (op.getOverwrite()) {
      accumulates = LLVM::ConstantOp::create(b, loc, b.getBoolAttr(false));
    } else if (!adaptor.getUnless().empty()) {
      accumulates = LLVM::XOrOp::create(b, loc, adaptor.getUnless().front(), yes);
    }
    constexpr int64_t cellBytes = 4; // a column of tensor memory holds 32 bits
    for (int64_t step = 0; step < steps; ++step) {
      Value a = aShared ? aShared->descriptor(b, loc, step)
                        : lowering.tmemPointer(b, loc, role, aPlace,
                                               step * lowering.target().mmaKBytes / cellBytes,
                                               /*ownLanes=*/false);
      NVVM::Tcgen05MMAOp::create(b, loc, kind, NVVM::CTAGroupKind::CTA_1,
                                 NVVM::Tcgen05MMACollectorOp::DISCARD, /*aShift=*/false,
                                 accumulator, a, bShared.descriptor(b, loc, step), descriptor,
                                 step == 0 ? accumulates : yes, Value(), Value());
    }
  }
};
} // namespace

void fa4::tile::gpu::populateMmaPatterns(const TileToNVVMTypeConverter &converter,
                                         RewritePatternSet &patterns, const Lowering &lowering) {
  patterns.add<IssueMmaLowering>(converter, patterns.getContext(), lowering);
}
