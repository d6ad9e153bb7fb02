"""Rows: reductions, products, normalizations and what else sums."""

import numpy as np

from builder import F32, FLOATS, I64
from evaluate import Unfit
from rows import finite, list_arg, row, small, types


def last_static(v):
    return v.rank > 0 and v.static(v.rank - 1)


@row("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
     "ReduceLogSumExp", "ReduceSumSquare")
def reduce(b, op):
    # ONNX does not say how logarithms are rounded to integers, nor which of NaN and a number is the greater
    # one; ONNX Runtime multiplies integers as doubles; a product's order says whether 0 or infinity is first.
    kinds = [dtype for dtype in types(op, b.opset) if dtype.kind == "f" or "Log" not in op and "Prod" not in op]
    bounded = op in ("ReduceMax", "ReduceMin", "ReduceProd")
    x = b.value(kinds, where=lambda v: small(v) if v.dtype.kind != "f" else finite(v) or not bounded, full=True)
    if op == "ReduceLogSum":
        x = b.emit("Abs", [x])
    attributes = {"keepdims": b.choice([0, 1])}
    if b.chance(0.15):
        more = {"noop_with_empty_axes": 1} if b.opset >= (13 if op == "ReduceSum" else 18) and b.chance(0.5) else {}
        return b.emit(op, [x], **attributes, **more)
    inputs, axes = list_arg(b, "axes", b.axes(x), 13 if op == "ReduceSum" else 18)
    return b.emit(op, [x, *inputs], **attributes, **axes)


@row("ArgMax", "ArgMin")
def arg_extreme(b, op):
    x = b.value(types(op, b.opset), 1, 6, finite, full=True)
    axis = b.axis(x) if b.opset >= 11 else b.axis(x) % x.rank
    more = {"select_last_index": b.choice([0, 1])} if b.opset >= 12 else {}
    b.emit(op, [x], axis=axis, keepdims=b.choice([0, 1]), **more)


@row("Softmax", "LogSoftmax", "Hardmax")
def softmax(b, op):
    x = b.value(types(op, b.opset), 1, 6, full=True)
    if op == "Hardmax" and not finite(x):
        raise Unfit("ONNX does not say whether NaN is the greatest")
    b.emit(op, [x], **({"axis": b.axis(x) if b.opset >= 11 else b.axis(x) % x.rank} if b.chance(0.8) else {}))


@row("LpNormalization")
def lp_normalization(b, op):
    x = b.value(types(op, b.opset), 1, 5, full=True)
    b.emit(op, [x], axis=b.axis(x), p=b.choice([1, 2]))


@row("MatMul")
def matmul(b, op):
    x = b.value(types(op, b.opset), 1, 5, where=last_static, full=True)
    depth = x.shape[-1]

    def fits(v):
        return v.static() and v.rank in (1, 2) and v.shape[max(0, v.rank - 2)] == depth
    y = b.pick([x.dtype], 1, 2, fits) if b.chance(0.3) else None
    if y is None:
        batch = tuple(e if x.static(i) and b.chance(0.6) else 1 for i, e in enumerate(x.shape[:-2]))
        y = b.fresh(x.dtype, b.choice([(depth,), (depth, 3), (depth, 8), (depth, 1), (*batch, depth, 4)]))
    b.emit(op, [x, y])


@row("Gemm")
def gemm(b, op):
    x = b.value(FLOATS, 2, 2, where=lambda v: v.static(), full=True, shape=lambda: b.shape(2, 2))
    trans_a, trans_b, n = b.choice([0, 1]), b.choice([0, 1]), b.choice([1, 3, 8])
    m, depth = x.shape[::-1] if trans_a else x.shape
    c = b.fresh(x.dtype, b.choice([(n,), (1, n), (m, 1), (m, n), (1,), ()]))
    if b.opset >= 11 and b.chance(0.35):
        c = None
    y = b.emit(op, [x, b.fresh(x.dtype, (n, depth) if trans_b else (depth, n)), c], transA=trans_a,
               transB=trans_b, alpha=b.choice([1.0, 1.0, 0.5, -2.0]), beta=b.choice([1.0, 1.0, 0.5, 0.0, -2.0]))
    follow(b, y, n)


