//===- Parameters.cpp - the kernel's interface ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kernel argument becomes the parameters that its uses need, in the order of
// the arguments: tensor maps for tensor copies, pointer, strides and extents for
// accesses by threads, scalars as they are. `fa4.param` says of each where it comes
// from, so that the host side needs no second rule.
//
//===----------------------------------------------------------------------===//

#include "Frame.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fa4::tile::gpu {

TensorBox tensorBoxOf(ViewOp view, GlobalType global) {
  TensorBox plan{llvm::to_vector(global.getBox()),
                 cast<SmemLayoutAttr>(view.getLayout()).getSwizzle(), 1};
  if (plan.swizzle != 0) {
    int64_t elementBytes = global.getElementType().getIntOrFloatBitWidth() / 8;
    int64_t columns = plan.swizzle / elementBytes;
    plan.panels = plan.box.back() / columns;
    plan.box.back() = columns;
  }
  return plan;
}

unsigned kernelArgumentOf(Value value) {
  if (auto part = value.getDefiningOp<SubrangeOp>()) {
    return kernelArgumentOf(part.getGlobal());
  }
  auto argument = cast<BlockArgument>(value);
  Operation *owner = argument.getOwner()->getParentOp();
  if (auto role = dyn_cast<RoleOp>(owner)) {
    unsigned leading = role.getBody().getNumArguments() - role.getUses().size();
    return kernelArgumentOf(role.getUses()[argument.getArgNumber() - leading]);
  }
  if (auto work = dyn_cast<WorkOp>(owner)) {
    return kernelArgumentOf(work.getUses()[argument.getArgNumber() - 1]);
  }
  return argument.getArgNumber();
}

namespace {
/// What the kernel does with one of its globals.
struct GlobalUse {
  SmallVector<TensorMap, 2> maps;
  bool byThreads = false;
  bool isStreamed = false;
};

/// The parameters in order, with their types and attributes.
class Signature {
public:
  explicit Signature(OpBuilder &b) : b(b) {}

  unsigned add(Type type, ParamKind kind, unsigned argument, int64_t dim = -1) {
    return add(type, fa4::ParamAttr::get(b.getContext(), kind, argument, dim, {}, 0), {});
  }

  unsigned addMap(const TensorMap &map, unsigned argument) {
    MLIRContext *context = b.getContext();
    constexpr int64_t bytes = 128, alignment = 64; // CUDA driver API, CUtensorMap
    SmallVector<NamedAttribute> attributes;
    attributes.emplace_back(
        b.getStringAttr(LLVM::LLVMDialect::getByValAttrName()),
        TypeAttr::get(LLVM::LLVMArrayType::get(IntegerType::get(context, 8), bytes)));
    attributes.emplace_back(b.getStringAttr(LLVM::LLVMDialect::getAlignAttrName()),
                            b.getI64IntegerAttr(alignment));
    // Without it the map is copied to local memory, where the copy engine does
    // not look.
    attributes.emplace_back(b.getStringAttr(NVVM::NVVMDialect::getGridConstantAttrName()),
                            b.getUnitAttr());
    auto param = fa4::ParamAttr::get(context, ParamKind::TensorMap, argument, map.cutDim, map.box,
                                     map.swizzle);
    return add(LLVM::LLVMPointerType::get(context), param, attributes);
  }

  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;

private:
  unsigned add(Type type, fa4::ParamAttr param, ArrayRef<NamedAttribute> others) {
    NamedAttrList list(others);
    list.append(b.getStringAttr(fa4::paramAttrName), param);
    types.push_back(type);
    attributes.push_back(list.getDictionary(b.getContext()));
    return types.size() - 1;
  }

  OpBuilder &b;
};
} // namespace

