#include "compiler/frontend/onnx_attention.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "third_party/onnx.pb.h"

namespace burnish {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The mask of ONNX's Attention: bool or added, of any rank, and padded where it has too few keys.
absl::Status ReadMask(OnnxNode& node, Composer& c, ValueId mask, int64_t keys,
                      AttentionParts& parts) {
  const Shape shape = c.ShapeOf(mask);
  if (shape.empty() || shape.size() > 4 || shape.back() > keys) {
    return node.Invalid(absl::StrCat("attn_mask: want 1 to 4 dimensions, the last at most ", keys));
  }
  const bool is_bool = c.DTypeOf(mask) == DType::kBool;
  Shape pads(2 * shape.size(), 0);
  pads.back() = keys - shape.back();
  if (is_bool) {
    parts.allowed = EmitBoth(c, parts.allowed, c.Pad(mask, pads));
  } else {
    parts.bias = c.Cast(c.Pad(mask, pads, -kInfinity), c.DTypeOf(parts.query));
  }
  parts.may_be_empty = true;
  return absl::OkStatus();
}

absl::StatusOr<AttentionParts> ReadQkv(OnnxNode& node, Composer& c) {
  AttentionParts parts{.query = c.In(0), .key = c.In(1), .value = c.In(2)};
  RETURN_IF_ERROR(c.status());
  if (c.Rank(parts.query) == 3) {
    const int64_t heads = node.Int("q_num_heads", 0), kv = node.Int("kv_num_heads", 0);
    ASSIGN_OR_RETURN(parts.query, SplitHeads(node, c, parts.query, heads));
    ASSIGN_OR_RETURN(parts.key, SplitHeads(node, c, parts.key, kv));
    ASSIGN_OR_RETURN(parts.value, SplitHeads(node, c, parts.value, kv));
  }
  return parts;
}

absl::Status Attention(OnnxNode& node) {
  Composer c(node);
  ASSIGN_OR_RETURN(AttentionParts parts, ReadQkv(node, c));
  const bool flat = c.Rank(c.In(0)) == 3;
  ValueId offset = c.Ints({}, {0});
  if (node.HasInput(4) != node.HasInput(5)) return node.Invalid("one of past_key and past_value");
  if (node.HasInput(4)) {
    const ValueId past_key = c.In(4);
    parts.key = c.Concat({past_key, parts.key}, 2);
    parts.value = c.Concat({c.In(5), parts.value}, 2);
    RETURN_IF_ERROR(c.status());
    if (c.Rank(past_key) == 4) offset = c.Ints({}, {c.ShapeOf(past_key)[2]});
  }
  RETURN_IF_ERROR(CheckAttention(node, c, parts));
  const int64_t batch = c.ShapeOf(parts.query)[0];
  const int64_t queries = c.ShapeOf(parts.query)[2], keys = c.ShapeOf(parts.key)[2];
  if (node.HasInput(6)) {
    if (node.HasInput(4)) return node.Invalid("nonpad_kv_seqlen beside past_key");
    const ValueId lengths = c.Cast(c.In(6), DType::kI64);
    RETURN_IF_ERROR(c.status());
    if (c.ShapeOf(lengths) != Shape{batch}) return node.Invalid("nonpad_kv_seqlen: want [batch]");
    const ValueId column = c.Reshape(lengths, {batch, 1, 1, 1});
    parts.allowed = c.Op("less", {c.Iota(0, keys), column});
    parts.may_be_empty = true;
    offset = c.Sub(column, c.Ints({}, {queries}));
  }
  const AttentionWindow window = {.causal = node.Int("is_causal", 0) != 0,
                                  .left = node.Int("left_window_size", -1),
                                  .right = node.Int("right_window_size", -1)};
  if (window.limits()) {
    parts.allowed = EmitBoth(c, parts.allowed, EmitWindow(c, queries, keys, offset, window));
    // With fewer keys than queries in a window the last ones see none.
    parts.may_be_empty = parts.may_be_empty || window.left >= 0;
  }
  if (node.HasInput(3)) RETURN_IF_ERROR(ReadMask(node, c, c.In(3), keys, parts));
  parts.scale = node.Float("scale", 0);
  parts.softcap = node.Float("softcap", 0);
  parts.softmax_type = c.DTypeOf(parts.query);
  if (node.Int("softmax_precision", 1) == onnx::TensorProto::DOUBLE) {
    parts.softmax_type = DType::kF64;
  }
  const AttentionResult result = EmitAttention(c, parts);
  c.Output(0, flat ? JoinHeads(c, result.output) : result.output);
  c.Output(1, parts.key);
  c.Output(2, parts.value);
  const ValueId exposed[] = {result.scores, result.capped, result.biased, result.probabilities};
  const int64_t mode = node.Int("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return node.Invalid(absl::StrCat("qk_matmul_output_mode ", mode));
  if (node.OutputUsed(3)) c.Output(3, exposed[mode]);
  return c.status();
}

// A graph of one input and one output, of the same type.
std::function<ValueId(ValueId)> Modifier(OnnxNode& node, Composer& c, const char* name) {
  const onnx::AttributeProto* attribute = node.Find(name);
  if (attribute == nullptr) return nullptr;
  return [&node, &c, attribute](ValueId x) -> ValueId {
    if (!c.status().ok()) return -1;
    absl::StatusOr<std::vector<ValueId>> outputs = node.InlineGraph(attribute->g(), {x});
    if (outputs.ok() && (outputs->size() != 1 || c.ShapeOf((*outputs)[0]) != c.ShapeOf(x))) {
      outputs = node.Invalid("score_mod and prob_mod have one output of their input's shape");
    }
    c.Fail(outputs.status());
    return outputs.ok() ? (*outputs)[0] : -1;
  };
}

absl::Status FlexAttention(OnnxNode& node) {
  Composer c(node);
  AttentionParts parts{.query = c.In(0), .key = c.In(1), .value = c.In(2)};
  RETURN_IF_ERROR(CheckAttention(node, c, parts));
  parts.scale = node.Float("scale", 0);
  parts.softmax_type = c.DTypeOf(parts.query);
  if (node.Int("softmax_precision", 1) == onnx::TensorProto::DOUBLE) {
    parts.softmax_type = DType::kF64;
  }
  parts.score_mod = Modifier(node, c, "score_mod");
  parts.probability_mod = Modifier(node, c, "prob_mod");
  c.Output(0, EmitAttention(c, parts).output);
  return c.status();
}

}  // namespace

absl::StatusOr<ValueId> SplitHeads(const OnnxNode& node, Composer& c, ValueId x, int64_t heads) {
  RETURN_IF_ERROR(c.status());
  const Shape shape = c.ShapeOf(x);
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0) {
    return node.Invalid(
        absl::StrCat("want inputs [batch, sequence, heads * size]; got ", heads, " heads"));
  }
  const ValueId split = c.Reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  return c.Transpose(split, {0, 2, 1, 3});
}

