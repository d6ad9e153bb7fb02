#include "tuner/cli/nearest_name.h"

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(NearestNameTest, TypingErrorsAreNear) {
  const std::vector<std::string> names = {"submit", "status", "run", "resume", "query"};
  EXPECT_EQ(NearestName("submt", names), "submit");
  EXPECT_EQ(NearestName("sumbit", names), "submit");
  EXPECT_EQ(NearestName("rnu", names), "run");
  EXPECT_EQ(NearestName("qeury", names), "query");
  EXPECT_EQ(NearestName("Status", names), "status");
}

TEST(NearestNameTest, OtherWordsAreNot) {
  const std::vector<std::string> names = {"submit", "run"};
  EXPECT_EQ(NearestName("frobnicate", names), "");
  EXPECT_EQ(NearestName("ls", names), "");
  EXPECT_EQ(NearestName("", names), "");
  EXPECT_EQ(NearestName(std::string(100'000, 'r'), names), "");
}

}  // namespace
}  // namespace burnish
