// Constants with their dimensions permuted, for graphs of one model that passes prepare one after
// the other: each wants the same weights turned.
#ifndef COMPILER_GRAPH_CONSTANT_MEMO_H_
#define COMPILER_GRAPH_CONSTANT_MEMO_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/graph/constant.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Keeps all that goes in. For threads, one after the other: what one turns the other wants next.
class ConstantMemo {
 public:
  // As TransposeConstant.
  ConstantPtr Transposed(const TensorType& type, const ConstantPtr& data,
                         const std::vector<int64_t>& perm);

 private:
  // By address, which is nobody else's while the constant is kept.
  using Key = std::tuple<const uint8_t*, size_t, DType, std::vector<int64_t>, std::vector<int64_t>>;
  struct Known {
    ConstantPtr data, turned;
  };
  std::mutex mutex_;
  std::map<Key, Known> known_;
};

// By the graph's memo, where it has one.
ConstantPtr Transposed(const Graph& graph, const TensorType& type, const ConstantPtr& data,
                       const std::vector<int64_t>& perm);

}  // namespace burnish

#endif  // COMPILER_GRAPH_CONSTANT_MEMO_H_
