"""Converters of what works element for element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

from .builder import GraphBuilder, Operand, Tensor
from .registry import Unsupported, register_converter
from .types import element_type, result_type

# ---- One tensor, in the type of the result: integers become floats first where PyTorch says so.

_UNARY = {
    "abs": "abs", "ceil": "ceil", "cos": "cos", "erf": "erf", "exp": "exp", "floor": "floor",
    "hardswish": "hard_swish", "log": "log", "mish": "mish", "neg": "neg", "reciprocal": "reciprocal",
    "relu": "relu", "round": "round", "sigmoid": "sigmoid", "silu": "silu",
    "sin": "sin", "sqrt": "sqrt", "tanh": "tanh"}
_WHOLE = frozenset({"ceil", "floor", "round"})  # Integers are what they are.


def _unary(name: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
        x = g.cast(self, element_type(node))
        if name in _WHOLE and not x.is_float:
            return x
        if x.dtype == "bool" and name in ("abs", "relu"):
            return x
        return g.op(name, x)
    return convert


for _name, _op in _UNARY.items():
    register_converter(f"aten.{_name}.default")(_unary(_op))


def _function(of: Callable[[GraphBuilder, Tensor], Tensor]) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
        return of(g, g.cast(self, element_type(node)))
    return convert


def _polynomial(g: GraphBuilder, x: Tensor, factors: Sequence[float]) -> Tensor:
    """The first factor is of the highest power."""
    total: Operand = factors[0]
    for factor in factors[1:]:
        total = g.add(g.mul(x, total), factor)
    assert isinstance(total, Tensor)
    return total


def _log1p(g: GraphBuilder, x: Tensor) -> Tensor:
    """What 1 + x loses of x, the quotient gives back (Goldberg, "What every computer scientist should
    know about floating-point arithmetic", 1991, theorem 4)."""
    total = g.add(x, 1.0)
    kept, log = g.sub(total, 1.0), g.op("log", total)
    large = g.compare("greater", x, 1e8)  # From infinity on the quotient is none.
    return g.where(g.compare("equal", kept, 0.0), x, g.where(large, log, g.div(g.mul(log, x), kept)))


def _expm1(g: GraphBuilder, x: Tensor) -> Tensor:
    """tanh(x / 2) (exp(x) + 1), without the difference that cancels near 0."""
    return g.mul(g.op("tanh", g.mul(x, 0.5)), g.add(g.op("exp", x), 1.0))


def _half_exponential(g: GraphBuilder, x: Tensor) -> Tensor:
    """exp(x) / 2 as a product that overflows no sooner than the result."""
    half = g.op("exp", g.mul(x, 0.5))
    return g.mul(g.mul(half, 0.5), half)


def _cosh(g: GraphBuilder, x: Tensor) -> Tensor:
    e = _half_exponential(g, g.op("abs", x))
    return g.add(e, g.div(0.25, e))


def _sinh(g: GraphBuilder, x: Tensor) -> Tensor:
    e = _half_exponential(g, g.op("abs", x))
    large = g.mul(g.op("sign", x), g.sub(e, g.div(0.25, e)))
    square = g.mul(x, x)  # Below 1 the exponentials cancel: Taylor's series, right to 2e-17 there.
    series = _polynomial(g, square, [1 / math.factorial(k) for k in range(17, 0, -2)])
    return g.where(g.compare("less", square, 1.0), g.mul(x, series), large)


def _atan(g: GraphBuilder, x: Tensor) -> Tensor:
    """Moshier, "Methods and Programs for Mathematical Functions" (Cephes), atan.c."""
    a = g.op("abs", x)
    far = g.compare("greater", a, math.tan(3 * math.pi / 8))
    middle = g.compare("greater", a, 0.66)
    t = g.where(far, g.div(-1.0, a), g.where(middle, g.div(g.sub(a, 1.0), g.add(a, 1.0)), a))
    offset = g.where(far, g.number(math.pi / 2, x.dtype),
                     g.where(middle, g.number(math.pi / 4, x.dtype), g.number(0.0, x.dtype)))
    z = g.mul(t, t)
    p = _polynomial(g, z, [-8.750608600031904122785e-1, -1.615753718733365076637e1,
                           -7.500855792314704667340e1, -1.228866684490136173410e2,
                           -6.485021904942025371773e1])
    q = _polynomial(g, z, [1.0, 2.485846490142306297962e1, 1.650270098316988542046e2,
                           4.328810604912902668951e2, 4.853903996359136964868e2,
                           1.945506571482613964425e2])
    series = g.add(t, g.mul(t, g.mul(z, g.div(p, q))))
    return g.mul(g.op("sign", x), g.add(offset, series))  # NaN has no sign: the product keeps it.


def _asin(g: GraphBuilder, x: Tensor) -> Tensor:
    return _atan(g, g.div(x, g.op("sqrt", g.mul(g.sub(1.0, x), g.add(1.0, x)))))


def _acos(g: GraphBuilder, x: Tensor) -> Tensor:
    """Twice that of the half angle, so that nothing cancels near 1."""
    half = _atan(g, g.op("sqrt", g.div(g.sub(1.0, x), g.add(1.0, x))))
    return g.add(half, half)


def _asinh(g: GraphBuilder, x: Tensor) -> Tensor:
    a = g.op("abs", x)
    square = g.mul(a, a)
    near = _log1p(g, g.add(a, g.div(square, g.add(g.op("sqrt", g.add(square, 1.0)), 1.0))))
    far = g.add(g.op("log", a), math.log(2))  # Where the square could overflow.
    return g.mul(g.op("sign", x), g.where(g.compare("greater", a, 1e9), far, near))


def _acosh(g: GraphBuilder, x: Tensor) -> Tensor:
    t = g.sub(x, 1.0)
    root = g.mul(g.op("sqrt", t), g.op("sqrt", g.add(t, 2.0)))
    far = g.add(g.op("log", x), math.log(2))
    return g.where(g.compare("greater", x, 1e9), far, _log1p(g, g.add(t, root)))


def _atanh(g: GraphBuilder, x: Tensor) -> Tensor:
    a = g.op("abs", x)
    half = g.mul(_log1p(g, g.div(g.add(a, a), g.sub(1.0, a))), 0.5)
    return g.mul(g.op("sign", x), half)


def _erfc(g: GraphBuilder, x: Tensor) -> Tensor:
    """From 1 on (in 32 bits from 1/2) not as a difference, which cancels: exp(-x^2) by rational functions (Moshier, Cephes, ndtr.c), the square in
    two parts, so that its rounding does not become the result's."""
    whole = g.mul(g.op("floor", g.mul(x, 16.0)), 1 / 16)
    power = g.mul(g.op("exp", g.op("neg", g.mul(whole, whole))),
                  g.op("exp", g.op("neg", g.mul(g.sub(x, whole), g.add(x, whole)))))
    near = g.div(_polynomial(g, x, [
        2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687, 4.86371970985681366614e1,
        1.96520832956077098242e2, 5.26445194995477358631e2, 9.34528527171957607540e2, 1.02755188689515710272e3,
        5.57535335369399327526e2]), _polynomial(g, x, [
            1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2, 9.75708501743205489753e2,
            1.82390916687909736289e3, 2.24633760818710981792e3, 1.65666309194161350182e3, 5.57535340817727675546e2]))
    far = g.div(_polynomial(g, x, [
        5.64189583547755073984e-1, 1.27536670759978104416, 5.01905042251180477414, 6.16021097993053585195,
        7.40974269950448939160, 2.97886665372100240670]), _polynomial(g, x, [
            1.0, 2.26052863220117276590, 9.39603524938001434673, 1.20489539808096656605e1, 1.70814450747565897222e1,
            9.60896809063285878198, 3.36907645100081516050]))
    tail = g.mul(power, g.where(g.compare("less", x, 8.0), near, far))
    # Where the result is 0 both factors may be infinite.
    tail = g.where(g.compare("less", x, 30.0), tail, g.number(0.0, x.dtype))
    # Below 1 these are right to 8e-12.
    begin = 1.0 if x.dtype == "float64" else 0.5
    return g.where(g.compare("greater", x, begin), tail, g.sub(1.0, g.op("erf", x)))


def _hardsigmoid(g: GraphBuilder, x: Tensor) -> Tensor:
    """x / 6 + 1/2 would cancel near -3."""
    return g.mul(g.op("clip", g.add(x, 3.0), min=0.0, max=6.0), 1 / 6)


def _trunc(g: GraphBuilder, x: Tensor) -> Tensor:
    if not x.is_float:
        return x
    return g.where(g.compare("less", x, 0.0), g.op("ceil", x), g.op("floor", x))


_FUNCTIONS: dict[str, Callable[[GraphBuilder, Tensor], Tensor]] = {
    "acos": _acos, "acosh": _acosh, "asin": _asin, "asinh": _asinh, "atan": _atan, "atanh": _atanh,
    "cosh": _cosh, "erfc": _erfc, "expm1": _expm1, "hardsigmoid": _hardsigmoid, "log1p": _log1p, "sinh": _sinh, "trunc": _trunc,
    "exp2": lambda g, x: g.op("exp", g.mul(x, math.log(2))),
    "log2": lambda g, x: g.mul(g.op("log", x), 1 / math.log(2)),
    "log10": lambda g, x: g.mul(g.op("log", x), 1 / math.log(10)),
    "rsqrt": lambda g, x: g.op("reciprocal", g.op("sqrt", x)),
    "square": lambda g, x: g.mul(x, x),
    "tan": lambda g, x: g.div(g.op("sin", x), g.op("cos", x)),
}
for _name, _of in _FUNCTIONS.items():
    register_converter(f"aten.{_name}.default")(_function(_of))


@register_converter("aten.sign.default")
def sign(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
    """Of NaN 0, as PyTorch has it."""
    if not self.is_float:
        return self if self.dtype == "bool" else g.op("sign", self)
    return g.where(g.op("is_nan", self, dtype="bool"), g.number(0.0, self.dtype), g.op("sign", self))


@register_converter("aten.isnan.default")
def isnan(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
    if self.is_float:
        return g.op("is_nan", self, dtype="bool")
    return g.expand(g.number(False, "bool"), self.shape)


@register_converter("aten.isinf.default")
def isinf(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
    if self.is_float:
        return g.compare("equal", g.op("abs", self), math.inf)
    return g.expand(g.number(False, "bool"), self.shape)


@register_converter("aten.logical_not.default", "aten.bitwise_not.default")
def logical_not(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
    if element_type(node) == "bool":
        return g.logical_not(g.cast(self, "bool"))
    ones = {"uint8": 255, "uint16": 65535, "uint32": 2 ** 32 - 1, "uint64": 2 ** 64 - 1}
    return g.sub(ones.get(self.dtype, -1), self)


@register_converter("aten.round.decimals")
def round_decimals(g: GraphBuilder, node: torch.fx.Node, self: Tensor, decimals: int) -> Tensor:
    if not self.is_float:
        raise Unsupported(f"decimals of {self.dtype}")
    scale = 10.0 ** abs(decimals)
    if decimals >= 0:
        return g.div(g.op("round", g.mul(self, scale)), scale)
    return g.mul(g.op("round", g.div(self, scale)), scale)


@register_converter("aten.gelu.default")
def gelu(g: GraphBuilder, node: torch.fx.Node, self: Tensor, approximate: str) -> Tensor:
    return g.op("gelu", self, **({} if approximate == "none" else {"approximate": approximate}))


@register_converter("aten.leaky_relu.default")
def leaky_relu(g: GraphBuilder, node: torch.fx.Node, self: Tensor,
               negative_slope: float) -> Tensor:
    if math.isfinite(negative_slope):
        return g.op("leaky_relu", self, alpha=float(negative_slope))
    return g.where(g.compare("greater", self, 0.0), self, g.mul(self, negative_slope))  # NaN of 0, as eager has it.


@register_converter("aten.elu.default")
def elu(g: GraphBuilder, node: torch.fx.Node, self: Tensor, alpha: float, scale: float,
        input_scale: float) -> Tensor:
    if scale == 1 and input_scale == 1:
        return g.op("elu", self, alpha=float(alpha))
    low = g.mul(_expm1(g, g.mul(self, input_scale)), alpha * scale)
    return g.where(g.compare("greater", self, 0.0), g.mul(self, scale), low)


@register_converter("aten.softplus.default")
def softplus(g: GraphBuilder, node: torch.fx.Node, self: Tensor, beta: float,
             threshold: float) -> Tensor:
    x = self if beta == 1 else g.mul(self, beta)
    y = g.op("softplus", x)
    y = y if beta == 1 else g.div(y, beta)
    return g.where(g.compare("greater", x, threshold), self, y)


@register_converter("aten._prelu_kernel.default")
def prelu(g: GraphBuilder, node: torch.fx.Node, self: Tensor, weight: Tensor) -> Tensor:
    """As PyTorch has it: of 0 the product, too, which is NaN where the weight is infinite."""
    return g.where(g.compare("greater", self, 0.0), self, g.mul(weight, self))


@register_converter("aten.hardtanh.default")
def hardtanh(g: GraphBuilder, node: torch.fx.Node, self: Tensor, min_val: float,
             max_val: float) -> Tensor:
    return _clipped(g, g.cast(self, element_type(node)), min_val, max_val)


def _clipped(g: GraphBuilder, x: Tensor, low: float | None, high: float | None) -> Tensor:
    if x.is_float:
        bounds = {"min": low, "max": high}
        return g.op("clip", x, **{name: float(bound) for name, bound in bounds.items()
                                  if bound is not None})
    # As constants: an attribute is a floating-point number, which does not hold every integer. A bound that the type does
    # not hold is none: PyTorch refuses those that would leave nothing.
    of_type = numpy.iinfo(x.dtype)
    x = x if low is None or low < of_type.min else g.binary("max", x, low)
    return x if high is None or high > of_type.max else g.binary("min", x, high)


@register_converter("aten.clamp.default", "aten.clamp_min.default", "aten.clamp_max.default")
def clamp(g: GraphBuilder, node: torch.fx.Node, self: Tensor, min: Any = None,
          max: Any = None) -> Tensor:
    return _clipped(g, g.cast(self, element_type(node)), min, max)


@register_converter("aten.clamp.Tensor")
def clamp_tensor(g: GraphBuilder, node: torch.fx.Node, self: Tensor, min: Tensor | None,
                 max: Tensor | None) -> Tensor:
    dtype = element_type(node)
    x = g.cast(self, dtype)
    x = x if min is None else g.binary("max", x, g.cast(min, dtype))
    return x if max is None else g.binary("min", x, g.cast(max, dtype))


# ---- Two tensors, or a tensor and a number, in the type of the result.

def _operands(g: GraphBuilder, dtype: str, *operands: Operand) -> list[Tensor]:
    return [g.cast(x, dtype) if isinstance(x, Tensor) else g.number(x, dtype) for x in operands]


def _factors(g: GraphBuilder, dtype: str, a: Operand, b: Operand) -> list[Tensor]:
    """Of arithmetic, which rounds its result alone."""
    if isinstance(a, Tensor) and not isinstance(b, Tensor):
        return [g.cast(a, dtype), g.factor(b, dtype)]
    return _operands(g, dtype, a, b)


@register_converter("aten.add.Tensor", "aten.add.Scalar")
def add(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand,
        alpha: float) -> Tensor:
    a, b = _factors(g, element_type(node), self, other)
    if a.dtype == "bool":
        if not alpha:
            return g.op("and", g.op("or", a, b), a)
        return g.op("or", a, b)
    return g.add(a, b if alpha == 1 else g.mul(b, alpha))


@register_converter("aten.sub.Tensor", "aten.sub.Scalar")
def sub(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand,
        alpha: float) -> Tensor:
    a, b = _factors(g, element_type(node), self, other)
    return g.sub(a, b if alpha == 1 else g.mul(b, alpha))


@register_converter("aten.rsub.Scalar", "aten.rsub.Tensor")
def rsub(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand,
         alpha: float) -> Tensor:
    return sub(g, node, other, self, alpha)


@register_converter("aten.mul.Tensor", "aten.mul.Scalar")
def mul(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand) -> Tensor:
    a, b = _factors(g, element_type(node), self, other)
    return g.op("and", a, b) if a.dtype == "bool" else g.mul(a, b)


def _extreme(name: str, on_bool: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand) -> Tensor:
        a, b = _operands(g, element_type(node), self, other)
        return g.op(on_bool if a.dtype == "bool" else name, a, b)
    return convert


register_converter("aten.maximum.default")(_extreme("max", "or"))
register_converter("aten.minimum.default")(_extreme("min", "and"))


def _fraction(g: GraphBuilder, a: Tensor, b: Tensor) -> Tensor:
    """What is left of a / b, with the sign of a."""
    return g.op("mod", a, b, fmod=1)


def _is_of_other_sign(g: GraphBuilder, left: Tensor, b: Tensor) -> Tensor:
    """Where a remainder is not 0, and below 0 where `b` is above it or the other way round."""
    differ = g.op("xor", g.compare("less", left, 0), g.compare("less", b, 0))
    return g.op("and", g.logical_not(g.compare("equal", left, 0)), differ)


def _remainder(g: GraphBuilder, a: Tensor, b: Tensor) -> Tensor:
    """What is left of a / b, with the sign of b."""
    if not a.is_float:
        return g.op("mod", a, b)
    left = _fraction(g, a, b)
    return g.where(_is_of_other_sign(g, left, b), g.add(left, b), left)


def _floor_divide(g: GraphBuilder, a: Tensor, b: Tensor) -> Tensor:
    """Of floats as Python and PyTorch do it: by the exact remainder, since a / b may round up. What is infinite divided
    by anything is NaN; what is finite divided by infinity is 0 or -1."""
    if not a.is_float:
        # Not a - a % b over b: the difference may lie below the least integer.
        return g.where(_is_of_other_sign(g, _fraction(g, a, b), b), g.sub(g.div(a, b), 1), g.div(a, b))
    plain, left = g.div(a, b), _fraction(g, a, b)
    quotient = g.div(g.sub(a, left), b)
    quotient = g.where(_is_of_other_sign(g, left, b), g.sub(quotient, 1.0), quotient)
    zero = g.mul(plain, 0.0)  # With its sign.
    floored = g.where(g.compare("equal", quotient, 0.0), zero, g.op("round", quotient))
    return g.where(g.compare("equal", b, 0.0), plain, floored)


@register_converter("aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor")
def div(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand) -> Tensor:
    return g.div(*_factors(g, element_type(node), self, other))


@register_converter("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def div_mode(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand,
             rounding_mode: str | None) -> Tensor:
    a, b = _operands(g, element_type(node), self, other)
    if rounding_mode == "floor":
        return _floor_divide(g, a, b)
    quotient = g.div(a, b)
    return quotient if rounding_mode is None else _trunc(g, quotient)


@register_converter("aten.floor_divide.default", "aten.floor_divide.Scalar")
def floor_divide(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand) -> Tensor:
    return _floor_divide(g, *_operands(g, element_type(node), self, other))


@register_converter("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def remainder(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand) -> Tensor:
    return _remainder(g, *_operands(g, element_type(node), self, other))


@register_converter("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand) -> Tensor:
    return _fraction(g, *_operands(g, element_type(node), self, other))


@register_converter("aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar", "aten.pow.Scalar")
def power(g: GraphBuilder, node: torch.fx.Node, self: Operand, exponent: Operand) -> Tensor:
    a, b = _factors(g, element_type(node), self, exponent)
    if a.is_float and a.dtype != "float16" and not isinstance(exponent, Tensor) and abs(exponent) == 0.5:
        # PyTorch's is a root then, but for float16, and so of -infinity NaN.
        root = g.op("sqrt", a)
        return root if exponent > 0 else g.op("reciprocal", root)
    return g.op("pow", a, b)


@register_converter("aten.atan2.default")
def atan2(g: GraphBuilder, node: torch.fx.Node, self: Tensor, other: Tensor) -> Tensor:
    y, x = _operands(g, element_type(node), self, other)
    half_turn = g.where(_negative(g, y), g.number(-math.pi, y.dtype), g.number(math.pi, y.dtype))
    angle = _atan(g, g.div(y, x))
    turned = g.where(_negative(g, x), g.add(angle, half_turn), angle)
    zeros = g.op("and", g.compare("equal", x, 0.0), g.compare("equal", y, 0.0))
    axis = g.where(_negative(g, x), half_turn, g.mul(y, 1.0))
    both = g.op("and", g.compare("equal", g.op("abs", x), math.inf),
                g.compare("equal", g.op("abs", y), math.inf))
    corner = g.mul(half_turn, g.where(_negative(g, x), g.number(0.75, y.dtype),
                                      g.number(0.25, y.dtype)))
    return g.where(zeros, axis, g.where(both, corner, turned))


def _negative(g: GraphBuilder, x: Tensor) -> Tensor:
    """Below 0, or -0: its reciprocal is below 0."""
    return g.op("or", g.compare("less", x, 0.0), g.compare("less", g.op("reciprocal", x), 0.0))


# ---- Comparisons, in the type that both operands have in common.

def _comparison(name: str, negated: bool = False) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand) -> Tensor:
        dtype = result_type(node)
        if dtype == "bool" and name != "equal":
            dtype = "uint8"
        a, b = _operands(g, dtype, self, other)
        result = g.compare(name, a, b)
        return g.logical_not(result) if negated else result
    return convert


for _name, (_op, _negated) in {"eq": ("equal", False), "ne": ("equal", True), "lt": ("less", False),
                               "le": ("less_equal", False), "gt": ("greater", False),
                               "ge": ("greater_equal", False)}.items():
    register_converter(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")(_comparison(_op, _negated))


def _logical(name: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor, other: Tensor) -> Tensor:
        return g.op(name, *_operands(g, "bool", self, other))
    return convert


for _name in ("and", "or", "xor"):
    register_converter(f"aten.logical_{_name}.default")(_logical(_name))


@register_converter("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf",
                    "aten.where.Scalar")
def where(g: GraphBuilder, node: torch.fx.Node, condition: Tensor, self: Operand,
          other: Operand) -> Tensor:
    a, b = _operands(g, element_type(node), self, other)
    return g.where(g.cast(condition, "bool"), a, b)


@register_converter("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(g: GraphBuilder, node: torch.fx.Node, self: Tensor, mask: Tensor,
                value: Operand) -> Tensor:
    return g.where(mask, *_operands(g, self.dtype, value, self))
