#include "tests/property/random_program.h"

#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/rng.h"
#include "compiler/te/builder.h"
#include "compiler/te/operator.h"

namespace burnish {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t kMaxPoints = 12000;

// What values an argument may have.
enum class Domain { kNormal, kPositive, kIndex };

struct Argument {
  TensorType type;
  Domain domain = Domain::kNormal;
  bool weight = false;   // May be a constant of the program.
  int64_t index_of = 0;  // kIndex: the extent that it indexes.
};

// One operator application.
struct Spec {
  std::string op;
  Attributes attributes;
  std::vector<Argument> arguments;
};

class SpecMaker {
 public:
  explicit SpecMaker(Rng& rng) : rng_(rng) {}

  Spec Conv(int dims, int64_t groups, bool depthwise, bool strided) {
    Spec spec{.op = "conv"};
    const int64_t per_group = depthwise ? 1 : Between(1, 5);
    const int64_t in = groups * per_group;
    const int64_t out = groups * Between(1, groups > 1 ? 4 : 19);
    Ints x = {Between(1, 2)}, w = {out, per_group}, kernel, strides, dilations, pads(2 * dims);
    Ints spatial;
    for (int d = 0; d < dims; ++d) {
      kernel.push_back(Between(1, 3));
      strides.push_back(strided ? Between(1, 3) : 1);
      dilations.push_back(strided ? Between(1, 2) : 1);
      for (const int side : {d, d + dims}) pads[side] = Between(0, kernel[d] - 1);
      spatial.push_back(Between(dilations[d] * (kernel[d] - 1) + 1, dims == 3 ? 5 : 9));
    }
    const bool last = Flip();
    if (!last) x.push_back(in);
    x.insert(x.end(), spatial.begin(), spatial.end());
    if (last) x.push_back(in);
    w.insert(w.end(), kernel.begin(), kernel.end());
    spec.attributes.Set("channels_last", int64_t{last});
    spec.attributes.Set("group", groups);
    spec.attributes.Set("strides", strides);
    spec.attributes.Set("dilations", dilations);
    spec.attributes.Set("pads", pads);
    spec.arguments = {F32(x), Weight(w)};
    if (Flip()) spec.arguments.push_back(Weight({out}));
    return spec;
  }

  Spec ConvTranspose() {
    Spec spec{.op = "conv_transpose"};
    const int64_t stride = Between(1, 2), in = Between(1, 4), out = Between(1, 5);
    spec.attributes.Set("strides", Ints{stride, stride});
    spec.attributes.Set("pads", Ints{Between(0, 1), Between(0, 1), 0, 0});
    spec.arguments = {F32({1, in, Between(3, 5), Between(3, 5)}), Weight({in, out, 3, 2})};
    return spec;
  }

  // What Winograd's minimal filtering can do: 3x3, stride 1 or 2, channels last.
  Spec Conv3x3(int64_t batch, bool bias) {
    Spec spec{.op = "conv"};
    const int64_t stride = Between(1, 2);
    spec.attributes.Set("strides", Ints{stride, stride});
    spec.attributes.Set("channels_last", int64_t{1});
    spec.attributes.Set("pads", Ints{Between(0, 1), Between(0, 1), Between(0, 1), Between(0, 1)});
    const int64_t in = Between(1, 3), out = Between(1, 5);
    spec.arguments = {F32({batch, Between(3, 7), Between(3, 7), in}), Weight({out, in, 3, 3})};
    if (bias) spec.arguments.push_back(Weight({out}));
    return spec;
  }

  Spec Dense() {
    const int64_t k = Between(1, 33), n = Between(1, 37);
    Spec spec{.op = "dense", .arguments = {F32({Between(1, 7), k}), Weight({n, k})}};
    if (Flip()) spec.arguments.push_back(Weight({n}));
    return spec;
  }

  Spec Gemm() {
    const int64_t m = Between(1, 11), k = Between(1, 23), n = Between(1, 29);
    Spec spec{.op = "gemm"};
    const bool ta = Flip(), tb = Flip();
    spec.attributes.Set("trans_a", int64_t{ta});
    spec.attributes.Set("trans_b", int64_t{tb});
    spec.attributes.Set("alpha", 0.75);
    spec.attributes.Set("beta", 1.5);
    spec.arguments = {F32(ta ? Ints{k, m} : Ints{m, k}), Weight(tb ? Ints{n, k} : Ints{k, n})};
    if (Flip()) spec.arguments.push_back(Weight({n}));
    return spec;
  }

