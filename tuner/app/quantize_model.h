// A float model as a quantized one, with what that costs.
#ifndef TUNER_APP_QUANTIZE_MODEL_H_
#define TUNER_APP_QUANTIZE_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/value_range.h"
#include "tuner/app/calibrate.h"
#include "tuner/app/example_data.h"
#include "tuner/app/output_errors.h"

namespace burnish {

struct QuantizedModel {
  Graph graph;
  int64_t example_count = 0;        // That ranges are from.
  int64_t product_count = 0;        // Convolutions and matrix products on quantized numbers,
  int64_t float_product_count = 0;  // and those that stay as they are.
  int64_t tensor_count = 0;         // Activations that are quantized.
  int64_t weight_count = 0;         // Weights of 8 bits.
  std::vector<OutputError> errors;  // On the examples, against the model as it was.
};

// Activations and weights by ranges on `data`. Errors: CalibrateRanges', B0301 a model that has
// quantized tensors already, or nothing to quantize.
absl::StatusOr<QuantizedModel> QuantizeModel(Graph graph, ExampleData& data,
                                             const CalibrationOptions& options,
                                             const std::string& what);

// The ranges alone, as FloatStorage has them. Errors: as above.
absl::StatusOr<std::map<std::string, ValueRange>> RangesOfModel(Graph graph, ExampleData& data,
                                                                const CalibrationOptions& options,
                                                                const std::string& what);

// Matrices of 8 bits with a scale for each column of `group` rows, all else in f32. `data` may be
// null: then nothing is run, and no error told. Errors: as above, but for those of ranges.
absl::StatusOr<QuantizedModel> QuantizeModelWeights(Graph graph, int64_t group, ExampleData* data,
                                                    const CalibrationOptions& options,
                                                    const std::string& what);

// Writes the model as ONNX to `path`, and what one message has no room for to `path`.data. Returns
// the bytes of both. Errors: B0302 an operator without an ONNX form, B0204, B0907.
absl::StatusOr<int64_t> WriteOnnxModel(const Graph& graph, const std::string& path,
                                       const std::string& what);

}  // namespace burnish

#endif  // TUNER_APP_QUANTIZE_MODEL_H_
