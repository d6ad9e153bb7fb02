#include "tuner/app/studies.h"

#include <string>

#include "base/fake_clock.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/new_study.h"
#include "tuner/app/study_spec.h"
#include "tuner/app/tuning.h"
#include "tuner/study/study_owner.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

// A study that is said to run.
class StudiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const StudySpec spec,
                         CompleteStudySpec({.task = "matmul:m=4,n=4,k=4",
                                            .target = "cpu:arch=znver3,threads=1",
                                            .scheduler = "default"}));
    ASSERT_OK_AND_ASSIGN(const Tuning tuning, PrepareTuning(spec));
    ASSERT_OK_AND_ASSIGN(database_, OpenDatabase("memory:"));
    ASSERT_OK_AND_ASSIGN(id_, StoreNewStudy(database_, clock_, tuning, "a product"));
    ASSERT_THAT(database_.studies->SetState(id_, StudyState::kRunning, "", 1), IsOk());
  }
  void Lease(const std::string& owner) {
    const absl::Time now = clock_.WallNow();
    ASSERT_THAT(database_.studies->TakeLease(
                    id_, {.owner = owner, .expires_ns = absl::ToUnixNanos(now + kLeaseDuration)},
                    absl::ToUnixNanos(now), ""),
                IsOk());
  }
  // As `status` and `list` show it; the same.
  std::string Detail() {
    LocalStudies studies(&database_, &clock_);
    const absl::StatusOr<StudyView> view = studies.Get(id_);
    const absl::StatusOr<std::vector<StudySummary>> list = studies.List({});
    EXPECT_THAT(view, IsOk());
    EXPECT_THAT(list, IsOk());
    EXPECT_EQ(list->front().study.detail, view->summary.study.detail);
    return view->summary.study.detail;
  }

  FakeClock clock_;
  Database database_;
  std::string id_;
};

TEST_F(StudiesTest, StudyWhoseProcessRunsIsLeftAsItIs) {
  Lease(ThisProcess());
  EXPECT_EQ(Detail(), "");
}

TEST_F(StudiesTest, StudyWhoseProcessHasEndedSaysSoAndHowToGoOn) {
  std::string earlier = ThisProcess();
  earlier.insert(earlier.size() - 1, "9");
  Lease(earlier);
  EXPECT_THAT(Detail(), HasSubstr("has ended or is not heard of; `tuner resume " + id_ + "`"));
}

TEST_F(StudiesTest, StudyOfAnotherMachineIsItsUntilTheLeaseExpires) {
  Lease("process 1 on elsewhere");
  EXPECT_EQ(Detail(), "");
  clock_.Advance(kLeaseDuration);
  EXPECT_THAT(Detail(), HasSubstr("process 1 on elsewhere has ended or is not heard of"));
}

TEST_F(StudiesTest, StudyThatNobodyRunsSaysSo) {
  EXPECT_THAT(Detail(), HasSubstr("no process runs it"));
}

}  // namespace
}  // namespace burnish
