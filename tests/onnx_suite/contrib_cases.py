"""ONNX Runtime's own operators, and ONNX's where its suite has few cases: each compiled and run
through a bundle, against ONNX Runtime.

usage: contrib_cases.py RUNNER [NAME...]
"""

import os
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/models"))
from case_runner import CaseRunner  # noqa: E402
from compare import close_difference  # noqa: E402
from test_report import Report  # noqa: E402

TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64}
RTOL, ATOL = 1e-4, 1e-5


def data(shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def ints(values, dtype=np.int32):
    return np.array(values, dtype)


def cases():
    """Name: (operator, inputs, attributes, outputs asked for, inputs fixed by --value)."""
    x = data((2, 3, 8))
    wide = np.concatenate([x, 3 * x, -3 * x], axis=0)
    yield "gelu", ("Gelu", [wide], {}, 1, [])
    yield "fast_gelu", ("FastGelu", [wide], {}, 1, [])
    yield "fast_gelu_bias", ("FastGelu", [wide, data((8,))], {}, 1, [])
    yield "bias_gelu", ("BiasGelu", [wide, data((8,))], {}, 1, [])
    yield "quick_gelu", ("QuickGelu", [wide], {"alpha": 1.702}, 1, [])
    yield "quick_gelu_alpha", ("QuickGelu", [wide], {"alpha": 0.7}, 1, [])
    for a, b in ((0, 0), (1, 0), (0, 1), (1, 1)):
        yield f"fused_matmul_{a}{b}", (
            "FusedMatMul", [data((2, 4, 3) if a else (2, 3, 4)), data((2, 5, 4) if b else (2, 4, 5))],
            {"transA": a, "transB": b, "alpha": 0.5}, 1, [])
    skip = [x, data((2, 3, 8), 1), data((8,), 2), data((8,), 3), data((8,), 4)]
    yield "skip_layer_norm", ("SkipLayerNormalization", skip[:4], {"epsilon": 1e-5}, 1, [])
    yield "skip_layer_norm_bias", ("SkipLayerNormalization", skip, {}, (0, 3), [])
    yield "skip_simplified", (
        "SkipSimplifiedLayerNormalization", skip[:3], {"epsilon": 1e-6}, (0, 3), [])
    yield "skip_simplified_bias", (
        "SkipSimplifiedLayerNormalization", skip[:3] + skip[4:], {"epsilon": 1e-6}, 1, [])
    yield "simplified_layer_norm", (
        "SimplifiedLayerNormalization", [x, data((8,))], {"epsilon": 1e-6, "axis": -1}, 1, [])
    ids, segments = ints([[1, 4, 2], [0, 3, 3]]), ints([[0, 0, 1], [1, 0, 1]])
    tables = [data((5, 8)), data((6, 8)), data((2, 8)), data((8,), 1), data((8,), 2)]
    mask = ints([[1, 1, 0], [1, 1, 1]])
    yield "embed_layer_norm", (
        "EmbedLayerNormalization", [ids, segments, *tables, mask], {"epsilon": 1e-12}, 2, [])
    yield "embed_layer_norm_sum", (
        "EmbedLayerNormalization", [ids, None, *tables[:2], None, *tables[3:]], {}, (0, 2), [])
    positions = ints([[0, 1, 2], [3, 4, 5]], np.int64)
    angles = data((6, 4))
    for interleaved in (0, 1):
        yield f"rotary_{interleaved}", (
            "RotaryEmbedding", [data((2, 3, 16)), positions, np.cos(angles), np.sin(angles)],
            {"interleaved": interleaved}, 1, [])
        yield f"rotary_by_head_{interleaved}", (
            "RotaryEmbedding", [data((2, 2, 3, 8)), ints([2], np.int64), np.cos(angles),
                                np.sin(angles)], {"interleaved": interleaved}, 1, [])
    yield from attention_cases()
    yield from grouped_cases()
    yield from standard_cases()


def attention_cases():
    x, weights, bias = data((2, 3, 8)), data((8, 24)), data((24,))
    lengths, mask = ints([2, 3]), ints([[1, 1, 0], [1, 1, 1]])
    for name, extra, attributes in (
            ("plain", [], {}), ("causal", [], {"unidirectional": 1}), ("scaled", [], {"scale": 0.2}),
            ("lengths", [lengths], {}), ("mask", [mask], {}),
            ("mask_causal", [mask], {"unidirectional": 1}),
            ("mask_queries", [np.tril(np.ones((2, 3, 3), np.int32))], {}),
            ("bias", [None, None, data((2, 2, 3, 3))], {})):
        yield f"attention_{name}", (
            "Attention", [x, weights, bias, *extra], {"num_heads": 2, **attributes}, 1, [])
    yield "attention_sizes", (
        "Attention", [x, data((8, 28)), data((28,))],
        {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 12]}, 1, [])
    for causal in (0, 1):
        yield f"attention_past_{causal}", (
            "Attention", [x, weights, bias, None, data((2, 2, 2, 4, 4))],
            {"num_heads": 2, "unidirectional": causal}, 2, [])
    q, k, v = data((2, 3, 8)), data((2, 5, 8), 1), data((2, 5, 8), 2)
    past = [data((2, 2, 4, 4), 5), data((2, 2, 4, 4), 6)]
    padding = ints([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    for name, inputs, attributes, outputs in (
            ("plain", [q, k, v], {}, 1), ("bias", [q, k, v, data((24,))], {}, 1),
            ("mask", [q, k, v, None, padding], {}, 1),
            ("added", [q, k, v, None, None, data((1, 2, 3, 5))], {"scale": 0.3}, 1),
            ("by_head", [q, data((2, 2, 5, 4)), data((2, 2, 5, 4), 3)], {}, 1),
            ("past", [q, k[:, :3], v[:, :3], None, None, None, *past], {}, 3),
            # Without its outputs of the present ONNX Runtime 1.31 reads another past.
            ("causal", [q, k[:, :3], v[:, :3], None, None, None, *past], {"unidirectional": 1}, 3)):
        yield f"multi_head_{name}", (
            "MultiHeadAttention", inputs, {"num_heads": 2, **attributes}, outputs, [])


def grouped_cases():
    angles = data((16, 8))
    rotary = [np.cos(angles), np.sin(angles)]
    fixed = ["i5", "i6"]
    for past in (0, 4):
        new = 1 if past else 6
        q, k, v = data((2, new, 64)), data((2, new, 32), 1), data((2, new, 32), 2)
        cache = [data((2, 2, past, 16), 3), data((2, 2, past, 16), 4)] if past else [None, None]
        sizes = [ints([past + new - 1] * 2), ints(past + new)]
        for name, extra, attributes in (
                ("plain", [], {}), ("scaled", [], {"scale": 0.2}), ("softcap", [], {"softcap": 2.0}),
                ("window", [], {"local_window_size": 3}), ("rotary", rotary, {"do_rotary": 1}),
                ("interleaved", rotary, {"do_rotary": 1, "rotary_interleaved": 1})):
            yield f"grouped_{name}_{past}", (
                "GroupQueryAttention", [q, k, v, *cache, *sizes, *extra],
                {"num_heads": 4, "kv_num_heads": 2, **attributes}, 3, fixed)


EQUATIONS = {
    "ij,jk->ik": [(2, 3), (3, 4)], "ij,jk": [(2, 3), (3, 4)], "ij,kj->ki": [(2, 3), (4, 3)],
    "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)], "bhqd,bhkd->bhqk": [(2, 2, 3, 4), (2, 2, 5, 4)],
    "bqhd,bkhd->bhqk": [(2, 3, 2, 4), (2, 5, 2, 4)], "ii->i": [(3, 3)], "ii->": [(3, 3)],
    "iij->j": [(3, 3, 2)], "ij->ji": [(2, 3)], "ij->": [(2, 3)], "i,j->ij": [(2,), (3,)],
    "i,i->": [(4,), (4,)], "...ij,...jk->...ik": [(2, 2, 3, 4), (2, 2, 4, 5)],
    "...i,i->...": [(2, 3, 4), (4,)], "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)],
    "abc,cd,def->abef": [(2, 3, 4), (4, 2), (2, 3, 2)], "ij,ij->ij": [(2, 3), (2, 3)],
    "bchw,bkc->bkhw": [(2, 3, 4, 5), (2, 6, 3)], "ba,cab": [(2, 3), (4, 3, 2)],
}


def standard_cases():
    for equation, shapes in EQUATIONS.items():
        yield f"einsum {equation}", (
            "onnx.Einsum", [data(shape, k) for k, shape in enumerate(shapes)],
            {"equation": equation}, 1, [])
    random = np.random.default_rng(1)
    for kind in (np.int32, np.int64):
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        a, b = (random.integers(low, high, (3, 7), dtype=kind, endpoint=True) for _ in range(2))
        a[0, :3], b[0, :3] = (low, high, -1), (high, low, low)
        for operator in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            yield f"{operator} {kind.__name__}", (f"onnx.{operator}", [a, b], {}, 1, [])
    image, grid = data((2, 3, 5, 6)), np.float32(1.3) * data((2, 4, 3, 2))
    for mode in ("nearest", "linear", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                yield f"grid_sample {mode} {padding} {align}", (
                    "onnx.GridSample", [image, grid],
                    {"mode": mode, "padding_mode": padding, "align_corners": align}, 1, [])
    for p in (1, 2, 3):
        yield f"lp_pool {p}", ("onnx.LpPool", [image], {
            "kernel_shape": [3, 2], "strides": [2, 1], "p": p}, 1, [])
        yield f"lp_pool ceil {p}", ("onnx.LpPool", [image], {
            "kernel_shape": [3, 2], "strides": [3, 2], "pads": [0, 1, 1, 0], "ceil_mode": 1,
            "p": p}, 1, [])
        yield f"global_lp_pool {p}", ("onnx.GlobalLpPool", [image], {"p": p}, 1, [])
    yield "lp_pool ceil dilated", ("onnx.LpPool", [image], {
        "kernel_shape": [2, 2], "strides": [3, 3], "dilations": [2, 2], "pads": [1, 1, 1, 1],
        "ceil_mode": 1}, 1, [])
    yield from reduction_cases()
    for inverse, onesided, parts in ((0, 0, 1), (0, 0, 2), (0, 1, 1), (1, 0, 2)):
        for size in (5, 8, 12):
            yield f"dft {inverse} {onesided} {parts} {size}", (
                "onnx.DFT", [data((2, 8, 3, parts)), ints(size, np.int64), ints(1, np.int64)],
                {"inverse": inverse, "onesided": onesided}, 1, ["i1", "i2"])
    boxes = np.array([[0, 0, 4, 4], [-2.5, 1, 3.2, 7], [2, 2, 2.1, 2.1]], np.float32)
    for mode in ("half_pixel", "output_half_pixel"):
        yield f"roi_align {mode}", (
            "onnx.RoiAlign", [image, boxes, ints([0, 1, 1], np.int64)],
            {"coordinate_transformation_mode": mode, "output_height": 2, "output_width": 3,
             "sampling_ratio": 2, "spatial_scale": 0.9}, 1, [])
    for mode in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"):
        for sizes in ([2, 3, 9, 7], [2, 3, 3, 12]):
            yield f"resize cubic {mode} {sizes[2]}", (
                "onnx.Resize", [image, None, None, ints(sizes, np.int64)],
                {"mode": "cubic", "coordinate_transformation_mode": mode}, 1, ["i3"])


def reduction_cases():
    """Of a scalar, over no axis, and of integers whose results have fractions."""
    for kind in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp",
                 "SumSquare"):
        yield f"scalar {kind}", (f"onnx.Reduce{kind}", [np.array(2.5, np.float32)], {}, 1, [])
        yield f"each {kind}", (f"onnx.Reduce{kind}", [np.abs(data((2, 3)))],
                               {"noop_with_empty_axes": 1}, 1, [])
    whole = ints([[-7, 3, 200], [4, 50000, -6]])
    for kind in ("Mean", "L1", "L2", "LogSum", "SumSquare"):
        values = np.abs(whole) if kind == "LogSum" else whole % 999
        yield f"integers {kind}", (f"onnx.Reduce{kind}", [values, ints([1], np.int64)],
                                   {"keepdims": 0}, 1, ["i1"])


def model_of(operator, inputs, attributes, outputs):
    names = [f"i{k}" if array is not None else "" for k, array in enumerate(inputs)]
    infos = [helper.make_tensor_value_info(name, TYPES[array.dtype.name], array.shape)
             for name, array in zip(names, inputs) if array is not None]
    asked = range(outputs) if isinstance(outputs, int) else outputs
    out_names = [f"o{k}" if k in asked else "" for k in range(max(asked) + 1)]
    standard = operator.removeprefix("onnx.")
    own = standard != operator or operator == "SimplifiedLayerNormalization"
    node = helper.make_node(standard, names, out_names, domain="" if own else "com.microsoft",
                            **attributes)
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info(name)
                                                   for name in out_names if name])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21),
                                                    helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 10
    return model.SerializeToString(), [name for name in out_names if name]


def run_case(runner, case):
    operator, inputs, attributes, outputs, fixed = case
    model, names = model_of(operator, inputs, attributes, outputs)
    feeds = {f"i{k}": array for k, array in enumerate(inputs) if array is not None}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    wanted = session.run(names, feeds)
    values = {name: ",".join(map(str, np.ravel(feeds[name]).tolist())) for name in fixed}
    reply, sets = runner.run(model, [[array for name, array in feeds.items() if name not in fixed]],
                             values=values)
    if reply["error"] or reply["rejected"]:
        return [f"{reply['stage']}: {reply['error'][:400]} {reply['rejected']}"], ""
    wrong = []
    for name, got, want in zip(names, sets[0], wanted):
        difference = close_difference(got, np.asarray(want), RTOL, ATOL)
        wrong += [f"{name}: {difference}"] if difference else []
    return wrong, ""


def main(arguments):
    report = Report("contrib_cases")
    with CaseRunner(arguments[0]) as runner:
        for name, case in cases():
            if len(arguments) == 1 or name in arguments[1:]:
                report.run(name, lambda case=case: run_case(runner, case))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
