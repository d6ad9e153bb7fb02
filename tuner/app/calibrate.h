// Ranges of a model's inner values, as it is built here, on examples of its inputs.
#ifndef TUNER_APP_CALIBRATE_H_
#define TUNER_APP_CALIBRATE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/quantize_graph.h"
#include "tuner/app/built_graph.h"
#include "tuner/app/example_data.h"

namespace burnish {

enum class RangeMethod : uint8_t { kMinMax, kPercentile };

// Runs that are done, of all of a stage.
struct ExampleProgress {
  enum class Stage : uint8_t { kRanges, kErrors };

  Stage stage = Stage::kRanges;
  int64_t done = 0, total = 0;
};

struct CalibrationOptions {
  GraphBuildOptions build;
  RangeMethod method = RangeMethod::kMinMax;
  double percent = 99.99;  // Of kPercentile: values within the range; ONNX Runtime's default.
  // At most so many examples, spread evenly over the data: ranges hardly move after some hundred
  // (300 is what NNCF takes, too).
  int64_t examples_max = 300;
  // Values that are looked at in one build, which keeps all of them to the end of a run.
  int64_t observed_bytes_max = int64_t{256} << 20;
  std::function<void(const ExampleProgress&)> progress = nullptr;
  std::function<bool()> interrupted = nullptr;
};

// Fewer examples say nothing about a range.
inline constexpr int64_t kCalibrationExamplesMin = 10;

// Of `values`, f32 values of the graph. `what`: the model, for errors. Errors: BuiltGraph's and
// ExampleData's, B0408 a value that is NaN or infinite, with the example, B0905 interrupted, B0303
// a graph whose sizes each run chooses.
absl::StatusOr<ValueRanges> CalibrateRanges(const Graph& graph, const std::vector<ValueId>& values,
                                            ExampleData& data, const CalibrationOptions& options,
                                            const std::string& what);

// Positions of at most `most` examples of `count`, spread evenly.
std::vector<int64_t> SpreadExamples(int64_t count, int64_t most);

}  // namespace burnish

#endif  // TUNER_APP_CALIBRATE_H_
