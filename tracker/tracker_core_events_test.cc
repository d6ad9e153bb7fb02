// What a tracker's log says of workers, tuners and jobs.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/event_log.h"
#include "base/logging.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tracker/core_test_farm.h"
#include "tracker/event_lines.h"
#include "tracker/tracker_core.h"
#include "tracker/tracker_event.h"

namespace burnish {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class TrackerCoreEventsTest : public CoreTestFarm {
 protected:
  // What happened since the last call, as lines of the log.
  std::vector<std::string> Lines() {
    std::vector<std::string> lines;
    EventLog log([&](LogLevel, absl::string_view text) { lines.emplace_back(text); });
    for (const TrackerEvent& event : core_->TakeEvents()) WriteEvent(now_, event, log);
    return lines;
  }
};

TEST_F(TrackerCoreEventsTest, AWorkerJoinsOnceHoweverOftenItReports) {
  WorkerReport report = Report("w1");
  report.address = "10.0.0.7";
  Send(report);
  EXPECT_THAT(Lines(), ElementsAre("worker w1 joined from host (10.0.0.7): 1x run cpu-znver3"));
  for (int i = 0; i < 100; ++i) {
    Idle("w1");
    Advance(absl::Seconds(1));
  }
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(TrackerCoreEventsTest, AWorkerIsLostAndComesBack) {
  Submit({RunSpec("a")});
  Executing("w1", *Idle("w1"));
  Lines();
  Advance(absl::Seconds(15));
  EXPECT_THAT(Lines(), ElementsAre("worker w1 was not heard of, with 1 job"));
  Advance(absl::Seconds(15));
  EXPECT_THAT(Lines(), IsEmpty());
  Idle("w1");
  EXPECT_THAT(Lines(), ElementsAre("worker w1 is back from host"));
}

TEST_F(TrackerCoreEventsTest, AWorkerFallsSilentAndSpeaks) {
  Submit({RunSpec("a")});
  Idle("w1");  // Answered at once, with the job.
  Lines();
  Advance(absl::Seconds(2));
  EXPECT_THAT(Lines(), ElementsAre("worker w1 does not call again: silent for 2s"));
  Advance(absl::Seconds(2));
  EXPECT_THAT(Lines(), IsEmpty());
  Idle("w1");
  EXPECT_THAT(Lines(), ElementsAre("worker w1 calls again"));
}

TEST_F(TrackerCoreEventsTest, AConnectionThatClosesIsALoss) {
  const WorkerReport report = Report("w1");
  Send(report);
  Lines();
  core_->CallBroke(now_, "w1", report.sequence);
  Advance(absl::Milliseconds(500));
  EXPECT_THAT(Lines(), ElementsAre("worker w1 closed its connection, with 0 jobs"));
}

TEST_F(TrackerCoreEventsTest, ANewProcessOfAWorkerIsNoLoss) {
  Idle("w1", /*incarnation=*/1);
  Lines();
  Idle("w1", /*incarnation=*/2);
  EXPECT_THAT(Lines(), ElementsAre("worker w1 is a new process from host: 1x run cpu-znver3"));
}

TEST_F(TrackerCoreEventsTest, AWorkerThatGoesIsNotMissed) {
  Idle("w1");
  Lines();
  WorkerReport report = Report("w1");
  report.leaving = true;
  Send(report);
  EXPECT_THAT(Lines(), ElementsAre("worker w1 wants to go: it takes no more jobs"));
  Advance(absl::Seconds(15));
  EXPECT_THAT(Lines(), ElementsAre("worker w1 was not heard of, with 0 jobs"));
  EXPECT_FALSE(core_->KnowsWorker("w1"));
}

TEST_F(TrackerCoreEventsTest, DrainingIsSaidWhenItChanges) {
  Idle("w1");
  Lines();
  ASSERT_THAT(core_->Drain(now_, "w1", /*undo=*/false), IsOk());
  ASSERT_THAT(core_->Drain(now_, "w1", /*undo=*/false), IsOk());
  ASSERT_THAT(core_->Drain(now_, "w1", /*undo=*/true), IsOk());
  EXPECT_THAT(Lines(), ElementsAre("worker w1 is drained: it gets no more jobs",
                                   "worker w1 takes jobs again"));
}

TEST_F(TrackerCoreEventsTest, AFaultPausesASlotAndSaysWhy) {
  Submit({RunSpec("a")});
  const Lease lease = *Idle("w1");
  Lines();
  Done("w1", lease, JobOutcome(WorkerFault{.message = "no space left\non device"}));
  EXPECT_THAT(Lines(), ElementsAre("worker w1 has slot 0 paused for 100ms: worker w1: no space "
                                   "left\\x0aon device"));
}

TEST_F(TrackerCoreEventsTest, AJobThatIsGivenUpIsNamedWithItsStudy) {
  Submit({RunSpec("a")});
  const Lease lease = *Idle("w1");
  Lines();
  Done("w1", lease, JobOutcome(WorkerFault{.message = "no such device", .refused = true}));
  EXPECT_THAT(Lines(),
              ElementsAre(AllOf(HasSubstr("job a of study study is parked without a verdict"),
                                HasSubstr("refused by 1 workers"), HasSubstr("no such device"))));
}

TEST_F(TrackerCoreEventsTest, ATunerIsMetOnceAndForgotten) {
  Submit({RunSpec("a")});
  Submit({RunSpec("b")});
  Collect();
  EXPECT_THAT(Lines(), ElementsAre("tuner tuner is here"));
  Advance(absl::Minutes(1));
  EXPECT_THAT(Lines(), ElementsAre("tuner tuner is forgotten: not heard of for 1m, with 2 jobs"));
}

TEST_F(TrackerCoreEventsTest, WhatStrangersWroteIsEscapedAndCut) {
  WorkerReport report = Report("w\x1b[2J\nworker w9 joined");
  report.host = std::string(256, 'h');
  Send(report);
  const std::vector<std::string> lines = Lines();
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("worker w\\x1b[2J\\x0aworker w9 joined joined from hhh"),
                              Not(HasSubstr("\n")), Not(HasSubstr("\x1b"))));
  EXPECT_LT(lines[0].size(), 700);
}

TEST_F(TrackerCoreEventsTest, AFloodTakesBoundedRoomAndFewLines) {
  const int kCalls = static_cast<int>(TrackerCore::kEventsMax) + 10;
  for (int i = 0; i < kCalls; ++i) Idle("w1", /*incarnation=*/i + 1);
  const std::vector<TrackerEvent> events = core_->TakeEvents();
  ASSERT_THAT(events, SizeIs(TrackerCore::kEventsMax + 1));
  EXPECT_EQ(events.back().text, "had 10 more events at once");
  std::vector<std::string> lines;
  {
    EventLog log([&](LogLevel, absl::string_view text) { lines.emplace_back(text); });
    for (const TrackerEvent& event : events) WriteEvent(now_, event, log);
  }
  // One that joined, ten processes of it, the tracker's, and what was left out.
  EXPECT_THAT(lines, SizeIs(1 + EventLog::kLinesPerSecond + 1 + 1));
  EXPECT_EQ(lines.back(), "worker restarted: 8181 more were left out");
}

}  // namespace
}  // namespace burnish
