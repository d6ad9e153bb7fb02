#include "tuner/cli/nearest_name.h"

#include <algorithm>

namespace burnish {
namespace {

// Optimal string alignment: Levenshtein's distance in which neighbours that are swapped count once,
// as fingers do it.
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = std::max(i, j);
        continue;
      }
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string NearestName(absl::string_view typed, const std::vector<std::string>& names) {
  constexpr size_t kDistanceMax = 3;  // As cargo and git do it, within one.
  constexpr size_t kTypedMax = 64;    // Longer is no typing error, and the distance is quadratic.
  if (typed.size() > kTypedMax) return "";
  std::string nearest;
  size_t best = std::min(kDistanceMax, (typed.size() + 2) / 3) + 1;
  for (const std::string& name : names) {
    const size_t distance = Distance(typed, name);
    if (distance >= best) continue;
    best = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace burnish
