// For tests: random graphs of concats.
#ifndef COMPILER_GRAPH_RANDOM_CONCATS_H_
#define COMPILER_GRAPH_RANDOM_CONCATS_H_

#include <cstdint>

#include "compiler/graph/graph.h"

namespace burnish {

// Concats along every axis of values of one to four dimensions, float32 or int64, with what is hard
// about them: the model's inputs, outputs and constants as parts, a value twice in one concat or in
// several, concats of concats, concats that begin or end alike, reshapes around them, and readers
// that want borders (convolutions and max pools with padding).
Graph RandomConcats(uint64_t seed);

}  // namespace burnish

#endif  // COMPILER_GRAPH_RANDOM_CONCATS_H_
