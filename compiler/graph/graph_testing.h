// For tests of graph passes: random inputs, and the check that a pass keeps what a graph computes.
#ifndef COMPILER_GRAPH_GRAPH_TESTING_H_
#define COMPILER_GRAPH_GRAPH_TESTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/ir/interpreter.h"

namespace burnish {

// Floats normal, rounded to f32; integers in 0..3.
TensorValue RandomValue(const TensorType& type, uint64_t seed);
std::vector<TensorValue> RandomInputs(const Graph& graph, uint64_t seed);
// A constant of random values.
ValueId AddRandomConstant(Graph& graph, const std::string& name, std::vector<int64_t> shape,
                          uint64_t seed);

// Empty where `after` has the same interface as `before` and computes the same: integers exactly,
// floats within `tolerance` of the largest magnitude. Otherwise what differs. Both are verified.
std::string Difference(const Graph& before, const Graph& after, double tolerance = 1e-5);
// The same for one run's outputs.
std::string CompareOutputs(const std::vector<TensorValue>& want,
                           const std::vector<TensorValue>& got, double tolerance);

// A random graph of convolutions, pools, elementwise operators, concats, transposes and products
// over small tensors; every operator that the passes treat specially turns up within 20 seeds.
Graph RandomGraph(uint64_t seed);

// Number of nodes with this operator.
int CountNodes(const Graph& graph, const std::string& op);

// Attributes{{"axis", 1}} in one expression.
Attributes MakeAttributes(std::vector<std::pair<std::string, AttributeValue>> values);

// AddOp for tests: CHECKs.
ValueId Op(Graph& graph, const std::string& op, std::vector<ValueId> inputs,
           std::vector<std::pair<std::string, AttributeValue>> attributes = {});

}  // namespace burnish

#endif  // COMPILER_GRAPH_GRAPH_TESTING_H_
