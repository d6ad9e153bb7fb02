"""What quantized operators give, as their texts say it, in NumPy: sums of whole numbers, real numbers
in double, each result rounded once.

OPERATORS: by name to function(inputs, attributes), which returns the outputs. An input that is left
out is None. Names of com.microsoft begin with "ms.". Of attributes it knows those that quantized_cases
gives.
"""

import ml_dtypes
import numpy as np
from onnx import helper

f32, f64, i64 = np.float32, np.float64, np.int64


def quantized(real, scale, zero):
    """Halves to even, behind that the zero point, within the limits of its type."""
    info = ml_dtypes.iinfo(zero.dtype)
    rounded = np.rint(np.asarray(real, f64) / np.asarray(scale, f64)) + zero.astype(f64)
    return np.clip(rounded, float(info.min), float(info.max)).astype(i64).astype(zero.dtype)


def real(numbers, scale, zero=None):
    zero = np.int64(0) if zero is None else zero.astype(i64)
    return (numbers.astype(i64) - zero).astype(f64) * np.asarray(scale, f64)


def _along(parameter, x, attributes):
    """A scale or a zero point in a shape that broadcasts to x."""
    if parameter is None or parameter.ndim == 0:
        return parameter
    axis = attributes.get("axis", 1) % x.ndim
    block = attributes.get("block_size", 0)
    if block:
        return np.repeat(parameter, block, axis).take(np.arange(x.shape[axis]), axis)
    return parameter.reshape([-1 if d == axis else 1 for d in range(x.ndim)])


def _quantize(inputs, attributes):
    x, scale, zero = [*inputs, None][:3]
    if zero is None:
        kind = attributes.get("output_dtype")
        zero = np.zeros_like(scale, helper.tensor_dtype_to_np_dtype(kind) if kind else np.uint8)
    return [quantized(x, _along(scale, x, attributes), _along(zero, x, attributes))]


def _dequantize(inputs, attributes):
    x, scale, zero = [*inputs, None][:3]
    kind = attributes.get("output_dtype")
    kind = helper.tensor_dtype_to_np_dtype(kind) if kind else scale.dtype
    return [real(x, _along(scale, x, attributes), _along(zero, x, attributes)).astype(kind)]


def _product_by_dequantized(inputs, attributes):
    weights, x = _dequantize(inputs[:3], attributes)[0], inputs[3]
    return [(x.astype(f64) @ weights.astype(f64)).astype(x.dtype)]


def _there_and_back(inputs, attributes):
    numbers = _quantize(inputs, attributes)[0]
    return _dequantize([numbers, *inputs[1:]], {})


def _dynamic_quantize(inputs, _):
    x = inputs[0].astype(f64)
    least, greatest = min(x.min(), 0), max(x.max(), 0)
    # Of zeros alone any scale is right; ONNX Runtime's is 1.
    scale = np.array((greatest - least) / 255 or 1, f32)
    zero = quantized(-least, scale, np.array(0, np.uint8))
    return [quantized(x, scale, zero), scale, zero]


def _product(a, b, a_zero=None, b_zero=None):
    whole = [x.astype(i64) - (0 if zero is None else zero.astype(i64))
             for x, zero in ((a, a_zero), (b, b_zero))]
    return whole[0] @ whole[1]


def _matmul_integer(inputs, _):
    return [_product(*inputs).astype(np.int32)]


def _qlinear_matmul(inputs, _):
    a, a_scale, a_zero, b, b_scale, b_zero, *last = inputs
    sums = _product(a, b, a_zero, b_zero)
    return [quantized(sums * (f64(a_scale) * b_scale.astype(f64)), *last)]


