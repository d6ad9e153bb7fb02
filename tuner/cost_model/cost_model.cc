#include "tuner/cost_model/cost_model.h"

#include "absl/strings/str_cat.h"

namespace burnish {

absl::Status CheckColumns(const FeatureMatrix& features, int columns) {
  if (features.columns() == columns) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("got ", features.columns(), " features, want ", columns));
}

absl::Status CheckResults(const FeatureMatrix& features, absl::Span<const Measurement> results) {
  if (static_cast<size_t>(features.rows()) == results.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("got ", results.size(), " results, want ", features.rows()));
}

}  // namespace burnish
