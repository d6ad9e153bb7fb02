// ONNX Runtime's own operators (com.microsoft), as its optimiser and the exporters of Hugging Face
// write them. Their meaning: onnxruntime/docs/ContribOperators.md; what its kernels do where that
// leaves a choice.
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx_attention.h"
#include "compiler/frontend/onnx_quantized.h"

namespace burnish {
namespace {

// ---- Activations.

ValueId EmitGelu(Composer& c, ValueId x, const char* approximate) {
  Attributes attributes;
  attributes.Set("approximate", std::string(approximate));
  return c.Op("gelu", {x}, std::move(attributes));
}

OnnxTranslator GeluOf(const char* approximate) {
  return [approximate](OnnxNode& node) -> absl::Status {
    Composer c(node);
    ValueId x = c.In(0);
    if (node.HasInput(1)) x = c.Add(x, c.In(1));  // FastGelu, BiasGelu.
    c.Output(0, EmitGelu(c, x, approximate));
    return c.status();
  };
}

absl::Status QuickGelu(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0);
  const ValueId gate = c.Op("sigmoid", {c.Mul(x, node.Float("alpha", 1.702f))});
  c.Output(0, c.Mul(x, gate));
  return c.status();
}

absl::Status FusedMatMul(OnnxNode& node) {
  Composer c(node);
  ValueId operands[] = {c.In(0), c.In(1)};
  RETURN_IF_ERROR(c.status());
  if (node.Int("transBatchA", 0) != 0 || node.Int("transBatchB", 0) != 0) {
    return node.Unsupported("transBatchA and transBatchB");
  }
  const char* const names[] = {"transA", "transB"};
  for (int i = 0; i < 2; ++i) {
    const int64_t rank = c.Rank(operands[i]);
    if (node.Int(names[i], 0) == 0 || rank < 2) continue;  // Ignored for vectors.
    Shape perm;
    for (int64_t d = 0; d < rank; ++d) perm.push_back(d);
    std::swap(perm[rank - 1], perm[rank - 2]);
    operands[i] = c.Transpose(operands[i], perm);
  }
  const ValueId product = c.MatMul(operands[0], operands[1]);
  const double alpha = node.Float("alpha", 1.0);
  c.Output(0, alpha == 1 ? product : c.Mul(product, alpha));
  return c.status();
}

// ---- Normalisations with what stands before them.

ValueId EmitNorm(Composer& c, ValueId x, ValueId gamma, ValueId beta, double epsilon,
                 bool simplified) {
  const int64_t last = c.Rank(x) - 1;
  if (!c.status().ok()) return -1;
  if (simplified) {
    const ValueId mean = c.Reduce("reduce_mean", c.Mul(x, x), {last});
    const ValueId root = c.Op("sqrt", {c.Add(mean, epsilon)});
    return c.Mul(c.Mul(x, c.Op("reciprocal", {root})), gamma);
  }
  Attributes attributes;
  attributes.Set("axis", last);
  attributes.Set("epsilon", epsilon);
  std::vector<ValueId> inputs = {x, gamma};
  if (beta >= 0) inputs.push_back(beta);
  return c.Op("layer_norm", std::move(inputs), std::move(attributes));
}

OnnxTranslator SkipNorm(bool simplified) {
  return [simplified](OnnxNode& node) -> absl::Status {
    Composer c(node);
    ValueId sum = c.Add(c.In(0), c.In(1));
    const int bias_at = simplified ? 3 : 4;
    if (node.HasInput(bias_at)) sum = c.Add(sum, c.In(bias_at));
    const ValueId beta = !simplified && node.HasInput(3) ? c.In(3) : -1;
    c.Output(0, EmitNorm(c, sum, c.In(2), beta, node.Float("epsilon", 1e-12f), simplified));
    c.Output(3, sum);  // Mean and deviation are outputs of training.
    return c.status();
  };
}

// In ONNX's own domain, though ONNX has it not.
absl::Status SimplifiedLayerNormalization(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0), scale = c.In(1);
  RETURN_IF_ERROR(c.status());
  ASSIGN_OR_RETURN(const int64_t axis, NormalizeAxis(node, node.Int("axis", -1), c.Rank(x)));
  if (axis != c.Rank(x) - 1) return node.Unsupported("an axis that is not the last");
  c.Output(0, EmitNorm(c, x, scale, -1, node.Float("epsilon", 1e-5f), true));
  return c.status();
}

