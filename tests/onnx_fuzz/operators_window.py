"""Rows: what reads windows of images, and what resamples them."""

import numpy as np

from builder import F32, FLOATS, I64
from evaluate import Unfit
from operators_reduction import follow, image_shape
from rows import finite, row, small


def image(b, kinds, low=3, high=5):
    return b.value(kinds, low, high, where=lambda v: v.static(1) and all(
        v.static(i) and e >= 2 for i, e in enumerate(v.shape) if i >= 2), full=True,
        shape=lambda: (image_shape(b) if high == 5 else (2, b.choice([1, 3, 4]), 5, 6)))


def window(b, x, dilations=True, most=3):
    """A window that lies in x with its pads; attributes by name."""
    rank = x.rank - 2
    kernel = [b.rng.randint(1, min(most, e)) for e in x.shape[2:]]
    made = {"kernel_shape": kernel}
    if b.chance(0.6):
        made["strides"] = [b.choice([1, 1, 2, 3]) for _ in range(rank)]
    if b.chance(0.6):
        made["pads"] = [b.rng.randint(0, kernel[i % rank] - 1) for i in range(2 * rank)]
    elif b.chance(0.3):
        made["auto_pad"] = b.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    # ONNX Runtime counts the window's dilations in SAME, ONNX does not.
    if dilations and "auto_pad" not in made and b.chance(0.3):
        made["dilations"] = [b.choice([1, 2]) for _ in range(rank)]
    return made


@row("Conv")
def convolution(b, op):
    x = image(b, FLOATS[:2])
    channels, attributes = x.shape[1], window(b, x)
    group = b.choice([1, 1, channels] + [g for g in (2, 3, 4) if channels % g == 0])
    outer = group * b.choice([1, 2, 3])
    kernel = attributes["kernel_shape"]
    weights = b.array(x.dtype, (outer, channels // group, *kernel))
    bias = b.fresh(x.dtype, (outer,)) if b.chance(0.5) else None
    if b.chance(0.3):
        del attributes["kernel_shape"]
    y = b.emit(op, [x, b.const(weights) if b.chance(0.8) else b.fresh(x.dtype, weights.shape), bias],
               group=group, **attributes)
    follow(b, y, outer)


@row("ConvTranspose")
def transposed(b, op):
    x = image(b, FLOATS[:1], high=4)
    channels, attributes = x.shape[1], window(b, x)
    attributes.pop("auto_pad", None)
    group = b.choice([1, 1, channels])
    outer = b.choice([1, 2])
    strides = attributes.get("strides", [1] * (x.rank - 2))
    if b.chance(0.3):
        attributes["output_padding"] = [b.rng.randint(0, s - 1) for s in strides]
    weights = b.const(b.array(x.dtype, (channels, outer, *attributes["kernel_shape"])))
    # The input has zeros between its elements, and sums that overflow depend on their order.
    if not small(weights) or not small(x):
        raise Unfit("infinite")
    bias = b.fresh(x.dtype, (group * outer,)) if b.chance(0.5) else None
    follow(b, b.emit(op, [x, weights, bias], group=group, **attributes), group * outer)


@row("MaxPool", "AveragePool", "LpPool")
def pool(b, op):
    x = image(b, FLOATS[:1] if op != "MaxPool" else [F32, F32, np.dtype("int8")])
    if op == "MaxPool" and not finite(x):
        raise Unfit("ONNX Runtime has the least number for -inf")
    attributes = window(b, x, dilations=b.opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op])
    if b.opset >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op] and b.chance(0.3):
        attributes["ceil_mode"] = 1
    if op == "AveragePool":
        attributes["count_include_pad"] = b.choice([0, 1])
    if op == "LpPool":
        attributes["p"] = b.choice([1, 2, 3])
    outputs = 1
    if op == "MaxPool" and b.opset >= 8 and b.chance(0.3):
        outputs, attributes["storage_order"] = 2, b.choice([0, 1])
    b.emit(op, [x], outputs, **attributes)


