"""LSTM, GRU and RNN with random attributes, Loop, If and Scan around them, against ONNX Runtime.

usage: recurrent_models.py RUNNER [NAME...]
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from case_runner import CaseRunner
from compare import model_differences
from reference import run as reference
from test_report import Report, shard

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
FUNCTIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}
# With how many parameters.
ACTIVATIONS = {"Relu": 0, "Tanh": 0, "Sigmoid": 0, "Softsign": 0, "Softplus": 0, "LeakyRelu": 1,
               "ThresholdedRelu": 1, "Elu": 1, "HardSigmoid": 2, "Affine": 2, "ScaledTanh": 2}
CASES = 60


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def random_attributes(kind, directions, rng):
    """Those that ONNX Runtime has (no layout), some of the time."""
    attributes = {}
    if rng.random() < 0.5:
        names = [str(rng.choice(list(ACTIVATIONS))) for _ in range(directions * FUNCTIONS[kind])]
        attributes["activations"] = names
        # All or none: which value is whose is else a matter of taste.
        for name, least in (("activation_alpha", 1), ("activation_beta", 2)):
            values = [float(rng.uniform(0.1, 0.9)) for function in names
                      if ACTIVATIONS[function] >= least]
            if values:
                attributes[name] = values
    if rng.random() < 0.3:
        attributes["clip"] = 0.7
    if kind == "GRU":
        attributes["linear_before_reset"] = int(rng.integers(2))
    if kind == "LSTM" and rng.random() < 0.3:
        attributes["input_forget"] = 1
    return attributes


def random_case(seed):
    """A model, its inputs: weights are constants, states and lengths are inputs."""
    rng = np.random.default_rng(seed)
    kind = ["LSTM", "GRU", "RNN"][seed % 3]
    direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
    directions = 2 if direction == "bidirectional" else 1
    steps, batch = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    width, hidden = int(rng.integers(1, 20)), int(rng.choice([1, 3, 8, 16, 17, 33]))
    rows = GATES[kind] * hidden
    inputs, values, constants = [], [], []

    def constant(name, *shape):
        array = rng.uniform(-1, 1, shape).astype(np.float32) / np.sqrt(shape[-1])
        constants.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def given(name, array):
        kind_of = TensorProto.INT32 if array.dtype == np.int32 else TensorProto.FLOAT
        inputs.append(info(name, array.shape, kind_of))
        values.append(array)
        return name

    def state(name):
        return given(name, rng.uniform(-1, 1, (directions, batch, hidden)).astype(np.float32))

    some = lambda: rng.random() < 0.6
    names = [given("x", rng.standard_normal((steps, batch, width)).astype(np.float32)),
             constant("w", directions, rows, width), constant("r", directions, rows, hidden),
             constant("b", directions, 2 * rows) if some() else "",
             given("lengths", rng.integers(1, steps + 1, batch).astype(np.int32))
             if some() else "",
             state("h0") if some() else ""]
    if kind == "LSTM":
        names += [state("c0") if some() else "",
                  constant("p", directions, 3 * hidden) if some() else ""]
    attributes = random_attributes(kind, directions, rng)
    outputs = ["y", "y_h", "y_c"][:3 if kind == "LSTM" else 2]
    if rng.random() < 0.3:
        outputs[0] = ""
    node = helper.make_node(kind, names, outputs, hidden_size=hidden, direction=direction,
                            **attributes)
    shapes = {"y": [steps, directions, batch, hidden], "y_h": [directions, batch, hidden],
              "y_c": [directions, batch, hidden]}
    graph = helper.make_graph([node], "recurrent", inputs,
                              [info(name, shapes[name]) for name in outputs if name], constants)
    text = f"{kind} {direction} steps {steps} batch {batch} hidden {hidden} {attributes}"
    return graph, values, text


def greedy_decoder():
    """A Loop that a condition ends, with an If inside and a cell's product: what decoders are."""
    rng = np.random.default_rng(7)
    weights = numpy_helper.from_array(
        (rng.standard_normal((8, 8)) / 4).astype(np.float32), "weights")
    small = helper.make_graph([helper.make_node("Add", ["s2", "one"], ["grown"])], "grow", [],
                              [info("grown", [1, 8])])
    large = helper.make_graph([helper.make_node("Mul", ["s2", "half"], ["shrunk"])], "shrink", [],
                              [info("shrunk", [1, 8])])
    body = helper.make_graph(
        [helper.make_node("MatMul", ["s", "weights"], ["m"]),
         helper.make_node("Tanh", ["m"], ["t"]),
         helper.make_node("Add", ["t", "x"], ["s2"]),
         helper.make_node("ReduceSum", ["s2"], ["sum"], keepdims=0),
         helper.make_node("Less", ["sum", "limit"], ["is_small"]),
         helper.make_node("If", ["is_small"], ["next"], then_branch=small, else_branch=large),
         helper.make_node("Add", ["n", "one_step"], ["n2"]),
         helper.make_node("Less", ["n2", "steps"], ["go"])],
        "body", [info("i", [], TensorProto.INT64), info("c", [], TensorProto.BOOL),
                 info("s", [1, 8]), info("n", [])],
        [info("go", [], TensorProto.BOOL), info("next", [1, 8]), info("n2", [])])
    scalars = [numpy_helper.from_array(np.float32(value), name) for name, value in
               (("one", 1.0), ("half", 0.5), ("limit", 3.0), ("one_step", 1.0), ("zero", 0.0))]
    graph = helper.make_graph(
        [helper.make_node("Loop", ["", "", "x", "zero"], ["y", "count"], body=body)], "decoder",
        [info("x", [1, 8]), info("steps", [])], [info("y", [1, 8]), info("count", [])],
        [weights, *scalars])
    return graph, [rng.standard_normal((1, 8)).astype(np.float32), np.array(5, np.float32)], "decoder"


def run_case(runner, case):
    graph, values, text = case
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    onnx.checker.check_model(model)
    bytes_of = model.SerializeToString()
    reply, sets = runner.run(bytes_of, [values])
    if reply["error"]:
        return [f"{reply['stage']}: {reply['error'][:400]}"], text
    want = reference(bytes_of, [values])
    names = [output.name for output in graph.output]
    worst, lines = model_differences(names, sets, want)
    return lines, f"{text}, max error {worst:.1e}"


def main(arguments):
    program, names = arguments[0], arguments[1:]
    cases = [(f"random_{seed}", lambda seed=seed: random_case(seed)) for seed in range(CASES)]
    cases.append(("greedy_decoder", greedy_decoder))
    report = Report("recurrent_models")
    with CaseRunner(program) as runner:
        for name, case in shard(cases):
            if not names or name in names:
                report.run(name, lambda case=case: run_case(runner, case()))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
