#include "compiler/frontend/onnx_import.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_graph_importer.h"
#include "compiler/frontend/onnx_import_context.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "google/protobuf/io/coded_stream.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

// Of messages in messages: graphs in attributes of nodes take three levels each.
constexpr int kMaxMessageDepth = 100;

// Of a model whose inputs with defaults have to be constants: a model in the wild has one or two.
constexpr int kAttemptsMax = 16;

absl::Status ParseModel(absl::string_view bytes, const ImportOptions& options,
                        onnx::ModelProto& model) {
  if (static_cast<int64_t>(bytes.size()) > options.max_model_bytes ||
      // protobuf's own limit: its streams count in int. Larger models have their weights in other
      // files.
      bytes.size() > static_cast<size_t>(INT32_MAX)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the model has ", bytes.size(), " bytes, the limit is ", options.max_model_bytes));
  }
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxMessageDepth);
  // ConsumedEntireMessage: a stray end-group tag ends parsing early without an error.
  if (bytes.empty() || !model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return absl::InvalidArgumentError(
        "not an ONNX model: the file is truncated, damaged or of another kind");
  }
  if (!model.has_graph()) return absl::InvalidArgumentError("the ONNX model has no graph");
  return absl::OkStatus();
}

absl::StatusOr<int> OpsetOf(const onnx::ModelProto& model) {
  int64_t opset = -1;
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") opset = import.version();
  }
  if (opset < 0) return absl::InvalidArgumentError("the ONNX model names no operator set");
  if (opset < kOldestOnnxOpset || opset > kNewestOnnxOpset) {
    return absl::UnimplementedError(absl::StrCat(
        "got ONNX operator set ", opset, ", want ", kOldestOnnxOpset, " to ", kNewestOnnxOpset,
        "; convert the model with onnx.version_converter, or export it again"));
  }
  return static_cast<int>(opset);
}

}  // namespace

struct ParsedOnnxModel::Parts {
  onnx::ModelProto model;
  OnnxTensorBytes bytes;
};

ParsedOnnxModel::ParsedOnnxModel(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ParsedOnnxModel::ParsedOnnxModel(ParsedOnnxModel&&) noexcept = default;
ParsedOnnxModel& ParsedOnnxModel::operator=(ParsedOnnxModel&&) noexcept = default;
ParsedOnnxModel::~ParsedOnnxModel() = default;

absl::StatusOr<ParsedOnnxModel> ParsedOnnxModel::Parse(absl::string_view model_bytes,
                                                       const ImportOptions& options) {
  auto parts = std::make_unique<Parts>(
      Parts{.model = {}, .bytes = {.files = OnnxExternalData(options.folder)}});
  RETURN_IF_ERROR(ParseModel(model_bytes, options, parts->model));
  // Of the model's own graph alone: those that nodes have may be read from copies of the nodes.
  for (onnx::TensorProto& tensor : *parts->model.mutable_graph()->mutable_initializer()) {
    if (!tensor.has_raw_data()) continue;
    const std::shared_ptr<const std::string> owner(tensor.release_raw_data());
    const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(owner->data()),
                                          owner->size());
    parts->bytes.raw.emplace(&tensor, std::make_shared<ConstantData>(owner, bytes));
  }
  return ParsedOnnxModel(std::move(parts));
}

absl::StatusOr<Graph> ParsedOnnxModel::Import(const ImportOptions& options) {
  ASSIGN_OR_RETURN(const int opset, OpsetOf(parts_->model));
  ASSIGN_OR_RETURN(const OnnxFunctions functions, FunctionsOf(parts_->model));
  // What a node has to know when the model is read (a shape, an axis, how many) is a constant, and
  // no run gives it. Nobody knows of which nodes that is, so the model is read again without it.
  std::set<std::string> defaults = InputsWithDefault(parts_->model, options);
  for (int attempt = 0;; ++attempt) {
    ImportContext context{.options = &options, .opset = opset, .bytes = &parts_->bytes};
    OnnxGraphImporter importer(&context, functions, defaults);
    const absl::Status status = importer.ImportMain(parts_->model.graph());
    if (status.ok()) {
      EliminateDead(context.graph);
      RETURN_IF_ERROR(VerifyGraph(context.graph));
      return std::move(context.graph);
    }
    const std::string fixed = NearestDefault(parts_->model.graph(), importer.failed(), defaults);
    if (defaults.empty() || options.input_shapes.contains(fixed)) return status;
    if (fixed.empty() || attempt == kAttemptsMax) {
      defaults.clear();
    } else {
      defaults.erase(fixed);
    }
  }
}

absl::StatusOr<Graph> ImportOnnx(absl::string_view model_bytes, const ImportOptions& options) {
  ASSIGN_OR_RETURN(ParsedOnnxModel model, ParsedOnnxModel::Parse(model_bytes, options));
  return model.Import(options);
}

std::vector<std::string> SupportedOnnxOperators() {
  std::vector<std::string> names = {"If", "Loop", "Scan"};
  for (const auto& [name, translator] : AllOnnxTranslators()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace burnish
