// Computes nodes whose inputs are all constants.
#ifndef COMPILER_GRAPH_FOLD_CONSTANTS_PASS_H_
#define COMPILER_GRAPH_FOLD_CONSTANTS_PASS_H_

#include "absl/status/status.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct FoldConstantsOptions {
  // Results larger than this stay nodes: an expanded constant costs memory traffic at run time that
  // reading the small one does not. reshape, transpose and elementwise results that are no larger
  // than their inputs are folded whatever their size.
  int64_t max_result_bytes = 64 << 20;
  // Of products of constant matrices, all together: a nanosecond for two. What a run would compute
  // again and again, but no model may keep the compiler busy for minutes.
  int64_t max_product_flops = 32'000'000'000;
  // Operators without a fast path run on the interpreter when output elements x inputs' elements
  // stay small: it takes about 10 ns a step.
  int64_t max_interpreted_flops = 20'000'000;
  bool keep_quantized = false;  // Leaves what dequantizes constants as it is.
};

// Errors: only what the interpreter says about a node that it should be able to run.
absl::Status FoldConstants(Graph& graph, const FoldConstantsOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_GRAPH_FOLD_CONSTANTS_PASS_H_
