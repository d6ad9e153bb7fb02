#include "compiler/codegen/llvm/expr_emitter.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/llvm/math_emitter.h"
#include "compiler/codegen/llvm/memory_emitter.h"
#include "compiler/codegen/llvm/small_float_emitter.h"
#include "compiler/codegen/llvm/table_emitter.h"
#include "compiler/ir/access.h"
#include "compiler/runtime/kernel_abi.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"

namespace burnish {
namespace {

llvm::Type* LikeShape(llvm::Type* scalar, llvm::Type* shape) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape);
  return vector == nullptr ? scalar : llvm::FixedVectorType::get(scalar, vector->getNumElements());
}

// The constant that all lanes hold; null where there is none.
template <typename Constant>
const Constant* SplatConstant(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant != nullptr && constant->getType()->isVectorTy())
    constant = constant->getSplatValue();
  return llvm::dyn_cast_or_null<Constant>(constant);
}

bool IsFloatValue(const llvm::Value* value, double want) {
  const llvm::ConstantFP* constant = SplatConstant<llvm::ConstantFP>(value);
  return constant != nullptr && constant->isExactlyValue(want);
}

// Evaluating `e` may touch memory or record an error.
bool NeedsMask(const Expr& e) {
  bool needs = false;
  VisitExpr(e, [&](const ExprNode& node) {
    needs = needs || node.kind == ExprKind::kLoad || node.kind == ExprKind::kTable ||
            node.kind == ExprKind::kBoundsCheck || node.kind == ExprKind::kDiv ||
            node.kind == ExprKind::kFloorDiv || node.kind == ExprKind::kMod;
  });
  return needs;
}

}  // namespace

ExprEmitter::ExprEmitter(EmitState& state)
    : state_(state), memory_(std::make_unique<MemoryEmitter>(state, *this)) {}
ExprEmitter::~ExprEmitter() = default;

llvm::Type* ExprEmitter::ScalarType(DType type) {
  llvm::IRBuilderBase& b = *state_.builder;
  switch (type) {
    case DType::kF32:
      return b.getFloatTy();
    case DType::kF64:
      return b.getDoubleTy();
    case DType::kBool:
      return b.getInt1Ty();
    default:
      return b.getIntNTy(static_cast<unsigned>(SizeBytes(type)) * 8);
  }
}

llvm::Value* ExprEmitter::ToVector(llvm::Value* value) {
  if (value->getType()->isVectorTy() || state_.lanes == 1) return value;
  return state_.builder->CreateVectorSplat(static_cast<unsigned>(state_.lanes), value);
}

void ExprEmitter::Unify(llvm::Value*& a, llvm::Value*& b) {
  if (a->getType()->isVectorTy() == b->getType()->isVectorTy()) return;
  a = ToVector(a);
  b = ToVector(b);
}

llvm::Value* ExprEmitter::AnyLane(llvm::Value* condition) {
  if (!condition->getType()->isVectorTy()) return condition;
  return state_.builder->CreateOrReduce(condition);
}

void ExprEmitter::RecordError(llvm::Value* bad, int code) {
  llvm::IRBuilderBase& b = *state_.builder;
  if (state_.mask != nullptr) {
    llvm::Value* mask = state_.mask;
    Unify(bad, mask);
    bad = b.CreateAnd(bad, mask);
  }
  bad = AnyLane(bad);
  llvm::Value* const old = b.CreateLoad(b.getInt32Ty(), state_.error_flag);
  // The first error stays. The flag is an alloca, so that SROA makes it a value, and code without
  // data errors pays nothing for it.
  llvm::Value* const first = b.CreateAnd(bad, b.CreateICmpEQ(old, b.getInt32(0)));
  b.CreateStore(b.CreateSelect(first, b.getInt32(static_cast<uint32_t>(code)), old),
                state_.error_flag);
}

