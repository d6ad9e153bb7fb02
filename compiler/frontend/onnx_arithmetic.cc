// ONNX's elementwise operators: unary, binary, variadic, activations, Cast, Clip, Dropout.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_import_context.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

// An ONNX float attribute that the operator has under the same name.
struct FloatAttribute {
  const char* name;
  double fallback;
};

OnnxTranslator Unary(std::string op, std::vector<FloatAttribute> floats = {}) {
  return [op, floats](OnnxNode& node) -> absl::Status {
    ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
    Attributes attributes;
    for (const FloatAttribute& a : floats) attributes.Set(a.name, node.Float(a.name, a.fallback));
    return node.Finish(op, {x}, std::move(attributes));
  };
}

OnnxTranslator Binary(std::string op) {
  return [op](OnnxNode& node) -> absl::Status {
    ASSIGN_OR_RETURN(const ValueId a, node.Input(0));
    ASSIGN_OR_RETURN(const ValueId b, node.Input(1));
    return node.Finish(op, {a, b});
  };
}

absl::StatusOr<ValueId> Chain(OnnxNode& node, const std::string& op) {
  ASSIGN_OR_RETURN(ValueId value, node.Input(0));
  for (int i = 1; i < node.input_count(); ++i) {
    ASSIGN_OR_RETURN(const ValueId next, node.Input(i));
    ASSIGN_OR_RETURN(value, node.Emit(op, {value, next}));
  }
  return value;
}

OnnxTranslator Variadic(std::string op) {
  return [op](OnnxNode& node) -> absl::Status {
    ASSIGN_OR_RETURN(const ValueId value, Chain(node, op));
    node.SetOutput(0, value);
    return absl::OkStatus();
  };
}

absl::Status Mean(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId sum, Chain(node, "add"));
  ASSIGN_OR_RETURN(const ValueId count,
                   node.EmitScalar(node.TypeOf(sum).dtype, node.input_count()));
  return node.Finish("div", {sum, count});
}

absl::StatusOr<ValueId> EmitCastTo(OnnxNode& node, ValueId x, DType dtype) {
  Attributes attributes;
  attributes.Set("to", std::string(DTypeName(dtype)));
  return node.Emit("cast", {x}, std::move(attributes));
}

absl::Status Pow(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId base, node.Input(0));
  ASSIGN_OR_RETURN(ValueId exponent, node.Input(1));
  // Opset 12 allows mixed types. Exponents that the base's type holds are taken for that type's:
  // what exporters write as integers needs no doubles.
  const DType dtype = node.TypeOf(base).dtype;
  const GraphValue& given = node.context().graph.value(exponent);
  if (given.type.dtype != dtype && given.data != nullptr) {
    const std::vector<double> values = ToDoubles(given.type, *given.data);
    // Of integers those that multiply; wider exponents have an overflow that casts would hide.
    const auto holds = [&](double v) {
      if (!IsFloat(dtype)) return v >= 0 && v <= 64 && v == std::trunc(v);
      const double wide = dtype == DType::kF64 ? v : static_cast<float>(v);
      return RoundToStorage(dtype, wide) == v;
    };
    if (std::all_of(values.begin(), values.end(), holds)) {
      ASSIGN_OR_RETURN(exponent, EmitCastTo(node, exponent, dtype));
    }
  }
  return node.Finish("pow", {base, exponent});
}

// fmod with the divisor's sign: a remainder of the other sign is one divisor off.
absl::StatusOr<ValueId> FloorModulo(OnnxNode& node, ValueId a, ValueId b) {
  Attributes fmod;
  fmod.Set("fmod", int64_t{1});
  ASSIGN_OR_RETURN(const ValueId remainder, node.Emit("mod", {a, b}, std::move(fmod)));
  ASSIGN_OR_RETURN(const ValueId zero, node.EmitScalar(node.TypeOf(a).dtype, 0));
  // A remainder of 0 has no sign: moved by a divisor it would become that divisor.
  ASSIGN_OR_RETURN(const ValueId is_zero, node.Emit("equal", {remainder, zero}));
  ASSIGN_OR_RETURN(const ValueId negative, node.Emit("less", {remainder, zero}));
  ASSIGN_OR_RETURN(const ValueId divisor_negative, node.Emit("less", {b, zero}));
  ASSIGN_OR_RETURN(const ValueId differs, node.Emit("xor", {negative, divisor_negative}));
  ASSIGN_OR_RETURN(const ValueId shifted, node.Emit("add", {remainder, b}));
  ASSIGN_OR_RETURN(const ValueId moved, node.Emit("where", {differs, shifted, remainder}));
  return node.Emit("where", {is_zero, remainder, moved});
}

