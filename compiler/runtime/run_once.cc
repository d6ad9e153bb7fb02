#include "compiler/runtime/run_once.h"

#include <cstring>
#include <utility>

#include "compiler/runtime/call_tensor.h"
#include "compiler/runtime/session.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {
namespace {

RuntimeOr<CallTensor> Dense(const TensorInfo& tensor, uint8_t* data, uint64_t size_bytes,
                            bool is_written) {
  return CheckCallTensor(tensor.name, tensor,
                         {.data = data, .type = tensor.type, .size_bytes = size_bytes}, is_written);
}

}  // namespace

RuntimeOr<std::vector<AlignedBytes>> RunOnce(const std::shared_ptr<const Model>& model,
                                             const ByteViews& inputs) {
  // One thread: what is computed is small or bound by memory.
  RUNTIME_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool,
                           ThreadPool::Create({.thread_count = 1}));
  RUNTIME_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                           Session::Create(model, std::move(pool)));
  std::vector<AlignedBytes> zeros, outputs;
  std::vector<CallTensor> read, written;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& tensor = session->manifest().inputs[i].tensor;
    std::span<const uint8_t> bytes = inputs[i];
    if (bytes.empty()) {
      bytes = zeros.emplace_back(tensor.dense_bytes());
      std::memset(zeros.back().data(), 0, zeros.back().size());
    }
    RUNTIME_ASSIGN_OR_RETURN(
        const CallTensor input,
        Dense(tensor, const_cast<uint8_t*>(bytes.data()), bytes.size(), /*is_written=*/false));
    read.push_back(input);
  }
  for (const ModelTensor& output : session->manifest().outputs) {
    const AlignedBytes& bytes = outputs.emplace_back(output.tensor.dense_bytes());
    RUNTIME_ASSIGN_OR_RETURN(const CallTensor tensor,
                             Dense(output.tensor, bytes.data(), bytes.size(), /*is_written=*/true));
    written.push_back(tensor);
  }
  RUNTIME_RETURN_IF_ERROR(session->RunTensors(read, written, {}));
  return outputs;
}

}  // namespace burnish