ValueId JoinHeads(Composer& c, ValueId x) {
  const ValueId moved = c.Transpose(x, {0, 2, 1, 3});
  if (!c.status().ok()) return -1;
  const Shape shape = c.ShapeOf(moved);
  return c.Reshape(moved, {shape[0], shape[1], shape[2] * shape[3]});
}

ValueId EmitWindow(Composer& c, int64_t queries, int64_t keys, ValueId offset,
                   const AttentionWindow& window) {
  const ValueId rows = c.Reshape(c.Iota(0, queries), {queries, 1});
  // How far a key lies before the query's position.
  const ValueId distance = c.Sub(c.Add(rows, offset), c.Iota(0, keys));
  ValueId allowed = -1;
  const int64_t right = window.causal ? 0 : window.right;
  if (right >= 0) {
    allowed = c.Op("greater_equal", {distance, c.Ints({}, {-right})});
  }
  if (window.left >= 0) {
    allowed = EmitBoth(c, allowed, c.Op("less_equal", {distance, c.Ints({}, {window.left})}));
  }
  return allowed;
}

ValueId EmitBoth(Composer& c, ValueId allowed, ValueId also) {
  return allowed < 0 ? also : also < 0 ? allowed : c.And(allowed, also);
}

absl::Status CheckAttention(const OnnxNode& node, const Composer& c, const AttentionParts& parts) {
  RETURN_IF_ERROR(c.status());
  const Shape q = c.ShapeOf(parts.query), k = c.ShapeOf(parts.key), v = c.ShapeOf(parts.value);
  const bool fits = q.size() == 4 && k.size() == 4 && v.size() == 4 && q[0] == k[0] &&
                    q[0] == v[0] && k[1] == v[1] && q[1] % k[1] == 0 && q[3] == k[3] &&
                    k[2] == v[2] && IsFloat(c.DTypeOf(parts.query));
  if (fits) return absl::OkStatus();
  return node.Invalid("query, key and value disagree in batch, heads, sequence or size");
}

