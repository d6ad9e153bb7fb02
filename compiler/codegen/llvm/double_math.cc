#include "compiler/codegen/llvm/double_math.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/types/span.h"
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

// Nothing here may be contracted or reordered: what a sum or a product loses is computed by the
// same operations again.
class DoubleMath : public MathValues {
 public:
  DoubleMath(llvm::IRBuilderBase& builder, const MathUnits& units, llvm::Type* type)
      : MathValues(builder, units, type), exact_(builder) {
    builder.clearFastMathFlags();
  }

  Value* Erf(Value* x);
  Value* OnePlusErf(Value* x, bool times_root_half);
  Value* SinOrCos(Value* x, bool cos);
  Value* Pow(Value* x, Value* y);
  llvm::Function* LargeAngleFunction(llvm::Module& module);

 private:
  // high + low, |low| at most half a unit of high's last place.
  struct Pair {
    Value* high;
    Value* low;
  };
  // x = n * pi/2 + r
  struct Reduced {
    Value* n;  // i32
    Pair r;
  };

  Value* Neg(Value* x) { return b_.CreateFNeg(x); }
  // a * b + c, rounded once where the target can do that.
  Value* MulAdd(Value* a, Value* b, Value* c) {
    if (!units_.fused_multiply_add) return Add(Mul(a, b), c);
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {type_}, {a, b, c});
  }
  Value* Polynomial(Value* x, absl::Span<const double> coefficients) {
    Value* sum = Number(coefficients.back());
    for (size_t i = coefficients.size() - 1; i-- > 0;) {
      sum = MulAdd(sum, x, Number(coefficients[i]));
    }
    return sum;
  }
  // Exact; the second one for |a| >= |b|, or a = 0.
  Pair Sum(Value* a, Value* b) {
    Value* const sum = Add(a, b);
    Value* const of_b = Sub(sum, a);
    return {sum, Add(Sub(a, Sub(sum, of_b)), Sub(b, of_b))};
  }
  Pair OrderedSum(Value* a, Value* b) {
    Value* const sum = Add(a, b);
    return {sum, Sub(b, Sub(sum, a))};
  }
  Pair Product(Value* a, Value* b);  // Exact, while nothing overflows: |a|, |b| < 2^990.
  Pair Product(const Pair& a, const Pair& b) {
    const Pair product = Product(a.high, b.high);
    return {product.high, Add(product.low, Add(Mul(a.high, b.low), Mul(a.low, b.high)))};
  }
  Pair Split(Value* a);

  Pair LogOf(Value* x);
  Value* ExpOf(const Pair& x);
  Value* ErfcOf(const Pair& x);
  Reduced ReduceAngle(Value* x);
  Pair Fraction(const std::array<Value*, 3>& words);

  llvm::IRBuilderBase::FastMathFlagGuard exact_;  // Restores the flags.
};

// In two parts of 26 bits, whose products are exact.
DoubleMath::Pair DoubleMath::Split(Value* a) {
  Value* const scaled = Mul(a, Number(0x1p27 + 1));
  Value* const high = Sub(scaled, Sub(scaled, a));
  return {high, Sub(a, high)};
}

DoubleMath::Pair DoubleMath::Product(Value* a, Value* b) {
  Value* const product = Mul(a, b);
  if (units_.fused_multiply_add) return {product, MulAdd(a, b, Neg(product))};
  const Pair x = Split(a), y = Split(b);
  Value* lost = Sub(Mul(x.high, y.high), product);
  lost = Add(lost, Mul(x.high, y.low));
  lost = Add(lost, Mul(x.low, y.high));
  return {product, Add(lost, Mul(x.low, y.low))};
}

