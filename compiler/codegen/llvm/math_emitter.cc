#include "compiler/codegen/llvm/math_emitter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "compiler/codegen/llvm/double_math.h"
#include "compiler/codegen/llvm/math_values.h"
#include "compiler/codegen/math_coefficients.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace burnish {
namespace {

using llvm::Value;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Exp, Log and Tanh of either type; the others of floats, doubles having their own (double_math.h).
class MathEmitter : public MathValues {
 public:
  using MathValues::MathValues;

  Value* Exp(Value* x);
  Value* Log(Value* x);
  Value* Tanh(Value* x);
  Value* Erf(Value* x);
  Value* OnePlusErf(Value* x);
  Value* SinOrCos(Value* x, bool cos);
  Value* Pow(Value* x, Value* y);

 private:
  // x = n * pi/2 + r
  struct Reduced {
    Value* n;  // i32
    Value* r;
  };

  // Contracted to fused operations where the target has them.
  Value* Polynomial(Value* x, absl::Span<const double> coefficients) {
    Value* sum = Number(coefficients.back());
    for (size_t i = coefficients.size() - 1; i-- > 0;) {
      sum = Add(Mul(sum, x), Number(coefficients[i]));
    }
    return sum;
  }

  struct Power {
    Value* rounded;
    Value* n;  // i32
    Value* less_one;
  };

  Power ReducePower(Value* x);
  Reduced ReduceAngle(Value* x);
  Reduced ReduceLargeAngle(Value* x, Value* large, const Reduced& other);
};

// n, as a float and as i32, and e^r - 1 for x = n * ln(2) + r, |r| <= ln(2)/2.
MathEmitter::Power MathEmitter::ReducePower(Value* x) {
  const auto [rounded, n] = RoundToInt(Mul(x, Number(1.4426950408889634)));
  Value* r = Sub(x, Mul(rounded, Number(is_f64_ ? math::kLn2High64 : math::kLn2High32)));
  r = Sub(r, Mul(rounded, Number(is_f64_ ? math::kLn2Low64 : math::kLn2Low32)));
  Value* const tail = is_f64_ ? Polynomial(r, math::kExp64) : Polynomial(r, math::kExp32);
  return {rounded, n, Add(Mul(Mul(r, r), tail), r)};
}

Value* MathEmitter::Exp(Value* x) {
  // Beyond these the result is infinite or zero anyway.
  const double limit = is_f64_ ? 760 : 110;
  const Power power = ReducePower(AtLeast(AtMost(x, limit), -limit));
  return Scale(Add(power.less_one, Number(1)), power.rounded, power.n);
}

// n * ln(2) + ln(1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).
Value* MathEmitter::Log(Value* x) {
  const int mantissa_bits = is_f64_ ? 52 : 23;
  const double least_normal = is_f64_ ? 0x1p-1022 : 0x1p-126;
  Value* const tiny = b_.CreateFCmpOLT(x, Number(least_normal));
  Value* const normal = b_.CreateSelect(tiny, Mul(x, Number(std::ldexp(1, mantissa_bits))), x);
  Value* const bits = b_.CreateBitCast(normal, Bits());
  Value* const root = Int(Bits(), is_f64_ ? 0x3fe6a09e667f3bcd : 0x3f3504f3);
  Value* const n = b_.CreateAShr(b_.CreateSub(bits, root), Int(Bits(), mantissa_bits));
  Value* const mantissa =
      b_.CreateBitCast(b_.CreateSub(bits, b_.CreateShl(n, Int(Bits(), mantissa_bits))), type_);
  Value* exponent = b_.CreateSIToFP(b_.CreateTrunc(n, Int32()), type_);
  exponent = b_.CreateSelect(tiny, Sub(exponent, Number(mantissa_bits)), exponent);
  Value* const f = Sub(mantissa, Number(1));
  Value* result;
  if (is_f64_) {
    // 2 atanh(s), s = f / (2 + f)
    Value* const s = b_.CreateFDiv(f, Add(f, Number(2)));
    Value* const s2 = Mul(s, s);
    Value* const tail =
        Add(Mul(Mul(s, s2), Polynomial(s2, math::kLog64)), Mul(exponent, Number(math::kLn2Low64)));
    result = Add(Add(Add(s, s), tail), Mul(exponent, Number(math::kLn2High64)));
  } else {
    Value* const f2 = Mul(f, f);
    Value* const tail = Add(Mul(f2, Sub(Mul(f, Polynomial(f, math::kLog32)), Number(0.5))),
                            Mul(exponent, Number(math::kLn2Low32)));
    result = Add(Add(f, tail), Mul(exponent, Number(math::kLn2High32)));
  }
  // Infinity and NaN are their own logarithm, zero's is -infinity, others have none.
  result = b_.CreateSelect(b_.CreateFCmpOLT(x, Number(kInfinity)), result, x);
  Value* const no_positive =
      b_.CreateSelect(b_.CreateFCmpOEQ(x, Number(0)), Number(-kInfinity), Number(kNan));
  return b_.CreateSelect(b_.CreateFCmpOGT(x, Number(0)), result, no_positive);
}

// (e^2a - 1) / (e^2a - 1 + 2) with a = |x|. e^2a - 1 = 2^n (e^r - 1) + (2^n - 1) loses nothing near
// 0, where n = 0, so that one way serves everywhere.
Value* MathEmitter::Tanh(Value* x) {
  Value* const a = Abs(x);
  // The quotient is 1 from there on.
  const Power power = ReducePower(AtMost(Add(a, a), is_f64_ ? 40 : 20));
  Value* const scale = PowerOfTwo(power.n);
  Value* const less_one = Add(Mul(power.less_one, scale), Sub(scale, Number(1)));
  Value* const result = b_.CreateFDiv(less_one, Add(less_one, Number(2)));
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, x);
}

