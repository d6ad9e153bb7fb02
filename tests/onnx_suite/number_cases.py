"""Numbers at their edges: functions in every type over their whole range, powers of every pair of
types, products by whose constants another order of operations would overflow, places of Resize.

usage: number_cases.py RUNNER [NAME...]

Oracles: NumPy in 64 bits of fraction; of Resize ONNX's reference where ONNX Runtime agrees. Many
nodes share a model, which takes a fraction of the time. Denormal numbers count as zero.
"""

import itertools
import math
import os
import sys

import ml_dtypes
import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/models"))
from case_runner import CaseRunner  # noqa: E402
from compare import type_difference  # noqa: E402
from test_report import Report  # noqa: E402

BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = {"f16": np.dtype(np.float16), "bf16": BF16, "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
UNITS = {"f16": 2.0 ** -11, "bf16": 2.0 ** -8, "f32": 2.0 ** -24, "f64": 2.0 ** -53}
LEAST = {"f16": 2.0 ** -14, "bf16": 2.0 ** -126, "f32": 2.0 ** -126, "f64": 2.0 ** -1022}
INF, NAN = np.inf, np.nan


def onnx_type(dtype):
    return TensorProto.BFLOAT16 if dtype == BF16 else helper.np_dtype_to_tensor_dtype(dtype)


def tensor(name, value):
    value = np.asarray(value)
    return helper.make_tensor(name, onnx_type(value.dtype), value.shape, value.tobytes(), raw=True)


def model(nodes, inputs, outputs, constants, opset):
    """`inputs`: arrays by name. `outputs`: types by name."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "g", [info(n, onnx_type(v.dtype), v.shape) for n, v in inputs.items()],
        [info(n, onnx_type(t), None) for n, t in outputs.items()],
        [tensor(n, v) for n, v in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8 if opset < 19 else 10
    return made


class Batch:
    """Nodes that share a model; each has an output, and what that must be."""

    def __init__(self, opset=17):
        self.opset, self.nodes, self.inputs, self.constants = opset, [], {}, {}
        self.outputs, self.wants = {}, {}

    def give(self, value):
        """An input; the same one for equal arrays."""
        return self._named(self.inputs, "x", np.asarray(value))

    def constant(self, value):
        return self._named(self.constants, "c", np.asarray(value))

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def expect(self, label, value, want, difference):
        """`difference(got, want)`: "" or what is wrong."""
        self.outputs[value] = want.dtype
        self.wants[value] = (label, want, difference)

    def check(self, runner):
        made = model(self.nodes, self.inputs, self.outputs, self.constants, self.opset)
        reply, sets = runner.run(made.SerializeToString(), [list(self.inputs.values())])
        if reply["error"]:
            return [reply["error"]]
        if reply["rejected"]:
            return [f"default schedule refused: {reply['rejected']}"]
        wrong = []
        for got, (label, want, difference) in zip(sets[0], self.wants.values()):
            text = type_difference(got, want) or difference(got, want)
            if text:
                wrong.append(f"{label}: {text}")
        return wrong

    @staticmethod
    def _named(known, prefix, value):
        for name, other in known.items():
            if (other.dtype, other.shape, other.tobytes()) == (value.dtype, value.shape, value.tobytes()):
                return name
        name = f"{prefix}{len(known)}"
        known[name] = value
        return name


def within(unit, least, absolute=0.0, count=4):
    """At most `count` units of the last place, or `absolute`; what is below `least` may be 0."""

    def difference(got, want):
        a, b = got.astype(np.longdouble), want.astype(np.longdouble)
        with np.errstate(all="ignore"):
            # A unit is 2^(1 - bits) of the power of two at or below the number.
            units = np.ldexp(np.longdouble(2 * unit), np.frexp(np.abs(b))[1] - 1)
            close = np.isfinite(b) & (np.abs(a - b) <= np.maximum(count * units, absolute))
            near = close | (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(b) <= least) & (np.abs(a) <= least)
        near = near & ((a != 0) | (b != 0) | (np.signbit(a) == np.signbit(b)) | (absolute > 0))
        if near.all():
            return ""
        at = tuple(int(k) for k in np.argwhere(~near)[0])
        return f"{int((~near).sum())} of {near.size} wrong, at {at} {got[at]!r} want {want[at]!r}"

    return difference


def exactly(got, want):
    if np.array_equal(got, want, equal_nan=want.dtype.kind == "f"):
        return ""
    at = tuple(int(k) for k in np.argwhere(got != want)[0])
    return f"at {at} {got[at]!r} want {want[at]!r}"


# ---- Functions of one number.

LD = np.longdouble
ERF, ERFC = np.vectorize(math.erf, otypes=[float]), np.vectorize(math.erfc, otypes=[float])


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def below_0(x, negative):
    return np.where(x < 0, negative, x)


SELU = LD(1.67326319217681884765625), LD(1.05070102214813232421875)
FUNCTIONS = {
    "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Exp": np.exp, "Log": np.log, "Tanh": np.tanh,
    "Erf": lambda x: ERF(x.astype(float)).astype(LD), "Sqrt": np.sqrt, "Reciprocal": lambda x: 1 / x,
    "Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan, "Sinh": np.sinh, "Cosh": np.cosh,
    "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh,
    "Gelu": lambda x: x / 2 * ERFC((-x / np.sqrt(LD(2))).astype(float)),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Softsign": lambda x: x / (1 + np.abs(x)),
    "Softplus": softplus, "Mish": lambda x: x * np.tanh(softplus(x)),
    "Elu": lambda x: below_0(x, np.expm1(x)), "Celu": lambda x: below_0(x, np.expm1(x)),
    "Selu": lambda x: SELU[1] * below_0(x, SELU[0] * np.expm1(x)),
    "HardSwish": lambda x: x * np.clip(x / 6 + LD(0.5), 0, 1),
    "HardSigmoid": lambda x: np.clip(x * LD(np.float32(0.2)) + LD(0.5), 0, 1),
}
# Formulas whose terms cancel: their error is one of 1, or of the largest term.
ABSOLUTE = {"Gelu", "HardSwish", "HardSigmoid"}
# Right to four units of the last place wherever the result is a normal number.
EXACT = {"Sin", "Cos", "Tan", "Exp", "Log", "Tanh", "Erf", "Sqrt", "Reciprocal"}
# At the infinities the formula of the function, as it is written, has no value.
NO_LIMIT = {"Gelu", "Mish", "HardSwish", "Softsign"}


def points(kind):
    dtype = FLOATS[kind]
    rng = np.random.default_rng(5)
    largest = float(ml_dtypes.finfo(dtype).max)
    x = [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.5, -0.5, largest, -largest, LEAST[kind], -LEAST[kind]]
    x += [*np.linspace(-1, 1, 41), *(20 * rng.standard_normal(60)), *np.linspace(-6, 6, 49)]
    x += np.linspace(-110, -6, 53).tolist()
    x += [s * 2.0 ** e * (1 + rng.random()) for e in range(int(np.log2(LEAST[kind])) + 1, int(np.log2(largest)), 7)
          for s in (1, -1) if abs(2.0 ** e) < largest / 2]
    x += [float(k * np.pi / 2) for k in (1, 2, 3, 7, 100, 12345) if k * 2 < largest]
    with np.errstate(all="ignore"):
        return np.array(x).astype(dtype)


def function_cases():
    for kind, dtype in FLOATS.items():
        def build(kind=kind, dtype=dtype):
            batch = Batch(opset=20)
            for name, function in FUNCTIONS.items():
                x = points(kind)
                if name in NO_LIMIT:
                    x = x[np.isfinite(x)]
                with np.errstate(all="ignore"):
                    exact = function(x.astype(LD))
                    want = exact.astype(dtype)
                    want = np.where(np.abs(want.astype(float)) < LEAST[kind], np.copysign(want * 0, want), want)
                count = 4 if name in EXACT else 16
                # Mish multiplies by what may be below the least normal number.
                absolute = 8 * UNITS[kind] if name in ABSOLUTE else 128 * LEAST[kind] if name == "Mish" else 0.0
                batch.expect(f"{name} {kind}", batch.node(name, [batch.give(x)]), want.astype(dtype),
                             within(UNITS[kind], 2 * LEAST[kind], absolute, count))
            return batch
        yield f"functions_{kind}", build


# ---- Powers.

BASES = {kind: [0.0, -0.0, 1, -1, 2, -2, 0.5, -2.5, 3, 10, INF, -INF, NAN] for kind in FLOATS}
BASES |= {"i32": [0, 1, -1, 2, -3, 7, 4097, 46340, -1290], "i64": [0, 1, -1, 2, -3, 7, 4097, 94906265, -2097151]}
EXPONENTS = {kind: [0.0, -0.0, 1, -1, 2, 3, -2, 0.5, -0.5, 1 / 3, 2.5, INF, -INF, NAN, 5] for kind in FLOATS}
EXPONENTS |= {"i32": [0, 1, 2, 3, 5], "i64": [0, 1, 2, 3, 5]}
TYPES = FLOATS | {"i32": np.dtype(np.int32), "i64": np.dtype(np.int64)}


def power(x, y):
    """In NumPy's type for both; of integers by a float only what an integer holds is asked for."""
    wide = np.float64 if {x.dtype, y.dtype} & {FLOATS["f64"], TYPES["i32"], TYPES["i64"]} else np.float32
    with np.errstate(all="ignore"):
        if x.dtype.kind == "i" and y.dtype.kind == "i":
            return np.power(x, y)
        return np.power(x.astype(LD), y.astype(LD)).astype(wide)


def power_cases():
    for base, exponent in itertools.product(TYPES, TYPES):
        def build(base=base, exponent=exponent):
            batch = Batch()
            x = np.array(BASES[base]).astype(TYPES[base])
            unit, least = (UNITS[base], LEAST[base]) if base in FLOATS else (0, 0)

            def expect(label, xs, y_name, y):
                want = power(xs, y)
                if base not in FLOATS and want.dtype.kind == "f":
                    # Above 2^53 one engine has doubles, another one integers.
                    whole = np.isfinite(want) & (np.abs(want) < 2.0 ** (31 if base == "i32" else 53))
                    with np.errstate(invalid="ignore"):
                        whole = whole & (np.broadcast_to(y, want.shape) >= 0)
                    xs, y = (np.broadcast_to(v, want.shape)[whole] for v in (xs, y))
                    want = want[whole]
                    if not want.size:
                        return
                    y_name = batch.give(y) if y_name is None else y_name
                difference = within(unit, least) if base in FLOATS else exactly
                with np.errstate(all="ignore"):
                    want = want.astype(TYPES[base])
                batch.expect(label, batch.node("Pow", [batch.give(xs), y_name or batch.give(y)]), want, difference)

            for value in EXPONENTS[exponent]:  # As constants: what is simplified away.
                y = np.array(value).astype(TYPES[exponent])
                expect(f"{base} ^ constant {exponent} {value}", x, batch.constant(y), y)
            pairs = np.array(list(itertools.product(BASES[base], EXPONENTS[exponent])))
            expect(f"{base} ^ {exponent}", pairs[:, 0].astype(TYPES[base]), None,
                   pairs[:, 1].astype(TYPES[exponent]))
            return batch
        yield f"power_{base}_{exponent}", build


# ---- Quotients by powers of two.

def quotient_cases():
    for kind, dtype in FLOATS.items():
        def build(kind=kind, dtype=dtype):
            batch = Batch()
            lowest = -24 if kind == "f16" else int(np.log2(LEAST[kind]))
            highest = math.frexp(float(ml_dtypes.finfo(dtype).max))[1] - 1
            exponents = [lowest, lowest + 1, lowest + 3, -17, -15, -14, -1, 0, 1, 14, 15, highest - 3, highest - 1, highest]
            for e, sign in itertools.product(sorted({e for e in exponents if lowest <= e <= highest}), (1, -1)):
                divisor = np.array(sign * 2.0 ** e).astype(dtype)
                x = np.array([2.0 ** e, 3 * 2.0 ** min(e, highest - 2), -1, 0, 1e-5, 7, INF, NAN]).astype(dtype)
                with np.errstate(all="ignore"):
                    want = (x.astype(LD) / LD(divisor)).astype(dtype)
                batch.expect(f"{kind} / {sign} * 2^{e}", batch.node("Div", [batch.give(x), batch.constant(divisor)]),
                             want, within(UNITS[kind], LEAST[kind], count=1))
            return batch
        yield f"quotient_{kind}", build


# ---- Products followed by a constant: folded into the weights or not, nothing else comes out.

CONSTANTS = {
    "f16": [INF, NAN, 0, 6e4, 1e-7, 2, -0.5], "bf16": [INF, NAN, 0, 1e38, 1e-39, 2, -0.5],
    "f32": [INF, -INF, NAN, 0, 1e38, 1e-30, 1e-40, 2, -0.5], "f64": [INF, -INF, NAN, 0, 1e300, 1e-200, 1e-310, 2, -0.5]}


def flushed(x, kind):
    """Rounded to the type, denormals as 0 where kernels take them so."""
    with np.errstate(all="ignore"):
        y = np.asarray(x).astype(FLOATS[kind])
    return y if kind == "f16" else np.where(np.abs(y.astype(LD)) < LEAST[kind], y * 0, y).astype(y.dtype)


class Products:
    """x [1, 3, 2, 2] or [4, 3] by weights of 3 x 2, whose columns have a sum that cancels, an odd one
    and one of zeros in front."""

    def __init__(self, kind):
        dtype = FLOATS[kind]
        self.kind = kind
        self.x = np.array([[1, 2, 3], [4, 5, -1], [0, 7, 8], [-2, 0.5, 1]]).astype(dtype)
        self.w = np.array([[2, -1], [-1, 0], [0, 0.25]]).astype(dtype)
        self.image = np.ascontiguousarray(self.x.T.reshape(1, 3, 2, 2))

    def product(self):
        return self.x.astype(LD) @ self.w.astype(LD)

    def each(self, batch):
        """(name, value of the product, its rows as x @ w, whether channels are in front)."""
        yield "MatMul", batch.node("MatMul", [batch.give(self.x), batch.constant(self.w)]), False
        for alpha, beta, trans in ((1, 1, 0), (0.5, 2, 0), (1, 0, 1), (2, 3, 1)):
            w = np.ascontiguousarray(self.w.T) if trans else self.w
            bias = np.array([0.5, -1]).astype(self.w.dtype)
            for c in (None, bias, bias.reshape(1, 2), np.full((4, 1), 0.5).astype(bias.dtype)):
                inputs = [batch.give(self.x), batch.constant(w)]
                if c is not None:
                    inputs.append(batch.constant(c))
                value = batch.node("Gemm", inputs, alpha=float(alpha), beta=float(beta), transB=trans)
                with np.errstate(all="ignore"):
                    exact = LD(alpha) * self.product() + (0 if c is None else LD(beta) * c.astype(LD))
                yield f"Gemm {alpha} {beta} {trans} {None if c is None else c.shape}", value, exact
        conv = np.ascontiguousarray(self.w.T.reshape(2, 3, 1, 1))
        yield "Conv", batch.node("Conv", [batch.give(self.image), batch.constant(conv)]), True
        turned = np.ascontiguousarray(self.w.reshape(3, 2, 1, 1))
        yield "ConvTranspose", batch.node("ConvTranspose", [batch.give(self.image), batch.constant(turned)]), True


def follow(batch, op, value, k, exact, front, kind):
    """The node behind the product, and what it gives."""
    channels = (lambda v: v.reshape(2, 1, 1)) if front else (lambda v: v)
    constant = lambda v: batch.constant(np.ascontiguousarray(channels(v)).astype(FLOATS[kind]))  # noqa: E731
    wide = lambda v: channels(flushed(v, kind)).astype(LD)  # noqa: E731
    with np.errstate(all="ignore"):
        if op == "BatchNormalization":
            one, mean, variance = np.ones(2), np.array([2.0, 0.5]), k
            names = [batch.constant(v.astype(FLOATS[kind])) for v in (one, one * 3, mean, variance)]
            # Computed before any kernel runs, and so without its zeros for denormals.
            root = np.sqrt(channels(variance.astype(FLOATS[kind])).astype(LD))
            return (batch.node(op, [value, *names], epsilon=0.0), (exact - channels(mean)) / root + 3)
        function = {"Mul": np.multiply, "Div": np.divide, "Add": np.add, "Sub": np.subtract}[op]
        return batch.node(op, [value, constant(k)]), function(exact, wide(k))


def fold_cases():
    for kind in FLOATS:
        def build(kind=kind):
            batch = Batch()
            products = Products(kind)
            ops = ("Mul", "Div", "Add", "Sub", "BatchNormalization")
            for number, op in itertools.product(CONSTANTS[kind], ops):
                if op == "BatchNormalization" and (number < 0 or kind in ("f16", "bf16")):
                    continue
                simple = number in (2, -0.5)
                for name, value, exact in products.each(batch):
                    front = exact is True
                    if isinstance(exact, bool):
                        exact = products.product()
                    elif not simple and "None" not in name:
                        continue
                    if front:
                        exact = exact.T.reshape(1, 2, 2, 2)
                    k = np.array([number, 3.0])
                    after, want = follow(batch, op, value, k, exact, front, kind)
                    largest = float(np.max(np.abs(want[np.isfinite(want)]), initial=0))
                    with np.errstate(all="ignore"):
                        want = flushed(want, kind)
                    batch.expect(f"{name} {op} {number}", after, want,
                                 within(UNITS[kind], LEAST[kind], min(largest, 64) * 4 * UNITS[kind], 8))
            return batch
        yield f"fold_{kind}", build


# ---- Resize.

COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
               "tf_crop_and_resize")
