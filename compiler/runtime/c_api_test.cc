// The C API, against the shared library as a user gets it.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "burnish/burnish.h"
#include "compiler/runtime/test_bundle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::string WriteFile(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

struct Close {
  void operator()(BurnishModel* model) const { burnish_close(model); }
};
using ModelPtr = std::unique_ptr<BurnishModel, Close>;

template <typename Struct>
Struct Sized() {
  Struct sized = {};
  sized.struct_size = sizeof(sized);
  return sized;
}

BurnishOptions Options() { return Sized<BurnishOptions>(); }

ModelPtr OpenTestModel(const BurnishOptions* options) {
  BurnishModel* model = nullptr;
  const std::string bundle = TestBundle();
  EXPECT_EQ(burnish_open_bytes(bundle.data(), bundle.size(), options, &model), BURNISH_OK)
      << burnish_last_error();
  return ModelPtr(model);
}

void SetInputs(BurnishModel* model, float x_value) {
  const std::vector<float> x(kTestCount, x_value), image(9, 1.0f);
  const int32_t index[4] = {0, 1, 2, 3};
  ASSERT_EQ(burnish_set_input(model, 0, x.data(), 4000), BURNISH_OK);
  ASSERT_EQ(burnish_set_input(model, 1, index, 16), BURNISH_OK);
  ASSERT_EQ(burnish_set_input(model, 2, image.data(), 36), BURNISH_OK);
}

// Of x = constant: sum[i] = w[999 - i] * x + x.
void ExpectSum(BurnishModel* model, float x_value) {
  std::vector<float> sum(kTestCount), want(kTestCount);
  for (int i = 0; i < kTestCount; ++i)
    want[i] = TestWeights()[kTestCount - 1 - i] * x_value + x_value;
  ASSERT_EQ(burnish_get_output(model, 0, sum.data(), 4000), BURNISH_OK);
  EXPECT_EQ(sum, want);
}

TEST(CApiTest, OpensAFileAndRunsIt) {
  const std::string path = WriteFile("run.bundle", TestBundle());
  BurnishModel* opened = nullptr;
  ASSERT_EQ(burnish_open(path.c_str(), nullptr, &opened), BURNISH_OK) << burnish_last_error();
  const ModelPtr model(opened);
  EXPECT_GE(burnish_thread_count(opened), 1);
  EXPECT_LE(burnish_thread_count(opened), 2);
  EXPECT_STREQ(burnish_target(opened), "cpu:arch=any,features=,threads=2");
  SetInputs(opened, 3.0f);
  ASSERT_EQ(burnish_run(opened), BURNISH_OK);
  ExpectSum(opened, 3.0f);
}

TEST(CApiTest, DescribesInputsAndOutputs) {
  const ModelPtr model = OpenTestModel(nullptr);
  ASSERT_EQ(burnish_input_count(model.get()), 3);
  ASSERT_EQ(burnish_output_count(model.get()), 3);
  auto info = Sized<BurnishTensorInfo>();
  ASSERT_EQ(burnish_input_info(model.get(), 0, &info), BURNISH_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dtype, BURNISH_F32);
  EXPECT_STREQ(burnish_dtype_name(info.dtype), "f32");
  ASSERT_EQ(info.rank, 2);
  EXPECT_EQ(info.shape[0], 2);
  EXPECT_EQ(info.shape[1], 500);
  EXPECT_EQ(info.size_bytes, 4000u);
  EXPECT_EQ(info.bind_alignment, 64u);
  ASSERT_EQ(burnish_input_info(model.get(), 2, &info), BURNISH_OK);
  EXPECT_EQ(info.size_bytes, 36u);
  EXPECT_EQ(info.bind_alignment, 0u);  // Stored with a border.
  ASSERT_EQ(burnish_output_info(model.get(), 2, &info), BURNISH_OK);
  EXPECT_EQ(info.rank, 0);
  EXPECT_EQ(burnish_input_info(model.get(), 3, &info), BURNISH_OUT_OF_RANGE);
  EXPECT_EQ(burnish_input_info(model.get(), -1, &info), BURNISH_OUT_OF_RANGE);
  EXPECT_STREQ(burnish_last_error(), "got input -1, want 0 to below 3");
}