// x + x P(x^2) up to 1, then 1 - e^(x Q(x)); from 4 on it rounds to 1. The power is below 0.16, so
// that an error of it counts for little, and its exponent is small: less is needed than in Exp.
Value* MathEmitter::Erf(Value* x) {
  Value* const small = Add(Mul(x, Polynomial(Mul(x, x), math::kErf32)), x);
  Value* const a = Abs(x);
  Value* const limited = AtMost(a, 4);
  Value* const y = Mul(limited, Polynomial(limited, math::kErfc32));
  // n is in the last bits of the shifted number, and shifted on it is in the exponent's.
  Value* const magic = Number(0x1.8p23);
  Value* const shifted = Add(Mul(y, Number(1.4426950408889634)), magic);
  Value* const r = Sub(y, Mul(Sub(shifted, magic), Number(0.69314718055994531)));
  Value* const power = Polynomial(r, math::kErfcExp32);
  Value* const exponent = b_.CreateShl(b_.CreateBitCast(shifted, Bits()), Int(Bits(), 23));
  Value* const erfc =
      b_.CreateBitCast(b_.CreateAdd(b_.CreateBitCast(power, Bits()), exponent), type_);
  Value* const large = Sub(Number(1), erfc);
  // A NaN is not at least 1.
  return b_.CreateSelect(b_.CreateFCmpOGE(a, Number(1)),
                         b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, large, x), small);
}

// erfc(|x|) = 2^y for x < 0, else 2 less it: no cancellation, and no second polynomial near 0. n is
// the integer next to y; 2^n is 0 from n = -127 on, as the result is there.
Value* MathEmitter::OnePlusErf(Value* x) {
  Value* const a = Abs(x);
  Value* const y = AtLeast(Mul(a, Polynomial(a, math::kLog2Erfc32)), -127);
  // n + 127 is in the last bits of the shifted number, and shifted on it is the exponent of 2^n.
  Value* const magic = Number(0x1.8p23 + 127);
  Value* const shifted = Add(y, magic);
  Value* const power = Polynomial(Sub(y, Sub(shifted, magic)), math::kExp2_32);
  Value* const sign = b_.CreateAShr(b_.CreateBitCast(x, Bits()), Int(Bits(), 31));
  Value* const positive = b_.CreateNot(sign);
  Value* const scale =
      b_.CreateXor(b_.CreateShl(b_.CreateBitCast(shifted, Bits()), Int(Bits(), 23)),
                   b_.CreateAnd(positive, Int(Bits(), INT32_MIN)));
  Value* const two = b_.CreateAnd(positive, b_.CreateBitCast(Number(2), Bits()));
  return Add(Mul(power, b_.CreateBitCast(scale, type_)), b_.CreateBitCast(two, type_));
}

// 2/pi in binary, after the point.
constexpr uint64_t kTwoOverPi[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
                                   0xfe5163abdebbc561};

