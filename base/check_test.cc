#include "base/check.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(CheckDeathTest, FailureNamesTheConditionAndWhatWasStreamed) {
  const int rank = 3;
  EXPECT_DEATH(CHECK(rank == 4) << "for conv2d",
               "check_test.cc:[0-9]+: check failed: rank == 4 for conv2d");
}

TEST(CheckDeathTest, ComparisonPrintsBothValues) {
  const std::vector<int> shape = {1, 2};
  EXPECT_DEATH(CHECK_EQ(shape.size(), 3) << "of X",
               "check failed: shape.size\\(\\) == 3 \\(2 vs. 3\\) of X");
  EXPECT_DEATH(CHECK_GE(1, 2), "1 >= 2 \\(1 vs. 2\\)");
}

TEST(CheckDeathTest, NotOkStatusPrintsItsText) {
  EXPECT_DEATH(CHECK_OK(absl::NotFoundError("no such record")), "NOT_FOUND: no such record");
  EXPECT_DEATH(CHECK_OK(absl::StatusOr<int>(absl::InternalError("gone"))), "INTERNAL: gone");
}

TEST(CheckTest, IntegersCompareByValueWhateverTheirSign) {
  const int minus_one = -1;
  const size_t one = 1;
  CHECK_LT(minus_one, one);
  CHECK_NE(minus_one, static_cast<size_t>(-1));
}

TEST(CheckTest, EachOperandIsEvaluatedOnce) {
  int calls = 0;
  const auto next = [&calls] { return ++calls; };
  CHECK_EQ(next(), 1);
  CHECK(next() == 2);
  EXPECT_EQ(calls, 2);
}

TEST(CheckTest, ElseBelongsToTheCallersIf) {
  bool reached = false;
  if (reached)
    CHECK(true);
  else
    reached = true;
  EXPECT_TRUE(reached);
}

TEST(CheckTest, DcheckEvaluatesNothingInRelease) {
  int calls = 0;
  DCHECK_EQ(++calls, 1);
#ifdef NDEBUG
  EXPECT_EQ(calls, 0);
#else
  EXPECT_EQ(calls, 1);
#endif
}

}  // namespace
}  // namespace burnish
