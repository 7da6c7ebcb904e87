//===- PtxTest.cpp - PTX front end ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsing, printing and loading, without execution.
//
//===----------------------------------------------------------------------===//

#include "fa4/Simulator/Program.h"

#include "gtest/gtest.h"

using namespace fa4::sim;

static const char header[] = ".version 8.8\n.target sm_100a\n.address_size 64\n";

static std::string printed(const ptx::Module &module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ptx::printModule(os, module);
  return text;
}

static std::string body(llvm::StringRef statements) {
  return (llvm::Twine(header) + ".visible .entry k(.param .u64 p) {\n" + statements + "\n}\n")
      .str();
}

static std::string loadError(llvm::StringRef statements) {
  auto program = Program::load(body(statements));
  if (!program) {
    return llvm::toString(program.takeError());
  }
  auto kernel = (*program)->kernel("k");
  return kernel ? "" : llvm::toString(kernel.takeError());
}

TEST(Ptx, PrintedTextIsAFixpoint) {
  const char *text = R"(
    .version 9.0
    .target sm_90a, debug
    .address_size 64
    .file 1 "a.cu"
    .extern .shared .align 1024 .b8 smem[];
    .const .align 4 .u32 table[3] = {1, -2, 0x30};
    .visible .func (.param .b32 r) twice(.param .b32 x);
    .visible .entry k(.param .align 64 .b8 map[128], .param .u64 .ptr .global .align 16 out)
    .reqntid 128, 1, 1
    .maxnreg 168
    {
      .reg .pred %p<3>, P1;
      .reg .b32 %r<4>; // comment
      .loc 1 3 4
      .pragma "nounroll";
      { .reg .b32 %r<2>; LAB: mov.b32 %r1, 0f3F800000; @!P1 bra LAB; }
      LAB: @%p1 ld.shared.v2.b32 {%r1, _}, [smem+-8];
      elect.sync %r1|%p2, -1; /* and
      another */ cp.async.bulk.tensor.2d.shared::cta.global.tile [smem], [%r2, {%r1, %r2}], [%r3];
      createpolicy.fractional.L2::evict_first.b64 %r1, 1.0;
      ret;
    }
  )";
  auto module = ptx::parseModule(text);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  std::string once = printed(**module);
  auto again = ptx::parseModule(once);
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(once, printed(**again));
  EXPECT_NE(once.find("@!P1 bra LAB;"), std::string::npos);
  EXPECT_NE(once.find("[%r2, {%r1, %r2}]"), std::string::npos);
}

TEST(Ptx, ErrorsNameTheLine) {
  auto module = ptx::parseModule(".version 8.0\n.target sm_90a\n.address_size 32\n");
  ASSERT_FALSE(bool(module));
  EXPECT_EQ(llvm::toString(module.takeError()),
            "line 4: expected 64 as address size, but got 'end of text'");
  auto open = ptx::parseModule(std::string(header) + ".entry k() { ret;");
  ASSERT_FALSE(bool(open));
  EXPECT_EQ(llvm::toString(open.takeError()), "line 4: expected '}', but got 'end of text'");
}

TEST(Ptx, HostileNestingIsRefused) {
  std::string text = body(std::string(100000, '{'));
  auto module = ptx::parseModule(text);
  ASSERT_FALSE(bool(module));
  EXPECT_NE(llvm::toString(module.takeError()).find("64 deep"), std::string::npos);
}

TEST(Ptx, ModifiersInAnyOrder) {
  EXPECT_EQ(loadError(".reg .f32 a; mov.f32 a, 0f00000000; max.ftz.NaN.f32 a, a, a;"), "");
  EXPECT_EQ(loadError(".reg .f32 a; mov.f32 a, 0f00000000; max.NaN.ftz.f32 a, a, a;"), "");
}

TEST(Ptx, ScopesHideOuterNames) {
  // The inner %r1 has 64 bits; both LAB are legal.
  EXPECT_EQ(loadError(R"(.reg .b32 %r<2>;
    { .reg .b64 %r<2>; mov.b64 %r1, 1; LAB: add.u64 %r1, %r1, 1; bra LAB; }
    LAB: mov.b32 %r1, 1; bra LAB;)"),
            "");
  EXPECT_EQ(loadError("{ .reg .b32 x; } mov.b32 x, 1;"),
            "line 5: UNSUPPORTED: expected a destination register, but got 'x'");
}

TEST(Ptx, LoadListsAllRefusals) {
  std::string error = loadError(".reg .b32 r; frob.b32 r;\nadd.odd.u32 r, r, r;\nadd.u32 r, r;\n"
                                "bra NOWHERE;\nadd.u64 r, r, r;");
  llvm::SmallVector<llvm::StringRef, 8> lines;
  llvm::StringRef(error).split(lines, '\n');
  ASSERT_GE(lines.size(), 5u) << error;
  EXPECT_EQ(lines[0],
            "line 5: UNSUPPORTED: expected an instruction that is modelled, but got 'frob.b32'");
  EXPECT_NE(lines[1].find("line 6: UNSUPPORTED: expected a modifier of 'add' that is modelled, but "
                          "got '.odd'"),
            llvm::StringRef::npos);
  EXPECT_NE(lines[2].find("to have 3 to 3 operands, but got 2"), llvm::StringRef::npos);
  EXPECT_NE(lines[3].find("a label in scope, but got 'NOWHERE'"), llvm::StringRef::npos);
  EXPECT_NE(lines[4].find("expected 'r' to have 64 bits, but got 32"), llvm::StringRef::npos);
}

TEST(Ptx, MissingOperandsAreRefused) {
  EXPECT_EQ(loadError("mbarrier.arrive.shared.b64 _;"),
            "line 5: UNSUPPORTED: expected an address in brackets, but got another operand");
}

TEST(Ptx, CallsAreInlinedAndRecursionIsRefused) {
  std::string text = std::string(header) + R"(
    .func (.param .b32 r) twice(.param .b32 x) {
      .reg .b32 %r<3>; ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1;
      st.param.b32 [r], %r2; ret; }
    .func forever() { call.uni forever, (); ret; }
    .visible .entry good() { .reg .b32 %r<3>; mov.b32 %r1, 4;
      { .param .b32 a; st.param.b32 [a], %r1; .param .b32 b;
        call.uni (b), twice, (a); ld.param.b32 %r2, [b]; } ret; }
    .visible .entry bad() { call.uni forever, (); ret; }
  )";
  auto program = Program::load(text);
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  auto good = (*program)->kernel("good");
  EXPECT_TRUE(bool(good)) << llvm::toString(good.takeError());
  auto bad = (*program)->kernel("bad");
  ASSERT_FALSE(bool(bad));
  EXPECT_NE(llvm::toString(bad.takeError()).find("16 deep (no recursion)"), std::string::npos);
}