absl::Status EmbedLayerNormalization(OnnxNode& node) {
  Composer c(node);
  const ValueId ids = c.In(0);
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(ids);
  if (shape.size() != 2) return node.Invalid("want input_ids [batch, sequence]");
  const ValueId positions = node.HasInput(8) ? c.In(8) : c.Iota(0, shape[1]);
  ValueId sum = c.Add(c.Gather(c.In(2), ids, 0), c.Gather(c.In(3), positions, 0));
  if (node.HasInput(1)) sum = c.Add(sum, c.Gather(c.In(4), c.In(1), 0));
  c.Output(0, EmitNorm(c, sum, c.In(5), c.In(6), node.Float("epsilon", 1e-12f), false));
  if (node.OutputUsed(1)) {
    if (!node.HasInput(7)) return node.Unsupported("output mask_index without a mask");
    c.Output(1, c.Reduce("reduce_sum", c.Cast(c.In(7), DType::kI32), {1}, false));
  }
  c.Output(2, sum);
  return c.status();
}

// ---- Attention.

// A mask of 0 and 1 as what is added: [N] lengths, [N, T] or [N, S, T].
absl::StatusOr<ValueId> EmitMask(const OnnxNode& node, Composer& c, ValueId mask, double filter,
                                 const Shape& scores, DType dtype) {
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(mask);
  const int64_t batch = scores[0], queries = scores[2], keys = scores[3];
  ValueId kept;
  if (shape == Shape{batch}) {
    const ValueId lengths = c.Reshape(c.Cast(mask, DType::kI64), {batch, 1, 1, 1});
    kept = c.Op("less", {c.Iota(0, keys), lengths});
  } else if (shape == Shape{batch, keys}) {
    kept = c.Cast(c.Reshape(mask, {batch, 1, 1, keys}), DType::kBool);
  } else if (shape == Shape{batch, queries, keys}) {
    kept = c.Cast(c.Reshape(mask, {batch, 1, queries, keys}), DType::kBool);
  } else {
    return node.Unsupported("a mask that is not [batch], [batch, keys] or [batch, queries, keys]");
  }
  return c.Where(kept, c.Number(dtype, 0), c.Number(dtype, filter));
}

// What Attention and MultiHeadAttention share behind their products. `mask_at`, `bias_at`: inputs.
absl::StatusOr<ValueId> EmitMasked(OnnxNode& node, Composer& c, AttentionParts parts, int mask_at,
                                   int bias_at, int64_t past) {
  RETURN_IF_ERROR(CheckAttention(node, c, parts));
  const Shape q = c.ShapeOf(parts.query);
  const int64_t keys = c.ShapeOf(parts.key)[2];
  const DType dtype = c.DTypeOf(parts.query);
  parts.softmax_type = dtype;
  parts.scale = node.Float("scale", 0);
  if (node.HasInput(bias_at)) parts.bias = c.In(bias_at);
  if (node.HasInput(mask_at)) {
    ASSIGN_OR_RETURN(const ValueId mask,
                     EmitMask(node, c, c.In(mask_at), node.Float("mask_filter_value", -10000.0),
                              {q[0], q[1], q[2], keys}, dtype));
    parts.bias = parts.bias < 0 ? mask : c.Add(parts.bias, mask);
  }
  if (node.Int("unidirectional", 0) != 0) {
    parts.allowed = EmitWindow(c, q[2], keys, c.Ints({}, {past}), {.causal = true});
  }
  return JoinHeads(c, EmitAttention(c, parts).output);
}