llvm::Value* ExprEmitter::Emit(const Expr& e) {
  llvm::Type* const type = ScalarType(e->dtype);
  switch (e->kind) {
    case ExprKind::kIntImm:
      return llvm::ConstantInt::get(type, static_cast<uint64_t>(e->int_value), true);
    case ExprKind::kFloatImm:
      if (e->dtype == DType::kBf16) {
        return llvm::ConstantInt::get(type, Bfloat16(static_cast<float>(e->float_value)).bits);
      }
      if (e->dtype == DType::kF16) {
        return llvm::ConstantInt::get(type, Float16(static_cast<float>(e->float_value)).bits);
      }
      return llvm::ConstantFP::get(type, e->float_value);
    case ExprKind::kVar:
      return EmitVar(e->id);
    case ExprKind::kSelect:
      return EmitSelect(e);
    case ExprKind::kLoad:
      return memory_->Load(e);
    case ExprKind::kTable:
      return EmitTable(e);
    case ExprKind::kBoundsCheck:
      return EmitBoundsCheck(e);
    case ExprKind::kSelf:
      state_.Fail("a lowered program has no finish expressions");
      return llvm::UndefValue::get(type);
    case ExprKind::kCast:
      return EmitCast(Emit(e->operands[0]), e->operands[0]->dtype, e->dtype);
    default:
      break;
  }
  // Lane by lane, variables have other values for a moment.
  const bool looks = in_statement_ && !state_.single_lane;
  const std::optional<uint64_t> key = looks ? FunctionValues::KeyOf(*e) : std::nullopt;
  if (!key.has_value()) return EmitAnew(e);
  llvm::Value* const mask = state_.mask;
  if (llvm::Value* const known = function_values_.Find(*key, e, mask)) return known;
  llvm::Value* const value = EmitAnew(e);
  function_values_.Keep(*key, e, mask, value);
  return value;
}

llvm::Value* ExprEmitter::EmitStatement(const Expr& e) {
  const bool outer = std::exchange(in_statement_, true);
  llvm::Value* const value = Emit(e);
  in_statement_ = outer;
  if (!outer) function_values_.Clear();
  return value;
}

llvm::Value* ExprEmitter::EmitAnew(const Expr& e) {
  llvm::Type* const type = ScalarType(e->dtype);
  llvm::Value* const value = IsUnary(e->kind) ? EmitUnary(e) : EmitBinary(e);
  if (value != nullptr) return value;
  state_.Fail(absl::StrCat("operation number ", static_cast<int>(e->kind), " on ",
                           std::string(DTypeName(e->operands[0]->dtype)), " is not supported"));
  return llvm::UndefValue::get(type);
}

llvm::Value* ExprEmitter::EmitVar(VarId var) {
  llvm::IRBuilderBase& b = *state_.builder;
  const VarBinding& binding = state_.vars[var];
  if (!binding.bound) {
    state_.Fail(absl::StrCat("variable ", state_.program->vars[var].name, " outside its loop"));
    return b.getInt64(0);
  }
  llvm::Value* const first = binding.value != nullptr
                                 ? binding.value
                                 : b.getInt64(static_cast<uint64_t>(binding.constant));
  if (var != state_.vector_var || state_.lanes == 1) return first;
  std::vector<uint64_t> steps;
  for (int lane = 0; lane < state_.lanes; ++lane) steps.push_back(static_cast<uint64_t>(lane));
  return b.CreateAdd(ToVector(first), llvm::ConstantDataVector::get(b.getContext(), steps));
}

llvm::Value* ExprEmitter::EmitUnary(const Expr& e) {
  llvm::IRBuilderBase& b = *state_.builder;
  const DType type = e->operands[0]->dtype;
  const bool is_float = IsFloat(type);
  llvm::Value* const x = Emit(e->operands[0]);
  llvm::Value* const zero = llvm::Constant::getNullValue(x->getType());
  const auto one = [&](int64_t v) -> llvm::Value* {
    return is_float ? llvm::ConstantFP::get(x->getType(), static_cast<double>(v))
                    : llvm::ConstantInt::get(x->getType(), static_cast<uint64_t>(v), true);
  };
  switch (e->kind) {
    case ExprKind::kNeg:
      return is_float ? b.CreateFNeg(x) : b.CreateNeg(x);
    case ExprKind::kAbs:
      if (is_float) return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
      if (IsUnsigned(type)) return x;
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse());
    case ExprKind::kNot:
      return b.CreateNot(x);
    case ExprKind::kIsNan:
      return is_float ? b.CreateFCmpUNO(x, x)
                      : llvm::Constant::getNullValue(LikeShape(b.getInt1Ty(), x->getType()));
    case ExprKind::kSign:
      if (is_float) {  // Zeros and NaN stay what they are.
        return b.CreateSelect(b.CreateFCmpOGT(x, zero), one(1),
                              b.CreateSelect(b.CreateFCmpOLT(x, zero), one(-1), x));
      }
      if (IsUnsigned(type)) return b.CreateSelect(b.CreateICmpNE(x, zero), one(1), zero);
      return b.CreateSelect(b.CreateICmpSGT(x, zero), one(1),
                            b.CreateSelect(b.CreateICmpSLT(x, zero), one(-1), zero));
    default:
      break;
  }
  if (!is_float) {
    const bool rounds =
        e->kind == ExprKind::kFloor || e->kind == ExprKind::kCeil || e->kind == ExprKind::kRound;
    return rounds ? x : nullptr;
  }
  switch (e->kind) {
    case ExprKind::kSqrt:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    case ExprKind::kFloor:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
    case ExprKind::kCeil:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, x);
    case ExprKind::kRound:  // Half to even.
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, x);
    default:
      return EmitMath(b, state_.math, e->kind, x);
  }
}