AttentionResult EmitAttention(Composer& c, const AttentionParts& parts) {
  const Shape q = c.ShapeOf(parts.query), k = c.ShapeOf(parts.key), v = c.ShapeOf(parts.value);
  if (!c.status().ok()) return {};
  const DType dtype = c.DTypeOf(parts.query);
  const int64_t group = q[1] / k[1];
  const Shape all = {q[0], q[1], q[2], k[2]};
  // Queries that share a key are rows of one product: no key is repeated.
  const Shape grouped = {q[0], k[1], group * q[2], k[2]};
  AttentionResult result;
  const ValueId rows = c.Reshape(parts.query, {q[0], k[1], group * q[2], q[3]});
  const ValueId products = c.MatMul(rows, c.Transpose(parts.key, {0, 1, 3, 2}));
  const double scale = parts.scale != 0 ? parts.scale : 1 / std::sqrt(static_cast<double>(q[3]));
  result.scores = c.Reshape(c.Mul(products, scale), all);
  result.capped = result.scores;
  if (parts.softcap > 0) {
    const ValueId tanh = c.Op("tanh", {c.Div(result.scores, parts.softcap)});
    result.capped = c.Mul(tanh, parts.softcap);
  }
  ValueId scores = result.capped;
  if (parts.bias >= 0) scores = c.Add(scores, parts.bias);
  if (parts.allowed >= 0) scores = c.Where(parts.allowed, scores, c.Number(dtype, -kInfinity));
  result.biased = scores;
  ValueId empty = -1;
  if (parts.may_be_empty) {
    // Of the mask alone. Scores of such a row become 0, so that the softmax has no NaN.
    ValueId mask = parts.bias >= 0 ? parts.bias : c.Number(dtype, 0);
    if (parts.allowed >= 0) mask = c.Where(parts.allowed, mask, c.Number(dtype, -kInfinity));
    if (!c.status().ok()) return {};
    const ValueId best = c.Reduce("reduce_max", mask, {c.Rank(mask) - 1});
    empty = c.Equal(best, -kInfinity);
    scores = c.Where(empty, c.Number(dtype, 0), scores);
  }
  scores = c.Cast(scores, parts.softmax_type);
  if (parts.score_mod) scores = parts.score_mod(scores);
  ValueId probabilities = c.Softmax(scores, 3);
  if (parts.probability_mod) probabilities = parts.probability_mod(probabilities);
  probabilities = c.Cast(probabilities, dtype);
  const ValueId weighted = c.MatMul(c.Reshape(probabilities, grouped), parts.value);
  result.output = c.Reshape(weighted, {q[0], q[1], q[2], v[3]});
  result.probabilities = probabilities;
  if (empty >= 0) {
    const ValueId zero = c.Number(dtype, 0);
    result.output = c.Where(empty, zero, result.output);
    result.probabilities = c.Where(empty, zero, probabilities);
  }
  return result;
}

void AddAttentionTranslators(OnnxTranslators& t) {
  t["Attention"] = Attention;
  t["ai.onnx.preview.FlexAttention"] = FlexAttention;
}

}  // namespace burnish