@row("MaxPool", "AveragePool", "LpPool")
def pool_beyond(b, op):
    """Windows that reach beyond the input, and last ones that begin behind it."""
    rank = b.choice([1, 2])
    x = b.fresh(F32, (1, b.choice([1, 2]), *[b.choice([1, 2, 3]) for _ in range(rank)]))
    if not finite(x):
        raise Unfit("ONNX Runtime has the least number for -inf")
    kernel = [b.choice([2, 3, 5]) for _ in range(rank)]
    attributes = {"kernel_shape": kernel, "strides": [b.choice([1, 2, 3]) for _ in range(rank)],
                  "pads": [b.rng.randint(0, kernel[i % rank] - 1) for i in range(2 * rank)]}
    if b.opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]:
        attributes["ceil_mode"] = b.choice([0, 1])
    if op == "AveragePool":
        attributes["count_include_pad"] = b.choice([0, 1])
    if op == "LpPool":
        attributes["p"] = b.choice([1, 2, 3])
    b.emit(op, [x], **attributes)


@row("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(b, op):
    x = b.value([F32], 3, 5, full=True, shape=lambda: image_shape(b))
    if op == "GlobalMaxPool" and not finite(x):
        raise Unfit("ONNX does not say whether NaN is the greatest")
    b.emit(op, [x], **({"p": b.choice([1, 2, 3])} if op == "GlobalLpPool" else {}))


@row("Resize")
def resize(b, op):
    if b.opset < 10:
        raise Unfit("Upsample")
    x = image(b, [F32], high=4)
    if not finite(x):
        raise Unfit("nobody says what a weight of 0 makes of NaN")
    mode = b.choice(["nearest", "linear"] + ["cubic"] * (b.opset >= 11 and x.rank == 4))
    kept = list(x.shape[:2])
    sizes = [b.choice([1, 2, 3, 5, 8, 2 * e, max(1, e // 2)]) for e in x.shape[2:]]
    if b.opset == 10:
        scale = b.const(np.float32([1, 1] + [b.choice([0.5, 2.0, 1.0]) for _ in sizes]))
        return b.emit(op, [x, scale], mode=mode)
    attributes = {"mode": mode, "coordinate_transformation_mode": b.choice(
        ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"] +
        ["tf_half_pixel_for_nn"] * (b.opset < 13))}
    if mode == "nearest":
        attributes["nearest_mode"] = b.choice(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
    elif mode == "cubic" and b.chance(0.5):
        attributes["cubic_coeff_a"] = b.choice([-0.5, -0.75])
        attributes["exclude_outside"] = b.choice([0, 1])
    if b.opset >= 18 and mode != "nearest" and b.chance(0.3):
        attributes["antialias"] = 1
    roi = None if b.opset >= 13 else b.const(np.zeros(0, np.float32))
    if attributes["coordinate_transformation_mode"] != "align_corners" and b.chance(0.4):
        # 0.1: nothing is left of most extents.
        scale = b.const(np.float32([1, 1] + [b.choice([0.5, 2.0, 1.5, 0.6] + [0.1] * b.zeros) for _ in sizes]))
        return b.emit(op, [x, roi, scale], **attributes)
    if b.opset >= 18 and b.chance(0.3):
        attributes["axes"] = [i + 2 for i in range(x.rank - 2)]
        attributes["keep_aspect_ratio_policy"] = b.choice(["stretch", "not_larger", "not_smaller"])
        return b.emit(op, [x, None, None, b.ints(sizes)], **attributes)
    wanted = b.ints(kept + sizes)
    if b.chance(0.4) or not x.static():
        first = b.emit("Slice", [b.emit("Shape", [x]), b.ints([0]), b.ints([2]), b.ints([0])])
        wanted = b.emit("Concat", [first, b.ints(sizes)], axis=0)
    empty = None if b.opset >= 13 else b.const(np.zeros(0, np.float32))
    return b.emit(op, [x, roi, empty, wanted], **attributes)


@row("Resize")
def crop_and_resize(b, op):
    """What lies beyond the image, and modes that few exporters write."""
    if b.opset < 11:
        raise Unfit("no such mode")
    x = image(b, [F32], high=4)
    if not finite(x):
        raise Unfit("nobody says what a weight of 0 makes of NaN")
    # Where nothing is scaled ONNX Runtime does not crop either.
    sizes = [b.choice([size for size in (1, 2, 3, 5) if size != e]) for e in x.shape[2:]]
    begin = [0.0, 0.0] + [b.choice([0.0, 0.25, -0.25]) for _ in sizes]
    end = [1.0, 1.0] + [b.choice([1.0, 0.75, 1.25]) for _ in sizes]
    b.emit(op, [x, b.const(np.float32(begin + end)), b.const(np.zeros(0, np.float32)) if b.opset < 13 else None,
                b.ints([*x.shape[:2], *sizes])], mode=b.choice(["nearest", "linear"]),
           coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=b.choice([0.0, 1.5]))


@row("Upsample")
def upsample(b, op):
    x = image(b, [F32], high=4)
    scales = [1.0, 1.0] + [b.choice([1.0, 2.0, 3.0]) for _ in x.shape[2:]]
    mode = b.choice(["nearest", "linear"])
    if b.opset < 9:
        return b.emit(op, [x], scales=scales, mode=mode)
    return b.emit(op, [x, b.const(np.float32(scales))], mode=mode)


@row("GridSample")
def grid_sample(b, op):
    x = b.value([F32], 4, 4, where=lambda v: v.static() and finite(v), full=True, shape=lambda: (2, 3, 5, 6))
    grid = b.fresh(F32, (x.shape[0], 4, 3, 2), -1.2, 1.2)
    modes = ["linear", "nearest", "cubic"] if b.opset >= 20 else ["bilinear", "nearest", "bicubic"]
    b.emit(op, [x, grid], mode=b.choice(modes), padding_mode=b.choice(["zeros", "border", "reflection"]),
           align_corners=b.choice([0, 1]))


@row("AffineGrid")
def affine_grid(b, op):
    n = b.choice([1, 2])
    b.emit(op, [b.fresh(F32, (n, 2, 3)), b.ints([n, 3, 4, 5])], align_corners=b.choice([0, 1]))


@row("RoiAlign")
def roi_align(b, op):
    x = b.fresh(F32, (2, 3, 6, 6))
    corner = b.input(F32, (3, 2), 0, 3)
    rois = b.emit("Concat", [corner, b.emit("Add", [corner, b.input(F32, (3, 2), 0.5, 3)])], axis=1)
    more = {"coordinate_transformation_mode": b.choice(["half_pixel", "output_half_pixel"])} if b.opset >= 16 else {}
    b.emit(op, [x, rois, b.fresh(I64, (3,), 0, 1)], output_height=2, output_width=3, sampling_ratio=2,
           mode="avg", **more)


@row("Col2Im")
def col_to_image(b, op):
    kernel, size = [b.choice([1, 2]), 2], [4, 5]
    blocks = (size[0] - kernel[0] + 1) * (size[1] - kernel[1] + 1)
    shape = (2, 3 * kernel[0] * kernel[1], blocks)
    x = b.value([F32], 3, 3, lambda v: v.shape == shape, shape=lambda: shape)
    b.emit(op, [x, b.ints(size), b.ints(kernel)])


@row("Col2Im")
def spread_columns(b, op):
    rank = b.choice([1, 2, 3])
    kernel = [b.choice([1, 2, 3]) for _ in range(rank)]
    # ONNX Runtime's dilations are wrong but for images of two dimensions.
    made = {"strides": [b.choice([1, 2, 3]) for _ in kernel],
            "dilations": [b.choice([1, 2]) if rank == 2 else 1 for _ in kernel],
            "pads": [b.choice([0, 1]) for _ in kernel * 2]}
    size = [b.rng.randint(5, 7) for _ in kernel]
    places = [(s + made["pads"][i] + made["pads"][rank + i] - made["dilations"][i] * (kernel[i] - 1) - 1)
              // made["strides"][i] + 1 for i, s in enumerate(size)]
    x = b.fresh(F32, (1, 2 * int(np.prod(kernel)), int(np.prod(places))))
    b.emit(op, [x, b.ints(size), b.ints(kernel)], **made)


@row("DeformConv")
def deformed(b, op):
    x = b.fresh(F32, (1, 2, 4, 4))
    offset = b.fresh(F32, (1, 8, 3, 3), -1, 1)
    b.emit(op, [x, b.fresh(F32, (2, 2, 2, 2)), offset], kernel_shape=[2, 2])


@row("MaxUnpool")
def unpool(b, op):
    # A shape that inference knows: onnx 1.23 crashes without.
    x = b.input(F32, (1, 1, 2, 2))
    at = b.const(np.array([[[[b.choice([0, 1, 4, 5]), b.choice([2, 3, 6, 7])],
                             [b.choice([8, 12]), b.choice([10, 15])]]]], np.int64))
    b.emit(op, [x, at], kernel_shape=[2, 2], strides=[2, 2])


# --- quantized

U8, I8 = np.dtype("uint8"), np.dtype("int8")


def point(b, dtype, shape=()):
    """A scale that is no power of two, and a zero point."""
    low, high = (90, 150) if dtype == U8 else (-9, 9)
    return [b.const(b.array(F32, shape, 0.02, 0.2)), b.const(b.array(dtype, shape, low, high))]


def weights_point(b, dtype, count):
    """Of weights: zero points of signed ones are 0, as kernels have it."""
    shape = b.choice([(), (count,)])
    zero = np.zeros(shape, dtype) if dtype == I8 else np.full(shape, 128, dtype)
    return [b.const(b.array(F32, shape, 0.005, 0.05)), b.const(zero)]


@row("QLinearConv")
def quantized_convolution(b, op):
    x = b.value([U8, I8], 4, 4, where=lambda v: v.static() and min(v.shape[2:]) >= 2, full=True,
                shape=lambda: (1, b.choice([1, 3, 4]), 5, 6))
    attributes = window(b, x)
    channels, outer = x.shape[1], b.choice([2, 4])
    weights = b.const(b.array(I8, (outer, channels, *attributes["kernel_shape"]), -99, 99))
    bias = [b.const(b.array(np.int32, (outer,), -500, 500))] if b.chance(0.5) else []
    b.emit(op, [x, *point(b, x.dtype), weights, *weights_point(b, I8, outer), *point(b, x.dtype), *bias],
           **attributes)


@row("QLinearMatMul")
def quantized_matmul(b, op):
    x = b.value([U8, I8], 2, 2, where=lambda v: v.static(), full=True)
    weights = b.const(b.array(I8, (x.shape[1], 5), -99, 99))
    b.emit(op, [x, *point(b, x.dtype), weights, *weights_point(b, I8, 5), *point(b, x.dtype)])


@row("ConvInteger")
def integer_convolution(b, op):
    x = b.value([U8], 4, 4, where=lambda v: v.static() and min(v.shape[2:]) >= 2, full=True,
                shape=lambda: (1, 3, 5, 6))
    attributes = window(b, x)
    weights = b.const(b.array(b.choice([U8, I8]), (2, x.shape[1], *attributes["kernel_shape"])))
    b.emit(op, [x, weights, *([b.const(b.array(x.dtype, (), 0, 255))] if b.chance(0.6) else [])], **attributes)


@row("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul")
def quantized_binary(b, name):
    x = b.value([U8, I8], 1, 4, full=True)
    b.emit(name.split(".")[2], [x, *point(b, x.dtype), b.partner(x), *point(b, x.dtype), *point(b, x.dtype)],
           domain="com.microsoft")


@row("com.microsoft.QLinearSigmoid", "com.microsoft.QLinearLeakyRelu", "com.microsoft.QLinearGlobalAveragePool")
def quantized_unary(b, name):
    op = name.split(".")[2]
    x = b.value([U8, I8], 4, 4, full=True, shape=lambda: (1, 2, 3, 4))
    more = {"alpha": 0.1} if "Leaky" in op else {"channels_last": 0} if "Pool" in op else {}
    b.emit(op, [x, *point(b, x.dtype), *point(b, x.dtype)], domain="com.microsoft", **more)


@row("com.microsoft.QLinearAveragePool")
def quantized_pool(b, name):
    x = b.value([U8, I8], 4, 4, where=lambda v: v.static() and min(v.shape[2:]) >= 2, full=True,
                shape=lambda: (1, 2, 4, 5))
    attributes = window(b, x, dilations=False)
    b.emit("QLinearAveragePool", [x, *point(b, x.dtype), *point(b, x.dtype)], domain="com.microsoft",
           count_include_pad=b.choice([0, 1]), **attributes)


@row("com.microsoft.QLinearConcat")
def quantized_concat(b, name):
    x = b.value([U8, I8], 1, 4, where=lambda v: v.static(), full=True)
    y = b.fresh(x.dtype, x.shape)
    b.emit("QLinearConcat", [*point(b, x.dtype), x, *point(b, x.dtype), y, *point(b, x.dtype)],
           domain="com.microsoft", axis=b.axis(x))
