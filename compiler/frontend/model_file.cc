#include "compiler/frontend/model_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "compiler/frontend/model_graph_import.h"
#include "compiler/frontend/onnx_import.h"

namespace burnish {
namespace {

struct MappedFile {
  std::shared_ptr<const void> owner;
  absl::Span<const uint8_t> bytes;
};

absl::StatusOr<MappedFile> MapFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) {
    const absl::StatusCode code =
        errno == EACCES ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kNotFound;
    return absl::Status(code, std::strerror(errno));
  }
  struct stat info;
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) {
    return absl::InvalidArgumentError("the file is empty or no plain file");
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (memory == MAP_FAILED) return absl::InternalError(absl::StrCat("mmap: ", strerror(errno)));
  return MappedFile{.owner = std::shared_ptr<const void>(
                        memory, [size](const void* p) { munmap(const_cast<void*>(p), size); }),
                    .bytes = {static_cast<const uint8_t*>(memory), size}};
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

struct ModelReader::File {
  MappedFile mapped;                    // Of a model graph, whose constants are views of it.
  std::optional<ParsedOnnxModel> onnx;  // Or this.
};

ModelReader::ModelReader(std::string path) : path_(std::move(path)) {}
ModelReader::~ModelReader() = default;

absl::StatusOr<Graph> ModelReader::ImportUnnamed(const ImportOptions& options) {
  if (file_ == nullptr) {
    auto file = std::make_unique<File>();
    ASSIGN_OR_RETURN(file->mapped, MapFile(path_));
    const absl::Span<const uint8_t> bytes = file->mapped.bytes;
    const absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!IsModelGraph(text)) {
      ImportOptions with_folder = options;
      with_folder.folder = FolderOf(path_);
      ASSIGN_OR_RETURN(file->onnx, ParsedOnnxModel::Parse(text, with_folder));
      file->mapped = {};
    }
    file_ = std::move(file);
  }
  if (file_->onnx.has_value()) return file_->onnx->Import(options);
  return ImportModelGraph(file_->mapped.owner, file_->mapped.bytes, options);
}

absl::StatusOr<Graph> ModelReader::Import(const ImportOptions& options) {
  absl::StatusOr<Graph> graph = ImportUnnamed(options);
  if (graph.ok()) return graph;
  absl::Status named(graph.status().code(),
                     absl::StrCat("'", path_, "': ", graph.status().message()));
  graph.status().ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { named.SetPayload(url, payload); });
  return named;
}

absl::StatusOr<Graph> ImportModelFile(const std::string& path, const ImportOptions& options) {
  return ModelReader(path).Import(options);
}

}  // namespace burnish
