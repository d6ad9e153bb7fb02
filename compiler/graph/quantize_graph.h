// A model of floats as one of quantized numbers: QDQ, as fold_quantization_pass.h and other
// runtimes read it (docs/adr/0021-models-are-quantized-by-us.md).
//
//   PrepareToQuantize(graph);
//   for each v of ValuesToObserve(graph): find the range of v on examples
//   QuantizeGraph(graph, ranges)
//
// Which operators are quantized is a table (quantize_graph.cc). Products by constant weights always
// are; pools, additions of two activations, concats and movement are where everything around them
// is, up to the next products; elementwise operators between them compute real numbers. Weights
// become i8, symmetric, with one scale an output channel; activations u8 with one scale and zero
// point; biases i32 with scale_x * scale_w.
#ifndef COMPILER_GRAPH_QUANTIZE_GRAPH_H_
#define COMPILER_GRAPH_QUANTIZE_GRAPH_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/precision_pass.h"
#include "compiler/graph/value_range.h"

namespace burnish {

using ValueRanges = std::map<ValueId, ValueRange>;

// Folds constants and batch norms: weights are quantized as they are used. INVALID_ARGUMENT: the
// graph has quantized tensors already.
absl::Status PrepareToQuantize(Graph& graph);

struct QuantizeGraphOptions {
  // Nodes of the prepared graph that stay in floats, whatever the table says.
  std::set<GraphNodeId> float_nodes = {};
  // Nothing is quantized but rounded where it lies: weights hold what their numbers stand for.
  bool round_weights = false;
};

// The values that would be quantized, ascending: f32 activations. With more `float_nodes` they are
// fewer, never others.
std::vector<ValueId> ValuesToObserve(const Graph& graph, const QuantizeGraphOptions& options = {});

// Scale and zero point of a u8 tensor with this range, which always holds 0. What is all zeros gets
// scale 1.
struct ByteScale {
  float scale = 1;
  int64_t zero = 0;
};
ByteScale ByteScaleOf(const ValueRange& range);

struct QuantizedGraph {
  Graph graph;
  std::vector<GraphNodeId>
      nodes;                  // Of the graph that was given: those that read quantized tensors.
  int64_t product_count = 0;  // Of them: products by weights.
  int64_t weight_count = 0;   // Numbers that are i8 now.
};

// INVALID_ARGUMENT: a range is missing, or is not finite. A graph with nothing to quantize comes
// back as it is.
absl::StatusOr<QuantizedGraph> QuantizeGraph(const Graph& graph, const ValueRanges& ranges,
                                             const QuantizeGraphOptions& options = {});

// ---- Layer by layer, with ranges that outlive the graph.

// What a value of a graph whose layers have names (NameLayers) comes from: the layer that makes it,
// with the number of one that a node has beside others, or "input " and its name.
std::string SourceName(const Graph& graph, ValueId v);

// Ranges of a prepared graph by SourceName. Names its layers.
std::map<std::string, ValueRange> NamedRanges(Graph& graph, const ValueRanges& ranges);

// Quantizes what `storage` has as kI8, by its ranges: products, additions of two activations and
// averages by their own layer's type, what stands between them by its neighbours. Errors: those of
// PrepareToQuantize and QuantizeGraph.
absl::Status StoreAsBytes(Graph& graph, const FloatStorage& storage);

// The layers of a prepared graph whose nodes would read quantized tensors.
absl::StatusOr<std::set<std::string>> LayersInBytes(const Graph& graph,
                                                    const FloatStorage& storage);

// The prepared graph with the weights of all such layers rounded as their numbers are: equal to it
// in all but those constants.
absl::StatusOr<Graph> WithRoundedWeights(const Graph& graph, const FloatStorage& storage);

}  // namespace burnish

#endif  // COMPILER_GRAPH_QUANTIZE_GRAPH_H_