  Spec Matmul(bool batched) {
    const int64_t m = Between(1, 9), k = Between(1, 17), n = Between(1, 19);
    Spec spec{.op = "matmul"};
    if (batched) {
      const int64_t b = Between(2, 3);
      spec.arguments = {F32({b, 1, m, k}), Weight({Between(1, 3), k, n})};
    } else {
      spec.arguments = {F32({m, k}), Weight({k, n})};
    }
    return spec;
  }

  Spec Pool(const char* op) {
    Spec spec{.op = op};
    const int64_t k = Between(2, 3);
    spec.attributes.Set("kernel_shape", Ints{k, 2});
    spec.attributes.Set("strides", Ints{Between(1, 2), Between(1, 2)});
    spec.attributes.Set("pads", Ints{Between(0, k - 1), Between(0, 1), Between(0, 1), 0});
    spec.attributes.Set("channels_last", int64_t{Flip()});
    spec.attributes.Set("count_include_pad", int64_t{Flip()});
    spec.arguments = {F32({1, Between(3, 9), Between(3, 9), Between(3, 9)})};
    return spec;
  }

  Spec Norm(const char* op) {
    Spec spec{.op = op};
    const int64_t c = 2 * Between(1, 3);
    const Argument x = F32({Between(1, 2), c, Between(2, 7), Between(2, 5)});
    const int64_t scale = spec.op == "layer_norm" ? x.type.shape.back() : c;
    spec.arguments = {x, Weight({scale}), Weight({scale})};
    if (spec.op == "batch_norm") {
      spec.arguments.push_back(Weight({c}));
      spec.arguments.push_back(Weight({c}));
      spec.arguments.back().domain = Domain::kPositive;
    }
    if (spec.op == "group_norm") spec.attributes.Set("num_groups", int64_t{2});
    return spec;
  }

  Spec Lrn() {
    Spec spec{.op = "lrn", .arguments = {F32({1, Between(2, 7), Between(2, 5), 3})}};
    spec.attributes.Set("size", int64_t{3});
    spec.attributes.Set("channels_last", int64_t{Flip()});
    return spec;
  }

  Spec OverAxis(const char* op) {
    Spec spec{.op = op, .arguments = {F32(Shape(3))}};
    spec.attributes.Set("axis", Between(-3, 2));
    return spec;
  }

  Spec Reduction() {
    static constexpr const char* kOps[] = {"reduce_sum", "reduce_mean",    "reduce_max",
                                           "reduce_min", "reduce_prod",    "reduce_l1",
                                           "reduce_l2",  "reduce_log_sum", "reduce_sum_square"};
    Spec spec{.op = kOps[rng_.Below(std::size(kOps))], .arguments = {F32(Shape(3))}};
    if (spec.op == "reduce_log_sum") spec.arguments[0].domain = Domain::kPositive;
    spec.attributes.Set("axes", Flip() ? Ints{1} : Flip() ? Ints{0, 2} : Ints{1, 2});
    spec.attributes.Set("keepdims", int64_t{Flip()});
    return spec;
  }

  Spec LogSumExp() {
    Spec spec{.op = "reduce_log_sum_exp", .arguments = {F32(Shape(3))}};
    spec.attributes.Set("axes", Flip() ? Ints{1} : Ints{0, 2});
    return spec;
  }

  Spec GlobalPool() {
    Spec spec{.op = "reduce_mean", .arguments = {F32({1, Between(3, 19), 5, 7})}};
    spec.attributes.Set("axes", Ints{2, 3});
    return spec;
  }

  Spec Binary() {
    static constexpr const char* kOps[] = {"add", "sub", "mul",  "div",     "pow",  "mod",
                                           "min", "max", "less", "greater", "equal"};
    Spec spec{.op = kOps[rng_.Below(std::size(kOps))]};
    const Ints shape = Shape(3);
    spec.arguments = {F32(shape), F32(Flip() ? shape : Ints{shape[1], 1})};
    if (spec.op == "div" || spec.op == "mod") spec.arguments[1].domain = Domain::kPositive;
    if (spec.op == "pow") spec.arguments[0].domain = Domain::kPositive;
    spec.attributes.Set("fmod", int64_t{1});
    return spec;
  }