absl::Status Modulo(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId a, node.Input(0));
  ASSIGN_OR_RETURN(const ValueId b, node.Input(1));
  const int64_t fmod = node.Int("fmod", 0);
  if (fmod == 0 && IsFloat(node.TypeOf(a).dtype)) {
    ASSIGN_OR_RETURN(const ValueId result, FloorModulo(node, a, b));
    node.SetOutput(0, result);
    return absl::OkStatus();
  }
  Attributes attributes;
  attributes.Set("fmod", fmod);
  return node.Finish("mod", {a, b}, std::move(attributes));
}

absl::Status IsInf(OnnxNode& node) {
  ASSIGN_OR_RETURN(ValueId x, node.Input(0));
  const bool positive = node.Int("detect_positive", 1) != 0;
  const bool negative = node.Int("detect_negative", 1) != 0;
  const DType dtype = node.TypeOf(x).dtype;
  if (!IsFloat(dtype)) return node.Invalid("wants floating-point input");
  if (positive && negative) {
    ASSIGN_OR_RETURN(x, node.Emit("abs", {x}));
  }
  const double infinity = std::numeric_limits<double>::infinity();
  // Nothing to detect: no value equals NaN.
  const double wanted = positive   ? infinity
                        : negative ? -infinity
                                   : std::numeric_limits<double>::quiet_NaN();
  ASSIGN_OR_RETURN(const ValueId value, node.EmitScalar(dtype, wanted));
  return node.Finish("equal", {x, value});
}

// x < -lambd: x + bias; x > lambd: x - bias; else 0.
absl::Status Shrink(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const DType dtype = node.TypeOf(x).dtype;
  const double lambda = node.Float("lambd", 0.5);
  ASSIGN_OR_RETURN(const ValueId low, node.EmitScalar(dtype, -lambda));
  ASSIGN_OR_RETURN(const ValueId high, node.EmitScalar(dtype, lambda));
  ASSIGN_OR_RETURN(const ValueId bias, node.EmitScalar(dtype, node.Float("bias", 0)));
  ASSIGN_OR_RETURN(const ValueId zero, node.EmitScalar(dtype, 0));
  ASSIGN_OR_RETURN(const ValueId below, node.Emit("less", {x, low}));
  ASSIGN_OR_RETURN(const ValueId above, node.Emit("greater", {x, high}));
  ASSIGN_OR_RETURN(const ValueId raised, node.Emit("add", {x, bias}));
  ASSIGN_OR_RETURN(const ValueId lowered, node.Emit("sub", {x, bias}));
  ASSIGN_OR_RETURN(const ValueId otherwise, node.Emit("where", {above, lowered, zero}));
  return node.Finish("where", {below, raised, otherwise});
}

absl::Status Where(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId condition, node.Input(0));
  ASSIGN_OR_RETURN(const ValueId a, node.Input(1));
  ASSIGN_OR_RETURN(const ValueId b, node.Input(2));
  return node.Finish("where", {condition, a, b});
}

absl::Status EmitCast(OnnxNode& node, DType dtype) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  if (node.TypeOf(x).dtype == dtype) {
    node.SetOutput(0, x);
    return absl::OkStatus();
  }
  Attributes attributes;
  attributes.Set("to", std::string(DTypeName(dtype)));
  return node.Finish("cast", {x}, std::move(attributes));
}

absl::Status CastTo(OnnxNode& node) {
  const int64_t to = node.Int("to", 0);
  if (to < 0 || to > std::numeric_limits<int>::max()) return node.Invalid("attribute to");
  ASSIGN_OR_RETURN(const DType dtype,
                   DTypeOfOnnx(static_cast<int>(to), absl::StrCat(node.Label(), ", to")));
  return EmitCast(node, dtype);
}

