#include "compiler/frontend/zoo_builder.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/rng.h"

namespace burnish {
namespace {

// Each value is the sum of the four 16-bit
// parts of one draw: close to normal, and 100 MB of weights take 0.1 s.
constexpr double kPart = 65536.0;

}  // namespace

ZooBuilder::ZooBuilder(std::string model, const ZooOptions& options) : options_(options) {
  graph_.name = std::move(model);
}

ValueId ZooBuilder::Input(const std::string& name, TensorType type) {
  return AddInput(graph_, name, std::move(type));
}

ValueId ZooBuilder::ImageInput() {
  return Input("input",
               {DType::kF32, {options_.batch, 3, options_.image_size, options_.image_size}});
}

ValueId ZooBuilder::Normal(const std::string& name, std::vector<int64_t> shape, double deviation) {
  Rng rng(RngStream{.seed = options_.seed, .purpose = "weights", .task = graph_.name + "/" + name});
  std::vector<float> values(ElementCount(shape));
  // The sum of four uniforms over 0 .. 65535 has variance 4 (65536^2 - 1) / 12.
  const double mean = 2 * (kPart - 1);
  const double scale = deviation / std::sqrt((kPart * kPart - 1) / 3);
  for (float& v : values) {
    const uint64_t draw = rng.Next();
    const auto sum = static_cast<double>((draw & 0xffff) + (draw >> 16 & 0xffff) +
                                         (draw >> 32 & 0xffff) + (draw >> 48));
    v = static_cast<float>((sum - mean) * scale);
  }
  return AddConstant(graph_, name, {DType::kF32, std::move(shape)},
                     MakeConstant(std::move(values)));
}

ValueId ZooBuilder::Uniform(const std::string& name, std::vector<int64_t> shape, double low,
                            double high) {
  Rng rng(RngStream{.seed = options_.seed, .purpose = "weights", .task = graph_.name + "/" + name});
  std::vector<float> values(ElementCount(shape));
  for (float& v : values) v = static_cast<float>(low + (high - low) * rng.Uniform());
  return AddConstant(graph_, name, {DType::kF32, std::move(shape)},
                     MakeConstant(std::move(values)));
}

ValueId ZooBuilder::Scalar(double value) {
  return AddConstant(graph_, "scalar", {DType::kF32, {}}, FromDoubles(DType::kF32, {value}));
}

ValueId ZooBuilder::Op(const std::string& op, std::vector<ValueId> inputs, Attributes attributes) {
  const std::string name = absl::StrCat(op, "_", graph_.nodes.size());
  const absl::StatusOr<ValueId> id =
      AddOp(graph_, op, std::move(inputs), std::move(attributes), name);
  CHECK(id.ok()) << id.status().ToString();
  return *id;
}

ValueId ZooBuilder::Conv(ValueId x, const std::string& name, const ConvSpec& spec) {
  const int64_t in = dim(x, 1) / spec.group;
  const double deviation = std::sqrt(2.0 / static_cast<double>(in * spec.kernel * spec.kernel));
  std::vector<ValueId> inputs = {
      x, Normal(name + ".weight", {spec.channels, in, spec.kernel, spec.kernel}, deviation)};
  if (spec.bias) inputs.push_back(Normal(name + ".bias", {spec.channels}, 0.1));
  Attributes attributes;
  attributes.Set("strides", std::vector<int64_t>{spec.stride, spec.stride});
  attributes.Set("pads", std::vector<int64_t>(4, spec.kernel / 2));
  attributes.Set("dilations", std::vector<int64_t>{1, 1});
  attributes.Set("group", spec.group);
  return Op("conv", std::move(inputs), std::move(attributes));
}

ValueId ZooBuilder::BatchNorm(ValueId x, const std::string& name) {
  const std::vector<int64_t> shape = {dim(x, 1)};
  Attributes attributes;
  attributes.Set("epsilon", double{1e-5f});
  const ValueId scale = Uniform(name + ".scale", shape, 0.5, 1.5);
  const ValueId bias = Normal(name + ".bias", shape, 0.1);
  const ValueId mean = Normal(name + ".mean", shape, 0.1);
  const ValueId variance = Uniform(name + ".variance", shape, 0.5, 1.5);
  return Op("batch_norm", {x, scale, bias, mean, variance}, std::move(attributes));
}

ValueId ZooBuilder::Relu6(ValueId x) {
  Attributes attributes;
  attributes.Set("min", 0.0);
  attributes.Set("max", 6.0);
  return Op("clip", {x}, std::move(attributes));
}

ValueId ZooBuilder::MaxPool(ValueId x, int64_t kernel, int64_t stride, int64_t pad) {
  Attributes attributes;
  attributes.Set("strides", std::vector<int64_t>{stride, stride});
  attributes.Set("pads", std::vector<int64_t>(4, pad));
  attributes.Set("dilations", std::vector<int64_t>{1, 1});
  attributes.Set("kernel_shape", std::vector<int64_t>{kernel, kernel});
  attributes.Set("ceil_mode", int64_t{0});
  return Op("max_pool", {x}, std::move(attributes));
}

ValueId ZooBuilder::GlobalAverage(ValueId x) {
  Attributes attributes;
  attributes.Set("axes", std::vector<int64_t>{2, 3});
  attributes.Set("keepdims", int64_t{1});
  const ValueId mean = Op("reduce_mean", {x}, std::move(attributes));
  return Reshape(mean, {dim(x, 0), dim(x, 1)});
}

ValueId ZooBuilder::Dense(ValueId x, const std::string& name, int64_t units) {
  const int64_t in = shape(x).back();
  const double deviation = std::sqrt(2.0 / static_cast<double>(in));
  const ValueId weights = Normal(name + ".weight", {units, in}, deviation);
  return Op("dense", {x, weights, Normal(name + ".bias", {units}, 0.1)});
}

ValueId ZooBuilder::Linear(ValueId x, const std::string& name, int64_t units) {
  const int64_t in = shape(x).back();
  // Not He: there is no ReLU behind it, and twelve layers must not grow.
  const double deviation = std::sqrt(1.0 / static_cast<double>(in));
  const ValueId product = Op("matmul", {x, Normal(name + ".weight", {in, units}, deviation)});
  return Op("add", {product, Normal(name + ".bias", {units}, 0.1)});
}

ValueId ZooBuilder::LayerNorm(ValueId x, const std::string& name) {
  const std::vector<int64_t> channels = {shape(x).back()};
  Attributes attributes;
  attributes.Set("axis", static_cast<int64_t>(shape(x).size()) - 1);
  attributes.Set("epsilon", double{1e-12f});
  const ValueId scale = Uniform(name + ".scale", channels, 0.5, 1.5);
  return Op("layer_norm", {x, scale, Normal(name + ".bias", channels, 0.1)}, std::move(attributes));
}

ValueId ZooBuilder::Reshape(ValueId x, std::vector<int64_t> to) {
  Attributes attributes;
  attributes.Set("shape", std::move(to));
  return Op("reshape", {x}, std::move(attributes));
}

ValueId ZooBuilder::Transpose(ValueId x, std::vector<int64_t> perm) {
  Attributes attributes;
  attributes.Set("perm", std::move(perm));
  return Op("transpose", {x}, std::move(attributes));
}

void ZooBuilder::Output(ValueId id, const std::string& name) {
  graph_.values[id].name = name;
  graph_.outputs.push_back(id);
}

}  // namespace burnish
