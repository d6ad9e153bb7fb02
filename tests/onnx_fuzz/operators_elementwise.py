"""Rows: element by element."""

import numpy as np

from builder import ALL, BOOL, F32, FLOATS, I64, INTEGERS, NUMBERS, SIGNED, UNSIGNED, onnx_type
from evaluate import Unfit
from rows import row, short, small, types

# Attributes at odd values, by chance; ends where kernels change their ways.
ATTRIBUTES = {
    "Elu": {"alpha": [1.0, 0.5, 0.0, -0.3, 2.0]}, "Celu": {"alpha": [1.0, 0.5, 2.0, -1.5]},
    "LeakyRelu": {"alpha": [0.01, 0.0, 1.0, 1.5, -0.4]}, "ThresholdedRelu": {"alpha": [1.0, 0.0, -0.5, 2.0]},
    "Selu": {"alpha": [1.6733, 0.4], "gamma": [1.05, 0.3, -2.0]},
    "HardSigmoid": {"alpha": [0.2, 0.0, 1.0, -0.3], "beta": [0.5, 0.0, 1.0]},
    "Shrink": {"lambd": [0.5, 0.0, 1.5], "bias": [0.0, 0.5, -0.3]},
    "IsInf": {"detect_negative": [0, 1], "detect_positive": [0, 1]},
    "Gelu": {"approximate": ["none", "tanh"]}, "Swish": {"alpha": [1.0, 0.5, 1.7, -1.0]},
    "com.microsoft.QuickGelu": {"alpha": [1.702, 0.7, -1.0]},
}
# Where a function is defined for some numbers only: what brings others there.
INTO = {"Acos": "Tanh", "Asin": "Tanh", "Atanh": "Tanh", "Acosh": "Exp", "Log": "Exp", "Sqrt": "Abs",
        "Sinh": "Tanh", "Cosh": "Tanh", "Tan": "Tanh", "Reciprocal": "Exp"}


def some_attributes(b, name):
    return {key: b.choice(values) for key, values in ATTRIBUTES.get(name, {}).items() if b.chance(0.6)}


@row("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceil", "Celu", "Cos", "Cosh",
     "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu",
     "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh",
     "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "OptionalHasElement",
     "com.microsoft.Gelu", "com.microsoft.QuickGelu", "com.microsoft.FastGelu")
def unary(b, name):
    domain, op = short(name)
    kinds = [F32] if domain else types(op, b.opset)
    if name == "OptionalHasElement":
        kinds = ALL
    if name == "Shrink":
        kinds = [F32]  # ONNX Runtime computes it in f32 always; ONNX's function rounds a bias to integers.
    x = b.value(kinds)
    attributes = some_attributes(b, name)
    # ONNX's functions have their constants in f32, its text has them as they are; its Erf is one of f32.
    if x.dtype == np.float64 and (name in ("HardSwish", "Erf") or attributes.get("approximate") == "tanh"):
        raise Unfit("fewer digits")
    if name in INTO and x.dtype.kind == "f" and b.chance(0.6):
        if INTO[name] == "Exp":
            x = b.emit("Tanh", [x])
        x = b.emit(INTO[name], [x])
    b.emit(op, [x], domain=domain, **attributes)


@row("com.microsoft.BiasGelu")
def bias_gelu(b, name):
    x = b.value([F32], 1, 5, where=lambda v: v.static(v.rank - 1), full=True)
    b.emit("BiasGelu", [x, b.fresh(F32, (x.shape[-1],))], domain="com.microsoft")


@row("Add", "Sub", "Mul", "And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
     "BitwiseAnd", "BitwiseOr", "BitwiseXor", "PRelu")
def binary(b, op):
    x = b.value(types(op, b.opset))
    y = b.partner(x)
    if op == "PRelu":  # The slope goes into the shape of x.
        y = b.fresh(x.dtype, tuple(e if x.static(i) and b.chance(0.6) else 1 for i, e in enumerate(x.shape)))
    b.emit(op, [y, x] if op != "PRelu" and b.chance(0.3) else [x, y])


