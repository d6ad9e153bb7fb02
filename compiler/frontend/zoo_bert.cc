// Source: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language
// Understanding", NAACL 2019, the base model; without padding, so no attention mask.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "compiler/frontend/zoo_builder.h"

namespace burnish {
namespace {

constexpr int64_t kHidden = 768;
constexpr int64_t kHeads = 12;
constexpr int64_t kHeadSize = kHidden / kHeads;
constexpr int64_t kIntermediate = 3072;
constexpr int64_t kVocabulary = 30522;
constexpr int kLayers = 12;

ValueId Embeddings(ZooBuilder& b, ValueId ids) {
  const int64_t sequence = b.dim(ids, 1);
  Attributes axis;
  axis.Set("axis", int64_t{0});
  const ValueId table = b.Normal("embeddings.word", {kVocabulary, kHidden}, 0.02);
  const ValueId words = b.Op("gather", {table, ids}, std::move(axis));
  const ValueId typed = b.Op("add", {words, b.Normal("embeddings.type", {kHidden}, 0.02)});
  const ValueId positions = b.Normal("embeddings.position", {1, sequence, kHidden}, 0.02);
  return b.LayerNorm(b.Op("add", {typed, positions}), "embeddings.norm");
}

// [batch, sequence, hidden] -> [batch, heads, sequence, head size], or with the two last swapped.
ValueId Heads(ZooBuilder& b, ValueId x, const std::string& name, std::vector<int64_t> perm) {
  const ValueId projected = b.Linear(x, name, kHidden);
  const ValueId split = b.Reshape(projected, {b.dim(x, 0), b.dim(x, 1), kHeads, kHeadSize});
  return b.Transpose(split, std::move(perm));
}

ValueId Attention(ZooBuilder& b, ValueId x, const std::string& name) {
  const ValueId query = Heads(b, x, name + ".query", {0, 2, 1, 3});
  const ValueId key = Heads(b, x, name + ".key", {0, 2, 3, 1});
  const ValueId value = Heads(b, x, name + ".value", {0, 2, 1, 3});
  const ValueId scores = b.Op(
      "div", {b.Op("matmul", {query, key}), b.Scalar(std::sqrt(static_cast<double>(kHeadSize)))});
  Attributes axis;
  axis.Set("axis", int64_t{3});
  const ValueId weights = b.Op("softmax", {scores}, std::move(axis));
  const ValueId context = b.Transpose(b.Op("matmul", {weights, value}), {0, 2, 1, 3});
  return b.Linear(b.Reshape(context, b.shape(x)), name + ".output", kHidden);
}

ValueId Layer(ZooBuilder& b, ValueId x, const std::string& name) {
  const ValueId attended =
      b.LayerNorm(b.Op("add", {Attention(b, x, name + ".attention"), x}), name + ".norm1");
  Attributes exact;
  exact.Set("approximate", std::string("none"));
  const ValueId wide =
      b.Op("gelu", {b.Linear(attended, name + ".intermediate", kIntermediate)}, std::move(exact));
  const ValueId narrow = b.Linear(wide, name + ".output", kHidden);
  return b.LayerNorm(b.Op("add", {narrow, attended}), name + ".norm2");
}

// The first token's state through a dense layer and tanh.
ValueId Pooler(ZooBuilder& b, ValueId x) {
  Attributes first;
  first.Set("starts", std::vector<int64_t>{0});
  first.Set("ends", std::vector<int64_t>{1});
  first.Set("axes", std::vector<int64_t>{1});
  first.Set("steps", std::vector<int64_t>{1});
  const ValueId token = b.Op("slice", {x}, std::move(first));
  return b.Op("tanh", {b.Dense(b.Reshape(token, {b.dim(x, 0), kHidden}), "pooler", kHidden)});
}

}  // namespace

Graph BuildBertBase(const ZooOptions& options) {
  ZooBuilder b("bert_base", options);
  const ValueId ids = b.Input("input_ids", {DType::kI64, {options.batch, options.sequence}});
  ValueId x = Embeddings(b, ids);
  for (int layer = 0; layer < kLayers; ++layer) x = Layer(b, x, absl::StrCat("layer", layer));
  b.Output(x, "last_hidden_state");
  b.Output(Pooler(b, x), "pooler_output");
  return b.Take();
}

}  // namespace burnish
