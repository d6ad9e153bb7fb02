// Makes concats of what other concats begin with into concats of those: c(a, b, x) where c(a, b)
// exists becomes c(c(a, b), x). Then each tensor is part of one concat, and storage can grow one
// allocation along the chain, as in the dense blocks of Huang et al., "Densely connected
// convolutional networks", CVPR 2017.
#ifndef COMPILER_GRAPH_NEST_CONCATS_PASS_H_
#define COMPILER_GRAPH_NEST_CONCATS_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// A run of inputs anywhere in a concat is replaced by the longest other concat along the same axis
// that has just these inputs. Not by a graph output: that lies in the caller's memory, and its
// parts with it.
absl::Status NestConcats(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_NEST_CONCATS_PASS_H_
