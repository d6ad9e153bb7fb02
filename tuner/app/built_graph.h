// A graph that runs: built here and now, and kept in memory.
#ifndef TUNER_APP_BUILT_GRAPH_H_
#define TUNER_APP_BUILT_GRAPH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/graph/graph.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/tensor_info.h"
#include "compiler/target/target.h"
#include "tuner/app/build_bundle.h"
#include "tuner/app/npy.h"

namespace burnish {

struct GraphBuildOptions {
  Target target;  // This machine, or less.
  ScheduleFacts facts = {};
  std::function<void(const BuildProgress&)> progress = nullptr;
};

class BuiltGraph {
 public:
  // As the operators' definitions round (opt_level 2). `what`: the model, for errors. Errors:
  // BuildBundle's, B04xx.
  static absl::StatusOr<std::unique_ptr<BuiltGraph>> Build(const Graph& graph,
                                                           const GraphBuildOptions& options,
                                                           const std::string& what);

  // One inference; `inputs`: all of the graph's, in order and of its shapes. Error: B0406.
  absl::Status Run(const std::vector<NpyArray>& inputs);
  // Of the last run, in the graph's shape and type.
  absl::StatusOr<std::vector<uint8_t>> Output(size_t index);
  std::vector<TensorInfo> outputs() const;
  int64_t weights_bytes() const { return weights_bytes_; }

 private:
  BuiltGraph(std::unique_ptr<Session> session, std::string what)
      : session_(std::move(session)), what_(std::move(what)) {}

  const std::unique_ptr<Session> session_;
  const std::string what_;
  int64_t weights_bytes_ = 0;
};

// The inputs that callers give, as arrays of them are read.
std::vector<TensorInfo> InputTensors(const Graph& graph);

}  // namespace burnish

#endif  // TUNER_APP_BUILT_GRAPH_H_
