"""Models whose inputs each run sizes, against ONNX Runtime, over both ends of the ranges and sizes
between: an encoder with a mask, a decoder with a past, images by batch, sound by length, recurrence.

usage: dims_models.py RUNNER
"""

import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reference  # noqa: E402
from case_runner import CaseRunner, summary  # noqa: E402
from compare import model_differences  # noqa: E402
from sizes_models import F, I, Model, ints  # noqa: E402
from test_report import Report  # noqa: E402

WIDTH, HEADS, WORDS = 64, 4, 50


class Net(Model):
    """Layers as exporters write them, with random weights."""

    def __init__(self, seed):
        super().__init__()
        self._rng = np.random.default_rng(seed)

    def weights(self, *shape):
        scale = 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 2 else shape[0])
        return self.const((self._rng.standard_normal(shape) * scale).astype(np.float32))

    def dense(self, x, inner, outer):
        return self.op("Add", [self.op("MatMul", [x, self.weights(inner, outer)]), self.weights(outer)])

    def norm(self, x):
        return self.op("LayerNormalization", [x, self.weights(WIDTH), self.weights(WIDTH)], axis=-1)

    def size(self, x, axis):
        """A size as torch.onnx writes it, ready to be concatenated."""
        shape = self.op("Shape", [x])
        number = self.op("Gather", [shape, self.const(np.array(axis, np.int64))], axis=0)
        return self.op("Unsqueeze", [number, self.const(ints(0))])

    def shape(self, *parts):
        return self.op("Concat", [part if isinstance(part, str) else self.const(ints(part))
                                  for part in parts], axis=0)

    def heads(self, x, perm=(0, 2, 1, 3)):
        to = self.shape(self.size(x, 0), self.size(x, 1), HEADS, WIDTH // HEADS)
        return self.op("Transpose", [self.op("Reshape", [x, to])], perm=list(perm))

    def gelu(self, x):
        half = self.op("Mul", [x, self.const(np.float32(0.5))])
        erf = self.op("Erf", [self.op("Div", [x, self.const(np.float32(np.sqrt(2)))])])
        return self.op("Mul", [half, self.op("Add", [erf, self.const(np.float32(1))])])

    def mix(self, x, q, k, v, mask):
        """Attention, and the layers behind it."""
        scores = self.op("Div", [self.op("MatMul", [q, k]), self.const(np.float32(4))])
        shares = self.op("Softmax", [self.op("Add", [scores, mask])], axis=-1)
        back = self.op("Transpose", [self.op("MatMul", [shares, v])], perm=[0, 2, 1, 3])
        flat = self.op("Reshape", [back, self.shape(self.size(back, 0), self.size(back, 1), WIDTH)])
        x = self.norm(self.op("Add", [x, self.dense(flat, WIDTH, WIDTH)]))
        inner = self.gelu(self.dense(x, WIDTH, 2 * WIDTH))
        return self.norm(self.op("Add", [x, self.dense(inner, 2 * WIDTH, WIDTH)]))


def encoder():
    """As BERT: words and places, a mask of words that count, two layers, and the first word's head."""
    m = Net(1)
    words = m.input("input_ids", I, ["batch", "seq"])
    mask = m.input("attention_mask", I, ["batch", "seq"])
    places = m.op("Slice", [m.const(np.arange(WORDS)[None]), m.const(ints(0)), m.size(words, 1),
                            m.const(ints(1)), m.const(ints(1))])
    x = m.op("Add", [m.op("Gather", [m.weights(WORDS, WIDTH), words]),
                     m.op("Gather", [m.weights(WORDS, WIDTH), places])])
    x = m.norm(x)
    wide = m.op("Cast", [m.op("Unsqueeze", [mask, m.const(ints(1, 2))])], to=F)
    bias = m.op("Mul", [m.op("Sub", [m.const(np.float32(1)), wide]), m.const(np.float32(-1e9))])
    for _ in range(2):
        x = m.mix(x, m.heads(m.dense(x, WIDTH, WIDTH)),
                  m.heads(m.dense(x, WIDTH, WIDTH), (0, 2, 3, 1)),
                  m.heads(m.dense(x, WIDTH, WIDTH)), bias)
    first = m.op("Gather", [x, m.const(np.array(0, np.int64))], axis=1)
    pooled = m.op("Tanh", [m.op("Gemm", [first, m.weights(WIDTH, WIDTH), m.weights(WIDTH)])])
    return m.to_bytes([(x, F), (pooled, F)])


def decoder():
    """As GPT-2: rows of all words in one matrix, keys and values of the past, a causal mask that is
    cut out of a large one, and the new keys and values as results."""
    m = Net(2)
    words = m.input("input_ids", I, ["batch", "seq"])
    mask = m.input("attention_mask", I, ["batch", "past + seq"])
    pasts = [[m.input(f"past_{layer}_{kind}", F, ["batch", HEADS, "past", WIDTH // HEADS])
              for kind in "kv"] for layer in range(2)]
    past, now = m.size(pasts[0][0], 2), m.size(words, 1)
    total = m.op("Add", [past, now])
    one = m.const(np.array(1, np.int64))
    places = m.op("Range", [m.op("Squeeze", [past, m.const(ints(0))]),
                            m.op("Squeeze", [total, m.const(ints(0))]), one])
    x = m.op("Add", [m.op("Gather", [m.weights(WORDS, WIDTH), words]),
                     m.op("Gather", [m.weights(WORDS, WIDTH), m.op("Unsqueeze", [places, m.const(ints(0))])])])
    seen = m.op("Cast", [m.op("Unsqueeze", [mask, m.const(ints(1, 2))])], to=F)
    bias = m.op("Mul", [m.op("Sub", [m.const(np.float32(1)), seen]), m.const(np.float32(-1e9))])
    causal = m.const(np.tril(np.ones((WORDS, WORDS), bool))[None, None])
    rows = m.op("Slice", [causal, past, total, m.const(ints(2)), m.const(ints(1))])
    rows = m.op("Slice", [rows, m.const(ints(0)), total, m.const(ints(3)), m.const(ints(1))])
    bias = m.op("Where", [rows, bias, m.const(np.float32(-1e9))])
    results = []
    for layer in range(2):
        normal = m.norm(x)
        flat = m.op("Reshape", [normal, m.const(ints(-1, WIDTH))])
        product = m.op("Gemm", [flat, m.weights(WIDTH, 3 * WIDTH), m.weights(3 * WIDTH)])
        whole = m.op("Reshape", [product, m.shape(m.size(normal, 0), m.size(normal, 1), 3 * WIDTH)])
        q, k, v = (m.heads(part) for part in m.op(
            "Split", [whole, m.const(ints(WIDTH, WIDTH, WIDTH))], 3, axis=2))
        k = m.op("Concat", [pasts[layer][0], k], axis=2)
        v = m.op("Concat", [pasts[layer][1], v], axis=2)
        results += [k, v]
        x = m.mix(x, q, m.op("Transpose", [k], perm=[0, 1, 3, 2]), v, bias)
    last = m.op("Gather", [x, m.const(np.array(-1, np.int64))], axis=1)
    logits = m.op("MatMul", [last, m.weights(WIDTH, WORDS)])
    return m.to_bytes([(logits, F), *[(value, F) for value in results]])


def images():
    """Convolutions with a shortcut, poolings, and a classifier, by batch."""
    m = Net(3)
    x = m.input("image", F, ["batch", 3, 24, 24])
    x = m.op("Relu", [m.op("Conv", [x, m.weights(16, 3, 3, 3), m.weights(16)], pads=[1, 1, 1, 1], strides=[2, 2])])
    y = m.op("Relu", [m.op("Conv", [x, m.weights(16, 16, 3, 3)], pads=[1, 1, 1, 1])])
    y = m.op("Conv", [y, m.weights(16, 1, 3, 3)], pads=[1, 1, 1, 1], group=16)
    x = m.op("MaxPool", [m.op("Add", [x, y])], kernel_shape=[2, 2], strides=[2, 2])
    x = m.op("Relu", [m.op("Conv", [x, m.weights(32, 16, 1, 1)])])
    x = m.op("Flatten", [m.op("GlobalAveragePool", [x])])
    return m.to_bytes([(m.op("Softmax", [m.op("Gemm", [x, m.weights(32, 10)])], axis=-1), F)])


def sound():
    """Convolutions that halve the length, one that spreads, one that doubles, and a mean."""
    m = Net(4)
    x = m.input("samples", F, ["batch", 1, "length"])
    x = m.op("Relu", [m.op("Conv", [x, m.weights(16, 1, 10), m.weights(16)], strides=[5])])
    x = m.op("Relu", [m.op("Conv", [x, m.weights(24, 16, 3)], strides=[2], pads=[1, 1])])
    y = m.op("Sigmoid", [m.op("Conv", [x, m.weights(24, 24, 3)], dilations=[2], pads=[2, 2])])
    x = m.op("Mul", [x, y])
    up = m.op("ConvTranspose", [x, m.weights(24, 8, 4)], strides=[2], pads=[1, 1])
    mean = m.op("ReduceMean", [x], axes=[2], keepdims=0)
    frames = m.op("Transpose", [up], perm=[0, 2, 1])
    classes = m.op("Softmax", [m.op("MatMul", [frames, m.weights(8, 5)])], axis=-1)
    return m.to_bytes([(classes, F), (m.op("Gemm", [mean, m.weights(24, 4)]), F)])


def recurrence():
    """Two directions over a sequence, and one over what they give."""
    m = Net(5)
    x = m.input("x", F, ["steps", "batch", 12])
    y, h, c = m.op("LSTM", [x, m.weights(2, 64, 12), m.weights(2, 64, 16), m.weights(2, 128)], 3,
                   hidden_size=16, direction="bidirectional")
    turned = m.op("Transpose", [y], perm=[0, 2, 1, 3])
    both = m.op("Reshape", [turned, m.const(ints(0, 0, -1))])
    z, last = m.op("GRU", [both, m.weights(1, 48, 32), m.weights(1, 48, 16)], 2, hidden_size=16)
    return m.to_bytes([(y, F), (h, F), (c, F), (z, F), (last, F)])


def random_sizes(ranges, rng, count):
    """Both ends, all mixed, then some between."""
    ends = [{name: end[i] for name, end in ranges.items()} for i in (0, 1)]
    names = list(ranges)
    crossed = [{name: ranges[name][(i + k) % 2] for k, name in enumerate(names)} for i in (0, 1)]
    return ends + crossed + [
        {name: int(rng.integers(low, high + 1)) for name, (low, high) in ranges.items()}
        for _ in range(count)]


def words(rng, *shape):
    return rng.integers(0, WORDS, shape)


def mask_of(rng, batch, length):
    """Words from the first to some last one."""
    ends = rng.integers(1, length + 1, batch)
    return (np.arange(length)[None] < ends[:, None]).astype(np.int64)


def floats(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


MODELS = {
    "encoder": (encoder, {"batch": (1, 3), "seq": (1, 40)}, lambda r, s: [
        words(r, s["batch"], s["seq"]), mask_of(r, s["batch"], s["seq"])]),
    "decoder": (decoder, {"batch": (1, 2), "past": (1, 30), "seq": (1, 9)}, lambda r, s: [
        words(r, s["batch"], s["seq"]), np.ones((s["batch"], s["past"] + s["seq"]), np.int64),
        *[floats(r, s["batch"], HEADS, s["past"], WIDTH // HEADS) for _ in range(4)]]),
    "images": (images, {"batch": (1, 6)}, lambda r, s: [floats(r, s["batch"], 3, 24, 24)]),
    "sound": (sound, {"batch": (1, 2), "length": (40, 400)}, lambda r, s: [
        floats(r, s["batch"], 1, s["length"])]),
    "recurrence": (recurrence, {"steps": (1, 20), "batch": (1, 3)}, lambda r, s: [
        floats(r, s["steps"], s["batch"], 12)]),
}


def differences(runner, name, seed):
    build, ranges, make_inputs = MODELS[name]
    rng = np.random.default_rng(seed)
    model = build()
    sizes = random_sizes(ranges, rng, 8)
    sets = [make_inputs(rng, each) for each in sizes]
    reply, outputs = runner.run(model, sets, dims={
        dim: f"{low}..{high}" for dim, (low, high) in ranges.items()})
    if reply["error"]:
        return [f"{reply['stage']}: {reply['error'][:600]}"], ""
    names = [f"output {i}" for i in range(len(outputs[0]))]
    worst, lines = 0.0, []
    for each, got, want in zip(sizes, outputs, reference.run(model, sets)):
        error, wrong = model_differences(names, [got], [want])
        worst = max(worst, error)
        lines += [f"{each}: {line}" for line in wrong]
    lines += [f"{names[i]} hardly varies" for i, output in enumerate(outputs[1])
              if not np.std(output) > 0.01 * np.max(np.abs(output))]
    return lines[:12], f"{len(sizes)} sizes, max error {worst:.1e}, {summary(reply)}"


def main(program):
    report = Report("dims_models")
    with CaseRunner(program) as runner:
        for number, name in enumerate(MODELS):
            report.run(name, lambda name=name, number=number: differences(runner, name, 100 + number))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