// Where an attention has its inputs; beyond the last: it has none.
struct AttentionInputs {
  int mask, past, added;
};

absl::Status AttentionOf(OnnxNode& node, Composer& c, ValueId x, ValueId weights,
                         const AttentionInputs& at) {
  if (node.Int("do_rotary", 0) != 0 || node.Int("past_present_share_buffer", 0) != 0) {
    return node.Unsupported("do_rotary or past_present_share_buffer");
  }
  if (c.Rank(x) != 3 || c.Rank(weights) != 2) return node.Invalid("want [N, S, C] and [C, 3 * D]");
  ValueId joined = c.MatMul(x, weights);
  if (node.HasInput(2)) joined = c.Add(joined, c.In(2));
  const int64_t total = c.ShapeOf(weights)[1];
  const Shape sizes = node.Ints("qkv_hidden_sizes", {total / 3, total / 3, total / 3});
  if (sizes.size() != 3 || sizes[0] < 1 || sizes[1] != sizes[0] || sizes[2] < 1 ||
      sizes[0] > total || sizes[2] > total || 2 * sizes[0] + sizes[2] != total) {
    return node.Invalid("qkv_hidden_sizes and the weights disagree");
  }
  const int64_t heads = node.Int("num_heads", 0);
  AttentionParts parts;
  ValueId* const to[] = {&parts.query, &parts.key, &parts.value};
  int64_t from = 0;
  for (int i = 0; i < 3; ++i) {
    const ValueId part = c.Slice(joined, 2, from, from + sizes[i]);
    ASSIGN_OR_RETURN(*to[i], SplitHeads(node, c, part, heads));
    from += sizes[i];
  }
  int64_t past = 0;
  if (node.HasInput(at.past)) {
    const ValueId both = c.In(at.past);  // [2, N, H, P, D]
    RETURN_IF_ERROR(c.status());
    const Shape shape = c.ShapeOf(both);
    if (shape.size() != 5 || shape[0] != 2) return node.Invalid("past: want [2, N, H, P, D]");
    past = shape[3];
    const Shape one(shape.begin() + 1, shape.end());
    parts.key = c.Concat({c.Reshape(c.Slice(both, 0, 0, 1), one), parts.key}, 2);
    parts.value = c.Concat({c.Reshape(c.Slice(both, 0, 1, 2), one), parts.value}, 2);
  }
  ASSIGN_OR_RETURN(const ValueId y, EmitMasked(node, c, parts, at.mask, at.added, past));
  c.Output(0, y);
  if (node.OutputUsed(1)) {
    Shape one = c.ShapeOf(parts.key);
    one.insert(one.begin(), 1);
    c.Output(1, c.Concat({c.Reshape(parts.key, one), c.Reshape(parts.value, one)}, 0));
  }
  return c.status();
}

absl::Status Attention(OnnxNode& node) {
  Composer c(node);
  const ValueId x = c.In(0), weights = c.In(1);
  RETURN_IF_ERROR(c.status());
  return AttentionOf(node, c, x, weights, {.mask = 3, .past = 4, .added = 5});
}

// x, weights, bias, their scales, mask, their zero points, past. Only the first product is of
// quantized numbers.
absl::Status QAttention(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(const ValueId x, EmitDequantized(node, c, 0, {.scale = 3, .zero = 6}));
  ASSIGN_OR_RETURN(const ValueId weights,
                   EmitDequantized(node, c, 1, {.scale = 4, .zero = 7, .axis = 1}));
  return AttentionOf(node, c, x, weights, {.mask = 5, .past = 8, .added = 9});
}

