#include "base/oom_kills.h"

#include <optional>
#include <string>

#include "base/file.h"
#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

TEST(OomKillsTest, CountIsReadFromItsOwnLine) {
  EXPECT_EQ(ParseOomKills("pgfault 12\noom_kill 3\nnuma_hit 4\n"), 3);
  EXPECT_EQ(ParseOomKills("oom_kill_other 3\n"), std::nullopt);
  EXPECT_EQ(ParseOomKills("oom_kill x\n"), std::nullopt);
  EXPECT_EQ(ParseOomKills(""), std::nullopt);
}

TEST(OomKillsTest, WatchSeesWhatWasKilledSinceItBegan) {
  ASSERT_OK_AND_ASSIGN(const TempDir folder, TempDir::Create("oom"));
  const std::string path = folder.path() + "/vmstat";
  ASSERT_THAT(WriteFileAtomically(path, "oom_kill 3\n"), IsOk());
  const OomKillWatch watch(path);
  EXPECT_FALSE(watch.SawAny());
  ASSERT_THAT(WriteFileAtomically(path, "oom_kill 4\n"), IsOk());
  EXPECT_TRUE(watch.SawAny());
}

TEST(OomKillsTest, KernelThatDoesNotCountIsNoEvidence) {
  EXPECT_FALSE(OomKillWatch("/nowhere/vmstat").SawAny());
}

}  // namespace
}  // namespace burnish