static SmallVector<GlobalUse> collectUses(const Lowering &lowering) {
  KernelOp kernel = lowering.kernel;
  SmallVector<GlobalUse> uses(kernel.getBody().getNumArguments());
  auto addMap = [&](Value global, ViewOp view) {
    TensorBox plan = tensorBoxOf(view, cast<GlobalType>(global.getType()));
    auto &maps = uses[kernelArgumentOf(global)].maps;
    auto part = global.getDefiningOp<SubrangeOp>();
    int64_t cutDim = part ? static_cast<int64_t>(part.getDim()) : -1;
    if (llvm::none_of(maps, [&](const TensorMap &map) {
          return map.box == plan.box && map.swizzle == plan.swizzle && map.cutDim == cutDim;
        })) {
      maps.push_back({plan.box, plan.swizzle, cutDim, Value()});
    }
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<IssueLoadOp>(op)) {
      addMap(load.getGlobal(), lowering.view(load.getViewAttr()));
      // The loop over tiles is no scf.for.
      uses[kernelArgumentOf(load.getGlobal())].isStreamed |=
          load->getParentOfType<scf::ForOp>() != nullptr;
    } else if (auto store = dyn_cast<IssueStoreOp>(op)) {
      addMap(store.getGlobal(), lowering.view(store.getViewAttr()));
    } else if (!isa<RoleOp, WorkOp, SubrangeOp>(op)) {
      for (Value operand : op->getOperands()) {
        if (isa<GlobalType>(operand.getType())) {
          uses[kernelArgumentOf(operand)].byThreads = true;
        }
      }
    }
  });
  return uses;
}

int64_t countThreads(KernelOp kernel) {
  int64_t warps = 0;
  for (auto role : kernel.getBody().getOps<RoleOp>()) {
    warps = std::max<int64_t>(warps, *role.getFirstWarp() + role.getWarps() * role.getReplicas());
  }
  // Registers are handed over by whole warpgroups.
  return llvm::alignTo(warps, kWarpsPerWarpgroup) * kernel.getTarget().getInfo().threadsPerWarp;
}

static int64_t countSharedBytes(KernelOp kernel) {
  int64_t end = 0;
  kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<PlacedAllocOp>(op)) {
      end = std::max(end, alloc.getSpace() == Space::Smem ? alloc.getEnd() : 0);
    } else if (auto barrier = dyn_cast<BarrierOp>(op)) {
      end = std::max(end, barrier.getEnd());
    } else if (auto tmem = dyn_cast<TmemAllocOp>(op)) {
      constexpr int64_t addressBytes = 4; // PTX ISA, tcgen05.alloc
      end = std::max(end, static_cast<int64_t>(tmem.getWord()) + addressBytes);
    }
  });
  return end;
}

/// A handle by which ops name `known`, by its pointer if threads access it.
static Value makeHandle(RewriterBase &b, Location loc, GlobalType global,
                        const GlobalContext &known) {
  Value pointer = known.pointer;
  if (!pointer) {
    pointer =
        LLVM::PoisonOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace));
  }
  return UnrealizedConversionCastOp::create(b, loc, TypeRange{global}, pointer).getResult(0);
}

