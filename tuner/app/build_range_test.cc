// A model of two sizes as one bundle with kernels for several bounds: every run of its ranges
// against the same model read with that run's shapes, by the graph interpreter.
#include "tuner/app/build_range.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cpu_info.h"
#include "base/file.h"
#include "base/status_matchers.h"
#include "compiler/frontend/onnx_import.h"
#include "compiler/frontend/onnx_testing.h"
#include "compiler/graph/graph_interpreter.h"
#include "compiler/graph/graph_testing.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/thread_pool.h"
#include "gtest/gtest.h"
#include "proto/target.h"
#include "tuner/app/model_source.h"

namespace burnish {
namespace {

constexpr int64_t kWidth = 24, kPastMax = 16, kWordsMax = 8;

// Words behind a past, as decoders have them: keys of both, and a mask of as many.
std::string Decoder() {
  const auto info = [](const std::string& name, const std::string& dims) {
    return absl::StrCat("input { name: '", name, "' type { tensor_type { elem_type: 1 shape { ",
                        dims, " } } } } ");
  };
  const std::string width = absl::StrCat("dim { dim_value: ", kWidth, " } ");
  const TensorValue w = RandomValue({DType::kF32, {kWidth, kWidth}}, 1);
  return OnnxModel(
      absl::StrCat("node { op_type: 'MatMul' input: ['x', 'w'] output: 'q' } "
                   "node { op_type: 'Concat' input: ['past_keys', 'q'] output: 'keys' "
                   "  attribute { name: 'axis' type: INT i: 0 } } "
                   "node { op_type: 'Transpose' input: 'keys' output: 'turned' } "
                   "node { op_type: 'MatMul' input: ['q', 'turned'] output: 'scores' } "
                   "node { op_type: 'Add' input: ['scores', 'mask'] output: 'masked' } "
                   "node { op_type: 'Softmax' input: 'masked' output: 'shares' } "
                   "node { op_type: 'MatMul' input: ['shares', 'keys'] output: 'y' } ",
                   OnnxFloats("w", {kWidth, kWidth}, {w.floats.begin(), w.floats.end()}),
                   info("x", absl::StrCat("dim { dim_param: 'seq' } ", width)),
                   info("past_keys", absl::StrCat("dim { dim_param: 'past' } ", width)),
                   info("mask", "dim { dim_param: 'past + seq' } "),
                   OnnxTensorInfo("output", "y", {}), OnnxTensorInfo("output", "keys", {}),
                   OnnxTensorInfo("output", "shares", {})),
      17);
}

CallTensor Dense(float* data, const std::vector<int64_t>& shape) {
  CallTensor tensor{.data = reinterpret_cast<uint8_t*>(data), .is_dense = true};
  int64_t count = 1;
  for (size_t d = shape.size(); d-- > 0; count *= shape[d]) tensor.strides[d] = count;
  tensor.begin = tensor.data;
  tensor.end = tensor.data + count * static_cast<int64_t>(sizeof(float));
  return tensor;
}

void ExpectRun(Session& session, const std::string& model, int64_t past, int64_t words) {
  SCOPED_TRACE(absl::StrCat(words, " words behind ", past));
  const std::vector<std::pair<std::string, std::vector<int64_t>>> given = {
      {"x", {words, kWidth}}, {"past_keys", {past, kWidth}}, {"mask", {past + words}}};
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

TEST(BuildRangeTest, EveryRunIsThatOfTheModelOfItsSizes) {
  const std::string model = Decoder(), path = ::testing::TempDir() + "/decoder.onnx";
  ASSERT_THAT(WriteFileAtomically(path, model), IsOk());
  const ModelRequest request{.model = path,
                             .shapes = {{":past", absl::StrCat("1..", kPastMax)},
                                        {":seq", absl::StrCat("1..", kWordsMax)}}};
  ASSERT_OK_AND_ASSIGN(const Graph graph, LoadModel(request));
  ASSERT_OK_AND_ASSIGN(const Target target, HostTarget(HostCpuInfo(), 1));
  ASSERT_OK_AND_ASSIGN(const BuiltModel built,
                       BuildRange(graph, request, {}, {.target = target}, "decoder"));
  const auto loaded = Model::LoadBytes(
      {reinterpret_cast<const uint8_t*>(built.bundle.data()), built.bundle.size()}, {});
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  // Two bounds below the greatest for each, in all combinations; least work first.
  ASSERT_EQ((*loaded)->variants().size(), 8u);
  const std::vector<RunSize>& least = (*loaded)->variants()[0]->manifest().run_sizes.sizes;
  EXPECT_TRUE(std::any_of(least.begin(), least.end(), [](const RunSize& size) {
    return size.name == "seq" && size.least == 1 && size.greatest == 1;
  }));
  auto pool = ThreadPool::Create({.thread_count = 1});
  ASSERT_TRUE(pool.ok());
  auto session = Session::Create(*loaded, *std::move(pool));
  ASSERT_TRUE(session.ok());
  for (int64_t past = 1; past <= kPastMax; ++past) {
    for (int64_t words = 1; words <= kWordsMax; ++words) {
      ExpectRun(**session, model, past, words);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace burnish
