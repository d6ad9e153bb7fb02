// libFuzzer target: a .npy file of anybody's is refused with INVALID_ARGUMENT, or is written back
// as what was read.
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "base/check.h"
#include "tuner/app/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view file(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<burnish::NpyArray> array = burnish::ParseNpy(file);
  if (!array.ok()) {
    CHECK(array.status().code() == absl::StatusCode::kInvalidArgument) << array.status();
    return 0;
  }
  const absl::StatusOr<burnish::NpyArray> again = burnish::ParseNpy(burnish::SerializeNpy(*array));
  CHECK_OK(again);
  CHECK(*again == *array);
  return 0;
}