llvm::Value* ExprEmitter::EmitCast(llvm::Value* value, DType from, DType to) {
  llvm::IRBuilderBase& b = *state_.builder;
  llvm::Type* const type = LikeShape(ScalarType(to), value->getType());
  if (from == to) return value;
  if (IsStorageFloat(from)) return WidenFloat(b, state_.small_floats, from, value);
  if (IsStorageFloat(to)) return NarrowFloat(b, state_.small_floats, to, value);
  if (to == DType::kBool) {
    llvm::Value* const zero = llvm::Constant::getNullValue(value->getType());
    return IsFloat(from) ? b.CreateFCmpUNE(value, zero) : b.CreateICmpNE(value, zero);
  }
  if (IsFloat(from)) {
    if (IsFloat(to)) return b.CreateFPCast(value, type);
    // Through a wide type, so that narrow ones wrap; frozen, so that what does not fit even there
    // is some number and not undefined behaviour. Signed where that is wide enough: it is one
    // instruction.
    const bool needs_64 = SizeBytes(to) == 8 || to == DType::kU32;
    llvm::Type* const wide = LikeShape(needs_64 ? b.getInt64Ty() : b.getInt32Ty(), type);
    llvm::Value* const whole =
        to == DType::kU64 ? b.CreateFPToUI(value, wide) : b.CreateFPToSI(value, wide);
    return b.CreateTrunc(b.CreateFreeze(whole), type);
  }
  if (IsFloat(to)) {
    return IsUnsigned(from) ? b.CreateUIToFP(value, type) : b.CreateSIToFP(value, type);
  }
  return IsUnsigned(from) ? b.CreateZExtOrTrunc(value, type) : b.CreateSExtOrTrunc(value, type);
}

llvm::Value* ExprEmitter::EmitBinary(const Expr& e) {
  llvm::IRBuilderBase& b = *state_.builder;
  // GELU is 0.5 x (1 + erf(x / sqrt 2)): for negative x the sum cancels, and its own polynomial has
  // no subtraction to lose digits in.
  if (const OnePlusErf sum = OnePlusErfOf(e); sum.x != nullptr) {
    return EmitOnePlusErf(b, state_.math, Emit(sum.x), sum.times_root_half);
  }
  llvm::Value* x = Emit(e->operands[0]);
  llvm::Value* y = Emit(e->operands[1]);
  // Transforms' matrices are mostly 0, 1 and -1: fold before a splat is made of the other operand.
  if (IsFloat(e->dtype) && state_.folds_zeros) {
    const bool zero_x = IsFloatValue(x, 0), zero_y = IsFloatValue(y, 0);
    if (e->kind == ExprKind::kMul && (zero_x || zero_y)) return zero_x ? x : y;
    if (e->kind == ExprKind::kAdd && zero_x) return y;
    if ((e->kind == ExprKind::kAdd || e->kind == ExprKind::kSub) && zero_y) return x;
  }
  Unify(x, y);
  switch (e->kind) {
    case ExprKind::kAnd:
      return b.CreateAnd(x, y);
    case ExprKind::kOr:
      return b.CreateOr(x, y);
    case ExprKind::kLt:
    case ExprKind::kLe:
    case ExprKind::kEq:
    case ExprKind::kNe:
      return EmitCompare(e->kind, e->operands[0]->dtype, x, y);
    case ExprKind::kMin:
    case ExprKind::kMax:
      return EmitMinMax(e->kind == ExprKind::kMax, e->dtype, x, y);
    default:
      return EmitArithmetic(e, x, y);
  }
}

