// Softmax and the normalisations.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

absl::Status SoftmaxLike(OnnxNode& node, absl::string_view op) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  const std::vector<int64_t> shape = node.TypeOf(x).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const bool flattens = node.opset() < 13;
  ASSIGN_OR_RETURN(const int64_t axis,
                   NormalizeAxis(node, node.Int("axis", flattens ? 1 : -1), rank));
  Attributes attributes;
  if (!flattens || axis == rank - 1) {
    attributes.Set("axis", axis);
    return node.Finish(op, {x}, std::move(attributes));
  }
  // Before opset 13 the input counts as a matrix: dimensions before `axis` by those from it on.
  int64_t rows = 1, columns = 1;
  for (int64_t d = 0; d < rank; ++d) (d < axis ? rows : columns) *= shape[d];
  ASSIGN_OR_RETURN(const ValueId flat, node.EmitReshape(x, {rows, columns}));
  attributes.Set("axis", int64_t{1});
  ASSIGN_OR_RETURN(const ValueId result, node.Emit(op, {flat}, std::move(attributes)));
  ASSIGN_OR_RETURN(const ValueId shaped, node.EmitReshape(result, shape));
  node.SetOutput(0, shaped);
  return absl::OkStatus();
}

// With the statistics of the batch itself; outputs 1 and 2 move the given ones towards them.
absl::Status TrainingBatchNormalization(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0), scale = c.In(1), bias = c.In(2), mean = c.In(3), variance = c.In(4);
  RETURN_IF_ERROR(c.status());
  const int64_t rank = c.Rank(x);
  if (rank < 2) return node.Invalid("want an input [N, C, ..]");
  Shape axes = {0}, by_channel(rank, 1);
  for (int64_t d = 2; d < rank; ++d) axes.push_back(d);
  by_channel[1] = c.ShapeOf(x)[1];
  const ValueId own_mean = c.Reduce("reduce_mean", x, axes);
  const ValueId centred = c.Sub(x, own_mean);
  const ValueId own_variance = c.Reduce("reduce_mean", c.Mul(centred, centred), axes);
  const ValueId root = c.Op("sqrt", {c.Add(own_variance, node.Float("epsilon", 1e-5f))});
  const ValueId factor = c.Div(c.Reshape(scale, by_channel), root);
  c.Output(0, c.Add(c.Mul(centred, factor), c.Reshape(bias, by_channel)));
  const double momentum = node.Float("momentum", 0.9f);
  const auto moved = [&](ValueId running, ValueId own) {
    const ValueId flat = c.Reshape(own, {by_channel[1]});
    return c.Add(c.Mul(running, momentum), c.Mul(flat, 1 - momentum));
  };
  if (node.OutputUsed(1)) c.Output(1, moved(mean, own_mean));
  if (node.OutputUsed(2)) c.Output(2, moved(variance, own_variance));
  return c.status();
}

// spatial=0 of opset 7: scale, bias and statistics have a value for each element of an example.
// Also of a list, which has one channel.
absl::Status NormalizeByElement(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0), scale = c.In(1), bias = c.In(2), mean = c.In(3), variance = c.In(4);
  RETURN_IF_ERROR(c.status());
  Shape want = c.ShapeOf(x);
  if (want.empty()) return node.Invalid("want an input [N, C, ..]");
  if (want.size() == 1) want.push_back(1);
  want.erase(want.begin());
  for (const ValueId id : {scale, bias, mean, variance}) {
    if (c.ShapeOf(id) == want) continue;
    return node.Invalid(absl::StrCat("got ", PrintType(node.TypeOf(id)), ", want ",
                                     PrintType({c.DTypeOf(id), want}), " of scale, bias, mean and ",
                                     "variance"));
  }
  const ValueId root = c.Op("sqrt", {c.Add(variance, node.Float("epsilon", 1e-5f))});
  c.Output(0, c.Add(c.Mul(c.Sub(x, mean), c.Div(scale, root)), bias));
  return c.status();
}

absl::Status BatchNormalization(OnnxNode& node) {
  std::vector<ValueId> inputs;
  for (int i = 0; i < 5; ++i) {
    ASSIGN_OR_RETURN(const ValueId input, node.Input(i));
    inputs.push_back(input);
  }
  if (node.Int("training_mode", 0) != 0) {
    if (node.opset() < 14) return node.Unsupported("training_mode is of opset 14 on");
    return TrainingBatchNormalization(node);
  }
  for (int i = 1; i < node.output_count(); ++i) {
    if (node.OutputUsed(i)) return node.Unsupported("only output Y exists outside of training");
  }
  const bool by_element = node.opset() < 9 && node.Int("spatial", 1) == 0;
  if (by_element || node.TypeOf(inputs[0]).shape.size() == 1) return NormalizeByElement(node);
  Attributes attributes;
  attributes.Set("epsilon", node.Float("epsilon", 1e-5f));
  return node.Finish("batch_norm", std::move(inputs), std::move(attributes));
}

