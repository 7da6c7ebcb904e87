//===- NpyTest.cpp - .npy files, good and bad -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa4/Support/Npy.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace fa4::support;

namespace {

/// A file made by hand, so that reader and writer cannot share a mistake.
std::string file(const std::string &header, const std::string &data, unsigned major = 1) {
  std::string bytes("\x93NUMPY");
  bytes += static_cast<char>(major);
  bytes += '\0';
  char length[4];
  llvm::support::endian::write32le(length, static_cast<uint32_t>(header.size()));
  bytes.append(length, major == 1 ? 2 : 4);
  return bytes + header + data;
}

std::string header(const std::string &descr, const std::string &order, const std::string &shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

template <typename T>
std::string raw(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char *>(values.begin()), values.size() * sizeof(T));
}

std::string errorOf(const std::string &bytes) {
  llvm::Expected<NpyArray> array = parseNpy(bytes, "a.npy");
  if (array) {
    return "no error";
  }
  return llvm::toString(array.takeError());
}

NpyArray parsed(const std::string &bytes) {
  llvm::Expected<NpyArray> array = parseNpy(bytes, "a.npy");
  EXPECT_TRUE(static_cast<bool>(array));
  return array ? std::move(*array) : NpyArray();
}

TEST(Npy, ReadsEveryType) {
  EXPECT_EQ(parsed(file(header("<f4", "False", "(1,)"), raw({1.5F}))).getElement(0), 1.5);
  EXPECT_EQ(parsed(file(header("<f8", "False", "(1,)"), raw({0.1}))).getElement(0), 0.1);
  EXPECT_EQ(parsed(file(header("<i4", "False", "(1,)"), raw({-7}))).getElement(0), -7.0);
  EXPECT_EQ(parsed(file(header("<i8", "False", "(1,)"), raw({int64_t(1) << 40}))).getElement(0),
            0x1p40);
  std::string half = raw({uint16_t(0x3E00)});
  EXPECT_EQ(parsed(file(header("<f2", "False", "(1,)"), half)).getElement(0), 1.5);
  std::string brain = raw({uint16_t(0x3FC0)});
  for (const char *descr : {"<u2", "|V2", "<V2"}) {
    NpyArray array = parsed(file(header(descr, "False", "(1,)"), brain));
    EXPECT_EQ(array.type, NpyType::BF16);
    EXPECT_EQ(array.getElement(0), 1.5);
  }
}

TEST(Npy, ReadsBothVersionsAndAnyKeyOrder) {
  std::string text = "{\"shape\":(2,1),'fortran_order':False,\n \"descr\":'<i4'}   \n";
  for (unsigned major : {1U, 2U}) {
    NpyArray array = parsed(file(text, raw({3, 4}), major));
    EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 1}));
    EXPECT_EQ(array.getElement(1), 4.0);
  }
}

TEST(Npy, ScalarsAndEmptyArrays) {
  EXPECT_EQ(parsed(file(header("<i4", "False", "()"), raw({5}))).numElements(), 1);
  NpyArray empty = parsed(file(header("<i4", "False", "(9223372036854775807, 4, 0)"), ""));
  EXPECT_EQ(empty.numElements(), 0);
}

TEST(Npy, FortranOrder) {
  // [[1, 2, 3], [4, 5, 6]] stored by columns.
  NpyArray array = parsed(file(header("<i4", "True", "(2, 3)"), raw({1, 4, 2, 5, 3, 6})));
  EXPECT_TRUE(array.fortranOrder);
  EXPECT_EQ(array.elementStrides(), (std::vector<int64_t>{1, 2}));
  NpyArray dense = array.toCOrder();
  EXPECT_EQ(dense.elementStrides(), (std::vector<int64_t>{3, 1}));
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(dense.getElement(i), i + 1);
  }
}

TEST(Npy, WritesWhatItReads) {
  for (NpyType type :
       {NpyType::BF16, NpyType::F16, NpyType::F32, NpyType::F64, NpyType::I32, NpyType::I64}) {
    NpyArray array(type, {2, 3, 1});
    array.fortranOrder = type == NpyType::F16;
    for (int i = 0; i < 6; ++i) {
      array.setElement(i, i - 2);
    }
    std::string bytes = serializeNpy(array);
    EXPECT_EQ((bytes.size() - array.data.size()) % 64, 0U);
    NpyArray back = parsed(bytes);
    EXPECT_EQ(back.type, type);
    EXPECT_EQ(back.shape, array.shape);
    EXPECT_EQ(back.fortranOrder, array.fortranOrder);
    EXPECT_EQ(back.data, array.data);
  }
}

