// What passes share: nodes are inserted at the end and the graph is sorted once.
#ifndef COMPILER_GRAPH_REWRITE_H_
#define COMPILER_GRAPH_REWRITE_H_

#include <vector>

#include "compiler/graph/graph.h"

namespace burnish {

// A small constant's values where `id` is a constant of floats or integers with one element.
bool IsScalarConstant(const Graph& graph, ValueId id, double* value);

// Whether `value`, rounded to the type, is finite and no denormal: neither lost nor taken for 0.
bool IsNormalNumber(DType type, double value);

bool IsIdentityPermutation(const std::vector<int64_t>& perm);
// True where a transpose by `perm` moves no element of `shape`: dimensions of extent 1 aside, the
// order is kept.
bool IsReshapePermutation(const std::vector<int64_t>& shape, const std::vector<int64_t>& perm);

// Whether the operator computes each output element from the same element of the inputs after numpy
// broadcasting, as its row in the library says: add, relu, where, .. (not batch_norm, which is per
// channel).
bool IsBroadcastElementwise(OpId op);

// Values to be used in place of others; collected during a walk, applied at once.
class Replacements {
 public:
  // Uses of `from` shall use `to` (or what replaces `to`). No cycles.
  void Set(ValueId from, ValueId to);
  ValueId Resolve(ValueId id) const;
  bool empty() const { return count_ == 0; }
  // Graph outputs keep their names: where an output is replaced by a value that has a name of its
  // own to keep (a graph input, a constant, another output), an identity node stands between.
  void Apply(Graph& graph);

 private:
  std::vector<ValueId> to_;  // -1: stays. Shorter than Graph::values: the rest stay.
  int64_t count_ = 0;
};

// Drops nodes whose outputs nothing uses, sorts, drops dead values.
absl::Status Finish(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_REWRITE_H_
