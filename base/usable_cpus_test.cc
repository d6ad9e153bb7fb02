#include "base/usable_cpus.h"

#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

TEST(UsableCpusTest, AThreadIsMovedAndTheOthersKeepTheirs) {
  const std::vector<int> all = UsableCpus();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(UsableCpuCount(), static_cast<int>(all.size()));
  std::thread([&] {
    EXPECT_TRUE(MoveToCpus(0, {all.back()}));
    EXPECT_THAT(UsableCpus(), ElementsAre(all.back()));
    EXPECT_EQ(UsableCpuCount(), 1);
  }).join();
  EXPECT_EQ(UsableCpus(), all);
}

TEST(UsableCpusTest, NoCpuThatIsThereIsRefused) {
  EXPECT_FALSE(MoveToCpus(0, {}));
  EXPECT_FALSE(MoveToCpus(0, {1 << 20}));
}

TEST(CpuListTest, IsWrittenAsTasksetWritesIt) {
  EXPECT_EQ(FormatCpuList({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(FormatCpuList({}), "");
}

TEST(ProcessCpusTest, AreMoreThanThoseOfAThreadThatHasPinnedItself) {
  const std::vector<int> before = UsableCpus();
  std::thread([&before] {
    ASSERT_TRUE(MoveToCpus(0, {before.front()}));
    EXPECT_EQ(UsableCpus(), std::vector<int>{before.front()});
    EXPECT_EQ(ProcessCpus(), before);
  }).join();
}

}  // namespace
}  // namespace burnish
