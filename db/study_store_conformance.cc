#include "db/study_store_conformance.h"

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Study StudyNamed(absl::string_view id, int64_t created_ns = 10) {
  return {.id = std::string(id),
          .title = "resnet50",
          .target = "cpu:arch=znver3",
          .spec = std::string("opaque\0bytes", 12),
          .created_ns = created_ns,
          .updated_ns = created_ns};
}

std::vector<StudyTask> TwoTasks() {
  return {{.workload_id = std::string(32, 'a'), .name = "conv", .weight = 3},
          {.workload_id = std::string(32, '\0'), .name = "dense", .weight = 0.5}};
}

std::vector<StudyLogEntry> Log(int begin, int end) {
  std::vector<StudyLogEntry> log;
  for (int i = begin; i < end; ++i) {
    log.push_back({.kind = i % 3 == 0 ? StudyLogKind::kSnapshot : StudyLogKind::kUpdate,
                   .task_index = i % 2,
                   .trial_ids = {absl::StrCat("t", i), "u"},
                   .snapshot_id = i % 3 == 0 ? absl::StrCat("s", i) : "",
                   .round = i});
  }
  return log;
}

std::vector<std::string> Ids(const std::vector<StudySummary>& summaries) {
  std::vector<std::string> ids;
  for (const StudySummary& summary : summaries) ids.push_back(summary.study.id);
  return ids;
}

const auto kNotFound = StatusIs(absl::StatusCode::kNotFound, HasSubstr("'nobody'"));
const auto kPrecondition = StatusIs(absl::StatusCode::kFailedPrecondition);

TEST_P(StudyStoreConformanceTest, CreatedStudyComesBackWhole) {
  ASSERT_THAT(store_->Create(StudyNamed("s"), TwoTasks()), IsOk());
  EXPECT_THAT(store_->Get("s"),
              IsOkAndHolds(StudySummary{.study = StudyNamed("s"), .task_count = 2}));
  EXPECT_THAT(store_->Tasks("s"), IsOkAndHolds(TwoTasks()));
  EXPECT_THAT(store_->ReadLog("s", 0, 10), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(store_->OpenJobs("s"), IsOkAndHolds(IsEmpty()));
}

TEST_P(StudyStoreConformanceTest, SameSubmissionAgainIsOkAndAnotherOneIsNot) {
  ASSERT_THAT(store_->Create(StudyNamed("s"), TwoTasks()), IsOk());
  ASSERT_THAT(store_->SetState("s", StudyState::kRunning, "", 11), IsOk());
  EXPECT_THAT(store_->Create(StudyNamed("s"), TwoTasks()), IsOk());
  EXPECT_EQ(store_->Get("s")->study.state, StudyState::kRunning);
  const auto exists = StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("'s'"));
  EXPECT_THAT(store_->Create(StudyNamed("s"), {}), exists);
  Study other = StudyNamed("s");
  other.spec = "other";
  EXPECT_THAT(store_->Create(other, TwoTasks()), exists);
}

TEST_P(StudyStoreConformanceTest, StudyThatIsNotThereIsNotFoundByAnyCall) {
  EXPECT_THAT(store_->Get("nobody"), kNotFound);
  EXPECT_THAT(store_->Tasks("nobody"), kNotFound);
  EXPECT_THAT(store_->SetState("nobody", StudyState::kRunning, "", 1), kNotFound);
  EXPECT_THAT(store_->TakeLease("nobody", {.owner = "a"}, 1, ""), kNotFound);
  EXPECT_THAT(store_->ReleaseLease("nobody", "a"), kNotFound);
  EXPECT_THAT(store_->SetCrashCount("nobody", 1), kNotFound);
  EXPECT_THAT(store_->AppendLog("nobody", 0, Log(0, 1)), kNotFound);
  EXPECT_THAT(store_->ReadLog("nobody", 0, 1), kNotFound);
  EXPECT_THAT(store_->PutJobs("nobody", {}), kNotFound);
  EXPECT_THAT(store_->RemoveJobs("nobody", {}), kNotFound);
  EXPECT_THAT(store_->OpenJobs("nobody"), kNotFound);
  EXPECT_THAT(store_->List({.after_id = "nobody"}), kNotFound);
}

