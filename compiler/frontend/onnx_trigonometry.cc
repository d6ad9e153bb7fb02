// Trigonometric and hyperbolic functions, of what expressions have: sin, cos, exp, log, sqrt.
//
// Forms are chosen so that no digits cancel; what each costs is a few operations an element, fused
// into its neighbours.
#include <array>
#include <cmath>
#include <utility>

#include "base/status_macros.h"
#include "compiler/frontend/onnx_compose.h"

namespace burnish {
namespace {

ValueId Sqrt(Composer& c, ValueId x) { return c.Op("sqrt", {x}); }
ValueId Abs(Composer& c, ValueId x) { return c.Op("abs", {x}); }

// The first of `factors` is of the highest power.
template <size_t n>
ValueId Polynomial(Composer& c, ValueId x, const std::array<double, n>& factors) {
  ValueId sum = c.NumberLike(x, factors[0]);
  for (size_t i = 1; i < n; ++i) sum = c.Add(c.Mul(sum, x), factors[i]);
  return sum;
}

// log(1 + x): what 1 + x loses of x, the quotient gives back (Goldberg, "What every computer
// scientist should know about floating-point arithmetic", 1991, theorem 4).
ValueId Log1p(Composer& c, ValueId x) {
  const ValueId sum = c.Add(x, 1.0);
  const ValueId kept = c.Sub(sum, 1.0);
  const ValueId log = c.Op("log", {sum});
  const ValueId corrected = c.Div(c.Mul(log, x), kept);
  // From infinity on the quotient is none, and there is nothing to give back.
  const ValueId large = c.Op("greater", {x, c.NumberLike(x, 1e8)});
  return c.Where(c.Equal(kept, 0.0), x, c.Where(large, log, corrected));
}

// Moshier, "Methods and Programs for Mathematical Functions" (Cephes), atan.c: the argument is
// brought below 0.66 by the theorem of addition, and a rational function is right there to 2e-16.
ValueId Atan(Composer& c, ValueId x) {
  const ValueId a = Abs(c, x);
  const ValueId far = c.Op("greater", {a, c.NumberLike(a, std::tan(3 * M_PI / 8))});
  const ValueId middle = c.Op("greater", {a, c.NumberLike(a, 0.66)});
  const ValueId inverse = c.Div(c.NumberLike(a, -1), a);
  const ValueId turned = c.Div(c.Sub(a, 1.0), c.Add(a, 1.0));
  const ValueId t = c.Where(far, inverse, c.Where(middle, turned, a));
  const ValueId offset = c.Where(far, c.NumberLike(a, M_PI / 2),
                                 c.Where(middle, c.NumberLike(a, M_PI / 4), c.NumberLike(a, 0)));
  const ValueId z = c.Mul(t, t);
  const ValueId p = Polynomial<5>(
      c, z,
      {-8.750608600031904122785E-1, -1.615753718733365076637E1, -7.500855792314704667340E1,
       -1.228866684490136173410E2, -6.485021904942025371773E1});
  const ValueId q = Polynomial<6>(
      c, z,
      {1, 2.485846490142306297962E1, 1.650270098316988542046E2, 4.328810604912902668951E2,
       4.853903996359136964868E2, 1.945506571482613964425E2});
  const ValueId series = c.Add(t, c.Mul(t, c.Mul(z, c.Div(p, q))));
  // NaN has no sign: the product keeps it.
  return c.Mul(c.Op("sign", {x}), c.Add(offset, series));
}

// tan of an angle is its sine over its cosine.
ValueId Asin(Composer& c, ValueId x) {
  const ValueId one = c.NumberLike(x, 1);
  const ValueId cosine = Sqrt(c, c.Mul(c.Sub(one, x), c.Add(one, x)));
  return Atan(c, c.Div(x, cosine));
}

// Of the half angle, so that nothing cancels near 1.
ValueId Acos(Composer& c, ValueId x) {
  const ValueId one = c.NumberLike(x, 1);
  const ValueId half = Atan(c, Sqrt(c, c.Div(c.Sub(one, x), c.Add(one, x))));
  return c.Add(half, half);
}

ValueId Tan(Composer& c, ValueId x) { return c.Div(c.Op("sin", {x}), c.Op("cos", {x})); }

// exp(|x|) / 2 as a product of halves, which does not overflow before the result does.
ValueId HalfExponential(Composer& c, ValueId a) {
  const ValueId half = c.Op("exp", {c.Mul(a, 0.5)});
  return c.Mul(c.Mul(half, 0.5), half);
}

ValueId Cosh(Composer& c, ValueId x) {
  const ValueId e = HalfExponential(c, Abs(c, x));
  return c.Add(e, c.Div(c.NumberLike(e, 0.25), e));
}

ValueId Sinh(Composer& c, ValueId x) {
  const ValueId e = HalfExponential(c, Abs(c, x));
  const ValueId large = c.Mul(c.Op("sign", {x}), c.Sub(e, c.Div(c.NumberLike(e, 0.25), e)));
  // Below 1 the exponentials cancel: the series, right to 2e-17 there.
  const ValueId z = c.Mul(x, x);
  const ValueId series =
      Polynomial<9>(c, z,
                    {1 / 355687428096000.0, 1 / 1307674368000.0, 1 / 6227020800.0, 1 / 39916800.0,
                     1 / 362880.0, 1 / 5040.0, 1 / 120.0, 1 / 6.0, 1});
  return c.Where(c.Less(z, 1.0), c.Mul(x, series), large);
}

ValueId Asinh(Composer& c, ValueId x) {
  const ValueId a = Abs(c, x);
  const ValueId square = c.Mul(a, a);
  const ValueId root = Sqrt(c, c.Add(square, 1.0));
  const ValueId near = Log1p(c, c.Add(a, c.Div(square, c.Add(root, 1.0))));
  // Where the square could overflow, the root is the number itself.
  const ValueId far = c.Add(c.Op("log", {a}), std::log(2.0));
  const ValueId is_far = c.Op("greater", {a, c.NumberLike(a, 1e9)});
  return c.Mul(c.Op("sign", {x}), c.Where(is_far, far, near));
}

ValueId Acosh(Composer& c, ValueId x) {
  const ValueId t = c.Sub(x, 1.0);
  // Two roots: the product of two negative numbers would have one.
  const ValueId root = c.Mul(Sqrt(c, t), Sqrt(c, c.Add(t, 2.0)));
  const ValueId near = Log1p(c, c.Add(t, root));
  const ValueId far = c.Add(c.Op("log", {x}), std::log(2.0));
  return c.Where(c.Op("greater", {x, c.NumberLike(x, 1e9)}), far, near);
}

ValueId Atanh(Composer& c, ValueId x) {
  const ValueId a = Abs(c, x);
  const ValueId one = c.NumberLike(a, 1);
  const ValueId half = c.Mul(Log1p(c, c.Div(c.Add(a, a), c.Sub(one, a))), 0.5);
  return c.Mul(c.Op("sign", {x}), half);
}

OnnxTranslator Function(ValueId (*function)(Composer&, ValueId)) {
  return [function](OnnxNode& node) -> absl::Status {
    Composer c(node);
    const ValueId x = c.In(0);
    RETURN_IF_ERROR(c.status());
    const DType dtype = c.DTypeOf(x);
    if (!IsFloat(dtype)) return node.Invalid("wants floating-point input");
    // What is in between has more digits, and larger numbers, than a float of 16 bits.
    c.Output(0, c.Cast(function(c, c.Cast(x, ComputeType(dtype))), dtype));
    return c.status();
  };
}

}  // namespace

void AddTrigonometryTranslators(OnnxTranslators& t) {
  const std::pair<const char*, ValueId (*)(Composer&, ValueId)> functions[] = {
      {"Tan", Tan},   {"Asin", Asin},   {"Acos", Acos},   {"Atan", Atan},   {"Sinh", Sinh},
      {"Cosh", Cosh}, {"Asinh", Asinh}, {"Acosh", Acosh}, {"Atanh", Atanh},
  };
  for (const auto& [name, function] : functions) t[name] = Function(function);
}

}  // namespace burnish
