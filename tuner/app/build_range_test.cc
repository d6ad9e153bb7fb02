// Models of two sizes as one bundle with kernels for several bounds: every run of their ranges
// against the same model read with that run's shapes, by the graph interpreter.
#include "tuner/app/build_range.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/cpu_info.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/onnx_testing.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/ir/parser.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "db/stored_trace.h"
#include "gtest/gtest.h"
#include "tuner/app/model_source.h"
#include "tuner/sketch/default_schedule.h"

namespace burnish {
namespace {

constexpr int64_t kWidth = 24, kPastMax = 16, kWordsMax = 8;

using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;  // By input.

std::string InputInfo(const std::string& name, const std::string& dims) {
  return absl::StrCat("input { name: '", name, "' type { tensor_type { elem_type: 1 shape { ", dims,
                      " } } } } ");
}

std::string Weights(const std::string& name, const std::vector<int64_t>& shape, uint64_t seed) {
  const TensorValue value = RandomValue({DType::kF32, shape}, seed);
  return OnnxFloats(name, shape, {value.floats.begin(), value.floats.end()});
}

// Words behind a past, as decoders have them: keys of both, and a mask of as many.
std::string Decoder() {
  const std::string width = absl::StrCat("dim { dim_value: ", kWidth, " } ");
  return OnnxModel(
      absl::StrCat("node { op_type: 'MatMul' input: ['x', 'w'] output: 'q' } "
                   "node { op_type: 'Concat' input: ['past_keys', 'q'] output: 'keys' "
                   "  attribute { name: 'axis' type: INT i: 0 } } "
                   "node { op_type: 'Transpose' input: 'keys' output: 'turned' } "
                   "node { op_type: 'MatMul' input: ['q', 'turned'] output: 'scores' } "
                   "node { op_type: 'Add' input: ['scores', 'mask'] output: 'masked' } "
                   "node { op_type: 'Softmax' input: 'masked' output: 'shares' } "
                   "node { op_type: 'MatMul' input: ['shares', 'keys'] output: 'y' } ",
                   Weights("w", {kWidth, kWidth}, 1),
                   InputInfo("x", absl::StrCat("dim { dim_param: 'seq' } ", width)),
                   InputInfo("past_keys", absl::StrCat("dim { dim_param: 'past' } ", width)),
                   InputInfo("mask", "dim { dim_param: 'past + seq' } "),
                   OnnxTensorInfo("output", "y", {}), OnnxTensorInfo("output", "keys", {}),
                   OnnxTensorInfo("output", "shares", {})),
      17);
}

// Windows with strides behind one another: what outputs have is a quotient of a quotient. A softmax
// of few classes, and a mean over what there is.
std::string Sound() {
  return OnnxModel(
      absl::StrCat("node { op_type: 'Conv' input: ['x', 'u'] output: 'a' "
                   "  attribute { name: 'strides' type: INTS ints: [3] } } "
                   "node { op_type: 'Relu' input: 'a' output: 'b' } "
                   "node { op_type: 'Conv' input: ['b', 'v'] output: 'c' "
                   "  attribute { name: 'strides' type: INTS ints: [2] } "
                   "  attribute { name: 'pads' type: INTS ints: [1, 1] } } "
                   "node { op_type: 'Conv' input: ['c', 'k'] output: 'd' "
                   "  attribute { name: 'pads' type: INTS ints: [2, 2] } "
                   "  attribute { name: 'dilations' type: INTS ints: [2] } } "
                   "node { op_type: 'Sigmoid' input: 'd' output: 'e' } "
                   "node { op_type: 'Mul' input: ['c', 'e'] output: 'f' } "
                   "node { op_type: 'ReduceMean' input: 'f' output: 'mean' "
                   "  attribute { name: 'axes' type: INTS ints: [2] } } "
                   "node { op_type: 'ConvTranspose' input: ['f', 't'] output: 'g' "
                   "  attribute { name: 'strides' type: INTS ints: [2] } "
                   "  attribute { name: 'pads' type: INTS ints: [1, 1] } } "
                   "node { op_type: 'Transpose' input: 'g' output: 'frames' "
                   "  attribute { name: 'perm' type: INTS ints: [0, 2, 1] } } "
                   "node { op_type: 'Softmax' input: 'frames' output: 'classes' } ",
                   Weights("u", {6, 1, 4}, 1), Weights("v", {7, 6, 3}, 2),
                   Weights("k", {7, 7, 3}, 3), Weights("t", {7, 5, 4}, 4),
                   InputInfo("x",
                             "dim { dim_param: 'batch' } dim { dim_value: 1 } "
                             "dim { dim_param: 'length' } "),
                   OnnxTensorInfo("output", "classes", {}), OnnxTensorInfo("output", "mean", {})),
      13);
}

// Both ways over steps, and what is around the loops.
std::string Recurrence() {
  return OnnxModel(
      absl::StrCat("node { op_type: 'GRU' input: ['x', 'w', 'r'] output: ['y', 'last'] "
                   "  attribute { name: 'hidden_size' type: INT i: 5 } "
                   "  attribute { name: 'direction' type: STRING s: 'bidirectional' } } "
                   "node { op_type: 'Exp' input: 'y' output: 'z' } ",
                   Weights("w", {2, 15, 20}, 1), Weights("r", {2, 15, 5}, 2),
                   InputInfo("x",
                             "dim { dim_param: 'steps' } dim { dim_param: 'batch' } "
                             "dim { dim_value: 20 } "),
                   OnnxTensorInfo("output", "z", {}), OnnxTensorInfo("output", "last", {})),
      13);
}

CallTensor Dense(float* data, const std::vector<int64_t>& shape) {
  CallTensor tensor{.data = reinterpret_cast<uint8_t*>(data), .is_dense = true};
  int64_t count = 1;
  for (size_t d = shape.size(); d-- > 0; count *= shape[d]) tensor.strides[d] = count;
  tensor.begin = tensor.data;
  tensor.end = tensor.data + count * static_cast<int64_t>(sizeof(float));
  return tensor;
}

void ExpectRun(Session& session, const std::string& model, const Shapes& given) {
  ImportOptions fixed;
  std::vector<TensorValue> values;
  std::vector<std::vector<float>> memory;
  std::vector<ShapedInput> shapes;
  std::vector<CallTensor> inputs, outputs;
  for (const auto& [name, shape] : given) {
    fixed.input_shapes[name] = shape;
    const TensorValue& value = values.emplace_back(RandomValue({DType::kF32, shape}, 3));
    memory.emplace_back(value.floats.begin(), value.floats.end());
    shapes.push_back({name, shape});
    inputs.push_back(Dense(memory.back().data(), shape));
  }
  ASSERT_OK_AND_ASSIGN(const Graph reference, ImportOnnx(model, fixed));
  ASSERT_OK_AND_ASSIGN(const std::vector<TensorValue> want, InterpretGraph(reference, values));

  const BundleManifest& manifest = session.manifest();
  std::vector<int64_t> extents(manifest.run_sizes.sizes.size());
  ASSERT_TRUE(ReadGivenSizes(manifest.run_sizes, shapes, extents).ok());
  std::vector<std::vector<float>> results;
  for (const ModelTensor& output : manifest.outputs) {
    results.emplace_back(ElementCount(output.tensor.shape), -7.0f);
    outputs.push_back(Dense(results.back().data(), output.tensor.shape));
  }
  const RuntimeStatus status = session.RunTensors(inputs, outputs, {}, extents);
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(session.OutputShape(i), want[i].shape) << i;
    for (size_t k = 0; k < want[i].floats.size(); ++k) {
      ASSERT_NEAR(results[i][k], want[i].floats[k], 1e-4 * (1 + std::abs(want[i].floats[k])))
          << "output " << i << ": " << k;
    }
  }
}

// Of one thread.
absl::StatusOr<std::shared_ptr<const Model>> Built(const std::string& model,
                                                   const std::map<std::string, std::string>& dims) {
  const std::string path = ::testing::TempDir() + "/model.onnx";
  RETURN_IF_ERROR(WriteFileAtomically(path, model));
  ModelLoader loader({.model = path, .shapes = dims});
  ASSIGN_OR_RETURN(const Graph graph, loader.Load(dims));
  ASSIGN_OR_RETURN(const Target target, HostTarget(HostCpuInfo(), 1));
  ASSIGN_OR_RETURN(const BuiltModel built,
                   BuildRange(graph, loader, {}, {.target = target}, "model"));
  auto loaded = Model::LoadBytes(
      {reinterpret_cast<const uint8_t*>(built.bundle.data()), built.bundle.size()}, {});
  if (!loaded.ok()) return absl::InternalError(loaded.status().message());
  return std::shared_ptr<const Model>(*std::move(loaded));
}

// `shapes(first, second)`: for sizes of these ranges.
void ExpectRuns(const std::shared_ptr<const Model>& loaded, const std::string& model,
                std::pair<int64_t, int64_t> first, std::pair<int64_t, int64_t> second,
                const std::function<Shapes(int64_t, int64_t)>& shapes) {
  auto pool = ThreadPool::Create({.thread_count = 1});
  ASSERT_TRUE(pool.ok());
  auto session = Session::Create(loaded, *std::move(pool));
  ASSERT_TRUE(session.ok());
  for (int64_t a = first.first; a <= first.second; ++a) {
    for (int64_t b = second.first; b <= second.second; ++b) {
      SCOPED_TRACE(absl::StrCat(a, ", ", b));
      ExpectRun(**session, model, shapes(a, b));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(BuildRangeTest, EveryRunIsThatOfTheModelOfItsSizes) {
  const std::string model = Decoder();
  ASSERT_OK_AND_ASSIGN(const auto loaded, Built(model, {{":past", absl::StrCat("1..", kPastMax)},
                                                        {":seq", absl::StrCat("1..", kWordsMax)}}));
  // A quarter of the words, and one, that behind three pasts; least work first.
  ASSERT_EQ(loaded->variants().size(), 4u);
  const std::vector<RunSize>& least = loaded->variants()[0]->manifest().run_sizes.sizes;
  EXPECT_TRUE(std::any_of(least.begin(), least.end(), [](const RunSize& size) {
    return size.name == "seq" && size.least == 1 && size.greatest == 1;
  }));
  ExpectRuns(loaded, model, {1, kPastMax}, {1, kWordsMax}, [](int64_t past, int64_t words) {
    return Shapes{{"x", {words, kWidth}}, {"past_keys", {past, kWidth}}, {"mask", {past + words}}};
  });
}

// By workload id the schedule of each product by the form of weights that suits it least, but not
// badly.
std::map<std::string, std::string> OtherForms(const BuiltModel& built, const Target& target) {
  std::map<std::string, std::string> traces;
  for (const TaskReport& task : built.tasks) {
    const absl::StatusOr<Program> workload = ParseProgram(task.workload);
    CHECK_OK(workload);
    const std::vector<DefaultChoice> choices =
        DefaultSchedules(*workload, DeviceModelOf(target), {}, {.by_form = true});
    if (choices.size() == 1) continue;  // It has no weights.
    for (const DefaultChoice& choice : choices) {
      if (choice.seconds > 1.5 * choices[0].seconds) break;
      traces[Sha256Bytes(task.workload)] = PrintTrace(choice.trace);
    }
  }
  return traces;
}

// A product and its schedules on record.
class RecordedModelTest : public ::testing::Test {
 protected:
  // Of 180,000 words are more weights than smaller bounds may add.
  void Write(int64_t words_count) {
    const std::string width = absl::StrCat("dim { dim_value: ", kWidth, " } ");
    const std::string model = OnnxModel(
        absl::StrCat("node { op_type: 'MatMul' input: ['x', 'w'] output: 'words' } "
                     "node { op_type: 'MatMul' input: ['past', 'u'] output: 'keys' } ",
                     Weights("w", {kWidth, words_count}, 1), Weights("u", {kWidth, kWidth}, 2),
                     InputInfo("x", absl::StrCat("dim { dim_param: 'seq' } ", width)),
                     InputInfo("past", absl::StrCat("dim { dim_param: 'past' } ", width)),
                     OnnxTensorInfo("output", "words", {}), OnnxTensorInfo("output", "keys", {})),
        17);
    request_.model = ::testing::TempDir() + "/large.onnx";
    ASSERT_THAT(WriteFileAtomically(request_.model, model), IsOk());
  }

  // Of all products at these sizes, in other forms than the default ones.
  void Record(const std::string& past, const std::string& words) {
    request_.shapes = {{":past", past}, {":seq", words}};
    ASSERT_OK_AND_ASSIGN(const Graph graph, LoadModel(request_));
    ASSERT_OK_AND_ASSIGN(const BuiltModel built,
                         BuildBundle(graph, {}, {.target = target_}, "model"));
    recorded_ = OtherForms(built, target_);
  }

  // Steps of each list by origin, the whole model's last.
  void BuildAll(std::vector<std::map<std::string, int>>& origins, size_t* bundle_bytes = nullptr) {
    request_.shapes = {{":past", "1..64"}, {":seq", "1..32"}};
    ModelLoader loader(request_);
    ASSERT_OK_AND_ASSIGN(const Graph graph, loader.Load(request_.shapes));
    const ScheduleFacts facts{
        .find_best = [&](const BestQuery& query) -> absl::StatusOr<BestAnswer> {
          const auto trace = recorded_.find(query.workload_id);
          if (trace == recorded_.end() || !query.anchor_id.empty()) return BestAnswer();
          return BestAnswer{.workload_match = WorkloadMatch::kExact,
                            .exact_target = true,
                            .records = {{.trace = trace->second,
                                         .rank_ns = 1,
                                         .numerics = {.kind = NumericsClass::kReassociated}}}};
        }};
    ASSERT_OK_AND_ASSIGN(const BuiltModel built,
                         BuildRange(graph, loader, facts, {.target = target_}, "model"));
    if (bundle_bytes != nullptr) *bundle_bytes = built.bundle.size();
    const auto loaded = Model::LoadBytes(
        {reinterpret_cast<const uint8_t*>(built.bundle.data()), built.bundle.size()}, {});
    ASSERT_TRUE(loaded.ok());
    const auto count = [&](const BundleManifest& manifest) {
      std::map<std::string, int>& counts = origins.emplace_back();
      for (const ModelStep& step : manifest.steps) ++counts[step.schedule_origin];
    };
    for (const auto& variant : (*loaded)->variants()) count(variant->manifest());
    count((*loaded)->manifest());
  }

  const Target target_ = *HostTarget(HostCpuInfo(), 1);
  ModelRequest request_;
  std::map<std::string, std::string> recorded_;  // By workload id.
};

TEST_F(RecordedModelTest, KeepsItsSmallerBoundsWhereTheGreatestWereTuned) {
  Write(180'000);
  Record("1..64", "1..32");
  std::vector<std::map<std::string, int>> origins;
  BuildAll(origins);
  ASSERT_EQ(origins.size(), 5u);
  EXPECT_EQ(origins.back()["tuned"], 2);
}

TEST_F(RecordedModelTest, KeepsThemWhereTheLeastWereTuned) {
  Write(180'000);
  Record("1", "1");
  std::vector<std::map<std::string, int>> origins;
  BuildAll(origins);
  ASSERT_EQ(origins.size(), 5u);
  EXPECT_GE(origins.front()["tuned"], 1);
  EXPECT_EQ(origins.back()["tuned"], 0);
}

TEST_F(RecordedModelTest, FewWeightsMayBeThereTwice) {
  constexpr int64_t kWords = 20'000;
  Write(kWords);
  std::vector<std::map<std::string, int>> origins;
  size_t of_defaults = 0, of_records = 0;
  BuildAll(origins, &of_defaults);
  Record("1..64", "1..32");
  BuildAll(origins, &of_records);
  EXPECT_EQ(origins.size(), 10u);
  EXPECT_GT(of_records, of_defaults + kWidth * kWords * sizeof(float) / 2);
}

// Whether kernels of the greatest sizes leave out what a run does not read of `size`.
bool LeavesOut(const Model& model, const std::string& size) {
  const std::vector<RunSize>& sizes = model.manifest().run_sizes.sizes;
  for (const LiveTable& table : model.manifest().live) {
    for (const LoopFlags& loop : table.loops) {
      for (const TrimAxis& axis : loop.axes) {
        for (const TrimPart& part : axis.parts) {
          for (const TrimProduct& product : part.holds) {
            for (const uint32_t number : product.sizes) {
              if (sizes[number].name == size) return true;
            }
          }
        }
      }
    }
  }
  return false;
}

TEST(BuildRangeTest, EveryLengthBehindStridesIsThatOfTheModel) {
  const std::string model = Sound();
  ASSERT_OK_AND_ASSIGN(const auto loaded,
                       Built(model, {{":batch", "1..2"}, {":length", "30..1500"}}));
  EXPECT_EQ(loaded->variants().size(), 3u);
  EXPECT_TRUE(LeavesOut(*loaded, "length"));
  const auto shapes = [](int64_t length, int64_t batch) {
    return Shapes{{"x", {batch, 1, length}}};
  };
  ExpectRuns(loaded, model, {30, 80}, {1, 2}, shapes);
  // Around bounds.
  for (const int64_t bound : {375, 750, 1125, 1498}) {
    ExpectRuns(loaded, model, {bound - 6, bound + 2}, {1, 2}, shapes);
  }
}

TEST(BuildRangeTest, EveryRunOfARecurrenceIsThatOfTheModel) {
  const std::string model = Recurrence();
  ASSERT_OK_AND_ASSIGN(const auto loaded, Built(model, {{":steps", "1..24"}, {":batch", "1..4"}}));
  EXPECT_EQ(loaded->variants().size(), 3u);
  EXPECT_TRUE(LeavesOut(*loaded, "steps"));
  EXPECT_TRUE(LeavesOut(*loaded, "batch"));
  ExpectRuns(loaded, model, {1, 24}, {1, 4},
             [](int64_t steps, int64_t batch) { return Shapes{{"x", {steps, batch, 20}}}; });
}

}  // namespace
}  // namespace burnish
