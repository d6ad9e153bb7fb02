// A tuner touches its own jobs only. That it is the tuner which it says is the service's to see to
// (identities.h).
#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tracker/core_test_farm.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OwnersTest : public CoreTestFarm {
 protected:
  absl::Status StrangerSubmits(const std::string& id, bool resubmission = false) {
    return core_->Submit(now_, "stranger", {RunSpec(id)}, resubmission).status();
  }
  Collected StrangerAcknowledges(const std::string& id) {
    return core_->Collect(now_, {.tuner_id = "stranger", .acknowledged = {id}});
  }
};

TEST_F(OwnersTest, AJobIsNotTakenOverUnderItsId) {
  Submit({RunSpec("open"), RunSpec("done")});
  const Lease lease = *Idle("w");
  ASSERT_EQ(lease.job_id, "open");
  Done("w", lease, "result");
  for (const bool resubmission : {false, true}) {
    for (const char* id : {"open", "done"}) {
      EXPECT_THAT(StrangerSubmits(id, resubmission),
                  StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("another tuner's")));
    }
  }
  EXPECT_THAT(StrangerAcknowledges("nothing").results, IsEmpty());
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
}

TEST_F(OwnersTest, AResultIsNotAcknowledgedForAnother) {
  Submit({RunSpec("job")});
  StrangerAcknowledges("job");
  const std::optional<Lease> lease = Idle("w");
  ASSERT_TRUE(lease.has_value()) << "the job is still open";
  Done("w", *lease, "result");
  StrangerAcknowledges("job");
  EXPECT_THAT(Collect(), ElementsAre(Payload("result")));
  EXPECT_EQ(counters().acknowledged, 0);
}

// The tracker remembers what is acknowledged from before its start, whoever says so.
TEST_F(OwnersTest, AStrangersWordKeepsNoJobOut) {
  StrangerAcknowledges("job");
  Submit({RunSpec("job")}, /*resubmission=*/true);
  Advance(TrackerOptions().recovery_period);
  EXPECT_TRUE(Idle("w").has_value());
  // The tuner's own word does: its message was long under way.
  Collect({"mine"});
  Submit({RunSpec("mine")});
  EXPECT_FALSE(Idle("v").has_value());
}

// Names are free: 50 of them used to have 50 shares.
TEST_F(OwnersTest, ManyNamesOfOneClientAreOneShare) {
  TrackerOptions options{
      .jobs_max = 80, .share_jobs_min = 1, .share_tuners_min = 60, .queue_quantum = 1};
  Restart(options);
  int64_t taken = 0;
  for (int i = 0; i < 5000; ++i) {
    JobSpec job = RunSpec(absl::StrCat("crowd", i));
    job.study = absl::StrCat("study", i % 50);
    taken += core_->Submit(now_, absl::StrCat("crowd", i % 50), {job}, false, "crowd").ok() ? 1 : 0;
  }
  EXPECT_EQ(taken, 70) << "seven times what it leaves";
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(core_->Submit(now_, "alone", {RunSpec(absl::StrCat("alone", i))}, false, "host"),
                IsOk());
  }
  std::string who;
  for (int i = 0; i < 8; ++i) {
    const Lease lease = *Idle(absl::StrCat("w", i));
    who += lease.job_id[0];
  }
  EXPECT_EQ(std::count(who.begin(), who.end(), 'a'), 4) << who;
}

TEST_F(OwnersTest, ManyNamesOfOneClientLeavePlacesForOthers) {
  Restart({.share_tuners_min = 2, .tuners_max = 16});
  int64_t known = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string tuner = absl::StrCat("crowd", i);
    known += core_->Submit(now_, tuner, {RunSpec(tuner)}, false, "crowd").ok() ? 1 : 0;
  }
  EXPECT_EQ(known, 14);
  EXPECT_THAT(core_->Submit(now_, "alone", {RunSpec("job")}, false, "host"), IsOk());
}

TEST_F(OwnersTest, ACancelledStudyIsTheCallersOwn) {
  Submit({RunSpec("mine")});
  ASSERT_THAT(StrangerSubmits("theirs"), IsOk());  // Of the same study.
  EXPECT_EQ(core_->Cancel(now_, "stranger", {"mine"}, "study"), 1);
  EXPECT_THAT(Collect(), IsEmpty());
  EXPECT_EQ(Idle("w")->job_id, "mine");
}

}  // namespace
}  // namespace burnish
