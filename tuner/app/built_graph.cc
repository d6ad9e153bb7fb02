#include "tuner/app/built_graph.h"

#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/driver/to_status.h"
#include "compiler/runtime/model.h"
#include "compiler/runtime/thread_pool.h"
#include "compiler/te/host_operator.h"
#include "tuner/app/error.h"

namespace burnish {
namespace {

absl::Status Named(const RuntimeStatus& status, ErrorCode code, const std::string& what) {
  return WithError(ToStatus(status), code, what);
}

}  // namespace

std::vector<TensorInfo> InputTensors(const Graph& graph) {
  std::vector<TensorInfo> tensors;
  for (size_t i = 0; i < graph.shown_inputs(); ++i) {
    const GraphValue& value = graph.value(graph.inputs[i]);
    tensors.push_back(DenseTensor(value.name, ElementTypeOf(value.type.dtype), value.type.shape));
  }
  return tensors;
}

absl::StatusOr<std::unique_ptr<BuiltGraph>> BuiltGraph::Build(const Graph& graph,
                                                              const GraphBuildOptions& options,
                                                              const std::string& what) {
  const BuildModelOptions build{
      .target = options.target, .opt_level = 2, .progress = options.progress};
  ASSIGN_OR_RETURN(const BuiltModel built, BuildBundle(graph, options.facts, build, what));
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(built.bundle.data()),
                                       built.bundle.size());
  // Made by this process a moment ago: hashing the weights would find nothing.
  auto model = Model::LoadBytes(bytes, {.check_weights = false});
  if (!model.ok()) return Named(model.status(), ErrorCode::kOtherCpu, what);
  auto pool = ThreadPool::Create({.thread_count = options.target.threads});
  if (!pool.ok()) return Named(pool.status(), ErrorCode::kOutOfMemory, what);
  auto session = Session::Create(*model, std::shared_ptr<ThreadPool>(*std::move(pool)));
  if (!session.ok()) return Named(session.status(), ErrorCode::kOutOfMemory, what);
  std::unique_ptr<BuiltGraph> graph_that_runs(new BuiltGraph(*std::move(session), what));
  graph_that_runs->weights_bytes_ = built.weights_bytes;
  return graph_that_runs;
}

absl::Status BuiltGraph::Run(const std::vector<NpyArray>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& bytes = inputs[i].bytes;
    const RuntimeStatus set =
        session_->SetInput(i, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    if (!set.ok()) return Named(set, ErrorCode::kTensorMismatch, what_);
  }
  const RuntimeStatus ran = session_->Run();
  return ran.ok() ? absl::OkStatus() : Named(ran, ErrorCode::kRunFailed, what_);
}

std::vector<TensorInfo> BuiltGraph::outputs() const {
  std::vector<TensorInfo> tensors;
  for (const ModelTensor& output : session_->manifest().outputs) tensors.push_back(output.tensor);
  return tensors;
}

absl::StatusOr<std::vector<uint8_t>> BuiltGraph::Output(size_t index) {
  TensorInfo tensor = session_->manifest().outputs[index].tensor;
  tensor.shape = session_->OutputShape(index);
  std::vector<uint8_t> bytes(tensor.dense_bytes());
  const RuntimeStatus got = session_->GetOutput(index, bytes);
  if (!got.ok()) return Named(got, ErrorCode::kInternal, what_);
  return bytes;
}

}  // namespace burnish
