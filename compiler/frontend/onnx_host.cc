// Operators that are functions of the runtime: sorting, scattering, running sums.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_import_context.h"

namespace burnish {
namespace {

absl::StatusOr<int64_t> ConstantInt(OnnxNode& node, int i, absl::string_view what) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.ConstantInts(i, what));
  if (values.size() == 1) return values[0];
  return node.Invalid(absl::StrCat(what, " has ", values.size(), " elements, want 1"));
}

// The node's first inputs, all of which must be there.
absl::StatusOr<std::vector<ValueId>> Inputs(const OnnxNode& node, int count) {
  std::vector<ValueId> values;
  for (int i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(values.emplace_back(), node.Input(i));
  }
  return values;
}

absl::Status TopK(OnnxNode& node) {
  ASSIGN_OR_RETURN(std::vector<ValueId> inputs, Inputs(node, 1));
  int64_t k = node.Int("k", 0);
  if (node.opset() >= 10) {
    ASSIGN_OR_RETURN(k, ConstantInt(node, 1, "K"));
  }
  Attributes attributes;
  attributes.Set("k", k);
  attributes.Set("axis", node.Int("axis", -1));
  attributes.Set("largest", node.Int("largest", 1));
  ASSIGN_OR_RETURN(const std::vector<ValueId> results,
                   node.EmitAll("top_k", std::move(inputs), std::move(attributes)));
  for (int i = 0; i < 2; ++i) node.SetOutput(i, results[i]);
  return absl::OkStatus();
}

OnnxTranslator Cumulate(const char* op) {
  return [op](OnnxNode& node) -> absl::Status {
    ASSIGN_OR_RETURN(std::vector<ValueId> inputs, Inputs(node, 1));
    ASSIGN_OR_RETURN(const int64_t axis, ConstantInt(node, 1, "axis"));
    Attributes attributes;
    attributes.Set("axis", axis);
    attributes.Set("exclusive", node.Int("exclusive", 0));
    attributes.Set("reverse", node.Int("reverse", 0));
    return node.Finish(op, std::move(inputs), std::move(attributes));
  };
}

absl::Status ScatterElements(OnnxNode& node) {
  ASSIGN_OR_RETURN(std::vector<ValueId> inputs, Inputs(node, 3));
  Attributes attributes;
  attributes.Set("axis", node.Int("axis", 0));
  attributes.Set("reduction", node.String("reduction", "none"));
  return node.Finish("scatter_elements", std::move(inputs), std::move(attributes));
}

absl::Status ScatterNd(OnnxNode& node) {
  ASSIGN_OR_RETURN(std::vector<ValueId> inputs, Inputs(node, 3));
  Attributes attributes;
  attributes.Set("reduction", node.String("reduction", "none"));
  return node.Finish("scatter_nd", std::move(inputs), std::move(attributes));
}

}  // namespace

void AddHostTranslators(OnnxTranslators& t) {
  t["TopK"] = TopK;
  t["CumSum"] = Cumulate("cum_sum");
  t["CumProd"] = Cumulate("cum_prod");
  t["Scatter"] = ScatterElements;  // Its name up to opset 10.
  t["ScatterElements"] = ScatterElements;
  t["ScatterND"] = ScatterNd;
}

}  // namespace burnish
