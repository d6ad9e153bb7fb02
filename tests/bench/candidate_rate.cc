// How many candidates a second one core takes from a point of a sketch to a score, by stage, on the
// layers of ResNet-50: what CandidateFeatureExtractor does, with the program's allocator. A default
// schedule looks at a few hundred points a task, and a round of
// search at a few thousand. CPU time, so that other load on the machine counts little.
// usage: candidate_rate [POINTS_PER_LAYER] [FILTER]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "compiler/ir/fingerprint.h"
#include "compiler/ir/lower.h"
#include "compiler/schedule/test_programs.h"
#include "compiler/schedule/trace.h"
#include "compiler/schedule/trace_replay.h"
#include "compiler/target/device_model.h"
#include "compiler/target/target.h"
#include "proto/measurement.h"
#include "tuner/cost_model/feature_matrix.h"
#include "tuner/cost_model/features.h"
#include "tuner/cost_model/xgboost_model.h"
#include "tuner/sketch/sketch.h"

namespace burnish {
namespace {

struct Layer {
  const char* name;
  TestConvShape shape;
};

// The shapes of ResNet-50, batch 1 (He et al., CVPR 2016, table 1).
const Layer kLayers[] = {
    {"224 3-64 7x7 s2", {1, 224, 224, 3, 64, 7, 2, 3}},
    {"56 64-64 1x1", {1, 56, 56, 64, 64, 1, 1, 0}},
    {"56 64-64 3x3", {1, 56, 56, 64, 64, 3, 1, 1}},
    {"56 64-256 1x1 res", {1, 56, 56, 64, 256, 1, 1, 0, true}},
    {"56 256-512 1x1 s2", {1, 56, 56, 256, 512, 1, 2, 0}},
    {"56 128-128 3x3 s2", {1, 56, 56, 128, 128, 3, 2, 1}},
    {"28 128-512 1x1 res", {1, 28, 28, 128, 512, 1, 1, 0, true}},
    {"28 128-128 3x3", {1, 28, 28, 128, 128, 3, 1, 1}},
    {"14 256-1024 1x1 res", {1, 14, 14, 256, 1024, 1, 1, 0, true}},
    {"14 1024-256 1x1", {1, 14, 14, 1024, 256, 1, 1, 0}},
    {"14 256-256 3x3", {1, 14, 14, 256, 256, 3, 1, 1}},
    {"14 512-512 3x3 s2", {1, 14, 14, 512, 512, 3, 2, 1}},
    {"7 512-2048 1x1 res", {1, 7, 7, 512, 2048, 1, 1, 0, true}},
    {"7 512-512 3x3", {1, 7, 7, 512, 512, 3, 1, 1}},
};

enum Stage { kBind, kApply, kLower, kFeatures, kFingerprint, kPredict, kStageCount };
constexpr const char* kStageNames[] = {"bind",     "apply",       "lower",
                                       "features", "fingerprint", "predict"};
constexpr int kTrainingRows = 1000;

double CpuSeconds() {
  timespec time;
  CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Totals {
  int64_t count = 0;
  int64_t refused = 0;
  double seconds[kStageCount] = {};

  void Print(const char* name) const {
    double sum = 0;
    std::printf("%-22s %6ld %7ld", name, count, refused);
    for (double s : seconds) {
      std::printf(" %11.0f", static_cast<double>(count) / s);
      sum += s;
    }
    std::printf(" %9.0f\n", static_cast<double>(count) / sum);
    std::fflush(stdout);
  }
};

class Measurer {
 public:
  explicit Measurer(DeviceModel device)
      : device_(std::move(device)), model_({.columns = kFeatureCount}) {
    Train();
  }

  // Adds at most `points_max` points of every sketch of the program, evenly spread.
  void Add(const Program& program, size_t points_max, Totals& totals) {
    TraceReplay replay(program);
    FeatureMatrix features(kFeatureCount);
    for (const Sketch& sketch : GenerateSketches(program, device_)) {
      const std::vector<Point> points = EnumeratePoints(sketch, 4000);
      const size_t stride = (points.size() + points_max - 1) / points_max;
      for (size_t i = 0; i < points.size(); i += stride) {
        AddPoint(sketch, points[i], replay, features, totals);
      }
    }
    const double start = CpuSeconds();
    CHECK(model_.Predict(features).ok());
    totals.seconds[kPredict] += CpuSeconds() - start;
  }

 private:
  static constexpr int kThreads = 2;

  // On rows that look like candidates, so that the trees are as deep as real ones.
  void Train() {
    Rng rng(1);
    FeatureMatrix features(kFeatureCount);
    std::vector<Measurement> results(kTrainingRows);
    for (Measurement& result : results) {
      std::vector<float> row(kFeatureCount);
      for (float& value : row) value = static_cast<float>(rng.Between(0, 20));
      const double log_ns = 10 + 0.2 * row[1] + 0.01 * row[2] * row[3] + 0.1 * rng.Normal();
      result.outcome =
          Latencies{{ProcessLatencies{.latency_ns = {static_cast<int64_t>(std::exp(log_ns))}}}};
      features.AddRow(row);
    }
    const double start = CpuSeconds();
    CHECK(model_.Update("task", features, results).ok());
    std::printf("training on %d rows of %d features: %.3f s\n", kTrainingRows, kFeatureCount,
                CpuSeconds() - start);
    // The first prediction makes XGBoost's threads and buffers: once in a study.
    CHECK(model_.Predict(features).ok());
  }

  void AddPoint(const Sketch& sketch, const Point& point, TraceReplay& replay,
                FeatureMatrix& features, Totals& totals) {
    double at = CpuSeconds();
    const auto lap = [&](Stage stage) {
      const double now = CpuSeconds();
      totals.seconds[stage] += now - at;
      at = now;
    };
    ++totals.count;
    const auto trace = Bind(sketch, point);
    CHECK(trace.ok());
    lap(kBind);
    const auto scheduled = replay.Apply(*trace);
    lap(kApply);
    if (!scheduled.ok()) {
      ++totals.refused;
      return;
    }
    const auto lowered = Lower(**scheduled, {.for_estimate = true});
    lap(kLower);
    if (!lowered.ok()) {
      ++totals.refused;
      return;
    }
    features.AddRow(ExtractFeatures(*lowered, device_, kThreads));
    lap(kFeatures);
    fingerprints_.insert(FingerprintOf(*lowered));
    lap(kFingerprint);
  }

  const DeviceModel device_;
  XgboostModel model_;
  std::set<std::string> fingerprints_;
};

int Main(int argc, char** argv) {
  const size_t points_max = argc > 1 ? static_cast<size_t>(std::atoi(argv[1])) : 200;
  const char* filter = argc > 2 ? argv[2] : "";
  CHECK_GE(points_max, 1u);
  const auto target = ParseTarget("cpu:arch=znver3,threads=2");
  CHECK(target.ok());
  Measurer measurer(DeviceModelOf(*target));
  std::printf("candidates a second and core\n%-22s %6s %7s", "layer", "points", "refused");
  for (const char* stage : kStageNames) std::printf(" %11s", stage);
  std::printf(" %9s\n", "all");
  Totals all;
  for (const Layer& layer : kLayers) {
    if (std::strstr(layer.name, filter) == nullptr) continue;
    Totals one;
    measurer.Add(ConvProgram(layer.shape), points_max, one);
    one.Print(layer.name);
    all.count += one.count;
    all.refused += one.refused;
    for (int s = 0; s < kStageCount; ++s) all.seconds[s] += one.seconds[s];
  }
  all.Print("all");
  return 0;
}

}  // namespace
}  // namespace burnish

int main(int argc, char** argv) { return burnish::Main(argc, argv); }
