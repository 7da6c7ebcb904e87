//===- BundleBuilder.cpp - from host code to a bundle ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A host function that does more than launch kernels has no bundle: whatever is
// not a launch, a number for one or the return is an error, never left out.
// Extents and strides that a type fixes become conditions, since the code may have
// been specialised for them.
//
//===----------------------------------------------------------------------===//

#include "fa4/Driver/BundleBuilder.h"

#include "HostFormula.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using fa4::runtime::Expr;

namespace fa4::driver {

//===----------------------------------------------------------------------===//
// What kernels do to their arguments
//===----------------------------------------------------------------------===//

/// The kernel's argument that the global `value` is inside a role.
static std::optional<unsigned> rootArgument(Value value) {
  while (true) {
    if (auto part = value.getDefiningOp<tile::SubrangeOp>()) {
      value = part.getGlobal();
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument) {
      return std::nullopt;
    }
    Operation *parent = argument.getOwner()->getParentOp();
    if (isa<tile::KernelOp>(parent)) {
      return argument.getArgNumber();
    }
    auto role = dyn_cast<tile::RoleOp>(parent);
    if (!role) {
      return std::nullopt;
    }
    // The uses are the last of the region's arguments.
    unsigned leading = role.getBody().getNumArguments() - role.getUses().size();
    value = role.getUses()[argument.getArgNumber() - leading];
  }
}

KernelAccess findKernelAccess(ModuleOp module) {
  KernelAccess all;
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    llvm::SmallVector<bool> read(kernel.getBody().getNumArguments());
    llvm::SmallVector<bool> written = read;
    bool isKnown = true;
    kernel.walk([&](Operation *op) {
      bool stores = isa<tile::StoreOp, tile::AsyncStoreOp, tile::IssueStoreOp>(op);
      bool loads = isa<tile::LoadOp, tile::AsyncLoadOp, tile::IssueLoadOp, tile::FetchOp>(op);
      if (!stores && !loads) {
        return;
      }
      for (Value operand : op->getOperands()) {
        if (!isa<tile::GlobalType>(operand.getType())) {
          continue;
        }
        std::optional<unsigned> root = rootArgument(operand);
        isKnown &= root.has_value();
        if (root) {
          (stores ? written : read)[*root] = true;
          // A store that adds reads, too.
          read[*root] |= stores && op->hasAttr("add");
        }
      }
    });
    llvm::SmallVector<runtime::Access> &access = all[kernel.getSymName()];
    for (auto [isRead, isWritten] : llvm::zip_equal(read, written)) {
      bool both = !isKnown || (isRead && isWritten);
      access.push_back(both        ? runtime::Access::ReadWrite
                       : isWritten ? runtime::Access::Write
                                   : runtime::Access::Read);
    }
  }
  return all;
}

//===----------------------------------------------------------------------===//
// The bundle
//===----------------------------------------------------------------------===//

static std::optional<runtime::ElementType> elementTypeOf(Type type) {
  return type.isBF16()                 ? std::optional(runtime::ElementType::BF16)
         : type.isF16()                ? std::optional(runtime::ElementType::F16)
         : type.isF32()                ? std::optional(runtime::ElementType::F32)
         : type.isInteger(32)          ? std::optional(runtime::ElementType::I32)
         : type.isInteger(64)          ? std::optional(runtime::ElementType::I64)
         : isa<Float8E4M3FNType>(type) ? std::optional(runtime::ElementType::E4M3)
         : isa<Float8E5M2Type>(type)   ? std::optional(runtime::ElementType::E5M2)
                                       : std::nullopt;
}

namespace {
class BundleBuilder {
public:
  BundleBuilder(func::FuncOp function, llvm::ArrayRef<std::string> names,
                const KernelAccess &access)
      : function(function), names(names), access(access), formula(function, names) {}

  LogicalResult addArguments();
  LogicalResult addLaunches();

