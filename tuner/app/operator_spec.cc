#include "tuner/app/operator_spec.h"

#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "compiler/graph/constant.h"

namespace burnish {
namespace {

// A text of forty letters may come from a network, and must not take all memory: weights, 1 GiB.
constexpr int64_t kExtentMax = 1 << 20;
constexpr int64_t kWeightElementsMax = int64_t{1} << 28;
constexpr int64_t kNeeded = -1;  // As a default: there is none.

struct Key {
  const char* name;
  int64_t fallback;
  const char* other = nullptr;  // Takes that key's value instead of `fallback`.
};

using Values = std::map<std::string, int64_t>;

// Appends the operator to a graph that has nothing yet.
class SpecBuilder {
 public:
  SpecBuilder(absl::string_view spec, uint64_t seed) : seed_(seed) {
    graph_.name = std::string(spec);
  }

  ValueId Input(std::vector<int64_t> shape) {
    return AddInput(graph_, absl::StrCat("x", graph_.inputs.size()),
                    {DType::kF32, std::move(shape)});
  }

  // Normal, scaled by the number of terms that are added up: outputs are about as large as inputs,
  // and errors of one operator compare with another's. The same in each run, since a stored study
  // builds its operator again.
  absl::StatusOr<ValueId> Weights(const std::string& name, std::vector<int64_t> shape,
                                  int64_t term_count) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= std::min(extent, kWeightElementsMax);
    if (count > kWeightElementsMax) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kWeightElementsMax, " weights"));
    }
    Rng rng(RngStream{.seed = seed_, .purpose = "weights", .task = graph_.name + "/" + name});
    const double scale = 1 / std::sqrt(static_cast<double>(term_count));
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(rng.Normal() * scale);
    return AddConstant(graph_, name, {DType::kF32, std::move(shape)},
                       MakeConstant(std::move(values)));
  }

  absl::StatusOr<Graph> Finish(absl::string_view op, std::vector<ValueId> inputs,
                               Attributes attributes = {}) {
    ASSIGN_OR_RETURN(const ValueId output,
                     AddOp(graph_, op, std::move(inputs), std::move(attributes), op));
    graph_.values[output].name = "y";
    graph_.outputs.push_back(output);
    return std::move(graph_);
  }

 private:
  uint64_t seed_;
  Graph graph_;
};

Attributes WindowAttributes(const Values& v, int64_t kh, int64_t kw) {
  Attributes attributes;
  attributes.Set("strides", std::vector<int64_t>{v.at("s"), v.at("s")});
  attributes.Set("pads", std::vector<int64_t>(4, v.at("p")));
  const int64_t dilation = v.contains("d") ? v.at("d") : 1;
  attributes.Set("dilations", std::vector<int64_t>{dilation, dilation});
  attributes.Set("kernel_shape", std::vector<int64_t>{kh, kw});
  return attributes;
}

absl::StatusOr<Graph> BuildConv2d(SpecBuilder& builder, const Values& v) {
  const int64_t group = v.at("g"), in = v.at("ci");
  if (in % group != 0 || v.at("co") % group != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("g=", group, " does not divide ci=", in, " and co=", v.at("co")));
  }
  const int64_t terms = in / group * v.at("kh") * v.at("kw");
  ASSIGN_OR_RETURN(
      const ValueId weights,
      builder.Weights("weight", {v.at("co"), in / group, v.at("kh"), v.at("kw")}, terms));
  Attributes attributes = WindowAttributes(v, v.at("kh"), v.at("kw"));
  attributes.Set("group", group);
  const ValueId x = builder.Input({v.at("n"), in, v.at("h"), v.at("w")});
  return builder.Finish("conv", {x, weights}, std::move(attributes));
}

absl::StatusOr<Graph> BuildPool(SpecBuilder& builder, const Values& v, absl::string_view op) {
  Attributes attributes = WindowAttributes(v, v.at("k"), v.at("k"));
  attributes.Set("ceil_mode", int64_t{0});
  const ValueId x = builder.Input({v.at("n"), v.at("c"), v.at("h"), v.at("w")});
  return builder.Finish(op, {x}, std::move(attributes));
}

absl::StatusOr<Graph> BuildMaxPool2d(SpecBuilder& builder, const Values& v) {
  return BuildPool(builder, v, "max_pool");
}

absl::StatusOr<Graph> BuildAvgPool2d(SpecBuilder& builder, const Values& v) {
  return BuildPool(builder, v, "average_pool");
}

absl::StatusOr<Graph> BuildDense(SpecBuilder& builder, const Values& v) {
  ASSIGN_OR_RETURN(const ValueId weights,
                   builder.Weights("weight", {v.at("m"), v.at("k")}, v.at("k")));
  const ValueId x = builder.Input({v.at("n"), v.at("k")});
  return builder.Finish("dense", {x, weights});
}

absl::StatusOr<Graph> BuildMatmul(SpecBuilder& builder, const Values& v) {
  std::vector<int64_t> a = {v.at("m"), v.at("k")}, b = {v.at("k"), v.at("n")};
  if (v.at("b") > 1) {
    a.insert(a.begin(), v.at("b"));
    b.insert(b.begin(), v.at("b"));
  }
  const ValueId left = builder.Input(a);
  const ValueId right = builder.Input(b);
  return builder.Finish("matmul", {left, right});
}

