// Reductions over chosen axes, as reduce.cc, softmax.cc and normalization.cc use them.
#ifndef COMPILER_TE_OPS_REDUCE_H_
#define COMPILER_TE_OPS_REDUCE_H_

#include <functional>
#include <string>
#include <vector>

#include "compiler/te/ops/common.h"

namespace burnish::ops {

struct AxesReduction {
  std::vector<int> axes;  // Of the input, ascending, each once.
  bool keep_dims = true;  // Reduced dimensions stay, with extent 1.
  Combiner combiner = Combiner::kSum;
  DType dtype = DType::kF32;  // Of the result.
  // One term, from the full index of an input element; `kept`: the index of its result.
  std::function<Expr(const Indices& full, const Indices& kept)> term;
  std::function<Expr(const Indices& kept, const Expr& self)> finish;  // Null: self.
};

// A block over the kept axes (i0, i1, ..) that reduces over the others (k0, k1, ..).
Tensor ReduceAxes(TeBuilder& te, const std::string& name, const std::vector<int64_t>& shape,
                  const AxesReduction& reduction);

// The shape that remains.
std::vector<int64_t> ReducedShape(const std::vector<int64_t>& shape, const std::vector<int>& axes,
                                  bool keep_dims);
// The element of a reduced tensor with kept dimensions that belongs to a full index.
Expr AtKept(const Tensor& reduced, const std::vector<int>& axes, const Indices& full);

}  // namespace burnish::ops

#endif  // COMPILER_TE_OPS_REDUCE_H_
