#include "compiler/graph/fold_quantization_pass.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/graph/fold_constants_pass.h"
#include "compiler/graph/quantization_parameters.h"
#include "compiler/graph/rewrite.h"

namespace burnish {
namespace {

using Shape = std::vector<int64_t>;
using Parameters = QuantizationParameters;

bool IsByte(DType type) { return type == DType::kU8 || type == DType::kI8; }

// Round of x to type, as `quantize` does it.
int64_t Quantized(double x, const Parameters& to, DType type) {
  const IntLimits limits = LimitsOf(type);
  const double rounded = std::nearbyint(static_cast<double>(static_cast<float>(x / to.scale[0])));
  return static_cast<int64_t>(std::clamp(rounded + static_cast<double>(to.zero[0]),
                                         static_cast<double>(limits.least),
                                         static_cast<double>(limits.greatest)));
}

// ---- Movement below dequantize, and pairs that cancel.

// Of the first input. A table of words of quantized numbers stays one: what is looked up is
// dequantized.
bool IsMovement(const GraphNode& node) {
  for (const OpId op : {OpId::kReshape, OpId::kTranspose, OpId::kSlice, OpId::kMaxPool,
                        OpId::kExpand, OpId::kGather}) {
    if (node.op == op) return true;
  }
  return false;
}

class Mover {
 public:
  explicit Mover(Graph& graph) : graph_(graph) {}

  // Nodes are in order: what one makes, the next sees.
  absl::Status Run() {
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      GraphNode node = graph_.nodes[n];  // By value: nodes are appended.
      for (ValueId& input : node.inputs) input = replacements_.Resolve(input);
      if (IsMovement(node)) RETURN_IF_ERROR(Sink(node, 1));
      if (node.op == OpId::kConcat) RETURN_IF_ERROR(Sink(node, node.inputs.size()));
      if (node.op == OpId::kQuantize) Cancel(node);
    }
    if (replacements_.empty()) return absl::OkStatus();
    replacements_.Apply(graph_);
    return Finish(graph_);
  }

 private:
  absl::Status Sink(const GraphNode& node, size_t moved) {
    std::vector<ValueId> inputs = node.inputs;
    std::optional<Parameters> all;
    std::vector<ValueId> parameters;
    for (size_t i = 0; i < moved; ++i) {
      const GraphNode* real = ProducerOf(graph_, inputs[i], OpId::kDequantize);
      if (real == nullptr) return absl::OkStatus();
      const std::optional<Parameters> p = ParametersOf(graph_, *real);
      const DType type = graph_.value(real->inputs[0]).type.dtype;
      if (!p.has_value() || !p->IsOne() || !p->shape.empty()) return absl::OkStatus();
      const bool same =
          !all.has_value() || (*all == *p && graph_.value(inputs[0]).type.dtype == type);
      if (!same) return absl::OkStatus();
      all = p;
      parameters = {real->inputs[1], real->inputs[2]};
      inputs[i] = real->inputs[0];
    }
    ASSIGN_OR_RETURN(const ValueId y, AddOp(graph_, node.op, inputs, node.attributes, node.name));
    ASSIGN_OR_RETURN(const ValueId back, AddOp(graph_, OpId::kDequantize,
                                               {y, parameters[0], parameters[1]}, {}, node.name));
    replacements_.Set(node.outputs[0], back);
    return absl::OkStatus();
  }

  void Cancel(const GraphNode& node) {
    const GraphNode* real = ProducerOf(graph_, node.inputs[0], OpId::kDequantize);
    if (real == nullptr) return;
    const TensorType& from = graph_.value(real->inputs[0]).type;
    const std::optional<Parameters> a = ParametersOf(graph_, *real), b = ParametersOf(graph_, node);
    // (q - z) * s / s differs from q - z by less than a half: below 2^16 numbers.
    if (!a.has_value() || !b.has_value() || !(*a == *b)) return;
    if (from.dtype == graph_.value(node.outputs[0]).type.dtype) {
      replacements_.Set(node.outputs[0], real->inputs[0]);
    }
  }

