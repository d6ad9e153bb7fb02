#include "tuner/app/npy.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

// Written by NumPy itself: testdata/make_npy.py.
std::string Fixture(const std::string& name) {
  const absl::StatusOr<std::string> bytes =
      ReadFile(absl::StrCat("tuner/app/testdata/", name), 1 << 20);
  EXPECT_THAT(bytes, IsOk());
  return bytes.ok() ? *bytes : "";
}

template <typename T>
std::vector<T> Values(const NpyArray& array) {
  std::vector<T> values(array.bytes.size() / sizeof(T));
  std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
  return values;
}

TEST(NpyTest, NumpysFilesAreRead) {
  ASSERT_OK_AND_ASSIGN(const NpyArray floats, ParseNpy(Fixture("f32_2x3.npy")));
  EXPECT_EQ(floats.type, ElementType::kF32);
  EXPECT_EQ(floats.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(Values<float>(floats), (std::vector<float>{0, 1, 2, 3, 4, 5}));

  ASSERT_OK_AND_ASSIGN(const NpyArray halves, ParseNpy(Fixture("f16_4.npy")));
  EXPECT_EQ(halves.type, ElementType::kF16);
  EXPECT_EQ(Values<uint16_t>(halves), (std::vector<uint16_t>{0, 0x3c00, 0x4000, 0x4200}));

  ASSERT_OK_AND_ASSIGN(const NpyArray scalar, ParseNpy(Fixture("i64_scalar.npy")));
  EXPECT_EQ(scalar.type, ElementType::kI64);
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(Values<int64_t>(scalar), (std::vector<int64_t>{7}));

  ASSERT_OK_AND_ASSIGN(const NpyArray bytes, ParseNpy(Fixture("u8_5.npy")));
  EXPECT_EQ(bytes.type, ElementType::kU8);
  EXPECT_EQ(bytes.shape, (std::vector<int64_t>{5}));

  ASSERT_OK_AND_ASSIGN(const NpyArray flags, ParseNpy(Fixture("bool_2x2.npy")));
  EXPECT_EQ(flags.type, ElementType::kBool);
  EXPECT_EQ(Values<uint8_t>(flags), (std::vector<uint8_t>{0, 1, 1, 1}));

  ASSERT_OK_AND_ASSIGN(const NpyArray empty, ParseNpy(Fixture("f32_0x3.npy")));
  EXPECT_EQ(empty.shape, (std::vector<int64_t>{0, 3}));
  EXPECT_TRUE(empty.bytes.empty());
}

TEST(NpyTest, LongerHeadersOfLaterVersionsAreRead) {
  for (const char* name : {"version2_i32_2x2.npy", "version3_i32_2x2.npy"}) {
    ASSERT_OK_AND_ASSIGN(const NpyArray array, ParseNpy(Fixture(name)));
    EXPECT_EQ(array.type, ElementType::kI32);
    EXPECT_EQ(Values<int32_t>(array), (std::vector<int32_t>{0, 1, 2, 3}));
  }
}

// NumPy wrote these bytes; the same array must give them again.
TEST(NpyTest, WritesWhatNumpyWrites) {
  for (const char* name :
       {"f32_2x3.npy", "f16_4.npy", "i64_scalar.npy", "u8_5.npy", "bool_2x2.npy", "f32_0x3.npy"}) {
    const std::string bytes = Fixture(name);
    ASSERT_OK_AND_ASSIGN(const NpyArray array, ParseNpy(bytes));
    EXPECT_EQ(SerializeNpy(array), bytes) << name;
  }
}

TEST(NpyTest, Bfloat16IsWrittenAsFloat) {
  const NpyArray array{.type = ElementType::kBf16, .shape = {2}, .bytes = {0, 0, '\x80', '\x3f'}};
  ASSERT_OK_AND_ASSIGN(const NpyArray read, ParseNpy(SerializeNpy(array)));
  EXPECT_EQ(read.type, ElementType::kF32);
  EXPECT_EQ(Values<float>(read), (std::vector<float>{0, 1}));
}

TEST(NpyTest, WhatIsLeftOutIsRefusedWithTheWayOut) {
  const auto refused = [](const char* name, const char* text) {
    EXPECT_THAT(ParseNpy(Fixture(name)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)))
        << name;
  };
  refused("fortran_2x3.npy", "hint: numpy.ascontiguousarray(x)");
  refused("big_endian_3.npy", "big-endian");
  refused("structured_2.npy", "structured");
  refused("complex_2.npy", "<c8");
}

TEST(NpyTest, EveryCutIsRefused) {
  const std::string bytes = Fixture("f32_2x3.npy");
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(ParseNpy(bytes.substr(0, size)), StatusIs(absl::StatusCode::kInvalidArgument))
        << size;
  }
  EXPECT_THAT(ParseNpy(bytes + "x"), StatusIs(absl::StatusCode::kInvalidArgument));
}

std::string WithHeader(const std::string& header) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header;
}

TEST(NpyTest, HostileHeadersAreRefused) {
  for (const char* header : {
           "",
           "{",
           "{}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, }",
           "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (), }",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (), }",
           "{'descr': '<f4, 'fortran_order': False, 'shape': (), }",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (), } x",
           "{'descr': '<f4', 'fortran_order': False, "
           "'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
       }) {
    EXPECT_THAT(ParseNpy(WithHeader(header)), StatusIs(absl::StatusCode::kInvalidArgument))
        << header;
  }
}

}  // namespace
}  // namespace burnish
