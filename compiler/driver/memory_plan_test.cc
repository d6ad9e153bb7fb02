#include "compiler/driver/memory_plan.h"

#include <algorithm>
#include <set>

#include "base/rng.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

bool LiveTogether(const PlanBuffer& a, const PlanBuffer& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

TEST(MemoryPlanTest, ChainOfLayersNeedsTwoBuffers) {
  std::vector<PlanBuffer> buffers;
  for (int step = 0; step < 10; ++step) {
    buffers.push_back({.size_bytes = 1 << 20, .first_step = step, .last_step = step + 1});
  }
  const MemoryPlan plan = PlanMemory(buffers);
  EXPECT_LE(plan.arena_bytes, (2 << 20) + 4096);
  for (int step = 1; step < 10; ++step) {
    EXPECT_NE(plan.offset_bytes[step] % 4096, plan.offset_bytes[step - 1] % 4096);
  }
}

TEST(MemoryPlanTest, OutputTakesOverTheMemoryOfADeadInput) {
  const std::vector<PlanBuffer> buffers = {{.size_bytes = 1000, .first_step = 0, .last_step = 2},
                                           {.size_bytes = 1000, .first_step = 2, .last_step = 3}};
  const MemoryPlan plan = PlanMemory(buffers, {{.output = 1, .input = 0}});
  EXPECT_EQ(plan.offset_bytes[0], plan.offset_bytes[1]);
  EXPECT_EQ(plan.arena_bytes, 1024);
}

TEST(MemoryPlanTest, InputThatIsReadLaterKeepsItsMemory) {
  const std::vector<PlanBuffer> buffers = {{.size_bytes = 1000, .first_step = 0, .last_step = 3},
                                           {.size_bytes = 1000, .first_step = 2, .last_step = 3}};
  const MemoryPlan plan = PlanMemory(buffers, {{.output = 1, .input = 0}});
  EXPECT_NE(plan.offset_bytes[0], plan.offset_bytes[1]);
}

TEST(MemoryPlanTest, InputThatIsReadBehindTheStepKeepsItsMemory) {
  std::vector<PlanBuffer> buffers = {
      {.size_bytes = 1000, .first_step = 0, .last_step = 2, .kept_through = 2},
      {.size_bytes = 1000, .first_step = 2, .last_step = 3}};
  MemoryPlan plan = PlanMemory(buffers, {{.output = 1, .input = 0}});
  EXPECT_NE(plan.offset_bytes[0], plan.offset_bytes[1]);
  // A later step is the last to read it.
  buffers[0].kept_through = 1;
  plan = PlanMemory(buffers, {{.output = 1, .input = 0}});
  EXPECT_EQ(plan.offset_bytes[0], plan.offset_bytes[1]);
}

TEST(MemoryPlanTest, BordersShareMemoryOnlyWithTheirLike) {
  const std::vector<PlanBuffer> buffers = {
      {.size_bytes = 640, .first_step = 0, .last_step = 1, .keeper = "a"},
      {.size_bytes = 640, .first_step = 2, .last_step = 3},
      {.size_bytes = 640, .first_step = 4, .last_step = 5, .keeper = "a"},
      {.size_bytes = 640, .first_step = 6, .last_step = 7, .keeper = "b"}};
  const MemoryPlan plan = PlanMemory(buffers);
  EXPECT_EQ(plan.offset_bytes[0], plan.offset_bytes[2]);
  EXPECT_EQ(std::set<int64_t>(plan.offset_bytes.begin(), plan.offset_bytes.end()).size(), 3u);
}

// Random lives, sizes, keepers and in-place wishes against the definition: byte by byte, who owns
// it in each step.
TEST(MemoryPlanTest, NoTwoLiveBuffersOverlapInRandomModels) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const int count = 2 + static_cast<int>(rng.Below(30));
    std::vector<PlanBuffer> buffers;
    for (int i = 0; i < count; ++i) {
      const int first = static_cast<int>(rng.Below(20));
      buffers.push_back({.size_bytes = 64 * static_cast<int64_t>(1 + rng.Below(40)),
                         .first_step = first,
                         .last_step = first + static_cast<int>(rng.Below(6)),
                         .keeper = rng.Below(4) == 0 ? "k" : ""});
      if (rng.Below(4) == 0) buffers.back().kept_through = buffers.back().last_step;
      if (rng.Below(2) == 0) buffers.back().size_bytes = 1280;
    }
    std::vector<InPlaceChoice> wishes;
    for (int i = 0; i < count; ++i) {
      wishes.push_back({.output = static_cast<int>(rng.Below(count)),
                        .input = static_cast<int>(rng.Below(count))});
    }
    const MemoryPlan plan = PlanMemory(buffers, wishes);
    for (int a = 0; a < count; ++a) {
      const int64_t a_begin = plan.offset_bytes[a], a_end = a_begin + buffers[a].size_bytes;
      ASSERT_GE(a_begin, 0);
      ASSERT_EQ(a_begin % kPlanAlignmentBytes, 0);
      ASSERT_LE(a_end, plan.arena_bytes);
      for (int b = 0; b < a; ++b) {
        const int64_t b_begin = plan.offset_bytes[b], b_end = b_begin + buffers[b].size_bytes;
        if (a_end <= b_begin || b_end <= a_begin) continue;
        // Memory with something to keep is never anybody else's.
        ASSERT_EQ(buffers[a].keeper, buffers[b].keeper);
        if (!LiveTogether(buffers[a], buffers[b])) continue;
        const bool wished = std::any_of(wishes.begin(), wishes.end(), [&](const auto& wish) {
          return (wish.output == a && wish.input == b) || (wish.output == b && wish.input == a);
        });
        ASSERT_TRUE(wished);
        ASSERT_EQ(a_begin, b_begin);
        ASSERT_EQ(buffers[a].size_bytes, buffers[b].size_bytes);
        // They meet in the one step in which one dies and the other is made.
        const auto gives_to = [&](const PlanBuffer& from, const PlanBuffer& to) {
          return from.last_step == to.first_step && from.kept_through != from.last_step;
        };
        ASSERT_TRUE(gives_to(buffers[a], buffers[b]) || gives_to(buffers[b], buffers[a]));
      }
    }
  }
}

TEST(MemoryPlanTest, NothingNeedsNothing) { EXPECT_EQ(PlanMemory({}).arena_bytes, 0); }

}  // namespace
}  // namespace burnish
