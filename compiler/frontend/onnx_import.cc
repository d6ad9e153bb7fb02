#include "compiler/frontend/onnx_import.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
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

absl::Status ParseModel(absl::string_view bytes, const OnnxImportOptions& options,
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

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::StatusOr<Graph> ImportOnnx(absl::string_view model_bytes, const OnnxImportOptions& options) {
  onnx::ModelProto model;
  RETURN_IF_ERROR(ParseModel(model_bytes, options, model));
  ImportContext context{.options = &options, .files = OnnxExternalData(options.folder)};
  ASSIGN_OR_RETURN(context.opset, OpsetOf(model));
  OnnxGraphImporter importer(&context);
  RETURN_IF_ERROR(importer.ImportMain(model.graph()));
  EliminateDead(context.graph);
  RETURN_IF_ERROR(VerifyGraph(context.graph));
  return std::move(context.graph);
}

absl::StatusOr<Graph> ImportOnnxFile(const std::string& path, const OnnxImportOptions& options) {
  const auto failed = [&](absl::StatusCode code) {
    return absl::Status(code, absl::StrCat("'", path, "': ", std::strerror(errno)));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return failed(errno == EACCES ? absl::StatusCode::kPermissionDenied
                                  : absl::StatusCode::kNotFound);
  }
  struct stat info;
  void* memory = MAP_FAILED;
  const bool plain = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (plain && info.st_size > 0) {
    memory = mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  }
  close(fd);
  if (!plain || info.st_size == 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is empty or no plain file"));
  }
  if (memory == MAP_FAILED) return failed(absl::StatusCode::kInternal);
  const auto size = static_cast<size_t>(info.st_size);
  OnnxImportOptions with_folder = options;
  with_folder.folder = FolderOf(path);
  absl::StatusOr<Graph> graph =
      ImportOnnx(absl::string_view(static_cast<const char*>(memory), size), with_folder);
  munmap(memory, size);
  if (graph.ok()) return graph;
  absl::Status named(graph.status().code(),
                     absl::StrCat("'", path, "': ", graph.status().message()));
  graph.status().ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { named.SetPayload(url, payload); });
  return named;
}

std::vector<std::string> SupportedOnnxOperators() {
  std::vector<std::string> names = {"If"};
  for (const auto& [name, translator] : AllOnnxTranslators()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace burnish
