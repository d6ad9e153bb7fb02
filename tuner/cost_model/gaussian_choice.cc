#include "tuner/cost_model/gaussian_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace burnish {
namespace {

using Row = std::vector<double>;

// How many standard deviations faster than expected a candidate is taken to be. 1 to 3 differ
// little (tests/bench/search/README.md, "What was tried").
constexpr double kOptimism = 1.5;
// A candidate that is slower than the best by more than this, in ln, or that failed, counts as so
// much slower: how slow it is tells nothing of where the fast ones are, and takes the process's
// variance with it.
constexpr double kWorst = 1;
// Of what is believed before there is data: the length, in the root mean square of the columns'
// standard deviations, over which candidates are alike; noise as a share of the variance; the
// standard deviation of ln(latency).
constexpr double kFirstLength = 1, kFirstNoise = 0.01, kFirstDeviation = 0.3;
// With fewer rows than this the first beliefs hold.
constexpr int kFitRowsMin = 8;
constexpr double kLengths[] = {0.25, 0.5, 1, 2, 4};
constexpr double kNoises[] = {0.001, 0.01, 0.05};
// Evidence for the first beliefs, in rows, of the variance; in ln squared, of the prior's trust.
constexpr double kVarianceRows = 2, kTrustRidge = 0.05;
// Least standard deviation of measured ones, in ln: below it is what a clock says.
constexpr double kDeviationMin = 0.02;
// Rows of the process: a fit takes time with their third power, 15 fits of 256 about a tenth of a
// second. Half are the fastest ones, half the latest.
constexpr int kRowsMax = 256;
// Columns whose correlation is beyond this count once: of a feature that is said in ten ways
// differences would count ten times.
constexpr double kSameColumn = 0.95;
constexpr double kLeastVariance = 1e-9;
// A column counts by its squared correlation with the values, and by this over their number: after
// a few measurements all count nearly alike, later those that say what is fast.
constexpr double kRelevanceRows = 1;
// Of the candidates, so many are asked for which one stands for most of the others.
constexpr int kStandForMax = 512;

double MeanOf(absl::Span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Columns that vary, each with mean 0 and deviation 1, none of them as good as another.
std::vector<Row> Columns(const FeatureMatrix& features) {
  const int count = features.rows();
  std::vector<Row> columns;
  for (int c = 0; c < features.columns(); ++c) {
    Row column(count);
    double sum = 0;
    int known = 0;
    for (int i = 0; i < count; ++i) {
      column[i] = features.row(i)[c];
      if (std::isfinite(column[i])) sum += column[i], ++known;
    }
    if (known == 0) continue;
    const double mean = sum / known;
    double squares = 0;
    for (double& value : column) {
      value = std::isfinite(value) ? value - mean : 0;
      squares += value * value;
    }
    const double deviation = std::sqrt(squares / count);
    if (deviation < 1e-6 * (1 + std::abs(mean))) continue;
    for (double& value : column) value /= deviation;
    const bool is_new = std::none_of(columns.begin(), columns.end(), [&](const Row& other) {
      const double product =
          std::inner_product(column.begin(), column.end(), other.begin(), 0.0) / count;
      return std::abs(product) > kSameColumn;
    });
    if (is_new) columns.push_back(std::move(column));
  }
  return columns;
}

// Matern's covariance of order 5/2, of a squared distance.
double Covariance(double squared) {
  const double d = std::sqrt(5 * squared);
  return (1 + d + d * d / 3) * std::exp(-d);
}

// Lower triangle, in place; false: not positive.
bool Cholesky(std::vector<Row>& a) {
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      if (i != j) {
        a[i][j] = sum / a[j][j];
      } else if (sum <= 0) {
        return false;
      } else {
        a[i][i] = std::sqrt(sum);
      }
    }
  }
  return true;
}

// L^-1 b.
Row Forward(const std::vector<Row>& l, Row b) {
  for (size_t i = 0; i < b.size(); ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= l[i][k] * b[k];
    b[i] /= l[i][i];
  }
  return b;
}

