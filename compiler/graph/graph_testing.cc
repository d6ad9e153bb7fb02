#include "compiler/graph/graph_testing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/rng.h"
#include "compiler/graph/graph_interpreter.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;

// Grows a graph node by node over values of shape [1, C, H, W].
class Grower {
 public:
  explicit Grower(uint64_t seed) : rng_(seed), seed_(seed) { graph_.name = "random"; }

  Graph Run() {
    ValueId x = AddInput(graph_, "x", {DType::kF32, {1, 3, 6, 5}});
    images_.push_back(Conv(x));
    const int steps = static_cast<int>(rng_.Between(4, 10));
    for (int i = 0; i < steps; ++i) images_.push_back(Step(Pick()));
    graph_.outputs.push_back(images_.back());
    graph_.values[images_.back()].name = "image";
    if (rng_.Below(2) == 0) Head();
    return std::move(graph_);
  }

 private:
  ValueId Pick() { return images_[rng_.Below(images_.size())]; }
  const Shape& ShapeOf(ValueId v) const { return graph_.value(v).type.shape; }
  ValueId Random(Shape shape) {
    return AddRandomConstant(graph_, absl::StrCat("w", graph_.values.size()), std::move(shape),
                             seed_ * 1000 + graph_.values.size());
  }

  ValueId Conv(ValueId x) {
    const int64_t channels = ShapeOf(x)[1];
    const bool depthwise = rng_.Below(3) == 0;
    const int64_t kernel = rng_.Below(2) == 0 ? 1 : 3;
    const int64_t out = depthwise ? channels : rng_.Between(2, 4);
    const ValueId w = Random({out, depthwise ? 1 : channels, kernel, kernel});
    std::vector<ValueId> inputs = {x, w};
    if (rng_.Below(2) == 0) inputs.push_back(Random({out}));
    return Op(graph_, "conv", inputs,
              {{"strides", Shape{1, 1}},
               {"pads", Shape(4, kernel / 2)},
               {"dilations", Shape{1, 1}},
               {"group", depthwise ? channels : int64_t{1}}});
  }

  ValueId Norm(ValueId x) {
    const Shape c = {ShapeOf(x)[1]};
    const ValueId scale = Random(c), bias = Random(c), mean = Random(c);
    const ValueId root = Random(c);
    const ConstantPtr data = graph_.value(root).data;
    std::vector<float> variance = CopyAs<float>(*data);
    for (float& v : variance) v = v * v + 0.5f;
    const ValueId var = AddConstant(graph_, "var", {DType::kF32, c}, MakeConstant(variance));
    return Op(graph_, "batch_norm", {x, scale, bias, mean, var}, {{"epsilon", 1e-5}});
  }

  ValueId Step(ValueId x) {
    const Shape shape = ShapeOf(x);
    switch (rng_.Below(12)) {
      case 0:
      case 1:
        return Conv(x);
      case 2:
        return Norm(Conv(x));
      case 3:
        return Op(graph_, "relu", {x});
      case 4:
        return Op(graph_, "mul", {x, Op(graph_, "sigmoid", {x})});
      case 5: {  // A residual: the first other value of the same shape, or x itself.
        for (ValueId other : images_) {
          if (other != x && ShapeOf(other) == shape) return Op(graph_, "add", {x, other});
        }
        return Op(graph_, "add", {x, x});
      }
      case 6:
        return Op(graph_, "concat", {x, Op(graph_, "tanh", {x})}, {{"axis", int64_t{1}}});
      case 7:
        return Op(graph_, rng_.Below(2) == 0 ? "max_pool" : "average_pool", {x},
                  {{"kernel_shape", Shape{3, 3}},
                   {"strides", Shape{1, 1}},
                   {"pads", Shape(4, 1)},
                   {"dilations", Shape{1, 1}},
                   {"ceil_mode", int64_t{0}}});
      case 8: {  // A pair of transposes around something elementwise.
        const ValueId turned = Op(graph_, "transpose", {x}, {{"perm", Shape{0, 2, 3, 1}}});
        const ValueId shifted = Op(graph_, "add", {turned, Random({shape[1]})});
        return Op(graph_, "transpose", {shifted}, {{"perm", Shape{0, 3, 1, 2}}});
      }
      case 9:
        return Op(graph_, "mul", {x, Random({1, shape[1], 1, 1})});
      case 10: {
        const ValueId mean =
            Op(graph_, "reduce_mean", {x}, {{"axes", Shape{2, 3}}, {"keepdims", int64_t{1}}});
        return Op(graph_, "mul", {x, Op(graph_, "sigmoid", {mean})});
      }
      default: {
        const ValueId padded = Op(graph_, "pad", {x},
                                  {{"pads", Shape{0, 0, 1, 1, 0, 0, 0, 0}},
                                   {"mode", std::string("constant")},
                                   {"value", 0.0}});
        return Op(graph_, "slice", {padded},
                  {{"starts", Shape{0, 0}},
                   {"ends", Shape{shape[2], shape[3]}},
                   {"axes", Shape{2, 3}},
                   {"steps", Shape{1, 1}}});
      }
    }
  }

