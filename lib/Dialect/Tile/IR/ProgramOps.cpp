//===- ProgramOps.cpp - kernels, defs, steps, tile loops -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels hold one work; steps call defs whose types they repeat; the tile loop
// has the results of its source.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Dialect/Tile/IR/TileOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace fa4::tile;

static void printSignatureArgs(OpAsmPrinter &printer, Region &region) {
  printer << '(';
  llvm::interleaveComma(region.getArguments(), printer,
                        [&](BlockArgument arg) { printer.printRegionArgument(arg); });
  printer << ')';
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

WorkOp KernelOp::getWork() {
  auto works = getBody().front().getOps<WorkOp>();
  return works.empty() ? WorkOp() : *works.begin();
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> args;
  fa4::TargetAttr target;
  fa4::ScheduleAttr schedule;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name), result.attributes) ||
      parser.parseArgumentList(args, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseKeyword("target") || parser.parseLParen() || parser.parseAttribute(target) ||
      parser.parseRParen() || parser.parseKeyword("schedule") || parser.parseLParen() ||
      parser.parseAttribute(schedule) || parser.parseRParen() ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return failure();
  }
  result.addAttribute(getTargetAttrName(result.name), target);
  result.addAttribute(getScheduleAttrName(result.name), schedule);
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, args)) {
    return failure();
  }
  if (body->empty()) {
    body->emplaceBlock();
  }
  return success();
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printSignatureArgs(printer, getBody());
  printer << " target(" << getTarget() << ") schedule(" << getSchedule() << ')';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getSymNameAttrName(), getTargetAttrName(), getScheduleAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult KernelOp::verify() {
  for (Type type : getBody().getArgumentTypes()) {
    if (!isa<GlobalType>(type) && !type.isIntOrIndexOrFloat()) { // kernel C1
      return emitOpError() << "expected arguments to be globals or scalars, but got " << type;
    }
  }
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  auto works = llvm::to_vector(getBody().front().getOps<WorkOp>());
  if (works.size() == 1) {
    return success();
  }
  InFlightDiagnostic diag = emitOpError() // kernel C2
                            << "expected exactly one tile.work, but got " << works.size();
  if (works.size() > 1) {
    diag.attachNote(works[1].getLoc()) << "the second is here";
  }
  return diag;
}

//===----------------------------------------------------------------------===//
// DefOp
//===----------------------------------------------------------------------===//

YieldOp DefOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

void DefOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type,
                  function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  Region *region = state.addRegion();
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locations(type.getNumInputs(), state.location);
  Block *block = builder.createBlock(region, {}, type.getInputs(), locations);
  if (body) {
    body(builder, state.location, block->getArguments());
  }
}

