// The one check that every shape of a hostile model goes through. Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_ELEMENT_COUNT_H_
#define COMPILER_FRONTEND_ELEMENT_COUNT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace burnish {

// Product of the dimensions. INVALID_ARGUMENT for a negative dimension, RESOURCE_EXHAUSTED for more
// than `max_elements`; dimensions beside a 0 are bounded as well.
absl::StatusOr<int64_t> CheckedElementCount(const std::vector<int64_t>& shape, int64_t max_elements,
                                            absl::string_view what);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ELEMENT_COUNT_H_
