#include "base/rng.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

using ::testing::ElementsAre;

// The outputs of the authors' C code (prng.di.unimi.it) for this seed and this state.
TEST(RngTest, SplitMix64GivesThePublishedOutputs) {
  uint64_t state = 1234567;
  std::vector<uint64_t> got;
  for (int i = 0; i < 5; ++i) got.push_back(SplitMix64(state));
  EXPECT_THAT(got, ElementsAre(6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                               4593380528125082431u, 16408922859458223821u));
}

TEST(RngTest, Xoshiro256StarStarGivesThePublishedOutputs) {
  Rng rng(std::array<uint64_t, 4>{1, 2, 3, 4});
  std::vector<uint64_t> got;
  for (int i = 0; i < 10; ++i) got.push_back(rng.Next());
  EXPECT_THAT(got, ElementsAre(11520u, 0u, 1509978240u, 1215971899390074240u, 1216172134540287360u,
                               607988272756665600u, 16172922978634559625u, 8476171486693032832u,
                               10595114339597558777u, 2904607092377533576u));
}

TEST(RngTest, StreamsThatDifferInOneFieldDiffer) {
  const RngStream base = {.seed = 1, .purpose = "ab", .task = "c", .round = 2, .index = 3};
  const uint64_t first = Rng(base).Next();
  EXPECT_EQ(Rng(base).Next(), first);
  RngStream other = base;
  other.seed = 2;
  EXPECT_NE(Rng(other).Next(), first);
  other = base;
  other.purpose = "a";
  other.task = "bc";  // The same bytes, cut elsewhere.
  EXPECT_NE(Rng(other).Next(), first);
  other = base;
  other.round = 3;
  EXPECT_NE(Rng(other).Next(), first);
  other = base;
  other.index = 2;
  EXPECT_NE(Rng(other).Next(), first);
}

TEST(RngTest, BelowIsUniformAndStaysInRange) {
  Rng rng(7);
  std::array<int, 6> counts = {};
  for (int i = 0; i < 60000; ++i) ++counts.at(rng.Below(6));
  // 10,000 each; the standard deviation of a count is 91.
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(rng.Below(1), 0u);
}

TEST(RngTest, BelowHasNoModuloBiasAtABoundThatAModuloWouldFavour) {
  // Modulo 3 * 2^62 would give the lowest third half of all draws.
  Rng rng(8);
  const uint64_t third = uint64_t{1} << 62;
  int low = 0;
  for (int i = 0; i < 30000; ++i) low += rng.Below(3 * third) < third;
  EXPECT_NEAR(low, 10000, 500);
}

TEST(RngTest, BetweenReachesBothEnds) {
  Rng rng(9);
  std::array<int, 3> counts = {};
  for (int i = 0; i < 300; ++i) ++counts.at(rng.Between(-1, 1) + 1);
  for (const int count : counts) EXPECT_GT(count, 50);
  EXPECT_EQ(rng.Between(5, 5), 5);
  Rng a(1), b(1);
  EXPECT_EQ(static_cast<uint64_t>(a.Between(std::numeric_limits<int64_t>::min(),
                                            std::numeric_limits<int64_t>::max())),
            b.Next() + (uint64_t{1} << 63));
}

TEST(RngTest, UniformHasTheMomentsOfItsDistribution) {
  Rng rng(10);
  double sum = 0, squares = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = rng.Uniform();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);
  EXPECT_NEAR(squares / n, 1.0 / 3, 0.005);
}

TEST(RngTest, NormalHasTheQuantilesOfItsDistribution) {
  Rng rng(11);
  const int n = 100000;
  const std::vector<double> points = {-3, -2, -1, 0, 1, 2, 3};
  std::vector<double> below(points.size(), 0);
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = rng.Normal();
    sum += x;
    squares += x * x;
    for (size_t p = 0; p < points.size(); ++p) below[p] += x < points[p];
  }
  EXPECT_NEAR(sum / n, 0, 0.015);
  EXPECT_NEAR(squares / n, 1, 0.02);
  for (size_t p = 0; p < points.size(); ++p) {
    EXPECT_NEAR(below[p] / n, 0.5 * std::erfc(-points[p] / std::sqrt(2.0)), 0.006);
  }
}

// The polar method written out once more with libm's logarithm: ours may differ in the last bits.
TEST(RngTest, NormalAgreesWithTheFormulaInLibm) {
  Rng rng(12), same(12);
  for (int i = 0; i < 1000; ++i) {
    double u = 0, r2 = 0;
    do {
      u = 2 * same.Uniform() - 1;
      const double v = 2 * same.Uniform() - 1;
      r2 = u * u + v * v;
    } while (r2 <= 0 || r2 >= 1);
    const double want = u * std::sqrt(-2 * std::log(r2) / r2);
    EXPECT_NEAR(rng.Normal(), want, 1e-13 * std::max(1.0, std::abs(want)));
  }
}

}  // namespace
}  // namespace burnish