// Of a positive normal number: n * ln(2) + 2 atanh(s), s = (m - 1) / (m + 1), with
// sqrt(1/2) <= m < sqrt(2). The error is 2^-65 of the result, so that y * ln(x), which is at most
// 745, is right to 2^-56.
DoubleMath::Pair DoubleMath::LogOf(Value* x) {
  Value* const bits = b_.CreateBitCast(x, Bits());
  Value* const n = b_.CreateAShr(b_.CreateSub(bits, Int(Bits(), 0x3fe6a09e667f3bcd)), 52);
  Value* const mantissa = b_.CreateBitCast(b_.CreateSub(bits, b_.CreateShl(n, 52)), type_);
  Value* const exponent = b_.CreateSIToFP(b_.CreateTrunc(n, Int32()), type_);
  Value* const f = Sub(mantissa, Number(1));
  const Pair divisor = OrderedSum(Number(2), f);
  Pair s;
  s.high = b_.CreateFDiv(f, divisor.high);
  const Pair back = Product(s.high, divisor.high);
  Value* const rest = Sub(Sub(f, back.high), Add(back.low, Mul(s.high, divisor.low)));
  s.low = b_.CreateFDiv(rest, divisor.high);
  // 2 atanh(s) = s (2 + z (2/3 + z P(z))), z = s^2
  const Pair z = Product(s, s);
  Value* const tail = Add(Mul(z.high, Polynomial(z.high, math::kAtanh64)),
                          MulAdd(z.low, Number(math::kAtanh64[0]), Number(math::kTwoThirds[1])));
  const Pair series = Product(z, OrderedSum(Number(math::kTwoThirds[0]), tail));
  Pair factor = OrderedSum(Number(2), series.high);
  factor.low = Add(factor.low, series.low);
  const Pair log = Product(s, factor);
  const Pair sum = OrderedSum(Mul(exponent, Number(math::kLn2High64)), log.high);
  return OrderedSum(sum.high, Add(sum.low, MulAdd(exponent, Number(math::kLn2Low64), log.low)));
}

// e^x, with less than 2/3 of a unit of the last place for an error, so that powers which are
// doubles are exact.
Value* DoubleMath::ExpOf(const Pair& x) {
  // Beyond these the result is infinite or zero anyway.
  Value* const limited = AtLeast(AtMost(x.high, 760), -760);
  Value* const low = b_.CreateSelect(b_.CreateFCmpOEQ(limited, x.high), x.low, Number(0));
  const auto [rounded, n] = RoundToInt(Mul(limited, Number(1.4426950408889634)));
  Value* const first = Sub(limited, Mul(rounded, Number(math::kLn2High64)));
  Pair r = Sum(first, Mul(rounded, Number(-math::kLn2Low64)));
  r = Sum(r.high, Add(r.low, low));  // Of 700 the low part is thousands of units of 1's last place.
  Value* const square = Mul(Mul(r.high, r.high), Polynomial(r.high, math::kExp64));
  const Pair sum = OrderedSum(Number(1), r.high);
  Value* const power = Add(sum.high, Add(sum.low, Add(square, MulAdd(r.low, r.high, r.low))));
  return Scale(power, rounded, n);
}

// erfc(x) = e^(-x^2) Q(t) / (1 + 2x), t = (x - 4) / (x + 4), for x >= 0: one polynomial serves all
// of the half line. Of NaN it is NaN.
Value* DoubleMath::ErfcOf(const Pair& x) {
  Value* const a = AtMost(x.high, 28);  // The result is 0 from there on.
  Value* const t = b_.CreateFDiv(Sub(a, Number(4)), Add(a, Number(4)));
  const Pair square = Product(a, a);
  Value* const low = Add(square.low, Mul(Add(a, a), x.low));
  Value* const power = ExpOf({Neg(square.high), Neg(low)});
  // The quotient in a pair: each rounding here is one of the result's last places.
  Value* const numerator = Polynomial(t, math::kErfcx64);
  const Pair divisor = Sum(Mul(a, Number(2)), Number(1));
  Value* const inverse = b_.CreateFDiv(Number(1), divisor.high);
  Value* const quotient = Mul(numerator, inverse);
  const Pair back = Product(quotient, divisor.high);
  Value* const rest = Sub(Sub(numerator, back.high), Add(back.low, Mul(quotient, divisor.low)));
  return MulAdd(power, quotient, Mul(power, Mul(rest, inverse)));
}

