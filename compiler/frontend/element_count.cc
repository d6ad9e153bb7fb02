#include "compiler/frontend/element_count.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace burnish {

absl::StatusOr<int64_t> CheckedElementCount(const std::vector<int64_t>& shape, int64_t max_elements,
                                            absl::string_view what) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": negative dimension in [", absl::StrJoin(shape, ","), "]"));
    }
    empty = empty || extent == 0;
    const int64_t factor = extent == 0 ? 1 : extent;
    // By division: the product of hostile dimensions may wrap to a small number.
    if (factor > max_elements / count) {
      return absl::ResourceExhaustedError(absl::StrCat(what, ": shape [", absl::StrJoin(shape, ","),
                                                       "] has over ", max_elements, " elements"));
    }
    count *= factor;
  }
  return empty ? 0 : count;
}

}  // namespace burnish
