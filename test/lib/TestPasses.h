//===- TestPasses.h - registration of test-only passes -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one call that fa4-opt makes when it is built with tests.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_LIB_TESTPASSES_H
#define FA4_TEST_LIB_TESTPASSES_H

namespace fa4::test {

void registerTestScalarPlacesPass();
void registerTestViewOverlapPass();

/// Registers every test-only pass.
inline void registerTestPasses() {
  registerTestScalarPlacesPass();
  registerTestViewOverlapPass();
}

} // namespace fa4::test

#endif // FA4_TEST_LIB_TESTPASSES_H
