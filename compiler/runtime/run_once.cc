#include "compiler/runtime/run_once.h"

#include <utility>

#include "compiler/runtime/session.h"
#include "compiler/runtime/thread_pool.h"

namespace burnish {

RuntimeOr<std::vector<std::vector<uint8_t>>> RunOnce(
    const std::shared_ptr<const Model>& model, const std::vector<std::vector<uint8_t>>& inputs) {
  // One thread: what is computed is small or bound by memory.
  RUNTIME_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool,
                           ThreadPool::Create({.thread_count = 1}));
  // Has the memory of all inputs and outputs, or says that there is none.
  RUNTIME_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                           Session::Create(model, std::move(pool)));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].empty()) RUNTIME_RETURN_IF_ERROR(session->SetInput(i, inputs[i]));
  }
  RUNTIME_RETURN_IF_ERROR(session->Run());
  std::vector<std::vector<uint8_t>> outputs;
  for (size_t i = 0; i < session->manifest().outputs.size(); ++i) {
    outputs.emplace_back(session->manifest().outputs[i].tensor.dense_bytes());
    RUNTIME_RETURN_IF_ERROR(session->GetOutput(i, outputs.back()));
  }
  return outputs;
}

}  // namespace burnish
