// Shapes that a user may write, far beyond those of a network: a study of each runs to its end, or
// the shape is refused. Neither may end the process, which may serve others.
#include <algorithm>
#include <string>

#include "base/fake_clock.h"
#include "base/status_matchers.h"
#include "compiler/codegen/codegen_epoch.h"
#include "db/open.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"
#include "tuner/app/study_spec.h"
#include "tuner/app/tuning.h"
#include "tuner/measure/fake_measurer.h"
#include "tuner/study/study_runner.h"
#include "tuner/study/study_storage.h"
#include "tuner/study/task_tools.h"

namespace burnish {
namespace {

constexpr char kTarget[] = "cpu:arch=znver3,threads=2";

// All of a study but the farm: preparing, sketches, default schedules, search, features, model.
absl::StatusOr<StudyResult> RunStudy(const std::string& task, int32_t batch) {
  ASSIGN_OR_RETURN(
      StudySpec spec,
      CompleteStudySpec({.task = task, .target = kTarget, .trials_max = 12, .batch = batch}));
  ASSIGN_OR_RETURN(const Tuning tuning, PrepareTuning(spec));
  ASSIGN_OR_RETURN(const Database database, OpenDatabase("memory:"));
  RETURN_IF_ERROR(CreateStudy(*database.studies, {.id = "study",
                                                  .title = task,
                                                  .spec = tuning.spec,
                                                  .target = tuning.target,
                                                  .tasks = tuning.tasks,
                                                  .now_ns = 1}));
  FakeClock clock;
  FakeMeasurer measurer({.latency_ns =
                             [](const MeasureRequest& request) {
                               return static_cast<int64_t>(1'000'000 + request.trace.size());
                             },
                         .clock = &clock});
  return StudyRunner({.study_id = "study",
                      .spec = tuning.spec,
                      .target = tuning.target,
                      .tasks = tuning.tasks,
                      .codegen_epoch = kCodegenEpoch,
                      .make_tools =
                          [](absl::Span<const StudyTaskSpec> tasks, const Target& target,
                             const StudySpec& spec) {
                            return MakeTaskTools({.make_threads = 2}, tasks, target, spec);
                          },
                      .records = database.records.get(),
                      .studies = database.studies.get(),
                      .measurer = &measurer,
                      .clock = &clock})
      .Run();
}

struct LargeShape {
  const char* name;
  const char* task;
  int32_t batch = 1;
};

class LargeShapeTest : public ::testing::TestWithParam<LargeShape> {};

TEST_P(LargeShapeTest, HasAStudy) {
  ASSERT_OK_AND_ASSIGN(const StudyResult result, RunStudy(GetParam().task, GetParam().batch));
  EXPECT_GT(result.progress.trial_count, 0);
}

INSTANTIATE_TEST_SUITE_P(
    LargeShapes, LargeShapeTest,
    ::testing::Values(LargeShape{"Convolution4096", "conv2d:h=4096,ci=64,co=64,k=3,p=1"},
                      LargeShape{"Convolution8192", "conv2d:h=8192,ci=64,co=64,k=3,p=1"},
                      LargeShape{"StridedConvolution", "conv2d:h=8191,ci=3,co=64,k=7,s=2,p=3"},
                      LargeShape{"DepthwiseConvolution", "conv2d:h=8192,ci=32,co=32,k=3,p=1,g=32"},
                      LargeShape{"Matmul8192", "matmul:m=8192,n=8192,k=8192"},
                      LargeShape{"MatmulOfPrimes", "matmul:m=1048573,n=8191,k=127"},
                      LargeShape{"BatchedMatmul", "matmul:b=4096,m=1021,n=509,k=64"},
                      LargeShape{"Dense", "dense:n=1048576,k=1024,m=1000"},
                      LargeShape{"MaxPool", "maxpool2d:h=16384,c=64,k=3,s=2,p=1"},
                      LargeShape{"AveragePool", "avgpool2d:h=8191,c=64,k=7"},
                      LargeShape{"Softmax", "softmax:m=1048576,n=1000"},
                      LargeShape{"SoftmaxOfLongRows", "softmax:m=8,n=1048575"},
                      LargeShape{"LayerNorm", "layernorm:m=1048575,n=4095"},
                      LargeShape{"ResNet50Batch1024", "resnet50", 1024}),
    [](const auto& info) { return std::string(info.param.name); });

// Beyond what memory or an operator's text can hold: refused with what is wrong, as a user's error.
TEST(ShapeThatIsTooLargeTest, IsRefusedWithWhatToDo) {
  for (const char* task :
       {"conv2d:h=1048576,ci=1048576,co=1,k=1", "matmul:b=1048576,m=1048576,n=1048576,k=1048576",
        "softmax:m=1048576,n=1048577"}) {
    SCOPED_TRACE(task);
    const absl::Status status = RunStudy(task, 1).status();
    EXPECT_THAT(ErrorCodeOf(status),
                ::testing::AnyOf(ErrorCode::kModelTooLarge, ErrorCode::kBadSpec))
        << status;
    EXPECT_THAT(status.message(), ::testing::HasSubstr("want "));
  }
}

}  // namespace
}  // namespace burnish
