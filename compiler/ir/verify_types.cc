// Rules on one expression: ids, operand counts, ranks and types.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/expr_kinds.h"
#include "compiler/ir/verify_rules.h"

namespace burnish {
namespace {

template <typename... Parts>
absl::Status Broken(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

bool IsBool(const Expr& e) { return e->dtype == DType::kBool; }

class ExprVerifier {
 public:
  ExprVerifier(const Program& program, std::optional<DType> self_type)
      : program_(program), self_type_(self_type) {}

  absl::Status Check(const Expr& e) {
    if (e == nullptr) return Broken("a missing operand");
    // Operands first: from here on none is missing, and each has a type that fits its own operands.
    for (const Expr& operand : e->operands) RETURN_IF_ERROR(Check(operand));
    const size_t count = e->operands.size();
    switch (e->kind) {
      case ExprKind::kIntImm:
        if (IsFloat(e->dtype)) return Broken("an integer constant of type ", DTypeName(e->dtype));
        return Count(count, 0);
      case ExprKind::kFloatImm:
        if (!IsFloat(e->dtype)) return Broken("a float constant of type ", DTypeName(e->dtype));
        return Count(count, 0);
      case ExprKind::kVar:
        if (e->id < 0 || e->id >= static_cast<VarId>(program_.vars.size())) {
          return Broken("got variable ", e->id, ", want one of ", program_.vars.size());
        }
        RETURN_IF_ERROR(Count(count, 0));
        return Type(*e, DType::kI64, "a variable");
      case ExprKind::kSelf:
        if (!self_type_.has_value()) return Broken("self outside of a finish");
        RETURN_IF_ERROR(Count(count, 0));
        return Type(*e, *self_type_, "self");
      case ExprKind::kSelect:
        RETURN_IF_ERROR(Count(count, 3));
        if (!IsBool(e->operands[0])) return Broken("a condition that is not bool");
        RETURN_IF_ERROR(Type(*e->operands[2], e->operands[1]->dtype, "a branch"));
        return Type(*e, e->operands[1]->dtype, "a selection");
      case ExprKind::kLoad:
        return CheckLoad(*e);
      case ExprKind::kTable:
        return CheckTable(*e);
      case ExprKind::kBoundsCheck:
        RETURN_IF_ERROR(Count(count, 2));
        for (const Expr& operand : e->operands) {
          RETURN_IF_ERROR(Type(*operand, DType::kI64, "an operand of bounds_check"));
        }
        return Type(*e, DType::kI64, "bounds_check");
      default:
        return IsUnary(e->kind) ? CheckUnary(*e) : CheckBinary(*e);
    }
  }

 private:
  static absl::Status Count(size_t got, size_t want) {
    if (got == want) return absl::OkStatus();
    return Broken("got ", got, " operands, want ", want);
  }
  static absl::Status Type(const ExprNode& e, DType want, const char* what) {
    if (e.dtype == want) return absl::OkStatus();
    return Broken(what, " of type ", DTypeName(e.dtype), ", want ", DTypeName(want));
  }

  absl::Status CheckIndices(const ExprNode& e, size_t rank, absl::string_view of) {
    if (e.operands.size() != rank) {
      return Broken("got ", e.operands.size(), " indices of ", of, ", want ", rank);
    }
    for (const Expr& index : e.operands) RETURN_IF_ERROR(Type(*index, DType::kI64, "an index"));
    return absl::OkStatus();
  }

  absl::Status CheckLoad(const ExprNode& e) {
    if (e.id < 0 || e.id >= static_cast<BufferId>(program_.buffers.size())) {
      return Broken("got buffer ", e.id, ", want one of ", program_.buffers.size());
    }
    const Buffer& buffer = program_.buffers[e.id];
    RETURN_IF_ERROR(CheckIndices(e, buffer.shape.size(), buffer.name));
    return Type(e, buffer.dtype, "a load");
  }

  absl::Status CheckTable(const ExprNode& e) {
    if (e.table == nullptr) return Broken("a missing table");
    if (IsStorageFloat(e.table->dtype)) {
      return Broken("a table of type ", DTypeName(e.table->dtype));
    }
    size_t count = 1;
    for (const int64_t extent : e.table->shape) {
      if (extent < 1 || extent > int64_t{1} << 20) return Broken("a table of extent ", extent);
      count *= static_cast<size_t>(extent);
      // Before the product can overflow. No table has so many values: the parser takes 2^16.
      if (count > size_t{1} << 20) break;
    }
    if (count != e.table->values.size()) {
      return Broken("a table of ", e.table->values.size(), " values, want ", count);
    }
    RETURN_IF_ERROR(CheckIndices(e, e.table->shape.size(), "a table"));
    return Type(e, e.table->dtype, "a table's value");
  }

  absl::Status CheckUnary(const ExprNode& e) {
    RETURN_IF_ERROR(Count(e.operands.size(), 1));
    if (e.kind == ExprKind::kCast) return CheckCast(e);
    return CheckTypes(e);
  }

  static absl::Status CheckCast(const ExprNode& e) {
    const DType from = e.operands[0]->dtype;
    const bool allowed = IsStorageFloat(e.dtype) ? from == DType::kF32
                                                 : !IsStorageFloat(from) || e.dtype == DType::kF32;
    if (allowed) return absl::OkStatus();
    return Broken("a cast from ", DTypeName(from), " to ", DTypeName(e.dtype),
                  ", want one by way of f32");
  }

  absl::Status CheckBinary(const ExprNode& e) {
    if (!IsBinary(e.kind)) return Broken("an unknown kind of expression");
    RETURN_IF_ERROR(Count(e.operands.size(), 2));
    RETURN_IF_ERROR(Type(*e.operands[1], e.operands[0]->dtype, "an operand"));
    return CheckTypes(e);
  }

  absl::Status CheckTypes(const ExprNode& e) {
    const ExprKindInfo& info = InfoOf(e.kind);
    const DType operand = e.operands[0]->dtype;
    const char* want = nullptr;
    if (IsStorageFloat(operand)) {
      return Broken("arithmetic on ", DTypeName(operand), ", want it in f32");
    }
    switch (info.operands) {
      case OperandTypes::kAny:
      case OperandTypes::kValues:
        break;
      case OperandTypes::kNumbers:
        if (operand == DType::kBool) want = "a number";
        break;
      case OperandTypes::kFloats:
        if (!IsFloat(operand)) want = "a float";
        break;
      case OperandTypes::kIntegers:
        if (IsFloat(operand) || operand == DType::kBool) want = "an integer";
        break;
      case OperandTypes::kBools:
        if (operand != DType::kBool) want = "bool";
        break;
    }
    if (want != nullptr) {
      return Broken("an operand of type ", DTypeName(operand), ", want ", want);
    }
    return Type(e, info.gives_bool ? DType::kBool : operand, "an operation");
  }

  const Program& program_;
  const std::optional<DType> self_type_;
};

}  // namespace

absl::Status VerifyExpr(const Program& program, const Expr& e, std::optional<DType> self_type) {
  return ExprVerifier(program, self_type).Check(e);
}

}  // namespace burnish
