// Parts of today's language models: RMSNormalization, rotary embeddings, SwiGLU, recurrences over
// tokens (LinearAttention, CausalConvWithState); MeanVarianceNormalization, LpNormalization.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_attention.h"

namespace burnish {
namespace {

Shape From(int64_t axis, int64_t rank) {
  Shape axes;
  for (int64_t d = axis; d < rank; ++d) axes.push_back(d);
  return axes;
}

absl::Status RmsNormalization(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0), scale = c.In(1);
  RETURN_IF_ERROR(c.status());
  const int64_t rank = c.Rank(x);
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, node.Int("axis", -1), rank));
  const ValueId mean = c.Reduce("reduce_mean", c.Mul(x, x), From(axis, rank));
  const ValueId root = c.Op("sqrt", {c.Add(mean, node.Float("epsilon", 1e-5f))});
  c.Output(0, c.Mul(c.Mul(x, c.Op("reciprocal", {root})), scale));
  return c.status();
}

absl::Status MeanVarianceNormalization(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  // ONNX's default is that of an image; of a smaller rank, what it has of them.
  Shape image = {0};
  for (int64_t axis = 2; axis < std::min<int64_t>(c.Rank(x), 4); ++axis) image.push_back(axis);
  ASSIGN_OR_RETURN(const Shape axes, NormalizeAxes(node, node.Ints("axes", image), c.Rank(x)));
  const ValueId centred = c.Sub(x, c.Reduce("reduce_mean", x, axes));
  const ValueId variance = c.Reduce("reduce_mean", c.Mul(centred, centred), axes);
  // The bound is of the function's definition in ONNX, added to the deviation.
  c.Output(0, c.Div(centred, c.Add(c.Op("sqrt", {variance}), 1e-9)));
  return c.status();
}

absl::Status LpNormalization(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, node.Int("axis", -1), c.Rank(x)));
  const int64_t p = node.Int("p", 2);
  if (p != 1 && p != 2) return node.Invalid(absl::StrCat("p: got ", p, ", want 1 or 2"));
  const ValueId norm = c.Reduce(p == 1 ? "reduce_l1" : "reduce_l2", x, {axis});
  c.Output(0, c.Where(c.Equal(norm, 0), c.NumberLike(x, 0), c.Div(x, norm)));
  return c.status();
}

absl::Status SwiGlu(OnnxNode& node) {
  Composer c(node);
  const ValueId a = c.In(0), b = c.In(1);
  RETURN_IF_ERROR(c.status());
  if (c.ShapeOf(a) != c.ShapeOf(b)) return node.Invalid("want inputs of one shape");
  const double alpha = node.Float("alpha", 1.0);
  const ValueId gate =
      alpha == 1 ? c.Op("silu", {a}) : c.Mul(a, c.Op("sigmoid", {c.Mul(a, alpha)}));
  c.Output(0, c.Mul(gate, b));
  return c.status();
}

// ---- Rotary embeddings.

absl::Status RotaryEmbedding(OnnxNode& node) {
  Composer c(node);
  // com.microsoft's has the positions second, and positions are then one number or [N, S].
  const bool microsoft = node.is_microsoft();
  ValueId x = c.In(0), cosine = c.In(microsoft ? 2 : 1), sine = c.In(microsoft ? 3 : 2);
  RETURN_IF_ERROR(c.status());
  const Shape original = c.ShapeOf(x);
  if (original.size() != 3 && original.size() != 4) {
    return node.Invalid("want an input of 3 or 4 dimensions");
  }
  if (microsoft && (node.Int("is_packed_batching", 0) != 0 || node.Float("scale", 1.0) != 1.0)) {
    return node.Unsupported("packed batching or a scale");
  }
  const bool by_head = original.size() == 4;
  int64_t heads = node.Int("num_heads", 0);
  int64_t dim = node.Int("rotary_embedding_dim", 0);
  if (by_head) x = c.Transpose(x, {0, 2, 1, 3});
  if (!by_head) {
    // com.microsoft may leave the number of heads to the width of the angles.
    if (heads == 0 && microsoft && dim == 0 && c.Rank(cosine) == 2) {
      heads = original[2] / (2 * c.ShapeOf(cosine)[1]);
    }
    if (heads < 1 || original[2] % heads != 0) return node.Invalid("num_heads does not divide");
    x = c.Reshape(x, {original[0], original[1], heads, original[2] / heads});
  }
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(x);  // [N, S, H, D]
  if (dim == 0) dim = shape[3];
  if (dim < 2 || dim % 2 != 0 || dim > shape[3]) {
    return node.Invalid(absl::StrCat("rotary_embedding_dim: got ", dim, " for ", shape[3]));
  }
  const int positions_at = microsoft ? 1 : 3;
  if (node.HasInput(positions_at)) {
    ValueId positions = c.In(positions_at);
    RETURN_IF_ERROR(c.status());
    if (microsoft && ElementCount(c.ShapeOf(positions)) == 1 && shape[0] * shape[1] != 1) {
      // The position of the first token.
      positions =
          c.Add(c.Reshape(positions, {1, 1}), c.Reshape(c.Iota(0, shape[1]), {1, shape[1]}));
    } else {
      positions = c.Reshape(positions, {shape[0], shape[1]});
    }
    cosine = c.Gather(cosine, positions, 0);
    sine = c.Gather(sine, positions, 0);
  }
  RETURN_IF_ERROR(c.status());
  const Shape angles = c.ShapeOf(cosine);
  if (angles.size() != 3 || angles[1] != shape[1] || angles[2] != dim / 2 ||
      (angles[0] != shape[0] && angles[0] != 1) || c.ShapeOf(sine) != angles) {
    return node.Invalid("the cosines and sines have not the input's batch, sequence and half size");
  }
  const Shape wide = {angles[0], angles[1], 1, angles[2]};
  ValueId y = EmitRotation(c, x, c.Reshape(cosine, wide), c.Reshape(sine, wide), dim,
                           node.Int("interleaved", 0) != 0);
  y = by_head ? c.Transpose(y, {0, 2, 1, 3}) : c.Reshape(y, original);
  c.Output(0, y);
  return c.status();
}

