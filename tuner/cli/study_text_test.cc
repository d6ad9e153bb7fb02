#include "tuner/cli/study_text.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/study.h"

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

TEST(StudyTextTest, ARunSaysWhoseItIs) {
  StudyView view = Running();
  view.summary.study.created_ns = absl::ToUnixNanos(absl::FromUnixSeconds(1000));
  const absl::Time now = absl::FromUnixSeconds(1000) + absl::Hours(3);
  EXPECT_THAT(StudyRunText(view, now), HasSubstr("run by     nobody\n"));
  EXPECT_THAT(StudyRunText(view, now), HasSubstr("created    1970-01-01 00:16:40 UTC, 3 h ago\n"));
  EXPECT_TRUE(StudyRunJson(view)["owner"].is_null());
  view.summary.lease = {.owner = "host/7", .expires_ns = 60'000'000'000};
  EXPECT_THAT(StudyRunText(view, now),
              HasSubstr("run by     host/7, until 1970-01-01 00:01:00 UTC\n"));
  EXPECT_EQ(StudyRunJson(view)["owner"], "host/7");
}

TEST(StudyTextTest, ASpecificationSaysWhatWasAskedFor) {
  const StudySpec until_gain{.model_path = "m.onnx", .model_sha256 = std::string(32, '\x0a')};
  const std::string text = SpecificationText(until_gain);
  EXPECT_THAT(text, HasSubstr("model          m.onnx\n"));
  EXPECT_THAT(text, HasSubstr("its hash       0a0a0a0a0a0a\n"));
  EXPECT_THAT(text, HasSubstr("trials         until 0.5 % are left to gain\n"));
  EXPECT_THAT(text, HasSubstr("refines        yes\n"));
  EXPECT_THAT(text, Not(HasSubstr("\ntask ")));
  const StudySpec counted{.task = "resnet18", .trials_max = 40, .no_refine = true};
  EXPECT_THAT(SpecificationText(counted), HasSubstr("at most 40\n"));
  EXPECT_EQ(SpecificationJson(counted)["refines"], false);
  EXPECT_TRUE(SpecificationJson(counted)["model"].is_null());
  EXPECT_TRUE(SpecificationJson(counted)["time_max_s"].is_null());
}

}  // namespace
}  // namespace burnish
