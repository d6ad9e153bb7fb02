"""Trains testdata/digits.onnx: a small residual network with batch norms, in NumPy, in a minute.

It was run once. Floats add up in another order on another machine, so that another run gives another
network that is as good.

usage: train_digits.py OUT.onnx
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import digits

EPOCHS = 40
BATCH = 32
RATE, MOMENTUM, DECAY = 0.05, 0.9, 5e-4
EPSILON = 1e-5


def columns(x):
    """[n,c,h,w] -> [n,h,w,9*c]: the 3x3 window of each pixel."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    parts = [padded[:, :, i:i + h, j:j + w] for i in range(3) for j in range(3)]
    return np.stack(parts, -1).transpose(0, 2, 3, 1, 4).reshape(n, h, w, 9 * c)


def images(grad, c):
    """The gradient of `columns`."""
    n, h, w, _ = grad.shape
    parts = grad.reshape(n, h, w, c, 9).transpose(0, 3, 1, 2, 4)
    padded = np.zeros((n, c, h + 2, w + 2), np.float32)
    for k in range(9):
        padded[:, :, k // 3:k // 3 + h, k % 3:k % 3 + w] += parts[..., k]
    return padded[:, :, 1:-1, 1:-1]


class Conv:
    """3x3, with a batch norm."""

    def __init__(self, random, inputs, filters):
        deviation = np.sqrt(2 / (9 * inputs))
        self.w = (random.normal(size=(9 * inputs, filters)) * deviation).astype(np.float32)
        self.scale, self.shift = np.ones(filters, np.float32), np.zeros(filters, np.float32)
        self.inputs, self.filters = inputs, filters

    def parameters(self):
        return ["w", "scale", "shift"]

    def forward(self, x):
        self.columns = columns(x)
        y = self.columns @ self.w
        self.mean, self.variance = y.mean((0, 1, 2)), y.var((0, 1, 2))
        self.deviation = np.sqrt(self.variance + EPSILON)
        self.normal = (y - self.mean) / self.deviation
        return (self.normal * self.scale + self.shift).transpose(0, 3, 1, 2)

    def backward(self, grad):
        grad = grad.transpose(0, 2, 3, 1)
        self.grads = {"scale": (grad * self.normal).sum((0, 1, 2)), "shift": grad.sum((0, 1, 2))}
        normal = grad * self.scale
        y = (normal - normal.mean((0, 1, 2)) -
             self.normal * (normal * self.normal).mean((0, 1, 2))) / self.deviation
        self.grads["w"] = self.columns.reshape(-1, 9 * self.inputs).T @ y.reshape(-1, self.filters)
        return images(y @ self.w.T, self.inputs)


class Dense:
    def __init__(self, random, inputs, outputs):
        self.w = (random.normal(size=(inputs, outputs)) / np.sqrt(inputs)).astype(np.float32)
        self.b = np.zeros(outputs, np.float32)

    def parameters(self):
        return ["w", "b"]

    def forward(self, x):
        self.x = x
        return x @ self.w + self.b

    def backward(self, grad):
        self.grads = {"w": self.x.T @ grad, "b": grad.sum(0)}
        return grad @ self.w.T


class Network:
    def __init__(self, random):
        self.first, self.one, self.two = Conv(random, 1, 16), Conv(random, 16, 16), Conv(random, 16, 16)
        self.last, self.dense = Conv(random, 16, 32), Dense(random, 32, 10)
        self.layers = [self.first, self.one, self.two, self.last, self.dense]

    def forward(self, x):
        self.x1 = np.maximum(self.first.forward(x), 0)
        self.x2 = np.maximum(self.one.forward(self.x1), 0)
        self.x3 = np.maximum(self.two.forward(self.x2) + self.x1, 0)
        n, c, h, w = self.x3.shape
        windows = self.x3.reshape(n, c, h // 2, 2, w // 2, 2)
        pooled = windows.max((3, 5))
        self.chosen = windows == pooled[:, :, :, None, :, None]
        self.x4 = np.maximum(self.last.forward(pooled), 0)
        return self.dense.forward(self.x4.mean((2, 3)))

    def backward(self, grad):
        grad = self.dense.backward(grad)[:, :, None, None] / 16 * (self.x4 > 0)
        pooled = self.last.backward(grad)
        grad = (pooled[:, :, :, None, :, None] * self.chosen).reshape(self.x3.shape) * (self.x3 > 0)
        side = self.one.backward(self.two.backward(grad) * (self.x2 > 0))
        self.first.backward((grad + side) * (self.x1 > 0))


def shifted(random, x):
    """Images moved by a pixel at most."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moves = random.integers(0, 3, size=(len(x), 2))
    return np.stack([p[:, i:i + 8, j:j + 8] for p, (i, j) in zip(padded, moves)])


def train(x, labels):
    random = np.random.default_rng(1)
    network = Network(random)
    speeds = {}
    steps = EPOCHS * (len(x) // BATCH)
    for step in range(steps):
        chosen = random.choice(len(x), BATCH, replace=False)
        scores = network.forward(shifted(random, x[chosen]))
        shares = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        network.backward((shares - np.eye(10, dtype=np.float32)[labels[chosen]]) / BATCH)
        rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps))
        for number, layer in enumerate(network.layers):
            for name in layer.parameters():
                value = getattr(layer, name)
                speed = speeds.get((number, name), 0) * MOMENTUM + layer.grads[name] + DECAY * value
                speeds[number, name] = speed
                setattr(layer, name, (value - rate * speed).astype(np.float32))
    network.forward(x)  # The statistics that the model has: those of all that it was trained with.
    return network


def write(network, path):
    nodes, constants = [], []

    def constant(name, array):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        return name

    def op(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def conv(name, layer, x):
        w = layer.w.T.reshape(layer.filters, layer.inputs, 3, 3)
        y = op("Conv", [x, constant(name + "_w", w)], name, pads=[1, 1, 1, 1])
        statistics = [constant(f"{name}_{part}", getattr(layer, part))
                      for part in ("scale", "shift", "mean", "variance")]
        return op("BatchNormalization", [y, *statistics], name + "_norm", epsilon=EPSILON)

    x1 = op("Relu", [conv("first", network.first, "image")], "x1")
    x2 = op("Relu", [conv("one", network.one, x1)], "x2")
    x3 = op("Relu", [op("Add", [conv("two", network.two, x2), x1], "sum")], "x3")
    pooled = op("MaxPool", [x3], "pooled", kernel_shape=[2, 2], strides=[2, 2])
    x4 = op("Relu", [conv("last", network.last, pooled)], "x4")
    mean = op("Flatten", [op("GlobalAveragePool", [x4], "mean")], "flat")
    op("Gemm", [mean, constant("dense_w", network.dense.w), constant("dense_b", network.dense.b)],
       "scores")
    graph = helper.make_graph(
        nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 10])], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main(path):
    import onnxruntime
    (x, labels), (held_out, want) = digits.load()
    write(train(x, labels), path)
    session = onnxruntime.InferenceSession(path)
    got = session.run(None, {"image": held_out})[0].argmax(1)
    print(f"{np.mean(got == want):.4f} of {len(want)} held-out images are told right")


if __name__ == "__main__":
    main(*sys.argv[1:])
