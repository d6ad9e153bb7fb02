// Chains of operators that read like the formula: what ONNX has as one operator and the library has
// as several. Internal to compiler/frontend.
#ifndef COMPILER_FRONTEND_ONNX_COMPOSE_H_
#define COMPILER_FRONTEND_ONNX_COMPOSE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/onnx_import_context.h"

namespace burnish {

using Shape = std::vector<int64_t>;

// Of a constant that a translator makes by itself: a mask of 8,192 x 8,192 positions. Sizes are the
// model's, and a few bytes of it may ask for any amount.
inline constexpr int64_t kMadeElementsMax = int64_t{1} << 26;

// Adds operators to the node's graph. The first error is kept: calls after it do nothing and return
// -1, whose shape has every dimension that a caller may ask for, of 1.
class Composer {
 public:
  explicit Composer(OnnxNode& node) : node_(&node) {}

  absl::Status status() const { return status_; }
  // A copy: the next operator moves the graph's values.
  Shape ShapeOf(ValueId id) const;
  int64_t Rank(ValueId id) const { return static_cast<int64_t>(ShapeOf(id).size()); }
  DType DTypeOf(ValueId id) const;
  bool IsConstant(ValueId id) const;

  ValueId In(int i);  // An input that must be there.
  ValueId Op(absl::string_view op, std::vector<ValueId> inputs, Attributes attributes = {});
  ValueId Add(ValueId a, ValueId b) { return Op("add", {a, b}); }
  ValueId Sub(ValueId a, ValueId b) { return Op("sub", {a, b}); }
  ValueId Mul(ValueId a, ValueId b) { return Op("mul", {a, b}); }
  ValueId Div(ValueId a, ValueId b) { return Op("div", {a, b}); }
  ValueId Where(ValueId c, ValueId a, ValueId b) { return Op("where", {c, a, b}); }
  ValueId MatMul(ValueId a, ValueId b) { return Op("matmul", {a, b}); }
  // With a number of the other operand's type.
  ValueId Add(ValueId a, double b) { return Add(a, NumberLike(a, b)); }
  ValueId Sub(ValueId a, double b) { return Sub(a, NumberLike(a, b)); }
  ValueId Mul(ValueId a, double b) { return Mul(a, NumberLike(a, b)); }
  ValueId Div(ValueId a, double b) { return Div(a, NumberLike(a, b)); }
  ValueId Max(ValueId a, double b) { return Op("max", {a, NumberLike(a, b)}); }
  ValueId Min(ValueId a, double b) { return Op("min", {a, NumberLike(a, b)}); }
  ValueId Less(ValueId a, double b) { return Op("less", {a, NumberLike(a, b)}); }
  ValueId Equal(ValueId a, double b) { return Op("equal", {a, NumberLike(a, b)}); }
  ValueId And(ValueId a, ValueId b) { return Op("and", {a, b}); }

  ValueId Number(DType dtype, double value);
  ValueId NumberLike(ValueId like, double value) { return Number(DTypeOf(like), value); }
  ValueId Constant(DType dtype, Shape shape, const std::vector<double>& values);
  ValueId Ints(Shape shape, const std::vector<int64_t>& values);
  // RESOURCE_EXHAUSTED, kept, for more elements than kMadeElementsMax. Whoever fills a list of as
  // many numbers asks first.
  bool MayMake(const Shape& shape);
  // first, first + 1, .. (count numbers) as i64.
  ValueId Iota(int64_t first, int64_t count);

  ValueId Cast(ValueId x, DType to);
  ValueId Reshape(ValueId x, Shape shape);
  ValueId Transpose(ValueId x, Shape perm);
  ValueId Expand(ValueId x, Shape shape);
  // A list of one tensor is that tensor.
  ValueId Concat(const std::vector<ValueId>& parts, int64_t axis);
  // Elements [start, end) of one axis, every step-th.
  ValueId Slice(ValueId x, int64_t axis, int64_t start, int64_t end, int64_t step = 1);
  // `op`: "reduce_sum" ..
  ValueId Reduce(absl::string_view op, ValueId x, Shape axes, bool keep_dims = true);
  ValueId Softmax(ValueId x, int64_t axis, absl::string_view op = "softmax");
  ValueId Gather(ValueId x, ValueId indices, int64_t axis);
  // Zeros, or `value`, around x: [begin.., end..].
  ValueId Pad(ValueId x, Shape pads, double value = 0);

  // The value, or -1 and the error.
  ValueId Kept(absl::StatusOr<ValueId> id);
  void Fail(absl::Status status) { status_.Update(std::move(status)); }
  // Makes the value output i of the node.
  void Output(int i, ValueId id);

 private:
  OnnxNode* node_;
  absl::Status status_;
};

}  // namespace burnish

#endif  // COMPILER_FRONTEND_ONNX_COMPOSE_H_
