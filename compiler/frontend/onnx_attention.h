// Scaled dot-product attention, which ONNX and ONNX Runtime have under several names.
// Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_ONNX_ATTENTION_H_
#define COMPILER_FRONTEND_ONNX_ATTENTION_H_

#include <functional>

#include "compiler/frontend/onnx_compose.h"

namespace burnish {

// What query i may see of the keys, in positions: those of a block of queries begin at `offset`.
struct AttentionWindow {
  bool causal = false;
  int64_t left = -1;   // Keys before the query's own position; -1: all.
  int64_t right = -1;  // Keys behind it.
  bool limits() const { return causal || left >= 0 || right >= 0; }
};

struct AttentionParts {
  ValueId query = -1;    // [N, H, S, D]
  ValueId key = -1;      // [N, G, T, D]; G divides H.
  ValueId value = -1;    // [N, G, T, M]
  ValueId bias = -1;     // Added to the scores; broadcasts to [N, H, S, T]. Or -1.
  ValueId allowed = -1;  // Bool, the same. Or -1: all keys.
  double scale = 0;      // 0: 1 / sqrt(D).
  double softcap = 0;    // 0: none.
  // Whether no key may be left for a query, whose result is then 0.
  bool may_be_empty = false;
  DType softmax_type = DType::kF32;
  // Of FlexAttention: change scores before, probabilities behind the softmax.
  std::function<ValueId(ValueId)> score_mod, probability_mod;
};

struct AttentionResult {
  ValueId output = -1;  // [N, H, S, M]
  // [N, H, S, T]: as multiplied, behind the cap, behind the bias, behind the softmax.
  ValueId scores = -1, capped = -1, biased = -1, probabilities = -1;
};

// Bool [S, T], or [N, 1, S, T] where the offset differs by batch. `offset`: i64, a scalar or
// [N, 1, 1, 1].
ValueId EmitWindow(Composer& c, int64_t queries, int64_t keys, ValueId offset,
                   const AttentionWindow& window);
// Both, where both are there.
ValueId EmitBoth(Composer& c, ValueId allowed, ValueId also);

// Extents must have been checked by CheckAttention.
AttentionResult EmitAttention(Composer& c, const AttentionParts& parts);
absl::Status CheckAttention(const OnnxNode& node, const Composer& c, const AttentionParts& parts);

// [N, S, H * D] -> [N, H, S, D] and back. INVALID_ARGUMENT where `heads` does not divide.
absl::StatusOr<ValueId> SplitHeads(const OnnxNode& node, Composer& c, ValueId x, int64_t heads);
ValueId JoinHeads(Composer& c, ValueId x);

// x [N, S, H, D], the first `dim` of D rotated by angles whose cosines and sines are [N or 1, S, 1,
// dim / 2].
ValueId EmitRotation(Composer& c, ValueId x, ValueId cosine, ValueId sine, int64_t dim,
                     bool interleaved);

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_ATTENTION_H_
