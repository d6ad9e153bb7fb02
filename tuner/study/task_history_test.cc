#include "tuner/study/task_history.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "db/memory/memory_record_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/record.h"
#include "proto/workload.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TaskHistoryTest : public ::testing::Test {
 protected:
  static Workload WorkloadOf(const std::string& finish) {
    auto workload = MakeWorkload("conv " + finish, "conv");
    return *workload;
  }
  static Target TargetOf(const std::string& arch) { return *ParseTarget("cpu:arch=" + arch); }

  // Latency 0: a failure.
  void Add(const Candidate& candidate, int64_t latency_ns) {
    MeasurementEntry entry{
        .study_id = "other", .trial_id = absl::StrCat("t", ++count_), .candidate = candidate};
    entry.measurement.environment.method_version = 1;
    if (latency_ns > 0) {
      entry.measurement.outcome = Latencies{{ProcessLatencies{.latency_ns = {latency_ns}}}};
    } else {
      entry.measurement.outcome = Failure{FailureKind::kCrashed, "signal 11"};
    }
    ASSERT_THAT(store_.Append(entry), IsOkAndHolds(AppendOutcome::kRecorded));
  }

  static Candidate CandidateOf(const std::string& trace, const std::string& finish = "relu") {
    return {.workload = WorkloadOf(finish),
            .target = TargetOf("znver3"),
            .trace = trace,
            .codegen_epoch = 1};
  }

  absl::StatusOr<TaskHistory> Read(TaskHistoryQuery query = {}) {
    query.target = TargetOf("znver3");
    query.codegen_epoch = 1;
    query.method_version = 1;
    return ReadTaskHistory(store_, {.workload = WorkloadOf("relu")}, query);
  }

  MemoryRecordStore store_;
  int count_ = 0;
};

TEST_F(TaskHistoryTest, SameCandidatesAreKnownAndOthersAreSeedsFastestFirst) {
  Add(CandidateOf("same fast"), 100);
  Add(CandidateOf("same failed"), 0);
  Add(CandidateOf("slow", "residual"), 900);
  Add(CandidateOf("fast", "residual"), 300);
  Add(CandidateOf("failed", "residual"), 0);
  Candidate old = CandidateOf("old");
  old.codegen_epoch = 0;
  Add(old, 500);
  Candidate blocked = CandidateOf("fast");
  blocked.contract = "blocked";
  Add(blocked, 200);
  Candidate elsewhere = CandidateOf("elsewhere");
  elsewhere.target = TargetOf("skylake");
  Add(elsewhere, 50);

  ASSERT_OK_AND_ASSIGN(const TaskHistory history, Read());
  ASSERT_THAT(history.known, SizeIs(2));
  EXPECT_EQ(history.known[0].trace, "same fast");
  EXPECT_EQ(history.known[0].candidate_id, CandidateOf("same fast").Id());
  EXPECT_EQ(history.known[0].measurement.latencies()->processes[0].latency_ns[0], 100);
  EXPECT_EQ(history.known[1].measurement.failure()->kind, FailureKind::kCrashed);
  EXPECT_THAT(history.seed_traces, ElementsAre("fast", "old", "slow"));
  EXPECT_THAT(history.related, SizeIs(4));
}

TEST_F(TaskHistoryTest, ResumedStudySeesNoMoreThanItSawAtItsStart) {
  Add(CandidateOf("before"), 100);
  ASSERT_OK_AND_ASSIGN(const TaskHistory at_start, Read());
  Add(CandidateOf("after"), 50);
  Add(CandidateOf("seed after", "residual"), 50);
  ASSERT_OK_AND_ASSIGN(const TaskHistory resumed, Read({.row_id_max = at_start.last_row_id}));
  ASSERT_THAT(resumed.known, SizeIs(1));
  EXPECT_EQ(resumed.known[0].trace, "before");
  EXPECT_THAT(resumed.seed_traces, IsEmpty());
  EXPECT_EQ(resumed.last_row_id, at_start.last_row_id);
}