  runtime::Bundle bundle;

private:
  void addConditions(unsigned number, MemRefType type);
  LogicalResult addLaunch(tile::LaunchOp launch);
  LogicalResult setGrid(tile::LaunchOp launch, LaunchAttr attribute, runtime::Launch &result);
  FailureOr<runtime::Parameter> getParameter(tile::LaunchOp launch, ParamAttr attribute,
                                             Type parameter);
  FailureOr<runtime::Parameter> getScalar(Value value);
  runtime::TensorMapRecipe getTensorMap(unsigned argument, MemRefType type, ParamAttr attribute);

  func::FuncOp function;
  llvm::ArrayRef<std::string> names;
  const KernelAccess &access;
  HostFormula formula;
};
} // namespace

void BundleBuilder::addConditions(unsigned number, MemRefType type) {
  const std::string &name = names[number];
  auto require = [&](Expr is, int64_t value, const llvm::Twine &what) {
    Expr holds = Expr::make(Expr::Op::Equal, {is, value});
    bundle.conditions.push_back(
        {holds, (what + " of '" + name + "' to be " + llvm::Twine(value)).str(), is});
  };
  for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(extent)) {
      require(Expr::extent(name, dim), extent, "extent " + llvm::Twine(dim));
    }
  }
  // Kernels read strides, but for the innermost one, which is always the element's.
  auto bytes = static_cast<int64_t>(runtime::elementBytes(*elementTypeOf(type.getElementType())));
  if (type.getRank() > 0) {
    unsigned last = type.getRank() - 1;
    // A dimension of one element has any stride.
    Expr stride =
        Expr::make(Expr::Op::Select, {Expr::make(Expr::Op::Less, {1, Expr::extent(name, last)}),
                                      Expr::stride(name, last), bytes});
    require(stride, bytes, "the byte stride of the innermost dimension");
  }
}

LogicalResult BundleBuilder::addArguments() {
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    runtime::Argument argument;
    argument.name = names[number];
    auto memref = dyn_cast<MemRefType>(type);
    argument.isTensor = static_cast<bool>(memref);
    std::optional<runtime::ElementType> element =
        elementTypeOf(memref ? memref.getElementType() : type);
    if (!element || (!memref && !type.isF32() && !type.isInteger(32) && !type.isInteger(64))) {
      return function.emitError("expected the arguments of a launched function to be memrefs of "
                                "numbers, f32, i32 or i64, but got ")
             << type << "; give tensors to fa4-full, which makes buffers of them";
    }
    argument.type = *element;
    argument.rank = memref ? static_cast<unsigned>(memref.getRank()) : 0;
    bundle.arguments.push_back(argument);
    if (memref) {
      addConditions(number, memref);
    }
  }
  return success();
}

LogicalResult BundleBuilder::setGrid(tile::LaunchOp launch, LaunchAttr attribute,
                                     runtime::Launch &result) {
  if (attribute.getTiles() >= static_cast<int64_t>(launch.getInputs().size())) {
    return launch.emitError("expected the kernel's tiles to be an operand of the launch, but got #")
           << attribute.getTiles();
  }
  FailureOr<Expr> tiles = formula.getInteger(launch.getInputs()[attribute.getTiles()]);
  if (failed(tiles)) {
    return failure();
  }
  Expr clusters = *tiles;
  int64_t cluster = attribute.getCluster();
  if (attribute.getPersistent()) {
    Expr room = Expr::processors();
    if (cluster > 1) {
      // A device too small for a cluster must say so itself, not skip the work.
      room = Expr::make(Expr::Op::Max, {Expr::make(Expr::Op::FloorDiv, {room, cluster}), 1});
    }
    clusters = Expr::make(Expr::Op::Min, {clusters, room});
  }
  result.grid[0] = cluster > 1 ? clusters * Expr(cluster) : clusters;
  if (cluster > 1) {
    result.cluster = {static_cast<uint32_t>(cluster), 1, 1};
  }
  result.block[0] = attribute.getThreads();
  result.dynamicSharedBytes = attribute.getSmemBytes();
  return success();
}