ParseResult DefOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Type> inputs, results;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name), result.attributes) ||
      parser.parseArgumentList(args, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseOptionalArrowTypeList(results) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return failure();
  }
  for (const OpAsmParser::Argument &arg : args) {
    inputs.push_back(arg.type);
  }
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(parser.getBuilder().getFunctionType(inputs, results)));
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, args, /*enableNameShadowing=*/true)) {
    return failure();
  }
  DefOp::ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void DefOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printSignatureArgs(printer, getBody());
  printer.printOptionalArrowTypeList(getFunctionType().getResults());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getSymNameAttrName(), getFunctionTypeAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult DefOp::verifyRegions() {
  FunctionType type = getFunctionType();
  if (getBody().getArgumentTypes() != TypeRange(type.getInputs())) { // def C1
    return emitOpError() << "expected region arguments to be " << TypeRange(type.getInputs())
                         << ", but got " << TypeRange(getBody().getArgumentTypes());
  }
  if (getYield().getValues().getTypes() != TypeRange(type.getResults())) { // def C2
    return getYield().emitOpError()
           << "expected yielded types to be " << TypeRange(type.getResults()) << ", but got "
           << getYield().getValues().getTypes();
  }
  WalkResult result = getBody().walk([&](StepOp step) {
    step.emitOpError() << "expected a def to contain no step, but got '" << step.getStepName()
                       << "'"; // def C3
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// StepOp
//===----------------------------------------------------------------------===//

/// Walks outward over the symbol tables: a kernel's own defs hide the module's.
template <typename LookupFn>
static DefOp findDef(StepOp step, LookupFn lookup) {
  Operation *table = SymbolTable::getNearestSymbolTable(step);
  while (table) {
    if (auto def = dyn_cast_or_null<DefOp>(lookup(table))) {
      return def;
    }
    Operation *parent = table->getParentOp();
    table = parent ? SymbolTable::getNearestSymbolTable(parent) : nullptr;
  }
  return DefOp();
}

DefOp StepOp::getDef() {
  return findDef(*this, [&](Operation *table) {
    return SymbolTable::lookupSymbolIn(table, getCalleeAttr().getAttr());
  });
}

DefOp StepOp::getDef(SymbolTableCollection &tables) {
  return findDef(*this, [&](Operation *table) {
    return tables.lookupSymbolIn(table, getCalleeAttr().getAttr());
  });
}

std::string StepOp::getStepName() {
  std::string name = getCallee().str();
  if (std::optional<uint64_t> index = getIndex()) {
    name += "[" + std::to_string(*index) + "]";
  }
  return name;
}

LogicalResult StepOp::verify() {
  if (IntegerAttr index = getIndexAttr()) {
    if (index.getInt() < 0) { // step C2
      return emitOpError() << "expected index to be at least 0, but got " << index.getInt();
    }
  }
  if (!getUnless()) {
    return success();
  }
  TypeRange inputs = getInputs().getTypes(), outputs = getOutputs().getTypes();
  if (inputs.size() < outputs.size() || inputs.take_front(outputs.size()) != outputs) { // step C3
    return emitOpError() << "expected results under 'unless' to have the types of the first "
                            "operands, but got "
                         << outputs << " from " << inputs;
  }
  return success();
}

LogicalResult StepOp::verifySymbolUses(SymbolTableCollection &tables) {
  DefOp def = getDef(tables);
  if (!def) { // step C1
    return emitOpError() << "expected callee to be a tile.def, but got no such def '@"
                         << getCallee() << "'";
  }
  auto type = FunctionType::get(getContext(), getInputs().getTypes(), getOutputs().getTypes());
  if (def.getFunctionType() != type) { // step C1
    InFlightDiagnostic diag = emitOpError() << "expected types of a step to be its def's "
                                            << def.getFunctionType() << ", but got " << type;
    diag.attachNote(def.getLoc()) << "the def is here";
    return diag;
  }
  return success();
}

/// A step has the effects of its def; what cannot be seen through has all.
void StepOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  bool reads = true, writes = true;
  if (DefOp def = getDef()) {
    reads = writes = false;
    def.getBody().walk([&](Operation *op) {
      if (isa<FetchOp, LoadOp>(op)) {
        reads = true;
      } else if (!op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() && !isMemoryEffectFree(op)) {
        reads = true;
        writes = true;
      }
    });
  }
  if (reads) {
    effects.emplace_back(MemoryEffects::Read::get(), GmemResource::get());
  }
  if (writes) {
    effects.emplace_back(MemoryEffects::Write::get(), GmemResource::get());
  }
}

//===----------------------------------------------------------------------===//
// NextTileOp
//===----------------------------------------------------------------------===//

LogicalResult NextTileOp::verify() {
  if (!getNumber().getDefiningOp<ReadOp>()) { // C1
    return emitOpError() << "expected the number to be what a tile.read found, but got another "
                            "value";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ForEachTileOp
//===----------------------------------------------------------------------===//

YieldOp ForEachTileOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

void ForEachTileOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setNameFn) {
  auto work = SymbolTable::lookupNearestSymbolFrom<WorkOp>(*this, getSourceAttr());
  if (!work || work.getNumWorkResults() != getNumTileArgs()) {
    return;
  }
  for (auto [index, arg] : llvm::enumerate(getTileArgs())) {
    setNameFn(arg, work.getResultName(index));
  }
}

ParseResult ForEachTileOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> args, iterArgs;
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  SymbolRefAttr source;
  if (parser.parseArgumentList(args, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("in") ||
      parser.parseCustomAttributeWithFallback(
          source, Type(), getSourceAttrName(result.name).strref(), result.attributes)) {
    return failure();
  }
  for (OpAsmParser::Argument &arg : args) {
    arg.type = parser.getBuilder().getI32Type();
  }
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("iter_args"))) {
    if (parser.parseAssignmentList(iterArgs, inits) || parser.parseArrowTypeList(result.types) ||
        parser.resolveOperands(inits, result.types, loc, result.operands)) {
      return failure();
    }
  }
  for (auto [arg, type] : llvm::zip_equal(iterArgs, result.types)) {
    arg.type = type;
    args.push_back(arg);
  }
  Region *body = nullptr;
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return failure();
  }
  body = result.addRegion();
  if (parser.parseRegion(*body, args)) {
    return failure();
  }
  ForEachTileOp::ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

void ForEachTileOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(getTileArgs(), printer);
  printer << ") in ";
  printer.printSymbolName(getSource());
  if (!getInits().empty()) {
    printer << " iter_args(";
    llvm::interleaveComma(llvm::zip_equal(getIterArgs(), getInits()), printer, [&](auto pair) {
      printer << std::get<0>(pair) << " = " << std::get<1>(pair);
    });
    // Always in parentheses, as scf.for prints it.
    printer << ") -> (" << getResultTypes() << ')';
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getSourceAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getInits().empty());
}

