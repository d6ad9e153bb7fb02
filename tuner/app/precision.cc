#include "tuner/app/precision.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cpu_info.h"
#include "base/status_macros.h"
#include "proto/target.h"
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
  const std::string where = absl::StrCat("--precision ", precision);
  if (precision == kInt8) {
    return MakeError(ErrorCode::kNotAvailableYet, "a model becomes int8 by a file of its own",
                     where,
                     "tuner quantize --model M.onnx --data DIR --out M.int8.onnx, and then that "
                     "file without --precision");
  }
  if (options.select.strict) {
    return MakeError(ErrorCode::kUsage, "--accuracy strict rounds as f32 does", where,
                     "a number such as --accuracy 2e-2, or --precision f32");
  }
  options.fastest_storage = precision == kAuto;
  if (!options.fastest_storage) ParseDType(precision, &options.storage.type);
  return absl::OkStatus();
}

absl::StatusOr<Int8Model> Int8Model::Quantize(const Graph& graph, const std::string& folder,
                                              const ScheduleFacts& facts,
                                              const BuildModelOptions& options,
                                              const std::string& what) {
  if (folder.empty() || options.refit) {
    return MakeError(ErrorCode::kUsage,
                     folder.empty() ? "int8 has its ranges from examples"
                                    : "parameters cannot be replaced where weights are rounded",
                     "--precision int8", "--data DIR, without --refit");
  }
  Int8Model model;
  model.source_ = graph;
  model.what_ = what;
  ASSIGN_OR_RETURN(model.examples_, LoadExamples(folder, graph));
  ASSIGN_OR_RETURN(ExampleData data,
                   ExampleData::Open(folder, InputTensors(graph), kCalibrationExamplesMin));
  // Ranges are found where this runs, whatever the model is for.
  ASSIGN_OR_RETURN(const Target host, HostTarget(HostCpuInfo(), options.target.threads));
  ASSIGN_OR_RETURN(
      QuantizedModel quantized,
      QuantizeModel(graph, data,
                    {.build = {.target = host, .facts = facts, .progress = options.progress}},
                    what));
  model.quantized_ = std::move(quantized.graph);
  return model;
}

absl::Status Int8Model::Measure(const ScheduleFacts& facts, const BuildModelOptions& options,
                                BuiltModel& built) const {
  BuildModelOptions lossless = options;
  lossless.select.strict = true;
  lossless.require_tuned = false;
  ASSIGN_OR_RETURN(const BuiltModel reference, BuildBundle(source_, facts, lossless, what_));
  const auto meter = ErrorMeter::Create(reference.bundle, examples_, options.target.threads);
  // For another machine: nothing is known.
  if (absl::IsFailedPrecondition(meter.status())) return absl::OkStatus();
  RETURN_IF_ERROR(WithError(meter.status(), ErrorCode::kRunFailed, what_));
  const absl::StatusOr<double> error = (*meter)->Measure(built.bundle);
  RETURN_IF_ERROR(WithError(error.status(), ErrorCode::kRunFailed, what_));
  built.measured_error = *error;
  built.measured_on = examples_.source;
  if (*error <= options.select.error_budget) return NoteError(built);
  return MakeError(ErrorCode::kOverAccuracy,
                   absl::StrFormat("in int8 the error is %.1e on %s, want <= %.1e", *error,
                                   examples_.source, options.select.error_budget),
                   what_, "a larger --accuracy, or --precision bf16");
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
  ASSIGN_OR_RETURN(choosing.examples, LoadExamples(spec.data_path, graph));
  spec.data_sha256 = ExamplesDigest(choosing.examples);
  ASSIGN_OR_RETURN(const FloatStorage storage,
                   ChooseBundleStorage(graph, facts, choosing, TitleOf(spec)));
  for (const auto& [layer, type] : storage.layers) {
    spec.layer_types[layer] = std::string(DTypeName(type));
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
  ExampleInputs inputs;
  if (folder.empty()) return inputs;
  if (!graph.sizes.empty()) {
    return MakeError(ErrorCode::kUsage, "examples have one shape, and runs of the model have many",
                     absl::StrCat("--data ", folder),
                     "without --data errors are measured on random inputs of the greatest sizes");
  }
  ASSIGN_OR_RETURN(ExampleData data, ExampleData::Open(folder, InputTensors(graph)));
  const int64_t count = std::min(data.count(), kExamplesMax);
  for (int64_t e = 0; e < count; ++e) {
    ASSIGN_OR_RETURN(const std::vector<NpyArray> arrays, data.Read(e * data.count() / count));
    std::vector<ExampleInputs::Array>& example = inputs.examples.emplace_back();
    for (const NpyArray& array : arrays) {
      example.push_back({array.shape, {array.bytes.begin(), array.bytes.end()}});
    }
  }
  inputs.source = absl::StrCat(count, count == 1 ? " example of " : " examples of ", folder);
  return inputs;
}

}  // namespace burnish
