// How far a graph's outputs are from those of another, on examples.
#ifndef TUNER_APP_OUTPUT_ERRORS_H_
#define TUNER_APP_OUTPUT_ERRORS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "tuner/app/calibrate.h"
#include "tuner/app/example_data.h"

namespace burnish {

// Of an output of 32-bit floats: the root mean square of got - want, in that of what `want` differs
// by between examples, want - mean(want). 1: as wrong as an answer that does not look at its input.
struct OutputError {
  std::string name;
  // Nothing where `want` is the same for all examples.
  std::optional<double> error;
};

// On at most `options.examples_max` examples; both graphs have the same inputs and outputs. Errors:
// as of CalibrateRanges, B0408 where an output is not finite.
absl::StatusOr<std::vector<OutputError>> MeasureOutputErrors(const Graph& got, const Graph& want,
                                                             ExampleData& data,
                                                             const CalibrationOptions& options,
                                                             const std::string& what);

}  // namespace burnish

#endif  // TUNER_APP_OUTPUT_ERRORS_H_
