"""The nine architectures that PyPI's onnx carries, with seeded random weights.

As they are, their weights are constants and each expected output is one value. So every constant
weight becomes a seeded random one and the final softmax goes.
"""

import glob
import os

import numpy as np
import onnx
from onnx import numpy_helper

FOLDER = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")


def names():
    """In an order that seeds the weights."""
    paths = sorted(glob.glob(os.path.join(FOLDER, "*.onnx")))
    assert len(paths) == 9, paths
    return [os.path.basename(path).removesuffix(".onnx") for path in paths]


def normal(rng, shape, deviation):
    return rng.standard_normal(shape, np.float32) * np.float32(deviation)


def scales(rng, shape):
    return rng.uniform(0.5, 1.5, shape).astype(np.float32)


def random_weight(rng, shape, node, index):
    """A weight for input `index` of the node that reads it."""
    op = node.op_type
    if op == "Conv" and index == 1:
        return normal(rng, shape, np.sqrt(2 / np.prod(shape[1:])))
    if op == "Gemm" and index == 1:
        transposed = any(a.name == "transB" and a.i for a in node.attribute)
        return normal(rng, shape, np.sqrt(2 / shape[1 if transposed else 0]))
    if (op == "BatchNormalization" and index in (1, 4)) or op == "Mul":
        return scales(rng, shape)
    if (op == "BatchNormalization" and index in (2, 3)) or op == "Add" or index == 2:
        return normal(rng, shape, 0.1)
    raise ValueError(f"input {index} of {op} is a constant of unknown kind")


def readers_by_name(graph):
    readers = {}
    for node in graph.node:
        for index, name in enumerate(node.input):
            readers.setdefault(name, []).append((node, index))
    return readers


def randomize_weights(graph, seed):
    """Replaces constants that are filled with one value, and float initializers."""
    rng = np.random.default_rng(seed)
    readers = readers_by_name(graph)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    shapes = {name: array.shape for name, array in constants.items() if array.dtype == np.float32}
    filled = [node for node in graph.node if node.op_type == "ConstantOfShape"]
    for node in filled:
        shapes[node.output[0]] = tuple(int(n) for n in constants[node.input[0]])
        graph.node.remove(node)
    weights = {}
    for name, shape in shapes.items():
        if name not in readers:
            continue
        node, index = readers[name][0]
        while node.op_type in ("Unsqueeze", "Reshape"):  # Of a scale, to broadcast over channels.
            node, index = readers[node.output[0]][0]
        weights[name] = random_weight(rng, shape, node, index)
    kept = [tensor for tensor in graph.initializer
            if tensor.name not in weights and readers_by_name(graph).get(tensor.name)]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in weights.items())
    known = {tensor.name for tensor in graph.initializer} | set(constants)
    inputs = [value for value in graph.input if value.name not in known]
    del graph.input[:]
    graph.input.extend(inputs)
    return len(weights)


def cut_softmax(graph):
    last = next(node for node in graph.node if graph.output[0].name in node.output)
    if last.op_type == "Softmax":
        graph.node.remove(last)
        del graph.output[:]
        graph.output.add().name = last.input[0]
        graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT


def seeded_model(name):
    """The ONNX model, weights drawn with its number as the seed."""
    model = onnx.load(os.path.join(FOLDER, name + ".onnx"))
    randomize_weights(model.graph, names().index(name))
    cut_softmax(model.graph)
    return model
