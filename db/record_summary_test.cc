#include "db/record_summary.h"

#include <limits>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace burnish {
namespace {

Measurement Timed(std::vector<std::vector<int64_t>> processes) {
  Latencies latencies;
  for (std::vector<int64_t>& latency_ns : processes) {
    latencies.processes.push_back({.latency_ns = std::move(latency_ns)});
  }
  return {.outcome = latencies};
}

Measurement Failed(FailureKind kind) { return {.outcome = Failure{.kind = kind}}; }

Record SummaryOf(const std::vector<Measurement>& measurements) {
  Record record;
  Summarize(measurements, record);
  return record;
}

TEST(RecordSummaryTest, RankIsTheTenthOfAHundredAndTheMedianTheFiftieth) {
  std::vector<int64_t> latency_ns(100);
  std::iota(latency_ns.rbegin(), latency_ns.rend(), 1);
  const Record record = SummaryOf({Timed({latency_ns})});
  EXPECT_EQ(record.rank_ns, 10);
  EXPECT_EQ(record.median_ns, 50);
  // Order statistics of the median, n = 100: the 40th and the 60th (Conover, table A3, give or
  // take the rank that the approximation rounds).
  EXPECT_NEAR(record.interval_low_ns, 40, 1);
  EXPECT_NEAR(record.interval_high_ns, 60, 1);
  EXPECT_EQ(record.repeat_count, 100);
  EXPECT_EQ(record.process_count, 1);
  EXPECT_TRUE(record.successful());
}

TEST(RecordSummaryTest, OneRepeatIsEverything) {
  const Record record = SummaryOf({Timed({{7}})});
  EXPECT_EQ(record.rank_ns, 7);
  EXPECT_EQ(record.median_ns, 7);
  EXPECT_EQ(record.interval_low_ns, 7);
  EXPECT_EQ(record.interval_high_ns, 7);
}

// A time is confirmed by those who have measured it, and by nobody who has measured another.
TEST(RecordSummaryTest, TimeOfOneAddressIsUnconfirmed) {
  const auto at = [](const std::string& address, int64_t latency_ns, bool unconfirmed = true) {
    Measurement measurement = Timed({{latency_ns}});
    measurement.worker_address = address;
    measurement.unconfirmed = unconfirmed;
    return measurement;
  };
  EXPECT_FALSE(SummaryOf({Timed({{100}})}).unconfirmed);  // From before there was the mark.
  EXPECT_TRUE(SummaryOf({at("a", 100)}).unconfirmed);
  EXPECT_TRUE(SummaryOf({at("a", 100), at("a", 100)}).unconfirmed);
  EXPECT_TRUE(SummaryOf({at("a", 100), at("", 100)}).unconfirmed);
  EXPECT_FALSE(SummaryOf({at("a", 100, false)}).unconfirmed);
  EXPECT_FALSE(SummaryOf({at("a", 100), at("b", 125)}).unconfirmed);
  EXPECT_TRUE(SummaryOf({at("a", 100), at("b", 126)}).unconfirmed);
  // Somebody's word from now on is not covered by what another once confirmed.
  EXPECT_TRUE(SummaryOf({at("a", 100, false), at("b", 10)}).unconfirmed);
  EXPECT_FALSE(SummaryOf({at("a", 100), Failed(FailureKind::kCrashed)}).unconfirmed);
}

TEST(RecordSummaryTest, LatencyAtTheEndOfTheNumbersStaysTheSlowest) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_GT(SummaryOf({Timed({{kMax}})}).rank_ns, kMax / 2);
  Measurement verdict = Timed({{1000}});
  verdict.network_factor = 100;
  const Record record = SummaryOf({Timed({{kMax / 10}}), verdict});
  EXPECT_GT(record.rank_ns, kMax / 2);
  Record fast = record;
  fast.network_factor = 0.01;
  EXPECT_GT(fast.isolated_rank_ns(), kMax / 2);
}

TEST(RecordSummaryTest, ProcessWithManyRepeatsDoesNotOutvoteOneWithFew) {
  // Two of three processes say 20; the third says 10 a hundred times.
  const Record record =
      SummaryOf({Timed({std::vector<int64_t>(100, 10), {20, 20}}), Timed({{20, 20}})});
  EXPECT_EQ(record.median_ns, 20);
  EXPECT_EQ(record.rank_ns, 10);
  EXPECT_EQ(record.process_count, 3);
  EXPECT_EQ(record.repeat_count, 104);
}

