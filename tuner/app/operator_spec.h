// One operator by name: "conv2d:n=1,h=56,w=56,ci=64,co=64,k=3,s=1,p=1", as a model with random
// weights. docs/cli.md lists operators and keys.
#ifndef TUNER_APP_OPERATOR_SPEC_H_
#define TUNER_APP_OPERATOR_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/graph/graph.h"

namespace burnish {

// "avgpool2d", "conv2d", ...
std::vector<std::string> OperatorSpecNames();

// Whether it is meant as one: it has a colon.
bool IsOperatorSpec(absl::string_view text);

// INVALID_ARGUMENT: an unknown operator or key, a value that is missing or out of bounds, twice
// there, or shapes that do not fit each other. Names what is there to choose from.
absl::StatusOr<Graph> BuildOperator(absl::string_view spec, uint64_t seed);

}  // namespace burnish

#endif  // TUNER_APP_OPERATOR_SPEC_H_
