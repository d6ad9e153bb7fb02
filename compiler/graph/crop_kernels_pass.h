// Taps of convolutions that lie in the padding at every output: dilated by more than the input is
// large, or along a dimension of one element. They only add zeros.
#ifndef COMPILER_GRAPH_CROP_KERNELS_PASS_H_
#define COMPILER_GRAPH_CROP_KERNELS_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Crops the constant weights of convolutions to the taps that meet the input, and the padding by as
// much. Outputs are the same, where the weights are finite.
absl::Status CropKernels(Graph& graph);

}  // namespace burnish

#endif  // COMPILER_GRAPH_CROP_KERNELS_PASS_H_
