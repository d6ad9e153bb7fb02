#include "tuner/cost_model/prior_model.h"

#include "base/check.h"
#include "base/status_macros.h"

namespace burnish {

PriorModel::PriorModel(int columns, int prior_column)
    : columns_(columns), prior_column_(prior_column) {
  CHECK_GE(prior_column, 0);
  CHECK_LT(prior_column, columns);
}

absl::StatusOr<std::vector<float>> PriorModel::Predict(const FeatureMatrix& features) const {
  RETURN_IF_ERROR(CheckColumns(features, columns_));
  std::vector<float> scores;
  for (int i = 0; i < features.rows(); ++i) scores.push_back(-features.row(i)[prior_column_]);
  return scores;
}

absl::Status PriorModel::Update(absl::string_view task, const FeatureMatrix& features,
                                absl::Span<const Measurement> results) {
  RETURN_IF_ERROR(CheckColumns(features, columns_));
  return CheckResults(features, results);
}

}  // namespace burnish
