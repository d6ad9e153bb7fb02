"""Quantized operators, compiled and run through a bundle, against ONNX Runtime and against what their
texts say (quantized_numpy): results of 8 and 16 bits within 1, sums of 32 bits equal. Each case twice:
with weights, scales and zero points as constants, and with all of them as inputs (but for integers of
2 and 4 bits, which only constants may be).

usage: quantized_cases.py RUNNER [NAME...]
"""

import os
import sys

import ml_dtypes
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/models"))
from case_runner import CaseRunner  # noqa: E402
from compare import close_difference  # noqa: E402
from test_report import Report  # noqa: E402

from quantized_numpy import OPERATORS  # noqa: E402

RTOL, ATOL = 1e-4, 1e-5
f32, f16, bf16 = np.float32, np.float16, ml_dtypes.bfloat16
FEW_BITS = {np.dtype(t) for t in (ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.int4, ml_dtypes.uint4)}


def data(shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed + sum(shape)).normal(size=shape)).astype(f32)


def whole(shape, dtype, seed=0):
    """Integers over the whole range, its ends among them."""
    info = ml_dtypes.iinfo(dtype)
    values = np.random.default_rng(seed + sum(shape)).integers(
        int(info.min), int(info.max) + 1, shape, np.int64)
    values.flat[:2] = info.min, info.max
    return values.astype(dtype)


def at(value, dtype):
    return np.array(value, dtype)


# Name: (operator, inputs, attributes, outputs, positions of run inputs).
def cases():
    yield from linear_cases()
    yield from half_cases()
    yield from few_bits_cases()
    yield from blocked_cases()
    yield from product_cases()
    yield from convolution_cases()
    yield from microsoft_cases()


