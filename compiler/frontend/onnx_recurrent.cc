// LSTM, GRU and RNN. The product of all time steps' inputs with W is one node; a loop over the time
// steps has the product with R and the gates. Directions are loops of their own.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"
#include "compiler/frontend/onnx_import_context.h"
#include "compiler/frontend/onnx_quantized.h"
#include "compiler/graph/control.h"

namespace burnish {
namespace {

// An activation with its parameters.
struct Activation {
  std::string name;  // In small letters: writers do not agree on them.
  double alpha = 0, beta = 0;
};

// Names, and the defaults of those that have parameters: ONNX's text of LSTM.
struct KnownActivation {
  const char* name;
  const char* op;  // Null: made of others.
  int parameters;  // 0; 1: alpha; 2: beta too.
  double alpha, beta;
};
constexpr KnownActivation kActivations[] = {
    {"relu", "relu", 0, 0, 0},
    {"tanh", "tanh", 0, 0, 0},
    {"sigmoid", "sigmoid", 0, 0, 0},
    {"softsign", "softsign", 0, 0, 0},
    {"softplus", "softplus", 0, 0, 0},
    {"leakyrelu", "leaky_relu", 1, 0.01f, 0},
    {"thresholdedrelu", "thresholded_relu", 1, 1, 0},
    {"elu", "elu", 1, 1, 0},
    {"hardsigmoid", "hard_sigmoid", 2, 0.2f, 0.5},
    // Without defaults in ONNX's text; these are those of ONNX Runtime.
    {"affine", nullptr, 2, 1, 0},
    {"scaledtanh", nullptr, 2, 1, 1},
};

const KnownActivation* FindActivation(const std::string& name) {
  for (const KnownActivation& known : kActivations) {
    if (name == known.name) return &known;
  }
  return nullptr;
}

// One operator's inputs and attributes.
struct Recurrence {
  std::string kind;  // "LSTM", "GRU", "RNN".
  int64_t gates = 0, functions = 0;
  int64_t steps = 0, batch = 0, hidden = 0, directions = 0;
  bool batch_first = false;
  DType dtype = DType::kF32;  // Of inputs and states.
  ValueId x = -1, w = -1, r = -1;
  ValueId run_steps = -1;  // i64 scalar: how many of `steps` a run has; -1: all.
  ValueId bias = -1, lengths = -1, initial_h = -1, initial_c = -1, peepholes = -1;
  double clip = 0;  // 0: none.
  bool linear_before_reset = false, input_forget = false;
  // As ONNX Runtime's DynamicQuantizeLSTM: the whole input by one range, the state by one a step.
  bool rounds_to_bytes = false;
  std::vector<std::string> names;  // "forward", "reverse".
  std::vector<Activation> activations;
};

ValueId Activated(Composer& c, const Activation& activation, ValueId x) {
  const KnownActivation& known = *FindActivation(activation.name);
  if (known.op == nullptr && activation.name == "affine") {
    return c.Add(c.Mul(x, activation.alpha), activation.beta);
  }
  if (known.op == nullptr) {
    return c.Mul(c.Op("tanh", {c.Mul(x, activation.beta)}), activation.alpha);
  }
  Attributes attributes;
  if (known.parameters > 0) attributes.Set("alpha", activation.alpha);
  if (known.parameters > 1) attributes.Set("beta", activation.beta);
  return c.Op(known.op, {x}, std::move(attributes));
}

absl::Status ReadActivations(OnnxNode& node, Recurrence& all) {
  std::vector<std::string> names;
  if (node.HasAttribute("activations")) {
    ASSIGN_OR_RETURN(names, node.Strings("activations"));
    if (static_cast<int64_t>(names.size()) != all.directions * all.functions) {
      return node.Invalid(absl::StrCat("activations: got ", names.size(), ", want ",
                                       all.directions * all.functions));
    }
  } else {
    for (int64_t d = 0; d < all.directions; ++d) {
      names.push_back(all.kind == "RNN" ? "tanh" : "sigmoid");
      for (int64_t f = 1; f < all.functions; ++f) names.push_back("tanh");
    }
  }
  const std::vector<double> alphas = node.Floats("activation_alpha", {});
  const std::vector<double> betas = node.Floats("activation_beta", {});
  size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    Activation activation{.name = absl::AsciiStrToLower(name)};
    const KnownActivation* known = FindActivation(activation.name);
    if (known == nullptr) return node.Unsupported(absl::StrCat("activation '", name, "'"));
    // Values are for those functions that take one, in order.
    activation.alpha = known->alpha;
    activation.beta = known->beta;
    if (known->parameters > 0 && alpha < alphas.size()) activation.alpha = alphas[alpha++];
    if (known->parameters > 1 && beta < betas.size()) activation.beta = betas[beta++];
    all.activations.push_back(std::move(activation));
  }
  return absl::OkStatus();
}

absl::Status CheckShape(const OnnxNode& node, ValueId id, absl::string_view what,
                        const std::vector<int64_t>& want) {
  if (id < 0 || node.TypeOf(id).shape == want) return absl::OkStatus();
  return node.Invalid(absl::StrCat(what, ": got ", PrintType(node.TypeOf(id)), ", want ",
                                   PrintType({node.TypeOf(id).dtype, want})));
}

// Weights [directions, inputs, gates] with one scale a direction or one a gate, as real numbers in
// LSTM's order. What they are multiplied with is rounded to 8 bits (`rounds_to_bytes`).
absl::StatusOr<ValueId> QuantizedWeights(OnnxNode& node, int i, int scale) {
  Composer c(node);
  const ValueId w = c.In(i), scales = c.In(scale), zeros = c.In(scale + 1);
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(w), given = c.ShapeOf(scales);
  if (shape.size() != 3) return node.Invalid("W and R must have 3 dimensions");
  Shape wide = {shape[0], 1, given.size() == 2 ? shape[2] : 1};
  if (ElementCount(given) != ElementCount(wide) || c.ShapeOf(zeros) != given ||
      c.DTypeOf(zeros) != c.DTypeOf(w)) {
    return node.Invalid(absl::StrCat("scale and zero point (inputs ", scale, " and ", scale + 1,
                                     "): want ", shape[0], " or ", shape[0], " x ", shape[2],
                                     " of f32 and of the type of the weights"));
  }
  ASSIGN_OR_RETURN(const ValueId read, ReadScale(node, c, scale));
  const ValueId real = c.Op("dequantize", {w, c.Reshape(read, wide), c.Reshape(zeros, wide)});
  const ValueId turned = c.Transpose(real, {0, 2, 1});
  RETURN_IF_ERROR(c.status());
  return turned;
}

absl::StatusOr<Recurrence> Read(OnnxNode& node) {
  const bool quantized = node.type() == "DynamicQuantizeLSTM";
  Recurrence all{.kind = quantized ? "LSTM" : node.type()};
  all.rounds_to_bytes = quantized;
  all.gates = all.kind == "LSTM" ? 4 : all.kind == "GRU" ? 3 : 1;
  all.functions = all.kind == "LSTM" ? 3 : all.kind == "GRU" ? 2 : 1;
  ASSIGN_OR_RETURN(all.x, node.Input(0));
  all.dtype = node.TypeOf(all.x).dtype;
  if (quantized) {
    ASSIGN_OR_RETURN(all.w, QuantizedWeights(node, 1, 8));
    ASSIGN_OR_RETURN(all.r, QuantizedWeights(node, 2, 10));
  } else {
    ASSIGN_OR_RETURN(all.w, node.Input(1));
    ASSIGN_OR_RETURN(all.r, node.Input(2));
  }
  const auto optional = [&](int i) { return node.HasInput(i) ? *node.Input(i) : -1; };
  all.bias = optional(3);
  all.lengths = optional(4);
  all.initial_h = optional(5);
  if (all.kind == "LSTM") {
    all.initial_c = optional(6);
    all.peepholes = optional(7);
  }
  const std::string direction = node.String("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    return node.Invalid(absl::StrCat("direction: got '", direction, "'"));
  }
  all.names = {direction};
  if (direction == "bidirectional") all.names = {"forward", "reverse"};
  all.directions = static_cast<int64_t>(all.names.size());
  all.batch_first = node.Int("layout", 0) != 0;
  all.clip = node.Float("clip", 0);
  all.linear_before_reset = node.Int("linear_before_reset", 0) != 0;
  all.input_forget = node.Int("input_forget", 0) != 0;
  const std::vector<int64_t>& x = node.TypeOf(all.x).shape;
  const std::vector<int64_t>& r = node.TypeOf(all.r).shape;
  if (x.size() != 3 || r.size() != 3) return node.Invalid("X and R must have 3 dimensions");
  all.steps = x[all.batch_first ? 1 : 0];
  all.batch = x[all.batch_first ? 0 : 1];
  all.hidden = node.Int("hidden_size", r[2]);
  if (all.hidden < 1 || all.hidden > node.context().options->max_tensor_elements / 8) {
    return node.Invalid(absl::StrCat("hidden_size: got ", all.hidden));
  }
  const int64_t rows = all.gates * all.hidden;
  const std::vector<int64_t> state =
      all.batch_first ? std::vector<int64_t>{all.batch, all.directions, all.hidden}
                      : std::vector<int64_t>{all.directions, all.batch, all.hidden};
  RETURN_IF_ERROR(CheckShape(node, all.w, "W", {all.directions, rows, x[2]}));
  RETURN_IF_ERROR(CheckShape(node, all.r, "R", {all.directions, rows, all.hidden}));
  RETURN_IF_ERROR(CheckShape(node, all.bias, "B", {all.directions, 2 * rows}));
  RETURN_IF_ERROR(CheckShape(node, all.lengths, "sequence_lens", {all.batch}));
  RETURN_IF_ERROR(CheckShape(node, all.initial_h, "initial_h", state));
  RETURN_IF_ERROR(CheckShape(node, all.initial_c, "initial_c", state));
  RETURN_IF_ERROR(CheckShape(node, all.peepholes, "P", {all.directions, 3 * all.hidden}));
  RETURN_IF_ERROR(ReadActivations(node, all));
  return all;
}

// The body of one direction. Inputs come as captures do.
class Direction {
 public:
  Direction(OnnxNode& node, const Recurrence& all, int64_t number)
      : node_(node), all_(all), d_(number), rows_(all.gates * all.hidden), f_(node) {}

