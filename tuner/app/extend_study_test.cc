#include "tuner/app/extend_study.h"

#include <string>

#include "base/fake_clock.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"
#include "tuner/app/study_view.h"
#include "tuner/study/study_claim.h"
#include "tuner/study/synthetic_study.h"

namespace burnish {
namespace {

// A study of 20 trials that is done.
class ExtendStudyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(database_, OpenDatabase("memory:"));
    ASSERT_THAT(CreateStudy(*database_.studies, study_.New()), IsOk());
    FakeMeasurerOptions farm = study_.Farm();
    farm.clock = &clock_;
    FakeMeasurer measurer(farm);
    ASSERT_OK_AND_ASSIGN(const StudyResult result,
                         StudyRunner(study_.Options(database_.records.get(),
                                                    database_.studies.get(), &measurer, &clock_))
                             .Run());
    had_ = result.progress.trial_count;
    ASSERT_EQ(had_, 20);
  }

  absl::Status Extend(const std::string& trials) {
    return ExtendStudy(database_, clock_, SyntheticStudy::kId, trials).status();
  }
  StudyView View() { return *LoadStudyView(database_, SyntheticStudy::kId, 0); }

  FakeClock clock_;
  SyntheticStudy study_{{.spec = {.trials_max = 20}}};
  Database database_;
  int64_t had_ = 0;
};

TEST_F(ExtendStudyTest, StudyThatIsDoneWaitsForSoManyMore) {
  const StudySpec before = View().spec;
  ASSERT_THAT(Extend("+5"), IsOk());
  StudySpec want = before;
  want.trials_max = 25;
  want.time_max_ns = 0;
  EXPECT_EQ(View().spec, want);
  EXPECT_EQ(View().summary.study.state, StudyState::kQueued);
  EXPECT_EQ(View().summary.lease, StudyLease());
  // It is not done now, so that more is beyond its budget.
  ASSERT_THAT(Extend("+5"), IsOk());
  EXPECT_EQ(View().spec.trials_max, 30);
}

TEST_F(ExtendStudyTest, NumberWithoutASignIsThatOfAll) {
  ASSERT_THAT(Extend("100"), IsOk());
  EXPECT_EQ(View().spec.trials_max, 100);
}

TEST_F(ExtendStudyTest, WhatIsNotMoreIsRefusedAndChangesNothing) {
  const StudyView before = View();
  for (const char* trials : {"", "+", "+0", "0", "-1", "20", "+-5", "+ 5", "5x", "99999999999",
                             "+1000000000", "18446744073709551617"}) {
    EXPECT_EQ(ErrorCodeOf(Extend(trials)), ErrorCode::kUsage) << trials;
  }
  EXPECT_EQ(View().spec, before.spec);
  EXPECT_EQ(View().summary.study, before.summary.study);
}

TEST_F(ExtendStudyTest, StudyThatRunsIsRefused) {
  ASSERT_OK_AND_ASSIGN(const auto claim,
                       StudyClaim::Take({.studies = database_.studies.get(),
                                         .clock = &clock_,
                                         .study_id = SyntheticStudy::kId,
                                         .owner = "somebody else",
                                         .has_ended = [](absl::string_view) { return false; }}));
  EXPECT_EQ(ErrorCodeOf(Extend("+5")), ErrorCode::kStudyOwned);
  EXPECT_EQ(View().spec.trials_max, 20);
}

}  // namespace
}  // namespace burnish
