#include "tuner/study/study_claim.h"

#include <optional>

#include "base/fake_clock.h"
#include "base/status_matchers.h"
#include "db/memory/memory_study_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

class StudyClaimTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(studies_.Create({.id = "s"}, {}), IsOk()); }

  absl::StatusOr<std::unique_ptr<StudyClaim>> Take(const std::string& owner) {
    return StudyClaim::Take(
        {.studies = &studies_,
         .clock = &clock_,
         .study_id = "s",
         .owner = owner,
         .has_ended = [this](absl::string_view name) { return name == dead_; }});
  }
  std::string Owner() { return studies_.Get("s")->lease.owner; }

  FakeClock clock_;
  MemoryStudyStore studies_;
  std::string dead_;
};

TEST_F(StudyClaimTest, OfTwoProcessesOneGetsTheStudyAndTheOtherHearsWhoHasIt) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StudyClaim> first, Take("first"));
  EXPECT_THAT(Take("second"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is run by first")));
  EXPECT_THAT(first->Keep(), IsOk());
}

TEST_F(StudyClaimTest, EndGivesItBack) {
  {
    ASSERT_THAT(Take("first"), IsOk());
  }
  EXPECT_EQ(Owner(), "");
  EXPECT_THAT(Take("second"), IsOk());
}

TEST_F(StudyClaimTest, ProcessThatIsDeadIsNotWaitedFor) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StudyClaim> first, Take("first"));
  dead_ = "first";
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StudyClaim> second, Take("second"));
  EXPECT_EQ(Owner(), "second");
}

TEST_F(StudyClaimTest, KeptItLastsForEver) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StudyClaim> first, Take("first"));
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(kLeaseRenewal);
    ASSERT_THAT(first->Keep(), IsOk());
    EXPECT_THAT(Take("second"), StatusIs(absl::StatusCode::kFailedPrecondition));
  }
}

TEST_F(StudyClaimTest, ProcessThatWasSuspendedFindsOutAndTakesNothingBack) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<StudyClaim> first, Take("first"));
  clock_.Advance(kLeaseDuration - absl::Nanoseconds(1));
  EXPECT_THAT(Take("second"), StatusIs(absl::StatusCode::kFailedPrecondition));
  clock_.Advance(absl::Nanoseconds(1));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StudyClaim> second, Take("second"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(first->Keep(),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is run by second")));
  }
  first.reset();
  EXPECT_EQ(Owner(), "second");
  EXPECT_THAT(second->Keep(), IsOk());
}

}  // namespace
}  // namespace burnish
