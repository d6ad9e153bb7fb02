"""Tensors without elements, against ONNX Runtime: the first node case of every operator with a dimension
of its first input made 0 wherever that extent stands, and cases in which a result has none. What ONNX
Runtime runs must be right, or be refused as not supported, and never as a broken model.

usage: empty_cases.py RUNNER [NAME ...]
"""

import os
import re
import sys

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import suite_cases

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e/models"))
from case_runner import CaseRunner  # noqa: E402
from compare import close_difference  # noqa: E402
from test_report import Report  # noqa: E402

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
# Operators that are refused of an empty tensor in one case at least.
REFUSED = {
    "BitCast", "CenterCropPad", "Col2Im", "DFT", "Det", "DynamicQuantizeLinear", "GridSample", "Hardmax",
    "LpNormalization", "MeanVarianceNormalization", "NonMaxSuppression", "Not", "RNN", "ReduceMean",
    "RotaryEmbedding", "SplitToSequence", "TensorScatter", "TfIdfVectorizer", "TopK"}
# Here ONNX Runtime ends the process, or is wrong: of a product over no terms it takes C by 1 for C by beta, and
# gives 0 for the zero point.
UNUSABLE = {"Attention", "Gemm", "QLinearMatMul"}


def model_of(nodes, inputs, outputs, constants, opset):
    graph = helper.make_graph(
        nodes, "empty", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                         for n, v in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(v, n) for n, v in constants.items()])
    model = helper.make_model(graph, opset_imports=opset)
    model.ir_version = 10
    return model


def cut(array, extent):
    """With 0 for each dimension of that extent."""
    return np.zeros([0 if d == extent else d for d in array.shape], array.dtype) \
        if extent in array.shape else array


def suite_models():
    """(name, operator, model, inputs) of the node suite, with one extent made 0."""
    seen = set()
    for name, case in suite_cases.all_cases().items():
        graph = case.model.graph
        operator = suite_cases.operator_of(case)
        if operator in seen | UNUSABLE or "_expanded" in name or len(graph.node) != 1:
            continue
        if case.model.opset_import[0].domain not in ("", "ai.onnx"):
            continue
        values = dict(zip([v.name for v in graph.input], case.data_sets[0][0]))
        if any(not isinstance(v, np.ndarray) or v.dtype == object for v in values.values()):
            continue
        first = next(iter(values.values()), np.zeros(()))
        if first.ndim == 0:
            continue
        seen.add(operator)
        for extent in sorted(set(first.shape)):
            # Lists of integers are axes, shapes and counts, which are known when a model is read, as scales are.
            lists = {n for n, v in values.items() if v is not first and v.ndim < 2 and
                     (v.dtype.kind in "iu" or n in ("scales", "roi"))}
            given = {n: v if n in lists else cut(v, extent) for n, v in values.items()}
            yield (f"{name}_{extent}", operator,
                   model_of(graph.node, {n: v for n, v in given.items() if n not in lists},
                            [v.name for v in graph.output], {n: given[n] for n in lists},
                            case.model.opset_import),
                   {n: v for n, v in given.items() if n not in lists})


X = np.arange(6, dtype=np.float32).reshape(2, 3)
NONE = np.zeros((2, 0), np.float32)
INTS = np.zeros(0, np.int64)


def made(operator, inputs, constants=None, outputs=1, **attributes):
    """One node; its inputs are those of the run, then constants."""
    constants = {f"c{i}": np.asarray(c) for i, c in enumerate(constants or [])}
    inputs = {f"x{i}": v for i, v in enumerate(inputs)}
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, [*inputs, *constants], names, **attributes)
    return operator, model_of([node], inputs, names, constants, [helper.make_opsetid("", 21)]), inputs


