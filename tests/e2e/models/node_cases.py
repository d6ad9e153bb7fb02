"""ONNX's own node cases of our operators, each compiled and run through a bundle.

usage: node_cases.py RUNNER SKIPPED [NAME...]

SKIPPED lists the cases that are known to fail, with the reason. A case that fails and is not
listed fails the test, and so does a listed one that passes. At most 5 % of the cases of REQUIRED
operators may be listed.

The cases and their tolerances: onnx.backend.test.case.node, as onnx/backend/test/runner runs them.
"""

import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

from case_runner import CaseRunner
from compare import close_difference
from test_report import Report, shard

# Operators that the compiler promises; of their cases few may fail.
REQUIRED = set("""
    Conv ConvTranspose Gemm MatMul MaxPool AveragePool GlobalMaxPool GlobalAveragePool
    BatchNormalization LayerNormalization InstanceNormalization GroupNormalization LRN
    Softmax LogSoftmax
    Abs Add And Cast Ceil Cos Div Equal Erf Exp Floor Greater GreaterOrEqual IsInf IsNaN Less
    LessOrEqual Log Max Mean Min Mod Mul Neg Not Or Pow Reciprocal Round Sign Sin Sqrt Sub Sum Where
    Xor
    Celu Clip Elu Gelu HardSigmoid HardSwish LeakyRelu Mish PRelu Relu Selu Shrink Sigmoid Softplus
    Softsign Swish Tanh ThresholdedRelu
    ArgMax ArgMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin
    ReduceProd ReduceSum ReduceSumSquare
    Concat Expand Flatten Gather Pad Reshape Resize Shape Slice Split Squeeze Transpose Unsqueeze
    Upsample
""".split())
# Others that the importer takes.
EXTRA = set("""
    CastLike Constant ConstantOfShape DepthToSpace Dropout Identity Range Size SpaceToDepth Tile
""".split())

# Inputs that fix shapes or axes: shapes are static, so the harness makes initializers of them.
SHAPE_INPUTS = {
    "ConstantOfShape": [0], "Expand": [1], "Pad": [1, 3], "Range": [0, 1, 2], "Reshape": [1],
    "Resize": [1, 2, 3], "Slice": [1, 2, 3, 4], "Split": [1], "Squeeze": [1], "Tile": [1],
    "Unsqueeze": [1], "Upsample": [1],
    **{op: [1] for op in REQUIRED if op.startswith("Reduce")},
}
SKIPPED_SHARE_MAX = 0.05


def element_types(case):
    types = set()
    for value in list(case.model.graph.input) + list(case.model.graph.output):
        if not value.type.HasField("tensor_type"):
            return {"other"}
        types.add(onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type))
    return types


def is_ours(case):
    """Float32 cases of our operators: no other floating type, integers as the index types."""
    nodes = case.model.graph.node
    if "_expanded" in case.name or not nodes:
        return False
    if any(node.domain not in ("", "ai.onnx") for node in nodes):
        return False
    if not {node.op_type for node in nodes} <= REQUIRED | EXTRA:
        return False
    for node in nodes:
        mode = next((a.s for a in node.attribute if a.name == "mode"), b"nearest")
        if node.op_type in ("Resize", "Upsample") and mode not in (b"nearest", b"linear"):
            return False
    types = element_types(case)
    return "FLOAT" in types and types <= {"FLOAT", "BOOL", "INT32", "INT64"}


def with_initializers(model, inputs):
    """Turns the inputs that fix shapes or axes into initializers; returns the others' arrays."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    fixed = set()
    for node in model.graph.node:
        for index in SHAPE_INPUTS.get(node.op_type, []):
            if index < len(node.input):
                fixed.add(node.input[index])
    kept, arrays = [], []
    for value, array in zip(model.graph.input, inputs):
        if value.name in fixed:
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
        else:
            kept.append(value)
            arrays.append(array)
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return model.SerializeToString(), arrays


def fix_dimensions(model, inputs):
    """Symbolic dimensions take the extents of the given inputs, as --shape would."""
    for value, array in zip(model.graph.input, inputs):
        shape = value.type.tensor_type.shape
        del shape.dim[:]
        for extent in np.shape(array):
            shape.dim.add().dim_value = extent


def run_case(runner, case):
    """Returns the lines that say what is wrong, and a note."""
    for inputs, wanted in case.data_sets:
        inputs = [np.asarray(array) for array in inputs]
        fix_dimensions(case.model, inputs)
        model, arrays = with_initializers(case.model, inputs)
        reply, sets = runner.run(model, [arrays])
        if reply["error"]:
            return [f"{reply['stage']}: {reply['error'][:400]}"], ""
        if reply["rejected"]:
            return [f"default schedule refused: {reply['rejected']}"], ""
        for k, want in enumerate(wanted):
            difference = close_difference(sets[0][k], np.asarray(want), case.rtol, case.atol)
            if difference:
                return [f"output {k}: {difference}"], ""
    return [], ""


def read_skipped(path):
    """Lines "NAME: REASON"; "#" begins a comment."""
    skipped = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, reason = line.strip().split(": ", 1)
                skipped[name] = reason
    return skipped


def check_list(skipped, cases):
    """The list of skipped cases by itself: names that exist, and few of them."""
    names = {case.name for case in cases}
    required = {case.name for case in cases if case.model.graph.node[0].op_type in REQUIRED}
    wrong = [f"no such case: {name}" for name in skipped if name not in names]
    share = len(required.intersection(skipped)) / len(required)
    if share > SKIPPED_SHARE_MAX:
        wrong.append("more than 5 % are skipped")
    return wrong, f"{len(cases)} cases; of {len(required)} required ones {share:.2%} are skipped"


def main(arguments):
    program, skipped_path, names = arguments[0], arguments[1], arguments[2:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Imported here, because that computes every case, with NumPy's warnings.
        from onnx.backend.test.case import node
        cases = sorted((c for c in node.collect_testcases() if c.model is not None and is_ours(c)),
                       key=lambda case: case.name)
    skipped = read_skipped(skipped_path)
    report = Report("node_cases")
    report.run("skipped_list", lambda: check_list(skipped, cases))
    with CaseRunner(program) as runner:
        for case in shard(cases):
            if not names or case.name in names:
                report.run(case.name, lambda case=case: run_case(runner, case),
                           skipped.get(case.name, ""))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