// The rule itself is tested in sized_struct_test; here, that each function follows it.
TEST(CApiTest, EveryStructNeedsItsSize) {
  const ModelPtr model = OpenTestModel(nullptr);
  SetInputs(model.get(), 1.0f);
  BurnishTensorInfo info = {};
  EXPECT_EQ(burnish_input_info(model.get(), 0, &info), BURNISH_INVALID_ARGUMENT);
  EXPECT_STREQ(burnish_last_error(),
               "got BurnishTensorInfo.struct_size 0: set it to sizeof(BurnishTensorInfo)");
  EXPECT_EQ(burnish_output_info(model.get(), 0, &info), BURNISH_INVALID_ARGUMENT);
  EXPECT_EQ(burnish_debug_output_info(model.get(), 0, 0, &info), BURNISH_INVALID_ARGUMENT);
  BurnishStepInfo step = {};
  EXPECT_EQ(burnish_step_info(model.get(), 0, &step), BURNISH_INVALID_ARGUMENT);
  BurnishLatency latency = {};
  EXPECT_EQ(burnish_benchmark(model.get(), 3600, &latency), BURNISH_INVALID_ARGUMENT);
}

TEST(CApiTest, AnOlderProgramsStructsAreFilledAsFarAsTheyGo) {
  const ModelPtr model = OpenTestModel(nullptr);
  BurnishTensorInfo info = {};
  info.struct_size = offsetof(BurnishTensorInfo, size_bytes);
  info.size_bytes = 77;
  ASSERT_EQ(burnish_input_info(model.get(), 0, &info), BURNISH_OK);
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.size_bytes, 77u);
}

TEST(CApiTest, BindsMemory) {
  const ModelPtr model = OpenTestModel(nullptr);
  SetInputs(model.get(), 0.0f);
  alignas(64) float x[kTestCount], sum[kTestCount];
  for (float& value : x) value = 2.0f;
  ASSERT_EQ(burnish_bind_input(model.get(), 0, x, sizeof(x)), BURNISH_OK) << burnish_last_error();
  ASSERT_EQ(burnish_bind_output(model.get(), 0, sum, sizeof(sum)), BURNISH_OK);
  ASSERT_EQ(burnish_run(model.get()), BURNISH_OK);
  EXPECT_EQ(sum[0], TestWeights()[kTestCount - 1] * 2.0f + 2.0f);
  ExpectSum(model.get(), 2.0f);
}

TEST(CApiTest, SharesParametersAndThreads) {
  auto threads_options = Sized<BurnishThreadsOptions>();
  threads_options.thread_count = 2;
  BurnishThreads* threads = nullptr;
  ASSERT_EQ(burnish_threads_create(&threads_options, &threads), BURNISH_OK);
  EXPECT_EQ(burnish_threads_count(threads), 2);
  BurnishOptions options = Options();
  options.threads = threads;
  ModelPtr first = OpenTestModel(&options);
  options.share_with = first.get();
  const ModelPtr second = OpenTestModel(&options);
  first.reset();
  burnish_threads_release(threads);
  EXPECT_EQ(burnish_thread_count(second.get()), 2);
  SetInputs(second.get(), 1.0f);
  ASSERT_EQ(burnish_run(second.get()), BURNISH_OK);
  ExpectSum(second.get(), 1.0f);
}

TEST(CApiTest, ParametersLiveInTheCallersMemory) {
  const std::string path = WriteFile("parameters.bundle", TestBundle());
  uint64_t size_bytes = 0;
  ASSERT_EQ(burnish_parameter_bytes(path.c_str(), &size_bytes), BURNISH_OK);
  EXPECT_EQ(size_bytes, 4000u);
  alignas(4096) static uint8_t memory[4096];
  BurnishOptions options = Options();
  options.parameter_memory = memory;
  options.parameter_memory_bytes = sizeof(memory);
  OpenTestModel(&options).reset();
  options.parameters_are_filled = 1;
  const ModelPtr model = OpenTestModel(&options);
  SetInputs(model.get(), 4.0f);
  ASSERT_EQ(burnish_run(model.get()), BURNISH_OK);
  ExpectSum(model.get(), 4.0f);
}