// x + x P(x^2) up to 1, then 1 - erfc(x). Of the least numbers a product by less than 1 is lost.
Value* DoubleMath::Erf(Value* x) {
  Value* const a = Abs(x);
  Value* const least = Mul(x, Number(1 + math::kErf64[0]));
  Value* const small = b_.CreateSelect(b_.CreateFCmpOLT(a, Number(0x1p-500)), least,
                                       MulAdd(x, Polynomial(Mul(x, x), math::kErf64), x));
  Value* const large = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign,
                                                Sub(Number(1), ErfcOf({a, Number(0)})), x);
  return b_.CreateSelect(b_.CreateFCmpOLT(a, Number(1)), small, large);
}

// erfc(-x): 2 less it where x > 0. Near 0 erf has the better polynomial.
Value* DoubleMath::OnePlusErf(Value* x, bool times_root_half) {
  Pair z = {x, Number(0)};
  // e^(-z^2) multiplies the rounding of z by up to 1,400.
  if (times_root_half) {
    z = Product(AtLeast(AtMost(x, 64), -64), Number(math::kRootHalf[0]));
    z.low = MulAdd(z.high, Number(math::kRootHalf[1] / math::kRootHalf[0]), z.low);
  }
  Value* const negative = b_.CreateFCmpOLT(z.high, Number(0));
  Value* const low = b_.CreateSelect(negative, Neg(z.low), z.low);
  Value* const tail = ErfcOf({Abs(z.high), low});
  Value* const near = MulAdd(z.high, Polynomial(Mul(z.high, z.high), math::kErf64), z.high);
  return b_.CreateSelect(b_.CreateFCmpOLT(Abs(z.high), Number(0.5)), Add(Number(1), near),
                         b_.CreateSelect(negative, tail, Sub(Number(2), tail)));
}

// |x| < 2^20: three parts of pi/2 have 33 bits, so that their products with n are exact.
DoubleMath::Reduced DoubleMath::ReduceAngle(Value* x) {
  const auto [rounded, n] = RoundToInt(Mul(x, Number(0.63661977236758138)));
  const auto part = [&, rounded = rounded](int i) {
    return Mul(rounded, Number(-math::kHalfPi64[i]));
  };
  const Pair second = Sum(Add(x, part(0)), part(1));
  const Pair third = Sum(second.high, part(2));
  return {n, OrderedSum(third.high, Add(Add(second.low, third.low), part(3)))};
}

// A fixed-point number with a sign: 62, 126 and 190 bits of the words are behind the point.
DoubleMath::Pair DoubleMath::Fraction(const std::array<Value*, 3>& words) {
  // In pieces of 32 bits, which are exact; only the first one has a sign.
  const auto piece = [&](int i, bool upper) {
    Value* const whole = words[i / 2];
    Value* const part = upper ? (i == 0 ? b_.CreateAShr(whole, 32) : b_.CreateLShr(whole, 32))
                              : b_.CreateAnd(whole, 0xffffffff);
    return Mul(b_.CreateSIToFP(part, type_), Number(std::ldexp(1, -30 - 32 * i)));
  };
  Pair sum = {piece(0, true), Number(0)};
  for (int i = 1; i < 4; ++i) {
    const Pair next = Sum(sum.high, piece(i, i % 2 == 0));
    sum = {next.high, Add(sum.low, next.low)};
  }
  return OrderedSum(sum.high, Add(sum.low, piece(4, true)));
}