class Process {
 public:
  explicit Process(const GaussianChoice& choice) : choice_(choice) {
    const std::vector<Row> columns = Columns(choice.features);
    dimensions_ = columns.size();
    points_.resize(dimensions_ * static_cast<size_t>(choice.features.rows()));
    for (size_t c = 0; c < dimensions_; ++c) {
      for (size_t i = 0; i < columns[c].size(); ++i) points_[i * dimensions_ + c] = columns[c][i];
    }
    CHECK_EQ(choice.features.rows(), choice.candidate_count + choice.pending_count +
                                         static_cast<int>(choice.log_latencies.size()));
    CHECK(choice.prior.empty() ||
          choice.prior.size() == static_cast<size_t>(choice.features.rows()));
    asked_count_ = choice.candidate_count + choice.pending_count;
    mean_.assign(asked_count_, 0);
    variance_.assign(asked_count_, 1);
    Learn();
  }

  std::vector<int> Take(int count) {
    for (int i = choice_.candidate_count; i < asked_count_; ++i) Condition(i);
    if (rows_.empty() && choice_.prior.empty()) return TakeUnknown(count);
    std::vector<bool> taken(choice_.candidate_count, false);
    std::vector<int> chosen;
    while (static_cast<int>(chosen.size()) < std::min(count, choice_.candidate_count)) {
      int best = -1;
      double least = std::numeric_limits<double>::infinity();
      for (int i = 0; i < choice_.candidate_count; ++i) {
        if (taken[i]) continue;
        const double bound = mean_[i] - kOptimism * deviation_ * std::sqrt(variance_[i] * scale_);
        if (best < 0 || bound < least) best = i, least = bound;
      }
      taken[best] = true;
      chosen.push_back(best);
      // As if it had been measured: what is near it is less unknown now.
      Condition(best);
    }
    return chosen;
  }

 private:
  // While nothing is known: in turn what most others are like, and what is like none of those
  // taken. The first alone misses kinds of candidates that are few, the second alone takes corners
  // of the space, which are slow more often than chance.
  std::vector<int> TakeUnknown(int count) {
    const int total = choice_.candidate_count;
    const int look = std::min(total, kStandForMax);
    std::vector<Row> covariances(look, Row(look));
    for (int a = 0; a < look; ++a) {
      for (int b = 0; b <= a; ++b) covariances[a][b] = covariances[b][a] = CovarianceOf(a, b);
    }
    // How much less would be unknown of all, were it measured.
    const auto told = [&](int a) {
      Row known = covariances[a];
      TakeOffKnown(a, known);
      return std::inner_product(known.begin(), known.end(), known.begin(), 0.0) /
             (variance_[a] + noise_);
    };
    std::vector<bool> taken(total, false);
    std::vector<int> chosen;
    while (static_cast<int>(chosen.size()) < std::min(count, total)) {
      const bool far = chosen.size() % 2 == 1 || static_cast<int>(chosen.size()) >= look;
      int best = -1;
      double most = 0;
      for (int i = 0; i < (far ? total : look); ++i) {
        if (taken[i]) continue;
        const double value = far ? variance_[i] : told(i);
        if (best < 0 || value > most) best = i, most = value;
      }
      taken[best] = true;
      chosen.push_back(best);
      Condition(best);
    }
    return chosen;
  }

  // Mean over the columns.
  double SquaredDistance(int a, int b) const {
    if (dimensions_ == 0) return 0;
    const double* x = points_.data() + static_cast<size_t>(a) * dimensions_;
    const double* y = points_.data() + static_cast<size_t>(b) * dimensions_;
    double sum = 0;
    for (size_t c = 0; c < dimensions_; ++c) sum += (x[c] - y[c]) * (x[c] - y[c]);
    return sum / static_cast<double>(dimensions_);
  }

