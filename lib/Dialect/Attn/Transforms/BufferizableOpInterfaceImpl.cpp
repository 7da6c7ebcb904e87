//===- BufferizableOpInterfaceImpl.cpp - attn from tensors to memrefs -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Destinations are written in place and never read, so their old contents are
// never copied; every other array, captured ones too, is only read.
//
//===----------------------------------------------------------------------===//

#include "fa4/Dialect/Attn/Transforms/BufferizableOpInterfaceImpl.h"

#include "fa4/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace fa4;
using namespace fa4::attn;

/// The operands of `op`, arrays as buffers.
static FailureOr<SmallVector<Value>> getBuffers(Operation *op, RewriterBase &rewriter,
                                                const BufferizationOptions &options,
                                                BufferizationState &state) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (isa<TensorType>(operand.getType())) {
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer)) {
        return failure();
      }
      operand = *buffer;
    }
    operands.push_back(operand);
  }
  return operands;
}

/// `op` on buffers, with no results; its regions move over.
template <class OpTy>
static OpTy createOnBuffers(OpTy op, RewriterBase &rewriter, ValueRange operands) {
  OperationState state(op.getLoc(), op->getName(), operands, TypeRange(),
                       llvm::to_vector(op->getDiscardableAttrs()));
  state.getOrAddProperties<typename OpTy::Properties>() = op.getProperties();
  for (unsigned i = 0; i < op->getNumRegions(); ++i) {
    state.addRegion();
  }
  auto onBuffers = cast<OpTy>(rewriter.create(state));
  for (auto [to, from] : llvm::zip_equal(onBuffers->getRegions(), op->getRegions())) {
    rewriter.inlineRegionBefore(from, to, to.begin());
  }
  return onBuffers;
}

namespace {

template <class Model, class OpTy>
class DestinationModel : public DstBufferizableOpInterfaceExternalModel<Model, OpTy> {
public:
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

private:
  DestinationModel() = default;
  friend Model;
};

struct ForwardModel : public DestinationModel<ForwardModel, ForwardOp> {
  /// The block argument through which a region sees a captured operand, or null.
  static BlockArgument getCapture(ForwardOp op, OpOperand &operand) {
    for (auto [range, region] :
         {std::pair<MutableOperandRange, Region *>{op.getScoreCapturesMutable(), &op.getScore()},
          {op.getPredicateCapturesMutable(), &op.getPredicate()}}) {
      for (auto [index, captured] : llvm::enumerate(range)) {
        if (captured.getOperandNumber() == operand.getOperandNumber()) {
          return region->getArgument(region->getNumArguments() - range.size() + index);
        }
      }
    }
    return {};
  }

  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &state) const {
    if (BlockArgument argument = getCapture(cast<ForwardOp>(op), operand)) {
      return {{argument, BufferRelation::Equivalent}};
    }
    return DestinationModel::getAliasingValues(op, operand, state);
  }

  FailureOr<BufferLikeType> getBufferType(Operation *op, Value value,
                                          const BufferizationOptions &options,
                                          const BufferizationState &state,
                                          SmallVector<Value> &invocationStack) const {
    for (OpOperand &operand : op->getOpOperands()) {
      const bool isSame =
          isa<BlockArgument>(value)
              ? getCapture(cast<ForwardOp>(op), operand) == value
              : cast<DestinationStyleOpInterface>(op).isDpsInit(&operand) &&
                    cast<DestinationStyleOpInterface>(op).getTiedOpResult(&operand) == value;
      if (isSame) {
        return bufferization::getBufferType(operand.get(), options, state, invocationStack);
      }
    }
    return op->emitOpError("expected a value of this op to be bufferized");
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options, BufferizationState &state) const {
    auto forward = cast<ForwardOp>(op);
    FailureOr<SmallVector<Value>> operands = getBuffers(op, rewriter, options, state);
    if (failed(operands)) {
      return failure();
    }
    ForwardOp onBuffers = createOnBuffers(forward, rewriter, *operands);
    retypeCaptures(rewriter, onBuffers.getScore(), onBuffers.getScoreCaptures());
    retypeCaptures(rewriter, onBuffers.getPredicate(), onBuffers.getPredicateCaptures());
    replaceOpWithBufferizedValues(rewriter, op, onBuffers.getDpsInits());
    return success();
  }

private:
  /// Block arguments take the types of what they stand for; uses that are not
  /// bufferized yet go through a tensor.
  static void retypeCaptures(RewriterBase &rewriter, Region &region, ValueRange captures) {
    if (region.empty()) {
      return;
    }
    OpBuilder::InsertionGuard guard(rewriter);
    Block &block = region.front();
    rewriter.setInsertionPointToStart(&block);
    const size_t scalars = block.getNumArguments() - captures.size();
    for (size_t i = 0; i < captures.size(); ++i) {
      BlockArgument argument = block.getArgument(scalars + i);
      Type tensor = argument.getType(), buffer = captures[i].getType();
      if (tensor == buffer) {
        continue;
      }
      rewriter.modifyOpInPlace(region.getParentOp(), [&] { argument.setType(buffer); });
      auto wrapped = ToTensorOp::create(rewriter, argument.getLoc(), tensor, argument);
      rewriter.replaceAllUsesExcept(argument, wrapped.getResult(), wrapped);
    }
  }
};

struct MergeModel : public DestinationModel<MergeModel, MergeOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options, BufferizationState &state) const {
    FailureOr<SmallVector<Value>> operands = getBuffers(op, rewriter, options, state);
    if (failed(operands)) {
      return failure();
    }
    MergeOp onBuffers = createOnBuffers(cast<MergeOp>(op), rewriter, *operands);
    replaceOpWithBufferizedValues(rewriter, op, onBuffers.getDpsInits());
    return success();
  }
};

struct FetchModel : public BufferizableOpInterface::ExternalModel<FetchModel, FetchOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &, const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *, OpOperand &, const AnalysisState &) const {
    return {};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options, BufferizationState &state) const {
    auto fetch = cast<FetchOp>(op);
    FailureOr<Value> source = getBuffer(rewriter, fetch.getSource(), options, state);
    if (failed(source)) {
      return failure();
    }
    replaceOpWithNewBufferizedOp<FetchOp>(rewriter, op, fetch.getType(), *source,
                                          fetch.getIndices());
    return success();
  }
};

} // namespace

void attn::registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttnDialect *) {
    ForwardOp::attachInterface<ForwardModel>(*context);
    MergeOp::attachInterface<MergeModel>(*context);
    FetchOp::attachInterface<FetchModel>(*context);
  });
}
