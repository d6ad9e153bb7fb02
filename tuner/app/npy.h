// NumPy's .npy files, versions 1 to 3, as far as tensors need: little-endian numbers and booleans
// in C order. Files are hostile input: every length is checked against what is there.
// Source: numpy/lib/format.py, "Format Version 1.0" and following.
#ifndef TUNER_APP_NPY_H_
#define TUNER_APP_NPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/runtime/tensor_info.h"

namespace burnish {

struct NpyArray {
  ElementType type = ElementType::kF32;
  std::vector<int64_t> shape;  // Empty: a scalar.
  std::string bytes;           // Row-major, element_count * ElementBytes(type).

  bool operator==(const NpyArray&) const = default;
};

// INVALID_ARGUMENT: not such a file, cut off or with bytes after its end, or of a kind that is left
// out (big-endian, Fortran order, complex, objects, structures), with the way out as a hint.
absl::StatusOr<NpyArray> ParseNpy(absl::string_view file);

// Version 1.0, as numpy.save writes it. NumPy has no bfloat16: it becomes float32, which holds
// every value of it.
std::string SerializeNpy(const NpyArray& array);

// Errors: as ReadFile and ParseNpy, with the path.
absl::StatusOr<NpyArray> ReadNpyFile(const std::string& path);
absl::Status WriteNpyFile(const std::string& path, const NpyArray& array);

}  // namespace burnish

#endif  // TUNER_APP_NPY_H_