def follow(b, y, channels, axis=1):
    """What passes fold into the operator before: a bias, a scale, a normalization, an activation."""
    shape = (channels,) + (1,) * (y.rank - axis - 1)
    kind = b.choice(["", "", "Add", "Sub", "Mul", "Div", "norm", "Relu", "Clip"])
    if kind in ("Add", "Sub", "Mul", "Div"):
        other = b.const(b.array(y.dtype, shape, 0.5, 2))
        b.emit(kind, [other, y] if kind != "Div" and b.chance(0.3) else [y, other])
    elif kind == "norm" and y.rank > 1:
        batch_normalization(b, "BatchNormalization", y)
    elif kind == "Relu":
        b.emit(kind, [y])


# By many letters: what is summed, kept, repeated on a diagonal, or broadcast.
EQUATIONS = {"ij,ij->": [(3, 4), (3, 4)], "ijj->ij": [(2, 3, 3)], "i...,i...->...": [(2, 3, 4), (2, 3, 4)],
             "bnqd,bnkd->bqk": [(2, 2, 3, 4), (2, 2, 5, 4)], "a,b,c->cab": [(2,), (3,), (4,)], "ij->i": [(2, 0)],
             "ij,jk->ik": [(2, 3), (3, 4)], "ij,kj->ki": [(2, 3), (4, 3)], "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
             "bqhd,bkhd->bhqk": [(2, 3, 2, 4), (2, 5, 2, 4)], "ii->i": [(3, 3)], "ij->ji": [(2, 3)],
             "i,j->ij": [(2,), (3,)], "i,i->": [(4,), (4,)], "...ij,...jk->...ik": [(2, 3, 4), (2, 4, 5)],
             "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)], "abc,cd,def->abef": [(2, 3, 4), (4, 2), (2, 3, 2)],
             "bchw,bkc->bkhw": [(2, 3, 4, 5), (2, 6, 3)], "ijk->": [(2, 3, 4)], "ijk->j": [(2, 3, 4)]}


@row("Einsum")
def einsum(b, op):
    equation = b.choice(EQUATIONS)
    dtype = b.dtype(FLOATS[:2])
    b.emit(op, [b.fresh(dtype, shape) for shape in EQUATIONS[equation]], equation=equation)


def per_channel(b, x, count, low=0.3, high=2.0):
    return [b.const(b.array(x.dtype, (x.shape[1],), low, high)) if k % 2 == 0 else
            b.fresh(x.dtype, (x.shape[1],)) for k in range(count)]


def image_shape(b):
    rank = b.choice([1, 2, 2, 2, 3])
    return (b.choice([1, 2]), b.choice([1, 2, 3, 4, 8]), *[b.choice([3, 4, 5, 7, 8]) for _ in range(rank)])


@row("BatchNormalization")
def batch_normalization(b, op, x=None):
    x = x or b.value(types(op, b.opset), 2, 5, where=lambda v: v.static(1), full=True, shape=lambda: image_shape(b))
    scale, bias = per_channel(b, x, 2)
    mean = b.const(b.array(x.dtype, (x.shape[1],)))
    variance = b.const(b.array(x.dtype, (x.shape[1],), 0.5, 2))
    b.emit(op, [x, scale, bias, mean, variance], **({"epsilon": b.choice([1e-5, 1e-3, 0.1])} if b.chance(0.6) else {}))


@row("InstanceNormalization")
def instance_normalization(b, op):
    # Of few elements ONNX Runtime subtracts quotients by the root of epsilon.
    x = b.value(types(op, b.opset), 3, 5, where=lambda v: v.static(1) and small(v) and np.prod(v.shape[2:]) > 3,
                full=True,
                shape=lambda: image_shape(b))
    b.emit(op, [x, *per_channel(b, x, 2)], epsilon=b.choice([1e-5, 1e-2]))


