//===- CaseData.h - the arrays of a case ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_MATRIX_CASEDATA_H
#define FA4_TEST_UNIT_DRIVER_MATRIX_CASEDATA_H

#include "Case.h"

#include "fa4/Driver/Entry.h"

namespace fa4::matrix {

/// Arguments for the entry of a case, with strides as the case says. What no
/// result may depend on (rows of K and V past a used length, bytes between the
/// elements) holds NaNs.
std::vector<driver::Argument> makeArguments(const Case &point, const driver::Entry &entry);

/// The same logical arrays, each packed.
std::vector<driver::Argument> makePacked(llvm::ArrayRef<driver::Argument> arguments);

} // namespace fa4::matrix

#endif // FA4_TEST_UNIT_DRIVER_MATRIX_CASEDATA_H
