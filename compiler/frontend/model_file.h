// A model's file -> Graph, whatever its form: ONNX, or Burnish's own (model_graph_import.h).
#ifndef COMPILER_FRONTEND_MODEL_FILE_H_
#define COMPILER_FRONTEND_MODEL_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/frontend/import_options.h"
#include "compiler/graph/graph.h"

namespace burnish {

// The file's first bytes say which form it has. External data of an ONNX model may lie in the
// file's folder (options.folder is ignored). Errors: the importer's, with the path before them, and
// NOT_FOUND and PERMISSION_DENIED for the file.
absl::StatusOr<Graph> ImportModelFile(const std::string& path, const ImportOptions& options = {});

// The same for a file that is imported several times, with other shapes: it is read once, and
// constants that are the model's own lie in the same memory in all of its graphs.
class ModelReader {
 public:
  explicit ModelReader(std::string path);
  ~ModelReader();

  absl::StatusOr<Graph> Import(const ImportOptions& options);

 private:
  struct File;
  absl::StatusOr<Graph> ImportUnnamed(const ImportOptions& options);

  const std::string path_;
  std::unique_ptr<File> file_;  // Null: nothing was read yet.
};

}  // namespace burnish

#endif  // COMPILER_FRONTEND_MODEL_FILE_H_
