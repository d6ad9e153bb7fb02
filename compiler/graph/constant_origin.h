// How constants were computed from a model's parameters, for those who replace parameters later.
//
// Passes compute new constants from old ones and forget how. Where a constant comes from a
// parameter that is tracked (MarkParameters), what is computed from it remembers the operators, as
// a graph without nodes: shared, immutable, and alive as long as a constant that came of it. No
// values but those of the leaves are kept. Where nothing is tracked, nothing is
// remembered.
#ifndef COMPILER_GRAPH_CONSTANT_ORIGIN_H_
#define COMPILER_GRAPH_CONSTANT_ORIGIN_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/graph/constant.h"
#include "compiler/graph/graph.h"
#include "compiler/te/operator.h"

namespace burnish {

// Exactly one of: a parameter, a value that comes from none, an operator's output.
struct ConstantOrigin {
  TensorType type;
  std::string parameter;
  ConstantPtr value;  // Of a parameter: its value today.
  std::optional<OpId> op;
  Attributes attributes;
  std::vector<OriginPtr> inputs;
  int output = 0;
  bool from_parameters = false;  // Whether a parameter is among the leaves.
  int depth = 0;                 // Operators on the longest way to a leaf.
  // Equal for origins that compute the same from the same leaves, by structure. A digest: written
  // out, a chain of x + x would double with each step.
  std::string key;
};

// Deeper origins are not made: a chain of operators over constants stays nodes beyond this. Origins
// are walked, and freed, by recursion, and nobody's model folds chains of thousands.
inline constexpr int kOriginDepthMax = 1000;

// Makes `data` a tracked parameter.
ConstantPtr TrackedParameter(std::string name, TensorType type, const ConstantPtr& data);
// Of a constant as it is read, with a shape of as many elements as it came with: what it remembers,
// else a value.
OriginPtr OriginOf(const TensorType& type, const ConstantPtr& data);
// An operator over origins; chains of transpose and of reshape become one. CHECKs that the operator
// takes them.
OriginPtr Apply(OpId op, const std::vector<OriginPtr>& inputs, Attributes attributes = {},
                int output = 0);
OriginPtr ReshapedOrigin(const OriginPtr& origin, const std::vector<int64_t>& shape);
OriginPtr CastOrigin(const OriginPtr& origin, DType dtype);

// The same bytes, which remember `origin`; `data` itself where no parameter is among its leaves.
ConstantPtr WithOrigin(const ConstantPtr& data, const OriginPtr& origin);

// ConstantOrigin::key; "" for null.
std::string OriginKey(const OriginPtr& origin);
// Whether an operator may not be applied to it (kOriginDepthMax).
bool IsTooDeep(const OriginPtr& origin);

// A graph of the operators behind `origins`, each once: its inputs are the parameters, by name, in
// the order of first use; output n is origin n, which is an operator. Errors: of AddNode.
absl::StatusOr<Graph> GraphOfOrigins(const std::vector<OriginPtr>& origins);

// Makes constants of `graph` tracked parameters of their names: floats of more than one element,
// with names that no other constant has, that come from no tracked parameter yet. A constant of one
// element is none: passes look at its value (x^2 becomes x * x).
void MarkParameters(Graph& graph);
// Makes the constants forget.
void ForgetOrigins(Graph& graph);
// Whether a constant of this type may be a parameter.
bool MayBeParameter(const TensorType& type);

}  // namespace burnish

#endif  // COMPILER_GRAPH_CONSTANT_ORIGIN_H_