@row("Div")
def divide(b, op):
    x = b.value(types(op, b.opset))
    if b.chance(0.3) and x.dtype.kind == "f":
        return b.emit(op, [x, b.const(np.array(b.choice([2, 0.25, 3, -8, 2.0**-14, 1024]), x.dtype))])
    # A quotient of integers by 0 has no meaning, nor has that of the least one by -1.
    y = b.partner(x, low=1, high=11)
    if x.dtype in SIGNED and b.chance(0.3):
        y = b.emit("Neg", [y]) if x.dtype.itemsize > 2 or b.opset < 13 else y
    return b.emit(op, [x, y])


@row("Mod")
def modulo(b, op):
    x = b.value(types(op, b.opset))
    y = b.partner(x, low=1, high=7)
    # ONNX Runtime's fmod of integers goes by way of doubles.
    fmod = 1 if x.dtype.kind == "f" or small(x) and b.chance(0.3) else 0
    b.emit(op, [x, y], fmod=fmod)


@row("Pow")
def power(b, op):
    x = b.value(types(op, b.opset), where=lambda v: v.dtype.kind == "f" or small(v))
    if x.dtype.kind == "f" and b.chance(0.4):
        x = b.emit("Abs", [x])
    kinds = types(op, b.opset, 1) if b.opset >= 12 else [x.dtype]
    dtype = b.dtype(kinds)
    exponents = [0, 1, 2, 3] if dtype.kind == "u" or x.dtype.kind in "iu" else [0, 1, 2, 3, -1, -2]
    if dtype.kind == "f" and x.dtype.kind == "f":
        exponents += [0.5, -0.5, 1.5]
    shape = () if b.chance(0.6) else tuple(e if x.static(i) else 1 for i, e in enumerate(x.shape))
    y = np.array([b.choice(exponents) for _ in range(int(np.prod(shape)))]).reshape(shape).astype(dtype)
    # A root of an integer below 0 is NaN, which no integer is.
    b.emit(op, [x, b.const(y) if x.dtype.kind != "f" or b.chance(0.7) else b.fresh(dtype, shape, 0, 3)])


@row("BitShift")
def bit_shift(b, op):
    x = b.value(UNSIGNED)
    b.emit(op, [x, b.partner(x, low=0, high=7)], direction=b.choice(["LEFT", "RIGHT"]))


@row("Max", "Min", "Sum", "Mean")
def variadic(b, op):
    x = b.value(types(op, b.opset))
    b.emit(op, [x] + [b.partner(x) for _ in range(b.choice([0, 1, 1, 1, 2, 3]))])


@row("Where")
def where(b, op):
    x = b.value(types(op, b.opset, 1))
    b.emit(op, [b.partner(x, BOOL), x, b.partner(x)])


@row("Clip")
def clip(b, op):
    x = b.value(types(op, b.opset))
    low, high = b.choice([(-1, 1), (0, 6), (0, 1), (-0.5, 0.25), (1, 5), (2, -2)])
    if b.opset < 11:
        return b.emit(op, [x], **{k: float(v) for k, v in (("min", low), ("max", high)) if b.chance(0.7)})
    if x.dtype.kind == "u":
        low = abs(low)
        high = abs(high)
    bounds = [b.const(np.array(v).astype(x.dtype)) if b.chance(0.8) else None for v in (low, high)]
    return b.emit(op, [x, *bounds])


@row("Cast")
def cast(b, op):
    x = b.value(ALL)
    target = b.dtype(ALL)
    if target in INTEGERS and x.dtype.kind == "f":
        # What does not fit has no meaning; NaN and infinities neither.
        bound = 100 if target.itemsize == 1 else 10000
        for array in x.arrays:
            if not (np.abs(array) < bound).all() or target.kind == "u" and (array < 0).any():
                raise Unfit("does not fit")
    if target.kind == "f" and target.itemsize == 2 and x.lanes[0][0].size and x.dtype != bool:
        if np.nanmax(np.abs(np.where(np.isfinite(x.lanes[0][0]), x.lanes[0][0], 0).astype(np.float64))) > 3e4:
            raise Unfit("does not fit")
    b.emit(op, [x], to=onnx_type(target))


