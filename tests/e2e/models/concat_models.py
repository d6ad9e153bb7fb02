"""Concats as models have them, with default schedules, against ONNX Runtime.

usage: concat_models.py RUNNER [NAME...]

Whole models where storage has to place what concats join: see the function of each.
"""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

import reference
from case_runner import CaseRunner, summary
from compare import dull_outputs, model_differences
from test_report import Report

F32, I64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


class Net:
    """An ONNX graph that grows node by node; values go by their names."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._nodes, self._inputs, self._outputs, self._constants = [], [], [], []

    def input(self, shape, kind=F32):
        name = f"x{len(self._inputs)}"
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def constant(self, array):
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def random(self, shape, scale=1.0):
        return self.constant((self._rng.standard_normal(shape) * scale).astype(np.float32))

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self._nodes)}_{i}" for i in range(outputs)]
        self._nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, channels, out, kernel, stride=1):
        weights = self.random((out, channels, kernel, kernel), (channels * kernel**2) ** -0.5)
        return self.op("Conv", x, weights, self.random((out,), 0.1),
                       pads=[kernel // 2] * 4, strides=[stride] * 2)

    def norm(self, x, channels):
        spread = self.constant(self._rng.uniform(0.5, 1.5, channels).astype(np.float32))
        return self.op("BatchNormalization", x, self.random((channels,)), self.random((channels,)),
                       self.random((channels,), 0.1), spread)

    def output(self, value):
        self._outputs.append(helper.make_empty_tensor_value_info(value))

    def model(self):
        graph = helper.make_graph(self._nodes, "concats", self._inputs, self._outputs,
                                  self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)

    def random_inputs(self, seed):
        rng, arrays = np.random.default_rng(seed), []
        for value in self._inputs:
            kind = value.type.tensor_type
            shape = [each.dim_value for each in kind.shape.dim]
            arrays.append(rng.standard_normal(shape, np.float32) if kind.elem_type == F32 else
                          rng.integers(-9, 10, shape))
        return arrays


def inputs_of_odd_sizes(net):
    """2, 3, 16 and 40 of the model's inputs along each axis, of floats and of integers."""
    for kind in (F32, I64):
        for axis in range(3):
            parts = []
            for i in range(40):
                shape = [3, 5, 7]
                shape[axis] = 1 + i % 3
                parts.append(net.input(shape, kind))
            for count in (2, 3, 16, 40):
                net.output(net.op("Concat", *parts[:count], axis=axis))


def dense_block(net):
    """Every layer reads the concat of all values before, as torchvision exports DenseNet."""
    values, channels = [net.conv(net.input([1, 3, 13, 11]), 3, 24, 3)], 24
    for _ in range(5):
        x = net.op("Relu", net.norm(net.op("Concat", *values, axis=1), channels))
        x = net.op("Relu", net.norm(net.conv(x, channels, 32, 1), 32))
        values.append(net.conv(x, 32, 12, 3))
        channels += 12
    x = net.op("Relu", net.norm(net.op("Concat", *values, axis=1), channels))
    x = net.op("AveragePool", net.conv(x, channels, channels // 2, 1), kernel_shape=[2, 2],
               strides=[2, 2])
    net.output(x)


def one_value_in_many_places(net):
    """In three concats along three axes, twice in one of them, beside an input, a constant and an
    output of the model."""
    x = net.input([2, 5, 3])
    a, b, out = net.op("Tanh", x), net.op("Neg", x), net.op("Sin", x)
    net.output(out)
    net.output(net.op("Abs", net.op("Concat", a, b, axis=0)))
    net.output(net.op("Concat", a, b, a, out, axis=-2))
    net.output(net.op("Exp", net.op("Concat", x, a, net.random((2, 5, 4)), axis=2)))


def detector_heads(net):
    """Boxes and scores at three scales, reshaped to rows and joined; what reads the joined ones is
    elementwise."""
    x, boxes, scores = net.input([1, 8, 20, 12]), [], []
    for anchors in (4, 6, 6):
        x = net.op("Relu", net.conv(x, 8, 8, 3, stride=2))
        for rows, width in ((boxes, 4), (scores, 3)):
            head = net.op("Transpose", net.conv(x, 8, anchors * width, 3), perm=[0, 2, 3, 1])
            shape = net.constant(np.array([1, -1, width], np.int64))
            rows.append(net.op("Reshape", head, shape))
    net.output(net.op("Concat", *boxes, axis=1))
    net.output(net.op("Sigmoid", net.op("Concat", *scores, axis=1)))


def skip_connections(net):
    """Values that a convolution reads with a border, and a concat much later."""
    x, skips, channels = net.input([1, 3, 16, 12]), [], 3
    for out in (8, 16):
        x = net.op("Relu", net.conv(x, channels, out, 3))
        x = net.op("Relu", net.conv(x, out, out, 3))
        skips.append((x, out))
        x, channels = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), out
    x = net.op("Relu", net.conv(x, channels, channels, 3))
    for skip, width in reversed(skips):
        x = net.op("ConvTranspose", x, net.random((channels, width, 2, 2), 0.2), strides=[2, 2])
        x = net.op("Relu", net.conv(net.op("Concat", skip, x, axis=1), 2 * width, width, 3))
        channels = width
    net.output(x)