TEST(CApiTest, BenchmarksProfilesAndShowsIntermediateResults) {
  const ModelPtr model = OpenTestModel(nullptr);
  SetInputs(model.get(), 1.0f);
  auto latency = Sized<BurnishLatency>();
  ASSERT_EQ(burnish_benchmark(model.get(), 0.01, &latency), BURNISH_OK);
  EXPECT_GE(latency.run_count, 1);
  EXPECT_LE(latency.min_ns, latency.p90_ns);

  ASSERT_EQ(burnish_step_count(model.get()), 5);
  auto step = Sized<BurnishStepInfo>();
  ASSERT_EQ(burnish_step_info(model.get(), 1, &step), BURNISH_OK);
  EXPECT_STREQ(step.name, "reverse");
  EXPECT_STREQ(step.schedule_origin, "default");
  EXPECT_EQ(step.flop_count, 1000u);
  EXPECT_EQ(step.output_count, 1);
  int64_t step_ns[5] = {};
  ASSERT_EQ(burnish_profile(model.get(), 3, step_ns, 5), BURNISH_OK);
  EXPECT_GT(step_ns[4], 0);
  EXPECT_EQ(burnish_profile(model.get(), 3, step_ns, 4), BURNISH_INVALID_ARGUMENT);

  auto info = Sized<BurnishTensorInfo>();
  ASSERT_EQ(burnish_debug_output_info(model.get(), 0, 0, &info), BURNISH_OK);
  EXPECT_STREQ(info.name, "scaled");
  std::vector<float> scaled(kTestCount);
  ASSERT_EQ(burnish_debug_output(model.get(), 0, 0, scaled.data(), 4000), BURNISH_OK);
  EXPECT_EQ(scaled, TestWeights());
}

// The file's loop runs four times whatever the limit says: its count is known. Loops that have one
// are control_walk_test's.
TEST(CApiTest, LoopsOfAKnownCountHaveNoLimit) {
  BurnishModel* model = nullptr;
  ASSERT_EQ(burnish_open("compiler/runtime/testdata/bundles/format_3.bundle", nullptr, &model),
            BURNISH_OK)
      << burnish_last_error();
  EXPECT_EQ(burnish_set_loop_limit(model, 2), BURNISH_OK);
  EXPECT_EQ(burnish_run(model), BURNISH_OK) << burnish_last_error();
  burnish_close(model);
  EXPECT_EQ(burnish_set_loop_limit(nullptr, 2), BURNISH_INVALID_ARGUMENT);
}

TEST(CApiTest, ErrorsAreCodesWithText) {
  BurnishModel* model = reinterpret_cast<BurnishModel*>(1);
  EXPECT_EQ(burnish_open("no/such/file", nullptr, &model), BURNISH_NOT_FOUND);
  EXPECT_EQ(model, nullptr);
  EXPECT_STREQ(burnish_last_error(), "no/such/file: No such file or directory");

  const std::string text = WriteFile("text.bundle", "not a bundle at all");
  EXPECT_EQ(burnish_open(text.c_str(), nullptr, &model), BURNISH_INVALID_ARGUMENT);
  EXPECT_THAT(burnish_last_error(), HasSubstr("does not start with \"BRNSHBUN\""));

  std::string damaged = TestBundle();
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_EQ(burnish_open_bytes(damaged.data(), damaged.size(), nullptr, &model), BURNISH_DATA_LOSS);
  EXPECT_THAT(burnish_last_error(), HasSubstr("damaged file"));

  EXPECT_EQ(burnish_open(nullptr, nullptr, &model), BURNISH_INVALID_ARGUMENT);
  EXPECT_EQ(burnish_run(nullptr), BURNISH_INVALID_ARGUMENT);
  EXPECT_STREQ(burnish_last_error(), "got a null pointer");
  burnish_close(nullptr);
  EXPECT_EQ(burnish_input_count(nullptr), 0);
}

