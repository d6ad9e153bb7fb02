// burnish_run_tensors, against the shared library as a user gets it.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "burnish/burnish.h"
#include "compiler/runtime/bundle.h"
#include "compiler/runtime/test_bundle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

struct Close {
  void operator()(BurnishModel* model) const { burnish_close(model); }
};
using ModelPtr = std::unique_ptr<BurnishModel, Close>;

ModelPtr OpenModel(const std::string& bundle, int thread_count) {
  BurnishModel* model = nullptr;
  BurnishOptions options = {};
  options.struct_size = sizeof(options);
  options.thread_count = thread_count;
  EXPECT_EQ(burnish_open_bytes(bundle.data(), bundle.size(), &options, &model), BURNISH_OK)
      << burnish_last_error();
  return ModelPtr(model);
}

ModelPtr OpenTestModel(int thread_count) { return OpenModel(TestBundle(), thread_count); }

BurnishInput Input(BurnishDtype dtype, const void* data) {
  BurnishInput input = {};
  input.struct_size = sizeof(input);
  input.dtype = dtype;
  input.data = data;
  return input;
}

BurnishOutput Output(void* data, uint64_t capacity_bytes) {
  BurnishOutput output = {};
  output.struct_size = sizeof(output);
  output.data = data;
  output.capacity_bytes = capacity_bytes;
  return output;
}

std::vector<float> Ramp(float first) {
  std::vector<float> values(kTestCount);
  std::iota(values.begin(), values.end(), first);
  return values;
}

// Of the test model (test_bundle.h): reverse(x * w) + x.
std::vector<float> WantedSum(const std::vector<float>& x) {
  const std::vector<float> w = TestWeights();
  std::vector<float> sum(kTestCount);
  for (int i = 0; i < kTestCount; ++i) {
    const int k = kTestCount - 1 - i;
    sum[i] = x[k] * w[k] + x[i];
  }
  return sum;
}