llvm::Value* ExprEmitter::EmitArithmetic(const Expr& e, llvm::Value* x, llvm::Value* y) {
  llvm::IRBuilderBase& b = *state_.builder;
  if (!IsFloat(e->dtype)) {
    switch (e->kind) {
      case ExprKind::kAdd:
        return b.CreateAdd(x, y);
      case ExprKind::kSub:
        return b.CreateSub(x, y);
      case ExprKind::kMul:
        return b.CreateMul(x, y);
      case ExprKind::kDiv:
      case ExprKind::kFloorDiv:
      case ExprKind::kMod:
        return EmitIntegerDivision(e, x, y);
      default:
        return nullptr;
    }
  }
  switch (e->kind) {
    case ExprKind::kAdd:
      return b.CreateFAdd(x, y);
    case ExprKind::kSub:
      return b.CreateFSub(x, y);
    case ExprKind::kMul:
      return b.CreateFMul(x, y);
    case ExprKind::kDiv:
      return b.CreateFDiv(x, y);
    case ExprKind::kFloorDiv:
      return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b.CreateFDiv(x, y));
    case ExprKind::kMod:
      return EmitFmod(b, x, y);
    case ExprKind::kPow:
      return EmitPow(b, state_.math, x, y);
    default:
      return nullptr;
  }
}

llvm::Value* ExprEmitter::EmitCompare(ExprKind kind, DType type, llvm::Value* x, llvm::Value* y) {
  llvm::IRBuilderBase& b = *state_.builder;
  using Predicate = llvm::CmpInst::Predicate;
  if (IsFloat(type)) {
    const Predicate predicate = kind == ExprKind::kLt   ? Predicate::FCMP_OLT
                                : kind == ExprKind::kLe ? Predicate::FCMP_OLE
                                : kind == ExprKind::kEq ? Predicate::FCMP_OEQ
                                                        : Predicate::FCMP_UNE;
    return b.CreateFCmp(predicate, x, y);
  }
  if (kind == ExprKind::kEq) return b.CreateICmpEQ(x, y);
  if (kind == ExprKind::kNe) return b.CreateICmpNE(x, y);
  const bool less = kind == ExprKind::kLt;
  if (IsUnsigned(type)) return less ? b.CreateICmpULT(x, y) : b.CreateICmpULE(x, y);
  return less ? b.CreateICmpSLT(x, y) : b.CreateICmpSLE(x, y);
}

// NaN if an operand is NaN. x86's min and max give the second operand where the comparison is
// unordered, so a constant other than NaN comes first and costs nothing; else both orders are
// taken, see below.
llvm::Value* ExprEmitter::EmitMinMax(bool is_max, DType type, llvm::Value* x, llvm::Value* y) {
  llvm::IRBuilderBase& b = *state_.builder;
  if (!IsFloat(type)) {
    const auto id = IsUnsigned(type) ? (is_max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin)
                                     : (is_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin);
    return b.CreateBinaryIntrinsic(id, x, y);
  }
  // first > second ? first : second, which is second when unordered.
  const auto pick = [&](llvm::Value* first, llvm::Value* second) {
    llvm::Value* const better =
        is_max ? b.CreateFCmpOGT(first, second) : b.CreateFCmpOLT(first, second);
    return b.CreateSelect(better, first, second);
  };
  const llvm::ConstantFP* const cx = SplatConstant<llvm::ConstantFP>(x);
  const llvm::ConstantFP* const cy = SplatConstant<llvm::ConstantFP>(y);
  if (cx != nullptr && !cx->isNaN()) return pick(x, y);
  if (cy != nullptr && !cy->isNaN()) return pick(y, x);
  // Both orders give the same number, or one of them the NaN: its bits win. Three instructions
  // without a mask, where a compare and a select would stand in the chain of a maximum.
  llvm::Type* const bits =
      LikeShape(b.getIntNTy(x->getType()->getScalarSizeInBits()), x->getType());
  return b.CreateBitCast(
      b.CreateOr(b.CreateBitCast(pick(x, y), bits), b.CreateBitCast(pick(y, x), bits)),
      x->getType());
}

