// A graph as a picture: text for Graphviz.
#ifndef COMPILER_GRAPH_GRAPH_DOT_H_
#define COMPILER_GRAPH_GRAPH_DOT_H_

#include <string>

#include "compiler/graph/graph.h"

namespace burnish {

// In the language DOT: a box a node, an ellipse an input or output, a cluster a body of control
// flow. Constants are left out.
std::string PrintDot(const Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_GRAPH_DOT_H_