// The inputs of the test model in dense memory; tests replace one.
struct Inputs {
  explicit Inputs(float first) : x(Ramp(first)) {}
  std::vector<BurnishInput> Structs() const {
    return {Input(BURNISH_F32, x.data()), Input(BURNISH_I32, index), Input(BURNISH_F32, image)};
  }
  std::vector<float> x;
  int32_t index[4] = {0, 1, 2, 999};
  float image[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
};

BurnishStatus RunOn(const ModelPtr& model, const std::vector<BurnishInput>& inputs,
                    std::vector<BurnishOutput>& outputs) {
  return burnish_run_tensors(model.get(), inputs.data(), static_cast<int32_t>(inputs.size()),
                             outputs.data(), static_cast<int32_t>(outputs.size()), nullptr);
}

// Runs with `inputs` and returns the sum, or stops the test.
std::vector<float> SumOf(const ModelPtr& model, const std::vector<BurnishInput>& inputs) {
  std::vector<float> sum(kTestCount);
  std::vector<BurnishOutput> outputs = {Output(sum.data(), 4000)};
  EXPECT_EQ(RunOn(model, inputs, outputs), BURNISH_OK) << burnish_last_error();
  return sum;
}

std::string ErrorOf(const ModelPtr& model, const std::vector<BurnishInput>& inputs,
                    std::vector<BurnishOutput> outputs = {}) {
  EXPECT_NE(RunOn(model, inputs, outputs), BURNISH_OK);
  return burnish_last_error();
}

TEST(RunTensorsTest, AnInputThatIsLeftOutHasItsDefault) {
  BundleManifest manifest = TestBundleManifest();
  const std::vector<int32_t> index = {4, 3, 2, 1};
  manifest.input_defaults = {
      {.input = 1, .dense = {reinterpret_cast<const char*>(index.data()), 16}}};
  const std::vector<float> weights = TestWeights(), packed(weights.rbegin(), weights.rend());
  const auto bundle = WriteBundle(manifest, TestElf(), AsBytes(packed));
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  const ModelPtr model = OpenModel(*bundle, 2);
  const Inputs inputs(-300.0f);
  std::vector<BurnishInput> given = inputs.Structs();
  given[0].name = "x";
  given[1].name = "index";
  given[2].name = "image";
  std::vector<float> with(4), without(4), kept(4);
  const auto run = [&](const std::vector<BurnishInput>& read, std::vector<float>& picked) {
    std::vector<BurnishOutput> outputs = {Output(nullptr, 0), Output(picked.data(), 16)};
    EXPECT_EQ(RunOn(model, read, outputs), BURNISH_OK) << burnish_last_error();
  };
  // The default is each run's: what another run gave does not stay.
  run({given[0], given[2]}, without);
  run(given, with);
  run({given[0], given[2]}, kept);
  EXPECT_EQ(kept, without);
  EXPECT_NE(with, without);
  const std::vector<float> reversed = [&] {
    std::vector<float> values(kTestCount);
    for (int i = 0; i < kTestCount; ++i) {
      values[i] = inputs.x[kTestCount - 1 - i] * weights[kTestCount - 1 - i];
    }
    return values;
  }();
  EXPECT_EQ(without, (std::vector<float>{reversed[4], reversed[3], reversed[2], reversed[1]}));
  EXPECT_EQ(with, (std::vector<float>{reversed[0], reversed[1], reversed[2], reversed[999]}));
  EXPECT_THAT(ErrorOf(model, {given[0], given[1]}), HasSubstr("input \"image\" is missing"));
}

TEST(RunTensorsTest, ADefaultThatDoesNotFitIsNoBundle) {
  for (const InputDefault& wrong : {InputDefault{.input = 1, .dense = "too short"},
                                    InputDefault{.input = 3, .dense = std::string(16, '\0')}}) {
    BundleManifest manifest = TestBundleManifest();
    manifest.input_defaults = {wrong};
    EXPECT_FALSE(CheckManifest(manifest).ok());
  }
  BundleManifest twice = TestBundleManifest();
  twice.input_defaults.assign(2, {.input = 1, .dense = std::string(16, '\0')});
  EXPECT_FALSE(CheckManifest(twice).ok());
}

TEST(RunTensorsTest, TakesAllTensorsAndReportsWhatTheOutputsAre) {
  const ModelPtr model = OpenTestModel(2);
  const Inputs inputs(-300.0f);
  std::vector<float> sum(kTestCount), picked(4);
  float total = 0;
  std::vector<BurnishOutput> outputs = {Output(sum.data(), 4000), Output(picked.data(), 16),
                                        Output(&total, 4)};
  ASSERT_EQ(RunOn(model, inputs.Structs(), outputs), BURNISH_OK) << burnish_last_error();
  EXPECT_EQ(sum, WantedSum(inputs.x));
  EXPECT_EQ(picked[3], inputs.x[0] * TestWeights()[0]);
  EXPECT_EQ(total, 9 - 16 * 7);  // Nine ones in a border of sixteen times -7.
  EXPECT_EQ(outputs[0].dtype, BURNISH_F32);
  EXPECT_EQ(outputs[0].rank, 1);
  EXPECT_EQ(outputs[0].shape[0], kTestCount);
  EXPECT_EQ(outputs[0].size_bytes, 4000u);
  EXPECT_EQ(outputs[2].rank, 0);
  EXPECT_EQ(outputs[2].size_bytes, 4u);
}

// Kernels want 64 bytes: in place where the memory is aligned so, copied where it is not.
TEST(RunTensorsTest, MemoryNeedNotBeAligned) {
  const ModelPtr model = OpenTestModel(2);
  const Inputs inputs(5.0f);
  alignas(64) static char x[4064], sum[4064];
  for (size_t shift : {0, 4, 1}) {
    SCOPED_TRACE(shift);
    std::memcpy(x + shift, inputs.x.data(), 4000);
    std::vector<BurnishInput> given = inputs.Structs();
    given[0].data = x + shift;
    std::vector<BurnishOutput> outputs = {Output(sum + shift, 4000)};
    ASSERT_EQ(RunOn(model, given, outputs), BURNISH_OK) << burnish_last_error();
    std::vector<float> got(kTestCount);
    std::memcpy(got.data(), sum + shift, 4000);
    EXPECT_EQ(got, WantedSum(inputs.x));
  }
}

TEST(RunTensorsTest, FindsTensorsByName) {
  const ModelPtr model = OpenTestModel(1);
  EXPECT_EQ(burnish_find_input(model.get(), "image"), 2);
  EXPECT_EQ(burnish_find_output(model.get(), "total"), 2);
  EXPECT_EQ(burnish_find_input(model.get(), "total"), -1);
  EXPECT_EQ(burnish_find_input(model.get(), nullptr), -1);
  EXPECT_EQ(burnish_find_output(nullptr, "total"), -1);

  const Inputs inputs(1.0f);
  std::vector<BurnishInput> given = inputs.Structs();
  const char* names[] = {"x", "index", "image"};
  for (int i = 0; i < 3; ++i) given[i].name = names[i];
  std::swap(given[0], given[2]);
  float total = 0;
  std::vector<BurnishOutput> outputs = {Output(&total, 4)};
  outputs[0].name = "total";
  ASSERT_EQ(RunOn(model, given, outputs), BURNISH_OK) << burnish_last_error();
  EXPECT_EQ(total, 9 - 16 * 7);
}

TEST(RunTensorsTest, InputsMayHaveAnyStrides) {
  const ModelPtr model = OpenTestModel(2);
  const Inputs inputs(-20.0f);
  const std::vector<float> want = WantedSum(inputs.x);
  const auto strided = [&](const float* data, std::vector<int64_t> strides) {
    std::vector<BurnishInput> given = inputs.Structs();
    given[0].data = data;
    given[0].strides = strides.data();
    given[0].rank = 2;
    return SumOf(model, given);
  };
  // x has the shape [2, 500].
  std::vector<float> columns(kTestCount), wide(2 * 512 + 3),
      backwards(inputs.x.rbegin(), inputs.x.rend());
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 500; ++k) {
      columns[k * 2 + i] = inputs.x[i * 500 + k];
      wide[3 + i * 512 + k] = inputs.x[i * 500 + k];
    }
  }
  EXPECT_EQ(strided(columns.data(), {1, 2}), want);
  EXPECT_EQ(strided(wide.data() + 3, {512, 1}), want);
  EXPECT_EQ(strided(backwards.data() + 999, {-500, -1}), want);
  EXPECT_EQ(strided(inputs.x.data(), {500, 1}), want);
  const float one = 7.0f;
  EXPECT_EQ(strided(&one, {0, 0}), WantedSum(std::vector<float>(kTestCount, 7.0f)));
}

