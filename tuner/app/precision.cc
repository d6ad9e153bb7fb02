#include "tuner/app/precision.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cpu_info.h"
#include "base/status_macros.h"
#include "compiler/target/target.h"
#include "proto/workload.h"
#include "tuner/app/built_graph.h"
#include "tuner/app/calibrate.h"
#include "tuner/app/error.h"
#include "tuner/app/example_data.h"
#include "tuner/app/model_source.h"
#include "tuner/app/quantize_model.h"
#include "tuner/app/tuning.h"

namespace burnish {
namespace {

constexpr char kAuto[] = "auto", kInt8[] = "int8", kF32[] = "f32";

// Each costs some runs of the model for every layer. The largest error of a draw varies from one
// example to the next by a third or so; of sixteen the largest is within a tenth of that of many.
constexpr int64_t kExamplesMax = 16;

// In 16 bits: twice what bfloat16 costs a BERT-base (9.8e-3) and one and a half times what it costs
// a ViT-B/16 (1.3e-2), as OpenVINO does it.
constexpr double kNarrowAccuracy = 2e-2, kAccuracy = 1e-4;
// In 8 bits: what calibrated networks are asked for, five times what a ResNet-50 costs (2.0e-2).
constexpr double kByteAccuracy = 1e-1;

absl::StatusOr<ExampleData> OpenExamples(const std::string& folder, const Graph& graph,
                                         int64_t least) {
  if (!graph.sizes.empty()) {
    return MakeError(ErrorCode::kUsage, "examples have one shape, and runs of the model have many",
                     absl::StrCat("`data` ", folder),
                     "without `data` errors are measured on random inputs of the greatest sizes");
  }
  if (folder == kRandomData) return ExampleData::Random(InputTensors(graph), kExamplesMax);
  return ExampleData::Open(folder, InputTensors(graph), least);
}

absl::StatusOr<ExampleInputs> SomeExamples(ExampleData& data, const std::string& folder) {
  ExampleInputs inputs;
  for (const int64_t e : SpreadExamples(data.count(), kExamplesMax)) {
    ASSIGN_OR_RETURN(const std::vector<NpyArray> arrays, data.Read(e));
    std::vector<ExampleInputs::Array>& example = inputs.examples.emplace_back();
    for (const NpyArray& array : arrays) {
      example.push_back({array.shape, {array.bytes.begin(), array.bytes.end()}});
    }
  }
  if (folder == kRandomData) return inputs;  // Whose source says so.
  const size_t count = inputs.examples.size();
  inputs.source = absl::StrCat(count, count == 1 ? " example of " : " examples of ", folder);
  return inputs;
}

}  // namespace

const std::vector<std::string>& Precisions() {
  static const auto& all = *new std::vector<std::string>{kF32, kAuto, "bf16", "f16", kInt8};
  return all;
}

double DefaultAccuracy(const std::string& precision) {
  if (precision == kInt8) return kByteAccuracy;
  return precision == kF32 ? kAccuracy : kNarrowAccuracy;
}

absl::Status TakePrecision(const std::string& precision, BuildModelOptions& options) {
  if (precision == kF32) return absl::OkStatus();
  if (options.select.strict) {
    return MakeError(ErrorCode::kUsage, "`accuracy` strict rounds as f32 does",
                     absl::StrCat("`precision` ", precision),
                     "a number such as `accuracy` 2e-2, or `precision` f32");
  }
  options.fastest_storage = precision == kAuto;
  if (!options.fastest_storage) options.storage.type = TypeOfPrecision(precision);
  return absl::OkStatus();
}

absl::Status TakeExamples(const std::string& folder, const std::string& precision,
                          const Graph& graph, const ScheduleFacts& facts, const std::string& what,
                          BuildModelOptions& options) {
  const bool is_int8 = precision == kInt8;
  if (is_int8 && (folder.empty() || options.refit)) {
    return MakeError(ErrorCode::kUsage,
                     folder.empty() ? "int8 has its ranges from examples"
                                    : "parameters cannot be replaced where weights are rounded",
                     "`precision` int8", "`data` DIR, without `refit`");
  }
  if (folder.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(ExampleData data,
                   OpenExamples(folder, graph, is_int8 ? kCalibrationExamplesMin : 1));
  ASSIGN_OR_RETURN(options.examples, SomeExamples(data, folder));
  const bool may_be_int8 = precision == kAuto && data.count() >= kCalibrationExamplesMin;
  if (!is_int8 && !may_be_int8) return absl::OkStatus();
  // Ranges are found where this runs, whatever the model is for.
  ASSIGN_OR_RETURN(const Target host, HostTarget(HostCpuInfo(), options.target.threads));
  auto ranges = RangesOfModel(
      graph, data, {.build = {.target = host, .facts = facts, .progress = options.progress}}, what);
  // What is quantized already, or has no product by constant weights, may be in floats.
  if (!is_int8 && ErrorCodeOf(ranges.status()) == ErrorCode::kBadModel) return absl::OkStatus();
  RETURN_IF_ERROR(ranges.status());
  options.storage.ranges = *std::move(ranges);
  return absl::OkStatus();
}

absl::Status ChooseLayers(const ScheduleFacts& facts, const BuildModelOptions& options,
                          StudySpec& spec) {
  BuildModelOptions choosing = options;
  RETURN_IF_ERROR(TakePrecision(spec.precision, choosing));
  if (spec.precision == kF32) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Graph graph, LoadModel({.task = spec.task,
                                                 .model = spec.model_path,
                                                 .shapes = spec.shapes,
                                                 .batch = spec.batch,
                                                 .seed = spec.seed}));
  RETURN_IF_ERROR(
      TakeExamples(spec.data_path, spec.precision, graph, facts, TitleOf(spec), choosing));
  spec.data_sha256 = ExamplesDigest(choosing.examples);
  ASSIGN_OR_RETURN(const FloatStorage storage,
                   ChooseBundleStorage(graph, facts, choosing, TitleOf(spec)));
  for (const auto& [layer, type] : storage.layers) {
    spec.layer_types[layer] = std::string(DTypeName(type));
  }
  if (!storage.quantizes()) return absl::OkStatus();
  for (const auto& [value, range] : storage.ranges) {
    spec.ranges[value] = {range.least, range.greatest};
  }
  return absl::OkStatus();
}

std::string ExamplesDigest(const ExampleInputs& inputs) {
  if (inputs.examples.empty()) return "";
  std::string digests;
  for (const auto& example : inputs.examples) {
    for (const ExampleInputs::Array& array : example) {
      digests +=
          Sha256Bytes({reinterpret_cast<const char*>(array.dense.data()), array.dense.size()});
    }
  }
  return Sha256Bytes(digests);
}

absl::StatusOr<ExampleInputs> LoadExamples(const std::string& folder, const Graph& graph) {
  if (folder.empty()) return ExampleInputs();
  ASSIGN_OR_RETURN(ExampleData data, OpenExamples(folder, graph, /*least=*/1));
  return SomeExamples(data, folder);
}

}  // namespace burnish
