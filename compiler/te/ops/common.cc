#include "compiler/te/ops/common.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "base/check.h"

namespace burnish::ops {

std::string ListText(const std::vector<int64_t>& values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

std::string TypeText(const TensorType& type) {
  return absl::StrCat(DTypeName(type.dtype), ListText(type.shape));
}

absl::Status CheckInputCount(Types inputs, size_t least, size_t most) {
  if (inputs.size() >= least && inputs.size() <= most) return absl::OkStatus();
  if (least == most) return Bad("got ", inputs.size(), " inputs, want ", least);
  return Bad("got ", inputs.size(), " inputs, want ", least, " to ", most);
}

absl::Status CheckFloat(const TensorType& type, absl::string_view what) {
  if (IsFloat(type.dtype)) return absl::OkStatus();
  // Nothing is broken: ONNX has some operators for integers that this library has not.
  return absl::UnimplementedError(
      absl::StrCat("got ", TypeText(type), ", want a floating-point type, for ", what));
}

absl::Status CheckNumber(const TensorType& type, absl::string_view what) {
  if (type.dtype != DType::kBool) return absl::OkStatus();
  return Bad("got ", TypeText(type), ", want a number type, for ", what);
}

absl::Status CheckIntegerProduct(Types inputs) {
  RETURN_IF_ERROR(CheckInputCount(inputs, 2, 3));
  for (int i = 0; i < 2; ++i) {
    const DType type = inputs[i].dtype;
    if (type == DType::kBool || IsFloat(type) || SizeBytes(type) > 2) {
      return Bad("got ", TypeText(inputs[i]), ", want i8, u8, i16 or u16, for input ", i);
    }
  }
  if (inputs.size() > 2 && inputs[2].dtype != DType::kI32) {
    return Bad("got ", TypeText(inputs[2]), ", want i32, for the bias");
  }
  return absl::OkStatus();
}

DType SumTypeOf(DType type) { return IsFloat(type) ? type : DType::kI32; }

absl::Status CheckSameDType(Types inputs) {
  for (size_t i = 1; i < inputs.size(); ++i) {
    const bool widens = inputs[i].dtype == ComputeType(inputs[0].dtype);
    if (inputs[i].dtype != inputs[0].dtype && !widens) {
      return Bad("got ", DTypeName(inputs[i].dtype), ", want ", DTypeName(inputs[0].dtype),
                 " as the first input, for input ", i);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNotEmpty(Types inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const int64_t extent : inputs[i].shape) {
      if (extent < 1) {
        return Bad("got ", TypeText(inputs[i]), ", want no empty dimension, for input ", i);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckShape(const TensorType& type, const std::vector<int64_t>& want,
                        absl::string_view what) {
  if (type.shape == want) return absl::OkStatus();
  return Bad("got shape ", ListText(type.shape), ", want ", ListText(want), ", for ", what);
}

absl::StatusOr<std::vector<int64_t>> IntsAttribute(const Attributes& attributes,
                                                   const std::string& name, size_t count,
                                                   int64_t fallback, int64_t least) {
  const std::vector<int64_t> values = attributes.Ints(name, std::vector<int64_t>(count, fallback));
  if (values.size() != count) {
    return Bad("got ", name, "=", ListText(values), ", want ", count, " values");
  }
  for (const int64_t value : values) {
    if (value < least || value > (int64_t{1} << 31)) {
      return Bad("got ", name, "=", ListText(values), ", want each >= ", least,
                 " and at most 2^31");
    }
  }
  return values;
}

absl::StatusOr<int> CheckAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return Bad("got axis=", axis, ", want ", -rank, " to ", rank - 1);
  }
  return NormalizeAxis(axis, rank);
}

absl::StatusOr<std::vector<int64_t>> BroadcastShapes(const std::vector<int64_t>& a,
                                                     const std::vector<int64_t>& b) {
  const size_t rank = std::max(a.size(), b.size());
  std::vector<int64_t> out(rank);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t x = d + a.size() < rank ? 1 : a[d + a.size() - rank];
    const int64_t y = d + b.size() < rank ? 1 : b[d + b.size() - rank];
    if (x != y && x != 1 && y != 1) {
      return Bad("got shapes ", ListText(a), " and ", ListText(b),
                 ", want dimensions that are equal or 1, counted from the last");
    }
    out[d] = x == 1 ? y : x;
  }
  return out;
}

Expr AtBroadcast(const Tensor& t, const Indices& out) {
  CHECK_GE(out.size(), t.type.shape.size());
  Indices indices;
  for (int d = 0; d < t.rank(); ++d) {
    indices.push_back(t.dim(d) == 1 ? Int(0) : out[out.size() - t.type.shape.size() + d]);
  }
  return t(indices);
}

Expr Number(double value, DType dtype) {
  return IsFloat(dtype) ? Float(value, dtype) : Int(static_cast<int64_t>(value), dtype);
}

Tensor PadWith(TeBuilder& te, const std::string& name, const Tensor& t,
               const std::vector<std::pair<int64_t, int64_t>>& pads, const Expr& value,
               std::vector<std::string> axis_names) {
  TensorType type = t.type;
  bool padded = false;
  for (int d = 0; d < t.rank(); ++d) {
    type.shape[d] += pads[d].first + pads[d].second;
    padded = padded || pads[d].first != 0 || pads[d].second != 0;
  }
  if (!padded) return t;
  const auto at = [&](const Indices& i) {
    Expr inside = Bool(true);
    Indices source;
    for (int d = 0; d < t.rank(); ++d) {
      const auto [below, above] = pads[d];
      source.push_back(i[d] - below);
      if (below > 0) inside = And(inside, Le(Int(0), source[d]));
      if (above > 0) inside = And(inside, Lt(source[d], Int(t.dim(d))));
    }
    return Select(inside, t(source), value);
  };
  return te.Compute(name, type, at, std::move(axis_names));
}

namespace {

int64_t OperationCount(const Expr& e) {
  if (e == nullptr) return 0;
  switch (e->kind) {
    case ExprKind::kLoad:  // Index arithmetic is not counted.
    case ExprKind::kTable:
    case ExprKind::kBoundsCheck:
    case ExprKind::kIntImm:
    case ExprKind::kFloatImm:
    case ExprKind::kVar:
    case ExprKind::kSelf:
      return 0;
    case ExprKind::kSelect: {
      int64_t cost = OperationCount(e->operands[1]) + OperationCount(e->operands[2]);
      VisitExpr(e->operands[0],
                [&](const ExprNode& node) { cost += node.kind == ExprKind::kLoad; });
      return cost;
    }
    default:
      break;
  }
  int64_t count = e->kind == ExprKind::kCast ? 0 : 1;
  for (const Expr& operand : e->operands) count += OperationCount(operand);
  return count;
}

}  // namespace

int64_t CountOperations(const Program& program) {
  int64_t count = 0;
  for (const Block& block : program.blocks) {
    int64_t elements = 1;
    int64_t points = 1;
    for (const VarId axis : block.spatial) elements *= program.vars[axis].extent->int_value;
    for (const VarId axis : block.reduction) points *= program.vars[axis].extent->int_value;
    const int64_t combine = block.reduction.empty() ? 0 : 1;
    count +=
        elements * (points * (OperationCount(block.step) + combine) + OperationCount(block.finish));
  }
  return count;
}

}  // namespace burnish::ops