@row("CastLike")
def cast_like(b, op):
    x = b.value(NUMBERS + BOOL)
    like = b.value(FLOATS if x.dtype.kind == "f" else NUMBERS)
    b.emit(op, [x, like])


@row("BitCast")
def bit_cast(b, op):
    x = b.value(INTEGERS)
    same = [dtype for dtype in INTEGERS if dtype.itemsize == x.dtype.itemsize]
    b.emit(op, [x], to=onnx_type(b.choice(same)))


@row("CumSum", "CumProd")
def cumulative(b, op):
    x = b.value(types(op, b.opset), 1, 6, full=True)
    b.emit(op, [x, b.ints(b.axis(x))], exclusive=b.choice([0, 1]), reverse=b.choice([0, 1]))


@row("Dropout")
def dropout(b, op):
    x = b.value(types(op, b.opset))
    # Masks were of another type before, and ONNX Runtime's are false up to operator set 11.
    outputs = b.choice([1, 1, [1, 1]]) if b.opset >= 12 else 1
    if b.opset < 12:
        return b.emit(op, [x], outputs, ratio=b.choice([0.0, 0.3]))
    ratio = b.const(np.float32(0.3)) if b.chance(0.5) else None
    mode = b.const(np.array(False)) if b.chance(0.3) else None
    return b.emit(op, [x, ratio, mode], outputs)


@row("Constant")
def constant(b, op):
    kind = b.choice(["value_float", "value_int", "value_floats", "value_ints"] if b.opset >= 12 else ["value"])
    if kind == "value":
        from onnx import numpy_helper
        return b.emit(op, [], value=numpy_helper.from_array(b.array(b.dtype(ALL), b.shape(0, 4))))
    number = b.choice([0, 1, -3, 7])
    value = {"value_float": float(number), "value_int": number, "value_floats": [1.5, float(number)],
             "value_ints": [number, 2]}[kind]
    return b.emit(op, [], **{kind: value})


@row("Range")
def span(b, op):
    dtype = b.dtype(types(op, b.opset))
    start, step = b.choice([0, 1, -2]), b.choice([1, 2, -1])
    if dtype.kind == "u":
        return None
    limit = start + step * b.choice([1, 3, 8])
    return b.emit(op, [b.const(np.array(v, dtype)) for v in (start, limit, step)])


@row("HannWindow", "HammingWindow", "BlackmanWindow")
def window(b, op):
    b.emit(op, [b.ints(b.choice([4, 5, 16]))], periodic=b.choice([0, 1]))


@row("MelWeightMatrix")
def mel(b, op):
    b.emit(op, [b.ints(b.choice([4, 8])), b.ints(b.choice([16, 32])), b.ints(8000),
                b.const(np.float32(20.0)), b.const(np.float32(3500.0))])


@row("Shape")
def shape_of(b, op):
    x = b.value(ALL)
    attributes = {}
    if b.opset >= 15 and b.chance(0.4):
        attributes = {"start": b.choice([0, 1, -1, -2]), "end": b.choice([1, 3, -1, 20])}
    b.emit(op, [x], **attributes)


@row("Size")
def size_of(b, op):
    b.emit(op, [b.value(ALL)])


@row("ConstantOfShape")
def constant_of_shape(b, op):
    from onnx import numpy_helper
    like = b.pick(ALL)
    if like is not None and b.chance(0.5):
        shape = b.emit("Shape", [like])
    else:
        shape = b.ints(list(b.shape(0, 5)))
    value = {} if b.chance(0.2) else {"value": numpy_helper.from_array(b.array(b.dtype(ALL), (1,)))}
    b.emit(op, [shape], **value)


@row("EyeLike")
def eye_like(b, op):
    # A shape that inference knows: onnx 1.23 crashes without.
    x = b.input(b.dtype(types(op, b.opset)), b.shape(2, 2))
    more = {"dtype": onnx_type(b.choice([F32, I64]))} if b.chance(0.4) else {}
    b.emit(op, [x], k=b.choice([0, 1, -1, 3]), **more)