runtime::TensorMapRecipe BundleBuilder::getTensorMap(unsigned argument, MemRefType type,
                                                     ParamAttr attribute) {
  runtime::TensorMapRecipe recipe;
  recipe.tensor = names[argument];
  recipe.type = *elementTypeOf(type.getElementType());
  // A map counts its dimensions from the one that moves fastest.
  for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
    int64_t box = attribute.getBox()[dim];
    auto add = [&](Expr extent, Expr stride, int64_t size) {
      recipe.extents.push_back(std::move(extent));
      if (dim + 1 < type.getRank()) {
        recipe.strides.push_back(std::move(stride));
      }
      recipe.box.push_back(static_cast<uint32_t>(size));
      recipe.elementStrides.push_back(1);
    };
    Expr extent = Expr::extent(recipe.tensor, dim), stride = Expr::stride(recipe.tensor, dim);
    if (dim != attribute.getDim()) {
      add(extent, stride, box);
      continue;
    }
    // `fa4.param` says why. The only element of an extent of 1 has any legal stride.
    constexpr int64_t alignment = 16; // CUDA driver API, cuTensorMapEncodeTiled
    Expr legal =
        Expr::make(Expr::Op::Select, {Expr::make(Expr::Op::Less, {1, extent}), stride, alignment});
    add(box, legal, box);
    add(extent + Expr(1), legal, 1);
    recipe.offset = legal * Expr(-box);
  }
  switch (attribute.getSwizzle()) {
  case 32:
    recipe.swizzle = runtime::Swizzle::Bytes32;
    break;
  case 64:
    recipe.swizzle = runtime::Swizzle::Bytes64;
    break;
  case 128:
    recipe.swizzle = runtime::Swizzle::Bytes128;
    break;
  default:
    break;
  }
  return recipe;
}

FailureOr<runtime::Parameter> BundleBuilder::getScalar(Value value) {
  if (value.getType().isF32()) {
    FailureOr<runtime::FloatParameter> number = formula.getFloat(value);
    if (failed(number)) {
      return failure();
    }
    return runtime::Parameter(*number);
  }
  if (!value.getType().isIntOrIndex()) {
    return emitError(value.getLoc(), "expected a scalar of a launch to be f32 or an integer, but "
                                     "got ")
           << value.getType();
  }
  FailureOr<Expr> number = formula.getInteger(value);
  if (failed(number)) {
    return failure();
  }
  unsigned bits = value.getType().isIndex() ? 64 : value.getType().getIntOrFloatBitWidth();
  return runtime::Parameter(runtime::IntegerParameter{std::max(bits / 8, 1U), *number});
}

FailureOr<runtime::Parameter> BundleBuilder::getParameter(tile::LaunchOp launch,
                                                          ParamAttr attribute, Type parameter) {
  if (attribute.getArgument() >= static_cast<int64_t>(launch.getInputs().size())) {
    return launch.emitError("expected a parameter's argument to be an operand of the launch, but "
                            "got #")
           << attribute.getArgument();
  }
  Value operand = launch.getInputs()[attribute.getArgument()];
  if (attribute.getKind() == ParamKind::Scalar) {
    return getScalar(operand);
  }
  auto type = dyn_cast<MemRefType>(operand.getType());
  std::optional<unsigned> argument = formula.getArgument(operand);
  if (!type || !argument) {
    return launch.emitError("expected operand #")
           << attribute.getArgument()
           << " of the launch to be an argument of the function, but got a value that the function "
              "makes; pass it as an argument";
  }
  const std::string &name = names[*argument];
  if (attribute.getKind() == ParamKind::Pointer) {
    return runtime::Parameter(runtime::AddressParameter{name, 0});
  }
  if (attribute.getKind() == ParamKind::TensorMap) {
    if (static_cast<int64_t>(attribute.getBox().size()) != type.getRank()) {
      return launch.emitError("expected the box of a tensor map to have the rank of ")
             << type << ", but got [" << attribute.getBox() << "]";
    }
    if (attribute.getDim() == type.getRank() - 1) {
      return launch.emitError("expected a tensor map to be cut along a dimension with a stride of "
                              "its own, but got the innermost one of ")
             << type;
    }
    return runtime::Parameter(getTensorMap(*argument, type, attribute));
  }
  if (attribute.getDim() >= type.getRank()) {
    return launch.emitError("expected a parameter's dimension to be one of ")
           << type << ", but got " << attribute.getDim();
  }
  auto dim = static_cast<unsigned>(attribute.getDim());
  bool isStride = attribute.getKind() == ParamKind::Stride;
  Expr value = isStride ? Expr::stride(name, dim) : Expr::extent(name, dim);
  return runtime::Parameter(
      runtime::IntegerParameter{parameter.getIntOrFloatBitWidth() / 8, value});
}

