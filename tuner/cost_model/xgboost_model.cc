#include "tuner/cost_model/xgboost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/sha256.h"
#include "base/status_macros.h"

namespace burnish {
namespace {

// A row weighs (best latency / its latency) to this power, since what counts is the order of the
// fast ones: 0 and 1 ordered two to four pairs in a hundred worse (tests/bench/cost_model_quality,
// trees alone, 540 points of six layers on Zen 4). But at least kWeightMin: what failed must be
// seen.
constexpr double kWeightPower = 3, kWeightMin = 0.1;
// How much evidence for full trust in the prior comes before any row: that of rows whose priors
// spread by this much, ln squared.
constexpr double kTrustRidge = 1;

}  // namespace

XgboostModel::XgboostModel(const XgboostModelOptions& options)
    : options_(options), rows_(options.columns) {
  CHECK_GE(options.prior_column, 0);
  CHECK_GE(options.analytic_column_count, 1);
  CHECK_LE(options.prior_column + options.analytic_column_count, options.columns);
  CHECK_GE(options.threads, 1);
}

absl::Status XgboostModel::CheckRows(const FeatureMatrix& features) const {
  RETURN_IF_ERROR(CheckColumns(features, options_.columns));
  for (int i = 0; i < features.rows(); ++i) {
    const absl::Span<const float> row = features.row(i);
    for (size_t column = 0; column < row.size(); ++column) {
      const bool is_prior =
          options_.use_prior && column == static_cast<size_t>(options_.prior_column);
      if (std::isinf(row[column]) || (is_prior && std::isnan(row[column]))) {
        return absl::InvalidArgumentError(
            absl::StrCat("got ", row[column], " in row ", i, ", column ", column));
      }
    }
  }
  return absl::OkStatus();
}

double XgboostModel::PriorOf(absl::Span<const float> row) const {
  return options_.use_prior ? row[options_.prior_column] : 0;
}

FeatureMatrix XgboostModel::InputsOf(const FeatureMatrix& features, int first, int count) const {
  FeatureMatrix inputs(options_.columns);
  std::vector<float> row;
  for (int i = first; i < first + count; ++i) {
    row.assign(features.row(i).begin(), features.row(i).end());
    if (!options_.use_prior) {
      std::fill_n(row.begin() + options_.prior_column, options_.analytic_column_count,
                  std::numeric_limits<float>::quiet_NaN());
    }
    inputs.AddRow(row);
  }
  return inputs;
}

absl::StatusOr<std::vector<float>> XgboostModel::Predict(const FeatureMatrix& features) const {
  RETURN_IF_ERROR(CheckRows(features));
  RETURN_IF_ERROR(Train());
  std::vector<float> residuals(features.rows(), 0);
  if (trees_ != nullptr) {
    ASSIGN_OR_RETURN(residuals, trees_->Predict(InputsOf(features, 0, features.rows())));
  }
  std::vector<float> scores;
  scores.reserve(residuals.size());
  for (int i = 0; i < features.rows(); ++i) {
    scores.push_back(static_cast<float>(-(trust_ * PriorOf(features.row(i)) + residuals[i])));
  }
  return scores;
}

absl::Status XgboostModel::Update(absl::string_view task, const FeatureMatrix& features,
                                  absl::Span<const Measurement> results) {
  RETURN_IF_ERROR(CheckRows(features));
  RETURN_IF_ERROR(CheckResults(features, results));
  if (results.empty()) return absl::OkStatus();
  rows_.Add(task, features, results);
  is_stale_ = true;
  return absl::OkStatus();
}

// The slope of slowdowns over priors, by weighted ridge regression toward 1; not negative. The
// analytic model spreads candidates further apart than machines do: trees that had to undo that
// first learned less (78 % of pairs ordered right by rows of other layers, 73 % without;
// tests/bench/cost_model_quality, 540 points of six layers on Zen 4).
double XgboostModel::FitTrust(absl::Span<const double> priors, absl::Span<const double> slowdowns,
                              absl::Span<const float> weights) {
  double weight = 0, prior_mean = 0, slowdown_mean = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    weight += weights[i];
    prior_mean += weights[i] * priors[i];
    slowdown_mean += weights[i] * slowdowns[i];
  }
  if (weight <= 0) return 1;
  prior_mean /= weight;
  slowdown_mean /= weight;
  double covariance = 0, variance = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double offset = priors[i] - prior_mean;
    covariance += weights[i] * offset * (slowdowns[i] - slowdown_mean);
    variance += weights[i] * offset * offset;
  }
  return std::max((covariance + kTrustRidge) / (variance + kTrustRidge), 0.0);
}

absl::Status XgboostModel::Train() const {
  if (!is_stale_) return absl::OkStatus();
  std::vector<double> priors;
  for (int i = 0; i < rows_.count(); ++i) priors.push_back(PriorOf(rows_.features().row(i)));
  const std::vector<double> relative_priors = rows_.RelativeToTask(priors);
  const std::vector<double> slowdowns = rows_.LogSlowdowns();
  const int count = std::min(rows_.count(), kRowsMax), first = rows_.count() - count;
  std::vector<float> labels, weights;
  for (int i = first; i < rows_.count(); ++i) {
    weights.push_back(
        static_cast<float>(std::max(std::exp(-slowdowns[i] * kWeightPower), kWeightMin)));
  }
  const double trust = FitTrust(absl::MakeConstSpan(relative_priors).subspan(first),
                                absl::MakeConstSpan(slowdowns).subspan(first), weights);
  for (int i = first; i < rows_.count(); ++i) {
    labels.push_back(static_cast<float>(slowdowns[i] - trust * relative_priors[i]));
  }
  std::unique_ptr<BoostedTrees> trees;
  if (count > 0) {
    ASSIGN_OR_RETURN(trees,
                     BoostedTrees::Train(InputsOf(rows_.features(), first, count), labels, weights,
                                         {.seed = options_.seed, .threads = options_.threads}));
  }
  trust_ = trust;
  trees_ = std::move(trees);
  is_stale_ = false;
  return absl::OkStatus();
}

std::string XgboostModel::SnapshotId() const {
  const std::string text =
      absl::StrCat(options_.use_prior, ":", options_.prior_column, ":",
                   options_.analytic_column_count, ":", options_.seed, ":", rows_.Save());
  const Sha256Digest digest = Sha256Of(text.data(), text.size());
  return std::string(digest.begin(), digest.end());
}

absl::Status XgboostModel::Load(absl::string_view bytes) {
  ASSIGN_OR_RETURN(TrainingRows rows, TrainingRows::Load(bytes, options_.columns));
  RETURN_IF_ERROR(CheckRows(rows.features()));
  rows_ = std::move(rows);
  is_stale_ = true;
  return absl::OkStatus();
}

}  // namespace burnish