absl::Status MultiHeadAttention(OnnxNode& node) {
  Composer c(node);
  if (!node.HasInput(1) || !node.HasInput(2)) return node.Unsupported("packed keys and values");
  if (node.HasInput(8) || node.HasInput(9)) return node.Unsupported("a shared buffer of the past");
  AttentionParts parts{.query = c.In(0), .key = c.In(1), .value = c.In(2)};
  RETURN_IF_ERROR(c.status());
  const int64_t heads = node.Int("num_heads", 0);
  if (c.Rank(parts.query) != 3) return node.Unsupported("packed queries");
  if (node.HasInput(3)) {  // Of queries, keys and values one after another.
    const ValueId bias = c.In(3);
    RETURN_IF_ERROR(c.status());
    if (c.Rank(parts.key) != 3 || c.Rank(parts.value) != 3) {
      return node.Unsupported("bias beside keys by head");
    }
    const int64_t size = c.ShapeOf(parts.query)[2], width = c.ShapeOf(parts.value)[2];
    if (c.ShapeOf(bias) != Shape{2 * size + width}) return node.Invalid("bias has another size");
    parts.query = c.Add(parts.query, c.Slice(bias, 0, 0, size));
    parts.key = c.Add(parts.key, c.Slice(bias, 0, size, 2 * size));
    parts.value = c.Add(parts.value, c.Slice(bias, 0, 2 * size, 2 * size + width));
  }
  for (ValueId* part : {&parts.query, &parts.key, &parts.value}) {
    if (c.Rank(*part) == 4) continue;  // By head already: of the encoder.
    ASSIGN_OR_RETURN(*part, SplitHeads(node, c, *part, heads));
  }
  int64_t past = 0;
  if (node.HasInput(6) && node.HasInput(7)) {
    const ValueId past_key = c.In(6);
    RETURN_IF_ERROR(c.status());
    if (c.Rank(past_key) != 4) return node.Invalid("past_key: want [N, H, P, D]");
    past = c.ShapeOf(past_key)[2];
    parts.key = c.Concat({past_key, parts.key}, 2);
    parts.value = c.Concat({c.In(7), parts.value}, 2);
  }
  ASSIGN_OR_RETURN(const ValueId y, EmitMasked(node, c, parts, 4, 5, past));
  c.Output(0, y);
  c.Output(1, parts.key);
  c.Output(2, parts.value);
  return c.status();
}

// Rotated by the angles of positions past, past + 1, ..
absl::StatusOr<ValueId> RotatedHeads(OnnxNode& node, Composer& c, ValueId x, int64_t past) {
  const ValueId cosine = c.In(7), sine = c.In(8);
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(x), angles = c.ShapeOf(cosine);  // [N, H, S, D]
  if (angles.size() != 2 || c.ShapeOf(sine) != angles || 2 * angles[1] > shape[3]) {
    return node.Invalid("cos_cache and sin_cache: want [positions, size / 2]");
  }
  ValueId at = c.Iota(past, shape[2]);
  Shape wide = {1, shape[2], 1, angles[1]};
  if (node.HasInput(9)) {
    at = c.In(9);
    wide[0] = shape[0];
  }
  const bool interleaved = node.Int("rotary_interleaved", 0) != 0;
  const ValueId turned =
      EmitRotation(c, c.Transpose(x, {0, 2, 1, 3}), c.Reshape(c.Gather(cosine, at, 0), wide),
                   c.Reshape(c.Gather(sine, at, 0), wide), 2 * angles[1], interleaved);
  return c.Transpose(turned, {0, 2, 1, 3});
}

