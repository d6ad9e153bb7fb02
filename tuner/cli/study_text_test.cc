#include "tuner/cli/study_text.h"

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StudyView Running() {
  StudyView view;
  view.summary.study = {.id = "s", .title = "t", .target = "cpu", .state = StudyState::kRunning};
  return view;
}

TEST(StudyTextTest, PausedWorkersAreNamedWithTheirEnd) {
  StudyView view = Running();
  EXPECT_THAT(StudyText(view), Not(HasSubstr("paused")));
  EXPECT_EQ(StudyJson(view)["paused_workers"], nlohmann::ordered_json::array());
  view.paused = {{.worker_id = "liar", .until_ns = 600'000'000'000, .count = 2}};
  EXPECT_THAT(StudyText(view), HasSubstr("paused   liar until 1970-01-01 00:10"));
  EXPECT_THAT(StudyText(view), HasSubstr("2 times"));
  EXPECT_EQ(StudyJson(view)["paused_workers"].dump(),
            R"([{"worker":"liar","until_ns":600000000000,"count":2}])");
}

}  // namespace
}  // namespace burnish
