#include "tuner/app/calibrate.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/graph/eliminate_dead_pass.h"
#include "compiler/graph/value_observer.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

// Values that one build looks at.
struct Part {
  std::vector<ValueId> values;
};

int64_t BytesOf(const Graph& graph, ValueId v) {
  return ElementCount(graph.value(v).type.shape) * static_cast<int64_t>(sizeof(float));
}

// In the graph's order; inputs, which need no build, are left out.
std::vector<Part> PartsOf(const Graph& graph, const std::vector<ValueId>& values,
                          int64_t bytes_max) {
  std::vector<Part> parts;
  int64_t bytes = 0;
  for (const ValueId v : values) {
    if (graph.value(v).producer < 0) continue;
    if (parts.empty() || bytes + BytesOf(graph, v) > bytes_max) {
      parts.emplace_back();
      bytes = 0;
    }
    parts.back().values.push_back(v);
    bytes += BytesOf(graph, v);
  }
  return parts;
}

// The graph up to these values, which are its outputs.
Graph Observed(const Graph& graph, const std::vector<ValueId>& values) {
  Graph observed = graph;
  observed.outputs.clear();
  observed.hidden_outputs = 0;
  observed.bounded_axes.clear();
  for (size_t i = 0; i < values.size(); ++i) {
    // Names of outputs are unique; those of values need not be.
    observed.values[values[i]].name = absl::StrCat("observed", i);
    observed.outputs.push_back(values[i]);
  }
  EliminateDead(observed);
  return observed;
}

std::vector<float> Floats(const void* bytes, size_t size) {
  std::vector<float> values(size / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes, size);
  return values;
}

class Calibration {
 public:
  Calibration(const Graph& graph, ExampleData& data, const CalibrationOptions& options,
              const std::string& what)
      : graph_(graph),
        data_(data),
        options_(options),
        what_(what),
        examples_(SpreadExamples(data.count(), options.examples_max)) {}

  absl::StatusOr<ValueRanges> Run(const std::vector<ValueId>& values) {
    const bool counts = options_.method == RangeMethod::kPercentile;
    for (const ValueId v : values) observers_.emplace(v, ValueObserver(counts));
    const std::vector<Part> parts = PartsOf(graph_, values, options_.observed_bytes_max);
    total_ = std::ssize(examples_) * std::max<int64_t>(std::ssize(parts), 1);
    if (parts.empty()) RETURN_IF_ERROR(Observe({}, /*and_inputs=*/true));
    for (size_t p = 0; p < parts.size(); ++p) RETURN_IF_ERROR(Observe(parts[p].values, p == 0));
    ValueRanges ranges;
    for (const auto& [v, observer] : observers_) {
      ranges[v] = counts ? observer.Percentile(options_.percent) : observer.MinMax();
    }
    return ranges;
  }

 private:
  absl::Status Observe(const std::vector<ValueId>& values, bool and_inputs) {
    std::unique_ptr<BuiltGraph> built;
    if (!values.empty()) {
      ASSIGN_OR_RETURN(built, BuiltGraph::Build(Observed(graph_, values), options_.build, what_));
    }
    for (const int64_t example : examples_) {
      if (options_.interrupted != nullptr && options_.interrupted()) {
        return MakeError(ErrorCode::kInterrupted, "calibration was interrupted", what_);
      }
      ASSIGN_OR_RETURN(const std::vector<NpyArray> inputs, data_.Read(example));
      if (and_inputs) RETURN_IF_ERROR(ObserveInputs(inputs, example));
      if (built != nullptr) RETURN_IF_ERROR(built->Run(inputs));
      for (size_t i = 0; i < values.size(); ++i) {
        ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, built->Output(i));
        RETURN_IF_ERROR(Add(values[i], Floats(bytes.data(), bytes.size()), example));
      }
      ++done_;
      if (options_.progress != nullptr) options_.progress({.done = done_, .total = total_});
    }
    return absl::OkStatus();
  }

  absl::Status ObserveInputs(const std::vector<NpyArray>& inputs, int64_t example) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId v = graph_.inputs[i];
      if (observers_.count(v) == 0) continue;
      RETURN_IF_ERROR(Add(v, Floats(inputs[i].bytes.data(), inputs[i].bytes.size()), example));
    }
    return absl::OkStatus();
  }

  absl::Status Add(ValueId v, const std::vector<float>& values, int64_t example) {
    if (observers_.at(v).Add(values)) return absl::OkStatus();
    return MakeError(ErrorCode::kBadExamples,
                     absl::StrCat("value ", graph_.value(v).name,
                                  " of the model is NaN or infinite for example ", example),
                     what_, "inputs as the model was trained on; f32 overflows above 3.4e38");
  }

  const Graph& graph_;
  ExampleData& data_;
  const CalibrationOptions& options_;
  const std::string& what_;
  const std::vector<int64_t> examples_;
  std::map<ValueId, ValueObserver> observers_;
  int64_t done_ = 0, total_ = 0;
};

}  // namespace

std::vector<int64_t> SpreadExamples(int64_t count, int64_t most) {
  const int64_t taken = std::min(count, most);
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < taken; ++i) examples.push_back(i * count / taken);
  return examples;
}

absl::StatusOr<ValueRanges> CalibrateRanges(const Graph& graph, const std::vector<ValueId>& values,
                                            ExampleData& data, const CalibrationOptions& options,
                                            const std::string& what) {
  if (!graph.sizes.empty()) {
    return MakeError(ErrorCode::kShapeMissing,
                     "examples have one shape, and the model's sizes are those of a run", what,
                     "`dim` NAME=128 or `shape` INPUT=1x128 fixes them");
  }
  return Calibration(graph, data, options, what).Run(values);
}

}  // namespace burnish
