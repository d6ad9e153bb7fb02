"""The operators that programs are made of: a row says what a call of one may be given.

A row is a function of a `Maker` that returns arguments, or (arguments, keywords); it draws tensors from the program that
grows, or adds inputs to it. What is drawn need not be right: a call that eager refuses is none.
"""

import math

from program import EXACT, FUNCTION, ROUNDED, SUM, Unfit

ROWS = {}  # By the overload's full name: (kind, row).
READ = {}  # Of rows whose later results nothing reads: how many are.
FLOATS = ("float32", "float64", "bfloat16", "float16")
WIDE = ("float32", "float64")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
NUMBERS = FLOATS + INTEGERS
ALL = NUMBERS + ("bool",)
INDICES = ("int64", "int32")


def row(kind, *names, read=None):
    def add(make):
        for name in names:
            ROWS[f"aten.{name}"] = (kind, make)
            if read is not None:
                READ[f"aten.{name}"] = read
        return make
    return add


def _words(text, variant="default"):
    return [f"{name}.{variant}" for name in text.split()]


# ---- Element for element.

@row(EXACT, *_words("""abs neg ceil floor round trunc sign relu isnan isinf logical_not clone alias detach
    lift_fresh_copy abs_ neg_ relu_"""))
def _one_exact(m):
    return [m.tensor(ALL)]


@row(FUNCTION, *_words("""exp log sin cos tan tanh sigmoid sqrt rsqrt reciprocal erf erfc expm1 log1p log2 log10 exp2 sinh cosh asin
    acos atan asinh acosh atanh silu mish hardsigmoid square exp_ tanh_ sigmoid_"""))
def _one_function(m):
    return [m.tensor(FLOATS + ("int64", "bool"))]


@row(EXACT, *_words("bitwise_not"))
def _one_integer(m):
    return [m.tensor(INTEGERS + ("bool",))]


@row(SUM, "hardswish.default")  # Of x / 6 and 1/2, which cancel near -3 here.
def _hardswish(m):
    return [m.tensor(FLOATS)]


@row(SUM, "gelu.default")  # Of x and x erf(x), which cancel below 0 in eager.
def _gelu(m):
    x, approximate = m.tensor(FLOATS), m.choice(["none", "tanh"])
    if approximate == "none" and m.dtype(x) != "float64" and m.value(x).isposinf().any():
        raise Unfit("eager's is NaN in a vector of some CPUs, and infinity beside it")
    return [x], {"approximate": approximate}


@row(SUM, "softplus.default")  # Of log(1 + exp(x)), whose 1 is of the scale.
def _softplus(m):
    return [m.tensor(FLOATS), m.choice([0.01, 0.5, 1.0, 2.0])]


@row(FUNCTION, "leaky_relu.default", "elu.default")
def _one_with_number(m):
    return [m.tensor(FLOATS), m.choice([0.01, 0.5, 1.0, 2.0, math.inf, -1.0])]


@row(EXACT, "hardtanh.default", "clamp.default", "clamp_.default")
def _clamp(m):
    low = m.choice([-1, 0, -2.5, 1, -1000])
    return [m.tensor(NUMBERS), low, low + m.choice([0, 1, 2.5, 10000])]


@row(EXACT, "clamp_min.default", "clamp_max.default")
def _clamp_one(m):
    return [m.tensor(NUMBERS), m.choice([-1, 0, 1, 0.5, -300, 300])]


@row(EXACT, "clamp.Tensor")
def _clamp_by_tensors(m):
    x = m.tensor(NUMBERS)
    return [x, m.beside(x), m.beside(x)]


@row(EXACT, "round.decimals")
def _round_decimals(m):
    return [m.tensor(WIDE)], {"decimals": m.choice([0])}


@row(ROUNDED, *_words("add sub mul add_ sub_ mul_ rsub", "Tensor"))
def _arithmetic(m):
    x = m.tensor(NUMBERS)
    return [x, m.beside(x)]


@row(ROUNDED, *_words("add sub mul rsub add_ mul_", "Scalar"))
def _arithmetic_with_number(m):
    return [m.tensor(NUMBERS), m.choice([2, 0, -1, 0.5, 3, 1e-3])]


@row(SUM, "add.Tensor_", "sub.Tensor_")  # Eager rounds the product, or does not.
def _with_alpha(m):
    x = m.tensor(NUMBERS)
    return [x, m.beside(x)], {"alpha": m.choice([2, -1, 3])}


@row(EXACT, *_words("maximum minimum fmax fmin logical_and logical_or logical_xor"))
def _pair(m):
    x = m.tensor(ALL)
    return [x, m.beside(x)]


