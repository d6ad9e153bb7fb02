#include "compiler/runtime/time_kernel.h"

#include <atomic>
#include <limits>
#include <memory>
#include <vector>

#include "compiler/runtime/artifact.h"
#include "compiler/runtime/guarded_buffer.h"
#include "compiler/runtime/spin_wait.h"
#include "compiler/runtime/test_bundle.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

// A kernel that takes at least `burn_ns` and counts itself; buffers[0] is this struct.
struct Burner {
  int64_t burn_ns = 0;
  std::atomic<int64_t> call_count{0};  // Of worker 0.
};

int32_t Burn(const BurnishKernelContext* context, int32_t worker, int32_t workers) {
  auto* burner = static_cast<Burner*>(context->buffers[0]);
  if (worker == 0) ++burner->call_count;
  const int64_t end_ns = MonotonicNs() + burner->burn_ns;
  while (MonotonicNs() < end_ns) {
  }
  return BURNISH_KERNEL_OK;
}

class TimeKernelTest : public ::testing::Test {
 protected:
  BurnishKernelContext ContextOf(void* const* buffers, uint32_t buffer_count) {
    BurnishKernelContext context = {};
    context.buffers = buffers;
    context.buffer_count = buffer_count;
    return context;
  }
  std::unique_ptr<ThreadPool> pool_ = *ThreadPool::Create({.thread_count = 2});
  Burner burner_;
  void* buffers_[1] = {&burner_};
};

