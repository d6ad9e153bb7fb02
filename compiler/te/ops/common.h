// What the operator families share: checks that read well, broadcasting, axes, padding.
#ifndef COMPILER_TE_OPS_COMMON_H_
#define COMPILER_TE_OPS_COMMON_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "compiler/te/builder.h"
#include "compiler/te/operator.h"

namespace burnish::ops {

using Types = absl::Span<const TensorType>;
using Tensors = absl::Span<const Tensor>;
using InferResult = absl::StatusOr<std::vector<TensorType>>;

// "f32[1,3,224,224]".
std::string TypeText(const TensorType& type);
std::string ListText(const std::vector<int64_t>& values);

// INVALID_ARGUMENT of the joined parts.
template <typename... Parts>
absl::Status Bad(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// ---- Checks for infer. `want` and `what` are words for the message.
absl::Status CheckInputCount(Types inputs, size_t least, size_t most);
absl::Status CheckFloat(const TensorType& type, absl::string_view what);
absl::Status CheckNumber(const TensorType& type, absl::string_view what);  // Not bool.
// Two factors of 8 or 16 bits, whose types may differ, and perhaps a bias of 32.
absl::Status CheckIntegerProduct(Types inputs);
// What products of `type` are added up in: i32 for integers.
DType SumTypeOf(DType type);
// Every input has the dtype of the first, or what that is computed in: a bias may be f32 where
// weights are bf16. The result is stored as the first input is.
absl::Status CheckSameDType(Types inputs);
// Every dimension of every input is at least 1.
absl::Status CheckNotEmpty(Types inputs);
absl::Status CheckShape(const TensorType& type, const std::vector<int64_t>& want,
                        absl::string_view what);
// An attribute with one value a dimension, each at least `least`.
absl::StatusOr<std::vector<int64_t>> IntsAttribute(const Attributes& attributes,
                                                   const std::string& name, size_t count,
                                                   int64_t fallback, int64_t least);
// `axis` in [-rank, rank) to [0, rank).
absl::StatusOr<int> CheckAxis(int64_t axis, int rank);
inline int NormalizeAxis(int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// ---- Broadcasting (numpy's rule: dimensions are matched from the last one).
absl::StatusOr<std::vector<int64_t>> BroadcastShapes(const std::vector<int64_t>& a,
                                                     const std::vector<int64_t>& b);
// The element of `t` that belongs to the element `out` of the broadcast result.
Expr AtBroadcast(const Tensor& t, const Indices& out);

// ---- Values.
Expr Number(double value, DType dtype);  // Truncated for integers.
// A block where needed: `t` with `pads[d]` more elements below and above, holding `value`.
// `axis_names`: one a dimension, or empty.
Tensor PadWith(TeBuilder& te, const std::string& name, const Tensor& t,
               const std::vector<std::pair<int64_t, int64_t>>& pads, const Expr& value,
               std::vector<std::string> axis_names);

// ---- Rows of a family's table.

// Arithmetic operations of a definition: (step + combine) for each point of a block's domain and
// finish for each of its elements.
int64_t CountOperations(const Program& program);

// OperatorDef::flop_count that counts what `define` adds.
template <auto define>
int64_t FlopsOf(const Attributes& attributes, Types types) {
  TeBuilder te("flops");
  std::vector<Tensor> inputs;
  for (const TensorType& type : types) {
    inputs.push_back(te.Parameter("x", type, BufferRole::kInput));
  }
  int i = 0;
  for (const Tensor& t : define(te, attributes, inputs)) te.Output(absl::StrCat("y", i++), t);
  return CountOperations(te.Build());
}

// A row whose operations are counted from its definition.
template <auto infer, auto define>
OperatorDef Row(OpId id, FusionKind fusion, LayoutRule layout, OperatorTraits traits = {}) {
  return {id, fusion, layout, std::move(traits), infer, define, &FlopsOf<define>};
}

}  // namespace burnish::ops

#endif  // COMPILER_TE_OPS_COMMON_H_
