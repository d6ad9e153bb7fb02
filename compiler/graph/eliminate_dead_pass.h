// Drops nodes that no graph output needs, and values that nothing mentions any more.
#ifndef COMPILER_GRAPH_ELIMINATE_DEAD_PASS_H_
#define COMPILER_GRAPH_ELIMINATE_DEAD_PASS_H_

#include "compiler/graph/graph.h"

namespace burnish {

// Graph inputs stay, used or not: they are the model's interface. Renumbers nodes and values.
void EliminateDead(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_ELIMINATE_DEAD_PASS_H_
