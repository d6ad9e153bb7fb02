// Graph -> ONNX model bytes, so that other runtimes can run what the passes and the zoo make.
#ifndef COMPILER_FRONTEND_ONNX_EXPORT_H_
#define COMPILER_FRONTEND_ONNX_EXPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "compiler/graph/fuse_pass.h"
#include "compiler/graph/graph.h"

namespace burnish {

inline constexpr int kExportedOnnxOpset = 21;

// Weights lie inside the model. Channels-last operators are written between transposes, operators
// that ONNX lacks as their parts. Errors: UNIMPLEMENTED for an operator without an ONNX form,
// RESOURCE_EXHAUSTED beyond protobuf's 2 GiB.
absl::StatusOr<std::string> ExportOnnx(const Graph& graph);

// One group of a fused graph as a graph of its own: its inputs become graph inputs, constants stay.
Graph Subgraph(const Graph& graph, const FusedGroup& group);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_EXPORT_H_
