#include "compiler/frontend/model_graph_attributes.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/frontend/element_count.h"
#include "compiler/te/builder.h"

namespace burnish {
namespace {

// ONNX's translators have made axes, ends and pads of any size proper ones; here they come as they
// are.
absl::Status CheckIntegers(const Attributes& attributes) {
  for (const auto& [name, value] : attributes.values()) {
    std::vector<int64_t> integers;
    if (const auto* one = std::get_if<int64_t>(&value)) integers = {*one};
    if (const auto* many = std::get_if<std::vector<int64_t>>(&value)) integers = *many;
    for (const int64_t integer : integers) {
      if (integer >= -kIntegerMax && integer <= kIntegerMax) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("attribute '", name, "': got ", integer, ", want -2^28 to 2^28"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Attributes ReadAttributes(const ModelGraph::Node& node) {
  Attributes attributes;
  for (const auto& [name, attribute] : node.attributes()) {
    switch (attribute.value_case()) {
      case ModelGraph::Attribute::kI:
        attributes.Set(name, attribute.i());
        break;
      case ModelGraph::Attribute::kF:
        attributes.Set(name, attribute.f());
        break;
      case ModelGraph::Attribute::kS:
        attributes.Set(name, attribute.s());
        break;
      case ModelGraph::Attribute::kInts:
        attributes.Set(name, std::vector<int64_t>(attribute.ints().values().begin(),
                                                  attribute.ints().values().end()));
        break;
      case ModelGraph::Attribute::kFloats:
        attributes.Set(name, std::vector<double>(attribute.floats().values().begin(),
                                                 attribute.floats().values().end()));
        break;
      case ModelGraph::Attribute::VALUE_NOT_SET:
        break;  // As if it were not there.
    }
  }
  return attributes;
}

absl::Status CheckAttributes(const OperatorDef& op, Attributes attributes,
                             absl::Span<const TensorType> types, int64_t max_elements) {
  RETURN_IF_ERROR(CheckIntegers(attributes));
  AttributeReads reads;
  attributes.LogReads(&reads);
  const auto mistyped = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("attribute '", reads.mistyped, "' has another type than the operator wants"));
  };
  const absl::StatusOr<std::vector<TensorType>> results = op.infer(attributes, types);
  // First: the operator's complaint is about the default that it got instead.
  if (!reads.mistyped.empty()) return mistyped();
  RETURN_IF_ERROR(results.status());
  for (const TensorType& result : *results) {
    RETURN_IF_ERROR(CheckedElementCount(result.shape, max_elements, "a result").status());
  }
  for (const absl::Span<const TensorType> all : {types, absl::MakeConstSpan(*results)}) {
    for (const TensorType& type : all) {
      // A definition has elements.
      if (ElementCount(type.shape) > 0) continue;
      return absl::UnimplementedError("a dimension is 0");
    }
  }
  if (op.fusion != FusionKind::kHost) {
    TeBuilder te("attributes");
    std::vector<Tensor> inputs;
    for (const TensorType& type : types) {
      inputs.push_back(te.Parameter("x", type, BufferRole::kInput));
    }
    op.define(te, attributes, inputs);
  }
  // Read by the layout pass, and by the definition only where it makes a difference.
  if (op.layout == LayoutRule::kByChannel || op.layout == LayoutRule::kChannelsLast) {
    attributes.Int("channels_last", 0);
  }
  if (!reads.mistyped.empty()) return mistyped();
  for (const auto& [name, value] : attributes.values()) {
    if (reads.names.count(name) > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "got attribute '", name, "', want one of: ", absl::StrJoin(reads.names, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace burnish
