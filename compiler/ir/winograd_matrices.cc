#include "compiler/ir/winograd_matrices.h"

#include <cmath>

#include "base/check.h"

namespace burnish {
namespace {

constexpr int kTaps = 3;

// Coefficients of the product of (x - point) over the points but `skip`, constant first.
std::vector<double> Polynomial(const std::vector<double>& points, int skip) {
  std::vector<double> p = {1};
  for (int i = 0; i < static_cast<int>(points.size()); ++i) {
    if (i == skip) continue;
    p.insert(p.begin(), 0);
    for (size_t k = 0; k + 1 < p.size(); ++k) p[k] -= points[i] * p[k + 1];
  }
  return p;
}

}  // namespace

WinogradMatrices MakeWinogradMatrices(int m) {
  CHECK(m == 2 || m == 4 || m == 6) << m;
  const std::vector<double> all = {0, 1, -1, 2, -2, 0.5, -0.5};
  const int size = m + kTaps - 1;
  const std::vector<double> points(all.begin(), all.begin() + size - 1);
  WinogradMatrices matrices;
  for (int p = 0; p < m; ++p) {
    for (const double point : points) matrices.at.push_back(std::pow(point, p));
    matrices.at.push_back(p == m - 1);
  }
  for (int i = 0; i < size; ++i) {
    const bool infinity = i == size - 1;
    double product = 1;
    for (int j = 0; j < size - 1 && !infinity; ++j) {
      if (j != i) product *= points[i] - points[j];
    }
    for (int k = 0; k < kTaps; ++k) {
      matrices.g.push_back(infinity ? k == kTaps - 1 : std::pow(points[i], k) / product);
    }
    std::vector<double> row = Polynomial(points, infinity ? -1 : i);
    row.resize(size, 0);
    matrices.bt.insert(matrices.bt.end(), row.begin(), row.end());
  }
  return matrices;
}

}  // namespace burnish
