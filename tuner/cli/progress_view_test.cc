#include "tuner/cli/progress_view.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/study/study_types.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProgressViewTest, NamesHaveWhatTheTerminalLeaves) {
  const std::string name = "conv+add+relu 112x112 256-256 3x3, the end";
  StudyProgress progress;
  progress.tasks.push_back({.name = name, .weight = 2, .trial_count = 17});
  const std::vector<int64_t> flop_counts = {1};
  const std::string wide = ProgressTasks(progress, flop_counts, 8, 120)[0];
  EXPECT_THAT(wide, HasSubstr(name));
  EXPECT_LT(wide.size(), 120);
  EXPECT_THAT(wide, HasSubstr("17 trials"));
  const std::string narrow = ProgressTasks(progress, flop_counts, 8, 80)[0];
  EXPECT_THAT(narrow, Not(HasSubstr("the end")));
  EXPECT_THAT(narrow, HasSubstr("conv+add+relu 112x112 256-256 3x3"));
}

}  // namespace
}  // namespace burnish
