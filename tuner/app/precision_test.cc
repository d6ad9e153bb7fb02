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
  const absl::Status int8 = TakePrecision("int8", options);
  EXPECT_EQ(ErrorCodeOf(int8), ErrorCode::kNotAvailableYet);
  EXPECT_THAT(PartsOf(int8).hint, HasSubstr("tuner quantize"));
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
  spec.layer_types = {{"a", "f16"}};
  EXPECT_EQ(StorageOf(spec), (FloatStorage{DType::kF32, {{"a", DType::kF16}}}));
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
