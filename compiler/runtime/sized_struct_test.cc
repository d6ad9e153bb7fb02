#include "compiler/runtime/sized_struct.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace burnish {
namespace {

struct Old {
  uint32_t struct_size;
  int32_t first;
};
struct New {
  uint32_t struct_size;
  int32_t first;
  int64_t second;
};

TEST(SizedStructTest, AnOlderProgramLacksFieldsWhichAre0) {
  Old old = {.struct_size = sizeof(old), .first = 5};
  const RuntimeOr<New> read = ReadStruct("S", reinterpret_cast<const New*>(&old));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->first, 5);
  EXPECT_EQ(read->second, 0);
  ASSERT_TRUE(WriteStruct("S", New{.first = 6, .second = 7}, reinterpret_cast<New*>(&old)).ok());
  EXPECT_EQ(old.first, 6);
  EXPECT_EQ(old.struct_size, sizeof(Old));
}

TEST(SizedStructTest, ANewerProgramMayLeaveOutWhatThisLibraryDoesNotKnow) {
  New given = {.struct_size = sizeof(given), .first = 5};
  const RuntimeOr<Old> read = ReadStruct("S", reinterpret_cast<const Old*>(&given));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->first, 5);
  given.second = 9;
  ASSERT_TRUE(WriteStruct("S", Old{.first = 6}, reinterpret_cast<Old*>(&given)).ok());
  EXPECT_EQ(given.first, 6);
  EXPECT_EQ(given.second, 0);
}

TEST(SizedStructTest, WhatThisLibraryDoesNotKnowIsRefusedWhereItIsAskedFor) {
  const New given = {.struct_size = sizeof(given), .second = 1};
  EXPECT_EQ(ReadStruct("S", reinterpret_cast<const Old*>(&given)).status().message(),
            "got a S of 16 bytes that asks for what this library does not know; it knows 8: use a "
            "newer libburnish");
}

TEST(SizedStructTest, SizesThatNobodySetAreRefused) {
  for (uint32_t size : {0u, 4u, 4097u, ~0u}) {
    Old old = {.struct_size = size};
    EXPECT_EQ(ReadStruct("S", &old).status().code(), RuntimeCode::kInvalidArgument) << size;
    EXPECT_EQ(WriteStruct("S", Old{}, &old).code(), RuntimeCode::kInvalidArgument) << size;
  }
}

}  // namespace
}  // namespace burnish
