#include "tuner/cost_model/random_model.h"

#include "base/check.h"
#include "base/rng.h"
#include "base/status_macros.h"

namespace burnish {

RandomModel::RandomModel(uint64_t seed, int columns) : seed_(seed), columns_(columns) {
  CHECK_GE(columns, 1);
}

absl::StatusOr<std::vector<float>> RandomModel::Predict(const FeatureMatrix& features) const {
  RETURN_IF_ERROR(CheckColumns(features, columns_));
  std::vector<float> scores(features.rows(), 0);
  if (row_count_ == 0) return scores;
  for (int i = 0; i < features.rows(); ++i) {
    const absl::Span<const float> row = features.row(i);
    // The row's bytes name the stream, so that its score does not depend on its place.
    Rng rng(RngStream{
        .seed = seed_,
        .purpose = "random model",
        .task = std::string(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float)),
        .round = row_count_});
    scores[i] = static_cast<float>(rng.Uniform());
  }
  return scores;
}

absl::Status RandomModel::Update(absl::string_view task, const FeatureMatrix& features,
                                 absl::Span<const Measurement> results) {
  RETURN_IF_ERROR(CheckColumns(features, columns_));
  RETURN_IF_ERROR(CheckResults(features, results));
  row_count_ += features.rows();
  return absl::OkStatus();
}

}  // namespace burnish
