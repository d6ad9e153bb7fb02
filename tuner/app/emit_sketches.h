// The sketches of a model's tasks, for people: the space that its schedules are chosen from.
#ifndef TUNER_APP_EMIT_SKETCHES_H_
#define TUNER_APP_EMIT_SKETCHES_H_

#include <string>

#include "absl/status/statusor.h"
#include "compiler/driver/build_model.h"
#include "compiler/graph/graph.h"

namespace burnish {

// Every task in the order of first use, after a line with its name, with its sketches as text
// (tuner/sketch/sketch_text.h). The accuracy and optimization level of `options` decide whether
// algorithms that round in another way have a say. `what`: the model, for errors. Errors: B03xx.
absl::StatusOr<std::string> EmitSketches(const Graph& graph, const BuildModelOptions& options,
                                         const std::string& what);

}  // namespace burnish

#endif  // TUNER_APP_EMIT_SKETCHES_H_
