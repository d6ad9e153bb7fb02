#include "compiler/graph/constant_memo.h"

#include <mutex>

#include "compiler/graph/evaluate.h"

namespace burnish {

ConstantPtr ConstantMemo::Transposed(const TensorType& type, const ConstantPtr& data,
                                     const std::vector<int64_t>& perm) {
  // What remembers its parameters is another constant at the same place.
  if (data->origin() != nullptr) return TransposeConstant(type, *data, perm);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [known, is_new] = known_.try_emplace(
      {data->bytes().data(), data->bytes().size(), type.dtype, type.shape, perm});
  if (is_new) known->second = {data, TransposeConstant(type, *data, perm)};
  return known->second.turned;
}

ConstantPtr Transposed(const Graph& graph, const TensorType& type, const ConstantPtr& data,
                       const std::vector<int64_t>& perm) {
  return graph.memo == nullptr ? TransposeConstant(type, *data, perm)
                               : graph.memo->Transposed(type, data, perm);
}

}  // namespace burnish
