"""Rows: ONNX Runtime's own operators, as its optimizer writes them."""

import numpy as np

from builder import F32, I64
from evaluate import Unfit
from rows import row, small

OWN = "com.microsoft"


@row("com.microsoft.FusedMatMul")
def fused_matmul(b, name):
    a, c = b.choice([0, 1]), b.choice([0, 1])
    x, y = b.fresh(F32, (4, 3) if a else (3, 4)), b.fresh(F32, (5, 4) if c else (4, 5))
    if not small(x) or not small(y):
        raise Unfit("overflows in another order")
    b.emit("FusedMatMul", [x, y], domain=OWN, transA=a, transB=c, alpha=b.choice([1.0, 0.5]))


@row("com.microsoft.SkipLayerNormalization", "com.microsoft.SkipSimplifiedLayerNormalization")
def skip_normalization(b, name):
    x = b.value([F32], 3, 3, where=lambda v: v.static(), full=True, shape=lambda: (2, 3, 8))
    simple = "Simplified" in name
    inputs = [x, b.fresh(F32, x.shape)] + [b.fresh(F32, (x.shape[2],)) for _ in range(1 if simple else 2)]
    if b.chance(0.4):
        inputs.append(b.fresh(F32, (x.shape[2],)))
    b.emit(name.split(".")[2], inputs, b.choice([[1], [1, 0, 0, 1]]), domain=OWN, epsilon=1e-3)


@row("com.microsoft.EmbedLayerNormalization")
def embed(b, name):
    words, kinds = b.fresh(np.dtype("int32"), (2, 3), 0, 4), b.fresh(np.dtype("int32"), (2, 3), 0, 1)
    tables = [b.fresh(F32, shape) for shape in ((5, 8), (6, 8), (2, 8), (8,), (8,))]
    b.emit("EmbedLayerNormalization", [words, kinds, *tables], [1, 0], domain=OWN, epsilon=1e-3)


@row("com.microsoft.RotaryEmbedding")
def rotary(b, name):
    x, places = b.fresh(F32, (2, 3, 16)), b.fresh(I64, (2, 3), 0, 5)
    b.emit("RotaryEmbedding", [x, places, b.fresh(F32, (6, 4)), b.fresh(F32, (6, 4))], domain=OWN,
           interleaved=b.choice([0, 1]))


@row("com.microsoft.Attention")
def attention(b, name):
    # Where scores overflow, ONNX Runtime's masks and softmax depend on the kernel.
    inputs = [b.fresh(F32, (2, 3, 8)), b.fresh(F32, (8, 24)), b.fresh(F32, (24,))]
    if not all(small(each) for each in inputs):
        raise Unfit("overflows")
    b.emit("Attention", inputs, domain=OWN, num_heads=2, unidirectional=b.choice([0, 1]))


@row("com.microsoft.MultiHeadAttention")
def multi_head(b, name):
    q, k, v = b.fresh(F32, (2, 3, 8)), b.fresh(F32, (2, 5, 8)), b.fresh(F32, (2, 5, 8))
    bias = b.fresh(F32, (24,)) if b.chance(0.5) else None
    if not all(small(each) for each in (q, k, v)):
        raise Unfit("overflows")
    b.emit("MultiHeadAttention", [q, k, v, bias], domain=OWN, num_heads=2)


@row("com.microsoft.MatMulNBits")
def few_bits(b, name):
    n, depth = 3, 32
    packed = b.const(b.array(np.uint8, (n, 2, 8), 0, 255))
    b.emit("MatMulNBits", [b.fresh(F32, (2, depth)), packed, b.const(b.array(F32, (n * 2,), 0.1, 0.5))],
           domain=OWN, K=depth, N=n, bits=4, block_size=16)


@row("com.microsoft.QGemm")
def quantized_gemm(b, name):
    # ONNX Runtime's kernel: signed weights only with u8, or both signed.
    x = b.fresh(np.dtype(b.choice(["uint8", "int8"])), (3, 6), 0, 127)
    trans_b = b.choice([0, 1])
    weights = b.const(b.array(np.int8, (5, 6) if trans_b else (6, 5), -90, 90))
    bias = b.const(b.array(np.int32, (5,), -500, 500)) if b.chance(0.5) else None
    zero = b.const(b.array(x.dtype, (), 0, 9))
    last = [b.const(np.float32(0.07)), b.const(b.array(x.dtype, (), 0, 9))] if b.chance(0.6) else []
    b.emit("QGemm", [x, b.const(np.float32(0.03)), zero, weights, b.const(np.float32(0.011)),
                     b.const(np.int8(0)), bias, *last], domain=OWN, alpha=b.choice([1.0, 0.5]), transB=trans_b)


@row("com.microsoft.QAttention")
def quantized_attention(b, name):
    x = b.fresh(np.dtype("uint8"), (2, 3, 8), 100, 140)
    weights = b.const(b.array(np.int8, (8, 24), -90, 90))
    # Large scores have few digits behind the point, which softmax makes much of.
    b.emit("QAttention", [x, weights, b.const(b.array(F32, (24,), -2, 2)), b.const(np.float32(0.02)),
                          b.const(np.float32(0.01)), None, b.const(np.uint8(120)), b.const(np.int8(0))],
           domain=OWN, num_heads=2, unidirectional=b.choice([0, 1]))


@row("com.microsoft.QLinearSoftmax")
def quantized_softmax(b, name):
    # 1 is not beyond the scale: there ONNX Runtime wraps around.
    kind = np.dtype(b.choice(["uint8", "int8"]))
    x = b.value([kind], 2, 3, where=lambda v: v.static() and v.shape[-1] > 1, full=True)
    zero = b.const(np.array(0 if kind == np.uint8 else -128, kind))
    b.emit("QLinearSoftmax", [x, b.const(np.float32(0.11)), b.const(np.array(3, kind)),
                              b.const(np.float32(1 / 255)), zero], domain=OWN, axis=-1, opset=13)