@row(EXACT, *_words("eq ne lt le gt ge", "Tensor"))
def _compare(m):
    x = m.tensor(ALL)
    return [x, m.beside(x, dtype=m.choice(ALL) if m.chance(0.2) else None)]


@row(EXACT, *_words("eq ne lt le gt ge", "Scalar"))
def _compare_number(m):
    return [m.tensor(ALL), m.choice([0, 1, -1, 0.5, math.inf])]


@row(ROUNDED, "div.Tensor", "div_.Tensor", "true_divide.Tensor")
def _divide(m):
    x = m.tensor(NUMBERS)
    return [x, m.beside(x)]


@row(ROUNDED, "div.Scalar")
def _divide_number(m):
    return [m.tensor(NUMBERS), m.choice([2, 3, -0.5, 0.1, 7, 0])]


@row(ROUNDED, "div.Tensor_mode")
def _divide_rounded(m):
    x = m.tensor(NUMBERS)
    return [x, m.beside(x)], {"rounding_mode": m.choice(["floor", "trunc", None])}


@row(ROUNDED, "div.Scalar_mode")
def _divide_rounded_by_number(m):
    return [m.tensor(NUMBERS), m.choice([2, 3, -0.5, 7, 0.1])], {"rounding_mode": m.choice(["floor", "trunc"])}


@row(ROUNDED, "floor_divide.default", "remainder.Tensor", "fmod.Tensor")
def _divide_whole(m):
    x = m.tensor(NUMBERS)
    return [x, m.beside(x)]


@row(ROUNDED, "remainder.Scalar", "fmod.Scalar", "floor_divide.Scalar")
def _divide_whole_number(m):
    return [m.tensor(NUMBERS), m.choice([2, 3, -2, 0.5, -7, math.inf])]


@row(ROUNDED, "remainder.Scalar_Tensor")
def _divide_number_whole(m):
    return [m.choice([2, 3, -2, 0.5, -7, math.inf]), m.tensor(NUMBERS)]


@row(FUNCTION, "pow.Tensor_Tensor")
def _power(m):
    x = m.tensor(FLOATS)
    return [x, m.beside(x)]


@row(FUNCTION, "pow.Tensor_Scalar")
def _power_number(m):
    return [m.tensor(FLOATS + INTEGERS), m.choice([2, 3, 0, 1, 0.5, -1, -0.5, 2.5])]


@row(FUNCTION, "pow.Scalar")
def _number_power(m):
    return [m.choice([2, 0.5, 1, 10.0]), m.tensor(FLOATS)]


@row(FUNCTION, "atan2.default")
def _atan2(m):
    x = m.tensor(FLOATS)
    return [x, m.beside(x)]


@row(EXACT, *_words("bitwise_and bitwise_or bitwise_xor", "Tensor"), *_words("bitwise_left_shift bitwise_right_shift", "Tensor"))
def _bitwise(m):
    x = m.tensor(INTEGERS + ("bool",))
    return [x, m.beside(x)]


@row(EXACT, *_words("bitwise_and bitwise_or bitwise_xor", "Scalar"),
     *_words("bitwise_left_shift bitwise_right_shift", "Tensor_Scalar"))
def _bitwise_number(m):
    return [m.tensor(INTEGERS), m.choice([0, 1, 3, 7, -1, 5])]


@row(EXACT, *_words("bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift", "Scalar_Tensor"))
def _number_bitwise(m):
    return [m.choice([0, 1, 3, -1, 100]), m.tensor(INTEGERS)]


@row(ROUNDED, "_prelu_kernel.default")
def _prelu(m):
    x = m.tensor(FLOATS)
    return [x, m.beside(x)]


@row(EXACT, "where.self")
def _where(m):
    x = m.tensor(ALL)
    return [m.beside(x, dtype="bool"), x, m.beside(x)]


@row(EXACT, "where.ScalarOther")
def _where_number(m):
    x = m.tensor(NUMBERS)
    return [m.beside(x, dtype="bool"), x, m.choice([0, 1, -math.inf])]


@row(EXACT, "where.ScalarSelf")
def _where_number_first(m):
    condition, x, number = _where_number(m)
    return [condition, number, x]


@row(EXACT, "where.Scalar")
def _where_numbers(m):
    return [m.fresh("bool", m.any_shape()), m.choice([0, 1.5, True]), m.choice([0, 1, -math.inf, False])]


@row(EXACT, "masked_fill.Tensor")
def _masked_fill_by_tensor(m):
    x = m.tensor(NUMBERS)
    return [x, m.beside(x, dtype="bool"), m.fresh(m.dtype(x), [])]


