#include "tuner/study/study_log.h"

#include "base/status_matchers.h"
#include "db/memory/memory_study_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::vector<StudyEvent> OneOfEach() {
  return {{.kind = StudyEventKind::kSession, .number = 1'700'000'000'000'000'000},
          {.kind = StudyEventKind::kHistory, .task_index = 1, .number = 17},
          {.kind = StudyEventKind::kRound, .task_index = 1, .trial_ids = {"a", "b"}, .number = 16},
          {.kind = StudyEventKind::kUpdate, .task_index = 1, .trial_ids = {"b"}},
          {.kind = StudyEventKind::kSnapshot, .task_index = 1, .snapshot_id = "abc"},
          {.kind = StudyEventKind::kDropped, .task_index = 1, .trial_ids = {"a"}},
          {.kind = StudyEventKind::kLifted, .task_index = 1, .trial_ids = {"b"}},
          {.kind = StudyEventKind::kParked},
          {.kind = StudyEventKind::kPaused, .number = 99, .worker_id = "host/cpu:0-1"}};
}

void CreateIn(StudyStore& store) {
  ASSERT_THAT(store.Create({.id = "s", .target = "t"},
                           {{.workload_id = std::string(32, 'w'), .name = "task"}}),
              IsOk());
}

TEST(StudyLogTest, EventsComeBackAsTheyWereWritten) {
  MemoryStudyStore store;
  CreateIn(store);
  ASSERT_OK_AND_ASSIGN(StudyLog log, StudyLog::Open(&store, "s"));
  ASSERT_THAT(log.Append(OneOfEach()), IsOk());
  ASSERT_THAT(log.Append({}), IsOk());
  ASSERT_OK_AND_ASSIGN(const StudyLog read, StudyLog::Open(&store, "s"));
  EXPECT_THAT(read.events(), ElementsAreArray(OneOfEach()));
  EXPECT_THAT(log.events(), ElementsAreArray(OneOfEach()));
}

TEST(StudyLogTest, LogOfManyPagesIsReadWhole) {
  MemoryStudyStore store;
  CreateIn(store);
  ASSERT_OK_AND_ASSIGN(StudyLog log, StudyLog::Open(&store, "s"));
  std::vector<StudyEvent> events(2500, OneOfEach()[3]);
  ASSERT_THAT(log.Append(events), IsOk());
  ASSERT_OK_AND_ASSIGN(const StudyLog read, StudyLog::Open(&store, "s"));
  EXPECT_EQ(read.events().size(), 2500);
}

TEST(StudyLogTest, SecondWriterIsRefused) {
  MemoryStudyStore store;
  CreateIn(store);
  ASSERT_OK_AND_ASSIGN(StudyLog one, StudyLog::Open(&store, "s"));
  ASSERT_OK_AND_ASSIGN(StudyLog other, StudyLog::Open(&store, "s"));
  ASSERT_THAT(one.Append({OneOfEach()[0]}), IsOk());
  EXPECT_THAT(other.Append({OneOfEach()[1]}), StatusIs(absl::StatusCode::kFailedPrecondition));
}

// Version 0.1 wrote that a run ended with parked trials as poison that is lifted from none.
TEST(StudyLogTest, AnOlderLogOfAParkedRunIsRead) {
  const StudyLogEntry old{.kind = StudyLogKind::kPhase, .task_index = 0, .snapshot_id = "lifted"};
  ASSERT_OK_AND_ASSIGN(const StudyEvent event, FromLog(old));
  EXPECT_EQ(event.kind, StudyEventKind::kParked);
}

TEST(StudyLogTest, PausesOfTheLastSessionHoldUntilTheirTime) {
  const StudyEvent session{.kind = StudyEventKind::kSession};
  const auto pause = [](const std::string& worker, int64_t until_ns) {
    return StudyEvent{.kind = StudyEventKind::kPaused, .number = until_ns, .worker_id = worker};
  };
  const std::vector<StudyEvent> events = {session,        pause("before", 100), session,
                                          pause("a", 10), pause("b", 30),       pause("a", 20)};
  EXPECT_THAT(PausedWorkers(events, 19),
              ElementsAre(PausedWorker{.worker_id = "a", .until_ns = 20, .count = 2},
                          PausedWorker{.worker_id = "b", .until_ns = 30, .count = 1}));
  EXPECT_THAT(PausedWorkers(events, 20),
              ElementsAre(PausedWorker{.worker_id = "b", .until_ns = 30, .count = 1}));
}

TEST(StudyLogTest, UnknownPhaseIsDataLoss) {
  EXPECT_THAT(FromLog({.kind = StudyLogKind::kPhase, .snapshot_id = "round/many"}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("round/many")));
  for (const char* phase : {"lunch", "paused/", "paused/5", "paused/5/", "paused/soon/w"}) {
    EXPECT_THAT(FromLog({.kind = StudyLogKind::kPhase, .snapshot_id = phase}),
                StatusIs(absl::StatusCode::kDataLoss))
        << phase;
  }
}

}  // namespace
}  // namespace burnish
