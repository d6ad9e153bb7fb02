#include "tuner/app/model_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "compiler/frontend/zoo.h"
#include "tuner/app/error.h"
#include "tuner/app/model_format.h"
#include "tuner/app/operator_spec.h"
#include "tuner/app/value_text.h"

namespace burnish {
namespace {

constexpr int64_t kModelBytesMax = int64_t{2} << 30;  // As much as ONNX can say: a protocol buffer.

ErrorCode ImportErrorCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kNotFound:
      return ErrorCode::kNoInputFile;
    case absl::StatusCode::kPermissionDenied:
      return ErrorCode::kInputPermission;
    case absl::StatusCode::kUnimplemented:
      return ErrorCode::kUnsupportedOperator;
    case absl::StatusCode::kFailedPrecondition:
      return ErrorCode::kShapeMissing;
    case absl::StatusCode::kOutOfRange:
      return ErrorCode::kWrongShape;
    case absl::StatusCode::kResourceExhausted:
      return ErrorCode::kModelTooLarge;
    case absl::StatusCode::kInternal:
      return ErrorCode::kInternal;
    default:
      return ErrorCode::kBadModel;
  }
}

bool IsValues(const std::string& text) { return !text.empty() && text[0] == '='; }

bool IsDim(const std::string& name) { return !name.empty() && name[0] == ':'; }

absl::StatusOr<Graph> ImportModel(const ModelRequest& request, ModelReader& reader) {
  std::error_code error;
  if (std::filesystem::is_directory(request.model, error)) {
    return MakeError(ErrorCode::kNoInputFile, "it is a folder", request.model);
  }
  ImportOptions options{.track_parameters = request.refit};
  for (const auto& [name, text] : request.shapes) {
    if (IsDim(name)) {
      options.dims[name.substr(1)] = text;
    } else if (IsValues(text)) {
      options.input_values[name] = text.substr(1);
    } else {
      options.input_shapes[name] = ParseShape(text);
    }
  }
  absl::StatusOr<Graph> graph = reader.Import(options);
  if (!graph.ok()) {
    return WithError(graph.status(), ImportErrorCode(graph.status().code()), request.model);
  }
  return graph;
}

absl::StatusOr<Graph> BuildZoo(const ModelRequest& request) {
  ZooOptions options{.batch = request.batch, .seed = request.seed};
  for (const auto& [name, text] : request.shapes) {
    if (IsDim(name)) {
      return MakeError(ErrorCode::kUsage, "models of the zoo have no dimensions by name",
                       absl::StrCat("`dim` ", name.substr(1)), "`shape` or `batch`");
    }
    const std::vector<int64_t> shape = ParseShape(text);
    const bool image =
        name == "input" && shape.size() == 4 && shape[1] == 3 && shape[2] == shape[3];
    const bool tokens = name == "input_ids" && shape.size() == 2;
    const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    if ((!image && !tokens) || is_empty) {
      return MakeError(ErrorCode::kUsage, absl::StrCat("the model has no input ", name, " ", text),
                       request.task, "input=Nx3xSxS for images, input_ids=NxL for bert_base");
    }
    if (request.batch != 1 && request.batch != shape[0]) {
      return MakeError(ErrorCode::kUsage,
                       absl::StrCat("got `batch` ", request.batch, " and input ", name, " ", text),
                       request.task, "one of `batch` and `shape`");
    }
    options.batch = shape[0];
    (image ? options.image_size : options.sequence) = shape[image ? 2 : 1];
  }
  absl::StatusOr<Graph> graph = BuildZooModel(request.task, options);
  if (!graph.ok()) {
    const bool unknown = absl::IsNotFound(graph.status());
    return WithError(graph.status(), unknown ? ErrorCode::kUnknownModel : ErrorCode::kUsage,
                     request.task,
                     unknown ? absl::StrCat("one of ", absl::StrJoin(ZooModelNames(), ", "),
                                            "; or an operator such as conv2d:h=56,ci=64,co=64,k=3")
                             : "");
  }
  return graph;
}