OPTIONS = onnxruntime.SessionOptions()
OPTIONS.log_severity_level = 4


def resize_targets(opset):
    """(name, inputs behind x by name, attributes)."""
    for scale in (0.5, 0.6, 1.5, 2.0):
        yield f"scale {scale}", {"scales": np.array([scale, scale], np.float32)}, {}
    for sizes in ([3, 9], [11, 4]):
        yield f"sizes {sizes}", {"sizes": np.array(sizes, np.int64)}, {}
    if opset < 18:
        return
    yield "axis", {"scales": np.array([1.5], np.float32)}, {"axes": [1]}
    for policy, sizes in itertools.product(("not_larger", "not_smaller"), ([7, 8], [4, 3])):
        yield f"{policy} {sizes}", {"sizes": np.array(sizes, np.int64)}, {"keep_aspect_ratio_policy": policy}
    yield "not_larger [8] of axis 0", {"sizes": np.array([8], np.int64)}, {
        "keep_aspect_ratio_policy": "not_larger", "axes": [0]}


def resize_modes(opset):
    for coordinates in COORDINATES:
        if coordinates == "half_pixel_symmetric" and opset < 19:
            continue
        for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
            yield {"mode": "nearest", "coordinate_transformation_mode": coordinates, "nearest_mode": nearest}
        for mode, antialias, exclude in itertools.product(("linear", "cubic"), (0, 1), (0, 1)):
            if antialias and opset < 18 or (exclude and mode == "linear" and not antialias):
                continue
            attributes = {"mode": mode, "coordinate_transformation_mode": coordinates}
            attributes |= {"antialias": 1} if antialias else {}
            yield attributes | ({"exclude_outside": 1} if exclude else {})


