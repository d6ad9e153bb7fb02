// That the random traces are worth the name: long, over every primitive, with refusals, each with a
// reason. The same seeds as random_schedule_test.
#include "tests/property/random_trace.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/schedule/primitive.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/property/random_program.h"

namespace burnish {
namespace {

using ::testing::EndsWith;

TEST(RandomTraceTest, ThousandTracesCoverEveryPrimitive) {
  constexpr uint64_t kSeeds = 1000;
  std::vector<size_t> lengths;
  std::map<std::string, int> accepted;
  std::set<std::string> families;
  int proposals = 0, refusals = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomProgram defined = MakeRandomProgram(seed);
    const RandomTrace random = MakeRandomTrace(defined.program, seed);
    families.insert(defined.family);
    lengths.push_back(random.trace.size());
    for (const Step& step : random.trace) ++accepted[step.primitive->name];
    proposals += random.proposal_count;
    refusals += random.refusal_count;
    EXPECT_EQ(random.refusals.size(), static_cast<size_t>(random.refusal_count));
    for (const std::string& refusal : random.refusals) {
      EXPECT_THAT(refusal, ::testing::Not(EndsWith(": "))) << "seed " << seed;
    }
  }
  std::sort(lengths.begin(), lengths.end());
  const double share = static_cast<double>(refusals) / proposals;
  std::cout << "median of " << lengths[kSeeds / 2] << " steps, " << proposals << " proposals, "
            << 100 * share << " % refused\n";
  for (const auto& [primitive, count] : accepted) std::cout << primitive << " " << count << "\n";
  EXPECT_GE(lengths[kSeeds / 2], 8u);
  EXPECT_GE(share, 0.1);
  EXPECT_LE(share, 0.5);
  EXPECT_EQ(families.size(), ProgramFamilies().size());
  for (const Primitive* primitive : AllPrimitives()) {
    // For GPUs; and what asks for nests of certain shapes, which chance does not make.
    if (std::string(primitive->name) == "bind") continue;
    if (std::string(primitive->name) == "tensorize") continue;
    EXPECT_GE(accepted[primitive->name], 30) << primitive->name;
  }
}

TEST(RandomTraceTest, SameSeedGivesTheSameTrace) {
  const RandomProgram defined = MakeRandomProgram(7);
  EXPECT_EQ(PrintTrace(MakeRandomTrace(defined.program, 3).trace),
            PrintTrace(MakeRandomTrace(defined.program, 3).trace));
  EXPECT_NE(PrintTrace(MakeRandomTrace(defined.program, 3).trace),
            PrintTrace(MakeRandomTrace(defined.program, 4).trace));
}

}  // namespace
}  // namespace burnish