SmallVector<Value> createFunction(Lowering &lowering, RewriterBase &b) {
  KernelOp kernel = lowering.kernel;
  MLIRContext *context = b.getContext();
  SmallVector<GlobalUse> uses = collectUses(lowering);
  Signature signature(b);

  struct Numbers {
    SmallVector<unsigned, 2> maps;
    unsigned first = 0; // of pointer, strides, extents; or the scalar
  };
  SmallVector<Numbers> numbers;
  for (auto [argument, use] : llvm::zip_equal(kernel.getEntry()->getArguments(), uses)) {
    Numbers &own = numbers.emplace_back();
    unsigned number = argument.getArgNumber();
    auto global = dyn_cast<GlobalType>(argument.getType());
    if (!global) {
      own.first = signature.add(argument.getType(), ParamKind::Scalar, number);
      continue;
    }
    for (const TensorMap &map : use.maps) {
      own.maps.push_back(signature.addMap(map, number));
    }
    if (use.byThreads) {
      own.first = signature.add(LLVM::LLVMPointerType::get(context, kGlobalSpace),
                                ParamKind::Pointer, number);
      for (int64_t dim = 0; dim < global.getRank(); ++dim) {
        signature.add(b.getI64Type(), ParamKind::Stride, number, dim);
      }
      for (int64_t dim = 0; dim < global.getRank(); ++dim) {
        signature.add(b.getI32Type(), ParamKind::Extent, number, dim);
      }
    }
  }

  int64_t threads = countThreads(kernel);
  bool persistent = kernel.getSchedule().getPlan().work == WorkKind::StaticPersistent;
  NamedAttrList attributes;
  attributes.append(b.getStringAttr(fa4::launchAttrName),
                    fa4::LaunchAttr::get(context, threads, countSharedBytes(kernel),
                                         /*cluster=*/lowering.isPair() ? 2 : 1,
                                         kernelArgumentOf(kernel.getWork().getTiles()),
                                         persistent));
  attributes.append(b.getStringAttr(NVVM::NVVMDialect::getKernelFuncAttrName()), b.getUnitAttr());
  attributes.append(b.getStringAttr(NVVM::NVVMDialect::getReqntidAttrName()),
                    b.getDenseI32ArrayAttr({static_cast<int32_t>(threads)}));
  // With both, ptxas knows the registers at entry; else it drops setmaxnreg.
  attributes.append(b.getStringAttr(NVVM::NVVMDialect::getMinctasmAttrName()),
                    b.getI32IntegerAttr(1));
  if (lowering.isPair()) {
    attributes.append(b.getStringAttr(NVVM::NVVMDialect::getClusterDimAttrName()),
                      b.getDenseI32ArrayAttr({2, 1, 1}));
  }
  b.setInsertionPoint(kernel);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), signature.types);
  lowering.function = LLVM::LLVMFuncOp::create(
      b, kernel.getLoc(), kernel.getSymName(), type, LLVM::Linkage::External, /*dsoLocal=*/false,
      LLVM::CConv::C, /*comdat=*/SymbolRefAttr(), attributes, signature.attributes);
  // exp2 and other approximations are one instruction only if denormals vanish.
  lowering.function.setDenormalFpMathF32(b.getStringAttr("preserve-sign"));

  Block *entry = lowering.function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  Location loc = kernel.getLoc();
  SmallVector<Value> values;
  for (auto [argument, use, own] :
       llvm::zip_equal(kernel.getEntry()->getArguments(), uses, numbers)) {
    auto global = dyn_cast<GlobalType>(argument.getType());
    if (!global) {
      values.push_back(entry->getArgument(own.first));
      continue;
    }
    GlobalContext known{argument.getArgNumber(), use.maps, Value(), {}, {}, use.isStreamed};
    for (auto [map, number] : llvm::zip_equal(known.maps, own.maps)) {
      map.pointer = entry->getArgument(number);
    }
    if (use.byThreads) {
      auto rank = static_cast<unsigned>(global.getRank());
      known.pointer = entry->getArgument(own.first);
      for (unsigned dim = 0; dim < rank; ++dim) {
        known.strides.push_back(entry->getArgument(own.first + 1 + dim));
        known.extents.push_back(entry->getArgument(own.first + 1 + rank + dim));
      }
    }
    Value handle = makeHandle(b, loc, global, known);
    lowering.globals[handle] = std::move(known);
    values.push_back(handle);
  }
  return values;
}

/// Numbers that later rewriting cannot replace: it knows no pattern for these ops.
void bindRanges(Lowering &lowering, RewriterBase &b) {
  SmallVector<SubrangeOp> parts;
  lowering.function.walk([&](SubrangeOp part) { parts.push_back(part); });
  for (SubrangeOp part : parts) {
    Location loc = part.getLoc();
    b.setInsertionPoint(part);
    auto dim = static_cast<int64_t>(part.getDim());
    GlobalContext known = lowering.global(part.getGlobal());
    Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    Value start = arith::MaxSIOp::create(b, loc, part.getStart(), zero);
    Value end = arith::MaxSIOp::create(b, loc, part.getEnd(), start);
    known.range = RangeOfDim{dim, start, end};
    if (known.pointer) {
      Value &extent = known.extents[dim];
      Value inside = arith::MinSIOp::create(b, loc, end, extent);
      extent = arith::MaxSIOp::create(b, loc, arith::SubIOp::create(b, loc, inside, start), zero);
      Value wide = arith::ExtSIOp::create(b, loc, b.getI64Type(), start);
      Value offset = arith::MulIOp::create(b, loc, wide, known.strides[dim]);
      known.pointer = LLVM::GEPOp::create(b, loc, known.pointer.getType(), b.getI8Type(),
                                          known.pointer, ValueRange{offset});
    }
    Value handle = makeHandle(b, loc, cast<GlobalType>(part.getResult().getType()), known);
    lowering.globals[handle] = std::move(known);
    b.replaceOp(part, handle);
  }
}

} // namespace fa4::tile::gpu
