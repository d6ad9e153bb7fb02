// Predicts how fast a candidate will run, so that few candidates need to be built and run.
// Source: Zheng et al., "Ansor", OSDI 2020, section 5.2.
#ifndef TUNER_COST_MODEL_COST_MODEL_H_
#define TUNER_COST_MODEL_COST_MODEL_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/measurement.h"
#include "tuner/cost_model/feature_matrix.h"

namespace burnish {

// Not thread-safe: one instance per study, taught by and asked about all of its tasks.
class CostModel {
 public:
  virtual ~CostModel() = default;

  // Returns one score per row, higher is faster: predicted log throughput, no unit; not a latency.
  // Before the first Update the score is the analytic model's (0 for the random model). A function
  // of the seed, the rows given to Update, and the row alone: not of its place in the matrix.
  // INVALID_ARGUMENT: a number of columns that the model was not made or trained for.
  virtual absl::StatusOr<std::vector<float>> Predict(const FeatureMatrix& features) const = 0;

  // Adds to what was given before, and retrains. Row i belongs to results[i]; a failed measurement
  // trains as score 0, because a model that never sees failures keeps proposing them. The model
  // depends on the rows and their order, not on how they were cut into calls: a resumed study gives
  // all of them at once. INVALID_ARGUMENT: sizes that do not fit; then nothing was changed.
  // `task`: any text that is the same for rows of one task and of no other; latencies compare
  // within a task only.
  virtual absl::Status Update(absl::string_view task, const FeatureMatrix& features,
                              absl::Span<const Measurement> results) = 0;
};

// What each model refuses, INVALID_ARGUMENT: other than `columns` features, and other than a result
// a row.
absl::Status CheckColumns(const FeatureMatrix& features, int columns);
absl::Status CheckResults(const FeatureMatrix& features, absl::Span<const Measurement> results);

}  // namespace burnish

#endif  // TUNER_COST_MODEL_COST_MODEL_H_
