// Gives each part of a concat memory that storage may place inside the whole's: a value that cannot
// lie there is copied first, and the concat copies nothing.
#ifndef COMPILER_GRAPH_SEPARATE_PARTS_PASS_H_
#define COMPILER_GRAPH_SEPARATE_PARTS_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Afterwards each input of a concat is written by a node, is no graph output, and is an input of
// that concat only, once. Identity nodes are put before what is otherwise: the model's inputs and
// outputs, constants, and all places but one of a value that stands in several. That one is the
// last concat which is no graph output: memory of the model's own may have borders. So this comes
// after passes that drop identities.
absl::Status SeparateParts(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_SEPARATE_PARTS_PASS_H_
