// Random graphs with control flow (tests only).
#ifndef COMPILER_GRAPH_RANDOM_CONTROL_H_
#define COMPILER_GRAPH_RANDOM_CONTROL_H_

#include <cstdint>

#include "compiler/graph/graph.h"

namespace burnish {

// Loops and branches in one another, over small matrices: states that swap places or stay, slices
// that are read and written both ways, loops that a count or a condition of the model's input ends,
// zero iterations, captures of every kind (inputs, constants, states of a loop around), outputs
// that are a state and a stack at once, and products with constants, which kernels pack.
Graph RandomControl(uint64_t seed);

}  // namespace burnish

#endif  // COMPILER_GRAPH_RANDOM_CONTROL_H_
