// A study from its specification to its end, as any front end runs one: nothing here prints, parses
// flags or starts a program.
#include "tuner/app/local_run.h"

#include "base/fake_clock.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/protocol.h"
#include "tuner/app/error.h"
#include "tuner/app/new_study.h"
#include "tuner/app/study_spec.h"
#include "tuner/app/study_view.h"
#include "tuner/study/study_claim.h"

namespace burnish {
namespace {

using ::testing::StartsWith;

class NoView : public RunObserver {
 public:
  void OnProgress(const StudyProgress&) override {}
  void OnFarmRestart(absl::string_view) override {}
};

class LocalRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const StudySpec spec,
                         CompleteStudySpec({.task = "matmul:m=4,n=4,k=4",
                                            .target = "cpu:arch=znver3,threads=1",
                                            .scheduler = "default"}));
    ASSERT_OK_AND_ASSIGN(tuning_, PrepareTuning(spec));
    ASSERT_OK_AND_ASSIGN(database_, OpenDatabase("memory:"));
    ASSERT_OK_AND_ASSIGN(study_id_, StoreNewStudy(database_, clock_, tuning_, "a product"));
  }

  absl::StatusOr<StudyResult> Run() {
    absl::StatusOr<std::unique_ptr<LocalRun>> run = LocalRun::Start({.study_id = study_id_,
                                                                     .tuning = &tuning_,
                                                                     .database = &database_,
                                                                     .clock = &clock_,
                                                                     .observer = &view_});
    if (!run.ok()) return run.status();
    return (*run)->Run();
  }

  FakeClock clock_{absl::FromUnixSeconds(1'800'000'000)};  // 15 January 2027, 08:00:00 UTC.
  NoView view_;
  Tuning tuning_;
  Database database_;
  std::string study_id_;
};

// What decides where measurements find weights.
TEST(TuningTest, ConstantsAreThoseOfAllSteps) {
  ASSERT_OK_AND_ASSIGN(const StudySpec spec,
                       CompleteStudySpec({.task = "conv2d:h=8,ci=16,co=32,k=3,p=1",
                                          .target = "cpu:arch=znver3,threads=1"}));
  ASSERT_OK_AND_ASSIGN(const Tuning conv, PrepareTuning(spec));
  EXPECT_EQ(conv.constant_bytes, 4 * 32 * 16 * 3 * 3);
  ASSERT_OK_AND_ASSIGN(
      const StudySpec model_spec,
      CompleteStudySpec({.task = "resnet18", .target = "cpu:arch=znver3,threads=1"}));
  ASSERT_OK_AND_ASSIGN(const Tuning model, PrepareTuning(model_spec));
  // 11.7 million parameters, of which those of normalization are folded into weights and biases.
  EXPECT_NEAR(static_cast<double>(model.constant_bytes), 4 * 11.69e6, 4 * 0.1e6);
}

TEST_F(LocalRunTest, AStoredStudyWaitsUnderAnIdThatSortsByTime) {
  EXPECT_THAT(study_id_, StartsWith("20270115-080000-"));
  ASSERT_OK_AND_ASSIGN(const StudyView view, LoadStudyView(database_, study_id_, 0));
  EXPECT_EQ(view.summary.study.state, StudyState::kQueued);
  EXPECT_EQ(view.summary.study.title, "a product");
  ASSERT_EQ(view.tasks.size(), 1u);
  EXPECT_EQ(view.tasks[0].task.workload_id, tuning_.tasks[0].workload.id);
}

TEST_F(LocalRunTest, AStudyWithoutTrialsIsDoneWithoutAFarm) {
  ASSERT_OK_AND_ASSIGN(const StudyResult result, Run());
  EXPECT_EQ(result.reason, StopReason::kTrials);
  EXPECT_TRUE(StopError(result, study_id_).ok());
  ASSERT_OK_AND_ASSIGN(const StudyView view, LoadStudyView(database_, study_id_, 0));
  EXPECT_EQ(view.summary.study.state, StudyState::kDone);
}

TEST_F(LocalRunTest, AStudyThatIsDoneIsNotRunAgain) {
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(ErrorCodeOf(Run().status()), ErrorCode::kStudyState);
}

TEST_F(LocalRunTest, OfTwoRunsTheSecondIsRefusedAndTheStudyStaysTheFirsts) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StudyClaim> first,
                       StudyClaim::Take({.studies = database_.studies.get(),
                                         .clock = &clock_,
                                         .study_id = study_id_,
                                         .owner = "process 1 on elsewhere"}));
  const absl::Status refused = Run().status();
  EXPECT_EQ(ErrorCodeOf(refused), ErrorCode::kStudyOwned);
  EXPECT_EQ(PartsOf(refused).where, study_id_);
  EXPECT_THAT(refused.message(), ::testing::HasSubstr("is run by process 1 on elsewhere"));
  EXPECT_EQ(database_.studies->Get(study_id_)->study.state, StudyState::kQueued);
  // It was suspended for too long; a run that ends leaves the study to whoever comes.
  clock_.Advance(absl::Hours(1));
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(database_.studies->Get(study_id_)->lease, StudyLease());
}

TEST_F(LocalRunTest, AnEndBeforeItsTimeSaysWhyAndOfWhichStudy) {
  const auto error = [&](StopReason reason, const absl::Status& health) {
    return StopError({.reason = reason, .progress = {.health = health}}, study_id_);
  };
  const absl::Status silent = error(StopReason::kMeasurerSilent, absl::UnavailableError("away"));
  EXPECT_EQ(ErrorCodeOf(silent), ErrorCode::kTrackerUnreachable);
  EXPECT_EQ(PartsOf(silent).where, study_id_);
  EXPECT_EQ(PartsOf(silent).hint, "");  // How to go on is the front end's to say.
  EXPECT_EQ(ErrorCodeOf(error(StopReason::kMeasurerSilent, absl::FailedPreconditionError("none"))),
            ErrorCode::kNoMatchingWorker);
  EXPECT_EQ(ErrorCodeOf(error(StopReason::kMeasurerSilent, ProtocolRefusal("tracker 9"))),
            ErrorCode::kTrackerProtocol);
  EXPECT_EQ(ErrorCodeOf(error(StopReason::kParked, absl::OkStatus())), ErrorCode::kStudyParked);
  EXPECT_EQ(ErrorCodeOf(error(StopReason::kNothingMeasured, absl::OkStatus())),
            ErrorCode::kNothingMeasured);
  EXPECT_EQ(ErrorCodeOf(error(StopReason::kInterrupted, absl::OkStatus())),
            ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace burnish
