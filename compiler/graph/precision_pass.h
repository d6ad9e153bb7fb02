// Tensors between operators in 16 bits: half the memory and traffic, and products of what the
// target multiplies in pairs. Operators compute in f32 whatever they read (te/builder.h), so sums,
// softmax and the statistics of normalizations lose nothing but what their inputs were rounded to.
#ifndef COMPILER_GRAPH_PRECISION_PASS_H_
#define COMPILER_GRAPH_PRECISION_PASS_H_

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/value_range.h"

namespace burnish {

// How f32 values between operators, and weights, are stored: kF32, kBf16, kF16, or kI8, as
// quantized numbers where quantize_graph.h has integers for what is computed of them, and else in
// f32.
struct FloatStorage {
  DType type = DType::kF32;
  // Of single nodes, by GraphNode::layer.
  std::map<std::string, DType> layers = {};
  // Of what may be quantized: what values hold, by SourceName (quantize_graph.h).
  std::map<std::string, ValueRange> ranges = {};

  DType Of(const std::string& layer) const {
    const auto found = layers.find(layer);
    return found == layers.end() ? type : found->second;
  }
  // Whether anything may be narrow, or a quantized number.
  bool narrows() const;
  bool quantizes() const;

  friend bool operator==(const FloatStorage&, const FloatStorage&) = default;
};

// Stores values of f32 as `storage` says: a node reads what it reads in its type, weights once, and
// its producers write it so. In f32 stay
//  - the graph's inputs and outputs: types of a model are its callers';
//  - biases, scales and statistics, which cost nothing and are added to sums;
//  - whatever becomes a number or a decision: operands of casts to integers, comparisons and
//    argmax, and of host kernels, with all that computes them up to the next product (a position
//    above 256 is no bfloat16);
//  - operands and results of control flow: their bodies are left as they are.
// Where layers differ, what only moves elements moves them in the type that they come in.
// Constants must be folded before. Names layers that have no name. Errors: those of an operator
// that refuses such types.
absl::Status StoreFloatsAs(Graph& graph, const FloatStorage& storage);

// Gives each node that has none a layer: its name, with a number where another has that. The same
// graph gets the same.
void NameLayers(Graph& graph);

// Of an operator's inputs, how many from the first on are tensors of activations and weights; those
// behind are biases, scales and statistics.
size_t NarrowInputs(OpId op);

}  // namespace burnish

#endif  // COMPILER_GRAPH_PRECISION_PASS_H_
