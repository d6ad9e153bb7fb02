// ONNX model bytes -> Graph. Opset 7 to kNewestOnnxOpset.
//
// The model is hostile input: sizes, counts, nesting and arithmetic are bounded, and external data
// is read inside the model's own folder only. Of libonnx only the messages are used.
#ifndef COMPILER_FRONTEND_ONNX_IMPORT_H_
#define COMPILER_FRONTEND_ONNX_IMPORT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/import_options.h"
#include "compiler/graph/graph.h"

namespace burnish {

inline constexpr int kOldestOnnxOpset = 7;
inline constexpr int kNewestOnnxOpset = 28;

// Everything that depends on shapes alone is folded; Dropout and Identity are gone. Errors:
// INVALID_ARGUMENT for a broken model, UNIMPLEMENTED for an operator, attribute or element type
// that is not supported (with the node's name), FAILED_PRECONDITION where a shape must be given
// (names the input and the flag), OUT_OF_RANGE for a shape or a value in the options that does
// not fit the model (says what it has and what was given), RESOURCE_EXHAUSTED for a limit.
absl::StatusOr<Graph> ImportOnnx(absl::string_view model_bytes, const ImportOptions& options = {});

// The same for a model that is imported several times, with other shapes: it is parsed once, and
// constants that are the model's own lie in the same memory in all of its graphs.
class ParsedOnnxModel {
 public:
  // What `options` say of the file. Errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
  static absl::StatusOr<ParsedOnnxModel> Parse(absl::string_view model_bytes,
                                               const ImportOptions& options);
  ParsedOnnxModel(ParsedOnnxModel&&) noexcept;
  ParsedOnnxModel& operator=(ParsedOnnxModel&&) noexcept;
  ~ParsedOnnxModel();

  // External data is in the folder that Parse was told.
  absl::StatusOr<Graph> Import(const ImportOptions& options);

 private:
  struct Parts;
  explicit ParsedOnnxModel(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// Of an error about operators that cannot be imported: the payload with all of them, a line each,
// "COUNT NAME", by falling count. The message names the first few.
inline constexpr char kMissingOperatorsUrl[] = "burnish/missing-operators";

// Operators that will not be imported, and why. Others that are missing may come.
const std::map<std::string, std::string>& RefusedOnnxOperators();

// ONNX operator types that can be imported, sorted.
std::vector<std::string> SupportedOnnxOperators();

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_IMPORT_H_
