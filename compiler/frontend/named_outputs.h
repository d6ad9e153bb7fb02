// The end of every import: values that become a model's outputs under the names that the model
// gives them. Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_NAMED_OUTPUTS_H_
#define COMPILER_FRONTEND_NAMED_OUTPUTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/graph/graph.h"

namespace burnish {

struct NamedOutput {
  std::string name;
  ValueId value = -1;
};

// Fills in the graph's outputs. A model input, a constant, or a value that is an output already is
// copied, so that each output is a value of its own name; what has no elements stays a constant.
// INVALID_ARGUMENT: no output, or two values of one name.
absl::Status SetNamedOutputs(Graph& graph, absl::Span<const NamedOutput> outputs);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_NAMED_OUTPUTS_H_
