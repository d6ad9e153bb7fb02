// How often a loop runs whose condition follows from what is known at import. Internal to
// compiler/frontend.
#ifndef COMPILER_FRONTEND_ONNX_TRIP_COUNT_H_
#define COMPILER_FRONTEND_ONNX_TRIP_COUNT_H_

#include <optional>
#include <vector>

#include "compiler/graph/graph.h"

namespace burnish {

// What an iteration reads and the next one gets instead.
struct LoopVariable {
  ValueId input = -1, output = -1;  // Of the body.
  ConstantPtr initial;              // Null: only a run knows.
};

// How often the body runs, at least once, until `condition` is false or it has run `limit` times;
// nullopt where only a run knows, or counting takes too long. `number`: the body's input that
// counts iterations.
std::optional<int64_t> KnownTripCount(const Graph& body, const std::vector<LoopVariable>& variables,
                                      ValueId number, ValueId condition, int64_t limit);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_TRIP_COUNT_H_