LogicalResult BundleBuilder::addLaunch(tile::LaunchOp launch) {
  auto kernel =
      SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(launch, launch.getKernelAttr());
  auto attribute = kernel ? kernel->getAttrOfType<LaunchAttr>(launchAttrName) : LaunchAttr();
  if (!attribute) {
    return launch.emitError("expected the kernel to be lowered to a function with '")
           << launchAttrName << "', but got none";
  }
  runtime::Launch result;
  result.entry = launch.getKernel().str();
  if (failed(setGrid(launch, attribute, result))) {
    return failure();
  }
  for (unsigned number = 0; number < kernel.getNumArguments(); ++number) {
    auto parameter = kernel.getArgAttrOfType<ParamAttr>(number, paramAttrName);
    if (!parameter) {
      return kernel->emitError("expected every parameter of a kernel to have '")
             << paramAttrName << "', but got none for #" << number;
    }
    FailureOr<runtime::Parameter> value =
        getParameter(launch, parameter, kernel.getArgumentTypes()[number]);
    if (failed(value)) {
      return failure();
    }
    result.parameters.push_back(std::move(*value));
  }
  bundle.launches.push_back(std::move(result));
  return success();
}

/// What some launch does to an argument, and another does, too.
static runtime::Access combine(std::optional<runtime::Access> a, runtime::Access b) {
  return !a || *a == b ? b : runtime::Access::ReadWrite;
}

LogicalResult BundleBuilder::addLaunches() {
  llvm::SmallVector<std::optional<runtime::Access>> done(names.size());
  for (Operation &op : function.getBody().front()) {
    auto launch = dyn_cast<tile::LaunchOp>(op);
    if (!launch) {
      if (isMemoryEffectFree(&op) || isa<func::ReturnOp>(op)) {
        continue;
      }
      return op.emitError("expected a launched function to do nothing but launch kernels, but got "
                          "'")
             << op.getName() << "'; write results into arguments";
    }
    if (failed(addLaunch(launch))) {
      return failure();
    }
    llvm::append_range(bundle.conditions, formula.getConditions(launch));
    auto known = access.find(launch.getKernel());
    for (auto [number, operand] : llvm::enumerate(launch.getInputs())) {
      std::optional<unsigned> argument = formula.getArgument(operand);
      if (argument && isa<MemRefType>(operand.getType())) {
        done[*argument] =
            combine(done[*argument],
                    known == access.end() ? runtime::Access::ReadWrite : known->second[number]);
      }
    }
  }
  for (auto [argument, access] : llvm::zip_equal(bundle.arguments, done)) {
    argument.access = access.value_or(runtime::Access::Read);
  }
  if (bundle.launches.empty()) {
    return function.emitError("expected the function to launch a kernel, but got none");
  }
  return success();
}

FailureOr<runtime::Bundle> buildBundle(func::FuncOp function, llvm::ArrayRef<std::string> names,
                                       const KernelAccess &access, llvm::StringRef chip,
                                       llvm::StringRef ptxFile) {
  if (!function.getBody().hasOneBlock()) {
    return function.emitError("expected a launched function to have one block, but got ")
           << function.getBody().getBlocks().size();
  }
  BundleBuilder builder(function, names, access);
  builder.bundle.target = chip.str();
  builder.bundle.ptx = ptxFile.str();
  if (failed(builder.addArguments()) || failed(builder.addLaunches())) {
    return failure();
  }
  return std::move(builder.bundle);
}

} // namespace fa4::driver