TEST(RunTensorsTest, OutputsMayHaveStridesAndNothingBetweenThemIsTouched) {
  const ModelPtr model = OpenTestModel(2);
  const Inputs inputs(3.0f);
  std::vector<float> spread(3 * kTestCount, -1.0f);
  const int64_t stride = 3;
  std::vector<BurnishOutput> outputs = {Output(spread.data(), spread.size() * 4)};
  outputs[0].strides = &stride;
  ASSERT_EQ(RunOn(model, inputs.Structs(), outputs), BURNISH_OK) << burnish_last_error();
  const std::vector<float> want = WantedSum(inputs.x);
  for (int i = 0; i < 3 * kTestCount; ++i) {
    ASSERT_EQ(spread[i], i % 3 == 0 ? want[i / 3] : -1.0f) << i;
  }
}

// As if all inputs were read before an output is written: the model reads x twice, at both ends.
TEST(RunTensorsTest, AnOutputMayBeAnInput) {
  const ModelPtr model = OpenTestModel(2);
  const Inputs inputs(11.0f);
  alignas(64) static float memory[kTestCount + 16];
  for (int shift : {0, 16, 1}) {
    SCOPED_TRACE(shift);
    std::memcpy(memory, inputs.x.data(), 4000);
    std::vector<BurnishInput> given = inputs.Structs();
    given[0].data = memory;
    std::vector<BurnishOutput> outputs = {Output(memory + shift, 4000)};
    ASSERT_EQ(RunOn(model, given, outputs), BURNISH_OK) << burnish_last_error();
    EXPECT_EQ(std::vector<float>(memory + shift, memory + shift + kTestCount), WantedSum(inputs.x));
  }
}

TEST(RunTensorsTest, OutputsMustNotShareMemory) {
  const ModelPtr model = OpenTestModel(1);
  float memory[kTestCount];
  EXPECT_EQ(ErrorOf(model, Inputs(1).Structs(), {Output(memory, 4000), Output(memory + 996, 16)}),
            "outputs \"sum\" and \"picked\" share memory");
}

// Under the address sanitizer a kept pointer would be found.
TEST(RunTensorsTest, KeepsNothing) {
  const ModelPtr model = OpenTestModel(2);
  for (int round = 0; round < 3; ++round) {
    auto inputs = std::make_unique<Inputs>(2.0f);
    void* x = std::aligned_alloc(64, 4032);
    void* sum = std::aligned_alloc(64, 4032);
    std::memcpy(x, inputs->x.data(), 4000);
    std::vector<BurnishInput> given = inputs->Structs();
    given[0].data = x;
    std::vector<BurnishOutput> outputs = {Output(sum, 4000)};
    ASSERT_EQ(RunOn(model, given, outputs), BURNISH_OK);
    std::free(x);
    std::free(sum);
    inputs.reset();
    ASSERT_EQ(burnish_run(model.get()), BURNISH_OK) << burnish_last_error();
  }
}

struct Allocator {
  std::vector<float> memory = {};
  std::string name = {};
  uint32_t alignment = 0;
  int calls = 0;
};
void* AllocateIn(void* allocator, const BurnishTensorInfo* info) {
  auto& into = *static_cast<Allocator*>(allocator);
  ++into.calls;
  into.name = info->name;
  into.alignment = info->bind_alignment;
  into.memory.resize(info->size_bytes / 4);
  return into.memory.data();
}

