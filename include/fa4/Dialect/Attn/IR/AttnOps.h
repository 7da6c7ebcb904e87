//===- AttnOps.h - the ops of attn ----------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_DIALECT_ATTN_IR_ATTNOPS_H
#define FA4_DIALECT_ATTN_IR_ATTNOPS_H

#include "fa4/Dialect/Attn/IR/AttnAttributes.h"
#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"

#define GET_OP_CLASSES
#include "fa4/Dialect/Attn/IR/AttnOps.h.inc"

#endif // FA4_DIALECT_ATTN_IR_ATTNOPS_H
