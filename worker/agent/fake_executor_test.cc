#include "worker/agent/fake_executor.h"

#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(FakeExecutorTest, AnswersByItsFunction) {
  FakeLab lab(absl::ZeroDuration(), &EchoOutcome);
  const std::unique_ptr<SlotExecutor> executor = lab.MakeExecutor();
  absl::Notification done;
  JobOutcome got;
  executor->Start({.id = "job", .payload = "payload"}, [&](JobOutcome outcome) {
    got = std::move(outcome);
    done.Notify();
  });
  done.WaitForNotification();
  EXPECT_EQ(got, JobOutcome("result of payload"));
  EXPECT_EQ(lab.started_count(), 1);
}

TEST(FakeExecutorTest, CancelEndsALongExecution) {
  FakeLab lab(absl::Hours(1), &EchoOutcome);
  const std::unique_ptr<SlotExecutor> executor = lab.MakeExecutor();
  executor->Cancel();
  absl::Notification done;
  executor->Start({.id = "job"}, [&](JobOutcome) { done.Notify(); });
  executor->Cancel();
  done.WaitForNotification();
}

TEST(FakeExecutorTest, DestroyedExecutorNeverSaysDone) {
  FakeLab lab(absl::Hours(1), &EchoOutcome);
  std::unique_ptr<SlotExecutor> executor = lab.MakeExecutor();
  executor->Start({.id = "job"}, [](JobOutcome) { FAIL(); });
  executor.reset();
}

}  // namespace
}  // namespace burnish