// A TiB of floats: no memory holds such a tensor, and with its borders every index is far inside of
// what programs can say (2^40 elements).
constexpr int64_t kElementsMax = int64_t{1} << 38;

absl::Status CheckSizes(const Graph& graph, const std::string& what) {
  for (const GraphValue& value : graph.values) {
    int64_t count = 1;
    for (const int64_t extent : value.type.shape) {
      // By division, since the product itself may overflow.
      if (extent < 1 || count <= kElementsMax / extent) {
        count *= extent;
        continue;
      }
      return MakeError(ErrorCode::kModelTooLarge,
                       absl::StrCat("got ", PrintType(value.type), " for ", value.name,
                                    ", want at most 2^38 elements"),
                       what);
    }
  }
  return absl::OkStatus();
}

// What would be read and then do nothing: a result would be taken for another one's.
absl::Status CheckSaysWhatCounts(const ModelRequest& request) {
  if (!request.model.empty() && request.batch != 1) {
    return MakeError(ErrorCode::kUsage, "a model file has no `batch` of its own",
                     absl::StrCat("`batch` ", request.batch),
                     "`shape` of the input, or `dim` where the model names the dimension");
  }
  if (IsOperatorSpec(request.task) && (request.batch != 1 || !request.shapes.empty())) {
    return MakeError(ErrorCode::kUsage, "an operator has the sizes that its text says",
                     request.task, "sizes in the text, such as n=8, for `batch` and `shape`");
  }
  return absl::OkStatus();
}

absl::StatusOr<Graph> LoadUnchecked(const ModelRequest& request, ModelReader& reader) {
  RETURN_IF_ERROR(CheckSaysWhatCounts(request));
  if (!request.model.empty()) {
    RETURN_IF_ERROR(CheckModelFormat(request.model));
    return ImportModel(request, reader);
  }
  if (!IsOperatorSpec(request.task)) return BuildZoo(request);
  absl::StatusOr<Graph> graph = BuildOperator(request.task, request.seed);
  if (!graph.ok()) return WithError(graph.status(), ErrorCode::kBadSpec, request.task);
  return graph;
}

}  // namespace

absl::StatusOr<Graph> LoadModel(const ModelRequest& request) {
  return ModelLoader(request).Load(request.shapes);
}

ModelLoader::ModelLoader(ModelRequest request)
    : request_(std::move(request)), reader_(request_.model) {}

absl::StatusOr<Graph> ModelLoader::Load(const std::map<std::string, std::string>& shapes) {
  ModelRequest request = request_;
  request.shapes = shapes;
  if (request.task.empty() == request.model.empty()) {
    return MakeError(ErrorCode::kUsage, "got no model or two, want the name of one or a file");
  }
  RETURN_IF_ERROR(CheckShapes(request.shapes));
  ASSIGN_OR_RETURN(Graph graph, LoadUnchecked(request, reader_));
  RETURN_IF_ERROR(CheckSizes(graph, request.task.empty() ? request.model : request.task));
  return graph;
}

absl::Status CheckShapes(const std::map<std::string, std::string>& shapes) {
  for (const auto& [name, text] : shapes) {
    // Read with the model, whose names they are.
    if (IsValues(text) || IsDim(name)) continue;
    const std::vector<int64_t> shape = ParseShape(text);
    if (shape.empty()) {
      return MakeError(ErrorCode::kUsage, absl::StrCat("got shape ", text, " of input ", name),
                       name, "extents such as 1x3x224x224");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadModelFile(const std::string& path) {
  RETURN_IF_ERROR(CheckModelFormat(path));
  absl::StatusOr<std::string> bytes = ReadFile(path, kModelBytesMax);
  if (bytes.ok()) return bytes;
  const absl::Status& error = bytes.status();
  return WithError(error,
                   absl::IsPermissionDenied(error)  ? ErrorCode::kInputPermission
                   : absl::IsInvalidArgument(error) ? ErrorCode::kModelTooLarge
                                                    : ErrorCode::kNoInputFile,
                   path);
}

}  // namespace burnish
