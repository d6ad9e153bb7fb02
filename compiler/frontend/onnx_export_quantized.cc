// Quantized operators as ONNX's: integers of 16 bits, which its products lack, go through floats.
#include <algorithm>
#include <map>
#include <utility>

#include "compiler/frontend/onnx_export_context.h"
#include "compiler/frontend/onnx_tensor.h"
#include "compiler/te/layout.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;
using Writer = OnnxGraphWriter;

const TensorType& InputType(const Writer& w, const GraphNode& node, size_t i) {
  return w.graph().value(node.inputs[i]).type;
}

bool IsByte(DType type) { return type == DType::kI8 || type == DType::kU8; }

std::string CastTo(Writer& w, const std::string& x, DType to) {
  const std::string y = w.FreshName(x + "_cast");
  Writer::SetInt(w.Add("Cast", {x}, {y}), "to", OnnxTypeOf(to));
  return y;
}

// Parameters as ONNX has them: one number, or a list along one axis. Others are expanded to the
// whole tensor, in blocks of one element.
struct Parameter {
  std::string name;
  Shape shape;
  const GraphValue* value = nullptr;  // Null: the writer's own constant.
};

// A constant in another shape, with its one number as often as that wants. Other runtimes look for
// parameters that are initializers, not results of a Reshape.
std::string Reshaped(Writer& w, const GraphValue& value, const Shape& to) {
  const auto count = static_cast<size_t>(ElementCount(to));
  std::vector<double> values = ToDoubles(value.type, *value.data);
  if (values.size() != count) values.assign(count, values[0]);
  return w.Constant({value.type.dtype, to}, *FromDoubles(value.type.dtype, values));
}

// Whether both are one number, or a list along the same axis of x, which is then written.
bool IsAlongAxis(const Shape& scale, const Shape& zero, const Shape& x, int64_t* axis) {
  *axis = -1;
  for (const Shape* shape : {&scale, &zero}) {
    for (size_t d = 0; d < shape->size(); ++d) {
      if ((*shape)[d] == 1) continue;
      const auto at = static_cast<int64_t>(x.size() - shape->size() + d);
      if (*axis >= 0 && *axis != at) return false;
      *axis = at;
    }
  }
  return true;
}

// QuantizeLinear or DequantizeLinear of `x`.
void WriteLinear(Writer& w, const std::string& type, const std::string& x, const Shape& shape,
                 const std::vector<Parameter>& parameters, const std::string& y) {
  int64_t axis = -1;
  const bool simple = IsAlongAxis(parameters[0].shape, parameters.back().shape, shape, &axis);
  const Shape to = simple && axis < 0 ? Shape() : simple ? Shape{shape[axis]} : shape;
  std::vector<std::string> inputs = {x};
  for (const Parameter& p : parameters) {
    std::string name = p.name;
    if (simple && p.value != nullptr && p.value->data != nullptr) {
      inputs.push_back(p.shape == to ? name : Reshaped(w, *p.value, to));
      continue;
    }
    if (!to.empty() && ElementCount(p.shape) == 1) {
      name = w.AddFresh("Reshape", {name, w.Ints({1})});
      if (simple) name = w.AddFresh("Expand", {name, w.Ints(to)});
    }
    if (simple && p.shape != to && (to.empty() || ElementCount(p.shape) != 1)) {
      name = w.AddFresh("Reshape", {name, w.Ints(to)});
    }
    if (!simple) name = w.AddFresh("Expand", {name, w.Ints(to)});
    inputs.push_back(name);
  }
  onnx::NodeProto* node = w.Add(type, inputs, {y});
  if (axis >= 0 && simple) Writer::SetInt(node, "axis", axis);
  if (simple) return;
  Writer::SetInt(node, "axis", 0);
  Writer::SetInt(node, "block_size", 1);
}

// ONNX's sums of 32 bits have no zero point, and other runtimes refuse one.
bool IsZeroOfSums(const GraphValue& zero) {
  if (zero.type.dtype != DType::kI32 || zero.data == nullptr) return false;
  const std::vector<int64_t> values = ToInts(zero.type, *zero.data);
  return std::all_of(values.begin(), values.end(), [](int64_t z) { return z == 0; });
}

void WriteQuantized(Writer& w, const GraphNode& node, const std::string& type) {
  std::vector<Parameter> parameters;
  for (int i = 1; i < 3; ++i) {
    const GraphValue& value = w.graph().value(node.inputs[i]);
    if (i == 1 || !IsZeroOfSums(value)) {
      parameters.push_back({w.Name(node.inputs[i]), value.type.shape, &value});
    }
  }
  WriteLinear(w, type, w.Name(node.inputs[0]), InputType(w, node, 0).shape, parameters,
              w.Name(node.outputs[0]));
}

// Multiplied first: ONNX's operator divides.
void WriteRequantize(Writer& w, const GraphNode& node) {
  const std::string real = CastTo(w, w.Name(node.inputs[0]), DType::kF32);
  const std::string scaled = w.AddFresh("Mul", {real, w.Name(node.inputs[1])});
  WriteLinear(
      w, "QuantizeLinear", scaled, InputType(w, node, 0).shape,
      {{w.Scalar(DType::kF32, 1), {}}, {w.Name(node.inputs[2]), InputType(w, node, 2).shape}},
      w.Name(node.outputs[0]));
}