def body(nodes, inputs, outputs, constants=None):
    return helper.make_graph(nodes, "body", [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
                             [helper.make_tensor_value_info(n, t, None) for n, t in outputs],
                             [numpy_helper.from_array(v, n) for n, v in (constants or {}).items()])


def loop(count, state):
    """Adds to a state, and stacks x."""
    graph = body([helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Exp", ["s"], ["t"]),
                  helper.make_node("Tanh", ["x0"], ["u"])],
                 [("i", I, []), ("c", B, []), ("s", F, state.shape)], [("d", B), ("t", F), ("u", F)])
    return made_by("Loop", [helper.make_node("Loop", ["n", "", "x1"], ["y0", "y1"], body=graph)],
                   {"x0": X, "x1": state}, {"n": np.array(count)})


def made_by(operator, nodes, inputs, constants, outputs=("y0", "y1")):
    return operator, model_of(nodes, inputs, list(outputs), constants,
                              [helper.make_opsetid("", 21)]), inputs


def scan(x):
    graph = body([helper.make_node("Identity", ["s"], ["t"]), helper.make_node("Exp", ["row"], ["u"])],
                 [("s", F, []), ("row", F, x.shape[1:])], [("t", F), ("u", F)])
    return made_by("Scan", [helper.make_node("Scan", ["s0", "x0"], ["y0", "y1"], body=graph,
                                             num_scan_inputs=1)], {"x0": x}, {"s0": np.float32(2)})


def branches(condition):
    """One gives elements, the other none."""
    graphs = [body([helper.make_node("Slice", ["x0", a, b, "one"], [f"r{a}{b}"])], [], [(f"r{a}{b}", F)],
                   {})
              for a, b in (("zero", "one"), ("one", "one"))]
    return made_by("If", [helper.make_node("If", ["x1"], ["y0"], then_branch=graphs[0],
                                           else_branch=graphs[1]),
                          helper.make_node("Shape", ["y0"], ["y1"])],
                   {"x0": X, "x1": np.array(condition)}, {"zero": np.array([0]), "one": np.array([1])})


def made_models():
    cases = {
        "split": made("Split", [X], [np.array([0, 3])], outputs=2, axis=1),
        "split_in_the_middle": made("Split", [X], [np.array([1, 0, 2])], outputs=3, axis=1),
        "split_of_nothing": made("Split", [NONE], [np.array([0, 0])], outputs=2, axis=1),
        "tile_by_0": made("Tile", [X], [np.array([2, 0])]),
        "tile_of_nothing": made("Tile", [NONE], [np.array([2, 3])]),
        "expand_to_0": made("Expand", [X[:1]], [np.array([0, 3])]),
        "expand_of_nothing": made("Expand", [NONE], [np.array([3, 1, 1])]),
        "gather_nothing": made("Gather", [X], [INTS], axis=1),
        "gather_of_nothing": made("Gather", [NONE], [np.array([1, 0])], axis=0),
        "gather_elements": made("GatherElements", [X, np.zeros((0, 3), np.int64)]),
        "gather_nd": made("GatherND", [X, np.zeros((0, 1), np.int64)]),
        "slice": made("Slice", [X], [np.array([2, 0]), np.array([2, 2]), np.array([1, 0]), np.array([1, 1])]),
        "slice_backwards": made("Slice", [X], [np.array([0]), np.array([1]), np.array([1]), np.array([-1])]),
        "pad_to_nothing": made("Pad", [X], [np.array([0, -1, 0, -2])]),
        "pad_of_nothing": made("Pad", [NONE], [np.array([0, 1, 0, 1])]),
        "concat_with_nothing": made("Concat", [NONE, X, NONE], axis=1),
        "concat_of_nothing": made("Concat", [NONE, NONE], axis=1),
        "constant_of_shape": made("ConstantOfShape", [], [np.array([2, 0])]),
        "range": made("Range", [], [np.float32(3), np.float32(1), np.float32(1)]),
        "reshape": made("Reshape", [NONE], [np.array([0, 5])], allowzero=1),
        "reshape_keeps": made("Reshape", [NONE], [np.array([0, 0, 4])], allowzero=0),
        "flatten": made("Flatten", [NONE], axis=2),
        "squeeze": made("Squeeze", [NONE[:1]], [np.array([0])]),
        "unsqueeze": made("Unsqueeze", [NONE], [np.array([0])]),
        "transpose": made("Transpose", [NONE], perm=[1, 0]),
        "top_k": made("TopK", [X], [np.array([0])], outputs=2, axis=1),
        "reduce_sum": made("ReduceSum", [NONE], [np.array([1])]),
        "reduce_prod": made("ReduceProd", [NONE], [np.array([1])], keepdims=0),
        "reduce_max": made("ReduceMax", [NONE], [np.array([1])]),
        "reduce_to_nothing": made("ReduceSum", [NONE], [np.array([0])]),
        "mat_mul": made("MatMul", [NONE, NONE.T]),
        "mat_mul_to_nothing": made("MatMul", [NONE.T, X]),
        "gemm": made("Gemm", [NONE, NONE.T.copy(), np.float32([1, 2])]),
        "scatter": made("ScatterElements", [X, np.zeros((0, 3), np.int64), np.zeros((0, 3), np.float32)]),
        "scatter_nd": made("ScatterND", [X, np.zeros((0, 1), np.int64), np.zeros((0, 3), np.float32)]),
        "non_zero": made("NonZero", [NONE]),
        "where": made("Where", [NONE > 0, NONE, NONE]),
        "max_pool": made("MaxPool", [X[:, None]], kernel_shape=[5], strides=[2], ceil_mode=1),
        "identity": made("Identity", [NONE]),
        "shape": made("Shape", [NONE]),
        "size": made("Size", [NONE]),
        "loop_of_none": loop(0, X),
        "loop_of_nothing": loop(2, NONE),
        "scan_of_nothing": scan(NONE),
        "branch_with": branches(True),
        "branch_without": branches(False),
    }
    for name, (operator, model, inputs) in cases.items():
        yield name, operator, model, inputs


def wanted(model, inputs):
    """What ONNX Runtime makes of it; None where it refuses the model, or the run."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, inputs)
    except Exception:  # pylint: disable=broad-except  # Its own errors have no common class.
        return None


def run_case(runner, operator, model, inputs, want, refused):
    reply, sets = runner.run(model.SerializeToString(), [list(inputs.values())])
    if reply["error"]:
        if re.search(r"\bUNIMPLEMENTED\b", reply["error"]) and reply["stage"] != "process":
            refused.add(operator)
            return [], "refused"
        return [reply["error"]], ""
    lines = []
    for i, (got, expected) in enumerate(zip(sets[0], want)):
        difference = close_difference(got, np.asarray(expected), 1e-5, 1e-6)
        if difference:
            lines.append(f"output {i}: {difference}")
    return lines, ""


def main(arguments):
    program, names = arguments[0], arguments[1:]
    report, refused = Report("empty_cases"), set()
    with CaseRunner(program) as runner:
        for models in (made_models(), suite_models()):
            for name, operator, model, inputs in models:
                if names and name not in names:
                    continue
                want = wanted(model, inputs)
                if want is not None:
                    report.run(name, lambda a=(operator, model, inputs, want): run_case(runner, *a, refused))
    if not names:
        report.run("operators that are refused",
                   lambda: (sorted(f"now {name}" for name in refused ^ REFUSED), ""))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
