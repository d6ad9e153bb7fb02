#include "base/golden.h"

#include <string>

#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

TEST(GoldenTest, EqualFileMatchesAndOtherTextSaysTheFirstDifference) {
  ASSERT_OK_AND_ASSIGN(const TempDir dir, TempDir::Create("golden", ::testing::TempDir()));
  const std::string path = dir.path() + "/want.txt";
  ASSERT_THAT(WriteFileAtomically(path, "a\nb\nc\n"), IsOk());
  EXPECT_TRUE(MatchesGolden(path, "a\nb\nc\n"));
  const ::testing::AssertionResult other = MatchesGolden(path, "a\nx\nc\n");
  EXPECT_FALSE(other);
  EXPECT_THAT(other.message(), HasSubstr("want.txt:2: want \"b\"\n got \"x\""));
  EXPECT_THAT(MatchesGolden(path, "a\nb").message(), HasSubstr("want.txt:3: want \"c\""));
  EXPECT_THAT(ReadFile(path, 100), IsOkAndHolds("a\nb\nc\n"));
}

TEST(GoldenTest, UpdateOverwritesTheFile) {
  ASSERT_OK_AND_ASSIGN(const TempDir dir, TempDir::Create("golden", ::testing::TempDir()));
  const std::string path = dir.path() + "/want.txt";
  ASSERT_THAT(WriteFileAtomically(path, "old, and longer"), IsOk());
  EXPECT_TRUE(CompareOrUpdate(path, "new", /*update=*/true));
  EXPECT_THAT(ReadFile(path, 100), IsOkAndHolds("new"));
}

TEST(GoldenTest, MissingFileIsNamedAndNotMade) {
  EXPECT_THAT(CompareOrUpdate("no/such.txt", "x", /*update=*/true).message(),
              HasSubstr("no/such.txt is missing"));
}

}  // namespace
}  // namespace burnish