  Spec UnaryOp() {
    static constexpr const char* kOps[] = {
        "abs",  "neg",  "sqrt",       "exp",          "log",        "tanh", "erf",
        "relu", "sin",  "floor",      "round",        "leaky_relu", "elu",  "sigmoid",
        "silu", "gelu", "hard_swish", "hard_sigmoid", "softplus",   "sign", "reciprocal"};
    Spec spec{.op = kOps[rng_.Below(std::size(kOps))], .arguments = {F32(Shape(3))}};
    if (spec.op == "sqrt" || spec.op == "log" || spec.op == "reciprocal") {
      spec.arguments[0].domain = Domain::kPositive;
    }
    return spec;
  }

  Spec Where() {
    const Ints shape = Shape(3);
    Spec spec{.op = "where"};
    spec.arguments = {{.type = {DType::kBool, shape}}, F32(shape), F32({shape[2]})};
    return spec;
  }

  Spec CastTo() {
    Spec spec{.op = "cast", .arguments = {F32(Shape(2))}};
    spec.attributes.Set("to", std::string(Flip() ? "i32" : Flip() ? "i64" : "f64"));
    return spec;
  }

  Spec Transpose() {
    Spec spec{.op = "transpose", .arguments = {F32(Shape(3))}};
    spec.attributes.Set("perm", Flip() ? Ints{2, 0, 1} : Flip() ? Ints{1, 0, 2} : Ints{2, 1, 0});
    return spec;
  }

  Spec Reshape() {
    const Ints from = Shape(3);
    Spec spec{.op = "reshape", .arguments = {F32(from)}};
    spec.attributes.Set("shape", Ints{from[0] * from[1], from[2]});
    return spec;
  }

  Spec Expand() {
    const Ints to = Shape(3);
    Spec spec{.op = "expand", .arguments = {F32({to[1], 1})}};
    spec.attributes.Set("shape", to);
    return spec;
  }

  Spec Concat() {
    const Ints shape = Shape(3);
    Ints other = shape;
    other[1] = Between(1, 7);
    Spec spec{.op = "concat", .arguments = {F32(shape), F32(other)}};
    spec.attributes.Set("axis", int64_t{1});
    return spec;
  }

  Spec Split() {
    const Ints shape = {Between(3, 9), Between(1, 9)};
    Spec spec{.op = "split", .arguments = {F32(shape)}};
    spec.attributes.Set("split", Ints{1, shape[0] - 1});
    return spec;
  }

  Spec Slice() {
    const Ints shape = {Between(5, 11), Between(5, 9)};
    Spec spec{.op = "slice", .arguments = {F32(shape)}};
    spec.attributes.Set("axes", Ints{0, 1});
    spec.attributes.Set("starts", Ints{1, shape[1] - 1});
    spec.attributes.Set("ends", Ints{5, 0});
    spec.attributes.Set("steps", Ints{2, -1});
    return spec;
  }

  Spec Pad() {
    Spec spec{.op = "pad", .arguments = {F32({Between(3, 9), Between(3, 9)})}};
    spec.attributes.Set("pads", Ints{Between(0, 2), 1, 0, Between(0, 2)});
    spec.attributes.Set("mode", std::string(Flip() ? "constant" : Flip() ? "edge" : "reflect"));
    spec.attributes.Set("value", 0.5);
    return spec;
  }

  Spec Gather() {
    const Ints shape = Shape(2);
    const int64_t axis = Between(0, 1);
    Spec spec{.op = "gather"};
    const DType dtype = Flip() ? DType::kI64 : DType::kI32;
    spec.arguments = {
        F32(shape),
        {.type = {dtype, {Between(1, 5), 2}}, .domain = Domain::kIndex, .index_of = shape[axis]}};
    spec.attributes.Set("axis", axis);
    return spec;
  }

  Spec Resize() {
    Spec spec{.op = "resize", .arguments = {F32({1, 2, Between(3, 5), Between(3, 5)})}};
    spec.attributes.Set("sizes", Ints{1, 2, Between(2, 9), Between(2, 9)});
    spec.attributes.Set("mode", std::string(Flip() ? "linear" : "nearest"));
    return spec;
  }

 private:
  int64_t Between(int64_t low, int64_t high) { return rng_.Between(low, high); }
  bool Flip() { return rng_.Below(2) == 0; }
  Ints Shape(int rank) {
    Ints shape;
    for (int d = 0; d < rank; ++d) shape.push_back(Between(1, d + 1 == rank ? 19 : 7));
    return shape;
  }
  static Argument F32(Ints shape) { return {.type = {DType::kF32, std::move(shape)}}; }
  static Argument Weight(Ints shape) {
    return {.type = {DType::kF32, std::move(shape)}, .weight = true};
  }