def _begins_and_sizes(x, kernel, attributes):
    """By spatial dimension: zeros before and behind, and positions of the window."""
    strides = attributes.get("strides", [1] * len(kernel))
    dilations = attributes.get("dilations", [1] * len(kernel))
    pads, sizes = [], []
    for d, (extent, taps) in enumerate(zip(x.shape[2:], kernel)):
        window = (taps - 1) * dilations[d] + 1
        if attributes.get("auto_pad") == "SAME_UPPER":
            size = -(-extent // strides[d])
            missing = max((size - 1) * strides[d] + window - extent, 0)
            pads.append((missing // 2, missing - missing // 2))
        else:
            given = attributes.get("pads", [0] * 2 * len(kernel))
            pads.append((given[d], given[d + len(kernel)]))
        sizes.append((extent + sum(pads[-1]) - window) // strides[d] + 1)
    return pads, sizes, strides, dilations


def _windows(x, kernel, attributes):
    """For each tap: what the windows have there, [n, c, positions..]; outside of x it is 0."""
    pads, sizes, strides, dilations = _begins_and_sizes(x, kernel, attributes)
    x = np.pad(x, [(0, 0), (0, 0), *pads])
    for tap in np.ndindex(*kernel):
        cut = [slice(t * dilation, t * dilation + (size - 1) * stride + 1, stride)
               for t, dilation, size, stride in zip(tap, dilations, sizes, strides)]
        yield tap, x[(..., *cut)]


def _convolution(x, w, attributes):
    """Sums of whole numbers, whose zero points were subtracted."""
    groups = attributes.get("group", 1)
    result = 0
    for tap, seen in _windows(x, w.shape[2:], attributes):
        parts = zip(np.split(seen, groups, 1), np.split(w[(..., *tap)], groups, 0))
        result = result + np.concatenate(
            [np.einsum("nc...,oc->no...", part, weights) for part, weights in parts], 1)
    return result


def _by_filter(parameter, rank):
    return parameter if parameter.ndim == 0 else parameter.reshape(-1, *[1] * (rank - 1))


def _sums_of_conv(x, w, x_zero, w_zero, attributes):
    return _convolution(x.astype(i64) - i64(x_zero),
                        w.astype(i64) - _by_filter(w_zero, w.ndim).astype(i64), attributes)


def _conv_integer(inputs, attributes):
    return [_sums_of_conv(*inputs, attributes).astype(np.int32)]


def _qlinear_conv(inputs, attributes):
    x, x_scale, x_zero, w, w_scale, w_zero, *last, bias = [*inputs, None][:9]
    sums = _sums_of_conv(x, w, x_zero, w_zero, attributes)
    if bias is not None:
        sums = sums + _by_filter(bias, x.ndim - 1).astype(i64)
    scale = f64(x_scale) * _by_filter(w_scale, x.ndim - 1).astype(f64)
    return [quantized(sums * scale, *last)]


def _of_two(function):
    return lambda inputs, _: [quantized(function(real(*inputs[:3]), real(*inputs[3:6])),
                                        *inputs[6:])]


def _of_one(function):
    return lambda inputs, attributes: [quantized(function(real(*inputs[:3]), attributes),
                                                 *inputs[3:])]


def _softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def _average(x, attributes):
    kernel = attributes["kernel_shape"]
    total = sum(seen for _, seen in _windows(x, kernel, attributes))
    return total / sum(seen for _, seen in _windows(np.ones_like(x), kernel, attributes))


def _concat(inputs, attributes):
    parts = [real(*inputs[i:i + 3]) for i in range(2, len(inputs), 3)]
    return [quantized(np.concatenate(parts, attributes["axis"]), *inputs[:2])]


def _gemm(inputs, attributes):
    a, a_scale, a_zero, b, b_scale, b_zero, c, *last = inputs
    sums = _product(a, b.T if attributes.get("transB", 0) else b, a_zero, b_zero) + c
    result = attributes["alpha"] * sums * (f64(a_scale) * f64(b_scale))
    return [quantized(result, *last) if last else result.astype(f32)]


def _matmul_to_float(inputs, _):
    a, b, a_scale, b_scale, a_zero, b_zero, bias = inputs
    return [(real(a, a_scale, a_zero) @ real(b, b_scale, b_zero) + bias).astype(f32)]


def _dynamic_matmul(inputs, _):
    x, b, b_scale, b_zero, bias = inputs
    return [(real(*_dynamic_quantize([x], {})) @ real(b, b_scale, b_zero) + bias).astype(f32)]


def _matmul_of_blocks(inputs, attributes):
    x, numbers, scale, zero, _, bias = inputs
    bits, columns, blocks = attributes["bits"], *numbers.shape[:2]
    numbers = _unpacked(numbers, bits)
    if zero is None:
        zero = np.full((columns, blocks), 2**(bits - 1), np.uint8)
    elif zero.dtype == np.uint8:
        zero = _unpacked(zero.reshape(columns, -1), bits)[:, :blocks]
    apart = numbers.astype(f64) - zero.astype(f64)[..., None]
    weights = (apart * scale.astype(f64).reshape(columns, blocks, 1)).reshape(columns, -1)
    return [(x.astype(f64) @ weights[:, :attributes["K"]].T + bias.astype(f64)).astype(x.dtype)]


def _unpacked(numbers, bits):
    """The lowest bits of each byte are its first number."""
    each = np.unpackbits(numbers[..., None], axis=-1, bitorder="little")
    each = each.reshape(*numbers.shape[:-1], -1, bits) * 2**np.arange(bits)
    return each.sum(-1)


def _attention(inputs, attributes):
    x, w, bias, x_scale, w_scale, _, x_zero, w_zero = inputs
    all_three = real(x, x_scale, x_zero) @ real(w, w_scale, w_zero) + bias
    heads = attributes["num_heads"]
    q, k, v = (part.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)
               for part in np.split(all_three, 3, -1))
    weights = _softmax(q @ k.swapaxes(2, 3) / np.sqrt(q.shape[-1]))
    return [(weights @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1).astype(f32)]


def _lstm(inputs, attributes):
    """Forward, from states of 0; the input is rounded to 8 bits as a whole, the state in each step."""
    x, w, r, bias, _, _, _, _, w_scale, w_zero, r_scale, r_zero = inputs
    weights = [real(each[0], scale[0], zero[0]) for each, scale, zero in
               ((w, w_scale, w_zero), (r, r_scale, r_zero))]
    size = attributes["hidden_size"]
    h = c = np.zeros((x.shape[1], size))
    states = []
    for step in real(*_dynamic_quantize([x], {})):
        seen = real(*_dynamic_quantize([h.astype(f32)], {}))
        gates = step @ weights[0] + seen @ weights[1] + bias[0, :4 * size] + bias[0, 4 * size:]
        i, o, f, new = np.split(gates, 4, 1)
        i, o, f = (1 / (1 + np.exp(-gate)) for gate in (i, o, f))
        c = f * c + i * np.tanh(new)
        h = o * np.tanh(c)
        states.append(h[None])
    return [each.astype(f32) for each in (np.stack(states), h[None], c[None])]


OPERATORS = {
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "DequantizeLinear+MatMul": _product_by_dequantized,
    "QuantizeLinear+DequantizeLinear": _there_and_back,
    "DynamicQuantizeLinear": _dynamic_quantize,
    "MatMulInteger": _matmul_integer,
    "QLinearMatMul": _qlinear_matmul,
    "ConvInteger": _conv_integer,
    "QLinearConv": _qlinear_conv,
    "ms.QuantizeLinear": _quantize,
    "ms.DequantizeLinear": _dequantize,
    "ms.QLinearAdd": _of_two(np.add),
    "ms.QLinearMul": _of_two(np.multiply),
    "ms.QLinearLeakyRelu": _of_one(lambda x, of: np.where(x < 0, of["alpha"] * x, x)),
    "ms.QLinearSigmoid": _of_one(lambda x, _: 1 / (1 + np.exp(-x))),
    "ms.QLinearSoftmax": _of_one(lambda x, of: _softmax(x, of["axis"])),
    "ms.QLinearGlobalAveragePool": _of_one(lambda x, _: x.mean((2, 3), keepdims=True)),
    "ms.QLinearAveragePool": _of_one(_average),
    "ms.QLinearConcat": _concat,
    "ms.QGemm": _gemm,
    "ms.MatMulIntegerToFloat": _matmul_to_float,
    "ms.DynamicQuantizeMatMul": _dynamic_matmul,
    "ms.MatMulNBits": _matmul_of_blocks,
    "ms.QAttention": _attention,
    "ms.DynamicQuantizeLSTM": _lstm,
}