  Graph& graph_;
  Replacements replacements_;
};

// ---- Products.

// What stands between a product of dequantized numbers and the quantize behind it.
struct Chain {
  GraphNode product;
  ValueId added = -1;  // A constant bias; -1: none.
  double least = -std::numeric_limits<double>::infinity();
  double greatest = std::numeric_limits<double>::infinity();
};

class Folder {
 public:
  explicit Folder(Graph& graph)
      : graph_(graph), consumers_(Consumers(graph)), is_output_(OutputFlags(graph)) {}

  absl::Status Run() {
    const size_t count = graph_.nodes.size();
    for (size_t n = 0; n < count; ++n) {
      const GraphNode node = graph_.nodes[n];
      if (node.op == OpId::kQuantize) RETURN_IF_ERROR(Fold(node));
    }
    for (size_t n = 0; n < count; ++n) {
      const GraphNode node = graph_.nodes[n];
      if (node.op == OpId::kQuantize) RETURN_IF_ERROR(MultiplyInstead(node));
      if (!IsProduct(node) || folded_.count(node.outputs[0]) > 0) continue;
      RETURN_IF_ERROR(FoldToReal(node));
    }
    if (replacements_.empty()) return absl::OkStatus();
    replacements_.Apply(graph_);
    return Finish(graph_);
  }

 private:
  static bool IsProduct(const GraphNode& node) {
    return node.op == OpId::kConv || node.op == OpId::kDense || node.op == OpId::kMatmul ||
           node.op == OpId::kGemm;
  }

  // Of the graph as it was; what the pass adds has no number here.
  bool IsAlone(ValueId v) const { return consumers_[v].size() == 1 && !is_output_[v]; }

  // The real numbers of a constant: of one, or of what dequantizes one.
  std::optional<std::vector<double>> ConstantOf(ValueId v) const {
    const GraphValue& value = graph_.value(v);
    if (value.data != nullptr) {
      if (IsTracked(value)) return std::nullopt;
      return ToDoubles(value.type, *value.data);
    }
    const GraphNode* real = ProducerOf(graph_, v, OpId::kDequantize);
    if (real == nullptr) return std::nullopt;
    const GraphValue& q = graph_.value(real->inputs[0]);
    const std::optional<Parameters> p = ParametersOf(graph_, *real);
    if (q.data == nullptr || !p.has_value()) return std::nullopt;
    std::vector<double> values = ToDoubles(q.type, *q.data);
    // One scale for all, or one an element: a bias has no other axes.
    if (p->scale.size() != 1 && p->scale.size() != values.size()) return std::nullopt;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = (values[i] - static_cast<double>(p->ZeroAt(i))) * p->ScaleAt(i);
    }
    return values;
  }

  std::optional<Chain> ChainBehind(ValueId v) const {
    Chain chain;
    while (true) {
      const GraphNodeId n = graph_.value(v).producer;
      if (n < 0 || !IsAlone(v)) return std::nullopt;
      const GraphNode& node = graph_.nodes[n];
      if (node.op == OpId::kRelu || node.op == OpId::kClip) {
        if (chain.added >= 0) return std::nullopt;
        double least = 0, greatest = std::numeric_limits<double>::infinity();
        if (node.op == OpId::kClip) {
          least = node.attributes.Float("min", -greatest);
          greatest = node.attributes.Float("max", greatest);
        }
        if (least > greatest) return std::nullopt;
        // From the last function back: the earlier one is limited by the later.
        chain.least = std::clamp(least, chain.least, chain.greatest);
        chain.greatest = std::clamp(greatest, chain.least, chain.greatest);
        v = node.inputs[0];
      } else if (node.op == OpId::kAdd && chain.added < 0) {
        const int constant = ConstantOf(node.inputs[1]).has_value() ? 1 : 0;
        if (!ConstantOf(node.inputs[constant]).has_value()) return std::nullopt;
        // The bias does not make the product any larger.
        if (graph_.value(node.inputs[1 - constant]).type != graph_.value(v).type) {
          return std::nullopt;
        }
        chain.added = node.inputs[constant];
        v = node.inputs[1 - constant];
      } else {
        chain.product = node;
        return chain;
      }
    }
  }