  Rng& rng_;
};

using Family = std::pair<std::string, std::function<Spec(SpecMaker&, Rng&)>>;

const std::vector<Family>& Families() {
  static const auto* const families = new std::vector<Family>{
      {"conv1d", [](SpecMaker& m, Rng&) { return m.Conv(1, 1, false, false); }},
      {"conv2d", [](SpecMaker& m, Rng&) { return m.Conv(2, 1, false, false); }},
      {"conv3d", [](SpecMaker& m, Rng&) { return m.Conv(3, 1, false, false); }},
      {"conv_strided_dilated", [](SpecMaker& m, Rng&) { return m.Conv(2, 1, false, true); }},
      {"conv_grouped",
       [](SpecMaker& m, Rng& r) { return m.Conv(2, r.Between(2, 3), false, false); }},
      {"conv_depthwise",
       [](SpecMaker& m, Rng& r) { return m.Conv(2, r.Between(2, 9), true, r.Below(2) == 0); }},
      {"conv_transpose", [](SpecMaker& m, Rng&) { return m.ConvTranspose(); }},
      {"conv3x3", [](SpecMaker& m, Rng&) { return m.Conv3x3(1, /*bias=*/false); }},
      {"conv3x3_batch", [](SpecMaker& m, Rng&) { return m.Conv3x3(2, /*bias=*/true); }},
      {"dense", [](SpecMaker& m, Rng&) { return m.Dense(); }},
      {"gemm", [](SpecMaker& m, Rng&) { return m.Gemm(); }},
      {"matmul", [](SpecMaker& m, Rng&) { return m.Matmul(false); }},
      {"batch_matmul", [](SpecMaker& m, Rng&) { return m.Matmul(true); }},
      {"max_pool", [](SpecMaker& m, Rng&) { return m.Pool("max_pool"); }},
      {"average_pool", [](SpecMaker& m, Rng&) { return m.Pool("average_pool"); }},
      {"global_pool", [](SpecMaker& m, Rng&) { return m.GlobalPool(); }},
      {"batch_norm", [](SpecMaker& m, Rng&) { return m.Norm("batch_norm"); }},
      {"layer_norm", [](SpecMaker& m, Rng&) { return m.Norm("layer_norm"); }},
      {"instance_norm", [](SpecMaker& m, Rng&) { return m.Norm("instance_norm"); }},
      {"group_norm", [](SpecMaker& m, Rng&) { return m.Norm("group_norm"); }},
      {"lrn", [](SpecMaker& m, Rng&) { return m.Lrn(); }},
      {"softmax", [](SpecMaker& m, Rng&) { return m.OverAxis("softmax"); }},
      {"log_softmax", [](SpecMaker& m, Rng&) { return m.OverAxis("log_softmax"); }},
      {"argmax", [](SpecMaker& m, Rng& r) { return m.OverAxis(r.Below(2) ? "argmax" : "argmin"); }},
      {"reduction", [](SpecMaker& m, Rng&) { return m.Reduction(); }},
      {"log_sum_exp", [](SpecMaker& m, Rng&) { return m.LogSumExp(); }},
      {"binary", [](SpecMaker& m, Rng&) { return m.Binary(); }},
      {"unary", [](SpecMaker& m, Rng&) { return m.UnaryOp(); }},
      {"where", [](SpecMaker& m, Rng&) { return m.Where(); }},
      {"cast", [](SpecMaker& m, Rng&) { return m.CastTo(); }},
      {"transpose", [](SpecMaker& m, Rng&) { return m.Transpose(); }},
      {"reshape", [](SpecMaker& m, Rng&) { return m.Reshape(); }},
      {"expand", [](SpecMaker& m, Rng&) { return m.Expand(); }},
      {"concat", [](SpecMaker& m, Rng&) { return m.Concat(); }},
      {"split", [](SpecMaker& m, Rng&) { return m.Split(); }},
      {"slice", [](SpecMaker& m, Rng&) { return m.Slice(); }},
      {"pad", [](SpecMaker& m, Rng&) { return m.Pad(); }},
      {"gather", [](SpecMaker& m, Rng&) { return m.Gather(); }},
      {"resize", [](SpecMaker& m, Rng&) { return m.Resize(); }},
  };
  return *families;
}

TensorValue RandomValue(const Argument& argument, Rng& rng) {
  TensorValue value{.dtype = argument.type.dtype, .shape = argument.type.shape};
  for (int64_t i = 0; i < ElementCount(value.shape); ++i) {
    if (argument.domain == Domain::kIndex) {
      value.integers.push_back(rng.Between(-argument.index_of, argument.index_of - 1));
    } else if (!IsFloat(value.dtype)) {
      value.integers.push_back(rng.Between(0, 1));
    } else if (argument.domain == Domain::kPositive) {
      value.floats.push_back(static_cast<float>(0.5 + 1.5 * rng.Uniform()));
    } else {
      value.floats.push_back(static_cast<float>(rng.Normal()));
    }
  }
  return value;
}

// One more elementwise block. Continuous functions only: a comparison of a rounded value may go
// either way.
Tensor Elementwise(TeBuilder& te, const Tensor& x, Rng& rng) {
  const int64_t kind = rng.Between(0, 3);
  return te.Compute("E", x.type, [&](const Indices& i) {
    if (kind == 0) return Max(x(i), Float(0));
    if (kind == 1) return x(i) * Float(0.5) + Float(1);
    if (kind == 2) return Unary(ExprKind::kTanh, x(i));
    return Min(Max(x(i), Float(-1)), Float(2));
  });
}

struct Built {
  Program program;
  std::vector<TensorValue> arguments;
};

Built Build(const Spec& spec, Rng& rng) {
  TeBuilder te("random");
  Built built;
  std::vector<Tensor> inputs;
  std::vector<TensorType> types;
  const bool constants = rng.Below(4) != 0;
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    const Argument& argument = spec.arguments[i];
    const bool constant = argument.weight && constants;
    inputs.push_back(te.Parameter(absl::StrCat("X", i), argument.type,
                                  constant ? BufferRole::kConstant : BufferRole::kInput));
    types.push_back(argument.type);
    built.arguments.push_back(RandomValue(argument, rng));
  }
  // Something before, at times: a block that may be inlined or computed in place.
  if (spec.arguments[0].domain == Domain::kNormal && types[0].dtype == DType::kF32 &&
      rng.Below(4) == 0 && spec.op.find("arg") == std::string::npos &&
      FindOperator(spec.op)->fusion == FusionKind::kReduction) {
    inputs[0] = Elementwise(te, inputs[0], rng);
  }
  const OperatorDef* op = FindOperator(spec.op);
  CHECK(op != nullptr) << spec.op;
  const auto inferred = op->infer(spec.attributes, types);
  CHECK(inferred.ok()) << spec.op << ": " << inferred.status().ToString();
  std::vector<Tensor> outputs = op->define(te, spec.attributes, inputs);
  if (outputs.size() == 1 && outputs[0].type.dtype == DType::kF32) {
    for (int64_t more = rng.Between(0, 2); more > 0; --more) {
      outputs[0] = Elementwise(te, outputs[0], rng);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) te.Output(absl::StrCat("Z", i), outputs[i]);
  built.program = te.Build();
  return built;
}

int64_t PointCount(const Program& program) {
  int64_t points = 0;
  for (const Block& block : program.blocks) {
    int64_t count = 1;
    for (VarId axis : block.spatial) count *= MaxExtent(program, axis);
    for (VarId axis : block.reduction) count *= MaxExtent(program, axis);
    points += count;
  }
  return points;
}

int64_t TermCount(const Program& program) {
  int64_t terms = 1;
  for (const Block& block : program.blocks) {
    int64_t count = 1;
    for (VarId axis : block.reduction) count *= MaxExtent(program, axis);
    terms += count;
  }
  return terms;
}

}  // namespace

const std::vector<std::string>& ProgramFamilies() {
  static const auto* const names = [] {
    auto* list = new std::vector<std::string>;
    for (const Family& family : Families()) list->push_back(family.first);
    return list;
  }();
  return *names;
}

RandomProgram MakeRandomProgram(uint64_t seed) {
  const Family& family = Families()[seed % Families().size()];
  Rng rng(RngStream{.seed = seed, .purpose = "random program"});
  SpecMaker maker(rng);
  for (int attempt = 0;; ++attempt) {
    CHECK(attempt < 1000) << "no small program of family " << family.first;
    Built built = Build(family.second(maker, rng), rng);
    if (PointCount(built.program) > kMaxPoints) continue;
    RandomProgram result{.family = family.first, .arguments = std::move(built.arguments)};
    result.term_count = TermCount(built.program);
    result.program =
        rng.Below(2) == 0 ? Canonicalize(std::move(built.program)) : std::move(built.program);
    return result;
  }
}

}  // namespace burnish
