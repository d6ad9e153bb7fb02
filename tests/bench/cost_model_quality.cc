// How well the cost models order candidates that were measured: random points of the sketches of
// ResNet-50 layers, compiled and timed on one thread of this machine.
// usage: cost_model_quality POINTS_PER_LAYER [FILE]
// FILE keeps the measurements; if it is there already, nothing is measured.
//
// For each layer and each number of rows of it that a model was taught: pairwise accuracy on the
// others (pairs that differ by 5 % or more), and the best of the eight that the model likes best,
// relative to the best of them all.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/cpu_info.h"
#include "base/rng.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace_replay.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "proto/measurement.h"
#include "tests/bench/kernel_timing.h"
#include "tuner/cost_model/feature_matrix.h"
#include "tuner/cost_model/features.h"
#include "tuner/cost_model/xgboost_model.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

// The shapes of ResNet-50, batch 1 (He et al., CVPR 2016, table 1).
const TestConvShape kLayers[] = {
    {1, 28, 28, 128, 128, 3, 1, 1},      {1, 14, 14, 256, 256, 3, 1, 1},
    {1, 14, 14, 1024, 256, 1, 1, 0},     {1, 28, 28, 128, 512, 1, 1, 0, true},
    {1, 7, 7, 512, 2048, 1, 1, 0, true}, {1, 56, 56, 64, 64, 3, 1, 1},
};

constexpr int kTopCount = 8;
// Pairs that are closer than this say more about noise than about models.
constexpr double kPairRatioMin = 1.05;
constexpr int kShuffles = 5;

struct Row {
  int layer = 0;
  double seconds = 0;
  std::vector<float> features;
};

std::vector<Row> Measure(int points_per_layer) {
  auto target = HostTarget(HostCpuInfo(), 1);
  CHECK(target.ok());
  const DeviceModel device = DeviceModelOf(*target);
  std::vector<Row> rows;
  for (int layer = 0; layer < static_cast<int>(std::size(kLayers)); ++layer) {
    const Program program = ConvProgram(kLayers[layer]);
    TraceReplay replay(program);
    std::vector<Trace> traces;
    for (const Sketch& sketch : GenerateSketches(program, device)) {
      for (const Point& point : EnumeratePoints(sketch, 4000)) {
        auto trace = Bind(sketch, point);
        CHECK(trace.ok());
        traces.push_back(*std::move(trace));
      }
    }
    Rng rng(static_cast<uint64_t>(layer));
    for (int i = 0; i < points_per_layer && !traces.empty(); ++i) {
      std::swap(traces[rng.Below(traces.size())], traces.back());
      const auto scheduled = replay.Apply(traces.back());
      traces.pop_back();
      if (!scheduled.ok()) continue;
      const auto lowered = Lower(**scheduled);
      if (!lowered.ok()) continue;
      Compiled compiled = Compile(*lowered, /*avx2=*/false);
      rows.push_back({layer, Time(compiled, 1), ExtractFeatures(*lowered, device, 1)});
    }
    std::fprintf(stderr, "layer %d: %d rows\n", layer, static_cast<int>(rows.size()));
  }
  return rows;
}

void Write(const std::string& path, const std::vector<Row>& rows) {
  std::ofstream file(path);
  for (const Row& row : rows) {
    file << row.layer << ' ' << row.seconds;
    for (float value : row.features) file << ' ' << (std::isnan(value) ? -1e30F : value);
    file << '\n';
  }
}

std::vector<Row> Read(const std::string& path) {
  std::vector<Row> rows;
  std::ifstream file(path);
  Row row;
  row.features.resize(kFeatureCount);
  while (file >> row.layer >> row.seconds) {
    for (float& value : row.features) {
      file >> value;
      if (value < -1e29F) value = NAN;
    }
    rows.push_back(row);
  }
  return rows;
}

struct Taught {
  FeatureMatrix features{kFeatureCount};
  std::vector<Measurement> results;

  void Add(const Row& row) {
    features.AddRow(row.features);
    Measurement& result = results.emplace_back();
    result.outcome =
        Latencies{{ProcessLatencies{.latency_ns = {static_cast<int64_t>(row.seconds * 1e9)}}}};
  }
};

struct Quality {
  double accuracy = 0;       // Of all pairs.
  double fast_accuracy = 0;  // Of pairs with one of the fastest tenth.
  double top = 0;            // Best of the first kTopCount by score / best of all.
};