// ---- Recurrences.

absl::Status CausalConvWithState(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0), weight = c.In(1);
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(x), kernel = c.ShapeOf(weight);
  if (shape.size() != 3 || kernel.size() != 3 || kernel[1] != 1 || kernel[0] != shape[1]) {
    return node.Invalid("want an input [N, C, L] and weights [C, 1, K]");
  }
  const int64_t before = kernel[2] - 1;
  if (before == 0 && node.OutputUsed(1)) return node.Unsupported("a state without elements");
  ValueId padded;
  if (node.HasInput(3) && before > 0) {
    padded = c.Concat({c.In(3), x}, 2);
  } else {
    padded = c.Pad(x, {0, 0, before, 0, 0, 0});
  }
  RETURN_IF_ERROR(c.status());
  if (c.ShapeOf(padded)[2] != shape[2] + before) return node.Invalid("past_state has another size");
  std::vector<ValueId> inputs = {padded, weight};
  if (node.HasInput(2)) inputs.push_back(c.In(2));
  Attributes attributes;
  attributes.Set("strides", Shape{1});
  attributes.Set("pads", Shape{0, 0});
  attributes.Set("dilations", Shape{1});
  attributes.Set("group", shape[1]);
  ValueId y = c.Op("conv", std::move(inputs), std::move(attributes));
  const std::string activation = node.String("activation", "none");
  if (activation == "silu" || activation == "swish") {
    y = c.Op("silu", {y});
  } else if (activation != "none") {
    return node.Invalid(absl::StrCat("activation: got '", activation, "'"));
  }
  c.Output(0, y);
  if (node.OutputUsed(1)) c.Output(1, c.Slice(padded, 2, shape[2], shape[2] + before));
  return c.status();
}

struct LinearState {
  ValueId query, key, value;  // [N, H, T, D]
  ValueId decay = -1;         // [N, H, T, D or 1]
  ValueId beta = -1;          // [N, H or 1, T, 1]
  ValueId state = -1;         // [N, H, D, M]
};

