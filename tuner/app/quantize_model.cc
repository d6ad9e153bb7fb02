#include "tuner/app/quantize_model.h"

#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_export.h"
#include "compiler/graph/quantize_graph.h"
#include "compiler/graph/quantize_weights.h"
#include "tuner/app/error.h"
#include "tuner/app/output_file.h"

namespace burnish {
namespace {

int64_t ProductCount(const Graph& graph) {
  static const auto& products = *new std::set<OpId>{OpId::kConv, OpId::kConvTranspose, OpId::kDense,
                                                    OpId::kGemm, OpId::kMatmul};
  int64_t count = 0;
  for (const GraphNode& node : graph.nodes) count += products.count(node.op) > 0 ? 1 : 0;
  return count;
}

absl::Status Prepare(Graph& graph, const std::string& what) {
  return WithError(PrepareToQuantize(graph), ErrorCode::kBadModel, what,
                   "tuner compile takes it as it is");
}

absl::Status NothingToQuantize(const std::string& what) {
  return MakeError(ErrorCode::kBadModel,
                   "there is nothing to quantize: no product of 32-bit floats by constant weights",
                   what, "a model in f32 with its weights as initializers");
}

// Prepares the graph.
absl::StatusOr<ValueRanges> FindRanges(Graph& graph, ExampleData& data,
                                       const CalibrationOptions& options, const std::string& what) {
  RETURN_IF_ERROR(Prepare(graph, what));
  const std::vector<ValueId> values = ValuesToObserve(graph);
  if (values.empty()) return NothingToQuantize(what);
  return CalibrateRanges(graph, values, data, options, what);
}

}  // namespace

absl::StatusOr<std::map<std::string, ValueRange>> RangesOfModel(Graph graph, ExampleData& data,
                                                                const CalibrationOptions& options,
                                                                const std::string& what) {
  ASSIGN_OR_RETURN(const ValueRanges ranges, FindRanges(graph, data, options, what));
  return NamedRanges(graph, ranges);
}

absl::StatusOr<QuantizedModel> QuantizeModel(Graph graph, ExampleData& data,
                                             const CalibrationOptions& options,
                                             const std::string& what) {
  const Graph as_it_was = graph;
  ASSIGN_OR_RETURN(const ValueRanges ranges, FindRanges(graph, data, options, what));
  absl::StatusOr<QuantizedGraph> quantized = QuantizeGraph(graph, ranges);
  if (!quantized.ok()) return WithError(quantized.status(), ErrorCode::kBadModel, what);
  QuantizedModel model{
      .graph = std::move(quantized->graph),
      .example_count = std::ssize(SpreadExamples(data.count(), options.examples_max)),
      .product_count = quantized->product_count,
      .float_product_count = ProductCount(graph) - quantized->product_count,
      .tensor_count = std::ssize(ranges),
      .weight_count = quantized->weight_count};
  ASSIGN_OR_RETURN(model.errors, MeasureOutputErrors(model.graph, as_it_was, data, options, what));
  return model;
}

absl::StatusOr<QuantizedModel> QuantizeModelWeights(Graph graph, int64_t group, ExampleData* data,
                                                    const CalibrationOptions& options,
                                                    const std::string& what) {
  const Graph as_it_was = graph;
  RETURN_IF_ERROR(Prepare(graph, what));
  absl::StatusOr<QuantizedWeights> quantized = QuantizeWeights(graph, group);
  if (!quantized.ok()) return WithError(quantized.status(), ErrorCode::kBadModel, what);
  if (quantized->product_count == 0) return NothingToQuantize(what);
  QuantizedModel model{.graph = std::move(quantized->graph),
                       .product_count = quantized->product_count,
                       .float_product_count = ProductCount(graph) - quantized->product_count,
                       .weight_count = quantized->weight_count};
  if (data == nullptr) return model;
  model.example_count = std::ssize(SpreadExamples(data->count(), options.examples_max));
  ASSIGN_OR_RETURN(model.errors, MeasureOutputErrors(model.graph, as_it_was, *data, options, what));
  return model;
}

absl::StatusOr<int64_t> WriteOnnxModel(const Graph& graph, const std::string& path,
                                       const std::string& what) {
  const std::string data_path = absl::StrCat(path, ".data");
  const absl::StatusOr<OnnxFiles> files =
      ExportOnnxFiles(graph, std::filesystem::path(data_path).filename().string());
  if (!files.ok()) return WithError(files.status(), ErrorCode::kUnsupportedOperator, what);
  // The model last: where it is, all of it is.
  if (!files->data.empty()) RETURN_IF_ERROR(WriteOutput(data_path, files->data));
  RETURN_IF_ERROR(WriteOutput(path, files->model));
  return std::ssize(files->model) + std::ssize(files->data);
}

}  // namespace burnish
