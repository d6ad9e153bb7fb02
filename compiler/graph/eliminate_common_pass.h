// Merges nodes that compute the same: same operator, attributes and inputs. Equal constants (byte
// for byte) count as one.
#ifndef COMPILER_GRAPH_ELIMINATE_COMMON_PASS_H_
#define COMPILER_GRAPH_ELIMINATE_COMMON_PASS_H_

#include "compiler/graph/graph.h"

namespace burnish {

// Nodes that write a graph output are merged only with nodes that write none: each output keeps a
// value and a name of its own.
void EliminateCommon(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_ELIMINATE_COMMON_PASS_H_
