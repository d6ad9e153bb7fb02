// Transposed convolutions with a stride, as one convolution that computes every phase of the
// output.
#ifndef COMPILER_GRAPH_SPLIT_PHASES_PASS_H_
#define COMPILER_GRAPH_SPLIT_PHASES_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// By its definition a transposed convolution with stride s meets zeros at all but one of s taps a
// dimension. Outputs whose positions leave the same rest by s use the same taps, and each such
// phase is a convolution of the input without a stride. All phases are one convolution with s times
// the channels a dimension, whose result is then interleaved. (Shi et al., "Real-time single image
// and video super-resolution using an efficient sub-pixel convolutional neural network", CVPR
// 2016.) Taken where weights are constant, and groups and dilations are 1. Sums have the same
// terms, and zeros where the kernel is no multiple of the stride.
absl::Status SplitPhases(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_SPLIT_PHASES_PASS_H_
