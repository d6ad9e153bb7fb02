#include "tuner/app/retry_study.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
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

// A study of which some candidates are poisoned.
class RetryStudyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(database_, OpenDatabase("memory:"));
    ASSERT_THAT(CreateStudy(*database_.studies, study_.New()), IsOk());
    FakeMeasurerOptions farm = study_.Farm();
    farm.failure_share = 0.5;
    farm.clock = &clock_;
    FakeMeasurer measurer(farm);
    const StudyRunnerOptions options =
        study_.Options(database_.records.get(), database_.studies.get(), &measurer, &clock_);
    ASSERT_OK_AND_ASSIGN(const StudyResult result, StudyRunner(options).Run());
    poisoned_ = result.progress.failure_counts.at(FailureKind::kPoisoned);
    ASSERT_GT(poisoned_, 1);
  }
  ErrorCode CodeOf(const std::string& what) {
    return ErrorCodeOf(RetryStudy(database_, clock_, what).status());
  }

  FakeClock clock_;
  SyntheticStudy study_{{.spec = {.trials_max = 60}}};
  Database database_;
  int64_t poisoned_ = 0;
};

TEST_F(RetryStudyTest, StudyThatWasDoneWaitsForAResumeWithItsPoisonLifted) {
  ASSERT_OK_AND_ASSIGN(const RetriedStudy retried,
                       RetryStudy(database_, clock_, SyntheticStudy::kId));
  EXPECT_EQ(retried.study_id, SyntheticStudy::kId);
  EXPECT_EQ(retried.lifted_count, poisoned_);
  EXPECT_EQ(retried.open_count, poisoned_);
  ASSERT_OK_AND_ASSIGN(const StudySummary summary, database_.studies->Get(SyntheticStudy::kId));
  EXPECT_EQ(summary.study.state, StudyState::kQueued);
  EXPECT_THAT(summary.study.detail, ::testing::HasSubstr("`tuner resume study`"));
  EXPECT_EQ(summary.lease, StudyLease());
  // What is lifted is no trial any more.
  ASSERT_OK_AND_ASSIGN(const StudyView view, LoadStudyView(database_, SyntheticStudy::kId, 0));
  EXPECT_EQ(view.counts.trial_count, 60 - poisoned_);
  EXPECT_FALSE(view.counts.failure_counts.contains(FailureKind::kPoisoned));
}

TEST_F(RetryStudyTest, OneTrialIsLiftedByItsNameOrItsCandidates) {
  ASSERT_OK_AND_ASSIGN(const EntryPage page,
                       database_.records->ScanEntries({.study_id = SyntheticStudy::kId}));
  std::vector<std::string> names;
  for (const MeasurementEntry& entry : page.entries) {
    const Failure* failure = entry.measurement.failure();
    if (failure == nullptr || failure->kind != FailureKind::kPoisoned) continue;
    names.push_back(names.empty() ? entry.trial_id : absl::BytesToHexString(entry.candidate.Id()));
  }
  for (size_t i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const RetriedStudy retried, RetryStudy(database_, clock_, names[i]));
    EXPECT_EQ(retried.lifted_count, 1) << names[i];
    EXPECT_EQ(CodeOf(names[i]), ErrorCode::kStudyState) << names[i];
  }
}

TEST_F(RetryStudyTest, WhatIsNotThereOrRunsIsRefused) {
  EXPECT_EQ(CodeOf("2001"), ErrorCode::kNoStudy);
  EXPECT_EQ(CodeOf("2001/t0/1"), ErrorCode::kNoStudy);
  EXPECT_EQ(CodeOf(std::string(64, 'a')), ErrorCode::kNoStudy);
  EXPECT_EQ(CodeOf("study/t0/999"), ErrorCode::kStudyState);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StudyClaim> other,
                       StudyClaim::Take({.studies = database_.studies.get(),
                                         .clock = &clock_,
                                         .study_id = SyntheticStudy::kId,
                                         .owner = "process 1 on elsewhere"}));
  EXPECT_EQ(CodeOf("study"), ErrorCode::kStudyOwned);
}

}  // namespace
}  // namespace burnish
