// Arrays as a model's inputs want them, with errors as the commands print them.
#ifndef TUNER_APP_TENSOR_ARRAY_H_
#define TUNER_APP_TENSOR_ARRAY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/runtime/tensor_info.h"
#include "tuner/app/npy.h"

namespace burnish {

// Errors: B02xx.
absl::StatusOr<NpyArray> ReadArray(const std::string& path);

// As an array in the type that an input has: floats of 32 bits are rounded for a bfloat16, which
// NumPy has no type for. Others are as they were.
NpyArray ForType(NpyArray array, ElementType type);

// B0404, with the cure where it is the type: `array` is not what input `want` takes. `shape_text`:
// what shape it should have had, where that is not the input's own.
absl::Status Misfit(const NpyArray& array, const TensorInfo& want, const std::string& path,
                    absl::string_view shape_text = "");

}  // namespace burnish

#endif  // TUNER_APP_TENSOR_ARRAY_H_