absl::Status GroupQueryAttention(OnnxNode& node) {
  Composer c(node);
  if (!node.HasInput(1) || !node.HasInput(2)) return node.Unsupported("packed keys and values");
  if (node.Int("smooth_softmax", 0) > 0 || node.Int("qk_output", 0) != 0 ||
      node.Int("sliding_window_cache", 0) != 0 || node.Int("kv_cache_bit_width", 0) != 0) {
    return node.Unsupported("smooth_softmax, qk_output, or a cache that slides or is quantized");
  }
  for (int i = 11; i < node.input_count(); ++i) {
    if (node.HasInput(i)) return node.Unsupported(absl::StrCat("input ", i));
  }
  const int64_t heads = node.Int("num_heads", 0), kv = node.Int("kv_num_heads", 0);
  AttentionParts parts;
  ASSIGN_OR_RETURN(parts.query, SplitHeads(node, c, c.In(0), heads));
  ASSIGN_OR_RETURN(parts.key, SplitHeads(node, c, c.In(1), kv));
  ASSIGN_OR_RETURN(parts.value, SplitHeads(node, c, c.In(2), kv));
  const int64_t queries = c.ShapeOf(parts.query)[2];
  int64_t past = 0;
  if (node.HasInput(3)) {
    if (c.Rank(c.In(3)) != 4) return node.Invalid("past_key: want [N, H, P, D]");
    past = c.ShapeOf(c.In(3))[2];
  }
  // Where the new keys go depends on these; a past that is full has one place for them.
  ASSIGN_OR_RETURN(const std::vector<int64_t> last, node.ConstantInts(5, "seqlens_k"));
  for (const int64_t at : last) {
    if (at + 1 == past + queries) continue;
    return node.Unsupported(absl::StrCat("seqlens_k ", at, " with a past of ", past, " and ",
                                         queries, " new tokens, want ", past + queries - 1));
  }
  if (node.Int("do_rotary", 0) != 0) {
    ASSIGN_OR_RETURN(parts.query, RotatedHeads(node, c, parts.query, past));
    ASSIGN_OR_RETURN(parts.key, RotatedHeads(node, c, parts.key, past));
  }
  if (past > 0) {
    parts.key = c.Concat({c.In(3), parts.key}, 2);
    parts.value = c.Concat({c.In(4), parts.value}, 2);
  }
  RETURN_IF_ERROR(CheckAttention(node, c, parts));
  const int64_t window = node.Int("local_window_size", -1);
  // ONNX Runtime's window counts the query's own position.
  const AttentionWindow seen = {.causal = node.Int("causal", 1) != 0,
                                .left = window > 0 ? window - 1 : -1};
  if (seen.limits()) {
    parts.allowed = EmitWindow(c, queries, past + queries, c.Ints({}, {past}), seen);
  }
  if (node.HasInput(10)) parts.bias = c.In(10);
  parts.scale = node.Float("scale", 0);
  parts.softcap = node.Float("softcap", 0);
  parts.softmax_type = c.DTypeOf(parts.query);
  c.Output(0, JoinHeads(c, EmitAttention(c, parts).output));
  c.Output(1, parts.key);
  c.Output(2, parts.value);
  return c.status();
}

}  // namespace

void AddMicrosoftTranslators(OnnxTranslators& t) {
  t["com.microsoft.Gelu"] = GeluOf("none");
  t["com.microsoft.BiasGelu"] = GeluOf("none");
  t["com.microsoft.FastGelu"] = GeluOf("tanh");
  t["com.microsoft.QuickGelu"] = QuickGelu;
  t["com.microsoft.FusedMatMul"] = FusedMatMul;
  t["com.microsoft.SkipLayerNormalization"] = SkipNorm(false);
  t["com.microsoft.SkipSimplifiedLayerNormalization"] = SkipNorm(true);
  t["SimplifiedLayerNormalization"] = SimplifiedLayerNormalization;
  t["com.microsoft.EmbedLayerNormalization"] = EmbedLayerNormalization;
  t["com.microsoft.Attention"] = Attention;
  t["com.microsoft.QAttention"] = QAttention;
  t["com.microsoft.MultiHeadAttention"] = MultiHeadAttention;
  t["com.microsoft.GroupQueryAttention"] = GroupQueryAttention;
}

}  // namespace burnish
