// The learned cost model: gradient-boosted trees on what the analytic model gets wrong.
// Source: Chen et al., "Learning to optimize tensor programs", NeurIPS 2018, for trees on features
// of loops; Zheng et al., "Ansor", OSDI 2020, section 5.2.
#ifndef TUNER_COST_MODEL_XGBOOST_MODEL_H_
#define TUNER_COST_MODEL_XGBOOST_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tuner/cost_model/boosted_trees.h"
#include "tuner/cost_model/cost_model.h"
#include "tuner/cost_model/feature_matrix.h"
#include "tuner/cost_model/training_rows.h"

namespace burnish {

struct XgboostModelOptions {
  int columns = 0;       // Of a feature row, >= 1.
  int prior_column = 0;  // Holds ln(seconds) by the analytic model; finite in every row.
  // Columns from prior_column on that are estimates of the analytic model, >= 1.
  int analytic_column_count = 1;
  // False: the analytic columns are withheld, from the trees too; log latency itself is learned.
  bool use_prior = true;
  uint64_t seed = 0;
  // Of training and prediction. One, unless cores are idle for certain: it may run beside a timed
  // section.
  int threads = 1;
};

// Score = -(trust * prior + residual); both are learned on log latency, the trust first: how much
// of what the prior says shows in the measurements, 1 before there are any. Latencies and priors
// count relative to the best of their task, so that tasks of any size train one model; scores
// compare within a task only. Trained from scratch on the newest kRowsMax rows, at the first
// Predict after an Update: a study that is replayed trains once.
// Besides the errors of CostModel: INVALID_ARGUMENT for an infinite feature or a prior that is not
// finite; INTERNAL for an error of the library.
class XgboostModel : public CostModel {
 public:
  static constexpr int kRowsMax = 4096;

  explicit XgboostModel(const XgboostModelOptions& options);

  absl::StatusOr<std::vector<float>> Predict(const FeatureMatrix& features) const override;

  absl::Status Update(absl::string_view task, const FeatureMatrix& features,
                      absl::Span<const Measurement> results) override;

  // SHA-256, 32 raw bytes, of every row in order and of the options that scores depend on: equal
  // ids give equal scores.
  std::string SnapshotId() const;

  // The rows, not the trees: Load trains again, so that no bytes from outside ever reach the
  // library's own parser.
  std::string Save() const { return rows_.Save(); }

  // Replaces what was learned. INVALID_ARGUMENT: bytes that Save did not write, rows of other
  // features, or values that Update refuses; then nothing was changed.
  absl::Status Load(absl::string_view bytes);

 private:
  absl::Status CheckRows(const FeatureMatrix& features) const;
  double PriorOf(absl::Span<const float> row) const;
  // What the trees see of rows [first, first + count).
  FeatureMatrix InputsOf(const FeatureMatrix& features, int first, int count) const;
  // Trains if there are rows that the trees have not seen.
  absl::Status Train() const;
  static double FitTrust(absl::Span<const double> priors, absl::Span<const double> slowdowns,
                         absl::Span<const float> weights);

  const XgboostModelOptions options_;
  TrainingRows rows_;
  // Functions of the rows.
  mutable bool is_stale_ = false;
  mutable double trust_ = 1;
  mutable std::unique_ptr<BoostedTrees> trees_;  // Null before the first row.
};

}  // namespace burnish

#endif  // TUNER_COST_MODEL_XGBOOST_MODEL_H_