  // Weights less their zero points as i8, [columns..] with `column_dim` the dimension of columns.
  struct Weights {
    TensorType type;
    std::vector<int64_t> values;
    std::vector<double> scale;  // A column.
    std::vector<int64_t> sums;  // A column.
    int64_t columns = 0;
  };
  std::optional<Weights> WeightsOf(ValueId v, int64_t column_dim) const {
    const GraphNode* real = ProducerOf(graph_, v, OpId::kDequantize);
    if (real == nullptr) return std::nullopt;
    const GraphValue& q = graph_.value(real->inputs[0]);
    const std::optional<Parameters> p = ParametersOf(graph_, *real);
    if (q.data == nullptr || !IsByte(q.type.dtype) || !p.has_value()) return std::nullopt;
    const Shape& shape = q.type.shape;
    Weights w{.type = {DType::kI8, shape}, .values = ToInts(q.type, *q.data)};
    w.columns = shape[column_dim];
    if (!p->IsOne()) {
      Shape want(shape.size(), 1);
      want[column_dim] = w.columns;
      if (p->shape != want) return std::nullopt;
    }
    int64_t inner = 1;
    for (size_t d = column_dim + 1; d < shape.size(); ++d) inner *= shape[d];
    w.sums.assign(w.columns, 0);
    for (size_t i = 0; i < w.values.size(); ++i) {
      const size_t column = static_cast<size_t>(static_cast<int64_t>(i) / inner % w.columns);
      w.values[i] -= p->ZeroAt(column);
      // Unsigned weights whose zero point is not in their middle: real numbers do them.
      if (w.values[i] < -128 || w.values[i] > 127) return std::nullopt;
      w.sums[column] += w.values[i];
    }
    for (int64_t c = 0; c < w.columns; ++c) w.scale.push_back(p->ScaleAt(c));
    return w;
  }

  // The bias in units of the sums, less what the input's zero point adds to each.
  std::optional<std::vector<int64_t>> BiasOf(const Chain& chain, const Weights& w, double x_scale,
                                             int64_t x_zero) const {
    std::vector<double> real(w.columns, 0);
    std::vector<ValueId> parts;
    if (chain.product.inputs.size() > 2) parts.push_back(chain.product.inputs[2]);
    if (chain.added >= 0) parts.push_back(chain.added);
    for (const ValueId part : parts) {
      const std::optional<std::vector<double>> values = ConstantOf(part);
      if (!values.has_value() || !IsByColumn(chain, part, w.columns)) return std::nullopt;
      for (int64_t c = 0; c < w.columns; ++c) real[c] += (*values)[values->size() == 1 ? 0 : c];
    }
    std::vector<int64_t> bias;
    for (int64_t c = 0; c < w.columns; ++c) {
      const double sum = std::nearbyint(real[c] / (x_scale * w.scale[c])) -
                         static_cast<double>(x_zero * w.sums[c]);
      // Half of the range: the sums have room beside it.
      if (!(std::abs(sum) < 1 << 30)) return std::nullopt;
      bias.push_back(static_cast<int64_t>(sum));
    }
    return bias;
  }

  // Whether a bias has one value, or one a column. An added one broadcasts to the result.
  bool IsByColumn(const Chain& chain, ValueId part, int64_t columns) const {
    const Shape& shape = graph_.value(part).type.shape;
    const int64_t count = ElementCount(shape);
    if (count == 1) return true;
    if (count != columns) return false;
    if (part != chain.added || chain.product.op != OpId::kConv) return shape.back() == columns;
    const size_t rank = graph_.value(chain.product.outputs[0]).type.shape.size();
    return shape.size() + 1 >= rank && shape[shape.size() + 1 - rank] == columns;
  }

  // Dimension of the columns in the weights; -1: no product that this pass takes.
  int64_t ColumnDim(const GraphNode& node) const {
    if (node.op == OpId::kConv || node.op == OpId::kDense) return 0;
    const size_t rank = graph_.value(node.inputs[1]).type.shape.size();
    const bool trans_b = node.attributes.Int("trans_b", 0) != 0;
    if (rank != 2 || node.attributes.Int("trans_a", 0) != 0) return -1;
    if (node.op == OpId::kMatmul) return trans_b ? 0 : 1;
    if (node.op != OpId::kGemm || node.attributes.Float("alpha", 1) != 1) return -1;
    if (node.inputs.size() > 2 && node.attributes.Float("beta", 1) != 1) return -1;
    return trans_b ? 0 : 1;
  }