@row(EXACT, "masked_fill.Scalar", "masked_fill_.Scalar")
def _masked_fill(m):
    x = m.tensor(NUMBERS)
    return [x, m.beside(x, dtype="bool"), m.choice([0, 1, -1, 5])]


# ---- Over dimensions.

@row(SUM, "sum.dim_IntList", "mean.dim")
def _sum(m):
    x = m.tensor(NUMBERS + ("bool",), least_rank=1)
    return [x, m.dims(x), m.flag()]


@row(SUM, "sum.default", "mean.default", "prod.default")
def _sum_of_all(m):
    return [m.tensor(NUMBERS)]


@row(SUM, "prod.dim_int", "cumsum.default", "cumprod.default", "logcumsumexp.default")
def _along(m):
    x = m.tensor(NUMBERS, least_rank=1)
    return [x, m.dim(x)]


@row(FUNCTION, "logsumexp.default")
def _logsumexp(m):
    x = m.tensor(FLOATS, least_rank=1)
    return [x, m.dims(x), m.flag()]


@row(EXACT, "amax.default", "amin.default")
def _extremes(m):
    x = m.tensor(ALL, least_rank=1)
    return [x, m.dims(x), m.flag()]


@row(EXACT, *_words("max min any all argmax argmin"))
def _of_all(m):
    return [m.tensor(ALL)]


@row(EXACT, "max.dim", "min.dim", "argmax.default_dim", "argmin.default_dim", "any.dim", "all.dim", "cummax.default", "cummin.default")
def _over_one(m):
    x = m.tensor(ALL, least_rank=1)
    return [x, m.dim(x)]


@row(EXACT, "any.dims", "all.dims")
def _over_some(m):
    x = m.tensor(ALL)
    return [x, m.choice([None, m.dims(x)]), m.flag()]


@row(FUNCTION, "var.dim")
def _variance_unbiased(m):
    x = m.tensor(WIDE, least_rank=1)
    return [x, m.dims(x), m.flag(), m.flag()]


@row(FUNCTION, "var.correction", "std.correction")
def _variance(m):
    x = m.tensor(WIDE, least_rank=1)
    return [x, m.dims(x)], {"correction": m.choice([0, 1]), "keepdim": m.flag()}


@row(FUNCTION, "var_mean.correction")
def _variance_and_mean(m):
    x = m.distinct(WIDE)  # Eager's mean of an infinity is NaN.
    return [x, m.dims(x)], {"correction": m.choice([0, 1]), "keepdim": m.flag()}


@row(FUNCTION, "linalg_vector_norm.default")
def _norm(m):
    x = m.tensor(FLOATS, least_rank=1)
    return [x, m.choice([1, 2, 0, math.inf, -math.inf, 3]), m.dims(x)]


@row(EXACT, "sort.stable")
def _sort(m):
    x = m.tensor(NUMBERS, least_rank=1)
    return [x], {"stable": True, "dim": m.dim(x), "descending": m.flag()}


@row(EXACT, "sort.default")
def _sort_of_distinct(m):
    x = m.distinct(WIDE)
    return [x, m.dim(x), m.flag()]


@row(EXACT, "topk.default")
def _topk(m):
    x = m.distinct(WIDE)
    dim = m.dim(x)
    return [x, m.up_to(m.shape(x)[dim]), dim, m.flag()]


@row(FUNCTION, "_softmax.default", "_log_softmax.default")
def _softmax(m):
    x = m.tensor(FLOATS, least_rank=1)
    return [x, m.dim(x), False]


@row(FUNCTION, "softmax.int", "log_softmax.int", "_safe_softmax.default")
def _softmax_whole(m):
    x = m.tensor(FLOATS, least_rank=1)
    return [x, m.dim(x)]


# Rows of one overload that is called in two ways have a name of their own behind it.
def overload_of(name):
    return {"aten.add.Tensor_": "aten.add.Tensor", "aten.sub.Tensor_": "aten.sub.Tensor",
            "aten.argmax.default_dim": "aten.argmax.default", "aten.argmin.default_dim": "aten.argmin.default"}.get(name, name)


# Converters without a row, and why.
WITHOUT = dict.fromkeys((f"aten.{name}" for name in ("empty.memory_format", "empty_like.default", "empty_strided.default",
                                                     "new_empty.default")), "eager's elements are anything")


def by_index():
    """Names of rows that take an index."""
    words = ("embedding", "index", "gather", "take", "scatter", "nll_loss", "unpool")
    return [name for name in ROWS if any(f".{word}" in name for word in words) and not any(
        f".{word}" in name for word in ("slice", "max_pool"))]
