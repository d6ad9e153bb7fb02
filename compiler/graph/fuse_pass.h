// Groups nodes into tasks: an anchor with the elementwise operators that follow it, chains of
// elementwise operators, and producers whose results need not exist in memory.
// Source of the idea: Chen et al., "TVM", OSDI 2018, section 3.
#ifndef COMPILER_GRAPH_FUSE_PASS_H_
#define COMPILER_GRAPH_FUSE_PASS_H_

#include <vector>

#include "compiler/graph/graph.h"

namespace burnish {

struct FusedGroup {
  std::vector<GraphNodeId> nodes;  // In topological order.
  GraphNodeId anchor = -1;         // The (last) kReduction or kOpaque node, or -1 for none.
  std::vector<ValueId> inputs;     // Read from outside, constants too; each once, by first use.
  std::vector<ValueId> outputs;    // Read outside; more than one only for a node that has several.
  // How often a run of the model runs the group, as far as that is known: more than once in a loop.
  int64_t repeat = 1;
  // The node of control that the group is a part of, by the number that CutControl gives it, and
  // which of its bodies.
  int region = -1;
  int body = 0;
};

struct Fusion {
  std::vector<FusedGroup> groups;  // In an order in which they can run.
  std::vector<int> group_of;       // By node.
};

struct FuseOptions {
  bool consumers = true;  // false, and producers too: one node a group (optimisation level 0).
  bool producers = true;
  int max_group_nodes = 64;
};

// Rules:
// - a group has one anchor at most, but for attention; every value that leaves it is its last
//   node's, so groups are convex: nothing outside lies between two of its nodes;
// - elementwise consumers join when they have the anchor's shape (and its dtype, so that they can
//   become its `finish`); a region such as x * sigmoid(x) joins as a whole, when all paths from the
//   anchor meet again in one of its nodes; a transpose joins when it keeps the last dimension;
// - of two anchors that a residual addition could join, the deeper one takes it (its other operand
//   is ready before), the first operand on a tie;
// - elementwise producers join where each element is read once; movement by index (a transpose that
//   keeps the last dimension, slice, expand) joins any reader that is the only one;
// - attention is one group: a product, what follows it elementwise, a softmax along its rows and
//   the product that reads the softmax as its left operand, each read by the next only, over the
//   same batch, where a row is more than a vector on every target;
// - movement of the kind kView (concat, split, reshape) stays by itself: storage assignment makes
//   most of it free.
// What an operator is comes from its row in the operator library, but for attention.
Fusion Fuse(const Graph& graph, const FuseOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_GRAPH_FUSE_PASS_H_
