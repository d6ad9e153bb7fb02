#include "tuner/app/farm_client.h"

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/synchronize.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;

Target SomeTarget(int threads) {
  Target target = *ParseTarget("cpu:arch=znver3,threads=1");
  target.threads = threads;
  return target;
}

// A worker with one run slot of SomeTarget's key that says `threads`; empty: it does not say.
FarmWorker Worker(const std::string& threads, const std::string& state = "alive") {
  FarmSlot slot{.kind = "run", .device_keys = {SomeTarget(1).DeviceKey()}};
  if (!threads.empty()) slot.labels[kThreadsLabel] = threads;
  return {.id = threads, .state = state, .slots = {slot}};
}

TEST(FarmClientTest, TargetWithMoreThreadsThanAnyDeviceIsRefused) {
  const std::vector<FarmWorker> farm = {Worker("1"), Worker("2"), Worker("8", "lost")};
  EXPECT_THAT(CheckThreads(farm, SomeTarget(1)), IsOk());
  EXPECT_THAT(CheckThreads(farm, SomeTarget(2)), IsOk());
  const absl::Status refused = CheckThreads(farm, SomeTarget(3));
  EXPECT_EQ(ErrorCodeOf(refused), ErrorCode::kUsage);
  EXPECT_THAT(PartsOf(refused).hint, HasSubstr("--threads 2"));
}

TEST(FarmClientTest, FarmThatMayYetHaveTheThreadsIsNotRefused) {
  EXPECT_THAT(CheckThreads({}, SomeTarget(64)), IsOk());
  FarmWorker other = Worker("1");
  other.slots[0].device_keys = {"cpu-other-00000000"};
  EXPECT_THAT(CheckThreads({{other}}, SomeTarget(64)), IsOk());
  other = Worker("1");
  other.slots[0].kind = "build";
  EXPECT_THAT(CheckThreads({{other}}, SomeTarget(64)), IsOk());
  for (const char* unclear : {"", "many"}) {
    EXPECT_THAT(CheckThreads({{Worker("1"), Worker(unclear)}}, SomeTarget(64)), IsOk()) << unclear;
  }
}

}  // namespace
}  // namespace burnish