// [N, T, H * D] -> [N, H, T, D]
ValueId ByHead(Composer& c, ValueId x, int64_t heads) {
  const Shape shape = c.ShapeOf(x);
  if (!c.status().ok()) return -1;
  return c.Transpose(c.Reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

absl::Status LinearAttention(OnnxNode& node) {
  Composer c(node);
  const ValueId q = c.In(0), k = c.In(1), v = c.In(2);
  RETURN_IF_ERROR(c.status());
  const int64_t heads = node.Int("q_num_heads", 0), kv = node.Int("kv_num_heads", 0);
  const std::string rule = node.String("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear") {
    return node.Invalid(absl::StrCat("update_rule: got '", rule, "'"));
  }
  if (heads < 1 || kv < 1 || heads % kv != 0 || c.Rank(q) != 3 || c.Rank(k) != 3 ||
      c.Rank(v) != 3 || c.ShapeOf(q)[2] % heads != 0 || c.ShapeOf(k)[2] % kv != 0 ||
      c.ShapeOf(v)[2] % kv != 0 || c.ShapeOf(q)[2] / heads != c.ShapeOf(k)[2] / kv) {
    return node.Invalid("q_num_heads, kv_num_heads and the inputs' sizes disagree");
  }
  const int64_t batch = c.ShapeOf(q)[0], tokens = c.ShapeOf(q)[1];
  // One step of the graph for each token; a model for longer sequences loops over chunks.
  constexpr int64_t kTokensMax = 64;
  if (tokens > kTokensMax) {
    return node.Unsupported(absl::StrCat("got ", tokens, " tokens, want at most ", kTokensMax));
  }
  const int64_t size = c.ShapeOf(q)[2] / heads, width = c.ShapeOf(v)[2] / kv;
  LinearState s{.query = ByHead(c, q, heads), .key = ByHead(c, k, kv), .value = ByHead(c, v, kv)};
  if (node.HasInput(3)) s.state = c.In(3);
  if (gated) {
    const ValueId decay = c.In(4);
    s.decay = c.Op("exp", {ByHead(c, decay, kv)});
  }
  if (delta) {
    const ValueId beta = c.In(5);
    RETURN_IF_ERROR(c.status());
    s.beta = ByHead(c, beta, c.ShapeOf(beta)[2]);
  }
  double scale = node.Float("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(size));
  if (s.state < 0 && c.MayMake({batch, kv, size, width})) {
    s.state = c.Constant(c.DTypeOf(q), {batch, kv, size, width},
                         std::vector<double>(batch * kv * size * width, 0));
  }
  std::vector<ValueId> outputs;
  for (int64_t t = 0; t < tokens; ++t) {
    const ValueId key = c.Reshape(c.Slice(s.key, 2, t, t + 1), {batch, kv, size, 1});
    ValueId value = c.Slice(s.value, 2, t, t + 1);  // [N, H, 1, M]
    if (gated) {
      const ValueId decay = c.Slice(s.decay, 2, t, t + 1);
      RETURN_IF_ERROR(c.status());
      const int64_t each = c.ShapeOf(decay)[3];
      s.state = c.Mul(s.state, c.Reshape(decay, {batch, kv, each, 1}));
    }
    if (delta) {
      const ValueId row = c.Slice(s.key, 2, t, t + 1);  // [N, H, 1, D]
      value = c.Mul(c.Slice(s.beta, 2, t, t + 1), c.Sub(value, c.MatMul(row, s.state)));
    }
    s.state = c.Add(s.state, c.Mul(key, value));
    // A state serves a group of queries.
    const ValueId query = c.Reshape(c.Slice(s.query, 2, t, t + 1), {batch, kv, heads / kv, size});
    const ValueId read = c.Mul(c.MatMul(query, s.state), scale);
    outputs.push_back(c.Reshape(read, {batch, 1, heads * width}));
  }
  c.Output(0, c.Concat(outputs, 1));
  c.Output(1, s.state);
  return c.status();
}

}  // namespace

ValueId EmitRotation(Composer& c, ValueId x, ValueId cosine, ValueId sine, int64_t dim,
                     bool interleaved) {
  const Shape shape = c.ShapeOf(x);
  const int64_t half = dim / 2;
  ValueId real, imaginary;
  if (interleaved) {
    real = c.Slice(x, 3, 0, dim, 2);
    imaginary = c.Slice(x, 3, 1, dim, 2);
  } else {
    real = c.Slice(x, 3, 0, half);
    imaginary = c.Slice(x, 3, half, dim);
  }
  const ValueId turned_real = c.Sub(c.Mul(real, cosine), c.Mul(imaginary, sine));
  const ValueId turned_imaginary = c.Add(c.Mul(real, sine), c.Mul(imaginary, cosine));
  if (!c.status().ok()) return -1;
  ValueId result;
  if (interleaved) {
    const Shape column = {shape[0], shape[1], shape[2], half, 1};
    result = c.Concat({c.Reshape(turned_real, column), c.Reshape(turned_imaginary, column)}, 4);
    result = c.Reshape(result, {shape[0], shape[1], shape[2], dim});
  } else {
    result = c.Concat({turned_real, turned_imaginary}, 3);
  }
  if (dim == shape[3]) return result;
  return c.Concat({result, c.Slice(x, 3, dim, shape[3])}, 3);
}

void AddGatedTranslators(OnnxTranslators& t) {
  t["RMSNormalization"] = RmsNormalization;
  t["MeanVarianceNormalization"] = MeanVarianceNormalization;
  t["LpNormalization"] = LpNormalization;
  t["SwiGLU"] = SwiGlu;
  t["RotaryEmbedding"] = RotaryEmbedding;
  t["com.microsoft.RotaryEmbedding"] = RotaryEmbedding;
  t["CausalConvWithState"] = CausalConvWithState;
  t["LinearAttention"] = LinearAttention;
}

}  // namespace burnish