LogicalResult ForEachTileOp::verifyRegions() {
  if (getBody().getNumArguments() < getInits().size()) { // for_each_tile C1
    return emitOpError() << "expected an argument for each of " << getInits().size()
                         << " carried values, but got " << getBody().getNumArguments();
  }
  for (BlockArgument arg : getTileArgs()) {
    if (!arg.getType().isSignlessInteger(32)) { // for_each_tile C1
      return emitOpError() << "expected results of the work to be i32 arguments, but got "
                           << arg.getType();
    }
  }
  for (auto [arg, init, result] : llvm::zip(getIterArgs(), getInits(), getResults())) {
    if (arg.getType() != init.getType() || result.getType() != init.getType()) {
      return emitOpError() // for_each_tile C1, C2
             << "expected argument and result to have the type of the init " << init.getType()
             << ", but got " << arg.getType() << " and " << result.getType();
    }
  }
  if (getNumResults() != getInits().size()) { // for_each_tile C2
    return emitOpError() << "expected one result for each of " << getInits().size()
                         << " carried values, but got " << getNumResults();
  }
  return success();
}

LogicalResult ForEachTileOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *source = tables.lookupNearestSymbolFrom(*this, getSourceAttr());
  auto work = dyn_cast_or_null<WorkOp>(source);
  if (!work) { // for_each_tile C3
    return emitOpError() << "expected the source of tiles to be the kernel's work, but got '@"
                         << getSource() << "'";
  }
  if (work.getNumWorkResults() != getNumTileArgs()) { // for_each_tile C3
    InFlightDiagnostic diag = emitOpError()
                              << "expected one argument for each of " << work.getNumWorkResults()
                              << " results of the work, but got " << getNumTileArgs();
    diag.attachNote(work.getLoc()) << "the work is here";
    return diag;
  }
  return success();
}

OperandRange ForEachTileOp::getEntrySuccessorOperands(RegionSuccessor successor) {
  return getInits();
}

void ForEachTileOp::getSuccessorRegions(RegionBranchPoint point,
                                        SmallVectorImpl<RegionSuccessor> &regions) {
  // There may be no tile, and after each there may be another.
  regions.push_back(RegionSuccessor(&getBody(), getIterArgs()));
  regions.push_back(RegionSuccessor(getOperation(), getResults()));
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  if (!getExtents()) {
    return success();
  }
  for (auto rule : getExtentsAttr().getAsRange<ExtentRuleAttr>()) {
    for (auto [operand, dim] : {std::pair(rule.getOperand(), rule.getDim()),
                                std::pair(rule.getOtherOperand(), rule.getOtherDim())}) {
      auto type = operand < static_cast<int64_t>(getInputs().size())
                      ? dyn_cast<MemRefType>(getInputs()[operand].getType())
                      : MemRefType();
      if (!type || dim >= type.getRank()) { // launch C3
        return emitOpError()
               << "expected " << rule
               << " to name dimensions of operands that are memrefs, but got operand #" << operand
               << " dimension " << dim << " with " << getInputs().getTypes();
      }
    }
  }
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *symbol = tables.lookupNearestSymbolFrom(*this, getKernelAttr());
  auto kernel = dyn_cast_or_null<KernelOp>(symbol);
  if (symbol && !kernel && symbol->hasAttr(fa4::launchAttrName)) {
    return success(); // Lowered: its parameters say themselves where they come from.
  }
  if (!kernel) { // launch C1
    return emitOpError() << "expected '@" << getKernel() << "' to be a tile.kernel, but got none";
  }
  TypeRange args = kernel.getBody().getArgumentTypes();
  if (args.size() != getInputs().size()) { // launch C2
    InFlightDiagnostic diag = emitOpError() << "expected one operand for each of " << args.size()
                                            << " kernel arguments, but got " << getInputs().size();
    diag.attachNote(kernel.getLoc()) << "the kernel is here";
    return diag;
  }
  for (auto [index, pair] :
       llvm::enumerate(llvm::zip_equal(TypeRange(getInputs().getTypes()), args))) {
    auto [given, wanted] = pair;
    bool agrees = given == wanted;
    if (auto global = dyn_cast<GlobalType>(wanted)) {
      auto memref = dyn_cast<MemRefType>(given);
      agrees = memref && memref.getRank() == global.getRank() &&
               memref.getElementType() == global.getElementType();
    }
    if (!agrees) { // launch C2
      InFlightDiagnostic diag = emitOpError()
                                << "expected operand #" << index << " to launch a kernel argument "
                                << wanted << ", but got " << given;
      diag.attachNote(kernel.getLoc()) << "the kernel is here";
      return diag;
    }
  }
  return success();
}
