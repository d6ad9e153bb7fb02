// The features of many candidates, as every cost model takes them.
#ifndef TUNER_COST_MODEL_FEATURE_MATRIX_H_
#define TUNER_COST_MODEL_FEATURE_MATRIX_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "base/check.h"

namespace burnish {

// Shape [rows, columns], row-major: one row per candidate, one column per feature. What a column
// means, and its unit, is said where the features are extracted.
class FeatureMatrix {
 public:
  // `columns` >= 1, the same for all rows.
  explicit FeatureMatrix(int columns) : columns_(columns) { CHECK_GE(columns, 1); }

  int columns() const { return columns_; }
  int rows() const { return static_cast<int>(values_.size() / static_cast<size_t>(columns_)); }

  // `row`: exactly `columns` values; NaN stands for a value that is not known.
  void AddRow(absl::Span<const float> row) {
    CHECK_EQ(row.size(), static_cast<size_t>(columns_));
    values_.insert(values_.end(), row.begin(), row.end());
  }

  absl::Span<const float> row(int index) const {
    CHECK_GE(index, 0);
    CHECK_LT(index, rows());
    return absl::MakeConstSpan(values_).subspan(
        static_cast<size_t>(index) * static_cast<size_t>(columns_), static_cast<size_t>(columns_));
  }

  // All rows after each other.
  absl::Span<const float> values() const { return values_; }

 private:
  int columns_;
  std::vector<float> values_;
};

}  // namespace burnish

#endif  // TUNER_COST_MODEL_FEATURE_MATRIX_H_
