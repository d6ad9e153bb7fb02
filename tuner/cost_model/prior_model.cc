#include "tuner/cost_model/prior_model.h"

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace burnish {

PriorModel::PriorModel(int columns, int prior_column)
    : columns_(columns), prior_column_(prior_column) {
  CHECK_GE(prior_column, 0);
  CHECK_LT(prior_column, columns);
}

absl::StatusOr<std::vector<float>> PriorModel::Predict(const FeatureMatrix& features) const {
  if (features.columns() != columns_) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", features.columns(), " features, want ", columns_));
  }
  std::vector<float> scores;
  for (int i = 0; i < features.rows(); ++i) scores.push_back(-features.row(i)[prior_column_]);
  return scores;
}

absl::Status PriorModel::Update(absl::string_view task, const FeatureMatrix& features,
                                absl::Span<const Measurement> results) {
  if (features.columns() == columns_ && static_cast<size_t>(features.rows()) == results.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("got ", features.rows(), " x ", features.columns(),
                                                 " features of ", results.size(), " results, want ",
                                                 columns_, " columns"));
}

}  // namespace burnish
