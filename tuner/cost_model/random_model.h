// The model that knows nothing: what a learned model must beat.
#ifndef TUNER_COST_MODEL_RANDOM_MODEL_H_
#define TUNER_COST_MODEL_RANDOM_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/cost_model/cost_model.h"

namespace burnish {

// Scores 0 before the first Update; then uniform over [0, 1), drawn anew after each row learned.
class RandomModel : public CostModel {
 public:
  // `columns` >= 1.
  RandomModel(uint64_t seed, int columns);

  absl::StatusOr<std::vector<float>> Predict(const FeatureMatrix& features) const override;
  absl::Status Update(absl::string_view task, const FeatureMatrix& features,
                      absl::Span<const Measurement> results) override;

 private:
  const uint64_t seed_;
  const int columns_;
  int64_t row_count_ = 0;
};

}  // namespace burnish

#endif  // TUNER_COST_MODEL_RANDOM_MODEL_H_