// `type`: of the integer operator; `wide`: of the one for what it does not take, in `through`.
std::string Product(Writer& w, const GraphNode& node, const std::vector<std::string>& factors,
                    const std::string& type, const std::string& wide, DType through,
                    const Attributes& attributes) {
  std::vector<std::string> inputs = factors;
  const bool bytes = IsByte(InputType(w, node, 0).dtype) && IsByte(InputType(w, node, 1).dtype);
  if (!bytes) {
    for (std::string& input : inputs) input = CastTo(w, input, through);
  }
  const std::string y = w.FreshName(node.name + "_sums");
  onnx::NodeProto* product = w.Add(bytes ? type : wide, inputs, {y});
  for (const auto& [name, value] : attributes.values()) {
    if (const auto* i = std::get_if<int64_t>(&value)) Writer::SetInt(product, name, *i);
    if (const auto* v = std::get_if<Shape>(&value)) Writer::SetInts(product, name, *v);
  }
  return bytes || through == DType::kI32 ? y : CastTo(w, y, DType::kI32);
}

void WriteMatmulInteger(Writer& w, const GraphNode& node) {
  std::vector<std::string> factors;
  const char* flags[2] = {"trans_a", "trans_b"};
  for (size_t i = 0; i < 2; ++i) {
    std::string x = w.Name(node.inputs[i]);
    const size_t rank = InputType(w, node, i).shape.size();
    if (node.attributes.Int(flags[i], 0) != 0 && rank >= 2) {
      Shape perm(rank);
      for (size_t d = 0; d < rank; ++d) perm[d] = static_cast<int64_t>(d);
      std::swap(perm[rank - 1], perm[rank - 2]);
      x = w.Transpose(x, perm);
    }
    factors.push_back(x);
  }
  const std::string sums = Product(w, node, factors, "MatMulInteger", "MatMul", DType::kI32, {});
  const std::string y = w.Name(node.outputs[0]);
  if (node.inputs.size() > 2) {
    w.Add("Add", {sums, w.Name(node.inputs[2])}, {y});
  } else {
    w.Add("Identity", {sums}, {y});
  }
}

void WriteConvInteger(Writer& w, const GraphNode& node) {
  const auto rank = static_cast<int64_t>(InputType(w, node, 0).shape.size());
  const bool last = node.attributes.Int("channels_last", 0) != 0;
  const Shape to_last = ChannelsLastOrder(rank);
  std::string x = w.Name(node.inputs[0]);
  if (last) x = w.Transpose(x, InversePermutation(to_last));
  Attributes attributes = node.attributes;
  const int64_t pad_value = attributes.Int("pad_value", 0);
  const Shape pads = attributes.Ints("pads", {});
  if (pad_value != 0 && !pads.empty()) {
    Shape all(2 * rank, 0);
    for (int64_t d = 0; d < rank - 2; ++d) {
      all[d + 2] = pads[d];
      all[rank + d + 2] = pads[rank - 2 + d];
    }
    const std::string value = w.Scalar(InputType(w, node, 0).dtype, static_cast<double>(pad_value));
    x = w.AddFresh("Pad", {x, w.Ints(all), value});
    attributes.Set("pads", Shape(pads.size(), 0));
  }
  Attributes own;
  for (const auto& [name, value] : attributes.values()) {
    if (name != "channels_last" && name != "pad_value") own.Set(name, value);
  }
  std::string y =
      Product(w, node, {x, w.Name(node.inputs[1])}, "ConvInteger", "Conv", DType::kF32, own);
  if (node.inputs.size() > 2) {
    Shape wide(rank, 1);
    wide[1] = -1;
    y = w.AddFresh("Add", {y, w.AddFresh("Reshape", {w.Name(node.inputs[2]), w.Ints(wide)})});
  }
  onnx::NodeProto* end = w.Add(last ? "Transpose" : "Identity", {y}, {w.Name(node.outputs[0])});
  if (last) Writer::SetInts(end, "perm", to_last);
}

// Weights as one matrix, whose blocks have scales: what other runtimes keep in 8 bits.
void WriteMatmulBlocks(Writer& w, const GraphNode& node) {
  const Shape& shape = InputType(w, node, 1).shape;
  const Shape matrix = {shape[0] * shape[1], shape[2]};
  const Shape of_scale = shape[0] == 1 ? Shape{shape[2]} : Shape{shape[0], shape[2]};
  const auto reshaped = [&](size_t i, const Shape& to) {
    const GraphValue& value = w.graph().value(node.inputs[i]);
    if (value.data != nullptr) return w.Constant({value.type.dtype, to}, *value.data);
    return w.AddFresh("Reshape", {w.Name(node.inputs[i]), w.Ints(to)});
  };
  const std::string real = w.FreshName(node.name + "_weights");
  onnx::NodeProto* dequantize =
      w.Add("DequantizeLinear", {reshaped(1, matrix), reshaped(2, of_scale)}, {real});
  Writer::SetInt(dequantize, "axis", shape[0] == 1 ? 1 : 0);
  if (shape[0] > 1) Writer::SetInt(dequantize, "block_size", shape[1]);
  w.Add("MatMul", {w.Name(node.inputs[0]), real}, {w.Name(node.outputs[0])});
}

}  // namespace

bool ExportQuantized(OnnxGraphWriter& writer, const GraphNode& node) {
  if (node.op == "quantize") {
    WriteQuantized(writer, node, "QuantizeLinear");
  } else if (node.op == "dequantize") {
    WriteQuantized(writer, node, "DequantizeLinear");
  } else if (node.op == "requantize") {
    WriteRequantize(writer, node);
  } else if (node.op == "matmul_integer") {
    WriteMatmulInteger(writer, node);
  } else if (node.op == "conv_integer") {
    WriteConvInteger(writer, node);
  } else if (node.op == "matmul_blocks") {
    WriteMatmulBlocks(writer, node);
  } else {
    return false;
  }
  return true;
}

}  // namespace burnish
