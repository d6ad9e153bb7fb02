// Graph -> ONNX model bytes, so that other runtimes can run what the passes and the zoo make.
#ifndef COMPILER_FRONTEND_ONNX_EXPORT_H_
#define COMPILER_FRONTEND_ONNX_EXPORT_H_

#include <cstdint>
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

// A model as one file or two.
struct OnnxFiles {
  std::string model;
  std::string data;  // Constants; empty: they lie inside the model.
};

// As ExportOnnx, of any size: where constants take more than `inside_max` bytes, those of a KiB or
// more lie in a second file beside the model, named `data_name`. (A message has room for 2 GiB;
// what is no constant takes a small part of that.)
absl::StatusOr<OnnxFiles> ExportOnnxFiles(const Graph& graph, const std::string& data_name,
                                          int64_t inside_max = int64_t{15} << 27);

// One group of a fused graph as a graph of its own: its inputs become graph inputs, constants stay.
Graph Subgraph(const Graph& graph, const FusedGroup& group);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_EXPORT_H_
