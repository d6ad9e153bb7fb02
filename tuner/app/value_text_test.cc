#include "tuner/app/value_text.h"

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(ValueTextTest, BytesHaveTheUnitThatFits) {
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(1023.9 * 1024), "1.0 MiB");
}

TEST(ValueTextTest, ShapesInBothSpellings) {
  EXPECT_EQ(ParseShape("1x3x224x224"), (std::vector<int64_t>{1, 3, 224, 224}));
  EXPECT_EQ(ParseShape("1,3"), (std::vector<int64_t>{1, 3}));
  EXPECT_TRUE(ParseShape("1x-3").empty());
  EXPECT_TRUE(ParseShape("1xbx3").empty());
  EXPECT_EQ(FormatShape({1, 3}), "[1,3]");
}

}  // namespace
}  // namespace burnish