  // Pool, flatten, matrix product: what ends a classifier.
  void Head() {
    const ValueId x = Pick();
    const ValueId mean =
        Op(graph_, "reduce_mean", {x}, {{"axes", Shape{2, 3}}, {"keepdims", int64_t{1}}});
    const int64_t channels = ShapeOf(x)[1];
    const ValueId flat = Op(graph_, "reshape", {mean}, {{"shape", Shape{1, channels}}});
    const ValueId product = Op(graph_, "matmul", {flat, Random({channels, 5})});
    const ValueId scores = Op(graph_, "add", {product, Random({5})});
    graph_.outputs.push_back(Op(graph_, "softmax", {scores}, {{"axis", int64_t{1}}}));
    graph_.values[graph_.outputs.back()].name = "scores";
  }

  Rng rng_;
  uint64_t seed_;
  Graph graph_;
  std::vector<ValueId> images_;
};

}  // namespace

TensorValue RandomValue(const TensorType& type, uint64_t seed) {
  Rng rng(seed);
  TensorValue value;
  value.dtype = type.dtype;
  value.shape = type.shape;
  for (int64_t i = 0; i < ElementCount(type.shape); ++i) {
    if (IsFloat(type.dtype)) {
      value.floats.push_back(static_cast<float>(rng.Normal()));
    } else {
      value.integers.push_back(type.dtype == DType::kBool ? rng.Between(0, 1) : rng.Between(0, 3));
    }
  }
  return value;
}

std::vector<TensorValue> RandomInputs(const Graph& graph, uint64_t seed) {
  std::vector<TensorValue> inputs;
  for (ValueId input : graph.inputs) {
    inputs.push_back(RandomValue(graph.value(input).type, seed + inputs.size()));
  }
  return inputs;
}

ValueId AddRandomConstant(Graph& graph, const std::string& name, std::vector<int64_t> shape,
                          uint64_t seed) {
  const TensorType type = {DType::kF32, std::move(shape)};
  return AddConstant(graph, name, type, FromTensorValue(RandomValue(type, seed)));
}

std::string CompareOutputs(const std::vector<TensorValue>& want,
                           const std::vector<TensorValue>& got, double tolerance) {
  if (want.size() != got.size()) return "number of outputs";
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i].dtype != got[i].dtype || want[i].shape != got[i].shape) {
      return absl::StrCat("type of output ", i);
    }
    if (want[i].integers != got[i].integers) return absl::StrCat("integers of output ", i);
    double largest = 0;
    for (double v : want[i].floats) largest = std::max(largest, std::fabs(v));
    for (size_t k = 0; k < want[i].floats.size(); ++k) {
      const double error = std::fabs(want[i].floats[k] - got[i].floats[k]);
      if (!(error <= tolerance * largest)) {
        return absl::StrCat("output ", i, ", element ", k, ": got ", got[i].floats[k], ", want ",
                            want[i].floats[k]);
      }
    }
  }
  return "";
}

std::string Difference(const Graph& before, const Graph& after, double tolerance) {
  for (const Graph* graph : {&before, &after}) {
    if (const absl::Status verified = VerifyGraph(*graph); !verified.ok()) {
      return std::string(verified.message());
    }
  }
  if (before.inputs.size() != after.inputs.size() ||
      before.outputs.size() != after.outputs.size()) {
    return "the interface";
  }
  for (size_t i = 0; i < before.outputs.size(); ++i) {
    if (before.value(before.outputs[i]).name != after.value(after.outputs[i]).name) {
      return absl::StrCat("the name of output ", i, ": ", after.value(after.outputs[i]).name);
    }
  }
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const std::vector<TensorValue> inputs = RandomInputs(before, seed);
    const auto want = InterpretGraph(before, inputs);
    const auto got = InterpretGraph(after, inputs);
    if (!want.ok()) return std::string(want.status().message());
    if (!got.ok()) return std::string(got.status().message());
    const std::string difference = CompareOutputs(*want, *got, tolerance);
    if (!difference.empty()) {
      return absl::StrCat(difference, "\nbefore:\n", PrintGraph(before), "after:\n",
                          PrintGraph(after));
    }
  }
  return "";
}

Graph RandomGraph(uint64_t seed) { return Grower(seed).Run(); }

int CountNodes(const Graph& graph, const std::string& op) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                        [&](const GraphNode& node) { return node.op == op; }));
}

Attributes MakeAttributes(std::vector<std::pair<std::string, AttributeValue>> values) {
  Attributes attributes;
  for (auto& [name, value] : values) attributes.Set(name, std::move(value));
  return attributes;
}

ValueId Op(Graph& graph, const std::string& op, std::vector<ValueId> inputs,
           std::vector<std::pair<std::string, AttributeValue>> attributes) {
  const absl::StatusOr<ValueId> id =
      AddOp(graph, op, std::move(inputs), MakeAttributes(std::move(attributes)));
  CHECK(id.ok()) << id.status().ToString();
  return *id;
}

}  // namespace burnish
