// Chooses which candidates of one task to measure next: a Gaussian process over features says how
// fast each may be and how little is known of it, and a batch takes what is likely fast or unlike
// all that was measured. Sources: Srinivas et al., "Gaussian process optimization in the bandit
// setting", ICML 2010, for the confidence bound; Desautels et al., "Parallelizing
// exploration-exploitation tradeoffs in Gaussian process bandit optimization", JMLR 2014, for
// batches; Rasmussen and Williams, "Gaussian processes for machine learning", 2006, chapters 2, 5.
#ifndef TUNER_COST_MODEL_GAUSSIAN_CHOICE_H_
#define TUNER_COST_MODEL_GAUSSIAN_CHOICE_H_

#include <vector>

#include "absl/types/span.h"
#include "tuner/cost_model/feature_matrix.h"

namespace burnish {

struct GaussianChoice {
  // A row each: first the candidates, then those that are under way, then the measured ones.
  const FeatureMatrix& features;
  int candidate_count = 0;
  int pending_count = 0;
  // ln(latency) of the measured ones; infinite where one failed.
  absl::Span<const double> log_latencies = {};
  // Of each row, what is believed of ln(latency) before anything is measured, but for a constant;
  // empty: nothing.
  absl::Span<const double> prior = {};
};

// Up to `count` of the candidates, by row, the most promising first. What equals in all goes by its
// place. Deterministic. Columns that do not vary tell nothing; NaN counts as the column's mean.
std::vector<int> Choose(const GaussianChoice& choice, int count);

}  // namespace burnish

#endif  // TUNER_COST_MODEL_GAUSSIAN_CHOICE_H_