absl::StatusOr<Graph> BuildSoftmax(SpecBuilder& builder, const Values& v) {
  Attributes attributes;
  attributes.Set("axis", int64_t{1});
  const ValueId x = builder.Input({v.at("m"), v.at("n")});
  return builder.Finish("softmax", {x}, std::move(attributes));
}

absl::StatusOr<Graph> BuildLayerNorm(SpecBuilder& builder, const Values& v) {
  Attributes attributes;
  attributes.Set("axis", int64_t{1});
  attributes.Set("epsilon", 1e-5);
  ASSIGN_OR_RETURN(const ValueId scale, builder.Weights("scale", {v.at("n")}, 1));
  ASSIGN_OR_RETURN(const ValueId bias, builder.Weights("bias", {v.at("n")}, 1));
  const ValueId x = builder.Input({v.at("m"), v.at("n")});
  return builder.Finish("layer_norm", {x, scale, bias}, std::move(attributes));
}

struct Operator {
  const char* name;
  std::vector<Key> keys;  // A key stands behind the one that it takes its value from.
  absl::StatusOr<Graph> (*build)(SpecBuilder&, const Values&);
};

const std::vector<Operator>& Operators() {
  static const auto* const operators = new std::vector<Operator>{
      {"avgpool2d",
       {{"n", 1},
        {"h", kNeeded},
        {"w", 0, "h"},
        {"c", kNeeded},
        {"k", kNeeded},
        {"s", 0, "k"},
        {"p", 0}},
       &BuildAvgPool2d},
      {"conv2d",
       {{"n", 1},
        {"h", kNeeded},
        {"w", 0, "h"},
        {"ci", kNeeded},
        {"co", kNeeded},
        {"k", 1},
        {"kh", 0, "k"},
        {"kw", 0, "k"},
        {"s", 1},
        {"p", 0},
        {"d", 1},
        {"g", 1}},
       &BuildConv2d},
      {"dense", {{"n", 1}, {"k", kNeeded}, {"m", kNeeded}}, &BuildDense},
      {"layernorm", {{"m", kNeeded}, {"n", kNeeded}}, &BuildLayerNorm},
      {"matmul", {{"b", 1}, {"m", kNeeded}, {"n", kNeeded}, {"k", kNeeded}}, &BuildMatmul},
      {"maxpool2d",
       {{"n", 1},
        {"h", kNeeded},
        {"w", 0, "h"},
        {"c", kNeeded},
        {"k", kNeeded},
        {"s", 0, "k"},
        {"p", 0}},
       &BuildMaxPool2d},
      {"softmax", {{"m", kNeeded}, {"n", kNeeded}}, &BuildSoftmax},
  };
  return *operators;
}

std::string KeyNames(const Operator& op) {
  return absl::StrJoin(op.keys, ", ", [](std::string* out, const Key& key) { *out += key.name; });
}

absl::StatusOr<Values> ParseGiven(absl::string_view text, const Operator& op) {
  Values given;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    bool known = false;
    for (const Key& key : op.keys) known = known || pair.first == key.name;
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown key \"", pair.first, "\"; hint: ", op.name, " has ", KeyNames(op)));
    }
    int64_t value = 0;
    const bool may_be_zero = pair.first == "p";
    if (!absl::SimpleAtoi(pair.second, &value) || value < (may_be_zero ? 0 : 1) ||
        value > kExtentMax) {
      return absl::InvalidArgumentError(absl::StrCat("got ", std::string(part), ", want a number ",
                                                     may_be_zero ? "0" : "1", "..", kExtentMax));
    }
    if (!given.emplace(pair.first, value).second) {
      return absl::InvalidArgumentError(absl::StrCat(pair.first, " is given twice"));
    }
  }
  return given;
}

absl::StatusOr<Values> ParseValues(absl::string_view text, const Operator& op) {
  ASSIGN_OR_RETURN(Values values, ParseGiven(text, op));
  for (const Key& key : op.keys) {
    if (values.contains(key.name)) continue;
    if (key.fallback == kNeeded) {
      return absl::InvalidArgumentError(
          absl::StrCat(op.name, " lacks ", key.name, "=; hint: its keys are ", KeyNames(op)));
    }
    values[key.name] = key.other != nullptr ? values.at(key.other) : key.fallback;
  }
  return values;
}

}  // namespace

std::vector<std::string> OperatorSpecNames() {
  std::vector<std::string> names;
  for (const Operator& op : Operators()) names.push_back(op.name);
  return names;
}

bool IsOperatorSpec(absl::string_view text) { return absl::StrContains(text, ":"); }

absl::StatusOr<Graph> BuildOperator(absl::string_view spec, uint64_t seed) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(spec, absl::MaxSplits(':', 1));
  for (const Operator& op : Operators()) {
    if (parts.first != op.name) continue;
    ASSIGN_OR_RETURN(const Values values, ParseValues(parts.second, op));
    SpecBuilder builder(spec, seed);
    return op.build(builder, values);
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown operator \"", parts.first,
                                                 "\"; hint: one of ",
                                                 absl::StrJoin(OperatorSpecNames(), ", ")));
}

}  // namespace burnish
