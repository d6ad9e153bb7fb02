#include "tuner/study/state_writer.h"

#include <vector>

#include "base/status_matchers.h"
#include "db/memory/memory_study_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Its first changes of state fail.
class FailingStore : public MemoryStudyStore {
 public:
  absl::Status SetState(absl::string_view id, StudyState state, absl::string_view detail,
                        int64_t now_ns) override {
    if (errors_.empty()) return MemoryStudyStore::SetState(id, state, detail, now_ns);
    const absl::Status error = errors_.front();
    errors_.erase(errors_.begin());
    return error;
  }
  std::vector<absl::Status> errors_;
};

class StateWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(store_.Create({.id = "s", .state = StudyState::kRunning}, {}), IsOk());
  }
  absl::Status Write(int waits_max) {
    return WriteState(store_, {.study_id = "s", .state = StudyState::kFailed, .detail = "why"},
                      [this, waits_max](absl::Duration time) {
                        waits_.push_back(time);
                        return static_cast<int>(waits_.size()) < waits_max;
                      });
  }

  FailingStore store_;
  std::vector<absl::Duration> waits_;
};

TEST_F(StateWriterTest, LockedAndThenFullStoreIsTriedAgainMoreAndMoreSeldom) {
  store_.errors_ = {absl::UnavailableError("locked"), absl::ResourceExhaustedError("full"),
                    absl::ResourceExhaustedError("full"), absl::AbortedError("disk")};
  EXPECT_THAT(Write(100), IsOk());
  EXPECT_THAT(waits_, ElementsAre(absl::Milliseconds(100), absl::Milliseconds(200),
                                  absl::Milliseconds(400), absl::Milliseconds(800)));
  EXPECT_EQ(store_.Get("s")->study.state, StudyState::kFailed);
  EXPECT_EQ(store_.Get("s")->study.detail, "why");
}

TEST_F(StateWriterTest, WaitsHaveABoundAndAnEnd) {
  store_.errors_.assign(50, absl::ResourceExhaustedError("full"));
  EXPECT_THAT(Write(20), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("20 attempts")));
  EXPECT_EQ(waits_.back(), absl::Seconds(10));
  EXPECT_EQ(store_.Get("s")->study.state, StudyState::kRunning);
}

TEST_F(StateWriterTest, WhatWillNeverPassIsNotTriedAgain) {
  ASSERT_THAT(store_.SetState("s", StudyState::kDone, "", 1), IsOk());
  EXPECT_THAT(Write(100), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(waits_, ::testing::IsEmpty());
}

}  // namespace
}  // namespace burnish
