#include "compiler/graph/value_observer.h"

#include <algorithm>
#include <cmath>

namespace burnish {
namespace {

// floor(bin / 2^shift).
int64_t Joined(int64_t bin, int shift) { return bin >> std::min(shift, 63); }

}  // namespace

int64_t ValueObserver::BinOf(double value) const {
  return static_cast<int64_t>(std::floor(std::ldexp(value, -exponent_)));
}

// Bins from least_ to greatest_, as narrow as fits. They never become narrower: ranges only grow.
void ValueObserver::MakeRoom() {
  const int old_exponent = exponent_;
  const int64_t old_first = first_bin_;
  // One too narrow at first, or two. A float has 24 bits, so that of values that differ no bin is
  // narrower than 2^-37 of the largest, and bins have numbers that fit.
  const double width = std::max(greatest_ - least_, 0x1p-126) / static_cast<double>(kBins);
  const double largest = std::max({std::abs(least_), std::abs(greatest_), 0x1p-126});
  const int narrow = std::max(std::ilogb(width), std::ilogb(largest) - 40);
  exponent_ = counts_.empty() ? narrow : std::max(exponent_, narrow);
  while (BinOf(greatest_) - BinOf(least_) >= kBins) ++exponent_;
  first_bin_ = BinOf(least_);
  std::vector<int64_t> counts(BinOf(greatest_) - first_bin_ + 1, 0);
  for (size_t i = 0; i < counts_.size(); ++i) {
    const int64_t bin = Joined(old_first + static_cast<int64_t>(i), exponent_ - old_exponent);
    counts[bin - first_bin_] += counts_[i];
  }
  counts_ = std::move(counts);
}

bool ValueObserver::Add(absl::Span<const float> values) {
  bool is_finite = true;
  float least = 0, greatest = 0;
  bool any = false;
  for (const float v : values) {
    if (!std::isfinite(v)) {
      is_finite = false;
      continue;
    }
    least = any ? std::min(least, v) : v;
    greatest = any ? std::max(greatest, v) : v;
    any = true;
  }
  if (!any) return is_finite;
  const bool grows = is_empty_ || least < least_ || greatest > greatest_;
  least_ = is_empty_ ? least : std::min<double>(least_, least);
  greatest_ = is_empty_ ? greatest : std::max<double>(greatest_, greatest);
  is_empty_ = false;
  if (!keeps_counts_) return is_finite;
  if (grows) MakeRoom();
  const double per_width = std::ldexp(1.0, -exponent_);
  for (const float v : values) {
    if (!std::isfinite(v)) continue;
    ++counts_[static_cast<int64_t>(std::floor(v * per_width)) - first_bin_];
  }
  return is_finite;
}

ValueRange ValueObserver::MinMax() const { return {.least = least_, .greatest = greatest_}; }

ValueRange ValueObserver::Percentile(double percent) const {
  if (counts_.empty()) return MinMax();
  int64_t total = 0;
  for (const int64_t count : counts_) total += count;
  const double cut = static_cast<double>(total) * (100 - percent) / 200;
  size_t low = 0, high = counts_.size() - 1;
  for (double below = static_cast<double>(counts_[low]); below <= cut && low < high;) {
    below += static_cast<double>(counts_[++low]);
  }
  for (double above = static_cast<double>(counts_[high]); above <= cut && high > low;) {
    above += static_cast<double>(counts_[--high]);
  }
  const auto end_of = [&](size_t i) {
    return std::ldexp(static_cast<double>(first_bin_ + static_cast<int64_t>(i)), exponent_);
  };
  return {.least = std::max(least_, end_of(low)),
          .greatest = std::min(greatest_, end_of(high + 1))};
}

}  // namespace burnish