def resized(batch, x, given, attributes):
    """Adds a Resize where ONNX's reference and ONNX Runtime agree about it."""
    inputs, constants = ["x", "", "", ""], {}
    if attributes["coordinate_transformation_mode"] == "tf_crop_and_resize":
        axes = len(attributes.get("axes", (0, 1)))
        given = given | {"roi": np.array([0.1, -0.2, 0.8, 1.1] if axes == 2 else [0.1, 1.1], np.float32)}
        attributes = attributes | {"extrapolation_value": 3.0}
    for name, value in given.items():
        inputs[("x", "roi", "scales", "sizes").index(name)] = name
        constants[name] = value
    if batch.opset < 13 and not inputs[1]:
        inputs[1] = batch.constant(np.zeros(0, np.float32))
        constants[inputs[1]] = np.zeros(0, np.float32)
    while not inputs[-1]:
        inputs.pop()
    if len(inputs) == 4 and not inputs[2] and batch.opset < 13:
        inputs[2] = inputs[1] if inputs[1] != "roi" else batch.constant(np.zeros(0, np.float32))
        constants[inputs[2]] = np.zeros(0, np.float32)
    alone = model([helper.make_node("Resize", inputs, ["y"], **attributes)], {"x": x}, {"y": x.dtype}, constants,
                  batch.opset)
    theirs = onnxruntime.InferenceSession(alone.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"]).run(
        None, {"x": x})[0]
    reference = ReferenceEvaluator(alone).run(None, {"x": x})[0]
    if reference.shape != theirs.shape or not np.allclose(reference, theirs, 1e-4, 1e-5):
        return False
    names = [batch.constant(constants[n]) if n in constants else batch.give(x) if n else "" for n in inputs]

    def close(got, want):
        return "" if np.allclose(got, want, 1e-4, 1e-5) else f"got {got.tolist()} want {want.tolist()}"

    batch.expect(f"{given} {attributes}", batch.node("Resize", names, **attributes), theirs, close)
    return True


