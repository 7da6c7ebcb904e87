//===- BundleTest.cpp - reading and writing bundles -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Round trip to the byte, and each way to break a bundle's form with the place and
// wording of its error. The schema's test reads the same list.
//
//===----------------------------------------------------------------------===//

#include "fa4/Runtime/Bundle.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace fa4::runtime;

namespace {

std::string fileText(llvm::StringRef name) {
  auto buffer = llvm::MemoryBuffer::getFile(FA4_TEST_BUNDLES "/" + name);
  EXPECT_TRUE(bool(buffer)) << name.str();
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// The sample has no white space inside of strings.
std::string compactSample() {
  std::string text = fileText("good.json");
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return llvm::isSpace(c); }),
             text.end());
  return text;
}

std::string errorOf(llvm::StringRef text) {
  llvm::Expected<Bundle> bundle = parseBundle(text, "t");
  return bundle ? "" : llvm::toString(bundle.takeError());
}

std::string errorAfter(llvm::StringRef from, llvm::StringRef to) {
  std::string text = compactSample();
  size_t at = text.find(from.str());
  EXPECT_NE(at, std::string::npos) << from.str();
  if (at == std::string::npos) {
    return "";
  }
  return errorOf(text.replace(at, from.size(), to.str()));
}

TEST(Bundle, RoundTripKeepsEveryByte) {
  std::string text = fileText("good.json"), written;
  llvm::Expected<Bundle> bundle = parseBundle(text, "t");
  ASSERT_TRUE(bool(bundle)) << llvm::toString(bundle.takeError());
  llvm::raw_string_ostream os(written);
  writeBundle(os, *bundle);
  EXPECT_EQ(written, text);
}

TEST(Bundle, EveryBrokenFormIsRefusedWithItsPlace) {
  llvm::SmallVector<llvm::StringRef> lines, parts;
  std::string list = fileText("broken.txt");
  llvm::StringRef(list).split(lines, '\n', -1, false);
  ASSERT_GT(lines.size(), 20U);
  for (llvm::StringRef line : lines) {
    parts.clear();
    line.split(parts, " => ");
    ASSERT_EQ(parts.size(), 3U) << line.str();
    EXPECT_EQ(errorAfter(parts[0], parts[1]), ("t: " + parts[2]).str());
  }
}

TEST(Bundle, NamesHaveToBeKnownAndOfTheirKind) {
  EXPECT_EQ(errorAfter(R"("name":"o")", R"("name":"q")"),
            "t: arguments[1].name: expected a name to be used once, but got \"q\"");
  EXPECT_EQ(errorAfter(R"("of":"sums")", R"("of":"n")"),
            "t: launches[0].parameters[1].of: expected a tensor or workspace to be one of the "
            "bundle's, but got \"n\"");
  EXPECT_EQ(
      errorAfter(R"(["scalar","n"],0)", R"(["scalar","scale"],0)"),
      "t: launches[0].grid[1]: expected a scalar of a formula to be an integer argument, but got "
      "\"scale\"");
  EXPECT_EQ(errorAfter(R"("scalar":"scale")", R"("scalar":"n")"),
            "t: launches[0].parameters[2].scalar: expected the scalar of an f32 parameter to be an "
            "f32 argument, but got \"n\"");
  EXPECT_EQ(errorAfter(R"(["stride","q",0])", R"(["stride","q",3])"),
            "t: launches[0].parameters[0].offset: expected a dimension of 'q' to be less than 3, "
            "but got 3");
  EXPECT_EQ(errorAfter(R"(["stride","q",0])", R"(["stride","sums",0])"),
            "t: launches[0].parameters[0].offset: expected a tensor of a formula to be a tensor "
            "argument, but got \"sums\"");
}

TEST(Bundle, ClustersAreBounded) {
  EXPECT_EQ(errorAfter(R"("cluster":[1,1,1])", R"("cluster":[8,4,1])"),
            "t: launches[0].cluster: expected a cluster to have at most 16 CTAs, but got [8,4,1]");
}

TEST(Bundle, AFieldHasToStartInsideItsStruct) {
  EXPECT_EQ(errorAfter(R"("offset":16,"parameter")", R"("offset":24,"parameter")"),
            "t: launches[0].parameters[4].fields[1].offset: expected a field's offset to be an "
            "integer from 0 to 23, but got 24");
}

TEST(Bundle, DeepNestingIsRefusedBeforeItCostsStack) {
  std::string deep(1000000, '[');
  EXPECT_EQ(errorOf(deep), "t: expected brackets to be nested at most 64 deep, but got 1000000");
  std::string quoted = "\"" + deep + "\\\"[[\"";
  EXPECT_EQ(llvm::StringRef(errorOf(quoted)).substr(0, 45),
            "t: : expected a bundle to be an object, but g");
}

TEST(Bundle, TextThatIsNotJsonIsAnError) {
  EXPECT_TRUE(llvm::StringRef(errorOf("{")).starts_with("t: expected the file to be JSON"));
  llvm::Expected<Bundle> missing = readBundle(FA4_TEST_BUNDLES "/missing.json");
  ASSERT_FALSE(bool(missing));
  EXPECT_NE(llvm::toString(missing.takeError()).find("to be a file"), std::string::npos);
}

TEST(Bundle, CutAnywhereIsAnErrorNeverACrash) {
  std::string text = compactSample();
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_NE(errorOf(llvm::StringRef(text).substr(0, length)), "") << length;
  }
}

} // namespace
