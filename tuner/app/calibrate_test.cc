// Ranges of a built graph's values, against the graph's interpreter.
#include "tuner/app/calibrate.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/graph/quantize_graph.h"
#include "compiler/target/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/built_graph.h"
#include "tuner/app/error.h"
#include "tuner/app/example_data.h"
#include "tuner/app/npy.h"
#include "tuner/app/output_errors.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using Shape = std::vector<int64_t>;

constexpr int64_t kExamples = 6;

class CalibrateTest : public ::testing::Test {
 protected:
  CalibrateTest() : folder_(*TempDir::Create("calibrate")) {
    graph_.name = "network";
    ValueId x = AddInput(graph_, "x", {DType::kF32, {1, 4, 6, 6}});
    for (int layer = 0; layer < 3; ++layer) {
      const ValueId w = AddRandomConstant(graph_, absl::StrCat("w", layer), {4, 4, 3, 3}, layer);
      x = Op(graph_, "relu", {Op(graph_, "conv", {x, w}, {{"pads", Shape{1, 1, 1, 1}}})});
    }
    graph_.outputs = {x};
    graph_.values[x].name = "y";
    options_.build.target = *HostTarget(HostCpuInfo(), 1);
  }

  // Random examples; returns them.
  std::vector<TensorValue> Write(double factor = 1) {
    std::vector<TensorValue> examples;
    NpyArray array{.type = ElementType::kF32, .shape = {kExamples, 4, 6, 6}};
    for (int64_t i = 0; i < kExamples; ++i) {
      examples.push_back(RandomInputs(graph_, static_cast<uint64_t>(i) + 1)[0]);
      for (double& v : examples.back().floats) {
        v = static_cast<float>(v * factor);
        const auto value = static_cast<float>(v);
        array.bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
      }
    }
    EXPECT_THAT(WriteNpyFile(folder_.path() + "/x.npy", array), IsOk());
    return examples;
  }
  ExampleData Open() { return *ExampleData::Open(folder_.path(), InputTensors(graph_)); }

  const TempDir folder_;
  Graph graph_;
  CalibrationOptions options_;
};

TEST_F(CalibrateTest, RangesAreThoseOfTheDefinition) {
  const std::vector<TensorValue> examples = Write();
  const std::vector<ValueId> values = ValuesToObserve(graph_);
  ASSERT_EQ(values.size(), 3u);  // What the three convolutions read.
  Graph observed = graph_;
  observed.outputs = values;
  ValueRanges want;
  for (const TensorValue& example : examples) {
    ASSERT_OK_AND_ASSIGN(const auto outputs, InterpretGraph(observed, {example}));
    for (size_t i = 0; i < values.size(); ++i) {
      const auto [least, greatest] =
          std::minmax_element(outputs[i].floats.begin(), outputs[i].floats.end());
      const auto [range, is_new] = want.emplace(values[i], ValueRange{*least, *greatest});
      range->second.least = std::min(range->second.least, *least);
      range->second.greatest = std::max(range->second.greatest, *greatest);
    }
  }
  ExampleData data = Open();
  // All values in one build, and each in one of its own.
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{1}}) {
    options_.observed_bytes_max = bytes;
    int64_t runs = 0, total = 0;
    options_.progress = [&](const ExampleProgress& progress) {
      EXPECT_EQ(progress.done, ++runs);
      total = progress.total;
    };
    for (const RangeMethod method : {RangeMethod::kMinMax, RangeMethod::kPercentile}) {
      runs = 0;
      options_.method = method;
      options_.percent = 100;
      ASSERT_OK_AND_ASSIGN(const ValueRanges got,
                           CalibrateRanges(graph_, values, data, options_, "network"));
      ASSERT_EQ(got.size(), want.size());
      for (const auto& [v, range] : want) {
        EXPECT_NEAR(got.at(v).least, range.least, 1e-4 * range.greatest);
        EXPECT_NEAR(got.at(v).greatest, range.greatest, 1e-4 * range.greatest);
      }
      EXPECT_EQ(runs, total);
      EXPECT_EQ(total, kExamples * (bytes == 1 ? 2 : 1));
    }
  }
}

TEST_F(CalibrateTest, ItStopsWhereItIsAskedTo) {
  Write();
  ExampleData data = Open();
  int64_t runs = 0;
  options_.progress = [&](const ExampleProgress&) { ++runs; };
  options_.interrupted = [&] { return runs == 2; };
  const absl::Status status =
      CalibrateRanges(graph_, ValuesToObserve(graph_), data, options_, "network").status();
  EXPECT_EQ(PartsOf(status).code, ErrorCode::kInterrupted);
  EXPECT_EQ(runs, 2);
}

TEST_F(CalibrateTest, ValuesThatAreNotFiniteAreNamed) {
  Write(/*factor=*/5e37);
  ExampleData data = Open();
  const absl::Status status =
      CalibrateRanges(graph_, ValuesToObserve(graph_), data, options_, "network").status();
  EXPECT_EQ(PartsOf(status).code, ErrorCode::kBadExamples);
  EXPECT_THAT(status.message(), HasSubstr("of the model is NaN or infinite for example 0"));
}

TEST_F(CalibrateTest, ErrorsAreInTheSpreadOfTheOutputs) {
  Write();
  ExampleData data = Open();
  options_.examples_max = 4;
  ASSERT_OK_AND_ASSIGN(const auto none,
                       MeasureOutputErrors(graph_, graph_, data, options_, "network"));
  ASSERT_EQ(none.size(), 1u);
  EXPECT_EQ(none[0].name, "y");
  EXPECT_EQ(none[0].error, 0);
  // The same output whatever the input: as wrong as can be, and no spread the other way round.
  Graph blind = graph_;
  const ValueId zero = AddConstant(blind, "k", {DType::kF32, {1, 4, 6, 6}},
                                   FromDoubles(DType::kF32, std::vector<double>(4 * 6 * 6, 0)));
  blind.outputs = {Op(blind, "mul", {graph_.outputs[0], zero})};
  blind.values[blind.outputs[0]].name = "z";
  ASSERT_OK_AND_ASSIGN(const auto all,
                       MeasureOutputErrors(blind, graph_, data, options_, "network"));
  EXPECT_GE(all[0].error.value_or(0), 1);
  ASSERT_OK_AND_ASSIGN(const auto back,
                       MeasureOutputErrors(graph_, blind, data, options_, "network"));
  EXPECT_FALSE(back[0].error.has_value());
}

TEST(SpreadExamplesTest, AreSpreadEvenly) {
  EXPECT_EQ(SpreadExamples(3, 10), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(SpreadExamples(10, 3), (std::vector<int64_t>{0, 3, 6}));
  EXPECT_TRUE(SpreadExamples(0, 3).empty());
}

}  // namespace
}  // namespace burnish
