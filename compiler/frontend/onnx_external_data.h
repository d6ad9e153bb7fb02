// Reads tensor bytes that a model keeps in files of their own, inside the model's folder only.
#ifndef COMPILER_FRONTEND_ONNX_EXTERNAL_DATA_H_
#define COMPILER_FRONTEND_ONNX_EXTERNAL_DATA_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/graph/constant.h"

namespace burnish {

// Maps each file once and hands out views of it. A location is a relative path without "..", and no
// component of it may be a symbolic link: models are unpacked from archives that nobody has read.
class OnnxExternalData {
 public:
  // Empty `folder`: every read is refused.
  explicit OnnxExternalData(std::string folder) : folder_(std::move(folder)) {}

  // `size_bytes` bytes of file `location` from `offset` on. Errors: INVALID_ARGUMENT for a location
  // outside the folder or a range outside the file, NOT_FOUND.
  absl::StatusOr<ConstantPtr> Read(const std::string& location, int64_t offset, int64_t size_bytes);

 private:
  struct File {
    std::shared_ptr<const void> owner;
    absl::Span<const uint8_t> bytes;
  };
  absl::StatusOr<File> Open(const std::string& location);

  std::string folder_;
  std::map<std::string, File> files_;
};

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_EXTERNAL_DATA_H_
