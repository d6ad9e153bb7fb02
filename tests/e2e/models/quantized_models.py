"""Networks that ONNX Runtime's static tool quantized, compiled and run against ONNX Runtime.

Weights are random, but the last layer's outputs differ between inputs by more than 0.3 of their rms:
errors are measured against that spread, for which int8's own error is a few per cent.

usage: quantized_models.py RUNNER [NAME...]
"""

import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from case_runner import CaseRunner  # noqa: E402
from test_report import Report  # noqa: E402

# Of the spread between inputs: a step of a scale here and there, where sums of real numbers end near
# a half.
ERROR_MAX = 0.01
INPUTS = 8


class Writer:
    """A float model, node by node."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, array):
        name = f"w{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weights(self, *shape, fan=None):
        fan = fan or int(np.prod(shape[1:]))
        return self.constant((self.random.normal(size=shape) * np.sqrt(2 / fan)).astype(np.float32))

    def vector(self, size, scale=0.1):
        return self.constant((self.random.normal(size=size) * scale).astype(np.float32))

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        name = f"v{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=f"{kind}{self.count}",
                                           **attributes))
        return name

    def conv(self, x, channels, filters, size, group=1, relu=True, **attributes):
        y = self.op("Conv", x, self.weights(filters, channels // group, size, size),
                    self.vector(filters), group=group, pads=[size // 2] * 4, **attributes)
        return self.op("Relu", y) if relu else y

    def model(self, shape, y):
        last = helper.make_node("Identity", [y], ["y"])
        graph = helper.make_graph(
            self.nodes + [last], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 10
        return onnx.shape_inference.infer_shapes(model)


def residual_network():
    w = Writer(1)
    x = w.conv("x", 3, 32, 3, strides=[2, 2])
    x = w.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for filters in (32, 64):
        channels = 32
        stride = [filters // 32] * 2
        y = w.conv(x, channels, 16, 1)
        y = w.conv(y, 16, 16, 3, strides=stride)
        y = w.conv(y, 16, filters, 1, relu=False)
        side = x if filters == channels else w.conv(x, channels, filters, 1, relu=False,
                                                    strides=stride)
        x = w.op("Relu", w.op("Add", y, side))
    x = w.conv(x, 64, 64, 3, group=64)  # Depthwise.
    x = w.op("Concat", x, w.conv(x, 64, 32, 1), axis=1)
    x = w.op("GlobalAveragePool", x)
    x = w.op("Flatten", x)
    return w.model([1, 3, 32, 32], w.op("Gemm", x, w.weights(10, 96), w.vector(10), transB=1))


def mobile_network():
    w = Writer(2)
    x = w.conv("x", 4, 16, 3, strides=[2, 2])
    channels = 16
    for expanded, filters, stride in ((32, 24, 2), (48, 24, 1), (48, 32, 1)):
        y = w.op("Clip", w.conv(x, channels, expanded, 1, relu=False), w.constant(np.float32(0)),
                 w.constant(np.float32(6)))
        y = w.conv(y, expanded, expanded, 3, group=expanded, strides=[stride] * 2)
        y = w.conv(y, expanded, filters, 1, relu=False)
        x = w.op("Add", x, y) if filters == channels and stride == 1 else y
        channels = filters
    x = w.op("Flatten", w.op("GlobalAveragePool", x))
    return w.model([1, 4, 32, 32], w.op("Gemm", x, w.weights(10, 32), w.vector(10), transB=1))


def transformer(width=64):
    w = Writer(3)
    heads, tokens = width // 16, 16

    def linear(x, columns, rows=width):
        y = w.op("MatMul", x, w.weights(rows, columns, fan=2 * rows))
        return w.op("Add", y, w.vector(columns))

    def split(x, perm):
        x = w.op("Reshape", x, w.constant(np.array([1, tokens, heads, width // heads])))
        return w.op("Transpose", x, perm=perm)

    def norm(x):
        return w.op("LayerNormalization", x, w.constant(np.ones(width, np.float32)),
                    w.vector(width), axis=-1)

    x = "x"
    for _ in range(2):
        y = norm(x)
        q, k, v = (split(linear(y, width), perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = w.op("Mul", w.op("MatMul", q, k), w.constant(np.float32(0.25)))
        y = w.op("MatMul", w.op("Softmax", scores, axis=-1), v)
        y = w.op("Reshape", w.op("Transpose", y, perm=[0, 2, 1, 3]),
                 w.constant(np.array([1, tokens, width])))
        x = w.op("Add", x, linear(y, width))
        y = linear(norm(x), 4 * width)
        y = w.op("Mul", y, w.op("Sigmoid", y))
        x = w.op("Add", x, linear(y, width, 4 * width))
    return w.model([1, tokens, width], linear(norm(x), 10))


class Reader(CalibrationDataReader):
    def __init__(self, inputs):
        self.inputs = iter(inputs)

    def get_next(self):
        array = next(self.inputs, None)
        return None if array is None else {"x": array}


def quantized(model, inputs, activations, weights, per_channel):
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "f.onnx"), os.path.join(folder, "q.onnx")
        onnx.save(model, source)
        quantize_static(source, target, Reader(inputs), quant_format=QuantFormat.QDQ,
                        activation_type=activations, weight_type=weights, per_channel=per_channel,
                        extra_options={"ActivationSymmetric": False})
        with open(target, "rb") as file:
            return file.read()


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # As the model stands: what the optimiser makes of it rounds in other places.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run_case(runner, make, activations, weights, per_channel):
    model = make()
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    random = np.random.default_rng(7)
    # Each input has channels (or tokens) of its own: means over an image tell inputs apart.
    apart = [*shape[:2], *[1] * (len(shape) - 2)]
    inputs = [(random.normal(size=shape) + 2 * random.normal(size=apart)).astype(np.float32)
              for _ in range(INPUTS)]
    int8 = quantized(model, inputs, activations, weights, per_channel)
    session, floats = session_of(int8), session_of(model.SerializeToString())
    want = np.stack([session.run(None, {"x": x})[0] for x in inputs])
    real = np.stack([floats.run(None, {"x": x})[0] for x in inputs])
    spread = np.sqrt(np.mean((real - real.mean(axis=0)) ** 2))
    if not spread > 0.3 * np.sqrt(np.mean(real ** 2)):
        return [f"the outputs hardly depend on the inputs: spread {spread}"], ""
    reply, sets = runner.run(int8, [[x] for x in inputs])
    if reply["error"]:
        return [f"{reply['stage']}: {reply['error'][:600]}"], ""
    got = np.stack([outputs[0] for outputs in sets])
    error = np.sqrt(np.mean((got - want) ** 2)) / spread
    floor = np.sqrt(np.mean((want - real) ** 2)) / spread
    ours = np.sqrt(np.mean((got - real) ** 2)) / spread
    note = (f"error {error:.4f} of the spread; to the float model: ONNX Runtime's int8 {floor:.4f}, "
            f"ours {ours:.4f}; {reply['steps']} steps")
    wrong = []
    if not error <= ERROR_MAX:
        wrong.append(f"differs from ONNX Runtime: {note}")
    if not ours <= 1.2 * floor + 0.005:
        wrong.append(f"is worse than ONNX Runtime's int8: {note}")
    return wrong, note


def main(arguments):
    report = Report("quantized_models")
    kinds = {"u8s8": (QuantType.QUInt8, QuantType.QInt8), "s8s8": (QuantType.QInt8, QuantType.QInt8),
             "u8u8": (QuantType.QUInt8, QuantType.QUInt8)}
    with CaseRunner(arguments[0]) as runner:
        for make in (residual_network, mobile_network, transformer):
            for kind, (activations, weights) in kinds.items():
                for per_channel in (False, True):
                    if per_channel and kind == "u8u8":
                        continue  # ONNX Runtime has no kernel for zero points by channel.
                    name = f"{make.__name__} {kind}{' per channel' if per_channel else ''}"
                    if len(arguments) > 1 and name not in arguments[1:]:
                        continue
                    report.run(name, lambda m=make, a=activations, w=weights, p=per_channel:
                               run_case(runner, m, a, w, p))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