  // Unsigned bytes: the other way round costs an addition of 128 to both.
  absl::StatusOr<ValueId> Unsigned(ValueId x) {
    if (graph_.value(x).type.dtype == DType::kU8) return x;
    Attributes to_i16, to_u8;
    to_i16.Set("to", std::string("i16"));
    to_u8.Set("to", std::string("u8"));
    const ValueId offset =
        AddConstant(graph_, "offset", {DType::kI16, {}}, FromInts(DType::kI16, {128}));
    ASSIGN_OR_RETURN(const ValueId wide, AddOp(graph_, OpId::kCast, {x}, to_i16));
    ASSIGN_OR_RETURN(const ValueId sum, AddOp(graph_, OpId::kAdd, {wide, offset}));
    return AddOp(graph_, OpId::kCast, {sum}, to_u8);
  }

  absl::Status Fold(const GraphNode& quantize) {
    const std::optional<Parameters> to = ParametersOf(graph_, quantize);
    const DType type = graph_.value(quantize.outputs[0]).type.dtype;
    if (!to.has_value() || !to->IsOne() || !IsByte(type)) return absl::OkStatus();
    const std::optional<Chain> chain = ChainBehind(quantize.inputs[0]);
    if (!chain.has_value() || chain->product.inputs.size() < 2) return absl::OkStatus();
    const GraphNode& product = chain->product;
    ASSIGN_OR_RETURN(const std::optional<IntegerProduct> in_integers, InIntegers(*chain));
    if (!in_integers.has_value()) return absl::OkStatus();
    ASSIGN_OR_RETURN(ValueId y,
                     Requantized(product, in_integers->sums, in_integers->scale, *to, quantize));
    ASSIGN_OR_RETURN(y, Clamped(*chain, y, *to, type));
    replacements_.Set(quantize.outputs[0], y);
    folded_.insert(product.outputs[0]);
    folded_.insert(quantize.outputs[0]);
    return absl::OkStatus();
  }

  // A product whose result is read as real numbers: of a network's last one, or in front of an
  // operator that has no integer form. The bias stays as it is, no number of 32 bits being it.
  absl::Status FoldToReal(const GraphNode& product) {
    const int64_t column_dim = product.inputs.size() < 2 ? -1 : ColumnDim(product);
    if (column_dim < 0) return absl::OkStatus();
    GraphNode bare = product;
    bare.inputs.resize(2);
    std::optional<std::vector<double>> bias;
    if (product.inputs.size() > 2) {
      const int64_t columns = graph_.value(product.inputs[1]).type.shape[column_dim];
      bias = ConstantOf(product.inputs[2]);
      if (!bias.has_value() || !IsByColumn({.product = product}, product.inputs[2], columns)) {
        return absl::OkStatus();
      }
    }
    ASSIGN_OR_RETURN(const std::optional<IntegerProduct> in_integers,
                     InIntegers({.product = bare}));
    if (!in_integers.has_value()) return absl::OkStatus();
    Attributes to_f32;
    to_f32.Set("to", std::string("f32"));
    ASSIGN_OR_RETURN(ValueId y,
                     AddOp(graph_, OpId::kCast, {in_integers->sums}, to_f32, product.name));
    const ValueId scale = ByColumn(product, "_scale", in_integers->scale);
    ASSIGN_OR_RETURN(y, AddOp(graph_, OpId::kMul, {y, scale}, {}, product.name));
    if (bias.has_value()) {
      const ValueId added = ByColumn(product, "_bias", *bias);
      ASSIGN_OR_RETURN(y, AddOp(graph_, OpId::kAdd, {y, added}, {}, product.name));
    }
    replacements_.Set(product.outputs[0], y);
    return absl::OkStatus();
  }

