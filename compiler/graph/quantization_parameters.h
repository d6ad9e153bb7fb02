// What QDQ nodes of a graph say of their numbers: real = scale * (number - zero point).
#ifndef COMPILER_GRAPH_QUANTIZATION_PARAMETERS_H_
#define COMPILER_GRAPH_QUANTIZATION_PARAMETERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace burnish {

// Scale and zero point that are constants: one each, or one an index of some axis.
struct QuantizationParameters {
  std::vector<int64_t> shape;  // Of the scale; the zero point has the same, or one element.
  std::vector<double> scale;
  std::vector<int64_t> zero;

  bool IsOne() const { return scale.size() == 1 && zero.size() == 1; }
  double ScaleAt(size_t i) const { return scale[scale.size() == 1 ? 0 : i]; }
  int64_t ZeroAt(size_t i) const { return zero[zero.size() == 1 ? 0 : i]; }
  friend bool operator==(const QuantizationParameters& a, const QuantizationParameters& b) {
    return a.shape == b.shape && a.scale == b.scale && a.zero == b.zero;
  }
};

// A parameter that may be replaced later: constants that are made of it would not follow.
inline bool IsTracked(const GraphValue& value) { return value.data->origin() != nullptr; }

// Of a quantize or dequantize; none where they are computed or tracked, or scales are not positive
// and finite.
std::optional<QuantizationParameters> ParametersOf(const Graph& graph, const GraphNode& node);

// The node that computes `v`, if it is an `op`; else null. Valid until a node is added.
const GraphNode* ProducerOf(const Graph& graph, ValueId v, OpId op);

}  // namespace burnish

#endif  // COMPILER_GRAPH_QUANTIZATION_PARAMETERS_H_
