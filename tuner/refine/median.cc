#include "tuner/refine/median.h"

#include <algorithm>
#include <cstddef>

namespace burnish {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  if (values.size() % 2 == 1) return values[middle];
  // nth_element leaves all that is smaller in front, so the lower of the two middle values is the
  // largest there.
  return (values[middle] + *std::max_element(values.begin(), values.begin() + middle)) / 2;
}

}  // namespace burnish