// Bits [first, first + count) of 2/pi as an integer; those before the point are 0.
double TwoOverPiBits(int first, int count) {
  uint64_t value = 0;
  for (int i = first; i < first + count; ++i) {
    const uint64_t bit = i < 0 ? 0 : kTwoOverPi[i / 64] >> (63 - i % 64) & 1;
    value = value * 2 + bit;
  }
  return static_cast<double>(value);
}

// The function float -> double that gives |x| * 2/pi modulo 4 with the sign of x, for finite
// |x| >= 2^24: x = m * 2^e, and the table holds 2^e * 2/pi modulo 4 in two parts. The first has 29
// bits, so that its product with m is exact.
// Source: Payne and Hanek, "Radian reduction for trigonometric functions", SIGNUM 1983.
llvm::Function* LargeAngleFunction(llvm::Module& module) {
  constexpr char kName[] = "quarter_turns";
  if (llvm::Function* const present = module.getFunction(kName)) return present;
  llvm::LLVMContext& context = module.getContext();
  constexpr int kLastExponent = 127 - 23;
  std::vector<double> parts;
  for (int e = 0; e <= kLastExponent; ++e) {
    parts.push_back(std::ldexp(TwoOverPiBits(e - 2, 29), -27));
    parts.push_back(std::ldexp(TwoOverPiBits(e + 27, 53), -80));
  }
  llvm::Constant* const data = llvm::ConstantDataArray::get(context, parts);
  auto* const table = new llvm::GlobalVariable(
      module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "two_over_pi");
  llvm::IRBuilder<> b(context);
  llvm::Function* const function =
      llvm::Function::Create(llvm::FunctionType::get(b.getDoubleTy(), {b.getFloatTy()}, false),
                             llvm::GlobalValue::PrivateLinkage, kName, module);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::NoInline);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  Value* const bits = b.CreateBitCast(function->getArg(0), b.getInt32Ty());
  Value* const biased = b.CreateAnd(b.CreateLShr(bits, 23), b.getInt32(255));
  // Infinity and NaN, and what is too small, must stay inside the table: any value will do.
  Value* e = b.CreateSub(biased, b.getInt32(150));
  e = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e, b.getInt32(0));
  e = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e, b.getInt32(kLastExponent));
  Value* const m = b.CreateUIToFP(
      b.CreateOr(b.CreateAnd(bits, b.getInt32(0x7fffff)), b.getInt32(0x800000)), b.getDoubleTy());
  const auto part = [&](unsigned which) {
    Value* const index = b.CreateAdd(b.CreateShl(e, 1), b.getInt32(which));
    return b.CreateLoad(b.getDoubleTy(),
                        b.CreateGEP(b.getDoubleTy(), table, b.CreateZExt(index, b.getInt64Ty())));
  };
  Value* const product = b.CreateFMul(m, part(0));
  Value* const turns = b.CreateUnaryIntrinsic(
      llvm::Intrinsic::floor, b.CreateFMul(product, llvm::ConstantFP::get(b.getDoubleTy(), 0.25)));
  Value* rest =
      b.CreateFSub(product, b.CreateFMul(turns, llvm::ConstantFP::get(b.getDoubleTy(), 4)));
  rest = b.CreateFAdd(rest, b.CreateFMul(m, part(1)));
  b.CreateRet(b.CreateSelect(b.CreateICmpSLT(bits, b.getInt32(0)), b.CreateFNeg(rest), rest));
  return function;
}

// Where `large` is set, from the slow function; elsewhere `other`. `x`: float or floats.
MathEmitter::Reduced MathEmitter::ReduceLargeAngle(Value* x, Value* large, const Reduced& other) {
  const std::vector<Value*> reduced = WhereAny(large, {other.n, other.r}, [&] {
    llvm::Module& module = *b_.GetInsertBlock()->getModule();
    Value* const quarters = CallByLane(LargeAngleFunction(module), x);
    const auto [rounded, n] = RoundToInt(quarters);
    return std::vector<Value*>{n, Mul(Sub(quarters, rounded), Number(1.5707963267948966))};
  });
  return {reduced[0], reduced[1]};
}

// x in doubles, |x| < 2^28.
MathEmitter::Reduced MathEmitter::ReduceAngle(Value* x) {
  const auto [rounded, n] = RoundToInt(Mul(x, Number(0.63661977236758138)));
  Value* r = x;
  for (double part : math::kHalfPi) r = Sub(r, Mul(rounded, Number(part)));
  return {n, r};
}