llvm::Value* ExprEmitter::EmitIntegerDivision(const Expr& e, llvm::Value* x, llvm::Value* y) {
  llvm::IRBuilderBase& b = *state_.builder;
  llvm::Type* const type = x->getType();
  const bool remainder = e->kind == ExprKind::kMod;
  const auto number = [&](int64_t v) {
    return llvm::ConstantInt::get(type, static_cast<uint64_t>(v), true);
  };
  if (e->dtype == DType::kI64) {
    const auto range = RangeOf(e->operands[0], state_.Ranges());
    const auto divisor = RangeOf(e->operands[1], state_.Ranges());
    if (range.has_value() && range->min >= 0 && divisor.has_value() && divisor->min > 0) {
      // Index arithmetic. 32 bits suffice nearly always, and multiply faster than 64.
      constexpr int64_t k32Bits = int64_t{1} << 31;
      const bool narrow = range->max < k32Bits && divisor->max < k32Bits;
      llvm::Type* const used = narrow ? LikeShape(b.getInt32Ty(), type) : type;
      llvm::Value* const a = b.CreateTrunc(x, used);
      llvm::Value* const d = b.CreateTrunc(y, used);
      return b.CreateZExt(remainder ? b.CreateURem(a, d) : b.CreateUDiv(a, d), type);
    }
  }
  llvm::Value* divisor = y;
  llvm::Value* minus_one = nullptr;
  const auto* const constant = SplatConstant<llvm::ConstantInt>(y);
  if (constant == nullptr || constant->isZero() || constant->isMinusOne()) {
    // Division by zero is a data error; the least integer by -1 would trap.
    llvm::Value* const zero = b.CreateICmpEQ(y, number(0));
    RecordError(zero, BURNISH_KERNEL_DIVISION_BY_ZERO);
    divisor = b.CreateSelect(zero, number(1), y);
    if (!IsUnsigned(e->dtype)) {
      minus_one = b.CreateICmpEQ(y, number(-1));
      divisor = b.CreateSelect(minus_one, number(1), divisor);
    }
  }
  if (IsUnsigned(e->dtype)) {
    return remainder ? b.CreateURem(x, divisor) : b.CreateUDiv(x, divisor);
  }
  llvm::Value* const quotient = b.CreateSDiv(x, divisor);
  llvm::Value* result = quotient;
  if (e->kind != ExprKind::kDiv) {
    llvm::Value* const rest = b.CreateSub(x, b.CreateMul(quotient, divisor));
    // Rounded toward zero and not down: the rest has the other sign than the divisor.
    llvm::Value* const off = b.CreateAnd(b.CreateICmpNE(rest, number(0)),
                                         b.CreateICmpSLT(b.CreateXor(rest, divisor), number(0)));
    result = remainder ? b.CreateSelect(off, b.CreateAdd(rest, divisor), rest)
                       : b.CreateSelect(off, b.CreateSub(quotient, number(1)), quotient);
  }
  if (minus_one == nullptr) return result;
  return b.CreateSelect(minus_one, remainder ? number(0) : b.CreateNeg(x), result);
}

llvm::Value* ExprEmitter::UnderMask(llvm::Value* mask, const Expr& e) {
  // Arithmetic may run for nothing, and without a mask it stays common with other code.
  if (!NeedsMask(e)) return Emit(e);
  llvm::Value* const outer = state_.mask;
  if (outer != nullptr) {
    llvm::Value* other = outer;
    Unify(mask, other);
    mask = state_.builder->CreateAnd(mask, other);
  }
  state_.mask = mask;
  llvm::Value* const value = Emit(e);
  state_.mask = outer;
  return value;
}

llvm::Value* ExprEmitter::EmitCondition(const Expr& e) {
  return Emit(Simplify(e, state_.Ranges()));
}

llvm::Value* ExprEmitter::EmitSelect(const Expr& e) {
  llvm::IRBuilderBase& b = *state_.builder;
  llvm::Value* condition = EmitCondition(e->operands[0]);
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) {
    return Emit(e->operands[known->isOne() ? 1 : 2]);
  }
  llvm::Value* x = UnderMask(condition, e->operands[1]);
  // Both branches are computed, without a jump, since lanes may go different ways. What must not
  // happen in the wrong one (a load outside, an error) is under its mask.
  llvm::Value* y = UnderMask(b.CreateNot(condition), e->operands[2]);
  if (condition->getType()->isVectorTy()) {
    x = ToVector(x);
    y = ToVector(y);
  }
  Unify(x, y);
  return b.CreateSelect(condition, x, y);
}