TEST_F(TimeKernelTest, InnerLoopIsSizedAndEachRepeatIsReported) {
  burner_.burn_ns = 20'000;
  auto timing = TimeKernel(*pool_, &Burn, {ContextOf(buffers_, 1)},
                           {.warmup_ns = 1'000'000, .repeat_min_ns = 1'000'000, .repeat_count = 7});
  ASSERT_TRUE(timing.ok());
  ASSERT_EQ(timing->latency_ns.size(), 7u);
  for (int64_t ns : timing->latency_ns) EXPECT_GE(ns, 20'000);
  EXPECT_LE(timing->inner_count, 51);  // 1 ms / 20 µs, and the call that reaches it.
  EXPECT_GE(timing->inner_count * timing->latency_ns[0], 1'000'000);
  EXPECT_GE(timing->warmup_count, 1);
  EXPECT_GE(burner_.call_count, timing->warmup_count + 7 * timing->inner_count);
  EXPECT_FALSE(timing->stopped_early);
}

TEST_F(TimeKernelTest, WarmUpEndsWhenItsTimeIsUp) {
  burner_.burn_ns = 100'000;
  auto timing = TimeKernel(*pool_, &Burn, {ContextOf(buffers_, 1)},
                           {.warmup_ns = 6'600'000, .repeat_min_ns = 1, .repeat_count = 1});
  ASSERT_TRUE(timing.ok());
  // Doubling to the end makes 127 calls. Slower ones, on a busy machine, are fewer.
  EXPECT_LE(timing->warmup_count, 70);
}

TEST_F(TimeKernelTest, ASlowCandidateIsLeftAfterTwoRepeats) {
  burner_.burn_ns = 2'000'000;
  auto timing = TimeKernel(
      *pool_, &Burn, {ContextOf(buffers_, 1)},
      {.warmup_ns = 1, .repeat_min_ns = 1, .repeat_count = 5, .stop_above_ns = 1'000'000});
  ASSERT_TRUE(timing.ok());
  // After one, where the machine made it slower still.
  EXPECT_LE(timing->latency_ns.size(), 2u);
  EXPECT_TRUE(timing->stopped_early);
  EXPECT_EQ(timing->inner_count, 1);
  EXPECT_EQ(burner_.call_count, 1 + static_cast<int64_t>(timing->latency_ns.size()));
}

TEST_F(TimeKernelTest, WarmUpOfASlowCandidateIsShort) {
  burner_.burn_ns = 1'000'000;
  TimeKernelOptions options{
      .warmup_ns = 40'000'000, .repeat_min_ns = 1, .repeat_count = 5, .stop_above_ns = 900'000};
  auto timing = TimeKernel(*pool_, &Burn, {ContextOf(buffers_, 1)}, options);
  ASSERT_TRUE(timing.ok());
  EXPECT_TRUE(timing->stopped_early);
  EXPECT_LE(timing->warmup_count, 7);  // Batches of one, two and four.
  // One that is fast enough has all of it.
  options.stop_above_ns = 1'000'000'000;
  const int64_t start_ns = MonotonicNs();
  timing = TimeKernel(*pool_, &Burn, {ContextOf(buffers_, 1)}, options);
  ASSERT_TRUE(timing.ok());
  EXPECT_GE(MonotonicNs() - start_ns, options.warmup_ns);
}

TEST_F(TimeKernelTest, AHopelessCandidateIsLeftAfterOne) {
  burner_.burn_ns = 2'000'000;
  auto timing =
      TimeKernel(*pool_, &Burn, {ContextOf(buffers_, 1)},
                 {.warmup_ns = 1, .repeat_min_ns = 1, .repeat_count = 5, .stop_above_ns = 400'000});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->latency_ns.size(), 1u);
  EXPECT_TRUE(timing->stopped_early);
}

TEST(IsHopelessTest, OneSlowRepeatSaysNothingUnlessItIsFarTooSlow) {
  using Repeats = std::vector<int64_t>;
  EXPECT_FALSE(IsHopeless(Repeats{100}, 100));
  EXPECT_FALSE(IsHopeless(Repeats{400}, 100));
  EXPECT_TRUE(IsHopeless(Repeats{401}, 100));
  EXPECT_TRUE(IsHopeless(Repeats{150, 101}, 100));
  EXPECT_FALSE(IsHopeless(Repeats{401, 100}, 100));
  EXPECT_FALSE(IsHopeless(Repeats{90, 9000, 9000}, 100));
}

TEST_F(TimeKernelTest, CopiesAreUsedInTurn) {
  Burner second;
  void* second_buffers[1] = {&second};
  auto timing =
      TimeKernel(*pool_, &Burn, {ContextOf(buffers_, 1), ContextOf(second_buffers, 1)},
                 {.warmup_ns = 1, .repeat_min_ns = 1, .repeat_count = 9, .inner_count_max = 1});
  ASSERT_TRUE(timing.ok());
  const int64_t first_count = burner_.call_count, second_count = second.call_count;
  EXPECT_EQ(first_count + second_count, timing->warmup_count + 9);
  EXPECT_LE(first_count - second_count, 1);
  EXPECT_GE(first_count, second_count);
}

TEST_F(TimeKernelTest, RepeatsThatMetOtherWorkAreMadeAgain) {
  burner_.burn_ns = 100'000;
  // Every second look finds that something has happened: the first repeat is made twice.
  uint64_t looks = 0;
  const auto timing =
      TimeKernel(*pool_, &Burn, {ContextOf(buffers_, 1)},
                 {.warmup_ns = 1, .repeat_min_ns = 1, .repeat_count = 3, .mark = [&] {
                    return ++looks == 2 ? 7 : 8;
                  }});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->latency_ns.size(), 3u);
  EXPECT_EQ(looks, 8u);
  EXPECT_EQ(burner_.call_count, timing->warmup_count + 4 * timing->inner_count);
}

TEST_F(TimeKernelTest, WorkWithoutAGapEndsTheRepeating) {
  uint64_t looks = 0;
  const auto timing = TimeKernel(
      *pool_, &Burn, {ContextOf(buffers_, 1)},
      {.warmup_ns = 1, .repeat_min_ns = 1, .repeat_count = 3, .mark = [&] { return ++looks; }});
  ASSERT_TRUE(timing.ok());
  EXPECT_EQ(timing->latency_ns.size(), 3u);
  EXPECT_LE(looks, 2 * (3 + kRepeatsAgainMax));
}

TEST_F(TimeKernelTest, AnErrorCodeEndsTheTiming) {
  auto artifact = LoadArtifact(AsBytes(TestArtifact()));
  ASSERT_TRUE(artifact.ok());
  std::vector<float> x(kTestCount), z(4);
  std::vector<int32_t> index = {0, 0, 0, -1};
  void* buffers[] = {x.data(), index.data(), z.data()};
  const auto timing = TimeKernel(*pool_, (*artifact)->kernel(kGatherKernel),
                                 {ContextOf(buffers, 3)}, {.warmup_ns = 1});
  EXPECT_EQ(timing.status().message(), "timed kernel: an index input is out of bounds (code 1)");
}

TEST_F(TimeKernelTest, NothingToTimeIsRefused) {
  EXPECT_FALSE(TimeKernel(*pool_, &Burn, {}, {}).ok());
  EXPECT_FALSE(TimeKernel(*pool_, &Burn, {ContextOf(buffers_, 1)}, {.repeat_count = 0}).ok());
}

// All workers, by a kernel that is compiled without knowing of the mode.
TEST_F(TimeKernelTest, DenormalsAreFlushedOnAllWorkers) {
  auto artifact = LoadArtifact(AsBytes(TestArtifact()));
  ASSERT_TRUE(artifact.ok());
  float x = std::numeric_limits<float>::min();
  std::vector<float> z(16, 5.0f);
  void* buffers[] = {&x, z.data()};
  ASSERT_TRUE(RunKernelOnce(*pool_, (*artifact)->kernel(kHalveKernel), ContextOf(buffers, 2)).ok());
  EXPECT_EQ(z[0], 0.0f);
  EXPECT_EQ(z[1], 0.0f);
  EXPECT_EQ(z[2], 5.0f);
}

// What the runner relies on: a wrong kernel dies, and takes nobody else's memory along.
using CrashTest = TimeKernelTest;

TEST_F(CrashTest, WritesOutsideOfTheBufferHitTheGuardPage) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto run = [this](float how) {
    auto artifact = LoadArtifact(AsBytes(TestArtifact()));
    auto x = GuardedBuffer::Allocate({.size_bytes = 4, .alignment_bytes = 4});
    auto z = GuardedBuffer::Allocate({.size_bytes = 4, .alignment_bytes = 4});
    *reinterpret_cast<float*>(x->bytes().data()) = how;
    void* buffers[] = {x->bytes().data(), z->bytes().data()};
    return RunKernelOnce(*pool_, (*artifact)->kernel(kCrashKernel), ContextOf(buffers, 2)).ok();
  };
  EXPECT_TRUE(run(0.0f));
  EXPECT_DEATH(run(1.0f), "");
  EXPECT_DEATH(run(2.0f), "");
}

}  // namespace
}  // namespace burnish
