// How well estimates of latencies order what was measured, and how near they are.
#ifndef TESTS_BENCH_ESTIMATE_ACCURACY_H_
#define TESTS_BENCH_ESTIMATE_ACCURACY_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace burnish {

// Predicted over measured, within which an estimate counts as right.
inline constexpr double kWithinMin = 0.8, kWithinMax = 1.25;

inline int64_t CountWithin(const std::vector<double>& ratios) {
  return std::count_if(ratios.begin(), ratios.end(),
                       [](double ratio) { return ratio >= kWithinMin && ratio <= kWithinMax; });
}

struct OrderedPairs {
  int64_t right = 0, all = 0;

  double share() const {  // 0 of none.
    return all > 0 ? static_cast<double>(right) / static_cast<double>(all) : 0;
  }
};

// Of one task: pairs whose latencies differ by more than 5 %, for closer ones say more of noise. A
// latency of 0 or less is none. `costs`: as many as latencies, less is faster.
inline OrderedPairs CountPairs(const std::vector<double>& latencies,
                               const std::vector<double>& costs) {
  constexpr double kPairRatioMin = 1.05;
  OrderedPairs pairs;
  for (size_t i = 0; i < latencies.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double a = latencies[i], b = latencies[j];
      if (a <= 0 || b <= 0 || std::max(a, b) <= kPairRatioMin * std::min(a, b)) continue;
      ++pairs.all;
      pairs.right += (costs[i] < costs[j]) == (a < b);
    }
  }
  return pairs;
}

}  // namespace burnish

#endif  // TESTS_BENCH_ESTIMATE_ACCURACY_H_