// Outputs Mean and InvStdDev of LayerNormalization, for the few models that use them.
absl::Status EmitStatistics(OnnxNode& node, ValueId x, int64_t axis, double epsilon) {
  const auto rank = static_cast<int64_t>(node.TypeOf(x).shape.size());
  std::vector<int64_t> axes;
  for (int64_t d = axis; d < rank; ++d) axes.push_back(d);
  Attributes over;
  over.Set("axes", axes);
  over.Set("keepdims", int64_t{1});
  ASSIGN_OR_RETURN(const ValueId mean, node.Emit("reduce_mean", {x}, over));
  ASSIGN_OR_RETURN(const ValueId centred, node.Emit("sub", {x, mean}));
  ASSIGN_OR_RETURN(const ValueId squares, node.Emit("mul", {centred, centred}));
  ASSIGN_OR_RETURN(const ValueId variance, node.Emit("reduce_mean", {squares}, over));
  ASSIGN_OR_RETURN(const ValueId bound, node.EmitScalar(node.TypeOf(x).dtype, epsilon));
  ASSIGN_OR_RETURN(const ValueId shifted, node.Emit("add", {variance, bound}));
  ASSIGN_OR_RETURN(const ValueId deviation, node.Emit("sqrt", {shifted}));
  ASSIGN_OR_RETURN(const ValueId inverse, node.Emit("reciprocal", {deviation}));
  if (node.OutputUsed(1)) node.SetOutput(1, mean);
  if (node.OutputUsed(2)) node.SetOutput(2, inverse);
  return absl::OkStatus();
}

absl::Status LayerNormalization(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  ASSIGN_OR_RETURN(const ValueId scale, node.Input(1));
  std::vector<ValueId> inputs = {x, scale};
  if (node.HasInput(2)) {
    ASSIGN_OR_RETURN(const ValueId bias, node.Input(2));
    inputs.push_back(bias);
  }
  ASSIGN_OR_RETURN(const int64_t axis,
                   NormalizeAxis(node, node.Int("axis", -1), node.TypeOf(x).shape.size()));
  const double epsilon = node.Float("epsilon", 1e-5f);
  if (node.OutputUsed(1) || node.OutputUsed(2)) {
    RETURN_IF_ERROR(EmitStatistics(node, x, axis, epsilon));
  }
  Attributes attributes;
  attributes.Set("axis", axis);
  attributes.Set("epsilon", epsilon);
  return node.Finish("layer_norm", std::move(inputs), std::move(attributes));
}

absl::Status InstanceNormalization(OnnxNode& node) {
  std::vector<ValueId> inputs;
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(const ValueId input, node.Input(i));
    inputs.push_back(input);
  }
  Attributes attributes;
  attributes.Set("epsilon", node.Float("epsilon", 1e-5f));
  return node.Finish("instance_norm", std::move(inputs), std::move(attributes));
}

// [G] -> [C]: each group's value for all of its channels.
absl::StatusOr<ValueId> PerChannel(OnnxNode& node, ValueId x, int64_t groups, int64_t channels) {
  ASSIGN_OR_RETURN(const ValueId column, node.EmitReshape(x, {groups, 1}));
  Attributes attributes;
  attributes.Set("shape", std::vector<int64_t>{groups, channels / groups});
  ASSIGN_OR_RETURN(const ValueId wide, node.Emit("expand", {column}, std::move(attributes)));
  return node.EmitReshape(wide, {channels});
}

absl::Status GroupNormalization(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  ASSIGN_OR_RETURN(ValueId scale, node.Input(1));
  ASSIGN_OR_RETURN(ValueId bias, node.Input(2));
  const int64_t groups = node.Int("num_groups", 0);
  const std::vector<int64_t> shape = node.TypeOf(x).shape;
  if (shape.size() < 2) return node.Invalid("want an input [N, C, ..]");
  if (groups < 1 || shape[1] % groups != 0) {
    return node.Invalid(
        absl::StrCat("num_groups ", groups, " does not divide ", shape[1], " channels"));
  }
  if (node.opset() < 21) {  // Scale and bias were given for each group, not each channel.
    for (ValueId id : {scale, bias}) {
      if (node.TypeOf(id).shape != std::vector<int64_t>{groups}) {
        return node.Invalid("before opset 21 scale and bias have one value a group");
      }
    }
    ASSIGN_OR_RETURN(scale, PerChannel(node, scale, groups, shape[1]));
    ASSIGN_OR_RETURN(bias, PerChannel(node, bias, groups, shape[1]));
  }
  Attributes attributes;
  attributes.Set("num_groups", groups);
  attributes.Set("epsilon", node.Float("epsilon", 1e-5f));
  return node.Finish("group_norm", {x, scale, bias}, std::move(attributes));
}

absl::Status Lrn(OnnxNode& node) {
  ASSIGN_OR_RETURN(const ValueId x, node.Input(0));
  if (!node.HasAttribute("size")) return node.Invalid("attribute size is missing");
  Attributes attributes;
  attributes.Set("size", node.Int("size", 1));
  attributes.Set("alpha", node.Float("alpha", 1e-4f));
  attributes.Set("beta", node.Float("beta", 0.75));
  attributes.Set("bias", node.Float("bias", 1.0));
  return node.Finish("lrn", {x}, std::move(attributes));
}

}  // namespace

void AddNormalizationTranslators(OnnxTranslators& t) {
  t["Softmax"] = [](OnnxNode& node) { return SoftmaxLike(node, "softmax"); };
  t["LogSoftmax"] = [](OnnxNode& node) { return SoftmaxLike(node, "log_softmax"); };
  t["BatchNormalization"] = BatchNormalization;
  t["LayerNormalization"] = LayerNormalization;
  t["InstanceNormalization"] = InstanceNormalization;
  t["GroupNormalization"] = GroupNormalization;
  t["LRN"] = Lrn;
}

}  // namespace burnish
