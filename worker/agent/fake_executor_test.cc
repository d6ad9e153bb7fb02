#include "worker/agent/fake_executor.h"

#include <latch>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(FakeExecutorTest, AnswersByItsFunction) {
  FakeLab lab(absl::ZeroDuration(), &EchoOutcome);
  const std::unique_ptr<SlotExecutor> executor = lab.MakeExecutor();
  std::latch done{1};
  JobOutcome got;
  executor->Start({.id = "job", .payload = "payload"}, {}, [&](JobOutcome outcome) {
    got = std::move(outcome);
    done.count_down();
  });
  done.wait();
  EXPECT_EQ(got, JobOutcome("result of payload"));
  EXPECT_EQ(lab.started_count(), 1);
}

TEST(FakeExecutorTest, CancelEndsALongExecution) {
  FakeLab lab(absl::Hours(1), &EchoOutcome);
  const std::unique_ptr<SlotExecutor> executor = lab.MakeExecutor();
  executor->Cancel();
  std::latch done{1};
  executor->Start({.id = "job"}, {}, [&](JobOutcome) { done.count_down(); });
  executor->Cancel();
  done.wait();
}

TEST(FakeExecutorTest, DestroyedExecutorNeverSaysDone) {
  FakeLab lab(absl::Hours(1), &EchoOutcome);
  std::unique_ptr<SlotExecutor> executor = lab.MakeExecutor();
  executor->Start({.id = "job"}, {}, [](JobOutcome) { FAIL(); });
  executor.reset();
}

}  // namespace
}  // namespace burnish