@row("GroupNormalization")
def group_normalization(b, op):
    # ONNX has the first stage in f32, of f64, too.
    kinds = [dtype for dtype in types(op, b.opset) if dtype != np.float64]
    x = b.value(kinds, 2, 5, where=lambda v: v.static(1) and small(v), full=True, shape=lambda: image_shape(b))
    groups = b.choice([g for g in range(1, x.shape[1] + 1) if x.shape[1] % g == 0])
    count = groups if b.opset < 21 else x.shape[1]
    b.emit(op, [x, b.fresh(x.dtype, (count,)), b.fresh(x.dtype, (count,))], num_groups=groups, epsilon=1e-3)


@row("LayerNormalization", "RMSNormalization")
def layer_normalization(b, op):
    x = b.value(types(op, b.opset), 1, 4, where=lambda v: v.static() and small(v), full=True)
    axis = b.axis(x)
    shape = x.shape[axis % x.rank:]
    scale = b.fresh(x.dtype, shape)
    bias = [b.fresh(x.dtype, shape)] if op[0] == "L" and b.chance(0.6) else []
    b.emit(op, [x, scale, *bias], axis=axis, epsilon=b.choice([1e-5, 1e-2]))


@row("MeanVarianceNormalization")
def mean_variance(b, op):
    x = b.value([F32], 4, 4, small, full=True, shape=lambda: image_shape(b))
    axes = b.rng.sample(range(x.rank), 2) if b.chance(0.5) else None
    # ONNX Runtime subtracts squares, whose difference may be below 0 where all numbers are about the same.
    reduced = tuple(axis for axis in axes or (0, 2, 3) if axis < x.rank)
    if any((np.ptp(array, reduced) < 1e-2).any() for array in x.arrays):
        raise Unfit("a root of rounding")
    b.emit(op, [x], **({"axes": axes} if axes else {}))


@row("LRN")
def lrn(b, op):
    # ONNX Runtime slides its window: what was infinite once is NaN from there on, and large numbers leave a rest.
    x = b.value([F32], 4, 4, small, full=True, shape=lambda: (2, 5, 3, 3))
    b.emit(op, [x], size=b.choice([1, 3, 5]), alpha=b.choice([1e-4, 0.5]), beta=b.choice([0.75, 0.5]),
           bias=b.choice([1.0, 2.0]))


@row("Det")
def determinant(b, op):
    x = b.fresh(F32, b.choice([(2, 2), (3, 3), (2, 3, 3)]))
    if not finite(x):
        raise Unfit("infinite")
    b.emit(op, [x])


