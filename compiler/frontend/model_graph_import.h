// A model in Burnish's own operators (proto/model_graph.proto) -> Graph: the way in for frontends
// outside of this program.
//
// As hostile as any model: sizes, counts and offsets are bounded. Attributes are checked against
// what the operator's own functions read: one of another type or an unknown name is refused.
#ifndef COMPILER_FRONTEND_MODEL_GRAPH_IMPORT_H_
#define COMPILER_FRONTEND_MODEL_GRAPH_IMPORT_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/frontend/import_options.h"
#include "compiler/graph/graph.h"

namespace burnish {

inline constexpr uint32_t kSizedModelGraphFormat = 2;  // From which on there are sizes.
inline constexpr uint32_t kNewestModelGraphFormat = 2;

// Whether a file that begins so is meant to be such a model.
bool IsModelGraph(absl::string_view bytes);

// Constants are views of `bytes`; `owner` keeps these alive. Errors: as for ImportOnnx, but
// FAILED_PRECONDITION, since every shape, or its bound, is known.
absl::StatusOr<Graph> ImportModelGraph(std::shared_ptr<const void> owner,
                                       absl::Span<const uint8_t> bytes,
                                       const ImportOptions& options = {});

}  // namespace burnish

#endif  // COMPILER_FRONTEND_MODEL_GRAPH_IMPORT_H_