// In doubles: four parts of pi/2 leave more digits than a float has wherever |x| < 2^28.
Value* MathEmitter::SinOrCos(Value* x, bool cos) {
  MathEmitter wide(b_, units_, Like(b_.getDoubleTy()));
  Value* const finite = b_.CreateFCmpOLT(Abs(x), Number(kInfinity));
  Value* const large = b_.CreateAnd(finite, b_.CreateFCmpOGE(Abs(x), Number(0x1p28)));
  Value* const checked = b_.CreateSelect(finite, x, Number(0));
  Reduced angle = wide.ReduceAngle(b_.CreateFPExt(checked, wide.type_));
  angle = wide.ReduceLargeAngle(checked, large, angle);
  Value* const r2 = wide.Mul(angle.r, angle.r);
  Value* const sine =
      wide.Add(angle.r, wide.Mul(wide.Mul(angle.r, r2), wide.Polynomial(r2, math::kSin)));
  Value* const cosine = wide.Add(wide.Sub(wide.Number(1), wide.Mul(r2, wide.Number(0.5))),
                                 wide.Mul(wide.Mul(r2, r2), wide.Polynomial(r2, math::kCos)));
  Value* const n = cos ? b_.CreateAdd(angle.n, Int(Int32(), 1)) : angle.n;
  Value* const zero = Int(Int32(), 0);
  Value* const odd = b_.CreateICmpNE(b_.CreateAnd(n, Int(Int32(), 1)), zero);
  Value* const negative = b_.CreateICmpNE(b_.CreateAnd(n, Int(Int32(), 2)), zero);
  Value* const value = b_.CreateSelect(odd, cosine, sine);
  Value* const result =
      b_.CreateFPTrunc(b_.CreateSelect(negative, b_.CreateFNeg(value), value), type_);
  Value* const defined = b_.CreateSelect(finite, result, Number(kNan));
  // Keeps the sign of a zero.
  return cos ? defined : b_.CreateSelect(b_.CreateFCmpOEQ(x, Number(0)), x, defined);
}

// e^(y ln|x|) in doubles, whose error stays below a float's last place. A float's product with y is
// at most 2^14 where the result is finite and not zero.
Value* MathEmitter::Pow(Value* x, Value* y) {
  MathEmitter wide(b_, units_, Like(b_.getDoubleTy()));
  Value* const a = Abs(x);
  Value* const logarithm = wide.Log(b_.CreateFPExt(a, wide.type_));
  Value* const power =
      b_.CreateFPTrunc(wide.Exp(wide.Mul(b_.CreateFPExt(y, wide.type_), logarithm)), type_);
  return PowerCases(x, y, power);
}

// The function (x, y) -> fmod of one floating-point type. Subtracts the largest y * 2^k that is not
// above the rest, which is exact, until the rest is below y.
llvm::Function* FmodFunction(llvm::Module& module) {
  constexpr char kName[] = "fmod_f64";
  if (llvm::Function* const present = module.getFunction(kName)) return present;
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  llvm::Type* const type = b.getDoubleTy();
  llvm::Function* const function =
      llvm::Function::Create(llvm::FunctionType::get(type, {type, type}, false),
                             llvm::GlobalValue::PrivateLinkage, kName, module);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::NoInline);
  const auto block = [&](const char* name) {
    return llvm::BasicBlock::Create(context, name, function);
  };
  llvm::BasicBlock* const entry = block("entry");
  llvm::BasicBlock* const loop = block("loop");
  llvm::BasicBlock* const end = block("end");
  b.SetInsertPoint(entry);
  Value* const x = function->getArg(0);
  Value* const a = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* const d = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, function->getArg(1));
  const auto number = [&](double value) { return llvm::ConstantFP::get(type, value); };
  Value* const defined =
      b.CreateAnd(b.CreateFCmpOLT(a, number(kInfinity)), b.CreateFCmpOGT(d, number(0)));
  b.CreateCondBr(b.CreateAnd(defined, b.CreateFCmpOGE(a, d)), loop, end);
  b.SetInsertPoint(loop);
  llvm::PHINode* const rest = b.CreatePHI(type, 2);
  rest->addIncoming(a, entry);
  const auto exponent = [&](Value* v) {
    return b.CreateAnd(b.CreateBitCast(v, b.getInt64Ty()), b.getInt64(0x7ffull << 52));
  };
  Value* const shifted = b.CreateBitCast(
      b.CreateAdd(b.CreateBitCast(d, b.getInt64Ty()), b.CreateSub(exponent(rest), exponent(d))),
      type);
  Value* const step =
      b.CreateSelect(b.CreateFCmpOGT(shifted, rest), b.CreateFMul(shifted, number(0.5)), shifted);
  Value* const next = b.CreateFSub(rest, step);
  rest->addIncoming(next, loop);
  b.CreateCondBr(b.CreateFCmpOGE(next, d), loop, end);
  b.SetInsertPoint(end);
  llvm::PHINode* const result = b.CreatePHI(type, 2);
  result->addIncoming(a, entry);
  result->addIncoming(next, loop);
  Value* const signed_result = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, x);
  // x or y NaN, x infinite, y zero.
  Value* const valid = b.CreateAnd(defined, b.CreateFCmpORD(d, d));
  b.CreateRet(b.CreateSelect(valid, signed_result, number(kNan)));
  return function;
}

}  // namespace

