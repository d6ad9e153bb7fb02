// The range of a value over many runs, in bounded memory.
#ifndef COMPILER_GRAPH_VALUE_OBSERVER_H_
#define COMPILER_GRAPH_VALUE_OBSERVER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compiler/graph/quantize_graph.h"

namespace burnish {

// Counts values in bins whose width is a power of two and which are aligned at 0. Where a value
// lies beyond them, neighbours are joined. So the counts depend on all that was added, and not on
// its order.
class ValueObserver {
 public:
  // Bins: 4,096 to 8,192 over the range, 16 or more a step of 8 bits.
  static constexpr int64_t kBins = 8192;

  // Without counts only the ends are kept, and Percentile gives them.
  explicit ValueObserver(bool counts = true) : keeps_counts_(counts) {}

  // False: a value is NaN or infinite; it counts for nothing.
  bool Add(absl::Span<const float> values);

  // Of all values; 0 to 0 where there are none.
  ValueRange MinMax() const;
  // Without the least and the greatest (100 - percent) / 2 per cent of the values, up to the next
  // bin's end. 100: all of them.
  ValueRange Percentile(double percent) const;

 private:
  int64_t BinOf(double value) const;
  void MakeRoom();

  const bool keeps_counts_;
  bool is_empty_ = true;
  double least_ = 0, greatest_ = 0;
  int exponent_ = 0;       // A bin is 2^exponent_ wide.
  int64_t first_bin_ = 0;  // Of counts_[0]; the bin begins at first_bin_ * 2^exponent_.
  std::vector<int64_t> counts_;
};

}  // namespace burnish

#endif  // COMPILER_GRAPH_VALUE_OBSERVER_H_