absl::Status CastLike(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId like, node.Input(1));
  return EmitCast(node, node.TypeOf(like).dtype);
}

// Bounds that are no constants: a chain of max and min.
// The greatest number, which is the bound that Clip has where none is given: infinities are none.
// As an attribute it was one of 32 bits.
double ClipBound(DType dtype, bool is_attribute) {
  constexpr double kF16 = 65504, kBf16 = 0x1.FEp127;
  if (dtype == DType::kF16) return kF16;
  if (dtype == DType::kBf16) return kBf16;
  return dtype == DType::kF64 && !is_attribute ? std::numeric_limits<double>::max()
                                               : std::numeric_limits<float>::max();
}

Attributes OneBound(const char* name, double bound) {
  Attributes attributes;
  attributes.Set(name, bound);
  return attributes;
}

absl::Status ClipByTensors(OnnxNode& node, ValueId x) {
  const DType dtype = node.TypeOf(x).dtype;
  const double bound = IsFloat(dtype) ? ClipBound(dtype, /*is_attribute=*/false) : 0;
  // The lower bound first: where it lies above the upper one, ONNX wants the upper one.
  if (node.HasInput(1)) {
    ASSIGN_OR_RETURN(const ValueId low, node.Input(1));
    ASSIGN_OR_RETURN(x, node.Emit("max", {x, low}));
  } else if (IsFloat(dtype)) {
    ASSIGN_OR_RETURN(x, node.Emit("clip", {x}, OneBound("min", -bound)));
  }
  if (node.HasInput(2)) {
    ASSIGN_OR_RETURN(const ValueId high, node.Input(2));
    ASSIGN_OR_RETURN(x, node.Emit("min", {x, high}));
  } else if (IsFloat(dtype)) {
    ASSIGN_OR_RETURN(x, node.Emit("clip", {x}, OneBound("max", bound)));
  }
  node.SetOutput(0, x);
  return absl::OkStatus();
}

absl::Status Clip(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  // Not as attributes, which are doubles: not every 64-bit integer is one.
  if (!IsFloat(node.TypeOf(x).dtype)) return ClipByTensors(node, x);
  const bool has_attributes = node.opset() < 11;
  const double greatest = ClipBound(node.TypeOf(x).dtype, has_attributes);
  Attributes attributes;
  attributes.Set("min", has_attributes ? node.Float("min", -greatest) : -greatest);
  attributes.Set("max", has_attributes ? node.Float("max", greatest) : greatest);
  if (!has_attributes) {
    for (int i = 1; i <= 2; ++i) {
      if (!node.HasInput(i)) continue;
      ASSIGN_OR_RETURN(const ValueId bound, node.Input(i));
      const TensorType& type = node.TypeOf(bound);
      if (!node.context().graph.IsConstant(bound) || ElementCount(type.shape) != 1) {
        return ClipByTensors(node, x);
      }
      attributes.Set(i == 1 ? "min" : "max",
                     FirstAsDouble(type, *node.context().graph.value(bound).data));
    }
  }
  return node.Finish("clip", {x}, std::move(attributes));
}

absl::Status PassThrough(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  node.SetOutput(0, x);
  return absl::OkStatus();
}

absl::Status Dropout(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  if (node.HasInput(2)) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> training, node.ConstantInts(2, "training_mode"));
    double ratio = 0.5;  // The default of the operator.
    if (node.HasInput(1)) {
      ASSIGN_OR_RETURN(const std::vector<double> given, node.ConstantFloats(1, "ratio"));
      if (given.size() == 1) ratio = given[0];
    }
    // A ratio of 0 drops nothing in training either.
    if (!training.empty() && training[0] != 0 && ratio != 0) {
      return node.Unsupported(
          "training_mode is on, which draws random numbers; export the model for inference");
    }
  }
  node.SetOutput(0, x);
  if (node.OutputUsed(1)) {  // In inference nothing is dropped: the mask is all true.
    const TensorType type = node.TypeOf(x);
    Attributes to;
    const DType mask_type = node.opset() < 10 ? type.dtype : DType::kBool;
    ASSIGN_OR_RETURN(ValueId one, node.EmitScalar(mask_type, 1));
    ASSIGN_OR_RETURN(one, node.EmitUnknownAs(one, x));
    to.Set("shape", type.shape);
    ASSIGN_OR_RETURN(const ValueId mask, node.Emit("expand", {one}, std::move(to)));
    node.HoldAs(mask, x);
    node.SetOutput(1, mask);
  }
  return absl::OkStatus();
}

