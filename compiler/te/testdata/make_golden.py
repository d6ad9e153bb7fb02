#!/usr/bin/env python3
"""Writes operators.jsonl: inputs and outputs of every operator, as ONNX Runtime computes them.

Usage: make_golden.py > operators.jsonl     (needs numpy, onnx, onnxruntime)

One case a line: name, op, attrs, inputs, outputs. A tensor is [dtype, shape, values]; NaN and
infinities are strings. Inputs are multiples of 1/8, so that they are short and exact. The tests
read this file; review its diff.
"""
import json
import math
import sys
import zlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

NP = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32, "i8": np.int8,
      "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "bool": np.bool_}
PROTO = {"f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "i64": TensorProto.INT64,
         "i32": TensorProto.INT32, "i8": TensorProto.INT8, "u8": TensorProto.UINT8,
         "i16": TensorProto.INT16, "u16": TensorProto.UINT16,
         "bool": TensorProto.BOOL}
NAME = {np.dtype(v): k for k, v in NP.items()}

cases = []


def value_text(v):
    if isinstance(v, (bool, np.bool_)):
        return int(v)
    if isinstance(v, (int, np.integer)):
        return int(v)
    v = float(v)
    if math.isnan(v):
        return "nan"
    if math.isinf(v):
        return "inf" if v > 0 else "-inf"
    if v == 0:
        return -0.0 if math.copysign(1, v) < 0 else 0
    short = float("%.8g" % v)
    return int(short) if short == int(short) and abs(short) < 1e9 else short


def tensor(a):
    a = np.asarray(a)
    return [NAME[a.dtype], list(a.shape), [value_text(v) for v in a.ravel()]]


def run(op_type, inputs, attributes, outputs=1, opset=21, omit=()):
    """Runs one ONNX node. `omit`: positions of inputs that are absent."""
    names, feeds, infos = [], {}, []
    source = iter(inputs)
    for k in range(len(inputs) + len(omit)):
        if k in omit:
            names.append("")
            continue
        a = next(source)
        names.append("i%d" % k)
        feeds["i%d" % k] = np.asarray(a)
        infos.append(helper.make_tensor_value_info("i%d" % k, PROTO[NAME[a.dtype]], a.shape))
    out_names = ["o%d" % k for k in range(outputs)]
    node = helper.make_node(op_type, names, out_names, **attributes)
    graph = helper.make_graph(
        [node], "g", infos,
        [helper.make_empty_tensor_value_info(n) for n in out_names])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 10
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def add(name, op, attrs, inputs, outputs):
    cases.append(json.dumps({"name": name, "op": op, "attrs": attrs,
                             "inputs": [tensor(a) for a in inputs],
                             "outputs": [tensor(a) for a in outputs]}, separators=(",", ":")))


