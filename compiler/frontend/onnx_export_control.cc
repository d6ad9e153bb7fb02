// Nodes with bodies as If, Scan (a loop of slices) or Loop.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_export_context.h"
#include "compiler/frontend/onnx_tensor.h"
#include "compiler/graph/control.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

std::vector<std::string> NamesOf(const OnnxGraphWriter& writer, const std::vector<ValueId>& values,
                                 size_t begin, size_t end) {
  std::vector<std::string> names;
  for (size_t i = begin; i < end; ++i) names.push_back(writer.Name(values[i]));
  return names;
}

onnx::GraphProto* AddGraph(onnx::NodeProto* node, const char* name) {
  onnx::AttributeProto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::GRAPH);
  attribute->mutable_g()->set_name(name);
  return attribute->mutable_g();
}

// A body whose last inputs are values of the graph around it, which it reads by their names.
absl::Status WriteBody(OnnxGraphWriter& around, const GraphNode& node, const Graph& body,
                       onnx::GraphProto* to) {
  const size_t captures = node.inputs.size() - CaptureBegin(node);
  const size_t own = body.inputs.size() - captures;
  Graph copy = body;
  copy.inputs.resize(own);
  OnnxGraphWriter writer(copy, to, &around);
  for (size_t i = 0; i < captures; ++i) {
    writer.SetName(body.inputs[own + i], around.Name(node.inputs[CaptureBegin(node) + i]));
  }
  for (const GraphNode& inner : copy.nodes) RETURN_IF_ERROR(ExportNode(writer, inner));
  return writer.WriteInterface();
}

absl::Status WriteIf(OnnxGraphWriter& writer, const GraphNode& node) {
  onnx::NodeProto* to = writer.Add("If", NamesOf(writer, node.inputs, 0, 1),
                                   NamesOf(writer, node.outputs, 0, node.outputs.size()));
  RETURN_IF_ERROR(WriteBody(writer, node, *node.bodies[0], AddGraph(to, "then_branch")));
  return WriteBody(writer, node, *node.bodies[1], AddGraph(to, "else_branch"));
}

absl::Status WriteScan(OnnxGraphWriter& writer, const GraphNode& node, const LoopParts& parts) {
  onnx::NodeProto* to = writer.Add("Scan", NamesOf(writer, node.inputs, 0, CaptureBegin(node)),
                                   NamesOf(writer, node.outputs, 0, node.outputs.size()));
  const std::vector<int64_t> flags(parts.backwards.begin(), parts.backwards.end());
  const auto middle = flags.begin() + static_cast<int64_t>(parts.slices);
  OnnxGraphWriter::SetInt(to, "num_scan_inputs", static_cast<int64_t>(parts.slices));
  OnnxGraphWriter::SetInts(to, "scan_input_directions", {flags.begin(), middle});
  if (parts.stacked > 0) {
    OnnxGraphWriter::SetInts(to, "scan_output_directions", {middle, flags.end()});
  }
  return WriteBody(writer, node, *node.bodies[0], AddGraph(to, "body"));
}

// Puts what was added last to the front.
template <typename List>
void MoveToFront(List* list, int count) {
  for (int moved = 0; moved < count; ++moved) {
    for (int i = list->size() - 1; i > 0; --i) list->SwapElements(i, i - 1);
  }
}

onnx::ValueInfoProto* SetScalar(onnx::ValueInfoProto* info, const std::string& name, DType dtype) {
  info->set_name(name);
  info->mutable_type()->mutable_tensor_type()->set_elem_type(OnnxTypeOf(dtype));
  info->mutable_type()->mutable_tensor_type()->mutable_shape();
  return info;
}

absl::Status WriteLoop(OnnxGraphWriter& writer, const GraphNode& node, const LoopParts& parts) {
  for (const bool backwards : parts.backwards) {
    if (!backwards) continue;
    return absl::UnimplementedError(absl::StrCat(
        "node '", node.name, "': no operator of ONNX stacks backwards without slices"));
  }
  std::vector<std::string> inputs = {
      parts.has_count ? writer.Name(node.inputs[0]) : writer.Int(parts.count),
      parts.has_condition ? writer.Name(node.inputs[parts.first_state - 1]) : ""};
  for (size_t i = parts.first_state; i < CaptureBegin(node); ++i) {
    inputs.push_back(writer.Name(node.inputs[i]));
  }
  onnx::NodeProto* to =
      writer.Add("Loop", inputs, NamesOf(writer, node.outputs, 0, node.outputs.size()));
  onnx::GraphProto* body = AddGraph(to, "body");
  RETURN_IF_ERROR(WriteBody(writer, node, *node.bodies[0], body));
  const std::string condition = writer.FreshName("condition");
  // In the order of Loop: the iteration's number first.
  SetScalar(body->add_input(), writer.FreshName("iteration"), DType::kI64);
  SetScalar(body->add_input(), condition, DType::kBool);
  MoveToFront(body->mutable_input(), 2);
  if (parts.has_condition) return absl::OkStatus();
  onnx::NodeProto* always = body->add_node();
  always->set_op_type("Identity");
  always->add_input(condition);
  always->add_output(writer.FreshName("always"));
  SetScalar(body->add_output(), always->output(0), DType::kBool);
  MoveToFront(body->mutable_output(), 1);
  return absl::OkStatus();
}

}  // namespace

absl::Status ExportControl(OnnxGraphWriter& writer, const GraphNode& node) {
  if (node.op == "if") return WriteIf(writer, node);
  const LoopParts parts(node);
  if (parts.IsExact() && parts.slices > 0) return WriteScan(writer, node, parts);
  return WriteLoop(writer, node, parts);
}

}  // namespace burnish