absl::Status Gelu(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const std::string approximate = node.String("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return node.Invalid(absl::StrCat("approximate: got '", approximate, "', want none or tanh"));
  }
  Attributes attributes;
  attributes.Set("approximate", approximate);
  return node.Finish("gelu", {x}, std::move(attributes));
}

// x * sigmoid(alpha * x).
absl::Status Swish(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const double alpha = node.Float("alpha", 1.0);
  // The usual one has an operator of its own.
  if (alpha == 1.0) return node.Finish("silu", {x});
  ASSIGN_OR_RETURN(const ValueId scale, node.EmitScalar(node.TypeOf(x).dtype, alpha));
  ASSIGN_OR_RETURN(const ValueId scaled, node.Emit("mul", {x, scale}));
  ASSIGN_OR_RETURN(const ValueId gate, node.Emit("sigmoid", {scaled}));
  return node.Finish("mul", {x, gate});
}

}  // namespace

void AddArithmeticTranslators(OnnxTranslators& t) {
  const std::pair<const char*, const char*> unary[] = {
      {"Neg", "neg"},           {"Abs", "abs"},
      {"Sqrt", "sqrt"},         {"Exp", "exp"},
      {"Log", "log"},           {"Tanh", "tanh"},
      {"Erf", "erf"},           {"Sin", "sin"},
      {"Cos", "cos"},           {"Floor", "floor"},
      {"Ceil", "ceil"},         {"Round", "round"},
      {"Sign", "sign"},         {"Not", "not"},
      {"IsNaN", "is_nan"},      {"Relu", "relu"},
      {"Sigmoid", "sigmoid"},   {"HardSwish", "hard_swish"},
      {"Softplus", "softplus"}, {"Softsign", "softsign"},
      {"Mish", "mish"},         {"Reciprocal", "reciprocal"}};
  for (const auto& [onnx, op] : unary) t[onnx] = Unary(op);
  // Written as floats where the decimal is no float: ONNX's attributes have 32 bits, and a default
  // must be the number that a model which spells it out has.
  t["LeakyRelu"] = Unary("leaky_relu", {{"alpha", 0.01f}});
  t["Elu"] = Unary("elu", {{"alpha", 1.0}});
  t["Selu"] =
      Unary("selu", {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}});
  t["Celu"] = Unary("celu", {{"alpha", 1.0}});
  t["ThresholdedRelu"] = Unary("thresholded_relu", {{"alpha", 1.0}});
  t["HardSigmoid"] = Unary("hard_sigmoid", {{"alpha", 0.2f}, {"beta", 0.5}});
  const std::pair<const char*, const char*> binary[] = {
      {"Add", "add"},         {"Sub", "sub"},
      {"Mul", "mul"},         {"Div", "div"},
      {"Equal", "equal"},     {"Less", "less"},
      {"Greater", "greater"}, {"LessOrEqual", "less_equal"},
      {"And", "and"},         {"GreaterOrEqual", "greater_equal"},
      {"Or", "or"},           {"Xor", "xor"},
      {"PRelu", "prelu"}};
  for (const auto& [onnx, op] : binary) t[onnx] = Binary(op);
  t["Sum"] = Variadic("add");
  t["Min"] = Variadic("min");
  t["Max"] = Variadic("max");
  t["Mean"] = Mean;
  t["Pow"] = Pow;
  t["Mod"] = Modulo;
  t["IsInf"] = IsInf;
  t["Shrink"] = Shrink;
  t["Where"] = Where;
  t["Cast"] = CastTo;
  t["CastLike"] = CastLike;
  t["Clip"] = Clip;
  t["Identity"] = PassThrough;
  t["Dropout"] = Dropout;
  t["Gelu"] = Gelu;
  t["Swish"] = Swish;
}

}  // namespace burnish
