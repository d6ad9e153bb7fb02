#include "tuner/cli/study_flags.h"

#include "base/status_matchers.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

Target SomeTarget() { return *ParseTarget("cpu:arch=znver3,threads=2"); }

// No value is the field's default.
TEST(StudyFlagsTest, EveryFlagReachesTheSpecification) {
  StudyFlags flags;
  flags.task = "resnet18";
  flags.out = "/bundles/a.bundle";
  flags.inputs.shapes = {"input=2x3x64x64"};
  flags.inputs.values = {"rate=16000"};
  flags.inputs.dims = {"seq=1..512,batch=1..8", "total=past+seq"};
  flags.batch = 2;
  flags.trials = 77;
  flags.early_stopping = 9;
  flags.opt_level = 1;
  flags.seed = 5;
  flags.priority = -3;
  flags.time = "90s";
  flags.until_gain = "2%";
  flags.accuracy = "1e-3";
  flags.scheduler = "burnish";
  flags.strategy = "random";
  flags.task_scheduler = "round-robin";
  flags.cost_model = "random";
  flags.refine = "off";
  flags.no_default = true;
  flags.deterministic = true;
  flags.precision = "bf16";
  flags.data = "/examples";
  const StudySpec want{.task = "resnet18",
                       .target = SomeTarget().ToText(),
                       .trials_max = 77,
                       .time_max_ns = 90'000'000'000,
                       .gain_min = 0.02,
                       .early_stopping_trials = 9,
                       .shapes = {{"input", "2x3x64x64"},
                                  {"rate", "=16000"},
                                  {":seq", "1..512"},
                                  {":batch", "1..8"},
                                  {":total", "past+seq"}},
                       .batch = 2,
                       .scheduler = "burnish",
                       .strategy = "random",
                       .task_scheduler = "round-robin",
                       .cost_model = "random",
                       .no_default = true,
                       .deterministic = true,
                       .error_max = 1e-3,
                       .opt_level = 1,
                       .seed = 5,
                       .out_path = "/bundles/a.bundle",
                       .priority = -3,
                       .no_refine = true,
                       .precision = "bf16",
                       .data_path = "/examples"};
  EXPECT_THAT(flags.ToSpec(SomeTarget()), IsOkAndHolds(want));
  flags.accuracy = "strict";
  ASSERT_OK_AND_ASSIGN(const StudySpec strict, flags.ToSpec(SomeTarget()));
  EXPECT_TRUE(strict.strict);
  // What nobody said is the precision's.
  flags.accuracy = "";
  ASSERT_OK_AND_ASSIGN(const StudySpec narrow, flags.ToSpec(SomeTarget()));
  EXPECT_EQ(narrow.error_max, 2e-2);
  flags.precision = "f32";
  ASSERT_OK_AND_ASSIGN(const StudySpec wide, flags.ToSpec(SomeTarget()));
  EXPECT_EQ(wide.error_max, 1e-4);
}

TEST(StudyFlagsTest, WrongFlagsAreNamed) {
  const auto where = [](const StudyFlags& flags) {
    const absl::Status status = flags.ToSpec(SomeTarget()).status();
    EXPECT_EQ(ErrorCodeOf(status), ErrorCode::kUsage);
    return PartsOf(status).where;
  };
  EXPECT_EQ(where({}), "tuner submit");
  EXPECT_EQ(where({.task = "resnet18", .model = "x.onnx"}), "tuner submit");
  EXPECT_EQ(where({.task = "resnet18", .inputs = {.shapes = {"2x3x64x64"}}}), "--shape");
  EXPECT_EQ(where({.task = "resnet18", .inputs = {.shapes = {"input=2xq"}}}), "input");
  EXPECT_EQ(where({.task = "resnet18", .inputs = {.values = {"16000"}}}), "--value");
  EXPECT_EQ(where({.task = "resnet18", .inputs = {.values = {"=16000"}}}), "--value");
  EXPECT_EQ(where({.task = "resnet18", .inputs = {.shapes = {"x=2"}, .values = {"x=2"}}}),
            "--value");
  for (const char* dims : {"seq", "=1..2", "seq=", "", "seq=1..2,", "seq=1..2,seq=3"}) {
    EXPECT_EQ(where({.task = "resnet18", .inputs = {.dims = {dims}}}), "--dim") << dims;
  }
  EXPECT_EQ(where({.task = "resnet18", .time = "soon"}), "--time");
  EXPECT_EQ(where({.task = "resnet18", .until_gain = "200%"}), "--until-gain");
  EXPECT_EQ(where({.task = "resnet18", .accuracy = "2"}), "--accuracy");
}

}  // namespace
}  // namespace burnish