def linear_cases():
    x = np.concatenate([data((3, 4, 5), scale=40), np.full((3, 4, 1), 2.5, f32),
                        np.full((3, 4, 1), np.inf, f32), np.full((3, 4, 1), -np.inf, f32)], axis=2)
    for dtype, zero in ((np.uint8, 131), (np.int8, -3), (np.uint16, 30000), (np.int16, 7)):
        name, scale, point = np.dtype(dtype).name, at(0.37, f32), at(zero, dtype)
        yield f"quantize {name}", ("QuantizeLinear", [x, scale, point], {}, 1, [0])
        yield f"dequantize {name}", (
            "DequantizeLinear", [whole((3, 4, 5), dtype), scale, point], {}, 1, [0])
        for axis, extent in ((0, 3), (1, 4), (-1, 8)):
            scales = np.abs(data((extent,), axis + 9)) + f32(0.1)
            zeros = whole((extent,), dtype, axis + 9)
            yield f"quantize {name} axis {axis}", (
                "QuantizeLinear", [x, scales, zeros], {"axis": axis}, 1, [0])
            values = whole(x.shape, dtype)
            yield f"dequantize {name} axis {axis}", (
                "DequantizeLinear", [values, scales, zeros], {"axis": axis}, 1, [0])
    yield "quantize no zero point", ("QuantizeLinear", [x, at(0.37, f32)], {}, 1, [0])
    yield "quantize output_dtype", (
        "QuantizeLinear", [x, at(0.37, f32)], {"output_dtype": TensorProto.INT8}, 1, [0])
    yield "dequantize i32", (
        "DequantizeLinear", [whole((4, 6), np.int32), at(0.01, f32)], {}, 1, [0])
    for block in (2, 3):
        scales = np.abs(data((3, -(-4 // block), 8))) + f32(0.1)
        zeros = whole(scales.shape, np.uint8)
        yield f"quantize blocks of {block}", (
            "QuantizeLinear", [data((3, 4, 8), scale=40), scales, zeros],
            {"axis": 1, "block_size": block}, 1, [0])
        yield f"quantize blocks of {block} without zero points", (
            "QuantizeLinear", [data((3, 4, 8), scale=40), scales],
            {"axis": 1, "block_size": block}, 1, [0])
    for k, values in enumerate((data((5, 7)), np.abs(data((5, 7))), -np.abs(data((5, 7))),
                                np.zeros((5, 7), f32))):
        yield f"dynamic quantize {k}", ("DynamicQuantizeLinear", [values], {}, 3, [0])


def half_cases():
    """Scales of 16 bits, which the result has, too, unless an attribute says another type."""
    x = data((3, 4, 8), scale=40)
    for kind in (f16, bf16):
        name, scale = np.dtype(kind).name, at(0.37, kind)
        for dtype, zero in ((np.uint8, 131), (np.int8, -3), (np.int16, 7)):
            numbers, of = whole(x.shape, dtype), f"{np.dtype(dtype).name} by {name}"
            yield f"quantize {of}", (
                "QuantizeLinear", [x.astype(kind), scale, at(zero, dtype)], {}, 1, [0])
            yield f"dequantize {of}", (
                "DequantizeLinear", [numbers, scale, at(zero, dtype)], {}, 1, [0])
            scales = (np.abs(data((4,), 9)) + f32(0.1)).astype(kind)
            zeros = whole((4,), dtype, 9)
            yield f"quantize {of} axis", (
                "QuantizeLinear", [x.astype(kind), scales, zeros], {"axis": 1}, 1, [0])
            yield f"dequantize {of} axis", (
                "DequantizeLinear", [numbers, scales, zeros], {"axis": 1}, 1, [0])
        for block in (2, 3):
            scales = (np.abs(data((3, -(-4 // block), 8))) + f32(0.1)).astype(kind)
            zeros, of = whole(scales.shape, np.uint8), {"axis": 1, "block_size": block}
            yield f"quantize {name} blocks of {block}", (
                "QuantizeLinear", [x.astype(kind), scales, zeros], of, 1, [0])
            yield f"dequantize {name} blocks of {block}", (
                "DequantizeLinear", [whole(x.shape, np.uint8), scales, zeros], of, 1, [0])
        yield f"dequantize i32 by {name}", (
            "DequantizeLinear", [np.arange(-999, 999, dtype=np.int32), at(0.01, kind)], {}, 1, [0])
        number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
        yield f"dequantize {name} to float", (
            "DequantizeLinear", [whole((4, 9), np.int8), scale, at(3, np.int8)],
            {"output_dtype": TensorProto.FLOAT}, 1, [0])
        yield f"dequantize float to {name}", (
            "DequantizeLinear", [whole((4, 9), np.int8), scale.astype(f32), at(3, np.int8)],
            {"output_dtype": number}, 1, [0])
        yield f"quantize {name} by float", (
            "QuantizeLinear", [x.astype(kind), at(0.37, f32), at(3, np.int8)], {"precision": 1}, 1,
            [0])
        yield f"quantize float by {name}", (
            "QuantizeLinear", [x, scale, at(3, np.int8)], {"precision": number}, 1, [0])
        yield f"matmul of weights by {name}", (
            "DequantizeLinear+MatMul", [whole((24, 7), np.int8), scale, None,
                                        data((5, 24)).astype(kind)], {}, 1, [3])


def few_bits_cases():
    """Constants of 4 and 2 bits as weights; none has an even number of elements in each row."""
    for dtype in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.uint2):
        name, x = np.dtype(dtype).name, data((3, 15))
        w = whole((15, 7), dtype)
        for kind in (f32, f16):
            of = f"{name} by {np.dtype(kind).name}"
            for place, shape, attributes in (
                    ("tensor", (), {}), ("columns", (7,), {"axis": 1}), ("rows", (15,), {"axis": 0}),
                    ("blocks", (3, 7), {"axis": 0, "block_size": 5}),
                    ("cut blocks", (4, 7), {"axis": 0, "block_size": 4}),
                    ("blocks of columns", (15, 2), {"axis": 1, "block_size": 4})):
                scale = np.asarray(np.abs(data((1, *shape)))[0] + f32(0.1), kind)
                zero = whole((2, *shape), dtype, 5)[0] if shape else at(1, dtype)
                for zeros in (zero, None):
                    yield f"matmul {of} {place}{'' if zeros is None else ' with zero points'}", (
                        "DequantizeLinear+MatMul", [w, scale, zeros, x.astype(kind)], attributes, 1,
                        [3])
        yield f"quantize {name}", (
            "QuantizeLinear+DequantizeLinear", [data((5, 7), scale=8), at(0.9, f32), at(1, dtype)],
            {}, 1, [0])
        yield f"quantize {name} without zero point", (
            "QuantizeLinear+DequantizeLinear", [data((5, 7), scale=8), at(0.9, f32)],
            {"output_dtype": helper.np_dtype_to_tensor_dtype(np.dtype(dtype))}, 1, [0])


def packed(numbers, bits):
    """MatMulNBits' form: several numbers a byte, the first in the lowest bits; rows end at bytes."""
    per_byte = 8 // bits
    more = -numbers.shape[-1] % per_byte
    wide = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, more)])
    parts = wide.reshape(*wide.shape[:-1], -1, per_byte)
    return sum((parts[..., i] << np.uint8(bits * i) for i in range(per_byte)), np.uint8(0))


def blocked_cases():
    for bits in (2, 4, 8):
        for rows, block in ((64, 32), (50, 16), (80, 16), (300, 128)):
            blocks, columns = -(-rows // block), 7
            rng = np.random.default_rng(rows + bits)
            numbers = rng.integers(0, 2**bits, (columns, blocks, block)).astype(np.uint8)
            zero = rng.integers(0, 2**bits, (columns, blocks)).astype(np.uint8)
            scale = np.abs(data((columns, blocks), scale=0.05)) + f32(0.01)
            x, bias = data((2, 3, rows)), data((columns,))
            of = {"K": rows, "N": columns, "bits": bits, "block_size": block}
            b, name = packed(numbers, bits), f"matmul of {bits} bits, {rows} rows by {block}"
            order = (np.arange(rows) // block).astype(np.int32)
            yield name, ("ms.MatMulNBits", [x, b, scale, None, None, bias], of, 1, [0])
            yield f"{name}, zero points", (
                "ms.MatMulNBits", [x, b, scale, packed(zero, bits), None, bias], of, 1, [0])
            yield f"{name}, zero points of floats", (
                "ms.MatMulNBits", [x, b, scale, zero.astype(f32) + f32(0.25), None, bias], of, 1,
                [0])
            if bits > 2:  # Of 2 bits, groups in order or not are two results of ONNX Runtime's.
                yield f"{name}, groups in order", (
                    "ms.MatMulNBits", [x, b, scale, None, order, bias], of, 1, [0])
            yield f"{name}, flat parameters", (
                "ms.MatMulNBits", [x, b, scale.ravel(), packed(zero, bits).ravel(), None, bias], of,
                1, [0])
            for kind in (f16, bf16):
                yield f"{name}, {np.dtype(kind).name}", (
                    "ms.MatMulNBits", [x.astype(kind), b, scale.astype(kind), packed(zero, bits),
                                       None, bias.astype(kind)], of, 1, [0])


def product_cases():
    for left in (np.uint8, np.int8):
        for right in (np.uint8, np.int8):
            name = f"{np.dtype(left).name} {np.dtype(right).name}"
            a, b = whole((2, 5, 37), left), whole((37, 19), right)
            a_zero, b_zero = at(np.iinfo(left).max - 20, left), at(5, right)
            for zeros in ([], [a_zero], [a_zero, b_zero]):
                yield f"matmul integer {name} {len(zeros)}", (
                    "MatMulInteger", [a, b, *zeros], {}, 1, [0])
            columns = whole((19,), right, 3)
            yield f"matmul integer {name} columns", (
                "MatMulInteger", [a, b, a_zero, columns], {}, 1, [0])
            scales = np.abs(data((19,))) * f32(0.02) + f32(0.001)
            for kind, s, z in (("tensor", at(0.01, f32), b_zero), ("columns", scales, columns)):
                if kind == "columns" and right == np.uint8:
                    continue  # ONNX Runtime takes one zero point only.
                if kind == "columns":
                    z = np.zeros(19, right)
                y_scale, y_zero = at(1.3, f32), at(100, left)
                yield f"qlinear matmul {name} {kind}", (
                    "QLinearMatMul", [a, at(0.02, f32), a_zero, b, s, z, y_scale, y_zero], {}, 1,
                    [0])


def convolution_cases():
    for group, kernel, attributes in (
            (1, (3, 3), {"pads": [1, 1, 1, 1]}), (1, (1, 1), {}), (4, (3, 2), {"strides": [2, 1]}),
            (2, (3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
            (1, (2, 3), {"dilations": [2, 1], "pads": [0, 1, 2, 0]})):
        for left, right in ((np.uint8, np.int8), (np.uint8, np.uint8), (np.int8, np.int8)):
            name = f"{kernel} {group} {np.dtype(left).name} {np.dtype(right).name}"
            x, w = whole((2, 8, 9, 7), left), whole((12, 8 // group, *kernel), right)
            x_zero, w_zero = at(np.iinfo(left).max // 2, left), at(0 if right == np.int8 else 121,
                                                                   right)
            attrs = {"group": group, **attributes}
            # ONNX Runtime's ConvInteger takes u8 only, on the left.
            if left == np.uint8:
                yield f"conv integer {name}", (
                    "ConvInteger", [x, w, x_zero, w_zero], attrs, 1, [0])
            bias = np.random.default_rng(7).integers(-20000, 20000, 12, np.int32)
            for kind, w_scale, zeros in (
                    ("tensor", at(0.013, f32), w_zero),
                    ("channel", np.abs(data((12,))) * f32(0.01) + f32(0.001),
                     np.full(12, w_zero, right))):
                if kind == "channel" and right == np.uint8:
                    continue
                yield f"qlinear conv {name} {kind}", (
                    "QLinearConv", [x, at(0.02, f32), x_zero, w, w_scale, zeros, at(0.9, f32),
                                    at(90, left), bias], attrs, 1, [0])
    yield "qlinear conv 1d", (
        "QLinearConv", [whole((1, 3, 20), np.uint8), at(0.02, f32), at(128, np.uint8),
                        whole((4, 3, 5), np.int8), at(0.01, f32), at(0, np.int8), at(0.3, f32),
                        at(10, np.uint8)], {"pads": [2, 2]}, 1, [0])


def microsoft_cases():
    for dtype in (np.uint8, np.int8):
        name, zero = np.dtype(dtype).name, np.iinfo(dtype).max - 100
        a, b = whole((2, 3, 6, 5), dtype), whole((2, 3, 6, 5), dtype, 1)
        first, last = [at(0.04, f32), at(zero, dtype)], [at(0.05, f32), at(zero - 9, dtype)]
        second = [at(0.023, f32), at(zero + 7, dtype)]
        yield f"qlinear add {name}", (
            "ms.QLinearAdd", [a, *first, b, *second, *last], {}, 1, [0, 3])
        yield f"qlinear add broadcast {name}", (
            "ms.QLinearAdd", [a, *first, b[0, :, :1, :1], *second, *last], {}, 1, [0, 3])
        yield f"qlinear mul {name}", (
            "ms.QLinearMul", [a, *first, b, *second, *last], {}, 1, [0, 3])
        yield f"quantize of microsoft {name}", (
            "ms.QuantizeLinear", [data((2, 3, 6, 5), scale=3), *first], {}, 1, [0])
        yield f"dequantize of microsoft {name}", ("ms.DequantizeLinear", [a, *first], {}, 1, [0])
        yield f"qlinear leaky relu {name}", (
            "ms.QLinearLeakyRelu", [a, *first, *last], {"alpha": 0.2}, 1, [0])
        yield f"qlinear sigmoid {name}", (
            "ms.QLinearSigmoid", [a, *first, at(1 / 256, f32), at(np.iinfo(dtype).min, dtype)], {},
            1, [0])
        yield f"qlinear softmax {name}", (
            "ms.QLinearSoftmax", [a, *first, at(1 / 256, f32), at(np.iinfo(dtype).min, dtype)],
            {"axis": -1, "opset": 13}, 1, [0])
        yield f"qlinear global average pool {name}", (
            "ms.QLinearGlobalAveragePool", [a, *first, *last], {"channels_last": 0}, 1, [0])
        if dtype == np.uint8:
            yield "qlinear average pool", (
                "ms.QLinearAveragePool", [a, *first, *last],
                {"kernel_shape": [3, 2], "pads": [1, 0, 1, 0]}, 1, [0])
        yield f"qlinear concat {name}", (
            "ms.QLinearConcat", [*last, a, *first, b, *second], {"axis": 1}, 1, [2, 5])
        w, x = whole((6, 7), np.int8), whole((4, 6), dtype)
        of_w = [at(0.01, f32), at(0, np.int8)]
        c = np.random.default_rng(3).integers(-3000, 3000, 7, np.int32)
        yield f"qgemm {name}", (
            "ms.QGemm", [x, *first, w, *of_w, c, *last], {"alpha": 1.0, "transB": 0}, 1, [0])
        yield f"qgemm transposed {name}", (
            "ms.QGemm", [x, *first, np.ascontiguousarray(w.T), *of_w, c, *last],
            {"alpha": 1.0, "transB": 1}, 1, [0])
        yield f"qgemm float {name}", (
            "ms.QGemm", [x, *first, w, *of_w, c], {"alpha": 1.0}, 1, [0])
        bias = data((7,))
        yield f"matmul integer to float {name}", (
            "ms.MatMulIntegerToFloat", [x, w, first[0], of_w[0], first[1], of_w[1], bias], {}, 1,
            [0])
    w = whole((6, 7), np.int8)
    yield "dynamic quantize matmul", (
        "ms.DynamicQuantizeMatMul", [data((4, 6)), w, at(0.01, f32), at(3, np.int8), data((7,))],
        {}, 1, [0])
    for dtype, zero in ((np.int8, 0), (np.uint8, 121)):
        w, r = whole((1, 5, 28), dtype), whole((1, 7, 28), dtype)
        parameters = [np.array([v], t) for v, t in
                      ((0.01, f32), (zero, dtype), (0.008, f32), (zero, dtype))]
        yield f"dynamic quantize lstm {np.dtype(dtype).name}", (
            "ms.DynamicQuantizeLSTM", [data((4, 3, 5)), w, r, data((1, 56)), None, None, None, None,
                                       *parameters], {"hidden_size": 7}, 3, [0])
    x = whole((2, 3, 8), np.uint8)
    weights = whole((8, 24), np.int8)
    yield "qattention", (
        "ms.QAttention", [x, weights, data((24,)), at(0.02, f32), at(0.01, f32), None,
                          at(120, np.uint8), at(0, np.int8)], {"num_heads": 2}, 1, [0])


def model_of(operator, inputs, attributes, outputs, fed):
    names = [f"i{k}" if array is not None else "" for k, array in enumerate(inputs)]
    infos, constants = [], []
    for k, (name, array) in enumerate(zip(names, inputs)):
        if array is None:
            continue
        if k in fed:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            infos.append(helper.make_tensor_value_info(name, kind, array.shape))
        else:
            constants.append(numpy_helper.from_array(array, name))
    outs = [f"o{k}" for k in range(outputs)]
    own = operator.startswith("ms.")
    first, _, second = operator.partition("+")
    if second == "MatMul":
        nodes = [helper.make_node(first, names[:3], ["between"], **attributes),
                 helper.make_node(second, [names[3], "between"], outs)]
    elif second:
        nodes = [helper.make_node(first, names, ["between"], **attributes),
                 helper.make_node(second, ["between", *names[1:]], outs)]
    else:
        nodes = [helper.make_node(operator.removeprefix("ms."), names, outs,
                                  domain="com.microsoft" if own else "", **attributes)]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_empty_tensor_value_info(n)
                                                  for n in outs], constants)
    narrow = any(array is not None and array.dtype in FEW_BITS and array.dtype.name.endswith("2")
                 for array in inputs)
    newer = "precision" in attributes or "output_dtype" in attributes
    opset = 25 if narrow else 23 if newer else 21
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset),
                                                    helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 10 if opset == 21 else 13 if narrow else 11
    return model.SerializeToString()


def wrong(name, got, want):
    """What differs by more than it may; empty where nothing does."""
    want = np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return [f"{name}: got {got.dtype}{got.shape}, want {want.dtype}{want.shape}"]
    if want.dtype.kind == "f" or want.dtype == bf16:
        difference = close_difference(got, want, RTOL, ATOL)
        return [f"{name}: {difference}"] if difference else []
    allowed = 0 if want.dtype == np.int32 else 1
    off = np.abs(got.astype(np.int64) - want.astype(np.int64))
    if off.max() <= allowed:
        return []
    first = np.unravel_index(off.argmax(), off.shape)
    return [f"{name}: {np.count_nonzero(off > allowed)} of {off.size} are off by more than "
            f"{allowed}, {first}: got {got[first]}, want {want[first]}"]


def run_case(runner, case, all_fed):
    operator, inputs, attributes, outputs, fed = case
    if all_fed:
        order = [4] if operator == "ms.MatMulNBits" else []  # Must be known when a model is read.
        fed = [k for k, array in enumerate(inputs)
               if array is not None and array.dtype not in FEW_BITS and k not in order]
    model = model_of(operator, inputs, attributes, outputs, fed)
    feeds = {f"i{k}": inputs[k] for k in fed}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # DynamicQuantizeLSTM has one range a step for all batches of a thread: of one, for all.
    options.intra_op_num_threads = 1
    # As it stands: what the optimiser makes of one node is another operator.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    peer = None
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        peer = session.run(None, feeds)
    except Exception:  # pylint: disable=broad-except
        pass  # Some kernels want constants, or have not each pair of types.
    reply, sets = runner.run(model, [list(feeds.values())])
    if reply["error"] or reply["rejected"]:
        return [f"{reply['stage']}: {reply['error'][:400]} {reply['rejected']}"], ""
    problems = []
    for k, want in enumerate(peer or []):
        problems += wrong(f"o{k} against ONNX Runtime", sets[0][k], want)
    for k, want in enumerate(OPERATORS[operator](inputs, attributes)):
        problems += wrong(f"o{k} against its definition", sets[0][k], want)
    return problems, "" if peer is not None else "ONNX Runtime refuses"


def main(arguments):
    report = Report("quantized_cases")
    with CaseRunner(arguments[0]) as runner:
        for name, case in cases():
            if len(arguments) > 1 and name not in arguments[1:]:
                continue
            report.run(name, lambda case=case: run_case(runner, case, False))
            report.run(name + " (all fed)", lambda case=case: run_case(runner, case, True))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
