#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compiler/frontend/onnx_export_context.h"
#include "compiler/frontend/onnx_tensor.h"
#include "compiler/graph/control.h"
#include "compiler/te/layout.h"
#include "compiler/te/operator.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;
using Names = std::vector<std::string>;
using Writer = OnnxGraphWriter;
using NodeWriter = std::function<void(Writer&, const GraphNode&)>;

Names InputNames(const Writer& w, const GraphNode& node) {
  Names names;
  for (ValueId input : node.inputs) names.push_back(w.Name(input));
  return names;
}

Names OutputNames(const Writer& w, const GraphNode& node) {
  Names names;
  for (ValueId output : node.outputs) names.push_back(w.Name(output));
  return names;
}

const TensorType& InputType(const Writer& w, const GraphNode& node, int i) {
  return w.graph().value(node.inputs[i]).type;
}

// Operators with the same inputs and attributes in ONNX, but for channels_last.
const std::map<std::string, std::string>& DirectTypes() {
  static const auto& types = *new std::map<std::string, std::string>{
      {"add", "Add"},
      {"sub", "Sub"},
      {"mul", "Mul"},
      {"div", "Div"},
      {"pow", "Pow"},
      {"mod", "Mod"},
      {"min", "Min"},
      {"max", "Max"},
      {"equal", "Equal"},
      {"less", "Less"},
      {"less_equal", "LessOrEqual"},
      {"greater", "Greater"},
      {"greater_equal", "GreaterOrEqual"},
      {"and", "And"},
      {"or", "Or"},
      {"xor", "Xor"},
      {"prelu", "PRelu"},
      {"where", "Where"},
      {"neg", "Neg"},
      {"abs", "Abs"},
      {"sqrt", "Sqrt"},
      {"exp", "Exp"},
      {"log", "Log"},
      {"tanh", "Tanh"},
      {"erf", "Erf"},
      {"sin", "Sin"},
      {"cos", "Cos"},
      {"floor", "Floor"},
      {"ceil", "Ceil"},
      {"round", "Round"},
      {"sign", "Sign"},
      {"not", "Not"},
      {"is_nan", "IsNaN"},
      {"reciprocal", "Reciprocal"},
      {"identity", "Identity"},
      {"relu", "Relu"},
      {"leaky_relu", "LeakyRelu"},
      {"elu", "Elu"},
      {"selu", "Selu"},
      {"celu", "Celu"},
      {"thresholded_relu", "ThresholdedRelu"},
      {"sigmoid", "Sigmoid"},
      {"hard_sigmoid", "HardSigmoid"},
      {"hard_swish", "HardSwish"},
      {"gelu", "Gelu"},
      {"softplus", "Softplus"},
      {"softsign", "Softsign"},
      {"mish", "Mish"},
      {"conv", "Conv"},
      {"conv_transpose", "ConvTranspose"},
      {"max_pool", "MaxPool"},
      {"average_pool", "AveragePool"},
      {"batch_norm", "BatchNormalization"},
      {"softmax", "Softmax"},
      {"log_softmax", "LogSoftmax"},
      {"layer_norm", "LayerNormalization"},
      {"instance_norm", "InstanceNormalization"},
      {"group_norm", "GroupNormalization"},
      {"lrn", "LRN"},
      {"argmax", "ArgMax"},
      {"argmin", "ArgMin"},
      {"transpose", "Transpose"},
      {"concat", "Concat"},
      {"gather", "Gather"},
      {"gather_nd", "GatherND"},
      {"scatter_elements", "ScatterElements"},
      {"scatter_nd", "ScatterND"},
  };
  return types;
}

const std::map<std::string, std::string>& ReductionTypes() {
  static const auto& types = *new std::map<std::string, std::string>{
      {"reduce_sum", "ReduceSum"},
      {"reduce_mean", "ReduceMean"},
      {"reduce_max", "ReduceMax"},
      {"reduce_min", "ReduceMin"},
      {"reduce_prod", "ReduceProd"},
      {"reduce_l1", "ReduceL1"},
      {"reduce_l2", "ReduceL2"},
      {"reduce_log_sum", "ReduceLogSum"},
      {"reduce_log_sum_exp", "ReduceLogSumExp"},
      {"reduce_sum_square", "ReduceSumSquare"},
  };
  return types;
}