llvm::Value* EmitMath(llvm::IRBuilderBase& builder, const MathUnits& units, ExprKind kind,
                      llvm::Value* x) {
  const bool is_f64 = x->getType()->getScalarType()->isDoubleTy();
  MathEmitter emitter(builder, units, x->getType());
  switch (kind) {
    case ExprKind::kExp:
      return emitter.Exp(x);
    case ExprKind::kLog:
      return emitter.Log(x);
    case ExprKind::kTanh:
      return emitter.Tanh(x);
    case ExprKind::kErf:
      return is_f64 ? EmitDoubleErf(builder, units, x) : emitter.Erf(x);
    case ExprKind::kSin:
    case ExprKind::kCos: {
      const bool cos = kind == ExprKind::kCos;
      return is_f64 ? EmitDoubleSinOrCos(builder, units, x, cos) : emitter.SinOrCos(x, cos);
    }
    default:
      return nullptr;
  }
}

OnePlusErf OnePlusErfOf(const Expr& e) {
  if (e->kind != ExprKind::kAdd || (e->dtype != DType::kF32 && e->dtype != DType::kF64)) return {};
  for (int i : {0, 1}) {
    const Expr &one = e->operands[i], &erf = e->operands[1 - i];
    const bool is_one = one->kind == ExprKind::kFloatImm && one->float_value == 1;
    if (!is_one || erf->kind != ExprKind::kErf) continue;
    const Expr& x = erf->operands[0];
    // Floats have no digits to spare in the first place.
    if (e->dtype == DType::kF64 && x->kind == ExprKind::kMul) {
      for (int k : {0, 1}) {
        const ExprNode& factor = *x->operands[k];
        const bool is_root = factor.kind == ExprKind::kFloatImm && factor.float_value == M_SQRT1_2;
        if (is_root) return {.x = x->operands[1 - k], .times_root_half = true};
      }
    }
    return {.x = x};
  }
  return {};
}

llvm::Value* EmitOnePlusErf(llvm::IRBuilderBase& builder, const MathUnits& units, llvm::Value* x,
                            bool times_root_half) {
  if (x->getType()->getScalarType()->isDoubleTy()) {
    return EmitDoubleOnePlusErf(builder, units, x, times_root_half);
  }
  return MathEmitter(builder, units, x->getType()).OnePlusErf(x);
}

llvm::Value* EmitPow(llvm::IRBuilderBase& builder, const MathUnits& units, llvm::Value* x,
                     llvm::Value* y) {
  if (x->getType()->getScalarType()->isDoubleTy()) return EmitDoublePow(builder, units, x, y);
  return MathEmitter(builder, units, x->getType()).Pow(x, y);
}

llvm::Value* EmitFmod(llvm::IRBuilderBase& builder, llvm::Value* x, llvm::Value* y) {
  llvm::Function* const fmod = FmodFunction(*builder.GetInsertBlock()->getModule());
  llvm::Type* const type = x->getType()->getScalarType();
  const auto one = [&](llvm::Value* a, llvm::Value* b) {
    // Exact in doubles too: the result of floats is a float.
    llvm::Value* const result =
        builder.CreateCall(fmod, {builder.CreateFPExt(a, builder.getDoubleTy()),
                                  builder.CreateFPExt(b, builder.getDoubleTy())});
    return builder.CreateFPTrunc(result, type);
  };
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr) return one(x, y);
  llvm::Value* result = llvm::PoisonValue::get(x->getType());
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    result = builder.CreateInsertElement(
        result, one(builder.CreateExtractElement(x, lane), builder.CreateExtractElement(y, lane)),
        lane);
  }
  return result;
}

}  // namespace burnish