  double CovarianceOf(int a, int b) const {
    return Covariance(SquaredDistance(a, b) / (length_ * length_));
  }

  double Prior(int row) const { return choice_.prior.empty() ? 0 : choice_.prior[row]; }

  // The rows that the process learns from, and what it learns: ln(latency), none too slow.
  void ChooseRows() {
    const absl::Span<const double> all = choice_.log_latencies;
    const int count = static_cast<int>(all.size());
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    if (count > kRowsMax) {
      const auto older_end = order.end() - kRowsMax / 2;
      std::sort(order.begin(), older_end,
                [&](int a, int b) { return all[a] != all[b] ? all[a] < all[b] : a < b; });
      order.erase(order.begin() + kRowsMax / 2, older_end);
    }
    double best = std::numeric_limits<double>::infinity();
    for (const int i : order) best = std::min(best, all[i]);
    for (const int i : order) {
      rows_.push_back(asked_count_ + i);
      values_.push_back(std::isfinite(best) ? std::min(all[i], best + kWorst) : 0);
    }
  }

  // How much of what the prior says shows in the values: a slope, by ridge regression toward 1.
  double Trust() const {
    if (choice_.prior.empty() || rows_.size() < 3) return 1;
    Row priors;
    for (const int row : rows_) priors.push_back(Prior(row));
    const double prior_mean = MeanOf(priors), value_mean = MeanOf(values_);
    double covariance = 0, variance = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      covariance += (priors[i] - prior_mean) * (values_[i] - value_mean);
      variance += (priors[i] - prior_mean) * (priors[i] - prior_mean);
    }
    const auto count = static_cast<double>(rows_.size());
    return std::max((covariance / count + kTrustRidge) / (variance / count + kTrustRidge), 0.0);
  }

  void Learn() {
    ChooseRows();
    const double trust = Trust();
    for (int i = 0; i < asked_count_; ++i) mean_[i] = trust * Prior(i);
    const size_t n = rows_.size();
    if (n == 0) return;
    for (size_t i = 0; i < n; ++i) values_[i] -= trust * Prior(rows_[i]);
    const double center = MeanOf(values_);
    double squares = 0;
    for (double& value : values_) {
      value -= center;
      squares += value * value;
    }
    deviation_ = std::max(std::sqrt(squares / static_cast<double>(n)), kDeviationMin);
    for (double& value : values_) value /= deviation_;
    const std::vector<Row> lower = Fit();
    const Row weights = Forward(lower, values_);
    for (int i = 0; i < asked_count_; ++i) mean_[i] += center;
    // Row by row of the triangle, over all candidates at a time.
    for (size_t r = 0; r < n; ++r) {
      Row known(asked_count_);
      for (int i = 0; i < asked_count_; ++i) {
        known[i] = CovarianceOf(rows_[r], i);
      }
      for (size_t k = 0; k < r; ++k) {
        const double factor = lower[r][k];
        const Row& before = known_[k];
        for (int i = 0; i < asked_count_; ++i) known[i] -= factor * before[i];
      }
      for (int i = 0; i < asked_count_; ++i) {
        known[i] /= lower[r][r];
        mean_[i] += deviation_ * weights[r] * known[i];
      }
      Explain(std::move(known));
    }
  }

  // Stretches each column by what it tells of the values; the mean of the squares stays.
  void Weigh() {
    const auto count = static_cast<double>(rows_.size());
    const double squares = std::inner_product(values_.begin(), values_.end(), values_.begin(), 0.0);
    Row factors(dimensions_);
    double sum = 0;
    for (size_t c = 0; c < dimensions_; ++c) {
      Row column;
      for (const int row : rows_) {
        column.push_back(points_[static_cast<size_t>(row) * dimensions_ + c]);
      }
      const double mean = MeanOf(column);
      double product = 0, own = 0;
      for (size_t i = 0; i < column.size(); ++i) {
        own += (column[i] - mean) * (column[i] - mean);
        product += (column[i] - mean) * values_[i];
      }
      // Of a column or of values that do not vary nothing is told.
      const double known = own > 0 && squares > 0 ? product * product / (own * squares) : 0;
      sum += factors[c] = known + kRelevanceRows / count;
    }
    for (double& factor : factors) {
      factor = std::sqrt(factor * static_cast<double>(dimensions_) / sum);
    }
    for (size_t i = 0; i < points_.size(); ++i) points_[i] *= factors[i % dimensions_];
  }

  // Length, noise and scale of the greatest likelihood; the triangle of their covariance.
  std::vector<Row> Fit() {
    const size_t n = rows_.size();
    if (n >= kFitRowsMin) Weigh();
    std::vector<Row> squared(n, Row(n));
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j <= i; ++j) squared[i][j] = SquaredDistance(rows_[i], rows_[j]);
    }
    const auto triangle = [&](double length, double noise) {
      std::vector<Row> a = squared;
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j <= i; ++j) a[i][j] = Covariance(a[i][j] / (length * length));
        a[i][i] += noise;
      }
      const bool positive = Cholesky(a);
      CHECK(positive) << "noise is more than rounding";
      return a;
    };
    if (n < kFitRowsMin) return triangle(length_, noise_);
    double most = -std::numeric_limits<double>::infinity();
    std::vector<Row> best;
    for (const double length : kLengths) {
      for (const double noise : kNoises) {
        std::vector<Row> lower = triangle(length, noise);
        const Row weights = Forward(lower, values_);
        const double squares =
            std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0);
        const auto count = static_cast<double>(n);
        const double scale = (squares + kVarianceRows) / (count + kVarianceRows);
        double log_likelihood = -0.5 * count * std::log(scale);
        for (size_t i = 0; i < n; ++i) log_likelihood -= std::log(lower[i][i]);
        // A weak belief in the first length, which decides where the values do not.
        log_likelihood -= 0.5 * std::log(length) * std::log(length);
        if (log_likelihood <= most) continue;
        most = log_likelihood;
        length_ = length;
        noise_ = noise;
        scale_ = scale;
        best = std::move(lower);
      }
    }
    return best;
  }

  // One more measurement whose covariance with all, given those before, is `known`.
  void Explain(Row known) {
    for (int i = 0; i < asked_count_; ++i) {
      variance_[i] = std::max(variance_[i] - known[i] * known[i], kLeastVariance);
    }
    known_.push_back(std::move(known));
  }

  // Off covariances of `asked` with the first of what is asked for, what measurements explain.
  void TakeOffKnown(int asked, Row& covariances) const {
    for (const Row& before : known_) {
      const double factor = before[asked];
      for (size_t i = 0; i < covariances.size(); ++i) covariances[i] -= factor * before[i];
    }
  }

  void Condition(int asked) {
    Row known(asked_count_);
    for (int i = 0; i < asked_count_; ++i) {
      known[i] = CovarianceOf(asked, i);
    }
    TakeOffKnown(asked, known);
    const double deviation = std::sqrt(variance_[asked] + noise_);
    for (double& value : known) value /= deviation;
    Explain(std::move(known));
  }

  const GaussianChoice& choice_;
  size_t dimensions_ = 0;
  Row points_;           // [row][column].
  int asked_count_ = 0;  // Candidates and pending ones.
  std::vector<int> rows_;
  Row values_;  // Of these: residuals of the prior in units of deviation_.
  double length_ = kFirstLength, noise_ = kFirstNoise, scale_ = 1, deviation_ = kFirstDeviation;
  Row mean_, variance_;     // Of what is asked for.
  std::vector<Row> known_;  // Of each measurement, what it explains of what is asked for.
};

}  // namespace

std::vector<int> Choose(const GaussianChoice& choice, int count) {
  if (choice.candidate_count == 0 || count <= 0) return {};
  return Process(choice).Take(count);
}

}  // namespace burnish
