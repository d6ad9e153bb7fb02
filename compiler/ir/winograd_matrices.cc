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

// F(m, taps), stride 1; g is [points, taps].
WinogradMatrices Minimal(int m, int taps) {
  const std::vector<double> all = {0, 1, -1, 2, -2, 0.5, -0.5};
  const int size = m + taps - 1;
  const std::vector<double> points(all.begin(), all.begin() + size - 1);
  WinogradMatrices matrices{.points = size};
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
    for (int k = 0; k < taps; ++k) {
      matrices.g.push_back(infinity ? k == taps - 1 : std::pow(points[i], k) / product);
    }
    std::vector<double> row = Polynomial(points, infinity ? -1 : i);
    row.resize(size, 0);
    matrices.bt.insert(matrices.bt.end(), row.begin(), row.end());
  }
  return matrices;
}

// Output p is g0 d[2p] + g2 d[2p + 2], which is F(m, 2) over the even inputs, plus g1 d[2p + 1].
WinogradMatrices Polyphase(int m) {
  const WinogradMatrices even = Minimal(m, 2);
  const int size = even.points + m;
  WinogradMatrices matrices{.points = size};
  matrices.at.resize(m * size);
  matrices.g.resize(size * kTaps);
  matrices.bt.resize(size * size);
  for (int i = 0; i < even.points; ++i) {
    for (int p = 0; p < m; ++p) matrices.at[p * size + i] = even.at[p * even.points + i];
    for (int k = 0; k < 2; ++k) matrices.g[i * kTaps + 2 * k] = even.g[i * 2 + k];
    for (int j = 0; j < even.points; ++j) {
      matrices.bt[i * size + 2 * j] = even.bt[i * even.points + j];
    }
  }
  for (int p = 0; p < m; ++p) {
    const int i = even.points + p;
    matrices.at[p * size + i] = 1;
    matrices.g[i * kTaps + 1] = 1;
    matrices.bt[i * size + 2 * p + 1] = 1;
  }
  return matrices;
}

}  // namespace

WinogradMatrices MakeWinogradMatrices(int m, int stride) {
  CHECK(m == 2 || m == 4 || m == 6) << m;
  CHECK(stride == 1 || stride == 2) << stride;
  return stride == 1 ? Minimal(m, kTaps) : Polyphase(m);
}

}  // namespace burnish
