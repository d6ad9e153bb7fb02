"""A network of GPT-2's shape, whose classifier is its table of embeddings: the table lies in the
bundle once, and new weights reach both of its readers.

usage: tied_test.py TUNER
"""

import os
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime
from onnx import TensorProto

import burnish_runtime
import harness

ERROR_MAX = 1e-4  # max|got - want| / max|want|, as docs/contracts.md counts it.
WORDS, WIDTH, HEADS, LAYERS, TOKENS = 50257, 768, 12, 2, 64  # GPT-2 has 12 layers.
_folder = tempfile.TemporaryDirectory()


class Network:
    """Nodes and weights as they are named; weights with signal, so that outputs differ."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.weights = [], {}

    def weight(self, name, *shape):
        fan_in = shape[0] if len(shape) == 2 else 100
        self.weights[name] = (self.random.standard_normal(shape, numpy.float32) /
                              numpy.float32(fan_in ** 0.5))
        return name

    def constant(self, name, value):
        self.weights[name] = value
        return name

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(onnx.helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def norm(self, x, name):
        return self.node("LayerNormalization",
                         [x, self.weight(name + ".w", WIDTH), self.weight(name + ".b", WIDTH)], name)

    def dense(self, x, name, width_in, width_out):
        product = self.node("MatMul", [x, self.weight(name + ".w", width_in, width_out)],
                            name + ".product")
        return self.node("Add", [product, self.weight(name + ".b", width_out)], name)

    def heads(self, x, name, perm):
        split = self.node("Reshape", [x, "heads"], name + ".heads")
        return self.node("Transpose", [split], name + ".turned", perm=perm)

    def layer(self, x, name):
        a = self.norm(x, name + ".norm1")
        q, k, v = (self.dense(a, name + part, WIDTH, WIDTH) for part in (".q", ".k", ".v"))
        scores = self.node("MatMul", [self.heads(q, q, [0, 2, 1, 3]),
                                      self.heads(k, k, [0, 2, 3, 1])], name + ".scores")
        scaled = self.node("Div", [scores, "scale"], name + ".scaled")
        masked = self.node("Add", [scaled, "mask"], name + ".masked")
        share = self.node("Softmax", [masked], name + ".share", axis=-1)
        mixed = self.node("MatMul", [share, self.heads(v, v, [0, 2, 1, 3])], name + ".mixed")
        turned = self.node("Transpose", [mixed], name + ".back", perm=[0, 2, 1, 3])
        flat = self.node("Reshape", [turned, "flat"], name + ".flat")
        x = self.node("Add", [self.dense(flat, name + ".out", WIDTH, WIDTH), x], name + ".x1")
        up = self.dense(self.norm(x, name + ".norm2"), name + ".up", WIDTH, 4 * WIDTH)
        down = self.dense(self.node("Tanh", [up], name + ".tanh"), name + ".down", 4 * WIDTH, WIDTH)
        return self.node("Add", [down, x], name + ".x2")


def make(path, seed, folded):
    """`folded`: the exporter wrote the turned table, too."""
    network = Network(seed)
    network.weight("table", WORDS, WIDTH)
    network.constant("heads", numpy.array([1, TOKENS, HEADS, WIDTH // HEADS]))
    network.constant("flat", numpy.array([1, TOKENS, WIDTH]))
    network.constant("scale", numpy.float32(8).reshape(()))
    network.constant("mask", numpy.triu(numpy.full((1, 1, TOKENS, TOKENS), -1e9, numpy.float32), 1))
    x = network.node("Gather", ["table", "ids"], "words")
    x = network.node("Add", [x, network.weight("positions", TOKENS, WIDTH)], "x")
    for number in range(LAYERS):
        x = network.layer(x, f"layer{number}")
    x = network.norm(x, "last")
    turned = network.node("Transpose", ["table"], "turned", perm=[1, 0])
    if folded:
        network.nodes.pop()
        network.constant("turned", network.weights["table"].T.copy())
    network.node("MatMul", [x, turned], "logits")
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        network.nodes, "tied", [value("ids", TensorProto.INT64, [1, TOKENS])],
        [value("logits", TensorProto.FLOAT, [1, TOKENS, WORDS])],
        [onnx.numpy_helper.from_array(array, name) for name, array in network.weights.items()])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)],
                                     ir_version=8), path)
    return {name: array for name, array in network.weights.items()
            if array.dtype == numpy.float32 and array.size > 1}


def compiled(model, bundle, *flags):
    subprocess.run([sys.argv[1], "compile", "--model", model, "--out", bundle, "--cache",
                    _folder.name + "/cache", "--db", _folder.name + "/empty.db", *flags],
                   check=True, capture_output=True)
    return burnish_runtime.load(bundle)


def check(model, path):
    ids = numpy.random.default_rng(7).integers(0, WORDS, (1, TOKENS))
    ids[0, :3] = 0, WORDS - 1, -1
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    want = session.run(None, {"ids": ids})[0]
    assert numpy.abs(model(ids) - want).max() <= ERROR_MAX * numpy.abs(want).max()


def test_the_table_lies_in_the_bundle_once():
    node, folded, bundle = (_folder.name + name for name in ("/node.onnx", "/folded.onnx", "/b"))
    make(node, 1, folded=False)
    make(folded, 1, folded=True)
    assert os.path.getsize(folded) > 1.5 * os.path.getsize(node)
    for path in (node, folded):
        check(compiled(path, bundle), path)
        assert os.path.getsize(bundle) <= 1.02 * os.path.getsize(node), os.path.getsize(bundle)


def test_both_readers_see_new_weights():
    old, new, bundle = (_folder.name + name for name in ("/old.onnx", "/new.onnx", "/refit"))
    names = set(make(old, 1, folded=False))
    weights = make(new, 2, folded=False)
    model = compiled(old, bundle, "--refit")
    assert os.path.getsize(bundle) <= 1.02 * os.path.getsize(old), os.path.getsize(bundle)
    assert {p.name for p in model.parameters} == names
    check(model, old)
    check(model.refit(weights), new)


harness.run_cases(__name__)