TEST(Npy, LongHeaderTakesVersionTwo) {
  NpyArray array(NpyType::I32, std::vector<int64_t>(30000, 1));
  std::string bytes = serializeNpy(array);
  EXPECT_EQ(bytes[6], 2);
  EXPECT_EQ(parsed(bytes).shape.size(), 30000U);
}

TEST(Npy, Errors) {
  std::string good = header("<f4", "False", "(1,)"), data = raw({1.0F});
  EXPECT_EQ(errorOf("no magic"),
            "'a.npy': expected the file to start with the .npy magic, but got other bytes");
  EXPECT_EQ(errorOf("\x93NUMPY"),
            "'a.npy': expected a version after the magic, but got the end of the file");
  EXPECT_EQ(errorOf(file(good, data, 3)),
            "'a.npy': expected the format version to be 1.0 or 2.0, but got 3.0");
  EXPECT_EQ(errorOf(std::string("\x93NUMPY\1\0\x40", 9)),
            "'a.npy': expected the header's length, but got the end of the file");
  EXPECT_EQ(errorOf(std::string("\x93NUMPY\1\0\x40\0{}", 12)),
            "'a.npy': expected the header to have at most 2 bytes, but got 64");
  EXPECT_EQ(errorOf(file(header("<f4", "False", "(2,)"), data)),
            "'a.npy': expected the data to be 8 bytes, but got 4");
  EXPECT_EQ(errorOf(file(header("<f4", "False", "(4294967296, 4294967296)"), data)),
            "'a.npy': expected the data to be less than 2^64 bytes, but got 4");
  EXPECT_EQ(errorOf(file(header(">f4", "False", "(1,)"), data)),
            "'a.npy': expected the element type to be '<f2', '<f4', '<f8', '<i4', '<i8', or "
            "'<u2' or '|V2' for bf16, but got '>f4'");
  EXPECT_EQ(errorOf(file(header("<f4", "Maybe", "(1,)"), data)),
            "'a.npy': expected 'True' or 'False' in the header, but got 'Maybe, 'shape': '");
  EXPECT_EQ(errorOf(file(header("<f4", "False", "(-1,)"), data)),
            "'a.npy': expected an extent in the header, but got '-1,), }'");
  EXPECT_EQ(errorOf(file("{'descr': [('x', '<f4')], }", data)),
            "'a.npy': expected a string in the header, but got '[('x', '<f4')], '");
  EXPECT_EQ(errorOf(file("{'descr': '<f4', 'descr': '<f4'}", data)),
            "'a.npy': expected each key of the header to be 'descr', 'fortran_order' or 'shape' "
            "once, but got 'descr'");
  EXPECT_EQ(errorOf(file("{'descr': '<f4'}", data)),
            "'a.npy': expected the header to have 'descr', 'fortran_order' and 'shape', but got "
            "fewer");
  EXPECT_EQ(errorOf(file(good + "x", data)),
            "'a.npy': expected nothing after the dictionary in the header, but got 'x'");
}

TEST(Npy, EveryTruncationIsAnError) {
  NpyArray array(NpyType::F32, {3, 2});
  std::string bytes = serializeNpy(array);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(errorOf(bytes.substr(0, size)), "no error") << size;
  }
}

TEST(Npy, Files) {
  std::string path = testing::TempDir() + "fa4-npy-test.npy";
  NpyArray array(NpyType::F32, {2});
  array.setElement(1, 2.5);
  ASSERT_FALSE(static_cast<bool>(writeNpy(path, array)));
  llvm::Expected<NpyArray> back = readNpy(path);
  ASSERT_TRUE(static_cast<bool>(back));
  EXPECT_EQ(back->getElement(1), 2.5);
  EXPECT_FALSE(llvm::sys::fs::remove(path));
  EXPECT_EQ(llvm::toString(readNpy(path).takeError()),
            "'" + path + "': expected a readable file, but got 'No such file or directory'");
  EXPECT_EQ(llvm::toString(writeNpy("/nonexistent/x.npy", array)),
            "'/nonexistent/x.npy': expected a writable file, but got 'No such file or directory'");
}

} // namespace