// Attributes as they are, but for those of our own.
void CopyAttributes(const Attributes& attributes, onnx::NodeProto* to) {
  for (const auto& [name, value] : attributes.values()) {
    if (name == "channels_last") continue;
    if (const auto* i = std::get_if<int64_t>(&value)) Writer::SetInt(to, name, *i);
    if (const auto* f = std::get_if<double>(&value)) Writer::SetFloat(to, name, *f);
    if (const auto* s = std::get_if<std::string>(&value)) Writer::SetString(to, name, *s);
    if (const auto* v = std::get_if<Shape>(&value)) Writer::SetInts(to, name, *v);
  }
}

// ONNX has channels in dimension 1 only: operators that have them last stand between transposes.
void WriteChannelsLast(Writer& w, const GraphNode& node, const std::string& type) {
  const auto rank = static_cast<int64_t>(InputType(w, node, 0).shape.size());
  const Shape to_last = ChannelsLastOrder(rank);
  Names inputs = InputNames(w, node);
  inputs[0] = w.Transpose(inputs[0], InversePermutation(to_last));
  const std::string output = w.FreshName(w.Name(node.outputs[0]) + "_channels_first");
  CopyAttributes(node.attributes, w.Add(type, inputs, {output}));
  Writer::SetInts(w.Add("Transpose", {output}, OutputNames(w, node)), "perm", to_last);
}

void WriteDense(Writer& w, const GraphNode& node) {
  Names inputs = InputNames(w, node);
  if (InputType(w, node, 0).shape.size() == 2) {
    Writer::SetInt(w.Add("Gemm", inputs, OutputNames(w, node)), "transB", 1);
    return;
  }
  inputs[1] = w.Transpose(inputs[1], {1, 0});
  if (inputs.size() == 2) {
    w.Add("MatMul", inputs, OutputNames(w, node));
    return;
  }
  const std::string product = w.AddFresh("MatMul", {inputs[0], inputs[1]});
  w.Add("Add", {product, inputs[2]}, OutputNames(w, node));
}

void WriteGemm(Writer& w, const GraphNode& node) {
  onnx::NodeProto* gemm = w.Add("Gemm", InputNames(w, node), OutputNames(w, node));
  Writer::SetFloat(gemm, "alpha", node.attributes.Float("alpha", 1));
  Writer::SetFloat(gemm, "beta", node.attributes.Float("beta", 1));
  Writer::SetInt(gemm, "transA", node.attributes.Int("trans_a", 0));
  Writer::SetInt(gemm, "transB", node.attributes.Int("trans_b", 0));
}

void WriteMatmul(Writer& w, const GraphNode& node) {
  Names inputs = InputNames(w, node);
  const char* flags[2] = {"trans_a", "trans_b"};
  for (int i = 0; i < 2; ++i) {
    const size_t rank = InputType(w, node, i).shape.size();
    if (node.attributes.Int(flags[i], 0) == 0 || rank < 2) continue;
    Shape perm(rank);
    for (size_t d = 0; d < rank; ++d) perm[d] = static_cast<int64_t>(d);
    std::swap(perm[rank - 1], perm[rank - 2]);
    inputs[i] = w.Transpose(inputs[i], perm);
  }
  w.Add("MatMul", inputs, OutputNames(w, node));
}

void WriteClip(Writer& w, const GraphNode& node) {
  const DType dtype = InputType(w, node, 0).dtype;
  const auto bound = [&](const char* name) {
    return node.attributes.Has(name) ? w.Scalar(dtype, node.attributes.Float(name, 0))
                                     : std::string();
  };
  const std::string low = bound("min"), high = bound("max");
  w.Add("Clip", {w.Name(node.inputs[0]), low, high}, OutputNames(w, node));
}

void WriteCast(Writer& w, const GraphNode& node) {
  const DType to = w.graph().value(node.outputs[0]).type.dtype;
  Writer::SetInt(w.Add("Cast", InputNames(w, node), OutputNames(w, node)), "to", OnnxTypeOf(to));
}

void WriteSilu(Writer& w, const GraphNode& node) {
  const std::string x = w.Name(node.inputs[0]);
  const std::string gate = w.AddFresh("Sigmoid", {x});
  w.Add("Mul", {x, gate}, OutputNames(w, node));
}

