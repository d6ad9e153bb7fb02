// Attributes of a model graph's nodes, read and checked. Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_MODEL_GRAPH_ATTRIBUTES_H_
#define COMPILER_FRONTEND_MODEL_GRAPH_ATTRIBUTES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compiler/te/operator.h"
#include "proto/model_graph.pb.h"

namespace burnish {

// Of an integer of an attribute: extents, pads, axes. Operators add and multiply them with extents
// of tensors, which have 2^34 elements at most.
constexpr int64_t kIntegerMax = int64_t{1} << 28;

Attributes ReadAttributes(const ModelGraph::Node& node);

// Runs the operator's own functions and asks what they read: they are the list of its attributes.
// Results of over `max_elements` are refused before: a definition may hold tables as long as an
// axis.
absl::Status CheckAttributes(const OperatorDef& op, Attributes attributes,
                             absl::Span<const TensorType> types, int64_t max_elements);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_MODEL_GRAPH_ATTRIBUTES_H_
