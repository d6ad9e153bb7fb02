#include "tuner/study/trial_id.h"

#include <limits>

#include "base/status_matchers.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// As older programs have stored them.
TEST(TrialIdTest, TextIsTheStudysTheTasksAndTheNumber) {
  EXPECT_EQ(TrialIdOf("s", 3, 17), "s/t3/17");
  EXPECT_EQ(TrialIdOf("s", 0, kReferenceNumber), "s/t0/ref");
}

TEST(TrialIdTest, NumberComesBack) {
  for (const int64_t number : {kReferenceNumber, int64_t{0}, int64_t{9}, int64_t{10},
                               std::numeric_limits<int64_t>::max()}) {
    EXPECT_THAT(ParseTrialNumber("a/b", 12, TrialIdOf("a/b", 12, number)), IsOkAndHolds(number));
  }
}

TEST(TrialIdTest, IdOfAnotherTaskOrStudyOrWithoutANumberIsDamage) {
  for (const char* id : {"", "s", "s/t3/", "s/t3/x", "s/t3/-1", "s/t3/+1", "s/t3/01", "s/t3/1 ",
                         "s/t4/1", "r/t3/1", "s/t3/99999999999999999999", "s/t3/refs"}) {
    EXPECT_THAT(ParseTrialNumber("s", 3, id), StatusIs(absl::StatusCode::kDataLoss)) << id;
  }
}

}  // namespace
}  // namespace burnish