  struct Result {
    ValueId y, h, c = -1;  // [steps, 1, batch, hidden]; [1, batch, hidden].
  };
  absl::StatusOr<Result> Run(ValueId x);

 private:
  // All at its bound, whatever of it holds: sequences and batches do not mix.
  ValueId Whole(ValueId x) {
    if (x < 0 || !node_.IsBounded(x)) return x;
    Attributes same;
    same.Set("shape", node_.TypeOf(x).shape);
    return f_.Kept(node_.EmitWhole("reshape", {x}, std::move(same)));
  }
  // Part `d` of a parameter, without the dimension of directions.
  ValueId Part(ValueId whole) {
    if (whole < 0) return -1;
    std::vector<int64_t> shape = node_.TypeOf(whole).shape;
    shape.erase(shape.begin());
    return f_.Reshape(f_.Slice(whole, 0, d_, d_ + 1), std::move(shape));
  }
  ValueId Initial(ValueId whole) {
    if (whole >= 0) {
      if (all_.batch_first) whole = f_.Transpose(whole, {1, 0, 2});
      return f_.Slice(whole, 0, d_, d_ + 1);
    }
    if (!f_.MayMake({all_.batch, all_.hidden})) return -1;
    return f_.Constant(all_.dtype, {1, all_.batch, all_.hidden},
                       std::vector<double>(all_.batch * all_.hidden, 0.0));
  }
  // What operators are added to, and what the other graph knows of its values.
  void SwapGraphs() {
    std::swap(node_.context().graph, around_);
    std::swap(node_.context().bounded, bounded_around_);
  }
  // The body's own value for one of the graph around it.
  ValueId Capture(ValueId outer) {
    if (outer < 0) return -1;
    const GraphValue& value = around_.value(outer);
    if (value.data != nullptr) {
      return AddConstant(node_.context().graph, value.name, value.type, value.data);
    }
    captures_.push_back(outer);
    const ValueId id =
        AddInput(node_.context().graph, absl::StrCat("capture", captures_.size()), value.type);
    capture_inputs_.push_back(id);
    return id;
  }
  ValueId State(ValueId initial, const char* name) {
    initial_.push_back(initial);
    state_inputs_.push_back(AddInput(node_.context().graph, name, around_.value(initial).type));
    return state_inputs_.back();
  }
  // Gate g of what has all of them in the last dimension.
  ValueId Gate(ValueId gates, int64_t g) {
    const auto axis = static_cast<int64_t>(node_.TypeOf(gates).shape.size()) - 1;
    return f_.Slice(gates, axis, g * all_.hidden, (g + 1) * all_.hidden);
  }
  ValueId Product(ValueId x, ValueId weights) { return f_.Op("dense", {x, weights}); }
  ValueId Activate(int64_t function, ValueId x) {
    if (all_.clip > 0) {
      Attributes attributes;
      attributes.Set("min", -all_.clip);
      attributes.Set("max", all_.clip);
      x = f_.Op("clip", {x}, std::move(attributes));
    }
    return Activated(f_, all_.activations[d_ * all_.functions + function], x);
  }
  ValueId Peephole(ValueId x, ValueId c, int64_t gate) {
    if (peepholes_ < 0) return x;
    return f_.Add(x,
                  f_.Mul(c, f_.Slice(peepholes_, 0, gate * all_.hidden, (gate + 1) * all_.hidden)));
  }
  // Where the sequence has ended, the state stays.
  ValueId Masked(ValueId is_inside, ValueId next, ValueId kept) {
    return is_inside < 0 ? next : f_.Op("where", {is_inside, next, kept});
  }