TEST(RunTensorsTest, AsksTheCallerForMemory) {
  const ModelPtr model = OpenTestModel(2);
  const Inputs inputs(0.0f);
  Allocator allocator;
  std::vector<BurnishOutput> outputs = {Output(nullptr, 0)};
  outputs[0].allocate = &AllocateIn;
  outputs[0].allocate_arg = &allocator;
  ASSERT_EQ(RunOn(model, inputs.Structs(), outputs), BURNISH_OK) << burnish_last_error();
  EXPECT_EQ(allocator.calls, 1);
  EXPECT_EQ(allocator.name, "sum");
  EXPECT_EQ(allocator.alignment, 64u);
  EXPECT_EQ(outputs[0].data, allocator.memory.data());
  EXPECT_EQ(allocator.memory, WantedSum(inputs.x));

  outputs[0].data = nullptr;
  outputs[0].allocate = [](void*, const BurnishTensorInfo*) -> void* { return nullptr; };
  EXPECT_EQ(RunOn(model, inputs.Structs(), outputs), BURNISH_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(burnish_last_error(), "output \"sum\": its allocate gave no memory for 4000 bytes");
}

TEST(RunTensorsTest, NothingIsAllocatedForInputsThatAreWrong) {
  const ModelPtr model = OpenTestModel(1);
  std::vector<BurnishInput> given = Inputs(0).Structs();
  given[2].dtype = BURNISH_I8;
  Allocator allocator;
  std::vector<BurnishOutput> outputs = {Output(nullptr, 0)};
  outputs[0].allocate = &AllocateIn;
  outputs[0].allocate_arg = &allocator;
  EXPECT_EQ(RunOn(model, given, outputs), BURNISH_INVALID_ARGUMENT);
  EXPECT_EQ(allocator.calls, 0);
}

TEST(RunTensorsTest, TooLittleMemorySaysHowMuchIsWanted) {
  const ModelPtr model = OpenTestModel(1);
  float memory[kTestCount] = {};
  std::vector<BurnishOutput> outputs = {Output(memory, 3999)};
  EXPECT_EQ(RunOn(model, Inputs(0).Structs(), outputs), BURNISH_INVALID_ARGUMENT);
  EXPECT_STREQ(burnish_last_error(),
               "output \"sum\": got 3999 bytes, but f32[1000] with strides [1] lies in bytes 0 to "
               "4000");
  EXPECT_EQ(outputs[0].size_bytes, 4000u);
  EXPECT_EQ(outputs[0].shape[0], kTestCount);
  EXPECT_THAT(memory, Each(0.0f));
}

TEST(RunTensorsTest, WrongTensorsAreNamedWithWhatIsWanted) {
  const ModelPtr model = OpenTestModel(1);
  const Inputs inputs(0.0f);
  const auto error = [&](const auto& change) {
    std::vector<BurnishInput> given = inputs.Structs();
    change(given[0]);
    return ErrorOf(model, given);
  };
  const int64_t flat[] = {1000}, other[] = {500, 2}, far[] = {500, 2},
                extreme[] = {std::numeric_limits<int64_t>::min(), 1};
  EXPECT_EQ(error([](BurnishInput& x) { x.dtype = BURNISH_F64; }),
            "input \"x\": got f64[2,500], want f32[2,500]");
  EXPECT_EQ(error([](BurnishInput& x) { x.dtype = 257; }),
            "input \"x\": got ?[2,500], want f32[2,500]");
  EXPECT_EQ(error([&](BurnishInput& x) { x.shape = flat, x.rank = 1; }),
            "input \"x\": got f32[1000], want f32[2,500]");
  EXPECT_EQ(error([&](BurnishInput& x) { x.shape = other, x.rank = 2; }),
            "input \"x\": got f32[500,2], want f32[2,500]");
  EXPECT_EQ(error([&](BurnishInput& x) { x.shape = other, x.rank = 1000; }),
            "input \"x\": got rank 1000, want 2");
  EXPECT_EQ(error([&](BurnishInput& x) { x.shape = other, x.rank = -1; }),
            "input \"x\": got rank -1, want 2");
  EXPECT_EQ(error([&](BurnishInput& x) { x.strides = far, x.rank = 1; }),
            "input \"x\": got 1 strides, want 2");
  EXPECT_EQ(error([&](BurnishInput& x) { x.strides = far, x.rank = 2, x.size_bytes = 4000; }),
            "input \"x\": got 4000 bytes, but f32[2,500] with strides [500,2] lies in bytes 0 to "
            "5996");
  EXPECT_THAT(error([&](BurnishInput& x) { x.strides = extreme, x.rank = 2; }),
              HasSubstr("beyond any memory"));
  EXPECT_EQ(error([](BurnishInput& x) { x.data = nullptr; }), "input \"x\": got no memory");
  EXPECT_EQ(error([](BurnishInput& x) { x.size_bytes = 3999; }),
            "input \"x\": got 3999 bytes, but f32[2,500] with strides [500,1] lies in bytes 0 to "
            "4000");
  EXPECT_EQ(error([](BurnishInput& x) { x.name = "y"; }),
            "got input \"y\"; the model has \"x\", \"index\", \"image\"");
  EXPECT_EQ(error([](BurnishInput& x) { x.name = "image"; }), "input \"image\" twice");
  EXPECT_EQ(error([](BurnishInput& x) { x.reserved = 1; }),
            "input \"x\": BurnishInput.reserved must be 0");
  EXPECT_EQ(ErrorOf(model, {inputs.Structs()[0], inputs.Structs()[1]}),
            "input \"image\" is missing");

  float sum[kTestCount];
  BurnishOutput output = Output(sum, sizeof(sum));
  output.dtype = BURNISH_I64;
  EXPECT_EQ(ErrorOf(model, inputs.Structs(), {output}),
            "output \"sum\": got i64[1000], want f32[1000]");
  const int64_t same = 0;
  output = Output(sum, sizeof(sum));
  output.strides = &same;
  EXPECT_EQ(ErrorOf(model, inputs.Structs(), {output}),
            "output \"sum\": got strides [0], by which elements may share a place");
  output = Output(sum, sizeof(sum));
  output.name = "nothing";
  EXPECT_EQ(ErrorOf(model, inputs.Structs(), {output}),
            "got output \"nothing\"; the model has \"sum\", \"picked\", \"total\"");
}

TEST(RunTensorsTest, WrongCallsAreRefused) {
  const ModelPtr model = OpenTestModel(1);
  const std::vector<BurnishInput> given = Inputs(0).Structs();
  EXPECT_EQ(burnish_run_tensors(nullptr, given.data(), 3, nullptr, 0, nullptr),
            BURNISH_INVALID_ARGUMENT);
  EXPECT_EQ(burnish_run_tensors(model.get(), nullptr, 3, nullptr, 0, nullptr),
            BURNISH_INVALID_ARGUMENT);
  EXPECT_EQ(burnish_run_tensors(model.get(), given.data(), -3, nullptr, 0, nullptr),
            BURNISH_INVALID_ARGUMENT);
  EXPECT_EQ(burnish_run_tensors(model.get(), given.data(), 3, nullptr, 1, nullptr),
            BURNISH_INVALID_ARGUMENT);
  std::vector<BurnishInput> unequal = given;
  unequal[2].struct_size -= 8;
  EXPECT_EQ(ErrorOf(model, unequal), "got BurnishInput 2 with struct_size 48 behind one with " +
                                         std::to_string(sizeof(BurnishInput)));
}

// A newer program's structs are longer; what it adds is 0.
TEST(RunTensorsTest, ArraysOfNewerProgramsHaveTheirStride) {
  struct NewerInput {
    BurnishInput input;
    int64_t added = 0;
  };
  const ModelPtr model = OpenTestModel(1);
  const Inputs inputs(4.0f);
  std::vector<NewerInput> given;
  for (BurnishInput input : inputs.Structs()) {
    input.struct_size = sizeof(NewerInput);
    given.push_back({.input = input});
  }
  std::vector<float> sum(kTestCount);
  BurnishOutput output = Output(sum.data(), 4000);
  ASSERT_EQ(burnish_run_tensors(model.get(), &given[0].input, 3, &output, 1, nullptr), BURNISH_OK)
      << burnish_last_error();
  EXPECT_EQ(sum, WantedSum(inputs.x));
  given[1].added = 1;
  EXPECT_EQ(burnish_run_tensors(model.get(), &given[0].input, 3, &output, 1, nullptr),
            BURNISH_INVALID_ARGUMENT);
  EXPECT_THAT(burnish_last_error(), HasSubstr("use a newer libburnish"));
}

// What becomes of replacements is tested in refit_test; here, how they come in.
TEST(RunTensorsTest, ReplacementsAreRefusedByName) {
  const std::string bundle = TestBundle();
  const std::vector<float> w(kTestCount, 1.0f);
  BurnishInput replacement = Input(BURNISH_F32, w.data());
  BurnishOptions options = {};
  options.struct_size = sizeof(options);
  options.replacements = &replacement;
  options.replacement_count = 1;
  BurnishModel* model = nullptr;
  EXPECT_EQ(burnish_open_bytes(bundle.data(), bundle.size(), &options, &model),
            BURNISH_INVALID_ARGUMENT);
  EXPECT_STREQ(burnish_last_error(), "got a replacement without a name");
  replacement.name = "w";
  EXPECT_EQ(burnish_open_bytes(bundle.data(), bundle.size(), &options, &model),
            BURNISH_OUT_OF_RANGE);
  EXPECT_THAT(burnish_last_error(), HasSubstr("parameter \"w\" cannot be replaced"));
  EXPECT_EQ(model, nullptr);
}

TEST(RunTensorsTest, ABundleWithoutReplaceableParametersListsNone) {
  const ModelPtr model = OpenTestModel(1);
  EXPECT_EQ(burnish_parameter_count(model.get()), 0);
  EXPECT_EQ(burnish_parameter_count(nullptr), 0);
  BurnishTensorInfo info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(burnish_parameter_info(model.get(), 0, &info), BURNISH_OUT_OF_RANGE);
  EXPECT_EQ(burnish_parameter_info(model.get(), -1, &info), BURNISH_OUT_OF_RANGE);
  EXPECT_EQ(burnish_parameter_info(nullptr, 0, &info), BURNISH_INVALID_ARGUMENT);
}

TEST(RunTensorsTest, TimesTheSteps) {
  const ModelPtr model = OpenTestModel(2);
  const Inputs inputs(0);
  const std::vector<BurnishInput> given = inputs.Structs();
  std::vector<int64_t> step_ns(5, -1);
  BurnishRunOptions options = {};
  options.struct_size = sizeof(options);
  options.step_ns = step_ns.data();
  options.step_count = 5;
  ASSERT_EQ(burnish_run_tensors(model.get(), given.data(), 3, nullptr, 0, &options), BURNISH_OK);
  EXPECT_THAT(step_ns, Each(::testing::Gt(0)));
  options.step_count = 4;
  EXPECT_EQ(burnish_run_tensors(model.get(), given.data(), 3, nullptr, 0, &options),
            BURNISH_INVALID_ARGUMENT);
}

TEST(RunTensorsTest, AnErrorOfAStepIsReported) {
  const ModelPtr model = OpenTestModel(2);
  Inputs inputs(0);
  inputs.index[2] = 1000;
  std::vector<BurnishOutput> outputs;
  EXPECT_EQ(RunOn(model, inputs.Structs(), outputs), BURNISH_OUT_OF_RANGE);
  EXPECT_STREQ(burnish_last_error(), "step 3 \"gather\": an index input is out of bounds (code 1)");
  inputs.index[2] = 0;
  EXPECT_EQ(SumOf(model, inputs.Structs()), WantedSum(inputs.x));
}

// Ten threads with tensors of their own on one model, aligned and not, in place and copied.
TEST(RunTensorsTest, TenThreadsRunOneModel) {
  const ModelPtr model = OpenTestModel(2);
  std::atomic<int> wrong_count{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 10; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        const Inputs inputs(static_cast<float>(100 * t + round));
        std::vector<float> sum(kTestCount + 16);
        auto* aligned = reinterpret_cast<float*>(
            (reinterpret_cast<uintptr_t>(sum.data()) + 63) / 64 * 64 + 4 * (round % 2));
        std::vector<BurnishOutput> outputs = {Output(aligned, 4000)};
        wrong_count += RunOn(model, inputs.Structs(), outputs) != BURNISH_OK;
        wrong_count += std::vector<float>(aligned, aligned + kTestCount) != WantedSum(inputs.x);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong_count, 0);
}

// ---- Outputs as large as the data says: test_bundle.h.

ModelPtr OpenSizesModel() {
  BurnishModel* model = nullptr;
  const std::string bundle = TestSizesBundle();
  EXPECT_EQ(burnish_open_bytes(bundle.data(), bundle.size(), nullptr, &model), BURNISH_OK)
      << burnish_last_error();
  return ModelPtr(model);
}

std::vector<int64_t> ShapeOf(const BurnishOutput& output) {
  return {output.shape, output.shape + output.rank};
}

TEST(RunSizedTest, AnOutputLiesDenselyInItsShapeOfTheRun) {
  const ModelPtr model = OpenSizesModel();
  BurnishTensorInfo info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(burnish_output_info(model.get(), 0, &info), BURNISH_OK);
  EXPECT_EQ(info.shape[1], 8) << "the most that there can be";
  std::vector<float> x = {0, 7, 0, 7, 7, 0, 0, 0};
  const BurnishInput input = Input(BURNISH_F32, x.data());
  // One memory is read and written in place, the other is not aligned and copied.
  alignas(64) int64_t memory[24];
  for (const int shift : {0, 1}) {
    SCOPED_TRACE(shift);
    BurnishOutput output = Output(reinterpret_cast<uint8_t*>(memory) + shift, 128);
    ASSERT_EQ(burnish_run_tensors(model.get(), &input, 1, &output, 1, nullptr), BURNISH_OK)
        << burnish_last_error();
    EXPECT_EQ(ShapeOf(output), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(output.size_bytes, 48u);
    int64_t places[6];
    std::memcpy(places, output.data, sizeof(places));
    EXPECT_EQ(std::vector<int64_t>(places, places + 6), (std::vector<int64_t>{0, 0, 1, 1, 3, 0}));
    ASSERT_EQ(burnish_output_shape(model.get(), 0, &info), BURNISH_OK);
    EXPECT_EQ(info.shape[1], 3);
    EXPECT_EQ(info.size_bytes, 48u);
  }
  EXPECT_EQ(burnish_output_shape(model.get(), 1, &info), BURNISH_OUT_OF_RANGE);
  EXPECT_EQ(burnish_output_shape(model.get(), -1, &info), BURNISH_OUT_OF_RANGE);
}

TEST(RunSizedTest, StridesOfTheCallerStay) {
  const ModelPtr model = OpenSizesModel();
  const std::vector<float> x = {0, 7, 0, 7, 7, 0, 0, 0};
  const BurnishInput input = Input(BURNISH_F32, x.data());
  for (const int64_t pitch : {8, 9}) {
    std::vector<int64_t> memory(17, -1);
    const int64_t strides[] = {pitch, 1};
    BurnishOutput output = Output(memory.data(), memory.size() * 8);
    output.strides = strides;
    ASSERT_EQ(burnish_run_tensors(model.get(), &input, 1, &output, 1, nullptr), BURNISH_OK);
    EXPECT_EQ(ShapeOf(output), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(std::vector<int64_t>(memory.begin(), memory.begin() + 3),
              (std::vector<int64_t>{0, 0, 1}));
    EXPECT_EQ(std::vector<int64_t>(memory.begin() + pitch, memory.begin() + pitch + 3),
              (std::vector<int64_t>{1, 3, 0}));
  }
}

TEST(RunSizedTest, NothingFoundAndTooLittleMemory) {
  const ModelPtr model = OpenSizesModel();
  const std::vector<float> nothing(8, 0.0f);
  const BurnishInput input = Input(BURNISH_F32, nothing.data());
  std::vector<int64_t> memory(16, -1);
  BurnishOutput output = Output(memory.data(), 128);
  ASSERT_EQ(burnish_run_tensors(model.get(), &input, 1, &output, 1, nullptr), BURNISH_OK);
  EXPECT_EQ(ShapeOf(output), (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(output.size_bytes, 0u);
  // Whether it would have been enough, no one knows before the run.
  output = Output(memory.data(), 127);
  EXPECT_EQ(burnish_run_tensors(model.get(), &input, 1, &output, 1, nullptr),
            BURNISH_INVALID_ARGUMENT);
  EXPECT_EQ(output.size_bytes, 128u);
  output = Output(nullptr, 0);  // Not wanted.
  EXPECT_EQ(burnish_run_tensors(model.get(), &input, 1, &output, 1, nullptr), BURNISH_OK);
  EXPECT_EQ(ShapeOf(output), (std::vector<int64_t>{2, 0}));
}

TEST(RunSizedTest, ThreadsReadTheShapeOfTheirOwnRun) {
  const ModelPtr model = OpenSizesModel();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<float> x(8, 0.0f);
      for (int i = 0; i < 2 * t; ++i) x[i] = 1;
      const BurnishInput input = Input(BURNISH_F32, x.data());
      for (int run = 0; run < 200; ++run) {
        std::vector<int64_t> memory(16, -1);
        BurnishOutput output = Output(memory.data(), 128);
        wrong += burnish_run_tensors(model.get(), &input, 1, &output, 1, nullptr) != BURNISH_OK ||
                 output.shape[1] != 2 * t;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// ---- Inputs as large as the caller says: test_bundle.h.

ModelPtr OpenGivenModel() {
  BurnishModel* model = nullptr;
  const std::string bundle = TestGivenBundle();
  EXPECT_EQ(burnish_open_bytes(bundle.data(), bundle.size(), nullptr, &model), BURNISH_OK)
      << burnish_last_error();
  return ModelPtr(model);
}

// x[i] = i and y[i] = 1000 in a run of rows by columns, as BurnishInputs with that shape.
struct GivenInputs {
  explicit GivenInputs(int64_t rows, int64_t columns)
      : shape{rows, columns}, x(rows * columns), y(x.size(), 1000.0f) {
    std::iota(x.begin(), x.end(), 0.0f);
  }
  std::vector<BurnishInput> Structs() {
    std::vector<BurnishInput> inputs = {Input(BURNISH_F32, x.data()), Input(BURNISH_F32, y.data())};
    for (BurnishInput& input : inputs) {
      input.rank = 2;
      input.shape = shape;
      input.size_bytes = 4 * x.size();
    }
    return inputs;
  }
  int64_t shape[2];
  std::vector<float> x, y;
};

TEST(RunGivenTest, ACallIsOfTheShapeOfItsInputs) {
  const ModelPtr model = OpenGivenModel();
  BurnishTensorInfo info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(burnish_input_info(model.get(), 0, &info), BURNISH_OK);
  EXPECT_EQ(info.shape[1], 500) << "the most that there can be";
  alignas(64) float memory[1001];
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {2, 500}, {1, 1}, {2, 31}, {2, 0}, {1, 500}, {2, 499}, {2, 500}}) {
    for (const int shift : {0, 1}) {  // In place, and by a copy.
      GivenInputs given(rows, columns);
      const std::vector<BurnishInput> inputs = given.Structs();
      BurnishOutput output = Output(memory + shift, 4000);
      ASSERT_EQ(burnish_run_tensors(model.get(), inputs.data(), 2, &output, 1, nullptr), BURNISH_OK)
          << burnish_last_error();
      ASSERT_EQ(ShapeOf(output), (std::vector<int64_t>{rows, columns}));
      for (size_t i = 0; i < given.x.size(); ++i) ASSERT_EQ(memory[shift + i], given.x[i] + 1000);
    }
  }
}

TEST(RunGivenTest, StridesOfACallReadNothingElse) {
  const ModelPtr model = OpenGivenModel();
  // Rows of 3 in a memory with a pitch of 5, backwards.
  const std::vector<float> x = {7, 7, 10, 11, 12, 7, 7, 20, 21, 22};
  const std::vector<float> y = {1, 1, 1, 2, 2, 2};
  const int64_t shape[] = {2, 3}, strides[] = {-5, 1};
  std::vector<BurnishInput> inputs = {Input(BURNISH_F32, x.data() + 7),
                                      Input(BURNISH_F32, y.data())};
  for (BurnishInput& input : inputs) {
    input.rank = 2;
    input.shape = shape;
  }
  inputs[0].strides = strides;
  std::vector<float> sum(1000);
  BurnishOutput output = Output(sum.data(), 4000);
  ASSERT_EQ(burnish_run_tensors(model.get(), inputs.data(), 2, &output, 1, nullptr), BURNISH_OK)
      << burnish_last_error();
  sum.resize(6);
  EXPECT_EQ(sum, (std::vector<float>{21, 22, 23, 12, 13, 14}));
}

TEST(RunGivenTest, ErrorsNameDimensionSizeAndRange) {
  const ModelPtr model = OpenGivenModel();
  std::vector<float> sum(1000);
  BurnishOutput output = Output(sum.data(), 4000);
  const auto error = [&](std::vector<BurnishInput> inputs) {
    EXPECT_EQ(burnish_run_tensors(model.get(), inputs.data(), 2, &output, 1, nullptr),
              BURNISH_INVALID_ARGUMENT);
    return std::string(burnish_last_error());
  };
  GivenInputs given(1, 501), other(1, 30), small(1, 31);
  EXPECT_EQ(error(given.Structs()), "input \"x\": dimension 1 (n) is 501, want 0 to 500");
  std::vector<BurnishInput> inputs = other.Structs();
  inputs[1] = small.Structs()[1];
  EXPECT_EQ(error(inputs), "input \"y\": dimension 1 (n) is 31, but that of input \"x\" is 30");
  inputs = other.Structs();
  inputs[1].rank = 1;
  EXPECT_EQ(error(inputs), "input \"y\": got rank 1, want 2");
  inputs = other.Structs();
  inputs[1].size_bytes = 119;
  EXPECT_NE(error(inputs).find("got 119 bytes, but f32[1,30]"), std::string::npos);
}

// Pages of this process that are in memory.
int64_t ResidentPages() {
  std::ifstream file("/proc/self/statm");
  int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident;
}

TEST(RunGivenTest, CallsOfManySizesTakeNoMoreMemory) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer keeps what was freed";
#endif
#endif
  const ModelPtr model = OpenGivenModel();
  std::vector<float> memory(1000);
  uint32_t state = 1;  // A linear congruential generator: the sizes are always the same.
  const auto call = [&] {
    state = state * 1664525u + 1013904223u;
    GivenInputs given(1 + (state >> 30) % 2, (state >> 8) % 501);
    const std::vector<BurnishInput> inputs = given.Structs();
    BurnishOutput output = Output(memory.data(), 4000);
    ASSERT_EQ(burnish_run_tensors(model.get(), inputs.data(), 2, &output, 1, nullptr), BURNISH_OK);
  };
  for (int i = 0; i < 100; ++i) call();
  const int64_t before = ResidentPages();
  ASSERT_GT(before, 0);
  for (int i = 0; i < 10000; ++i) call();
  EXPECT_LE(ResidentPages(), before + before / 100);
}

}  // namespace
}  // namespace burnish