def split_and_joined(net):
    """A split whose parts are joined again with what was made of the last one."""
    x = net.op("Relu", net.conv(net.input([1, 4, 9, 10]), 4, 24, 1))
    parts = net.op("Split", x, outputs=2, axis=1)
    for _ in range(2):
        y = net.op("Relu", net.conv(parts[-1], 12, 12, 3))
        parts.append(net.op("Add", net.op("Relu", net.conv(y, 12, 12, 3)), parts[-1]))
    net.output(net.op("Relu", net.conv(net.op("Concat", *parts, axis=1), 48, 8, 1)))


def rows_of_images(net):
    """Joined along rows, where convolutions of one part and of the whole want borders."""
    x = net.input([1, 4, 7, 9])
    a, b = net.op("Relu", net.conv(x, 4, 8, 3)), net.op("Tanh", net.conv(x, 4, 8, 1))
    tall = net.op("Concat", a, b, axis=2)
    net.output(net.op("Relu", net.conv(a, 8, 8, 3)))
    net.output(net.op("Sigmoid", net.conv(tall, 8, 8, 3)))
    net.output(net.op("Concat", tall, net.op("MaxPool", tall, kernel_shape=[3, 3], strides=[1, 1],
                                             pads=[1] * 4), axis=3))


def long_vectors(net):
    """More elements along the axis than a proof by enumeration goes through."""
    parts = [net.input([60001]) for _ in range(20)]
    net.output(net.op("Neg", net.op("Concat", *parts, axis=0)))


MODELS = (inputs_of_odd_sizes, dense_block, one_value_in_many_places, detector_heads,
          skip_connections, split_and_joined, rows_of_images, long_vectors)


def run_model(runner, build):
    """Returns the lines that say what is wrong, and a note."""
    net = Net(seed=len(build.__name__))
    build(net)
    model = net.model()
    sets = [net.random_inputs(seed) for seed in (1, 2)]
    content = model.SerializeToString()
    want = reference.run(content, sets)
    wrong = dull_outputs(want)
    reply, got = runner.run(content, sets)
    if reply["error"]:
        return wrong + [f"{reply['stage']}: {reply['error']}"], ""
    if reply["rejected"]:
        wrong.append(f"default schedules refused: {reply['rejected']}")
    worst, lines = model_differences([value.name for value in model.graph.output], got, want)
    return wrong + lines, f"error {worst:.2g}, {summary(reply)}"


def main(arguments):
    program, names = arguments[0], arguments[1:]
    report = Report("concat_models")
    with CaseRunner(program, timeout_s=300) as runner:
        for build in MODELS:
            if not names or build.__name__ in names:
                report.run(build.__name__, lambda build=build: run_model(runner, build))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
