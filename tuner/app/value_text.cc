#include "tuner/app/value_text.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace burnish {

std::string FormatBytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1023.5 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  if (unit == 0) return absl::StrFormat("%.0f B", bytes);
  return absl::StrFormat("%.*f %s", bytes >= 9.95 ? 0 : 1, bytes, kUnits[unit]);
}

std::string FormatShape(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ","), "]");
}

std::vector<int64_t> ParseShape(absl::string_view text) {
  std::vector<int64_t> shape;
  for (absl::string_view part : absl::StrSplit(text, absl::ByAnyChar("x,"))) {
    int64_t extent = 0;
    if (!absl::SimpleAtoi(part, &extent) || extent < 0) return {};
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace burnish