def is_refused(x, given, modes):
    """Corners of an extent that is rounded: runtimes differ in what they are."""
    extents = np.array(x.shape[-len(given.get("scales", ())):]) * given.get("scales", 1)
    return modes["coordinate_transformation_mode"] == "align_corners" and modes["mode"] != "nearest" and (
        "scales" in given and bool(np.any(np.abs(extents - np.round(extents)) > 1e-4)))


def resize_cases():
    x = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    for opset in (11, 13, 18, 19):
        for target, given, extra in resize_targets(opset):
            # Of the older sets a part of the targets does.
            if opset < 19 and target not in (("scale 0.6", "sizes [3, 9]") if opset == 11 else (
                    "sizes [11, 4]",) if opset == 13 else ("not_larger [7, 8]",)):
                continue

            def build(opset=opset, given=given, extra=extra):
                batch = Batch(opset)
                compared = [resized(batch, x, given, modes | extra) for modes in resize_modes(opset)
                            if not is_refused(x, given, modes)]
                # More than half: else the two have little to say.
                assert sum(compared) * 2 > len(compared), f"{sum(compared)} of {len(compared)} agree"
                return batch
            yield f"resize_{opset} {target}", build
    for opset, op in ((7, "Upsample"), (9, "Upsample"), (10, "Resize")):
        def old(opset=opset, op=op):
            batch = Batch(opset)
            image = x.reshape(1, 1, 5, 7)
            for mode, a, b in itertools.product(("nearest", "linear"), (0.5, 0.6, 1.0, 1.5, 3.0), (0.6, 1.0, 2.0)):
                if op == "Upsample" and min(a, b) < 1:
                    continue
                scales = np.array([1, 1, a, b], np.float32)
                attributes = {"mode": mode} | ({"scales": scales.tolist()} if opset == 7 else {})
                names = ["x"] if opset == 7 else ["x", "s"]
                alone = model([helper.make_node(op, names, ["y"], **attributes)], {"x": image}, {"y": x.dtype},
                              {} if opset == 7 else {"s": scales}, opset)
                want = onnxruntime.InferenceSession(
                    alone.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"]).run(None, {"x": image})[0]
                inputs = [batch.give(image)] + ([] if opset == 7 else [batch.constant(scales)])
                batch.expect(f"{op} {mode} {a} {b}", batch.node(op, inputs, **attributes), want,
                             within(UNITS["f32"], 0, 1e-5, 64))
            return batch
        yield f"resize_{opset}", old


# ---- Masks of Dropout.

def dropout_cases():
    for opset, kind in itertools.product((7, 10, 12, 13), ("f32", "f64", "f16")):
        def build(opset=opset, kind=kind):
            batch = Batch(opset)
            x = np.arange(6).astype(FLOATS[kind])
            mask = np.ones(6, FLOATS[kind] if opset < 10 else np.bool_)
            batch.nodes.append(helper.make_node("Dropout", [batch.give(x)], ["kept", "mask"]))
            batch.expect("data", "kept", x, exactly)
            batch.expect("mask", "mask", mask, exactly)
            return batch
        yield f"dropout_{opset}_{kind}", build


def main(arguments):
    wanted = set(arguments[1:])
    report = Report("number_cases")
    groups = (function_cases, power_cases, quotient_cases, fold_cases, resize_cases, dropout_cases)
    with CaseRunner(arguments[0]) as runner:
        for name, build in itertools.chain(*(group() for group in groups)):
            if wanted and not any(name.startswith(prefix) for prefix in wanted):
                continue

            def case(build=build):
                batch = build()
                return batch.check(runner), f"{len(batch.wants)} values"
            report.run(name, case)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