void WriteReduction(Writer& w, const GraphNode& node, const std::string& type) {
  std::string x = w.Name(node.inputs[0]);
  Shape axes = node.attributes.Ints("axes", {});
  int64_t keep_dims = node.attributes.Int("keepdims", 1);
  if (axes.empty()) {
    // No axes are all axes in ONNX, and runtimes differ over noop_with_empty_axes: an axis of one
    // element more is reduced instead.
    Shape shape = InputType(w, node, 0).shape;
    axes = {static_cast<int64_t>(shape.size())};
    keep_dims = 0;
    shape.push_back(1);
    x = w.AddFresh("Reshape", {x, w.Ints(shape)});
  }
  onnx::NodeProto* reduce = w.Add(type, {x, w.Ints(axes)}, OutputNames(w, node));
  Writer::SetInt(reduce, "keepdims", keep_dims);
}

void WriteReshape(Writer& w, const GraphNode& node) {
  const std::string shape = w.Ints(w.graph().value(node.outputs[0]).type.shape);
  w.Add("Reshape", {w.Name(node.inputs[0]), shape}, OutputNames(w, node));
}

void WriteExpand(Writer& w, const GraphNode& node) {
  const std::string shape = w.Ints(w.graph().value(node.outputs[0]).type.shape);
  w.Add("Expand", {w.Name(node.inputs[0]), shape}, OutputNames(w, node));
}

void WriteSplit(Writer& w, const GraphNode& node) {
  const std::string sizes = w.Ints(node.attributes.Ints("split", {}));
  onnx::NodeProto* split = w.Add("Split", {w.Name(node.inputs[0]), sizes}, OutputNames(w, node));
  Writer::SetInt(split, "axis", node.attributes.Int("axis", 0));
}

void WriteSlice(Writer& w, const GraphNode& node) {
  const Shape starts = node.attributes.Ints("starts", {});
  Shape ends = node.attributes.Ints("ends", {});
  const Shape steps = node.attributes.Ints("steps", Shape(starts.size(), 1));
  for (size_t i = 0; i < ends.size(); ++i) {
    // Ours: -1 is "down to element 0"; in ONNX it counts from the end.
    if (ends[i] < 0) ends[i] = std::numeric_limits<int64_t>::min();
  }
  const std::string s = w.Ints(starts), e = w.Ints(ends);
  const std::string a = w.Ints(node.attributes.Ints("axes", {})), t = w.Ints(steps);
  w.Add("Slice", {w.Name(node.inputs[0]), s, e, a, t}, OutputNames(w, node));
}

void WritePad(Writer& w, const GraphNode& node) {
  const std::string pads = w.Ints(node.attributes.Ints("pads", {}));
  const std::string value =
      w.Scalar(InputType(w, node, 0).dtype, node.attributes.Float("value", 0));
  onnx::NodeProto* pad = w.Add("Pad", {w.Name(node.inputs[0]), pads, value}, OutputNames(w, node));
  Writer::SetString(pad, "mode", node.attributes.String("mode", "constant"));
}

void WriteResize(Writer& w, const GraphNode& node) {
  const Attributes& attributes = node.attributes;
  const auto floats = [&](const char* name) {
    const std::vector<double> values = attributes.Floats(name, {});
    return w.Constant({DType::kF32, {static_cast<int64_t>(values.size())}},
                      *FromDoubles(DType::kF32, values));
  };
  Names inputs = {w.Name(node.inputs[0]), attributes.Has("roi") ? floats("roi") : ""};
  const std::vector<double> scales = attributes.Floats("scales", {});
  Shape sizes = attributes.Ints("sizes", {}), axes;
  if (!scales.empty() && !sizes.empty()) {
    // One scale for some axes, the least of those that the sizes here ask for: they are rounded up.
    const Shape in = InputType(w, node, 0).shape, extents = std::exchange(sizes, {});
    for (size_t d = 0; d < in.size(); ++d) {
      if (scales[d] == 1 && extents[d] == in[d]) continue;
      axes.push_back(static_cast<int64_t>(d));
      // A ratio of integers times one of them is that integer, but for its rounding.
      sizes.push_back(
          static_cast<int64_t>(std::ceil(scales[d] * static_cast<double>(in[d]) - 1e-6)));
    }
  }
  if (sizes.empty()) {
    inputs.push_back(floats("scales"));
  } else {
    inputs.push_back("");
    inputs.push_back(w.Ints(sizes));
  }
  onnx::NodeProto* resize = w.Add("Resize", inputs, OutputNames(w, node));
  if (!axes.empty()) {
    Writer::SetInts(resize, "axes", axes);
    Writer::SetString(resize, "keep_aspect_ratio_policy", "not_larger");
  }
  for (const char* name : {"mode", "coordinate_transformation_mode", "nearest_mode"}) {
    if (attributes.Has(name)) Writer::SetString(resize, name, attributes.String(name, ""));
  }
  if (attributes.Has("extrapolation_value")) {
    Writer::SetFloat(resize, "extrapolation_value", attributes.Float("extrapolation_value", 0));
  }
}