TEST(RecordSummaryTest, WrongResultTakesAFastCandidateOut) {
  const Record record = SummaryOf({Timed({{5}}), Failed(FailureKind::kWrongResult), Timed({{5}})});
  EXPECT_FALSE(record.successful());
  EXPECT_EQ(record.rank_ns, 0);
  EXPECT_EQ(record.failure->kind, FailureKind::kWrongResult);
}

TEST(RecordSummaryTest, FailureOfTheMachineDoesNot) {
  EXPECT_TRUE(SummaryOf({Failed(FailureKind::kDeviceError), Timed({{5}})}).successful());
  EXPECT_TRUE(SummaryOf({Timed({{5}}), Failed(FailureKind::kOutOfMemory)}).successful());
  EXPECT_EQ(SummaryOf({Failed(FailureKind::kDeviceError)}).failure->kind,
            FailureKind::kDeviceError);
}

TEST(RecordSummaryTest, OnlyTheLatestMeasurementsCount) {
  std::vector<Measurement> measurements(1000, Timed({{100}}));
  for (int i = 0; i < kSummaryMeasurementsMax; ++i) measurements.push_back(Timed({{200}}));
  const Record record = SummaryOf(measurements);
  EXPECT_EQ(record.rank_ns, 200);
  EXPECT_EQ(record.process_count, kSummaryMeasurementsMax);
}

Measurement InNetwork(int64_t latency_ns, double factor) {
  Measurement measurement = Timed({{latency_ns}});
  measurement.network_factor = factor;
  return measurement;
}

TEST(RecordSummaryTest, VerdictOfTheNetworkMovesTheRankAndNothingElse) {
  const Record record = SummaryOf({Timed({{100, 100}}), InNetwork(170, 0.9)});
  EXPECT_EQ(record.rank_ns, 90);
  EXPECT_EQ(record.network_factor, 0.9);
  EXPECT_EQ(record.isolated_rank_ns(), 100);
  EXPECT_EQ(record.median_ns, 100);
  EXPECT_EQ(record.interval_high_ns, 100);
  EXPECT_EQ(record.process_count, 1);
}

TEST(RecordSummaryTest, LatestVerdictHoldsHoweverOftenTheCandidateIsMeasuredAgain) {
  std::vector<Measurement> measurements = {Timed({{100}}), InNetwork(170, 0.9),
                                           InNetwork(130, 0.95)};
  EXPECT_EQ(SummaryOf(measurements).rank_ns, 95);
  measurements.resize(1000, Timed({{200}}));
  EXPECT_EQ(SummaryOf(measurements).rank_ns, 190);
}

TEST(RecordSummaryTest, VerdictWithoutAMeasurementAloneIsNoSuccess) {
  const Record record = SummaryOf({InNetwork(170, 0.9)});
  EXPECT_FALSE(record.successful());
  EXPECT_FALSE(record.failure.has_value());
}

TEST(RecordSummaryTest, WorstErrorAndLatestBuildAreKept) {
  Measurement first = Timed({{5}});
  first.numerics = {
      .kind = NumericsClass::kAlgorithm, .algorithm = "winograd", .parameter = 4, .error = 3e-5};
  first.build = {.lowered_sha256 = std::string(32, 'l'),
                 .code_sha256 = std::string(32, 'a'),
                 .scratch_bytes = 64};
  Measurement second = Timed({{5}});
  second.numerics = {
      .kind = NumericsClass::kAlgorithm, .algorithm = "winograd", .parameter = 4, .error = 1e-5};
  second.build = {.code_sha256 = std::string(32, 'b'), .scratch_bytes = 128};
  const Record record = SummaryOf({first, second, Timed({{5}})});
  EXPECT_EQ(record.numerics, first.numerics);
  EXPECT_EQ(record.lowered_sha256, std::string(32, 'l'));
  EXPECT_EQ(record.code_sha256, std::string(32, 'b'));
  EXPECT_EQ(record.scratch_bytes, 128);
}

}  // namespace
}  // namespace burnish
