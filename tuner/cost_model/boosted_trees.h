// Gradient-boosted regression trees: the one place that knows XGBoost.
// Source: Chen and Guestrin, "XGBoost: a scalable tree boosting system", KDD 2016.
#ifndef TUNER_COST_MODEL_BOOSTED_TREES_H_
#define TUNER_COST_MODEL_BOOSTED_TREES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tuner/cost_model/feature_matrix.h"

namespace burnish {

struct BoostedTreesOptions {
  int rounds = 60;  // Trees.
  int depth_max = 6;
  double learning_rate = 0.15;
  uint64_t seed = 0;
  int threads = 1;  // Never all cores: training may run beside a timed section.
};

class BoostedTrees {
 public:
  // Squared error on `labels`, each times its weight. Sizes are equal, at least one row; NaN stands
  // for a missing feature. Deterministic. INTERNAL: the library's reason, as for an infinite value.
  static absl::StatusOr<std::unique_ptr<BoostedTrees>> Train(const FeatureMatrix& features,
                                                             absl::Span<const float> labels,
                                                             absl::Span<const float> weights,
                                                             const BoostedTreesOptions& options);
  ~BoostedTrees();
  BoostedTrees(const BoostedTrees&) = delete;
  BoostedTrees& operator=(const BoostedTrees&) = delete;

  // One value a row. The features have as many columns as those of training. Not thread-safe.
  absl::StatusOr<std::vector<float>> Predict(const FeatureMatrix& features) const;

 private:
  explicit BoostedTrees(void* booster) : booster_(booster) {}

  void* booster_;  // XGBoost's handle.
};

}  // namespace burnish

#endif  // TUNER_COST_MODEL_BOOSTED_TREES_H_
