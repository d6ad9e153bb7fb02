#include "tuner/app/tensor_array.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/small_float.h"
#include "tuner/app/error.h"
#include "tuner/app/value_text.h"

namespace burnish {
namespace {

ErrorCode ReadErrorCode(const absl::Status& status) {
  if (absl::IsNotFound(status)) return ErrorCode::kNoInputFile;
  if (absl::IsPermissionDenied(status)) return ErrorCode::kInputPermission;
  return ErrorCode::kBadNpy;
}

}  // namespace

absl::StatusOr<NpyArray> ReadArray(const std::string& path) {
  absl::StatusOr<NpyArray> array = ReadNpyFile(path);
  if (!array.ok()) return WithError(array.status(), ReadErrorCode(array.status()), path);
  return array;
}

NpyArray ForType(NpyArray array, ElementType type) {
  if (type != ElementType::kBf16 || array.type != ElementType::kF32) return array;
  NpyArray narrow{.type = ElementType::kBf16, .shape = std::move(array.shape)};
  const size_t count = array.bytes.size() / sizeof(float);
  narrow.bytes.resize(count * sizeof(Bfloat16));
  for (size_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, &array.bytes[i * sizeof(value)], sizeof(value));
    const Bfloat16 rounded(value);
    std::memcpy(&narrow.bytes[i * sizeof(rounded)], &rounded, sizeof(rounded));
  }
  return narrow;
}

absl::Status Misfit(const NpyArray& array, const TensorInfo& want, const std::string& path,
                    absl::string_view shape_text) {
  const std::string got = absl::StrCat(ElementTypeName(array.type), FormatShape(array.shape));
  const std::string shape = shape_text.empty() ? FormatShape(want.shape) : std::string(shape_text);
  std::string hint;
  if (array.type != want.type) {
    const char* const name = want.type == ElementType::kBf16 ? "f32" : ElementTypeName(want.type);
    hint = absl::StrCat("x.astype('", name, "') in NumPy's names");
  }
  return MakeError(ErrorCode::kTensorMismatch,
                   absl::StrCat("input ", want.name, ": got ", got, ", want ",
                                ElementTypeName(want.type), shape),
                   path, hint);
}

}  // namespace burnish
