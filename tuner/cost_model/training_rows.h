// What a learned model was taught: features and latencies of candidates of several tasks.
#ifndef TUNER_COST_MODEL_TRAINING_ROWS_H_
#define TUNER_COST_MODEL_TRAINING_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/measurement.h"
#include "tuner/cost_model/feature_matrix.h"

namespace burnish {

class TrainingRows {
 public:
  explicit TrainingRows(int columns) : features_(columns) {}

  // Row i belongs to results[i]; as many columns as said. `task`: any text.
  void Add(absl::string_view task, const FeatureMatrix& features,
           absl::Span<const Measurement> results);

  int count() const { return features_.rows(); }
  const FeatureMatrix& features() const { return features_; }

  // ln(latency / best latency of the row's task), [count]. What is slower than kWorst times the
  // best counts as that; a failure as kFailure times the slowest of its task, so that a model is
  // taught to avoid it (as that much slower than the best in a task of failures only).
  std::vector<double> LogSlowdowns() const;
  static constexpr double kWorst = 32;
  static constexpr double kFailure = 2;

  // values[i] - least of row i's task, [count].
  std::vector<double> RelativeToTask(const std::vector<double>& values) const;

  // Equal rows in equal order have equal bytes.
  std::string Save() const;
  // INVALID_ARGUMENT: bytes that Save did not write, or of another number of columns.
  static absl::StatusOr<TrainingRows> Load(absl::string_view bytes, int columns);

 private:
  std::vector<std::string> tasks_;
  std::vector<int32_t> task_of_;     // In tasks_, [count].
  std::vector<int64_t> latency_ns_;  // Rank latency, [count]; 0: it failed.
  FeatureMatrix features_;
};

}  // namespace burnish

#endif  // TUNER_COST_MODEL_TRAINING_ROWS_H_
