#include "tuner/cli/run_flags.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "base/usable_cpus.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void ExpectUsageError(const absl::Status& status, const std::string& cause,
                      const std::string& hint) {
  EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kUsage) << status;
  EXPECT_THAT(status.message(), HasSubstr(cause));
  EXPECT_THAT(PartsOf(status).hint, HasSubstr(hint));
}

TEST(CpusFlagTest, WhatIsNoListOfUsableCpusSaysWhichThereAre) {
  const std::vector<int> usable = UsableCpus();
  const std::string there = absl::StrCat("may use ", FormatCpuList(usable));
  for (const char* text : {"x", "0,", "3-1", "-1", "0 1"}) {
    SCOPED_TRACE(text);
    ExpectUsageError(ParseCpus(text).status(), "want CPUs such as 0-3,8", there);
  }
  ExpectUsageError(ParseCpus("0,0").status(), "named twice", "once");
  ExpectUsageError(ParseCpus("1023").status(), "CPU 1023 is not one that this process may use",
                   there);
  ExpectUsageError(ParseCpus("99999").status(), "CPU 99999 is not one", there);
  EXPECT_THAT(ParseCpus(FormatCpuList(usable)), IsOkAndHolds(usable));
}

TEST(CpusFlagTest, TheProcessIsMovedThere) {
  const std::vector<int> before = UsableCpus();
  std::thread([&] {  // Whose mask goes with it.
    RunFlags flags;
    flags.cpus = absl::StrCat(before.back());
    flags.loop_limit = 7;
    ASSERT_OK_AND_ASSIGN(const SessionOptions options, flags.Take());
    EXPECT_EQ(options.threads_max, 1);
    EXPECT_EQ(options.loop_limit, 7u);
    EXPECT_THAT(UsableCpus(), ElementsAre(before.back()));
  })
      .join();
  RunFlags flags;
  flags.cpus = absl::StrCat(before.back());
  flags.threads = 2;
  ExpectUsageError(flags.Take().status(), "2 threads and 1 CPUs", "--threads");
  EXPECT_EQ(UsableCpus(), before);
}

}  // namespace
}  // namespace burnish
