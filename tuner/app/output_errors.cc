#include "tuner/app/output_errors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tuner/app/built_graph.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

// What is summed up over the examples.
struct Sums {
  size_t index = 0;  // Of the output.
  std::string name;
  std::vector<double> first, sum, squares;  // An element: less the first example's, so that
                                            // squares of large equal numbers do not cancel.
  double difference = 0;                    // Squares, over all elements.
  int64_t count = 0;

  // False: something is not finite.
  bool Add(const std::vector<uint8_t>& got, const std::vector<uint8_t>& want) {
    const size_t elements = std::min(got.size(), want.size()) / sizeof(float);
    if (first.empty()) {
      sum.assign(elements, 0);
      squares.assign(elements, 0);
    }
    for (size_t i = 0; i < std::min(elements, sum.size()); ++i) {
      float a, b;
      std::memcpy(&a, &got[i * sizeof(a)], sizeof(a));
      std::memcpy(&b, &want[i * sizeof(b)], sizeof(b));
      if (!std::isfinite(a) || !std::isfinite(b)) return false;
      const double d = static_cast<double>(a) - static_cast<double>(b);
      difference += d * d;
      if (first.size() < elements) first.push_back(b);
      const double moved = b - first[i];
      sum[i] += moved;
      squares[i] += moved * moved;
    }
    ++count;
    return true;
  }

  OutputError Error() const {
    double spread = 0;
    const auto examples = static_cast<double>(count);
    for (size_t i = 0; i < sum.size(); ++i) {
      spread += std::max(squares[i] - sum[i] * sum[i] / examples, 0.0);
    }
    if (!(spread > 0)) return {.name = name, .error = std::nullopt};
    return {.name = name, .error = std::sqrt(difference / spread)};
  }
};

}  // namespace

absl::StatusOr<std::vector<OutputError>> MeasureOutputErrors(const Graph& got, const Graph& want,
                                                             ExampleData& data,
                                                             const CalibrationOptions& options,
                                                             const std::string& what) {
  ASSIGN_OR_RETURN(const auto got_runs, BuiltGraph::Build(got, options.build, what));
  ASSIGN_OR_RETURN(const auto want_runs, BuiltGraph::Build(want, options.build, what));
  std::vector<Sums> all;
  const std::vector<TensorInfo> outputs = want_runs->outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type == ElementType::kF32) all.push_back({.index = i, .name = outputs[i].name});
  }
  const std::vector<int64_t> examples = SpreadExamples(data.count(), options.examples_max);
  ExampleProgress progress{.stage = ExampleProgress::Stage::kErrors, .total = std::ssize(examples)};
  for (const int64_t example : examples) {
    if (options.interrupted != nullptr && options.interrupted()) {
      return MakeError(ErrorCode::kInterrupted, "the measurement was interrupted", what);
    }
    ASSIGN_OR_RETURN(const std::vector<NpyArray> inputs, data.Read(example));
    RETURN_IF_ERROR(got_runs->Run(inputs));
    RETURN_IF_ERROR(want_runs->Run(inputs));
    for (Sums& sums : all) {
      ASSIGN_OR_RETURN(const std::vector<uint8_t> a, got_runs->Output(sums.index));
      ASSIGN_OR_RETURN(const std::vector<uint8_t> b, want_runs->Output(sums.index));
      if (sums.Add(a, b)) continue;
      return MakeError(
          ErrorCode::kBadExamples,
          absl::StrCat("output ", sums.name, " is NaN or infinite for example ", example), what,
          "inputs as the model was trained on");
    }
    ++progress.done;
    if (options.progress != nullptr) options.progress(progress);
  }
  std::vector<OutputError> errors;
  for (const Sums& sums : all) errors.push_back(sums.Error());
  return errors;
}

}  // namespace burnish
