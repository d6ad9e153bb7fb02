"""Results whose size is data, against ONNX Runtime: heads of detectors as they are exported, and what
follows a selection; inputs of which everything, something and nothing is found.

usage: sizes_models.py RUNNER
"""

import os
import sys

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from case_runner import CaseRunner, summary  # noqa: E402
from compare import close_difference  # noqa: E402
from test_report import Report  # noqa: E402

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


class Model:
    """A graph, node by node; names of values are given or made."""

    def __init__(self):
        self._nodes, self._inputs, self._constants = [], [], []

    def input(self, name, kind, shape):
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def const(self, value):
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind, inputs, count=1, **attributes):
        outputs = [f"v{len(self._nodes)}_{i}" for i in range(count)]
        self._nodes.append(helper.make_node(kind, inputs, outputs, name=f"{kind}{len(self._nodes)}",
                                            **attributes))
        return outputs[0] if count == 1 else outputs

    def to_bytes(self, outputs, opset=17):
        graph = helper.make_graph(
            self._nodes, "sizes", self._inputs,
            [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
            self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 8
        return model.SerializeToString()


def ints(*values):
    return np.array(values, np.int64)


def yolo_head():
    """Boxes, scores and classes of one image, as YOLO exporters write it."""
    m = Model()
    boxes, scores = m.input("boxes", F, [1, 60, 4]), m.input("scores", F, [1, 3, 60])
    found = m.op("NonMaxSuppression", [boxes, scores, m.const(ints(5)), m.const(np.float32([0.5])),
                                       m.const(np.float32([0.4]))])
    batch_box = m.op("Gather", [found, m.const(ints(0, 2))], axis=1)
    picked = m.op("GatherND", [boxes, batch_box])
    score = m.op("Unsqueeze", [m.op("GatherND", [scores, found]), m.const(ints(1))])
    kind = m.op("Cast", [m.op("Slice", [found, m.const(ints(1)), m.const(ints(2)), m.const(ints(1))])],
                to=F)
    all_of_it = m.op("Concat", [picked, score, kind], axis=1)
    count = m.op("Squeeze", [m.op("Slice", [m.op("Shape", [found]), m.const(ints(0)), m.const(ints(1))])])
    return m.to_bytes([(all_of_it, F), (found, I), (count, I)])


def threshold_then_nms():
    """Scores above a threshold first, then suppression of what is left, as torchvision has it."""
    m = Model()
    boxes, scores = m.input("boxes", F, [40, 4]), m.input("scores", F, [40])
    above = m.op("Greater", [scores, m.const(np.float32(0.3))])
    places = m.op("Squeeze", [m.op("NonZero", [above]), m.const(ints(0))])
    left = m.op("Gather", [boxes, places], axis=0)
    score = m.op("Gather", [scores, places], axis=0)
    kept = m.op("NonMaxSuppression", [
        m.op("Unsqueeze", [left, m.const(ints(0))]), m.op("Unsqueeze", [score, m.const(ints(0, 1))]),
        m.const(ints(100)), m.const(np.float32([0.4]))])
    which = m.op("Squeeze", [m.op("Slice", [kept, m.const(ints(2)), m.const(ints(3)), m.const(ints(1))]),
                             m.const(ints(1))])
    first = m.op("Slice", [which, m.const(ints(0)), m.const(ints(7)), m.const(ints(0))])
    return m.to_bytes([(m.op("Gather", [left, first], axis=0), F), (m.op("Gather", [score, first]), F),
                       (m.op("Gather", [places, first]), I)])


def compressed_rows():
    """Rows by a condition of the run, and a layer behind that: products of rows that hold."""
    m = Model()
    x, keep = m.input("x", F, [12, 8]), m.input("scores", F, [12])
    rows = m.op("Compress", [x, m.op("Greater", [keep, m.const(np.float32(0.5))])], axis=0)
    weights = np.random.default_rng(1).standard_normal((8, 5)).astype(np.float32)
    dense = m.op("Relu", [m.op("Add", [m.op("MatMul", [rows, m.const(weights)]),
                                      m.const(np.float32([0.1] * 5))])])
    normal = m.op("Softmax", [dense], axis=1)
    mean = m.op("ReduceMean", [normal], axes=[1], keepdims=0)
    flat = m.op("Reshape", [m.op("Transpose", [m.op("Transpose", [normal], perm=[1, 0])], perm=[1, 0]),
                            m.const(ints(-1))])
    return m.to_bytes([(normal, F), (mean, F), (flat, F), (m.op("Size", [normal]), I)])


def pooled():
    """Attention among what was found, its best, and its mean: what reduces sees what holds."""
    m = Model()
    x, keep = m.input("x", F, [12, 8]), m.input("scores", F, [12])
    taken = m.op("Greater", [keep, m.const(np.float32(0.5))])
    rows = m.op("Compress", [x, taken], axis=0)
    score = m.op("Compress", [keep, taken], axis=0)
    shares = m.op("Softmax", [m.op("MatMul", [rows, m.op("Transpose", [rows], perm=[1, 0])])], axis=-1)
    mixed = m.op("MatMul", [shares, rows])
    best = m.op("Min", [m.op("Shape", [score]), m.const(ints(4))])
    values, places = m.op("TopK", [score, best], 2)
    return m.to_bytes([(mixed, F), (m.op("ReduceSum", [mixed, m.const(ints(0))], keepdims=0), F),
                       (values, F), (m.op("Gather", [mixed, places], axis=0), F)])


def unique_values():
    m = Model()
    x = m.input("x", F, [6, 4])
    labels = m.op("Cast", [m.op("Floor", [x])], to=I)
    outputs = m.op("Unique", [labels], 4)
    rows = m.op("Unique", [labels], 4, axis=0, sorted=1)
    return m.to_bytes([(name, I) for name in [*outputs, *rows]])


def limits_of_the_run():
    """How many, how much overlap and from which score on: inputs."""
    m = Model()
    boxes, scores = m.input("boxes", F, [2, 20, 4]), m.input("scores", F, [2, 2, 20])
    limit, overlap, score = m.input("limit", I, [1]), m.input("overlap", F, [1]), m.input("least", F, [1])
    found = m.op("NonMaxSuppression", [boxes, scores, limit, overlap, score], center_point_box=1)
    return m.to_bytes([(found, I)])


def in_bodies():
    """Selections inside of a branch and of a loop, whose results have fixed shapes."""
    def value(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    def branch(name, take):
        nodes = [helper.make_node("Greater", ["x", "zero"], [name + "above"]),
                 helper.make_node("Compress", ["x", name + "above"], [name + "taken"], axis=0)]
        mean = helper.make_node("ReduceMean", [name + "taken" if take else "x"], [name], keepdims=0)
        return helper.make_graph([*nodes, mean] if take else [mean], name, [], [value(name, F, [])])

    body = helper.make_graph(
        [helper.make_node("Greater", ["x", "state"], ["above"]),
         helper.make_node("Compress", ["x", "above"], ["taken"], axis=0),
         helper.make_node("ReduceSum", ["taken"], ["sum"], keepdims=0),
         helper.make_node("Mul", ["sum", "quarter"], ["next"]),
         helper.make_node("Identity", ["go"], ["goes_on"])], "body",
        [value("number", I, []), value("go", B, []), value("state", F, [])],
        [value("goes_on", B, []), value("next", F, [])])
    nodes = [helper.make_node("If", ["which"], ["chosen"], then_branch=branch("some", True),
                              else_branch=branch("all", False)),
             helper.make_node("Loop", ["three", "", "zero"], ["last"], body=body)]
    graph = helper.make_graph(
        nodes, "bodies", [value("x", F, [8]), value("which", B, [])],
        [value("chosen", F, []), value("last", F, [])],
        [numpy_helper.from_array(np.array(3, np.int64), "three"),
         numpy_helper.from_array(np.float32(0), "zero"),
         numpy_helper.from_array(np.float32(0.25), "quarter")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def random_boxes(rng, shape):
    corner, size = rng.uniform(0, 10, (*shape, 2)), rng.uniform(0.5, 4, (*shape, 2))
    return np.concatenate([corner, corner + size], -1).astype(np.float32)


def input_sets(name, rng):
    """Lists of arrays, in the order of the model's inputs."""
    def scores(shape, kind):
        values = rng.uniform(0, 1, shape).astype(np.float32)
        if kind == "none":
            values[:] = 0
        if kind == "all":
            values += 1
        if kind == "one":
            values[:] = 0
            values.flat[3] = 0.9
        if kind == "nan":
            values.flat[::2] = np.nan
        return values

    kinds = ("some", "none", "one", "all", "nan", "some")
    if name == "yolo_head":
        return [[random_boxes(rng, (1, 60)), scores((1, 3, 60), kind)] for kind in kinds]
    if name == "threshold_then_nms":
        return [[random_boxes(rng, (40,)), scores((40,), kind)] for kind in kinds]
    if name in ("compressed_rows", "pooled"):
        return [[rng.standard_normal((12, 8)).astype(np.float32), scores((12,), kind)]
                for kind in kinds]
    if name == "in_bodies":
        return [[rng.standard_normal(8).astype(np.float32), np.array(i % 2 == 0)] for i in range(4)]
    if name == "unique_values":
        return [[rng.uniform(0, high, (6, 4)).astype(np.float32)] for high in (1, 2, 3, 50)]
    boxes = [np.abs(random_boxes(rng, (2, 20))) for _ in range(6)]
    limits = (3, 0, -5, 1 << 40, 1, 20)
    return [[box, scores((2, 2, 20), kind), ints(limit), np.float32([overlap]), np.float32([least])]
            for box, kind, limit, overlap, least in zip(
                boxes, kinds, limits, (0.5, 0.5, 0.5, 1.0, 0.0, 0.3), (0.1, 0.1, 0.1, 0.5, 0.5, 0.0))]


MODELS = (yolo_head, threshold_then_nms, compressed_rows, pooled, in_bodies, unique_values,
          limits_of_the_run)


def difference(runner, make):
    model = make()
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    sets = input_sets(make.__name__, np.random.default_rng(7))
    reply, outputs = runner.run(model, sets)
    if reply["error"]:
        return [f"{reply['stage']}: {reply['error']}"], ""
    wrong = []
    for i, inputs in enumerate(sets):
        for k, want in enumerate(session.run(None, dict(zip(names, inputs)))):
            got = outputs[i][k]
            text = (f"shape {got.shape}, want {want.shape}" if got.shape != want.shape
                    else close_difference(got, want, 1e-5, 1e-6))
            if text:
                wrong.append(f"set {i}, output {k}: {text}")
    shapes = sorted({str(s[0]) for s in reply["shapes"]})
    if len(shapes) < 3 and make is not in_bodies:
        wrong.append(f"every run has the shape of another: {shapes}")
    return wrong, f"{summary(reply)}; shapes {' '.join(shapes)}"


def main(arguments):
    report = Report("sizes_models")
    with CaseRunner(arguments[0]) as runner:
        for make in MODELS:
            report.run(make.__name__, lambda make=make: difference(runner, make))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