TEST(CApiTest, WrongOptionsAreRefused) {
  BurnishModel* model = nullptr;
  const std::string bundle = TestBundle();
  BurnishOptions options = {};
  EXPECT_EQ(burnish_open_bytes(bundle.data(), bundle.size(), &options, &model),
            BURNISH_INVALID_ARGUMENT);
  EXPECT_STREQ(burnish_last_error(),
               "got BurnishOptions.struct_size 0: set it to sizeof(BurnishOptions)");
  options = Options();
  options.thread_count = -1;
  EXPECT_EQ(burnish_open_bytes(bundle.data(), bundle.size(), &options, &model),
            BURNISH_INVALID_ARGUMENT);
  EXPECT_STREQ(burnish_last_error(), "got -1 threads, want 1 to 1024");
  options = Options();
  BurnishThreads* threads = nullptr;
  ASSERT_EQ(burnish_threads_create(nullptr, &threads), BURNISH_OK);
  options.threads = threads;
  options.thread_count = 1;
  EXPECT_EQ(burnish_open_bytes(bundle.data(), bundle.size(), &options, &model),
            BURNISH_INVALID_ARGUMENT);
  EXPECT_THAT(burnish_last_error(), HasSubstr("give those to burnish_threads_create"));
  burnish_threads_release(threads);
}

TEST(CApiTest, AnIndexOutOfBoundsNamesTheStep) {
  const ModelPtr model = OpenTestModel(nullptr);
  SetInputs(model.get(), 1.0f);
  const int32_t index[4] = {0, 0, 0, 1000};
  ASSERT_EQ(burnish_set_input(model.get(), 1, index, 16), BURNISH_OK);
  EXPECT_EQ(burnish_run(model.get()), BURNISH_OUT_OF_RANGE);
  EXPECT_STREQ(burnish_last_error(), "step 3 \"gather\": an index input is out of bounds (code 1)");
}

// What a command prints, and its exit status as pclose gives it.
std::pair<std::string, int> RunCommand(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  std::array<char, 256> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  return {text, pclose(pipe)};
}

TEST(CExampleTest, RunsABundle) {
  const std::string path = WriteFile("example.bundle", TestBundle());
  const auto [text, status] = RunCommand("compiler/runtime/run_model " + path + " 0.01");
  EXPECT_EQ(status, 0) << text;
  EXPECT_THAT(text, HasSubstr("input x f32[2,500]\n"));
  EXPECT_THAT(text, HasSubstr("output total f32[]\n"));
  EXPECT_THAT(text, ContainsRegex("threads: min [0-9.]+, median"));
}

TEST(CExampleTest, SaysWhyItCannot) {
  const auto [text, status] = RunCommand("compiler/runtime/run_model no/such/file");
  EXPECT_NE(status, 0);
  EXPECT_EQ(text, "open: no/such/file: No such file or directory\n");
}

TEST(RuntimeLibraryTest, NeedsNothingButTheSystemsOwnLibraries) {
  const auto [text, status] = RunCommand("readelf -dW compiler/runtime/libburnish.so.0");
  ASSERT_EQ(status, 0) << text;
  int needed_count = 0;
  size_t position = 0;
  while ((position = text.find("(NEEDED)", position)) != std::string::npos) {
    const size_t open = text.find('[', position), close = text.find(']', position);
    const std::string library = text.substr(open + 1, close - open - 1);
    EXPECT_THAT(library, ContainsRegex("^(libc|libstdc\\+\\+|libm|libgcc_s|ld-linux-x86-64)\\.so"));
    ++needed_count;
    position = close;
  }
  EXPECT_GE(needed_count, 2);
}

TEST(RuntimeLibraryTest, HasASoname) {
  const auto [text, status] = RunCommand("readelf -dW compiler/runtime/libburnish.so.0");
  ASSERT_EQ(status, 0) << text;
  EXPECT_THAT(text, HasSubstr("Library soname: [libburnish.so.0]"));
}

TEST(RuntimeLibraryTest, ExportsTheCApiAndNothingElse) {
  const auto [text, status] =
      RunCommand("nm -D --defined-only --format=posix compiler/runtime/libburnish.so.0");
  ASSERT_EQ(status, 0) << text;
  int exported_count = 0;
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    EXPECT_THAT(line, ContainsRegex("^(burnish_[a-z_]+@@BURNISH_[01]|BURNISH_[01]) "));
    ++exported_count;
  }
  EXPECT_GE(exported_count, 23);  // The functions of burnish.h.
}

}  // namespace
}  // namespace burnish