  struct Step {
    ValueId h, c = -1;
  };
  Step Lstm(ValueId projected, ValueId r, ValueId h, ValueId c);
  ValueId Gru(ValueId projected, ValueId r, ValueId r_bias, ValueId h);

  OnnxNode& node_;
  const Recurrence& all_;
  const int64_t d_, rows_;
  Composer f_;
  Graph around_;
  BoundedValues bounded_around_;
  ValueId peepholes_ = -1;
  std::vector<ValueId> captures_, capture_inputs_, initial_, state_inputs_;
};

Direction::Step Direction::Lstm(ValueId projected, ValueId r, ValueId h, ValueId c) {
  // Order of gates: input, output, forget, cell; of peepholes: input, output, forget.
  const ValueId seen = all_.rounds_to_bytes ? EmitDynamicallyRounded(f_, h) : h;
  const ValueId gates = f_.Add(Product(seen, r), projected);
  if (gates < 0) return {-1, -1};
  const ValueId i = Activate(0, Peephole(Gate(gates, 0), c, 0));
  const ValueId f = all_.input_forget ? f_.Sub(f_.NumberLike(i, 1), i)
                                      : Activate(0, Peephole(Gate(gates, 2), c, 2));
  const ValueId next_c = f_.Add(f_.Mul(f, c), f_.Mul(i, Activate(1, Gate(gates, 3))));
  const ValueId o = Activate(0, Peephole(Gate(gates, 1), next_c, 1));
  // The cell's value is no gate's sum: it is not clipped.
  const ValueId out = Activated(f_, all_.activations[d_ * all_.functions + 2], next_c);
  return {f_.Mul(o, out), next_c};
}

ValueId Direction::Gru(ValueId projected, ValueId r, ValueId r_bias, ValueId h) {
  // Order of gates: update, reset, hidden.
  const int64_t n = all_.hidden;
  ValueId update, reset, hidden;
  if (all_.linear_before_reset) {
    ValueId product = Product(h, r);
    if (r_bias >= 0) product = f_.Op("dense", {h, r, r_bias});
    if (product < 0) return -1;
    update = Activate(0, f_.Add(Gate(projected, 0), Gate(product, 0)));
    reset = Activate(0, f_.Add(Gate(projected, 1), Gate(product, 1)));
    hidden = f_.Add(Gate(projected, 2), f_.Mul(reset, Gate(product, 2)));
  } else {
    const ValueId both =
        f_.Add(Product(h, f_.Slice(r, 0, 0, 2 * n)), f_.Slice(projected, 1, 0, 2 * n));
    if (both < 0) return -1;
    update = Activate(0, Gate(both, 0));
    reset = Activate(0, Gate(both, 1));
    hidden = f_.Add(Product(f_.Mul(reset, h), f_.Slice(r, 0, 2 * n, 3 * n)), Gate(projected, 2));
  }
  const ValueId candidate = Activate(1, hidden);
  // (1 - z) * candidate + z * h, with one product less.
  return f_.Add(candidate, f_.Mul(update, f_.Op("sub", {h, candidate})));
}

absl::StatusOr<Direction::Result> Direction::Run(ValueId x) {
  const bool backwards = all_.names[d_] == "reverse";
  // The two biases are added before the loop, but for a GRU that resets what has the second one.
  const ValueId bias = Part(all_.bias);
  ValueId w_bias = -1, r_bias = -1;
  if (bias >= 0) {
    w_bias = f_.Slice(bias, 0, 0, rows_);
    r_bias = f_.Slice(bias, 0, rows_, 2 * rows_);
    if (!all_.linear_before_reset || all_.kind != "GRU") {
      w_bias = f_.Add(w_bias, r_bias);
      r_bias = -1;
    }
  }
  std::vector<ValueId> operands = {x, Part(all_.w)};
  if (w_bias >= 0) operands.push_back(w_bias);
  const ValueId projected = Whole(f_.Op("dense", operands));
  const ValueId r = Part(all_.r), peepholes = Part(all_.peepholes);
  const ValueId h0 = Whole(Initial(all_.initial_h));
  const ValueId c0 = all_.kind == "LSTM" ? Whole(Initial(all_.initial_c)) : -1;
  ValueId times = -1;
  const ValueId lengths = all_.lengths < 0 ? -1 : f_.Reshape(Whole(all_.lengths), {all_.batch, 1});
  if (lengths >= 0) {
    times = f_.Cast(f_.Reshape(f_.Iota(0, all_.steps), {all_.steps, 1, 1}), DType::kI32);
  }
  RETURN_IF_ERROR(f_.status());

  SwapGraphs();
  Graph& body = node_.context().graph;
  const ValueId h = State(h0, "h");
  const ValueId c = c0 >= 0 ? State(c0, "c") : -1;
  std::vector<ValueId> slices = {AddInput(body, "x", {all_.dtype, {all_.batch, rows_}})};
  ValueId is_inside = -1;
  if (times >= 0) {
    slices.push_back(AddInput(body, "t", {DType::kI32, {1, 1}}));
    is_inside = f_.Op("less", {slices[1], Capture(lengths)});
  }
  peepholes_ = Capture(peepholes);
  const ValueId weights = Capture(r);
  Step next;
  if (all_.kind == "LSTM") {
    next = Lstm(slices[0], weights, h, c);
  } else if (all_.kind == "GRU") {
    next.h = Gru(slices[0], weights, Capture(r_bias), h);
  } else {
    next.h = Activate(0, f_.Add(Product(h, weights), slices[0]));
  }
  ValueId y = next.h;
  if (is_inside >= 0) {
    // Behind a sequence's end there is nothing, and the state is the last one.
    y = Masked(is_inside, next.h, f_.NumberLike(next.h, 0));
    next = {Masked(is_inside, next.h, h), c < 0 ? -1 : Masked(is_inside, next.c, c)};
  }
  body.outputs = {next.h};
  if (c >= 0) body.outputs.push_back(next.c);
  body.outputs.push_back(y);
  body.inputs = state_inputs_;
  body.inputs.insert(body.inputs.end(), slices.begin(), slices.end());
  body.inputs.insert(body.inputs.end(), capture_inputs_.begin(), capture_inputs_.end());
  SwapGraphs();
  RETURN_IF_ERROR(f_.status());

  GraphNode loop{.name = node_.Name(), .op = OpId::kLoop, .attributes = {}};
  if (all_.run_steps >= 0) loop.inputs.push_back(all_.run_steps);
  loop.inputs.insert(loop.inputs.end(), initial_.begin(), initial_.end());
  loop.inputs.push_back(projected);
  if (times >= 0) loop.inputs.push_back(times);
  loop.inputs.insert(loop.inputs.end(), captures_.begin(), captures_.end());
  std::vector<int64_t> flags(slices.size() + 1, int64_t{backwards});
  loop.attributes.Set("count", all_.steps);
  loop.attributes.Set("has_count", int64_t{all_.run_steps >= 0});
  loop.attributes.Set("states", static_cast<int64_t>(initial_.size()));
  loop.attributes.Set("slices", static_cast<int64_t>(slices.size()));
  loop.attributes.Set("backwards", std::move(flags));
  loop.bodies = {std::make_shared<const Graph>(std::move(around_))};
  ASSIGN_OR_RETURN(const std::vector<ValueId> outputs, node_.EmitControl(std::move(loop)));
  return Result{.y = outputs.back(), .h = outputs[0], .c = c >= 0 ? outputs[1] : -1};
}

absl::Status Recurrent(OnnxNode& node) {
  ASSIGN_OR_RETURN(Recurrence all, Read(node));
  Composer f(node);
  const ValueId x = all.batch_first ? f.Transpose(all.x, {1, 0, 2}) : all.x;
  RETURN_IF_ERROR(f.status());
  ASSIGN_OR_RETURN(ValueId given, node.Packed(x));
  if (all.rounds_to_bytes) given = EmitDynamicallyRounded(f, given);
  RETURN_IF_ERROR(f.status());
  const ValueId steps = node.ExtentsOf(given)[0], batch = node.ExtentsOf(given)[1];
  if (node.ExtentsOf(given)[2] != kFullAxis)
    return node.Unsupported("a width that only a run knows");
  all.run_steps = steps;
  const auto hold = [&](ValueId& value, int64_t axis, ValueId extent) -> absl::Status {
    if (value < 0 || extent == kFullAxis) return absl::OkStatus();
    ASSIGN_OR_RETURN(value, node.SetExtent(value, axis, extent));
    return absl::OkStatus();
  };
  std::vector<ValueId> ys, hs, cs;
  for (int64_t d = 0; d < all.directions; ++d) {
    ASSIGN_OR_RETURN(const Direction::Result result, Direction(node, all, d).Run(given));
    ys.push_back(result.y);
    hs.push_back(result.h);
    cs.push_back(result.c);
    RETURN_IF_ERROR(hold(ys.back(), 0, steps));
    RETURN_IF_ERROR(hold(ys.back(), 2, batch));
    RETURN_IF_ERROR(hold(hs.back(), 1, batch));
    RETURN_IF_ERROR(hold(cs.back(), 1, batch));
  }
  // Y is [steps, directions, batch, hidden], or [batch, steps, directions, hidden].
  if (node.OutputUsed(0)) {
    const ValueId y = f.Concat(ys, 1);
    f.Output(0, all.batch_first ? f.Transpose(y, {2, 0, 1, 3}) : y);
  }
  for (int i = 1; i < 3; ++i) {
    if (!node.OutputUsed(i)) continue;
    if (i == 2 && all.kind != "LSTM") return node.Invalid("has 3 outputs, want 2");
    const ValueId state = f.Concat(i == 1 ? hs : cs, 0);
    f.Output(i, all.batch_first ? f.Transpose(state, {1, 0, 2}) : state);
  }
  return f.status();
}

}  // namespace

void AddRecurrentTranslators(OnnxTranslators& t) {
  t["LSTM"] = Recurrent;
  t["com.microsoft.DynamicQuantizeLSTM"] = Recurrent;
  t["GRU"] = Recurrent;
  t["RNN"] = Recurrent;
}

}  // namespace burnish
