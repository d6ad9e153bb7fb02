"""The passes of `tuner compile` on the command line: listed, left out one at a time, dumped.

usage: passes.py TUNER [CASE...]
"""

import json
import os
import re
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

from harness import run_cases

X_SHAPE = (1, 8, 12, 12)


def model():
    """What each pass looks for: shuffled channels, a scale, padding beyond a kernel, a large pool, a concat before an
    activation, a transposed convolution, equal nodes, a branch."""
    rng = np.random.default_rng(0)
    constants = {"w": rng.standard_normal((8, 8, 3, 3)), "d": rng.standard_normal((8, 1, 3, 3)),
                 "up": rng.standard_normal((16, 4, 2, 2)), "scale": rng.uniform(0.5, 1, (1, 8, 1, 1))}
    constants = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()]
    constants += [numpy_helper.from_array(np.array(value), name) for name, value in
                  {"split": [1, 2, 4, 12, 12], "joined": [1, 8, 12, 12], "yes": True}.items()]
    floats = onnx.TensorProto.FLOAT
    branches = {name: helper.make_graph([helper.make_node(op, ["c"], ["r"])], name, [],
                                        [helper.make_tensor_value_info("r", floats, X_SHAPE)])
                for name, op in (("then_branch", "Relu"), ("else_branch", "Neg"))}
    nodes = [helper.make_node("Reshape", ["x", "split"], ["s"]),
             helper.make_node("Transpose", ["s"], ["t"], perm=[0, 2, 1, 3, 4]),
             helper.make_node("Reshape", ["t", "joined"], ["j"]),
             helper.make_node("Conv", ["j", "d"], ["e"], group=8, pads=[1, 1, 1, 1]),
             helper.make_node("Conv", ["e", "w"], ["f"], pads=[1, 1, 1, 1]),
             helper.make_node("Mul", ["f", "scale"], ["c"]),
             helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[9, 9], pads=[4, 4, 4, 4]),
             helper.make_node("If", ["which"], ["b"], **branches),
             helper.make_node("Tanh", ["p"], ["p1"]), helper.make_node("Tanh", ["p"], ["p2"]),
             helper.make_node("Add", ["p1", "p2"], ["q"]), helper.make_node("Add", ["q", "b"], ["h"]),
             helper.make_node("Concat", ["h", "c"], ["k"], axis=1), helper.make_node("Relu", ["k"], ["l"]),
             helper.make_node("ConvTranspose", ["l", "up"], ["y"], strides=[2, 2])]
    graph = helper.make_graph(
        nodes, "passes", [helper.make_tensor_value_info("x", floats, X_SHAPE),
                          helper.make_tensor_value_info("which", onnx.TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", floats, (1, 4, 24, 24))], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class Cases:
    """Each method that is named `case_` is one, and returns what is wrong."""

    def __init__(self, programs, folder):
        self.tuner, self.folder = programs.run, folder
        self.model = self.path("model.onnx")
        onnx.save(model(), self.model)
        self.rows = json.loads(self.tuner("compile", "--passes", "list", "--json").out)["passes"]
        rng = np.random.default_rng(1)
        np.save(self.path("x.npy"), rng.standard_normal(X_SHAPE).astype(np.float32))
        np.save(self.path("which.npy"), np.array(True))

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, *options):
        return self.tuner("compile", "--model", self.model, "--db", self.path("none.db"), *options)

    def result(self, bundle):
        """y, and what is wrong with the run."""
        out = self.path("y.npy")
        ran = self.tuner("run", bundle, "--input", "x=" + self.path("x.npy"), "--input",
                         "which=" + self.path("which.npy"), "--output", "y=" + out)
        return (None, ran.err.splitlines()) if ran.code else (np.load(out), [])

    def case_a_model_is_right_without_each(self):
        wrong = self.compile("--out", self.path("whole")).complaints(0, "")
        want, complaints = self.result(self.path("whole"))
        wrong += complaints
        left_out = [row["name"] for row in self.rows if row["optional"]]
        for name in left_out:
            built = self.compile("--passes", "verify,-" + name, "--out", self.path("part"), "--json")
            wrong += built.complaints(0, "")
            ran = [row["name"] for row in json.loads(built.out)["pass_times"]]
            if name in ran or len(ran) < len(self.rows) - 4:
                wrong.append(f"without {name} these ran: {ran}")
            got, complaints = self.result(self.path("part"))
            wrong += complaints
            if got is None or not np.allclose(got, want, rtol=1e-4, atol=1e-4):
                wrong.append(f"without {name} another y")
        return wrong + ([] if len(left_out) > 12 else [f"only {left_out} may be left out"])

    def case_what_a_build_needs_stays(self):
        wrong = []
        for row in self.rows:
            if not row["optional"]:
                wrong += self.compile("--passes", "-" + row["name"], "--out", self.path("no")).complaints(
                    64, "B0101", row["name"], "cannot be left out")
        for text in ("-simplfy", "simplify", "-", "verify,lists"):
            wrong += self.compile("--passes", text, "--out", self.path("no")).complaints(64, "B0101")
        return wrong

    def case_the_graph_behind_each(self):
        """A text, and a picture with as many nodes."""
        wrong, texts = [], []
        for row in self.rows:
            told = self.compile("--dump-graph-after", row["name"])
            wrong += told.complaints(0, "")
            wrong += self.compile("--dump-graph-after", row["name"], "--out", self.path("g.dot")).complaints(0, "")
            with open(self.path("g.dot"), encoding="utf-8") as file:
                boxes = re.findall(r'^"[^"]*n\d+" \[label=', file.read(), re.MULTILINE)
            lines = re.findall(r"^%.* = ", told.out, re.MULTILINE)
            if not lines or len(lines) != len(boxes):
                wrong.append(f"behind {row['name']}: {len(lines)} lines, {len(boxes)} boxes")
            texts.append(told.out)
        changes = sum(before != after for before, after in zip(texts, texts[1:]))
        wrong += [] if changes >= 6 else [f"only {changes} passes changed the model"]
        for options in (("no_such",), ("channels_last", "--opt-level", "1"), ("simplify.2", "--passes", "-simplify"),
                        ("simplify", "--emit", "ir")):
            wrong += self.compile("--dump-graph-after", *options).complaints(64, "B0101", "--dump-graph-after")
        return wrong

    def case_a_graph_is_that_of_the_build(self):
        """Examples decide what is quantized, and what would do nothing is refused."""
        rng = np.random.default_rng(2)
        floats = onnx.TensorProto.FLOAT
        weights = numpy_helper.from_array(rng.standard_normal((64, 64)).astype(np.float32), "w")
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "product",
                                  [helper.make_tensor_value_info("x", floats, [4, 64])],
                                  [helper.make_tensor_value_info("y", floats, [4, 64])], [weights])
        path = self.path("product.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        os.makedirs(self.path("data"))
        np.save(self.path("data/x.npy"), rng.standard_normal((12, 4, 64)).astype(np.float32))
        line = ("compile", "--model", path, "--db", self.path("none.db"), "--dump-graph-after", "quantize")
        wrong = self.tuner(*line, "--precision", "int8").complaints(64, "B0101", "int8")
        wrong += self.tuner(*line, "--verbose").complaints(64, "B0101", "--verbose")
        told = self.tuner(*line, "--precision", "int8", "--data", self.path("data"))
        wrong += told.complaints(0, "")
        return wrong + ([] if "quantize" in told.out else ["no product is quantized: " + told.out])


if __name__ == "__main__":
    sys.exit(run_cases("passes", sys.argv[1], sys.argv[2:], Cases))