// The function double -> {r.high, r.low, n} for finite |x| >= 2^20: x = m * 2^e, and of m times the
// 192 bits of 2/pi from 2^(1-e) on, those above are multiples of 4. No double is nearer to a
// multiple of pi/2 than 2^-61 of it, so that 70 bits are left at least. This object's type is
// double.
llvm::Function* DoubleMath::LargeAngleFunction(llvm::Module& module) {
  constexpr char kName[] = "quarter_turns_f64";
  if (llvm::Function* const present = module.getFunction(kName)) return present;
  llvm::LLVMContext& context = module.getContext();
  llvm::Constant* const data = llvm::ConstantDataArray::get(context, math::kTwoOverPiWords);
  auto* const table = new llvm::GlobalVariable(
      module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "two_over_pi_f64");
  llvm::Type* const i64 = b_.getInt64Ty();
  llvm::Type* const i128 = b_.getInt128Ty();
  llvm::Function* const function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::StructType::get(type_, type_, b_.getInt32Ty()), {type_}, false),
      llvm::GlobalValue::PrivateLinkage, kName, module);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::NoInline);
  const llvm::IRBuilderBase::InsertPointGuard here(b_);
  b_.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  Value* const x = function->getArg(0);
  Value* const bits = b_.CreateBitCast(x, i64);
  // Infinity and NaN, and what is too small, must stay inside the table: any value will do.
  Value* e = b_.CreateSub(b_.CreateAnd(b_.CreateLShr(bits, 52), 0x7ff), Int(i64, 1075));
  e = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e, Int(i64, -32));
  e = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e, Int(i64, 971));
  Value* const m = b_.CreateOr(b_.CreateAnd(bits, (uint64_t{1} << 52) - 1), uint64_t{1} << 52);
  Value* const first = b_.CreateAdd(e, Int(i64, 62));
  Value* const word = b_.CreateLShr(first, 6);
  Value* const shift = b_.CreateAnd(first, 63);
  std::array<Value*, 4> words;
  for (int i = 0; i < 4; ++i) {
    words[i] = b_.CreateLoad(i64, b_.CreateGEP(i64, table, b_.CreateAdd(word, Int(i64, i))));
  }
  // The product modulo 2^192, from the last word up.
  std::array<Value*, 3> product;
  Value* carry = Int(i128, 0);
  for (int i = 2; i >= 0; --i) {
    Value* const part =
        b_.CreateIntrinsic(llvm::Intrinsic::fshl, {i64}, {words[i], words[i + 1], shift});
    Value* const sum =
        b_.CreateAdd(b_.CreateMul(b_.CreateZExt(m, i128), b_.CreateZExt(part, i128)), carry);
    product[i] = b_.CreateTrunc(sum, i64);
    carry = b_.CreateLShr(sum, 64);
  }
  // Two bits before the point, rounded; the rest has a sign.
  Value* const n = b_.CreateLShr(b_.CreateAdd(product[0], Int(i64, int64_t{1} << 61)), 62);
  product[0] = b_.CreateSub(product[0], b_.CreateShl(n, 62));
  const Pair turned = Fraction(product);
  Pair r = Product(turned, {Number(math::kHalfPiPair[0]), Number(math::kHalfPiPair[1])});
  r = OrderedSum(r.high, r.low);
  Value* const negative = b_.CreateICmpSLT(bits, Int(i64, 0));
  Value* const turns = b_.CreateTrunc(n, b_.getInt32Ty());
  Value* const results[] = {b_.CreateSelect(negative, Neg(r.high), r.high),
                            b_.CreateSelect(negative, Neg(r.low), r.low),
                            b_.CreateSelect(negative, b_.CreateNeg(turns), turns)};
  b_.CreateAggregateRet(results, 3);
  return function;
}