def data(name, shape, dtype="f32", low=-24, high=24):
    """Random multiples of 1/8 (or small integers), from the name: cases do not move each other."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape)).astype(np.bool_)
    values = rng.integers(low, high + 1, shape)
    return np.array(values / 8 if dtype in ("f32", "f64") else values, NP[dtype])


def to_last(a):
    return np.ascontiguousarray(np.moveaxis(a, 1, -1))


# ---- Unary.
SPECIAL = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -3, 7.25, -7.25, 20, -20, 90,
                    -90, np.nan, np.inf, -np.inf], np.float32)
POSITIVE = np.array([0.0, 0.125, 0.5, 1, 2, 7, 100, 1e-6, 1e6, np.inf, np.nan], np.float32)
BOUNDED = np.array([0.0, 0.125, -0.5, 1, 2, -3, 3.5, 0.75, -1.25], np.float32)


def unary(op, onnx_op, x=SPECIAL, opset=21, attrs=None, onnx_attrs=None, case=""):
    onnx_attrs = attrs or {} if onnx_attrs is None else onnx_attrs
    add(op + (case and "_" + case), op, attrs or {}, [x], run(onnx_op, [x], onnx_attrs, opset=opset))


for op, onnx_op in [("neg", "Neg"), ("abs", "Abs"), ("tanh", "Tanh"), ("erf", "Erf"),
                    ("floor", "Floor"), ("ceil", "Ceil"), ("round", "Round"), ("is_nan", "IsNaN"),
                    ("reciprocal", "Reciprocal"), ("identity", "Identity"), ("relu", "Relu"),
                    ("sigmoid", "Sigmoid"), ("softsign", "Softsign")]:
    # ONNX Runtime's vectorized functions do not all keep NaN and infinities: finite values there.
    finite = op in ("erf", "sigmoid", "softsign", "tanh")
    unary(op, onnx_op, SPECIAL[:-3] if finite else SPECIAL)
unary("sign", "Sign", SPECIAL[np.isfinite(SPECIAL)])
for op, onnx_op in [("sqrt", "Sqrt"), ("log", "Log")]:
    unary(op, onnx_op, POSITIVE)
unary("exp", "Exp", SPECIAL[:15])
for op, onnx_op in [("sin", "Sin"), ("cos", "Cos")]:
    unary(op, onnx_op, BOUNDED)
unary("softplus", "Softplus", SPECIAL[:17])
unary("hard_swish", "HardSwish", SPECIAL[:17])
unary("mish", "Mish", SPECIAL[:15])
for op, onnx_op, attrs in [
        ("leaky_relu", "LeakyRelu", {"alpha": 0.25}), ("elu", "Elu", {"alpha": 1.5}),
        ("selu", "Selu", {"alpha": 1.5, "gamma": 1.25}), ("celu", "Celu", {"alpha": 2.0}),
        ("thresholded_relu", "ThresholdedRelu", {"alpha": 0.75}),
        ("hard_sigmoid", "HardSigmoid", {"alpha": 0.25, "beta": 0.375}),
        ("gelu", "Gelu", {"approximate": "tanh"})]:
    x = SPECIAL[:15]
    unary(op, onnx_op, x, attrs=attrs, case="attributes")
    unary(op, onnx_op, x, case="defaults")
x = SPECIAL[:17]
sigmoid = (1 / (1 + np.exp(-x.astype(np.float64))))
add("silu", "silu", {}, [x], [(x * sigmoid).astype(np.float32)])
x = np.array([True, False])
unary("not", "Not", x)
for dtype in ("i32", "i64", "i8"):
    x = data("abs" + dtype, (7,), dtype, -100, 100)
    for op, onnx_op in [("neg", "Neg"), ("abs", "Abs"), ("sign", "Sign")]:
        unary(op, onnx_op, x, case=dtype)
for attrs in ({"min": -1.0, "max": 1.5}, {"min": 0.5}, {"max": -0.25}, {}):
    x = SPECIAL[:17]
    bounds = [np.float32(attrs[k]) for k in ("min", "max") if k in attrs]
    omit = (1,) if "max" in attrs and "min" not in attrs else ()
    add("clip_" + "_".join(attrs), "clip", attrs, [x],
        run("Clip", [x] + [np.array(b) for b in bounds], {}, omit=omit))
x = data("clip", (9,), "i32", -9, 9)
add("clip_i32", "clip", {"min": -3.0, "max": 5.0}, [x],
    run("Clip", [x, np.array(-3, np.int32), np.array(5, np.int32)], {}))
for source, target in [("f32", "i32"), ("f32", "i64"), ("f32", "bool"), ("i32", "f32"),
                       ("i64", "i32"), ("bool", "f32"), ("bool", "i64"), ("i32", "bool"),
                       ("u8", "f32"), ("f64", "f32"), ("i32", "u8"), ("i32", "i8")]:
    x = data("cast" + source + target, (11,), source, *((0, 200) if source == "u8" else (-40, 300)))
    unary("cast", "Cast", x, attrs={"to": target}, onnx_attrs={"to": PROTO[target]},
          case=source + "_" + target)

# ---- Binary.
BROADCASTS = [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (3, 1)), ((3, 1, 2), (1, 5, 1)), ((4,), ()),
              ((1, 5), (7, 1))]
for op, onnx_op in [("add", "Add"), ("sub", "Sub"), ("mul", "Mul"), ("div", "Div"),
                    ("equal", "Equal"), ("less", "Less"), ("less_equal", "LessOrEqual"),
                    ("greater", "Greater"), ("greater_equal", "GreaterOrEqual"),
                    ("min", "Min"), ("max", "Max")]:
    for k, (sa, sb) in enumerate(BROADCASTS[:1 + 2 * (op in ("add", "div")) + (op == "less") * 4]):
        a, b = data(op + "a", sa, low=-6, high=6), data(op + "b", sb, low=1, high=9)
        add("%s_f32_%d" % (op, k), op, {}, [a, b], run(onnx_op, [a, b], {}))
    for dtype in ("i32", "i64"):
        a, b = data(op + "a", (3, 4), dtype, -9, 9), data(op + "b", (4,), dtype, 1, 5)
        add("%s_%s" % (op, dtype), op, {}, [a, b], run(onnx_op, [a, b], {}))
nan = np.array([1, np.nan, -np.inf, np.nan, 2], np.float32)
other = np.array([np.nan, 1, 0, np.nan, 2], np.float32)
for op, onnx_op in [("min", "Min"), ("max", "Max"), ("less", "Less"), ("equal", "Equal"),
                    ("greater_equal", "GreaterOrEqual")]:
    add(op + "_nan", op, {}, [nan, other], run(onnx_op, [nan, other], {}))
for k, (sa, sb) in enumerate(BROADCASTS):
    a, b = data("moda", sa), data("modb", sb, low=1, high=7)
    add("mod_f32_%d" % k, "mod", {"fmod": 1}, [a, b], run("Mod", [a, b], {"fmod": 1}))
a = np.array([7, -7, 7, -7, 6, -6, 0], np.int32)
b = np.array([3, 3, -3, -3, 3, -3, 5], np.int32)
for fmod in (0, 1):
    add("mod_i32_fmod%d" % fmod, "mod", {"fmod": fmod}, [a, b], run("Mod", [a, b], {"fmod": fmod}))
add("div_i32_signs", "div", {}, [a, b], run("Div", [a, b], {}))
a, b = data("powa", (2, 3, 4), low=1), data("powb", (3, 1), low=-16, high=16)
add("pow_f32", "pow", {}, [np.abs(a), b], run("Pow", [np.abs(a), b], {}))
b = np.array([2, 3, 0], np.int64)
add("pow_f32_i64", "pow", {}, [a[:, :, :3].copy(), b], run("Pow", [a[:, :, :3].copy(), b], {}))
a = data("powi", (4, 3), "i64", -5, 5)
add("pow_i64", "pow", {}, [a, b], run("Pow", [a, b], {}))
# Through doubles ONNX Runtime's 2^64 is no i64.
a, b = np.array([0, 2, -6, 1, -1, 0], np.int64), np.array([64, 64, 100, 64, 127, 0], np.int64)
add("pow_i64_large", "pow", {}, [a, b], [np.power(a, b)])
for op, onnx_op in [("and", "And"), ("or", "Or"), ("xor", "Xor"), ("equal", "Equal")]:
    a, b = data(op + "a", (3, 4), "bool"), data(op + "b", (4,), "bool")
    add(op + "_bool", op, {}, [a, b], run(onnx_op, [a, b], {}))
a, b = data("prelua", (2, 3, 4)), data("prelub", (3, 1))
add("prelu", "prelu", {}, [a, b], run("PRelu", [a, b], {}))
for dtype in ("f32", "i64"):
    c, a, b = data("wc", (2, 1, 4), "bool"), data("wa", (3, 1), dtype), data("wb", (4,), dtype)
    add("where_" + dtype, "where", {}, [c, a, b], run("Where", [c, a, b], {}))

# ---- Convolution.


def conv(name, x_shape, w_shape, bias=False, last=(0, 1), **attrs):
    x, w = data(name + "x", x_shape), data(name + "w", w_shape, low=-8, high=8)
    inputs = [x, w] + ([data(name + "b", w_shape[:1])] if bias else [])
    y = run("Conv", inputs, attrs)[0]
    for channels_last in last:
        ours = dict(attrs)
        if channels_last:
            ours["channels_last"] = 1
        add(name + ("_nhwc" if channels_last else "_nchw"), "conv", ours,
            [to_last(x) if channels_last else x] + inputs[1:], [to_last(y) if channels_last else y])


conv("conv_1x1", (2, 3, 4, 5), (4, 3, 1, 1), bias=True)
conv("conv_3x3_same", (1, 3, 5, 7), (2, 3, 3, 3), bias=True, pads=[1, 1, 1, 1])
conv("conv_stride", (1, 2, 7, 9), (3, 2, 3, 3), pads=[1, 1, 1, 1], strides=[2, 2])
conv("conv_uneven", (1, 2, 6, 5), (3, 2, 3, 2), bias=True, pads=[0, 1, 2, 0], strides=[1, 3])
conv("conv_dilated", (1, 2, 9, 8), (2, 2, 3, 2), pads=[2, 0, 2, 1], dilations=[2, 3])
conv("conv_group", (1, 4, 5, 5), (6, 2, 3, 3), bias=True, pads=[1, 1, 1, 1], group=2)
conv("conv_depthwise", (1, 5, 5, 4), (5, 1, 3, 3), bias=True, pads=[1, 1, 1, 1], group=5)
conv("conv_depth_multiplier", (1, 3, 4, 4), (6, 1, 2, 2), group=3)
conv("conv_one_channel", (1, 1, 4, 4), (2, 1, 2, 2), bias=True)
conv("conv_1d", (2, 3, 9), (4, 3, 3), bias=True, pads=[1, 2], strides=[2])
conv("conv_3d", (1, 2, 4, 3, 5), (2, 2, 2, 3, 2), bias=True, pads=[1, 0, 1, 0, 2, 0], strides=[1, 1, 2])


def conv_transpose(name, x_shape, w_shape, bias=0, last=(0, 1), **attrs):
    x, w = data(name + "x", x_shape), data(name + "w", w_shape, low=-8, high=8)
    inputs = [x, w] + ([data(name + "b", (bias,))] if bias else [])
    y = run("ConvTranspose", inputs, attrs)[0]
    for channels_last in last:
        ours = dict(attrs)
        if channels_last:
            ours["channels_last"] = 1
        add(name + ("_nhwc" if channels_last else "_nchw"), "conv_transpose", ours,
            [to_last(x) if channels_last else x] + inputs[1:], [to_last(y) if channels_last else y])


conv_transpose("deconv", (1, 3, 3, 4), (3, 2, 3, 3), bias=2)
conv_transpose("deconv_stride", (1, 2, 3, 4), (2, 3, 3, 2), bias=3, strides=[2, 3], pads=[1, 0, 0, 1])
conv_transpose("deconv_extra", (1, 2, 3, 3), (2, 2, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1],
               output_padding=[1, 1])
conv_transpose("deconv_dilated", (1, 2, 4, 3), (2, 2, 2, 3), dilations=[2, 2], pads=[2, 0, 1, 3])
conv_transpose("deconv_group", (1, 4, 3, 3), (4, 2, 2, 2), bias=4, group=2, strides=[2, 2])
conv_transpose("deconv_depthwise", (1, 3, 3, 3), (3, 1, 3, 3), bias=3, group=3, strides=[2, 1])
conv_transpose("deconv_cropped", (1, 1, 5, 5), (1, 1, 2, 2), pads=[2, 1, 1, 2])
conv_transpose("deconv_1d", (2, 2, 5), (2, 3, 4), bias=3, strides=[3], pads=[1, 0])
conv_transpose("deconv_3d", (1, 2, 2, 3, 2), (2, 1, 2, 2, 3), strides=[1, 2, 2], last=(0,))

# ---- Pooling.


def pool(name, op, x_shape, last=(0, 1), dtype="f32", **attrs):
    x = data(name, x_shape, dtype)
    y = run({"max_pool": "MaxPool", "average_pool": "AveragePool"}[op], [x], attrs)[0]
    for channels_last in last:
        ours = dict(attrs)
        if channels_last:
            ours["channels_last"] = 1
        add(op + "_" + name + ("_nhwc" if channels_last else "_nchw"), op, ours,
            [to_last(x) if channels_last else x], [to_last(y) if channels_last else y])


for op in ("max_pool", "average_pool"):
    pool("2x2", op, (2, 2, 4, 6), kernel_shape=[2, 2], strides=[2, 2])
    pool("3x3_pads", op, (1, 2, 7, 6), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    pool("uneven", op, (1, 1, 5, 7), kernel_shape=[3, 2], strides=[1, 3], pads=[2, 0, 0, 1])
    pool("ceil", op, (1, 2, 6, 7), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    pool("ceil_pads", op, (1, 1, 5, 6), kernel_shape=[3, 3], strides=[3, 2], pads=[1, 1, 1, 1],
         ceil_mode=1)
    pool("ceil_start_in_pads", op, (1, 1, 4, 5), kernel_shape=[2, 2], strides=[3, 4],
         pads=[1, 0, 1, 1], ceil_mode=1)
    pool("1d", op, (2, 2, 9), kernel_shape=[4], strides=[2], pads=[1, 2])
    pool("3d", op, (1, 1, 4, 5, 3), kernel_shape=[2, 3, 2], strides=[2, 1, 1], last=(0,))
    pool("dilated", op, (1, 1, 7, 8), kernel_shape=[2, 3], dilations=[3, 2], pads=[1, 0, 1, 2])
    pool("global", op, (2, 3, 3, 5), kernel_shape=[3, 5])
for ceil_mode in (0, 1):
    pool("include_pads_%d" % ceil_mode, "average_pool", (1, 2, 5, 6), kernel_shape=[3, 2],
         strides=[2, 2], pads=[1, 1, 1, 0], count_include_pad=1, ceil_mode=ceil_mode)
pool("i8", "max_pool", (1, 1, 5, 5), dtype="i8", kernel_shape=[3, 3], pads=[1, 1, 1, 1])

# ---- Matrix products.
for name, x_shape, n, bias in [("2d", (3, 5), 4, True), ("1d", (5,), 3, True),
                               ("3d", (2, 3, 5), 4, False)]:
    x, w, b = data("dx" + name, x_shape), data("dw" + name, (n, 5)), data("db" + name, (n,))
    y = (x.astype(np.float64) @ w.T + (b if bias else 0)).astype(np.float32)
    add("dense_" + name, "dense", {}, [x, w] + ([b] if bias else []), [y])
for k, (ta, tb, alpha, beta, c_shape) in enumerate([
        (0, 0, 1.0, 1.0, None), (1, 0, 1.0, 1.0, (4,)), (0, 1, 0.5, 2.0, (3, 1)),
        (1, 1, 1.0, 0.25, (3, 4)), (0, 0, 2.0, 1.0, ()), (0, 0, 0.5, 0.0, (1, 4))]):
    a, b = data("ga%d" % k, (5, 3) if ta else (3, 5)), data("gb%d" % k, (4, 5) if tb else (5, 4))
    inputs = [a, b] + ([] if c_shape is None else [data("gc%d" % k, c_shape)])
    y = run("Gemm", inputs, {"transA": ta, "transB": tb, "alpha": alpha, "beta": beta})
    add("gemm_%d" % k, "gemm", {"trans_a": ta, "trans_b": tb, "alpha": alpha, "beta": beta},
        inputs, y)
for sa, sb in [((3, 5), (5, 4)), ((5,), (5,)), ((5,), (5, 4)), ((3, 5), (5,)), ((2, 3, 5), (5, 4)),
               ((2, 1, 3, 5), (4, 5, 2)), ((5,), (3, 5, 2)), ((2, 3, 5), (2, 5, 1)),
               ((3, 2, 5), (5,))]:
    name = "matmul_%s_%s" % ("x".join(map(str, sa)), "x".join(map(str, sb)))
    a, b = data(name + "a", sa), data(name + "b", sb)
    add(name, "matmul", {}, [a, b], run("MatMul", [a, b], {}))
for dtype in ("i32", "i64"):
    a, b = data("ma" + dtype, (3, 5), dtype), data("mb" + dtype, (5, 2), dtype)
    add("matmul_" + dtype, "matmul", {}, [a, b], run("MatMul", [a, b], {}))
a, b = data("mta", (2, 5, 3)), data("mtb", (4, 5))
add("matmul_transposed", "matmul", {"trans_a": 1, "trans_b": 1}, [a, b],
    [np.matmul(np.swapaxes(a, 1, 2), b.T)])

# ---- Quantized numbers.
def requantized(sums, multiplier, zero):
    limits = np.iinfo(zero.dtype)
    rounded = np.rint(sums.astype(np.float32) * multiplier) + zero.astype(np.float32)
    return np.clip(rounded, limits.min, limits.max).astype(zero.dtype)


HALVES = np.array([[0.0, 0.25, 0.75, 1.25, -0.25, -0.75], [100, -100, np.inf, -np.inf, np.nan, 7.3]],
                  np.float32)
for dtype, zero in (("u8", 3), ("i8", -7), ("u16", 300), ("i16", 5)):
    point = np.array(zero, NP[dtype])
    scale = np.array(0.5, np.float32)
    q = run("QuantizeLinear", [HALVES, scale, point], {})[0]
    q[np.isnan(HALVES)] = 0  # Of a NaN ONNX Runtime makes the least number.
    add("quantize_" + dtype, "quantize", {}, [HALVES, scale, point], [q])
    q = data("dequantize" + dtype, (2, 5), dtype, -128 if dtype[0] == "i" else 0, 127)
    add("dequantize_" + dtype, "dequantize", {}, [q, scale, point],
        run("DequantizeLinear", [q, scale, point], {}))
    sums = data("requantize" + dtype, (3, 4), "i32", -400, 400)
    sums[0, :2] = 2**31 - 1, -2**31
    scale = np.array([0.5, 0.125, 1.5, 300], np.float32)
    add("requantize_" + dtype, "requantize", {}, [sums, scale, point],
        [requantized(sums, scale, point)])
x, scale = data("quantize_axis", (2, 3, 4)), np.array([[0.5], [0.25], [3]], np.float32)
zero = np.array([[0], [128], [255]], np.uint8)
q = run("QuantizeLinear", [x, scale.ravel(), zero.ravel()], {"axis": 1})
add("quantize_axis", "quantize", {}, [x, scale, zero], q)
add("dequantize_axis", "dequantize", {}, [q[0], scale, zero],
    run("DequantizeLinear", [q[0], scale.ravel(), zero.ravel()], {"axis": 1}))
x = data("dequantize_i32", (2, 3), "i32", -2**30, 2**30)
add("dequantize_i32", "dequantize", {}, [x, np.array(0.25, np.float32), np.array(0, np.int32)],
    [x.astype(np.float32) * np.float32(0.25)])


def integer_data(name, shape, dtype):
    limits = np.iinfo(NP[dtype])
    values = data(name, shape, dtype, limits.min, limits.max)
    values.flat[:2] = limits.min, limits.max
    return values


for a, b in (("u8", "i8"), ("i8", "i8"), ("u8", "u8"), ("i16", "i8")):
    name = a + b
    x, w = integer_data("mix" + name, (2, 3, 5), a), integer_data("miw" + name, (5, 4), b)
    product = (x.astype(np.int64) @ w.astype(np.int64)).astype(np.int32)
    if a != "i16" and a + b != "i8u8":
        assert (run("MatMulInteger", [x, w], {})[0] == product).all()
    add("matmul_integer_" + name, "matmul_integer", {}, [x, w], [product])
    bias = data("mib" + name, (4,), "i32", -1000, 1000)
    add("matmul_integer_bias_" + name, "matmul_integer", {"trans_b": 1},
        [x, np.ascontiguousarray(w.T), bias], [product + bias])
for name, shape in (("", (2, 3, 8)), ("_row", (8,))):
    x, w = data("mbx" + name, shape), integer_data("mbw" + name, (2, 4, 5), "i8")
    scale = np.abs(data("mbs" + name, (2, 5))) + np.float32(0.125)
    real = (w.astype(np.float64) * scale[:, None]).reshape(8, 5)
    add("matmul_blocks" + name, "matmul_blocks", {}, [x, w, scale],
        [(x.astype(np.float64) @ real).astype(np.float32)])
x = np.full((1, 3), 2**15 - 1, np.int16)
add("matmul_integer_wraps", "matmul_integer", {}, [x, x.T.copy()],
    [np.array([[3 * (2**15 - 1)**2 - 2**32]], np.int32)])
for group, zero in ((1, 0), (2, 200)):
    x, w = integer_data("cix%d" % group, (2, 4, 5, 3), "u8"), integer_data(
        "ciw%d" % group, (6, 4 // group, 3, 2), "i8")
    attrs = {"pads": [1, 0, 1, 1], "strides": [2, 1], "group": group}
    y = run("ConvInteger", [x, w, np.array(zero, np.uint8)], attrs)[0]
    # The zero point's part of the sums, which the operator leaves to the bias.
    bias = zero * w.astype(np.int32).sum(axis=(1, 2, 3))
    y = (y + bias[None, :, None, None]).astype(np.int32)
    ours = {**attrs, "pad_value": zero}
    add("conv_integer_%d" % group, "conv_integer", ours, [x, w], [y])
    b = data("cib%d" % group, (6,), "i32", -1000, 1000)
    add("conv_integer_nhwc_%d" % group, "conv_integer", {**ours, "channels_last": 1},
        [to_last(x), w, b], [to_last(y + b[None, :, None, None])])

# ---- Normalization.
x = data("bn", (2, 3, 4, 2))
stats = [data("bns", (3,)), data("bnb", (3,)), data("bnm", (3,)), data("bnv", (3,), low=1)]
y = run("BatchNormalization", [x] + stats, {"epsilon": 0.01})[0]
add("batch_norm", "batch_norm", {"epsilon": 0.01}, [x] + stats, [y])
add("batch_norm_nhwc", "batch_norm", {"epsilon": 0.01, "channels_last": 1}, [to_last(x)] + stats,
    [to_last(y)])
x2 = data("bn2", (4, 3))
add("batch_norm_2d", "batch_norm", {}, [x2] + stats, run("BatchNormalization", [x2] + stats, {}))
for axis, scale_shape, bias in [(-1, (5,), True), (1, (3, 5), False), (2, (5,), True),
                                (0, (2, 3, 5), True)]:
    x, s, b = data("ln", (2, 3, 5)), data("lns", scale_shape), data("lnb", scale_shape)
    inputs = [x, s] + ([b] if bias else [])
    attrs = {"axis": axis, "epsilon": 0.001}
    add("layer_norm_axis%d" % axis, "layer_norm", attrs, inputs,
        run("LayerNormalization", inputs, attrs))
for shape in [(2, 3, 5), (2, 3, 2, 4)]:
    x, s, b = data("in", shape), data("ins", (3,)), data("inb", (3,))
    add("instance_norm_%dd" % len(shape), "instance_norm", {"epsilon": 0.01}, [x, s, b],
        run("InstanceNormalization", [x, s, b], {"epsilon": 0.01}))
x, s, b = data("gn", (2, 6, 3, 2)), data("gns", (6,)), data("gnb", (6,))
g = x.astype(np.float64).reshape(2, 3, -1)
g = (g - g.mean(2, keepdims=True)) / np.sqrt(g.var(2, keepdims=True) + 0.01)
g = g.reshape(x.shape)
add("group_norm", "group_norm", {"num_groups": 3, "epsilon": 0.01}, [x, s, b],
    [(g * s[None, :, None, None] + b[None, :, None, None]).astype(np.float32)])
s, b = data("gns18", (3,)), data("gnb18", (3,))
by_channel = [np.repeat(v, 2)[None, :, None, None] for v in (s, b)]
add("group_norm_opset18", "group_norm", {"num_groups": 3, "epsilon": 0.01}, [x, s, b],
    [(g * by_channel[0] + by_channel[1]).astype(np.float32)])
for size in (1, 2, 3, 4, 5):
    x = data("lrn", (2, 5, 2, 3))
    attrs = {"size": size, "alpha": 0.25, "beta": 0.5, "bias": 2.0}
    if size % 2:
        y = run("LRN", [x], attrs)[0]
    else:  # ONNX Runtime refuses even sizes; ONNX's text: floor((size-1)/2) before, ceil after.
        y = np.empty_like(x)
        for c in range(5):
            window = x[:, max(0, c - (size - 1) // 2):c + size // 2 + 1].astype(np.float64)
            y[:, c] = x[:, c] / (2.0 + 0.25 / size * (window**2).sum(1))**0.5
    add("lrn_size%d" % size, "lrn", attrs, [x], [y])
    if size == 3:
        add("lrn_nhwc", "lrn", dict(attrs, channels_last=1), [to_last(x)], [to_last(y)])
for beta in (0.75, 0.6):
    x = data("lrn_beta", (2, 5, 2, 3))
    attrs = {"size": 3, "alpha": 0.25, "beta": beta, "bias": 2.0}
    add("lrn_beta_%g" % beta, "lrn", attrs, [x], run("LRN", [x], attrs))

# ---- Softmax.
for op, onnx_op in [("softmax", "Softmax"), ("log_softmax", "LogSoftmax")]:
    for axis in (-1, 0, 1):
        x = data(op, (3, 4, 5), low=-80, high=80)
        add("%s_axis%d" % (op, axis), op, {"axis": axis}, [x], run(onnx_op, [x], {"axis": axis}))
    x = np.array([[1000, 1001, 999], [-1000, -1000, -1003], [0, -np.inf, 1]], np.float32)
    add(op + "_extreme", op, {}, [x], run(onnx_op, [x], {}))

# ---- Reductions.
for op, onnx_op in [("reduce_sum", "ReduceSum"), ("reduce_mean", "ReduceMean"),
                    ("reduce_max", "ReduceMax"), ("reduce_min", "ReduceMin"),
                    ("reduce_prod", "ReduceProd"), ("reduce_l1", "ReduceL1"),
                    ("reduce_l2", "ReduceL2"), ("reduce_log_sum", "ReduceLogSum"),
                    ("reduce_log_sum_exp", "ReduceLogSumExp"),
                    ("reduce_sum_square", "ReduceSumSquare")]:
    for axes, keepdims in [([1], 1), ([-1], 0), ([0, 2], 0), ([0, 1, 2], 1), ([2, 0], 1)]:
        x = data(op, (3, 4, 2), low=1 if "log_sum" == op[-7:] else -12, high=12)
        y = run(onnx_op, [x, np.array(axes, np.int64)], {"keepdims": keepdims})
        add("%s_%s_%d" % (op, "_".join(map(str, axes)), keepdims), op,
            {"axes": axes, "keepdims": keepdims}, [x], y)
for op, onnx_op in [("reduce_sum", "ReduceSum"), ("reduce_max", "ReduceMax"),
                    ("reduce_min", "ReduceMin"), ("reduce_mean", "ReduceMean"),
                    ("reduce_prod", "ReduceProd")]:
    for dtype in ("i32", "i64"):
        x = data(op + dtype, (3, 5), dtype, -6, 6)
        if op == "reduce_mean":
            x = np.abs(x)  # Rounding of negative integer means differs between versions.
        y = run(onnx_op, [x, np.array([1], np.int64)], {"keepdims": 1})
        add(op + "_" + dtype, op, {"axes": [1]}, [x], y)
x = np.array([[1, 2], [-np.inf, -np.inf], [np.inf, 0], [200, 201]], np.float32)
add("reduce_log_sum_exp_extreme", "reduce_log_sum_exp", {"axes": [1]}, [x],
    [np.array([[2.3132617], [-np.inf], [np.inf], [201.31326]], np.float32)])
x = data("axes_empty", (2, 3))
add("reduce_sum_no_axes", "reduce_sum", {"axes": []}, [x], [x])
add("reduce_l1_no_axes", "reduce_l1", {"axes": []}, [x], [np.abs(x)])
for op, onnx_op in [("argmax", "ArgMax"), ("argmin", "ArgMin")]:
    for axis, keepdims, last in [(0, 1, 0), (1, 0, 0), (-1, 1, 1), (1, 1, 1)]:
        x = data(op, (3, 5, 4), low=-3, high=3)  # Few values: ties.
        attrs = {"axis": axis, "keepdims": keepdims, "select_last_index": last}
        add("%s_%d_%d_%d" % (op, axis, keepdims, last), op, attrs, [x], run(onnx_op, [x], attrs))
    x = data(op, (3, 5), "i32", -3, 3)
    add(op + "_i32", op, {"axis": 1}, [x], run(onnx_op, [x], {"axis": 1}))

# ---- Data movement.
x = data("transform", (2, 3, 4))
for perm in ([0, 2, 1], [2, 1, 0], [1, 2, 0], [0, 1, 2]):
    add("transpose_" + "".join(map(str, perm)), "transpose", {"perm": perm}, [x],
        run("Transpose", [x], {"perm": perm}))
for k, (source, shape) in enumerate([
        ((2, 3, 4), (24,)), ((2, 3, 4), (6, 4)), ((2, 3, 4), (2, 12)), ((2, 3, 4), (4, 3, 2)),
        ((2, 3, 4), (1, 2, 1, 3, 4, 1)), ((1, 6, 1), (2, 3)), ((4, 6), (3, 8)), ((1, 1), ()),
        ((), (1, 1, 1)), ((2, 6, 5), (2, 2, 3, 5)), ((2, 3, 4, 5), (6, 20))]):
    x = data("reshape", source)
    add("reshape_%d" % k, "reshape", {"shape": list(shape)}, [x], [x.reshape(shape)])
for k, (source, shape) in enumerate([((3, 1), (2, 3, 4)), ((2, 3, 4), (3, 1)), ((), (2, 2)),
                                     ((1, 3), (2, 1))]):
    x = data("expand", source)
    add("expand_%d" % k, "expand", {"shape": list(shape)}, [x],
        run("Expand", [x, np.array(shape, np.int64)], {}))
parts = [data("concat%d" % n, (2, n, 3)) for n in (1, 3, 2)]
add("concat_1", "concat", {"axis": 1}, parts, run("Concat", parts, {"axis": 1}))
add("concat_negative", "concat", {"axis": -2}, parts[:1], run("Concat", parts[:1], {"axis": -2}))
parts = [data("concati%d" % n, (n, 2), "i64") for n in (2, 1)]
add("concat_i64", "concat", {"axis": 0}, parts, run("Concat", parts, {"axis": 0}))
x = data("split", (4, 6, 2))
for axis, split in [(1, [1, 2, 3]), (0, [4]), (-1, [1, 1])]:
    add("split_%d" % axis, "split", {"axis": axis, "split": split}, [x],
        run("Split", [x, np.array(split, np.int64)], {"axis": axis}, outputs=len(split)))
x = data("slice", (5, 6, 4))
for k, (axes, starts, ends, steps) in enumerate([
        ([0, 2], [1, 0], [4, 3], None), ([1], [0], [6], [2]), ([1, 0], [5, 4], [-1, 0], [-1, -2]),
        ([-1], [3], [-1], [-3])]):
    index = [slice(None)] * 3
    for d, s, e, st in zip(axes, starts, ends, steps or [1] * len(axes)):
        index[d] = slice(s, None if e < 0 else e, st)
    attrs = {"axes": axes, "starts": starts, "ends": ends}
    if steps:
        attrs["steps"] = steps
    add("slice_%d" % k, "slice", attrs, [x], [x[tuple(index)]])
x = data("pad", (3, 4, 2))
for mode, pads in [("constant", [1, 0, 2, 0, 3, 1]), ("constant", [-1, 0, 1, 0, -2, 0]),
                   ("reflect", [2, 1, 0, 1, 3, 1]), ("edge", [1, 2, 3, 4, 0, 1]),
                   ("wrap", [1, 3, 2, 2, 0, 1])]:
    inputs = [x, np.array(pads, np.int64)]
    attrs = {"pads": pads, "mode": mode}
    if mode == "constant":
        inputs.append(np.array(1.5, np.float32))
        attrs["value"] = 1.5
    add("pad_%s_%d" % (mode, pads[0] & 255), "pad", attrs, [x], run("Pad", inputs, {"mode": mode}))
for dtype in ("i32", "i64"):
    x = data("gather", (4, 5, 3))
    for axis, shape in [(0, (2,)), (1, (2, 3)), (-1, ()), (2, (1, 4))]:
        extent = x.shape[axis]
        which = data("gi%d" % axis, shape, dtype, -extent, extent - 1)
        add("gather_%d_%s" % (axis, dtype), "gather", {"axis": axis}, [x, which],
            run("Gather", [x, which], {"axis": axis}))
    for axis, shape in [(0, (3, 5, 3)), (1, (4, 7, 2)), (-1, (2, 1, 4))]:
        extent = x.shape[axis]
        which = data("ge%d" % axis, shape, dtype, -extent, extent - 1)
        add("gather_elements_%d_%s" % (axis, dtype), "gather_elements", {"axis": axis}, [x, which],
            run("GatherElements", [x, which], {"axis": axis}))
    for x_shape, shape in [((4, 5, 3), (1, 6, 1)), ((1, 5, 3), (2, 2, 3))]:
        x, which = data("gatherb", x_shape), data("gb", shape, dtype, -5, 4)
        both = np.broadcast_shapes(x_shape[:1] + x_shape[2:], shape[:1] + shape[2:])
        spread = [np.broadcast_to(a, both[:1] + a.shape[1:2] + both[1:]).copy() for a in (x, which)]
        add("gather_elements_broadcast_%d_%s" % (x_shape[0], dtype), "gather_elements",
            {"axis": 1, "broadcast": 1}, [x, which], run("GatherElements", spread, {"axis": 1}))
for batch, shape in [(0, (3, 2, 3)), (0, (1, 1)), (1, (4, 2, 1)), (2, (4, 5, 1))]:
    x = data("gathernd", (4, 5, 3))
    which = data("gn%d" % batch, shape, "i64", -3, 2)
    add("gather_nd_%d_%d" % (batch, len(shape)), "gather_nd", {"batch_dims": batch}, [x, which],
        run("GatherND", [x, which], {"batch_dims": batch}))


# ---- Functions of the runtime.
def host(case, op, onnx_op, attrs, inputs, onnx_inputs=(), onnx_attrs=None, outputs=1, opset=21):
    """`onnx_inputs`: what is an attribute of ours, behind the inputs."""
    want = run(onnx_op, [*inputs, *onnx_inputs], attrs if onnx_attrs is None else onnx_attrs,
               outputs, opset)
    add(f"{op}_{case}", op, attrs, inputs, want)


for axis, k, largest in ((-1, 3, 1), (0, 2, 0), (1, 4, 1)):
    for dtype in ("f32", "i64"):
        # Few values: ties.
        x = data(f"top_k_{axis}", (3, 4, 5), dtype, -3, 3)
        host(f"{axis}_{dtype}", "top_k", "TopK", {"axis": axis, "k": k, "largest": largest}, [x],
             [np.array([k])], {"axis": axis, "largest": largest}, 2)
for axis, exclusive, reverse, dtype in ((0, 0, 0, "f32"), (1, 1, 0, "f32"), (-1, 0, 1, "f64"),
                                        (1, 1, 1, "i32"), (2, 0, 0, "i64")):
    attrs = {"exclusive": exclusive, "reverse": reverse}
    host(f"{axis}_{exclusive}{reverse}", "cum_sum", "CumSum", {"axis": axis, **attrs},
         [data("cum_sum", (3, 4, 5), dtype)], [np.array(axis)], attrs)
for axis, exclusive, reverse, dtype in ((0, 0, 0, "f32"), (-1, 1, 1, "i64")):
    # Not in ONNX Runtime: by NumPy.
    x = data("cum_prod", (3, 4), dtype)
    want = np.flip(x, axis) if reverse else x
    want = np.cumprod(want, axis, dtype=x.dtype)
    if exclusive:
        want = np.insert(np.delete(want, -1, axis), 0, 1, axis)
    add(f"cum_prod_{axis}", "cum_prod", {"axis": axis, "exclusive": exclusive, "reverse": reverse},
        [x], [np.flip(want, axis) if reverse else want])
for reduction in ("none", "add", "mul", "max", "min"):
    for dtype in ("f32", "i32"):
        x = data("scatter", (3, 4), dtype)
        # One place twice, but where the last one wins: ONNX leaves that open.
        which = np.array([[0, -1], [2, 2]] if reduction != "none" else [[0, -1], [2, 1]])
        host(f"{reduction}_{dtype}", "scatter_elements", "ScatterElements",
             {"axis": 1, "reduction": reduction}, [x, which, data("updates", (2, 2), dtype)],
             opset=18)
        host(f"{reduction}_{dtype}", "scatter_nd", "ScatterND", {"reduction": reduction},
             [x, which[:, :1], data("updates", (2, 4), dtype)], opset=18)
x, deep = data("scatter", (3, 4)), np.array([[0, -1], [2, 1], [1, 1]], np.int64)
host("deep", "scatter_nd", "ScatterND", {"reduction": "none"}, [x, deep, data("updates", (3,))])
host("axis_0", "scatter_elements", "ScatterElements", {"axis": 0, "reduction": "none"},
     [x, np.array([[2, 0, 1]], np.int32), data("updates", (1, 3))])

# Results as long as their data says: as far as they hold from ONNX Runtime, then zeros, and how far.


def padded(array, axis, bound):
    width = [(0, 0)] * array.ndim
    width[axis] = (0, bound - array.shape[axis])
    return np.pad(array, width)


for dtype in ("f32", "i64", "bool"):
    x = data("non_zero", (3, 4), dtype, 0, 2)
    places = run("NonZero", [x], {}, 1, 13)[0]
    add(f"non_zero_{dtype}", "non_zero", {}, [x],
        [padded(places, 1, 12), np.array(places.shape[1], np.int64)])
for case, axis, is_sorted, dtype in (("flat", None, 1, "f32"), ("first", None, 0, "i64"),
                                     ("rows", 0, 1, "f32"), ("columns", -1, 0, "f32")):
    # Unsorted along an axis ONNX Runtime sorts too where nothing is equal: few values.
    x = data(f"unique_{case}", (4, 3), dtype, 0, 2)
    extent = x.size if axis is None else x.shape[axis]
    attrs = {"sorted": is_sorted, **({} if axis is None else {"axis": axis})}
    y, first, inverse, counts = run("Unique", [x], attrs, 4, 11)
    bound = max(2, extent)
    add(f"unique_{case}", "unique", {"axis": axis or 0, "sorted": is_sorted},
        [x.ravel() if axis is None else x, np.array(extent, np.int64)],
        [padded(y, 0 if axis is None else axis, bound), padded(first, 0, bound), inverse,
         padded(counts, 0, bound), np.array(len(counts), np.int64)])
for case, centers, limit, overlap, threshold in (
        ("corners", 0, 3, 0.3, 0.25), ("centers", 1, 2, 0.5, 0.5), ("all", 0, 100, 1.0, -1.0),
        ("none", 0, 5, 0.5, 9.0), ("limit_0", 0, 0, 0.5, 0.0)):
    boxes, scores = data("nms_boxes", (2, 12, 4)), data("nms_scores", (2, 3, 12), "f32", 0, 16)
    if centers:
        boxes = np.abs(boxes)
    inputs = [boxes, scores, np.array([limit], np.int64), np.array([overlap], np.float32),
              np.array([threshold], np.float32)]
    rows = run("NonMaxSuppression", inputs, {"center_point_box": centers}, 1, 11)[0]
    add(f"non_max_suppression_{case}", "non_max_suppression",
        {"center_point_box": centers, "most": 12}, [*inputs, np.array(12, np.int64)],
        [padded(rows.reshape(-1, 3), 0, 72), np.array(len(rows), np.int64)])


def resize(name, x_shape, mode, transform, scales=None, sizes=None, nearest=None, last=False,
           roi=None):
    x = data("resize" + name, x_shape)
    attrs = {"mode": mode, "coordinate_transformation_mode": transform}
    if nearest:
        attrs["nearest_mode"] = nearest
    if roi:
        attrs["extrapolation_value"] = 9.5
    shown = [np.array(roi, np.float32)] if roi else []
    if scales:
        inputs, omit = [x, *shown, np.array(scales, np.float32)], () if roi else (1,)
    else:
        inputs, omit = [x, *shown, np.array(sizes, np.int64)], (2,) if roi else (1, 2)
    y = run("Resize", inputs, attrs, omit=omit)[0]
    ours = dict(attrs)
    if roi:
        ours["roi"] = list(roi)
    values = list(scales or sizes)
    if last:
        x, y = to_last(x), to_last(y)
        values = [values[0]] + values[2:] + [values[1]]
        ours["channels_last"] = 1
    ours["scales" if scales else "sizes"] = values
    add("resize_" + name, "resize", ours, [x], [y])


TRANSFORMS = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
              "half_pixel_symmetric"]
for transform in TRANSFORMS:
    for nearest in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        resize("nearest_%s_%s" % (transform, nearest), (1, 1, 3, 4), "nearest", transform,
               sizes=[1, 1, 7, 5], nearest=nearest)
        resize("shrink_%s_%s" % (transform, nearest), (1, 1, 6, 5), "nearest", transform,
               scales=[1.0, 1.0, 0.5, 0.7], nearest=nearest)
    resize("linear_%s" % transform, (1, 2, 3, 4), "linear", transform, scales=[1.0, 1.0, 2.0, 1.75])
    resize("linear_shrink_%s" % transform, (1, 1, 6, 5), "linear", transform, sizes=[1, 1, 4, 3])
resize("twice", (1, 2, 3, 4), "nearest", "asymmetric", scales=[1.0, 1.0, 2.0, 2.0], nearest="floor")
resize("twice_nhwc", (1, 2, 3, 4), "nearest", "asymmetric", scales=[1.0, 1.0, 2.0, 2.0],
       nearest="floor", last=True)
resize("linear_nhwc", (1, 2, 3, 4), "linear", "half_pixel", scales=[1.0, 1.0, 2.0, 2.0], last=True)
for mode in ("nearest", "linear"):
    for name, begin, end in [("inside", (0.25, 0.5), (0.75, 1.0)), ("beyond", (-0.5, 0.25), (1.0, 1.5))]:
        resize("crop_%s_%s" % (name, mode), (1, 1, 4, 5), mode, "tf_crop_and_resize",
               sizes=[1, 1, 5, 4], roi=[0.0, 0.0, *begin, 1.0, 1.0, *end])
resize("crop_to_one", (1, 1, 4, 5), "linear", "tf_crop_and_resize", scales=[1.0, 1.0, 0.25, 0.4],
       roi=[0.0, 0.0, 0.25, 0.0, 1.0, 1.0, 1.0, 0.75])
resize("to_one", (1, 1, 4, 4), "linear", "align_corners", sizes=[1, 1, 1, 1])

sys.stdout.write("\n".join(cases) + "\n")
