"""The files of a model to measure: ONNX, bundle and inputs."""

import json
import pathlib
import subprocess
import sys

import machine
import numpy as np
import onnx
import weight_distributions
from engine import RUNTIME

sys.path.insert(0, str(machine.ROOT / "tests" / "e2e" / "models"))
import light_weights

TUNER = "//tuner:tuner"
ZOO = ("resnet50", "resnet18", "mobilenet_v2", "vgg16", "bert_base")
LIGHT = tuple(light_weights.names())


def build():
    machine.build(RUNTIME, TUNER)


def tuner(*arguments):
    """Runs the command; returns what it printed."""
    done = subprocess.run([machine.output(TUNER), *map(str, arguments)], stdout=subprocess.PIPE,
                          text=True)
    if done.returncode != 0:
        raise RuntimeError(f"tuner {' '.join(map(str, arguments))} ended with {done.returncode}")
    return done.stdout


def write_onnx(name, path, batch, weights):
    """The model `name`, of the zoo, of the light models or a file, with weights of that
    distribution. Returns its path."""
    if name in LIGHT:
        onnx.save(light_weights.seeded_model(name), path)
    elif not name.endswith(".onnx"):
        tuner("compile", "--task", name, "--batch", batch, "--emit", "onnx", "--out", path)
    elif weights == weight_distributions.AS_THEY_ARE:
        return name
    else:
        onnx.save(onnx.load(name), path)
    if weights != weight_distributions.AS_THEY_ARE:
        model = onnx.load(path)
        weight_distributions.redraw(model.graph, weights, seed=0)
        onnx.save(model, path)
    return str(path)


def write_bundle(model_path, path, threads, accuracy, database, precision="f32"):
    """Returns what `tuner compile --json` reports of it."""
    return json.loads(tuner("compile", "--model", model_path, "--threads", threads, "--accuracy",
                            accuracy, "--precision", precision, "--db",
                            database or pathlib.Path(path).with_suffix(".db"), "--json", "--out",
                            path))


def _index_bound(graph, name):
    """The extent that an integer input indexes: rows of the table that a Gather takes from."""
    tables = {tensor.name: tensor.dims for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Gather" and node.input[1] == name and node.input[0] in tables:
            axis = next((each.i for each in node.attribute if each.name == "axis"), 0)
            return tables[node.input[0]][axis]
    return 2  # A mask.


def make_inputs(model_path, seed=0):
    """Normal floats, and integers uniform over what they index: zeros run at another speed."""
    rng = np.random.default_rng(seed)
    graph = onnx.load(model_path, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs = {}
    for value in graph.input:
        if value.name in constants:
            continue
        shape = [each.dim_value for each in value.type.tensor_type.shape.dim]
        if 0 in shape:
            raise RuntimeError(f"input {value.name!r} has no fixed shape")
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if np.issubdtype(dtype, np.floating):
            inputs[value.name] = rng.standard_normal(shape).astype(dtype)
        else:
            inputs[value.name] = rng.integers(0, _index_bound(graph, value.name), shape, dtype)
    return inputs