  // Of real numbers that were computed, whose last bits no two engines share: a product with 1 /
  // scale for the quotient, which is slower. What a caller gives is divided.
  absl::Status MultiplyInstead(const GraphNode& quantize) {
    const std::optional<Parameters> to = ParametersOf(graph_, quantize);
    const DType type = graph_.value(quantize.outputs[0]).type.dtype;
    const bool is_computed = graph_.value(quantize.inputs[0]).producer >= 0;
    if (!is_computed || !to.has_value() || !to->IsOne() || !IsByte(type) ||
        folded_.count(quantize.outputs[0]) > 0) {
      return absl::OkStatus();
    }
    const double multiplier = 1 / to->scale[0];
    if (!std::isnormal(static_cast<float>(multiplier))) return absl::OkStatus();
    const ValueId by = AddConstant(graph_, quantize.name + "_multiplier", {DType::kF32, to->shape},
                                   FromDoubles(DType::kF32, {multiplier}));
    ASSIGN_OR_RETURN(const ValueId y,
                     AddOp(graph_, OpId::kRequantize, {quantize.inputs[0], by, quantize.inputs[2]},
                           {}, quantize.name));
    replacements_.Set(quantize.outputs[0], y);
    return absl::OkStatus();
  }

  // The sums of a product of quantized numbers, and what one of them stands for, by column.
  struct IntegerProduct {
    ValueId sums = -1;
    std::vector<double> scale;
  };
  absl::StatusOr<std::optional<IntegerProduct>> InIntegers(const Chain& chain) {
    const GraphNode& product = chain.product;
    if (!IsProduct(product) || product.inputs.size() < 2) return std::nullopt;
    const int64_t column_dim = ColumnDim(product);
    if (column_dim < 0 || product.attributes.Int("channels_last", 0) != 0) return std::nullopt;
    const GraphNode* real = ProducerOf(graph_, product.inputs[0], OpId::kDequantize);
    if (real == nullptr || !IsByte(graph_.value(real->inputs[0]).type.dtype)) return std::nullopt;
    const std::optional<Parameters> from = ParametersOf(graph_, *real);
    const std::optional<Weights> w = WeightsOf(product.inputs[1], column_dim);
    if (!from.has_value() || !from->IsOne() || !w.has_value()) return std::nullopt;
    ValueId x = real->inputs[0];
    if (graph_.IsConstant(x)) return std::nullopt;
    const bool is_signed = graph_.value(x).type.dtype == DType::kI8;
    const int64_t x_zero = from->zero[0] + (is_signed ? 128 : 0);
    const auto bias = BiasOf(chain, *w, from->scale[0], x_zero);
    if (!bias.has_value()) return std::nullopt;
    IntegerProduct made;
    for (const double scale : w->scale) {
      made.scale.push_back(from->scale[0] * scale);
      const bool vanishes = from->scale[0] != 0 && scale != 0;
      if (vanishes && !IsNormalNumber(DType::kF32, made.scale.back())) return std::nullopt;
    }
    ASSIGN_OR_RETURN(x, Unsigned(x));
    ASSIGN_OR_RETURN(made.sums, Sums(product, x, x_zero, *w, *bias));
    return made;
  }

  // Channels of the input and of the weights up to a multiple of four, which instructions for bytes
  // take at a time: colours are three. Weights of 0 add nothing.
  absl::Status WidenChannels(ValueId& x, Weights& w) {
    const int64_t channels = w.type.shape[1], wide = (channels + 3) / 4 * 4;
    // What this costs is a share of the channels; four times the work is none.
    if (channels < 3 || wide == channels) return absl::OkStatus();
    Shape pads(2 * w.type.shape.size(), 0);
    pads[w.type.shape.size() + 1] = wide - channels;
    Attributes attributes;
    attributes.Set("pads", pads);
    ASSIGN_OR_RETURN(x, AddOp(graph_, OpId::kPad, {x}, attributes));
    const auto taps = static_cast<size_t>(ElementCount(w.type.shape) / (w.columns * channels));
    std::vector<int64_t> values(w.columns * wide * static_cast<int64_t>(taps), 0);
    const size_t row = channels * taps;
    for (int64_t c = 0; c < w.columns; ++c) {
      std::copy_n(w.values.begin() + static_cast<std::ptrdiff_t>(c * row), row,
                  values.begin() + static_cast<std::ptrdiff_t>(c * wide * taps));
    }
    w.values = std::move(values);
    w.type.shape[1] = wide;
    return absl::OkStatus();
  }