llvm::Value* ExprEmitter::EmitTable(const Expr& e) {
  const LinearForm place = AddressOf(DenseStorage(e->table->shape), e->operands, state_.Ranges());
  if (place.terms.empty()) {
    if (place.constant < 0 || place.constant >= static_cast<int64_t>(e->table->values.size())) {
      // Only in a branch that is never taken: any value will do.
      return llvm::Constant::getNullValue(ScalarType(e->dtype));
    }
    const double value = e->table->values[static_cast<size_t>(place.constant)];
    return IsFloat(e->dtype) ? Emit(Float(value, e->dtype))
                             : Emit(Int(static_cast<int64_t>(value), e->dtype));
  }
  if (state_.lanes == 1 || place.StepOf(state_.vector_var) == 0) {
    return LoadTable(*e->table, memory_->addresses().Index(place), state_, *this);
  }
  return memory_->LaneByLane(e->dtype, [&] { return EmitTable(e); });
}

llvm::Value* ExprEmitter::EmitBoundsCheck(const Expr& e) {
  llvm::IRBuilderBase& b = *state_.builder;
  llvm::Value* index = Emit(e->operands[0]);
  llvm::Value* extent = Emit(e->operands[1]);
  Unify(index, extent);
  llvm::Value* const zero = llvm::Constant::getNullValue(index->getType());
  llvm::Value* const counted =
      b.CreateSelect(b.CreateICmpSLT(index, zero), b.CreateAdd(index, extent), index);
  // Unsigned: what is negative still is too large.
  llvm::Value* const bad = b.CreateICmpUGE(counted, extent);
  RecordError(bad, BURNISH_KERNEL_INDEX_OUT_OF_BOUNDS);
  return b.CreateSelect(bad, zero, counted);
}

llvm::Value* ExprEmitter::EmitCombine(Combiner combiner, llvm::Value* old, const Expr& term) {
  llvm::IRBuilderBase& b = *state_.builder;
  const bool float_sum = combiner == Combiner::kSum && IsFloat(term->dtype);
  if (float_sum && term->kind == ExprKind::kMul) {
    llvm::Value* x = Emit(term->operands[0]);
    llvm::Value* y = Emit(term->operands[1]);
    if (state_.folds_zeros && (IsFloatValue(x, 0) || IsFloatValue(y, 0))) return old;
    const auto plus = [&](llvm::Value* other, bool negative) {
      Unify(old, other);
      return negative ? b.CreateFSub(old, other) : b.CreateFAdd(old, other);
    };
    if (IsFloatValue(x, 1) || IsFloatValue(x, -1)) return plus(y, IsFloatValue(x, -1));
    if (IsFloatValue(y, 1) || IsFloatValue(y, -1)) return plus(x, IsFloatValue(y, -1));
    Unify(x, y);
    Unify(x, old);
    // Once more: `old` may have made a vector of x alone.
    Unify(x, y);
    // Without the instruction a call to libm's fma would be made of it.
    if (!state_.math.fused_multiply_add) return b.CreateFAdd(old, b.CreateFMul(x, y));
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, old});
  }
  llvm::Value* value = EmitStatement(term);
  if (combiner == Combiner::kAssign) return value;
  if (float_sum && state_.folds_zeros && IsFloatValue(value, 0)) return old;
  Unify(old, value);
  return Combine(combiner, term->dtype, old, value);
}

llvm::Value* ExprEmitter::Combine(Combiner combiner, DType type, llvm::Value* x, llvm::Value* y) {
  llvm::IRBuilderBase& b = *state_.builder;
  switch (combiner) {
    case Combiner::kSum:
      return IsFloat(type) ? b.CreateFAdd(x, y) : b.CreateAdd(x, y);
    case Combiner::kProd:
      return IsFloat(type) ? b.CreateFMul(x, y) : b.CreateMul(x, y);
    default:
      return EmitMinMax(combiner == Combiner::kMax, type, x, y);
  }
}

}  // namespace burnish