Value* DoubleMath::SinOrCos(Value* x, bool cos) {
  Value* const a = Abs(x);
  Value* const finite = b_.CreateFCmpOLT(a, Number(kInfinity));
  Value* const large = b_.CreateAnd(finite, b_.CreateFCmpOGE(a, Number(0x1p20)));
  const Reduced fast =
      ReduceAngle(b_.CreateSelect(b_.CreateFCmpOLT(a, Number(0x1p20)), x, Number(0)));
  const std::vector<Value*> reduced = WhereAny(large, {fast.r.high, fast.r.low, fast.n}, [&] {
    DoubleMath scalar(b_, units_, b_.getDoubleTy());
    llvm::Module& module = *b_.GetInsertBlock()->getModule();
    Value* const all = CallByLane(scalar.LargeAngleFunction(module), x);
    return std::vector<Value*>{b_.CreateExtractValue(all, 0), b_.CreateExtractValue(all, 1),
                               b_.CreateExtractValue(all, 2)};
  });
  const Pair r = {reduced[0], reduced[1]};
  Value* const z = Mul(r.high, r.high);
  Value* const cube = Mul(z, r.high);
  const absl::Span<const double> sines = math::kSin;
  Value* const correction =
      Sub(Mul(Number(0.5), r.low), Mul(cube, Polynomial(z, sines.subspan(1))));
  Value* const sine = Sub(r.high, Sub(Sub(Mul(z, correction), r.low), Mul(cube, Number(sines[0]))));
  Value* const half = Mul(z, Number(0.5));
  Value* const about = Sub(Number(1), half);
  Value* const tail = Sub(Mul(z, Mul(z, Polynomial(z, math::kCos))), Mul(r.high, r.low));
  Value* const cosine = Add(about, Add(Sub(Sub(Number(1), about), half), tail));
  Value* const n = cos ? b_.CreateAdd(reduced[2], Int(Int32(), 1)) : reduced[2];
  const auto has = [&](int bit) {
    return b_.CreateICmpNE(b_.CreateAnd(n, Int(Int32(), bit)), Int(Int32(), 0));
  };
  Value* const value = b_.CreateSelect(has(1), cosine, sine);
  Value* const result = b_.CreateSelect(has(2), Neg(value), value);
  Value* const defined = b_.CreateSelect(finite, result, Number(kNan));
  // Keeps the sign of a zero.
  return cos ? defined : b_.CreateSelect(b_.CreateFCmpOEQ(x, Number(0)), x, defined);
}

Value* DoubleMath::Pow(Value* x, Value* y) {
  Value* const a = Abs(x);
  const Pair log = LogOf(a);
  // No logarithm but 0 is below 2^-53: a larger exponent changes nothing.
  Value* const exponent = AtLeast(AtMost(y, 0x1p66), -0x1p66);
  Pair product = Product(exponent, log.high);
  product.low = MulAdd(exponent, log.low, product.low);
  Value* power = ExpOf(product);
  Value* const zero = b_.CreateFCmpOEQ(a, Number(0));
  Value* const endless = b_.CreateFCmpOEQ(a, Number(kInfinity));
  Value* const grows = b_.CreateICmpNE(b_.CreateFCmpOLT(y, Number(0)), endless);
  power = b_.CreateSelect(b_.CreateOr(zero, endless),
                          b_.CreateSelect(grows, Number(kInfinity), Number(0)), power);
  power = b_.CreateSelect(b_.CreateFCmpUNO(x, y), Number(kNan), power);
  return PowerCases(x, y, power);
}

}  // namespace

Value* EmitDoubleErf(llvm::IRBuilderBase& builder, const MathUnits& units, Value* x) {
  return DoubleMath(builder, units, x->getType()).Erf(x);
}

Value* EmitDoubleOnePlusErf(llvm::IRBuilderBase& builder, const MathUnits& units, Value* x,
                            bool times_root_half) {
  return DoubleMath(builder, units, x->getType()).OnePlusErf(x, times_root_half);
}

Value* EmitDoubleSinOrCos(llvm::IRBuilderBase& builder, const MathUnits& units, Value* x,
                          bool cos) {
  return DoubleMath(builder, units, x->getType()).SinOrCos(x, cos);
}

Value* EmitDoublePow(llvm::IRBuilderBase& builder, const MathUnits& units, Value* x, Value* y) {
  return DoubleMath(builder, units, x->getType()).Pow(x, y);
}

}  // namespace burnish
