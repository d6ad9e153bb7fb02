// ONNX model bytes -> Graph. Opset 7 to kNewestOnnxOpset.
//
// The model is hostile input: sizes, counts, nesting and arithmetic are bounded, and external data
// is read inside the model's own folder only. Of libonnx only the messages are used.
#ifndef COMPILER_FRONTEND_ONNX_IMPORT_H_
#define COMPILER_FRONTEND_ONNX_IMPORT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/graph/graph.h"

namespace burnish {

inline constexpr int kOldestOnnxOpset = 7;
inline constexpr int kNewestOnnxOpset = 28;

struct OnnxImportOptions {
  // Shapes of graph inputs by name: the command line's `--shape NAME=1x3x224x224`. Needed for
  // inputs with symbolic dimensions; must agree with the fixed ones.
  std::map<std::string, std::vector<int64_t>> input_shapes;
  // Folder that external data may lie in. Empty: external data is refused.
  std::string folder;
  // Limits; a model beyond one is refused with RESOURCE_EXHAUSTED.
  int64_t max_model_bytes = int64_t{2} << 30;      // Protobuf's own limit.
  int64_t max_constant_bytes = int64_t{16} << 30;  // Weights and constants together.
  int64_t max_folded_bytes = int64_t{4} << 30;     // What constants are computed at import.
  int64_t max_tensor_elements = int64_t{1} << 34;  // Of any one tensor.
  int max_nodes = 100000;                          // Of all graphs in the model.
  int max_depth = 16;                              // Of graphs in graphs (If).
};

// Everything that depends on shapes alone is folded; Dropout and Identity are gone. Errors:
// INVALID_ARGUMENT for a broken model, UNIMPLEMENTED for an operator, attribute or element type
// that is not supported (with the node's name), FAILED_PRECONDITION where a shape must be given
// (names the input and the flag), OUT_OF_RANGE for a shape in the options that does not fit the
// model (says what it has and what was given), RESOURCE_EXHAUSTED for a limit.
absl::StatusOr<Graph> ImportOnnx(absl::string_view model_bytes,
                                 const OnnxImportOptions& options = {});

// Reads the file; external data may lie in its folder (options.folder is ignored). Errors: also
// NOT_FOUND and PERMISSION_DENIED for the file.
absl::StatusOr<Graph> ImportOnnxFile(const std::string& path,
                                     const OnnxImportOptions& options = {});

// Of an error about operators that cannot be imported: the payload with all of them, a line each,
// "COUNT NAME", by falling count. The message names the first few.
inline constexpr char kMissingOperatorsUrl[] = "burnish/missing-operators";

// ONNX operator types that can be imported, sorted.
std::vector<std::string> SupportedOnnxOperators();

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_IMPORT_H_
