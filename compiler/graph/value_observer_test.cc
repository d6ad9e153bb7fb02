// Ranges of streams of values, against sorted copies of them.
#include "compiler/graph/value_observer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "base/rng.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

std::vector<float> Draw(uint64_t seed, int count, double scale, double shift) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(rng.Normal() * scale + shift);
  return values;
}

TEST(ValueObserverTest, EndsAreExact) {
  for (const bool counts : {false, true}) {
    ValueObserver observer(counts);
    EXPECT_EQ(observer.MinMax(), (ValueRange{0, 0}));
    EXPECT_TRUE(observer.Add({2.0F, 3.0F}));
    EXPECT_EQ(observer.MinMax(), (ValueRange{2, 3}));
    EXPECT_TRUE(observer.Add({}));
    EXPECT_TRUE(observer.Add({-1e30F, 2.5F}));
    EXPECT_EQ(observer.MinMax(), (ValueRange{static_cast<double>(-1e30F), 3}));
    EXPECT_EQ(observer.Percentile(100), observer.MinMax());
  }
}

TEST(ValueObserverTest, PercentilesAreThoseOfTheSortedValues) {
  for (const double shift : {0.0, 5.0, -1e-6}) {
    for (const double scale : {1.0, 1e-7, 1e20}) {
      ValueObserver observer;
      std::vector<float> all;
      // Each part wider than the one before, so that bins are joined on the way.
      for (int part = 1; part <= 5; ++part) {
        const std::vector<float> values = Draw(part, 20'000, scale * part, shift * scale);
        ASSERT_TRUE(observer.Add(values));
        all.insert(all.end(), values.begin(), values.end());
      }
      std::sort(all.begin(), all.end());
      const double width = static_cast<double>(all.back() - all.front()) / 2048;
      for (const double percent : {90.0, 99.0, 99.9}) {
        const auto cut =
            static_cast<size_t>(static_cast<double>(all.size()) * (100 - percent) / 200);
        const ValueRange range = observer.Percentile(percent);
        EXPECT_NEAR(range.least, all[cut], width) << percent;
        EXPECT_NEAR(range.greatest, all[all.size() - 1 - cut], width) << percent;
        // No more than the cut lies beyond.
        EXPECT_LE(std::lower_bound(all.begin(), all.end(), range.least) - all.begin(),
                  static_cast<int64_t>(cut) + 1);
      }
    }
  }
}

TEST(ValueObserverTest, OrderDoesNotMatter) {
  std::vector<std::vector<float>> parts;
  for (int part = 0; part < 6; ++part) parts.push_back(Draw(part, 500, std::pow(7.0, part), part));
  ValueObserver forward, backward;
  for (const auto& part : parts) forward.Add(part);
  for (size_t i = parts.size(); i-- > 0;) backward.Add(parts[i]);
  for (const double percent : {50.0, 90.0, 99.0, 99.99}) {
    EXPECT_EQ(forward.Percentile(percent), backward.Percentile(percent));
  }
}

TEST(ValueObserverTest, OneOutlierIsCutOff) {
  ValueObserver observer;
  std::vector<float> values(100'000, 0.0F);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 100);
  values[17] = 1e6F;
  observer.Add(values);
  EXPECT_EQ(observer.MinMax().greatest, 1e6);
  // To the end of a bin of the outlier's width.
  EXPECT_LE(observer.Percentile(99.99).greatest, 99 + 1e6 / 2048);
  EXPECT_EQ(observer.Percentile(99.99).least, 0);
}

TEST(ValueObserverTest, WhatIsNotFiniteIsToldAndNotCounted) {
  for (const float bad : {std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), std::nanf("")}) {
    ValueObserver observer;
    EXPECT_FALSE(observer.Add({1.0F, bad, 2.0F}));
    EXPECT_EQ(observer.MinMax(), (ValueRange{1, 2}));
    EXPECT_EQ(observer.Percentile(100), (ValueRange{1, 2}));
  }
}

TEST(ValueObserverTest, EqualAndTinyValuesAreARange) {
  for (const float value : {0.0F, 3.0F, -2.5F, 1e-44F, std::numeric_limits<float>::max()}) {
    ValueObserver observer;
    EXPECT_TRUE(observer.Add({value, value}));
    const ValueRange range = observer.Percentile(99);
    EXPECT_EQ(range.least, value);
    EXPECT_EQ(range.greatest, value);
  }
  ValueObserver widest;
  const float most = std::numeric_limits<float>::max();
  EXPECT_TRUE(widest.Add({-most, 0.0F, most}));
  EXPECT_EQ(widest.Percentile(100), (ValueRange{-most, most}));
}

}  // namespace
}  // namespace burnish