TEST_P(StudyStoreConformanceTest, WhatIsNoStudyIsRefused) {
  const auto refused = [](const char* what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(store_->Create(StudyNamed(""), {}), refused("id of 0 bytes"));
  EXPECT_THAT(store_->Create(StudyNamed(std::string(129, 'x')), {}), refused("id of 129 bytes"));
  EXPECT_THAT(store_->Create(StudyNamed("s"), {{{.workload_id = "x"}}}), refused("task 0"));
  EXPECT_THAT(
      store_->Create(StudyNamed("s"), {{{.workload_id = std::string(32, 'x'), .weight = 0}}}),
      refused("weight 0"));
  EXPECT_THAT(store_->List({}), IsOkAndHolds(IsEmpty()));
  ASSERT_THAT(store_->Create(StudyNamed("s"), {}), IsOk());
  EXPECT_THAT(store_->PutJobs("s", {{{.job_id = ""}}}), refused("id of 0 bytes"));
  EXPECT_THAT(store_->List({.limit = 0}), refused("limit=0"));
  EXPECT_THAT(store_->ReadLog("s", 0, 0), refused("limit=0"));
}

TEST_P(StudyStoreConformanceTest, StateChangesFollowTheRulesAndKeepTheReason) {
  ASSERT_THAT(store_->Create(StudyNamed("s"), {}), IsOk());
  ASSERT_THAT(store_->SetState("s", StudyState::kRunning, "", 20), IsOk());
  ASSERT_THAT(store_->SetState("s", StudyState::kFailed, "disk full", 30), IsOk());
  EXPECT_THAT(store_->SetState("s", StudyState::kDone, "", 40), kPrecondition);
  const Study study = store_->Get("s")->study;
  EXPECT_EQ(study.state, StudyState::kFailed);
  EXPECT_EQ(study.detail, "disk full");
  EXPECT_EQ(study.created_ns, 10);
  EXPECT_EQ(study.updated_ns, 30);
  EXPECT_THAT(store_->SetState("s", StudyState::kFailed, "disk full", 30), IsOk());
  EXPECT_THAT(store_->SetState("s", StudyState::kRunning, "", 50), IsOk());
  EXPECT_THAT(store_->SetState("s", StudyState::kDone, "", 60), IsOk());
  EXPECT_THAT(store_->SetState("s", StudyState::kRunning, "", 70), kPrecondition);
}

TEST_P(StudyStoreConformanceTest, AnotherSpecificationPutsTheStudyBackInTheQueue) {
  EXPECT_THAT(store_->Requeue("nobody", "more", "", 1), kNotFound);
  ASSERT_THAT(store_->Create(StudyNamed("s"), TwoTasks()), IsOk());
  ASSERT_THAT(store_->Create(StudyNamed("other"), {}), IsOk());
  ASSERT_THAT(store_->SetState("s", StudyState::kRunning, "", 20), IsOk());
  ASSERT_THAT(store_->SetState("s", StudyState::kDone, "", 30), IsOk());
  const std::string more("mo\0re", 5);
  ASSERT_THAT(store_->Requeue("s", more, "for more", 40), IsOk());
  const Study study = store_->Get("s")->study;
  EXPECT_EQ(study.spec, more);
  EXPECT_EQ(study.state, StudyState::kQueued);
  EXPECT_EQ(study.detail, "for more");
  EXPECT_EQ(study.created_ns, 10);
  EXPECT_EQ(study.updated_ns, 40);
  EXPECT_EQ(store_->Tasks("s")->size(), 2);
  EXPECT_EQ(store_->Get("other")->study, StudyNamed("other"));
}

TEST_P(StudyStoreConformanceTest, LeaseIsItsOwnersUntilItExpiresOrIsGivenBack) {
  ASSERT_THAT(store_->Create(StudyNamed("s"), {}), IsOk());
  const StudyLease first{.owner = "first", .expires_ns = 100};
  ASSERT_THAT(store_->TakeLease("s", first, 10, ""), IsOk());
  EXPECT_EQ(store_->Get("s")->lease, first);
  const StudyLease second{.owner = "second", .expires_ns = 200};
  EXPECT_THAT(store_->TakeLease("s", second, 99, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("'s' is run by first")));
  EXPECT_EQ(store_->Get("s")->lease, first);
  // Renewed, it does not expire.
  const StudyLease renewed{.owner = "first", .expires_ns = 150};
  ASSERT_THAT(store_->TakeLease("s", renewed, 99, ""), IsOk());
  EXPECT_THAT(store_->TakeLease("s", second, 100, ""), kPrecondition);
  ASSERT_THAT(store_->TakeLease("s", second, 150, ""), IsOk());
  // The first comes back from wherever it was.
  EXPECT_THAT(store_->TakeLease("s", renewed, 151, ""), kPrecondition);
  EXPECT_THAT(store_->ReleaseLease("s", "first"), IsOk());
  EXPECT_EQ(store_->Get("s")->lease, second);
  ASSERT_THAT(store_->ReleaseLease("s", "second"), IsOk());
  EXPECT_EQ(store_->Get("s")->lease, StudyLease());
  EXPECT_THAT(store_->TakeLease("s", renewed, 152, ""), IsOk());
}

TEST_P(StudyStoreConformanceTest, LeaseOfAnOwnerThatIsDeadIsFree) {
  ASSERT_THAT(store_->Create(StudyNamed("s"), {}), IsOk());
  ASSERT_THAT(store_->TakeLease("s", {.owner = "first", .expires_ns = 100}, 10, ""), IsOk());
  const StudyLease second{.owner = "second", .expires_ns = 200};
  EXPECT_THAT(store_->TakeLease("s", second, 11, "somebody else"), kPrecondition);
  EXPECT_THAT(store_->TakeLease("s", second, 11, "first"), IsOk());
  EXPECT_EQ(store_->Get("s")->lease, second);
  EXPECT_THAT(store_->TakeLease("s", {}, 11, ""), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(StudyStoreConformanceTest, CrashesAreCounted) {
  ASSERT_THAT(store_->Create(StudyNamed("s"), {}), IsOk());
  ASSERT_THAT(store_->SetCrashCount("s", 2), IsOk());
  EXPECT_EQ(store_->Get("s")->crash_count, 2);
  EXPECT_EQ(store_->List({})->front().crash_count, 2);
}

TEST_P(StudyStoreConformanceTest, ListIsNewestFirstInPagesAndByState) {
  for (const auto& [id, created_ns] :
       std::vector<std::pair<const char*, int64_t>>{{"b", 20}, {"a", 10}, {"d", 30}, {"c", 20}}) {
    ASSERT_THAT(store_->Create(StudyNamed(id, created_ns), TwoTasks()), IsOk());
  }
  ASSERT_THAT(store_->SetState("c", StudyState::kRunning, "", 99), IsOk());
  EXPECT_THAT(Ids(*store_->List({})), ElementsAre("d", "c", "b", "a"));
  EXPECT_THAT(Ids(*store_->List({.limit = 2})), ElementsAre("d", "c"));
  EXPECT_THAT(Ids(*store_->List({.after_id = "c", .limit = 2})), ElementsAre("b", "a"));
  EXPECT_THAT(Ids(*store_->List({.after_id = "a"})), IsEmpty());
  EXPECT_THAT(Ids(*store_->List({.state = StudyState::kRunning})), ElementsAre("c"));
  EXPECT_THAT(Ids(*store_->List({.state = StudyState::kQueued, .after_id = "d"})),
              ElementsAre("b", "a"));
}

TEST_P(StudyStoreConformanceTest, AnyPieceOfTheLogToldTwiceGivesTheSameLog) {
  ASSERT_THAT(store_->Create(StudyNamed("s"), TwoTasks()), IsOk());
  constexpr int kLength = 20;
  for (int end = 1; end <= kLength; ++end) {
    for (int begin = 0; begin <= end; begin += 3) {
      // From `begin` on: where that is before the end, the first part is told again.
      if (begin >= end) continue;
      ASSERT_THAT(store_->AppendLog("s", begin, Log(begin, end)), IsOk()) << begin << ".." << end;
    }
    EXPECT_EQ(store_->Get("s")->log_length, end);
  }
  EXPECT_THAT(store_->ReadLog("s", 0, 100), IsOkAndHolds(Log(0, kLength)));
  EXPECT_THAT(store_->ReadLog("s", 5, 3), IsOkAndHolds(Log(5, 8)));
  EXPECT_THAT(store_->ReadLog("s", kLength, 3), IsOkAndHolds(IsEmpty()));
}

TEST_P(StudyStoreConformanceTest, SecondTunerOfOneStudyIsFoundOutByTheLog) {
  ASSERT_THAT(store_->Create(StudyNamed("s"), TwoTasks()), IsOk());
  ASSERT_THAT(store_->AppendLog("s", 0, Log(0, 5)), IsOk());
  EXPECT_THAT(store_->AppendLog("s", 3, Log(13, 17)), kPrecondition);
  EXPECT_THAT(store_->AppendLog("s", 6, Log(6, 7)), kPrecondition);
  EXPECT_THAT(store_->AppendLog("s", -1, Log(0, 1)), kPrecondition);
  EXPECT_THAT(store_->ReadLog("s", 0, 100), IsOkAndHolds(Log(0, 5)));
}

TEST_P(StudyStoreConformanceTest, OpenJobsAreThoseThatWerePutAndNotRemoved) {
  ASSERT_THAT(store_->Create(StudyNamed("s"), TwoTasks()), IsOk());
  ASSERT_THAT(store_->Create(StudyNamed("other"), TwoTasks()), IsOk());
  const OpenJob a = {.job_id = "a", .trial_id = "t1", .task_index = 1, .payload = "p"};
  OpenJob b = {.job_id = "b", .trial_id = "t2", .payload = std::string("\0q", 2)};
  ASSERT_THAT(store_->PutJobs("s", {b, a}), IsOk());
  ASSERT_THAT(store_->PutJobs("other", {a}), IsOk());
  EXPECT_THAT(store_->OpenJobs("s"), IsOkAndHolds(ElementsAre(a, b)));
  b.payload = "new";
  ASSERT_THAT(store_->PutJobs("s", {b}), IsOk());
  ASSERT_THAT(store_->RemoveJobs("s", {"a", "never there"}), IsOk());
  ASSERT_THAT(store_->RemoveJobs("s", {"a"}), IsOk());
  EXPECT_THAT(store_->OpenJobs("s"), IsOkAndHolds(ElementsAre(b)));
  EXPECT_THAT(store_->OpenJobs("other"), IsOkAndHolds(ElementsAre(a)));
  EXPECT_EQ(store_->Get("s")->open_job_count, 1);
}

}  // namespace
}  // namespace burnish
