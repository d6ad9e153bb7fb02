// The analytic model alone, which learns nothing: what measuring has to add to.
#ifndef TUNER_COST_MODEL_PRIOR_MODEL_H_
#define TUNER_COST_MODEL_PRIOR_MODEL_H_

#include <vector>

#include "tuner/cost_model/cost_model.h"

namespace burnish {

// Scores -x of a row's estimate x, ln seconds, whatever it is told.
class PriorModel : public CostModel {
 public:
  // The estimate is column `prior_column` of `columns`.
  PriorModel(int columns, int prior_column);

  absl::StatusOr<std::vector<float>> Predict(const FeatureMatrix& features) const override;
  absl::Status Update(absl::string_view task, const FeatureMatrix& features,
                      absl::Span<const Measurement> results) override;

 private:
  const int columns_, prior_column_;
};

}  // namespace burnish

#endif  // TUNER_COST_MODEL_PRIOR_MODEL_H_