// broadcast=1 is ours: both are expanded to each other's extents, but for the axis.
void WriteGatherElements(Writer& w, const GraphNode& node) {
  Names inputs = InputNames(w, node);
  const Shape out = w.graph().value(node.outputs[0]).type.shape;
  int64_t axis = node.attributes.Int("axis", 0);
  if (axis < 0) axis += static_cast<int64_t>(out.size());
  for (int i = 0; i < 2 && node.attributes.Int("broadcast", 0) != 0; ++i) {
    const Shape shape = InputType(w, node, i).shape;
    Shape wide = out;
    wide[axis] = shape[axis];
    if (wide != shape) inputs[i] = w.AddFresh("Expand", {inputs[i], w.Ints(wide)});
  }
  onnx::NodeProto* gather = w.Add("GatherElements", inputs, OutputNames(w, node));
  Writer::SetInt(gather, "axis", axis);
}

void WriteTopK(Writer& w, const GraphNode& node) {
  const std::string k = w.Ints({node.attributes.Int("k", 1)});
  onnx::NodeProto* top = w.Add("TopK", {w.Name(node.inputs[0]), k}, OutputNames(w, node));
  Writer::SetInt(top, "axis", node.attributes.Int("axis", -1));
  Writer::SetInt(top, "largest", node.attributes.Int("largest", 1));
}

NodeWriter CumulateWriter(const std::string& type) {
  return [type](Writer& w, const GraphNode& node) {
    const std::string axis = w.Ints({node.attributes.Int("axis", 0)});
    onnx::NodeProto* to = w.Add(type, {w.Name(node.inputs[0]), axis}, OutputNames(w, node));
    Writer::SetInt(to, "exclusive", node.attributes.Int("exclusive", 0));
    Writer::SetInt(to, "reverse", node.attributes.Int("reverse", 0));
  };
}

const std::map<std::string, NodeWriter>& SpecialWriters() {
  static const auto& writers = *new std::map<std::string, NodeWriter>{
      {"dense", WriteDense},
      {"gemm", WriteGemm},
      {"matmul", WriteMatmul},
      {"clip", WriteClip},
      {"cast", WriteCast},
      {"silu", WriteSilu},
      {"reshape", WriteReshape},
      {"expand", WriteExpand},
      {"split", WriteSplit},
      {"slice", WriteSlice},
      {"pad", WritePad},
      {"resize", WriteResize},
      {"gather_elements", WriteGatherElements},
      {"top_k", WriteTopK},
      {"cum_sum", CumulateWriter("CumSum")},
      {"cum_prod", CumulateWriter("CumProd")},
  };
  return writers;
}

}  // namespace

absl::Status ExportNode(OnnxGraphWriter& writer, const GraphNode& node) {
  if (IsControl(node)) return ExportControl(writer, node);
  if (ExportQuantized(writer, node)) return absl::OkStatus();
  const std::string op(OpName(node.op));
  const auto special = SpecialWriters().find(op);
  if (special != SpecialWriters().end()) {
    special->second(writer, node);
    return absl::OkStatus();
  }
  const auto reduction = ReductionTypes().find(op);
  if (reduction != ReductionTypes().end()) {
    WriteReduction(writer, node, reduction->second);
    return absl::OkStatus();
  }
  const auto direct = DirectTypes().find(op);
  if (direct == DirectTypes().end()) {
    return absl::UnimplementedError(
        absl::StrCat("node '", node.name, "': operator ", op, " has no ONNX form"));
  }
  const LayoutRule layout = OperatorOf(node.op).layout;
  const bool by_channel = layout == LayoutRule::kByChannel || layout == LayoutRule::kChannelsLast;
  if (by_channel && node.attributes.Int("channels_last", 0) != 0) {
    WriteChannelsLast(writer, node, direct->second);
    return absl::OkStatus();
  }
  CopyAttributes(node.attributes,
                 writer.Add(direct->second, InputNames(writer, node), OutputNames(writer, node)));
  return absl::OkStatus();
}

}  // namespace burnish