@row("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(b, op):
    x = b.value([F32], 2, 4, where=lambda v: v.static(), full=True)
    classes = x.shape[1]
    target = b.fresh(b.choice([I64, np.dtype("int32")]), (x.shape[0], *x.shape[2:]), 0, classes - 1)
    weights = [b.const(b.array(x.dtype, (classes,), 0.5, 2))] if b.chance(0.5) else []
    more = {"ignore_index": b.choice([0, -1])} if b.chance(0.3) else {}
    b.emit(op, [x, target, *weights], reduction=b.choice(["none", "sum", "mean"]), **more)


@row("DFT")
def dft(b, op):
    x = b.fresh(F32, (2, b.choice([4, 8]), b.choice([1, 2])))  # Of other lengths ONNX Runtime loses digits.
    if not small(x):
        raise Unfit("overflows in another order")
    if b.opset < 20:
        return b.emit(op, [x], axis=1, inverse=0, onesided=int(x.shape[-1] == 1))
    return b.emit(op, [x, None, b.ints(1)], onesided=int(x.shape[-1] == 1))


@row("DFT")
def other_dft(b, op):
    """Along another axis, back, and to another length."""
    x = b.fresh(F32, (4, 8, 2))
    if not small(x):
        raise Unfit("overflows in another order")
    if b.opset < 20:
        return b.emit(op, [x], axis=b.choice([0, 1]), inverse=b.choice([0, 1]))
    axis = b.ints(b.choice([0, 1, -2, -3]))
    return b.emit(op, [x, b.ints(b.choice([4, 8])) if b.chance(0.4) else None, axis], inverse=b.choice([0, 1]))


@row("STFT")
def stft(b, op):
    x = b.fresh(F32, (b.choice([1, 2]), 16, 1))
    window = b.fresh(F32, (8,))
    if not small(x) or not small(window):
        raise Unfit("overflows in another order")
    b.emit(op, [x, b.ints(b.choice([2, 4])), window, b.ints(8)], onesided=1)




@row("Attention")
def attention(b, op):
    heads, groups = b.choice([(2, 2), (4, 2)])
    q, k = b.fresh(F32, (2, heads, 3, 4)), b.fresh(F32, (2, groups, 5, 4))
    v = b.fresh(F32, (2, groups, 5, 4))
    if not all(small(each) for each in (q, k, v)):
        raise Unfit("overflows")
    mask = [b.fresh(b.choice([F32, np.dtype(bool)]), (3, 5))] if b.chance(0.4) else []
    more = {"scale": 0.3} if b.chance(0.3) else {}
    b.emit(op, [q, k, v, *mask], is_causal=b.choice([0, 1]), **more)


@row("Attention")
def flat_attention(b, op):
    """Heads in one axis, another size of values, a cache of what came before."""
    heads, groups = b.choice([(2, 2), (4, 2), (4, 1)])
    q, k = b.fresh(F32, (2, 3, heads * 4)), b.fresh(F32, (2, 5, groups * 4))
    v = b.fresh(F32, (2, 5, groups * b.choice([4, 6])))
    if not all(small(each) for each in (q, k, v)):
        raise Unfit("overflows")
    more = {"softcap": 2.0} if b.chance(0.3) else {}
    mask = b.fresh(F32, b.choice([(3, 5), (1, 1, 3, 5), (2, 1, 3, 5)])) if b.chance(0.4) else None
    b.emit(op, [q, k, v, mask], q_num_heads=heads, kv_num_heads=groups, is_causal=b.choice([0, 1]), **more)


@row("RotaryEmbedding")
def rotary(b, op):
    x = b.fresh(F32, (2, 2, 3, 8))
    cos, sin = b.fresh(F32, (2, 3, 4)), b.fresh(F32, (2, 3, 4))
    b.emit(op, [x, cos, sin], interleaved=b.choice([0, 1]))


DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


@row("LSTM", "GRU", "RNN")
def recurrence(b, op):
    if b.special:
        raise Unfit("ONNX Runtime clips what goes into gates")
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    x = b.value([F32], 3, 3, where=lambda v: v.static(2) and v.shape[2] <= 8 and v.shape[0] <= 8, full=True,
                shape=lambda: (b.choice([1, 3, 5]), b.choice([1, 2]), b.choice([3, 4])))
    direction, hidden = b.choice(DIRECTIONS), b.choice([1, 3, 4])
    count = DIRECTIONS[direction]
    inputs = [x, b.const(b.array(F32, (count, gates * hidden, x.shape[2]), -1, 1)),
              b.const(b.array(F32, (count, gates * hidden, hidden), -1, 1))]
    inputs.append(b.fresh(F32, (count, 2 * gates * hidden)) if b.chance(0.6) else None)
    static = x.static(1) and x.static(0)
    inputs.append(b.fresh(np.dtype("int32"), (x.shape[1],), 1, x.shape[0]) if static and b.chance(0.3) else None)
    inputs.append(b.fresh(F32, (count, x.shape[1], hidden)) if static and b.chance(0.4) else None)
    if op == "LSTM":
        inputs.append(b.fresh(F32, (count, x.shape[1], hidden)) if static and b.chance(0.3) else None)
        inputs.append(b.const(b.array(F32, (count, 3 * hidden), -1, 1)) if b.chance(0.3) else None)
    if not all(finite(v) for v in inputs if v is not None):
        raise Unfit("ONNX Runtime makes 0 of NaN")
    more = {"linear_before_reset": b.choice([0, 1])} if op == "GRU" else {}
    if b.chance(0.3):
        gates = {"LSTM": 3, "GRU": 2, "RNN": 1}[op]
        kinds = [b.choice(["Tanh", "Sigmoid", "Relu", "HardSigmoid", "Softsign"]) for _ in range(gates * count)]
        more["activations"] = kinds
    b.emit(op, inputs, b.choice([[1, 1], [1, 0], [0, 1]]), direction=direction, hidden_size=hidden, **more)


@row("DynamicQuantizeLinear")
def dynamic_quantize(b, op):
    b.emit(op, [b.value([F32], 1, 5, finite, full=True)], 3)


@row("QuantizeLinear", "com.microsoft.QuantizeLinear")
def quantize(b, name):
    own = name.startswith("com")
    x = b.value([F32], 1, 5, where=lambda v: v.static() and finite(v), full=True)
    target = np.dtype(b.choice(["uint8", "int8"] + ["int16", "uint16"] * (b.opset >= 21 and not own)))
    scale, zero, more = scales(b, x, target, own or b.opset >= 13)
    zero = zero if b.chance(0.8) or own or target != np.uint8 else None
    b.emit("QuantizeLinear", [x, scale, zero], domain="com.microsoft" if own else "", **more)


def scales(b, x, dtype, per_axis):
    """Scale, zero point and attributes; scales that are no power of two make no ties."""
    shape, more = (), {}
    if per_axis and b.chance(0.4):
        axis = b.axis(x)
        shape, more = (x.shape[axis],), {"axis": axis}
    low, high = (0, 9) if dtype.kind == "u" else (-5, 5)
    make = b.const if b.chance(0.8) else lambda array: b.input(array.dtype, array.shape, *(
        (0.02, 0.3) if array.dtype == F32 else (low, high)))
    return make(b.array(F32, shape, 0.02, 0.3)), make(b.array(dtype, shape, low, high)), more


@row("DequantizeLinear", "com.microsoft.DequantizeLinear")
def dequantize(b, name):
    own = name.startswith("com")
    x = b.value([np.dtype("uint8"), np.dtype("int8")], 1, 5, where=lambda v: v.static(), full=True)
    scale, zero, more = scales(b, x, x.dtype, own or b.opset >= 13)
    b.emit("DequantizeLinear", [x, scale, zero if b.chance(0.7) or own else None],
           domain="com.microsoft" if own else "", **more)


@row("MatMulInteger")
def matmul_integer(b, op):
    x = b.value([np.dtype("uint8"), np.dtype("int8")], 2, 3, where=lambda v: v.static(), full=True)
    y_type = np.dtype("int8") if x.dtype == np.uint8 and b.chance(0.6) else x.dtype
    y = b.const(b.array(y_type, (x.shape[-1], 4)))
    zeros = [b.const(b.array(x.dtype, (), 0, 9)), b.const(b.array(y_type, (), 0, 5))]
    b.emit(op, [x, y, *zeros[:b.choice([0, 1, 2])]])


@row("com.microsoft.DynamicQuantizeMatMul", "com.microsoft.MatMulIntegerToFloat")
def dynamic_matmul(b, name):
    op = name.split(".")[2]
    weights = b.const(b.array(np.int8, (6, 4), -90, 90))
    scale = b.const(b.array(F32, (), 0.01, 0.05))
    if op == "DynamicQuantizeMatMul":
        x = b.fresh(F32, (3, 6))
        if not finite(x):
            raise Unfit("nobody says what the scale is")
        return b.emit(op, [x, weights, scale], domain="com.microsoft")
    x = b.fresh(np.dtype("uint8"), (3, 6), 0, 255)
    return b.emit(op, [x, weights, b.const(b.array(F32, (), 0.01, 0.05)), scale], domain="com.microsoft")