// Two shapes of one program, none of the task's anchor.
TEST_F(TaskHistoryTest, OtherExtentsAreSeedsWhereTheAnchorWasNeverMeasured) {
  const auto shape = [](int extent) {
    const std::string text = absl::StrCat("conv relu at ", extent);
    return *MakeWorkload(text, text);
  };
  const auto add = [&](const std::string& trace, int extent, int64_t latency_ns) {
    Candidate candidate = CandidateOf(trace);
    candidate.workload = shape(extent);
    Add(candidate, latency_ns);
  };
  add("far", 7, 10);
  add("near slow", 28, 300);
  add("near fast", 28, 200);
  add("near failed", 28, 0);
  TaskHistoryQuery query = {.target = TargetOf("znver3"), .codegen_epoch = 1, .method_version = 1};
  const StudyTaskSpec task = {.workload = shape(56)};
  ASSERT_OK_AND_ASSIGN(const TaskHistory at_start, ReadTaskHistory(store_, task, query));
  EXPECT_THAT(at_start.seed_traces, ElementsAre("near fast", "far"));
  EXPECT_THAT(at_start.known, IsEmpty());
  EXPECT_THAT(at_start.related, IsEmpty());
  // What came later, also at a shape that nobody had measured, is not seen by a study that goes on.
  add("near faster", 28, 100);
  add("nearer", 55, 100);
  query.row_id_max = at_start.last_row_id;
  ASSERT_OK_AND_ASSIGN(const TaskHistory resumed, ReadTaskHistory(store_, task, query));
  EXPECT_THAT(resumed.seed_traces, ElementsAre("near fast", "far"));
  // Nor does any of it count beside what the anchor has.
  Add({.workload = shape(56), .target = TargetOf("znver3"), .trace = "own", .codegen_epoch = 0},
      500);
  query.row_id_max = std::numeric_limits<int64_t>::max();
  ASSERT_OK_AND_ASSIGN(const TaskHistory own, ReadTaskHistory(store_, task, query));
  EXPECT_THAT(own.seed_traces, ElementsAre("own"));
}

TEST_F(TaskHistoryTest, OtherTargetsAreAskedWhereThisOneIsUnknownNearestFirst) {
  const auto add = [&](const std::string& trace, const std::string& target, int64_t latency_ns) {
    Candidate candidate = CandidateOf(trace);
    candidate.target = TargetOf(target);
    Add(candidate, latency_ns);
  };
  add("far", "skylake,threads=8", 10);
  add("near slow", "znver3,threads=2", 300);
  add("near fast", "znver3,threads=2", 200);
  add("near failed", "znver3,threads=2", 0);
  add("far", "znver3,threads=4", 5);
  ASSERT_OK_AND_ASSIGN(const TaskHistory at_start, Read());
  EXPECT_THAT(at_start.elsewhere_traces, ElementsAre("near fast", "near slow", "far"));
  EXPECT_THAT(at_start.known, IsEmpty());
  EXPECT_THAT(at_start.related, IsEmpty());
  EXPECT_THAT(at_start.seed_traces, IsEmpty());
  add("later", "znver3,threads=2", 1);
  ASSERT_OK_AND_ASSIGN(const TaskHistory resumed, Read({.row_id_max = at_start.last_row_id}));
  EXPECT_EQ(resumed.elsewhere_traces, at_start.elsewhere_traces);
  // This target's own say more.
  Add(CandidateOf("own", "residual"), 500);
  ASSERT_OK_AND_ASSIGN(const TaskHistory own, Read());
  EXPECT_THAT(own.elsewhere_traces, IsEmpty());
  EXPECT_THAT(own.seed_traces, ElementsAre("own"));
}

TEST_F(TaskHistoryTest, EmptyStoreHasNoHistoryAndLimitsHold) {
  ASSERT_OK_AND_ASSIGN(const TaskHistory empty, Read());
  EXPECT_EQ(empty.last_row_id, 0);
  for (int i = 0; i < 30; ++i) Add(CandidateOf(absl::StrCat("seed ", i), "residual"), 100 + i);
  ASSERT_OK_AND_ASSIGN(const TaskHistory seeds, Read({.seed_count_max = 3}));
  EXPECT_THAT(seeds.seed_traces, ElementsAre("seed 0", "seed 1", "seed 2"));
  ASSERT_OK_AND_ASSIGN(const TaskHistory few, Read({.record_count_max = 10}));
  EXPECT_THAT(few.related, SizeIs(10));
}

}  // namespace
}  // namespace burnish