Quality QualityOf(const CostModel& model, const std::vector<const Row*>& asked) {
  Taught rows;
  for (const Row* row : asked) rows.Add(*row);
  const auto scores = model.Predict(rows.features);
  CHECK(scores.ok());
  std::vector<double> sorted;
  for (const Row* row : asked) sorted.push_back(row->seconds);
  std::sort(sorted.begin(), sorted.end());
  const double fast = sorted[sorted.size() / 10];
  double right = 0, all = 0, fast_right = 0, fast_all = 0;
  for (size_t i = 0; i < asked.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double slower = std::max(asked[i]->seconds, asked[j]->seconds);
      const double faster = std::min(asked[i]->seconds, asked[j]->seconds);
      if (slower < kPairRatioMin * faster) continue;
      const bool hit = ((*scores)[i] > (*scores)[j]) == (asked[i]->seconds < asked[j]->seconds);
      right += hit;
      all += 1;
      if (faster > fast) continue;
      fast_right += hit;
      fast_all += 1;
    }
  }
  std::vector<size_t> order(asked.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return (*scores)[a] > (*scores)[b]; });
  double best = asked[order[0]]->seconds;
  for (size_t i = 0; i < std::min<size_t>(kTopCount, order.size()); ++i) {
    best = std::min(best, asked[order[i]]->seconds);
  }
  return {right / all, fast_right / fast_all, sorted[0] / best};
}

// Average over layers and shuffles. `others`: the rows of the other layers are taught first.
Quality Average(const std::vector<Row>& rows, int taught_count, bool use_prior, bool others) {
  Quality sum;
  int count = 0;
  for (int layer = 0; layer < static_cast<int>(std::size(kLayers)); ++layer) {
    for (int shuffle = 0; shuffle < kShuffles; ++shuffle) {
      std::vector<const Row*> own;
      XgboostModel model({.columns = kFeatureCount, .use_prior = use_prior});
      std::vector<Taught> warm(std::size(kLayers));
      for (const Row& row : rows) {
        if (row.layer == layer) {
          own.push_back(&row);
        } else {
          warm[row.layer].Add(row);
        }
      }
      if (static_cast<int>(own.size()) < taught_count + 2 * kTopCount) continue;
      for (size_t i = 0; others && i < warm.size(); ++i) {
        CHECK(model
                  .Update(std::string(1, static_cast<char>('a' + i)), warm[i].features,
                          warm[i].results)
                  .ok());
      }
      Rng rng(static_cast<uint64_t>(shuffle));
      for (size_t i = own.size(); i > 1; --i) std::swap(own[i - 1], own[rng.Below(i)]);
      Taught taught;
      for (int i = 0; i < taught_count; ++i) taught.Add(*own[i]);
      own.erase(own.begin(), own.begin() + taught_count);
      CHECK(model.Update("t", taught.features, taught.results).ok());
      const Quality one = QualityOf(model, own);
      sum.accuracy += one.accuracy;
      sum.fast_accuracy += one.fast_accuracy;
      sum.top += one.top;
      ++count;
    }
  }
  return {sum.accuracy / count, sum.fast_accuracy / count, sum.top / count};
}

int Main(int argc, char** argv) {
  const int points_per_layer = argc > 1 ? std::atoi(argv[1]) : 100;
  const std::string path = argc > 2 ? argv[2] : "";
  std::vector<Row> rows = path.empty() ? std::vector<Row>() : Read(path);
  if (rows.empty()) {
    rows = Measure(points_per_layer);
    if (!path.empty()) Write(path, rows);
  }
  std::printf("%d rows, %d layers\n%-34s %7s %9s %10s %8s\n", static_cast<int>(rows.size()),
              static_cast<int>(std::size(kLayers)), "model", "taught", "pairs", "fast pairs",
              "best of 8");
  const auto print = [&](const char* name, int taught, bool use_prior, bool others) {
    const Quality quality = Average(rows, taught, use_prior, others);
    std::printf("%-34s %7d %8.1f%% %9.1f%% %7.1f%%\n", name, taught, 100 * quality.accuracy,
                100 * quality.fast_accuracy, 100 * quality.top);
    std::fflush(stdout);
  };
  print("analytic", 0, true, false);
  for (int taught : {16, 32, 64}) print("analytic + trees", taught, true, false);
  for (int taught : {16, 32, 64}) print("trees alone", taught, false, false);
  for (int taught : {0, 16, 64}) print("analytic + trees, other layers too", taught, true, true);
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
