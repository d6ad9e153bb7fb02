#include "tuner/app/precision.h"

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "base/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/app/error.h"
#include "tuner/app/npy.h"
#include "tuner/app/tuning.h"

namespace burnish {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(PrecisionTest, EachPrecisionSaysHowFloatsAreStored) {
  BuildModelOptions options;
  ASSERT_THAT(TakePrecision("f32", options), IsOk());
  EXPECT_FALSE(options.storage.narrows() || options.fastest_storage);
  ASSERT_THAT(TakePrecision("f16", options), IsOk());
  EXPECT_EQ(options.storage.type, DType::kF16);
  options = {};
  ASSERT_THAT(TakePrecision("auto", options), IsOk());
  EXPECT_TRUE(options.fastest_storage);
  EXPECT_FALSE(options.storage.narrows());
  options = {};
  ASSERT_THAT(TakePrecision("int8", options), IsOk());
  EXPECT_TRUE(options.storage.quantizes());
  options.select.strict = true;
  EXPECT_EQ(ErrorCodeOf(TakePrecision("bf16", options)), ErrorCode::kUsage);
  EXPECT_EQ(DefaultAccuracy("f32"), 1e-4);
  EXPECT_EQ(DefaultAccuracy("auto"), 2e-2);
}

TEST(PrecisionTest, AStudyIsStoredAsItWasFound) {
  StudySpec spec{.task = "dense:n=4,k=64,m=32"};
  EXPECT_EQ(StorageOf(spec), FloatStorage{});
  spec.precision = "bf16";
  spec.layer_types = {{"a", "f32"}};
  EXPECT_EQ(StorageOf(spec), (FloatStorage{DType::kBf16, {{"a", DType::kF32}}}));
  spec.precision = "auto";
  spec.layer_types = {{"a", "f16"}, {"b", "i8"}};
  spec.ranges = {{"a", {-1, 2}}};
  EXPECT_EQ(StorageOf(spec),
            (FloatStorage{DType::kF32, {{"a", DType::kF16}, {"b", DType::kI8}}, {{"a", {-1, 2}}}}));
  spec.precision = "int8";
  EXPECT_EQ(StorageOf(spec).type, DType::kI8);
}

// The tasks are those of the stored layers, each time that the study is prepared.
TEST(PrecisionTest, TasksOfAStudyAreThoseOfItsLayers) {
  StudySpec spec{.task = "dense:n=4,k=64,m=32", .target = "cpu:arch=znver4,threads=2"};
  ASSERT_OK_AND_ASSIGN(const Tuning wide, PrepareTuning(spec));
  spec.precision = "bf16";
  ASSERT_OK_AND_ASSIGN(const Tuning narrow, PrepareTuning(spec));
  const auto mentions = [](const Tuning& tuning) {
    std::string all;
    for (const StudyTaskSpec& task : tuning.tasks) all += task.workload.text;
    return all.find("bf16") != std::string::npos;
  };
  EXPECT_FALSE(mentions(wide));
  EXPECT_TRUE(mentions(narrow));
  for (const GraphNode& node : narrow.graph.nodes) spec.layer_types[node.name] = "f32";
  ASSERT_OK_AND_ASSIGN(const Tuning taken_back, PrepareTuning(spec));
  EXPECT_EQ(taken_back.tasks.size(), wide.tasks.size());
  EXPECT_EQ(taken_back.tasks[0].workload.id, wide.tasks[0].workload.id);
}

class ExamplesTest : public ::testing::Test {
 protected:
  ExamplesTest() {
    std::filesystem::create_directories(folder_);
    AddInput(graph_, "x", {DType::kF32, {1, 3}});
  }
  ~ExamplesTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, int64_t count, float value) {
    const std::vector<float> values(static_cast<size_t>(count) * 3, value);
    NpyArray array{.type = ElementType::kF32, .shape = {count, 3}};
    array.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * 4);
    ASSERT_THAT(WriteNpyFile(folder_ + "/" + name, array), IsOk());
  }

  const std::string folder_ = ::testing::TempDir() + "/precision_test_examples";
  Graph graph_;
};

TEST_F(ExamplesTest, AFewOfManyAreTaken) {
  Write("x.npy", 100, 1);
  ASSERT_OK_AND_ASSIGN(const ExampleInputs inputs, LoadExamples(folder_, graph_));
  EXPECT_THAT(inputs.examples, SizeIs(16));
  EXPECT_EQ(inputs.source, "16 examples of " + folder_);
  const std::string digest = ExamplesDigest(inputs);
  EXPECT_THAT(digest, SizeIs(32));
  Write("x.npy", 100, 2);
  ASSERT_OK_AND_ASSIGN(const ExampleInputs others, LoadExamples(folder_, graph_));
  EXPECT_NE(ExamplesDigest(others), digest);
  ASSERT_OK_AND_ASSIGN(const ExampleInputs random, LoadExamples("", graph_));
  EXPECT_EQ(ExamplesDigest(random), "");
}

TEST_F(ExamplesTest, RandomOnesAreAskedForByName) {
  ASSERT_OK_AND_ASSIGN(const ExampleInputs drawn, LoadExamples("random", graph_));
  EXPECT_THAT(drawn.examples, SizeIs(16));
  EXPECT_EQ(drawn.source, "random inputs");
  EXPECT_NE(drawn.examples[0][0].dense, drawn.examples[1][0].dense);
  ASSERT_OK_AND_ASSIGN(const ExampleInputs again, LoadExamples("random", graph_));
  EXPECT_EQ(ExamplesDigest(again), ExamplesDigest(drawn));
}

TEST_F(ExamplesTest, Int8WantsExamplesThatCalibrate) {
  BuildModelOptions options;
  const auto take = [&](const std::string& folder, const std::string& precision) {
    return TakeExamples(folder, precision, graph_, {}, "model", options);
  };
  EXPECT_EQ(ErrorCodeOf(take("", "int8")), ErrorCode::kUsage);
  Write("x.npy", 9, 1);
  const absl::Status few = take(folder_, "int8");
  EXPECT_EQ(ErrorCodeOf(few), ErrorCode::kBadExamples);
  EXPECT_THAT(few.message(), HasSubstr("at least 10"));
  // `auto` goes without, and so does a model with nothing to quantize.
  EXPECT_THAT(take(folder_, "auto"), IsOk());
  EXPECT_THAT(options.examples.examples, SizeIs(9));
  Write("x.npy", 10, 1);
  EXPECT_THAT(take(folder_, "auto"), IsOk());
  EXPECT_TRUE(options.storage.ranges.empty());
  EXPECT_EQ(ErrorCodeOf(take(folder_, "int8")), ErrorCode::kBadModel);
  options.refit = true;
  EXPECT_EQ(ErrorCodeOf(take(folder_, "int8")), ErrorCode::kUsage);
}

TEST_F(ExamplesTest, WhatCannotBeUsedIsSaid) {
  EXPECT_EQ(ErrorCodeOf(LoadExamples(folder_ + "/none", graph_).status()), ErrorCode::kNoInputFile);
  EXPECT_EQ(ErrorCodeOf(LoadExamples(folder_, graph_).status()), ErrorCode::kBadExamples);
  Write("x.npy", 2, std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(ErrorCodeOf(LoadExamples(folder_, graph_).status()), ErrorCode::kBadExamples);
  graph_.sizes.push_back({.name = "n", .least = 1, .greatest = 4});
  EXPECT_EQ(ErrorCodeOf(LoadExamples(folder_, graph_).status()), ErrorCode::kUsage);
}

}  // namespace
}  // namespace burnish