  absl::StatusOr<ValueId> Sums(const GraphNode& product, ValueId x, int64_t x_zero, Weights w,
                               const std::vector<int64_t>& bias) {
    if (product.op == OpId::kConv && product.attributes.Int("group", 1) == 1) {
      RETURN_IF_ERROR(WidenChannels(x, w));
    }
    const ValueId weights =
        AddConstant(graph_, product.name + "_weights", w.type, FromInts(DType::kI8, w.values));
    const ValueId added = AddConstant(graph_, product.name + "_bias", {DType::kI32, {w.columns}},
                                      FromInts(DType::kI32, bias));
    Attributes attributes;
    if (product.op == OpId::kConv) {
      attributes = product.attributes;
      attributes.Set("pad_value", x_zero);
      return AddOp(graph_, OpId::kConvInteger, {x, weights, added}, attributes, product.name);
    }
    const bool trans_b = product.op == OpId::kDense || product.attributes.Int("trans_b", 0) != 0;
    attributes.Set("trans_b", int64_t{trans_b});
    return AddOp(graph_, OpId::kMatmulInteger, {x, weights, added}, attributes, product.name);
  }

  // A constant that broadcasts to the product's result.
  ValueId ByColumn(const GraphNode& product, const char* name, const std::vector<double>& values) {
    Shape shape = {std::ssize(values)};
    if (product.op == OpId::kConv) {
      shape.assign(graph_.value(product.outputs[0]).type.shape.size() - 1, 1);
      shape[0] = std::ssize(values);
    }
    return AddConstant(graph_, product.name + name, {DType::kF32, shape},
                       FromDoubles(DType::kF32, values));
  }

  absl::StatusOr<ValueId> Requantized(const GraphNode& product, ValueId sums,
                                      const std::vector<double>& of_sums, const Parameters& to,
                                      const GraphNode& quantize) {
    std::vector<double> multiplier;
    for (const double scale : of_sums) multiplier.push_back(scale / to.scale[0]);
    return AddOp(graph_, OpId::kRequantize,
                 {sums, ByColumn(product, "_multiplier", multiplier), quantize.inputs[2]}, {},
                 quantize.name);
  }

  // Rounding is monotone: limits before it are limits behind it.
  absl::StatusOr<ValueId> Clamped(const Chain& chain, ValueId y, const Parameters& to, DType type) {
    const IntLimits limits = LimitsOf(type);
    const int64_t least = std::isinf(chain.least) ? limits.least : Quantized(chain.least, to, type);
    const int64_t greatest =
        std::isinf(chain.greatest) ? limits.greatest : Quantized(chain.greatest, to, type);
    Attributes clip;
    if (least > limits.least) clip.Set("min", static_cast<double>(least));
    if (greatest < limits.greatest) clip.Set("max", static_cast<double>(greatest));
    if (clip.values().empty()) return y;
    return AddOp(graph_, OpId::kClip, {y}, clip, graph_.value(y).name);
  }

  Graph& graph_;
  const std::vector<std::vector<GraphNodeId>> consumers_;
  const std::vector<bool> is_output_;
  std::set<ValueId>
      folded_;  // Results of products that are sums of integers now, and of what ends them.
  Replacements replacements_;
};

}  // namespace

absl::Status FoldQuantization(Graph& graph) {
  const bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                               [](const GraphNode& node) { return node.op == OpId::kDequantize; });
  if (!any) return absl::OkStatus();
  // Scales that are computed of constants, weights that are transposed.
  RETURN_IF_ERROR(FoldConstants(graph, {.keep_quantized = true}));
  RETURN_IF_ERROR(Mover(graph).Run());
  RETURN_IF_ERROR(FoldConstants(graph, {.keep_quantized = true}));
  return Folder(graph).Run();
}

}  // namespace burnish
