// What LayoutRule (operator.h) means, in one place for passes and tests: operators over tensors
// whose dimensions come in another order than the model's.
//
// An order is a permutation as a transpose has it: dimension d of the new tensor is dimension
// order[d] of the old one.
#ifndef COMPILER_TE_LAYOUT_H_
#define COMPILER_TE_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compiler/te/operator.h"

namespace burnish {

// From N,C,spatial.. to N,spatial..,C. `rank` is 2 at least.
std::vector<int64_t> ChannelsLastOrder(int64_t rank);
// The order that undoes `order`.
std::vector<int64_t> InversePermutation(const std::vector<int64_t>& order);

// Whether an operator with these results can take inputs of `rank` dimensions with channels last
// and give its results so, without a transposition.
bool FollowsChannelsLast(const OperatorDef& op, int64_t rank, absl::Span<const TensorType> results);

// The attributes with which `op` gives its results in this order, over inputs in this order. CHECKs
// that op.layout is not kFixed, that the order of an operator by channel is ChannelsLastOrder, and
// that `infer` can have accepted the attributes for inputs of order.size() dimensions.
Attributes AttributesInOrder(const OperatorDef& op, const Attributes& attributes,
                             const std::vector<int64_t>& order);

}  // namespace burnish

#endif  // COMPILER_TE_LAYOUT_H_
