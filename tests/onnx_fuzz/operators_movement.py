"""Rows: what moves elements."""

import numpy as np

from builder import ALL, BOOL, F32, FLOATS, I64
from evaluate import Unfit
from rows import finite, list_arg, row, types

INDICES = [np.dtype("int32"), I64]


@row("Reshape")
def reshape(b, op):
    x = b.value(ALL)
    if b.chance(0.3):
        return reshape_by_sizes(b, x)
    if not x.static():
        # 0 keeps, -1 is the rest: all that fixed numbers can say of sizes that vary.
        varying = [i for i in range(x.rank) if not x.static(i)]
        shape = [0 if i in varying else e for i, e in enumerate(x.shape)]
        if len(varying) == 1 and b.chance(0.6):
            cut = varying[0]
            rest = [int(np.prod(x.shape[cut + 1:]))] if b.chance(0.5) else list(x.shape[cut + 1:])
            shape = [int(np.prod(x.shape[:cut]))] * (cut > 0) + [-1] + rest
            if b.chance(0.3):
                shape = [-1, *x.shape[cut + 1:]]
    else:
        shape = refactored(b, list(x.shape))
        if shape and 0 not in x.shape and b.chance(0.4):
            shape[b.rng.randrange(len(shape))] = -1
    return b.emit(op, [x, b.ints(shape)])


@row("Reshape")
def windows(b, op):
    """As networks with windowed attention have it: cut into windows, beside the batch, and back."""
    shape = lambda: (2, 4, b.choice([2, 4]), 3)  # noqa: E731
    x = b.value(FLOATS, 4, 4, shape=shape, full=True, where=lambda v: v.static(1) and v.static(2) and v.static(3)
                and v.shape[1] % 2 == v.shape[2] % 2 == 0)
    n, h, w, c = x.shape
    first = b.choice([-1, 0]) if not x.static(0) else b.choice([-1, 0, n])
    cut = b.emit(op, [x, b.ints([first, h // 2, 2, w // 2, 2, c])])
    moved = b.emit("Transpose", [cut], perm=[0, 1, 3, 2, 4, 5])
    y = b.emit(op, [moved, b.ints([-1, 4, c])])
    if b.chance(0.5):
        y = b.emit("Softmax", [y], axis=2) if b.opset >= 13 else b.emit("Neg", [y])
    y = b.emit(op, [y, b.ints([-1, h // 2, w // 2, 2, 2, c])])
    y = b.emit("Transpose", [y], perm=[0, 1, 3, 2, 4, 5])
    b.emit(op, [y, b.ints([-1, h, w, c])])


def refactored(b, shape):
    """Another shape of as many elements: merged and split at random."""
    for _ in range(b.rng.randint(1, 3)):
        i = b.rng.randrange(len(shape) + 1)
        if i + 1 < len(shape) and b.chance(0.5):
            shape[i:i + 2] = [shape[i] * shape[i + 1]]
        elif i < len(shape) and shape[i] > 1 and b.chance(0.7):
            factors = [f for f in range(1, shape[i] + 1) if shape[i] % f == 0]
            factor = b.choice(factors)
            shape[i:i + 1] = [factor, shape[i] // factor]
        else:
            shape.insert(i, 1)
    return shape


def reshape_by_sizes(b, x):
    """As exporters write it: sizes gathered from Shape, products of them, numbers beside."""
    if x.rank < 2:
        raise Unfit("rank")
    sizes = b.emit("Shape", [x])
    parts, i = [], 0
    while i < x.rank:
        one = b.emit("Gather", [sizes, b.ints([i])])
        if i + 1 < x.rank and b.chance(0.4):
            one = b.emit("Mul", [one, b.emit("Gather", [sizes, b.ints([i + 1])])])
            i += 1
        elif x.static(i) and b.chance(0.5):
            one = b.ints([x.shape[i]])
        parts.append(one)
        i += 1
    if b.chance(0.3):
        parts[b.rng.randrange(len(parts))] = b.ints([-1])
    y = b.emit("Reshape", [x, b.emit("Concat", parts, axis=0)])
    if b.chance(0.5):  # What was merged is split again.
        y = b.emit("Identity", [y]) if b.chance(0.2) else y
        b.emit("Reshape", [y, sizes])


@row("Transpose")
def transpose(b, op):
    x = b.value(ALL, 1)
    perm = b.rng.sample(range(x.rank), x.rank)
    b.emit(op, [x], **({"perm": perm} if b.chance(0.9) else {}))


@row("Squeeze")
def squeeze(b, op):
    x = b.value(ALL, 1, where=lambda v: any(e == 1 and v.static(i) for i, e in enumerate(v.shape)),
                shape=lambda: (1,) + b.shape(0, 4))
    ones = [i for i, e in enumerate(x.shape) if e == 1 and x.static(i)]
    axes = b.rng.sample(ones, b.rng.randint(1, len(ones)))
    if b.chance(0.15) and x.static():
        return b.emit(op, [x])
    more, attributes = list_arg(b, "axes", [a - x.rank if b.opset >= 11 and b.chance(0.3) else a for a in axes], 13)
    return b.emit(op, [x, *more], **attributes)


@row("Unsqueeze")
def unsqueeze(b, op):
    x = b.value(ALL)
    count = b.choice([1, 1, 2, 3])
    axes = b.rng.sample(range(x.rank + count), count)
    axes = [a - x.rank - count if b.opset >= 11 and b.chance(0.3) else a for a in axes]
    more, attributes = list_arg(b, "axes", axes, 13)
    b.emit(op, [x, *more], **attributes)


@row("Flatten")
def flatten(b, op):
    x = b.value(types(op, b.opset))
    b.emit(op, [x], axis=b.rng.randint(-x.rank if b.opset >= 11 else 0, x.rank))


@row("Expand")
def expand(b, op):
    x = b.value(ALL)
    if b.chance(0.3):
        like = b.partner(x, ALL)
        return b.emit(op, [x, b.emit("Shape", [like])])
    shape = [e if x.static(i) and e != 1 else 1 if not x.static(i) else b.choice([1, 2, 3])
             for i, e in enumerate(x.shape)]
    shape = [b.choice([1, 2])] * b.choice([0, 0, 1, 2]) + shape
    if b.zeros and b.chance(0.1):
        shape = [0] + shape
    return b.emit(op, [x, b.ints(shape)])


@row("Tile")
def tile(b, op):
    x = b.value(ALL, 1)
    b.emit(op, [x, b.ints([b.choice([1, 1, 2, 3] + [0] * b.zeros) for _ in range(x.rank)])])


@row("Concat")
def concat(b, op):
    x = b.value(ALL, 1)
    axis = b.axis(x)
    at = axis % x.rank

    def fits(v):
        return v.rank == x.rank and all(
            s[:at] + s[at + 1:] == t[:at] + t[at + 1:] for s, t in zip(v.shapes, x.shapes))
    parts = [x]
    for _ in range(b.choice([1, 1, 2, 3])):
        found = b.pick([x.dtype], where=fits)
        if found is None and x.static():
            extent = b.choice([1, 2, 3] + [0] * b.zeros)
            found = b.fresh(x.dtype, x.shape[:at] + (extent,) + x.shape[at + 1:])
        parts.append(found if found is not None else x)
    b.rng.shuffle(parts)
    b.emit(op, parts, axis=axis)


@row("Split")
def split(b, op):
    x = b.value(ALL, 1, where=lambda v: any(v.static(i) and e > 1 for i, e in enumerate(v.shape)))
    axes = [i for i, e in enumerate(x.shape) if e > 1 and x.static(i)]
    if not axes:
        raise Unfit("no axis")
    axis = b.choice(axes)
    extent = x.shape[axis]
    counts = [n for n in (2, 3, 4) if extent % n == 0]
    at = axis - x.rank if b.opset >= 11 and b.chance(0.3) else axis
    if counts and b.chance(0.3):
        count = b.choice(counts)
        return b.emit(op, [x], count, axis=at, **({"num_outputs": count} if b.opset >= 18 else {}))
    cuts = sorted(b.rng.choices(range(0 if b.zeros else 1, extent + 1 if b.zeros else extent),
                                k=b.choice([1, 1, 2])))
    cuts = cuts if b.zeros else sorted(set(cuts))
    sizes = [end - start for start, end in zip([0, *cuts], [*cuts, extent])]
    more, attributes = list_arg(b, "split", sizes, 13)
    return b.emit(op, [x, *more], len(sizes), axis=at, **attributes)


@row("Slice")
def slice_of(b, op):
    x = b.value(ALL, 1)
    axes = b.axes(x)
    starts, ends, steps = [], [], []
    for axis in axes:
        extent = x.shape[axis]
        step = b.choice([1, 1, 1, 2, 3, -1, -2]) if b.opset >= 10 and x.static(axis) else 1
        start, end = (b.rng.randint(-extent - 2, extent + 2) for _ in range(2)) if b.zeros else (
            b.rng.randint(0, max(0, extent - 1)), b.choice([extent, 1 << 40, max(1, extent - 1)]))
        if step < 0 and not b.zeros:
            start, end = b.choice([extent, extent - 1, -1, 1 << 40]), b.choice([-1 << 40, -extent - 1])
        if not x.static(axis):
            start, end = b.choice([(0, 1), (0, -1), (1, 1 << 40), (-1, 1 << 40), (0, 1 << 40)])
        starts, ends, steps = [*starts, start], [*ends, end], [*steps, step]
    if b.opset < 10:
        if any(axis < 0 for axis in axes):
            raise Unfit("axis")
        return b.emit(op, [x], starts=starts, ends=ends, axes=axes)
    numbers = [starts, ends, axes] + [steps] * (any(s != 1 for s in steps) or b.chance(0.3))
    return b.emit(op, [x, *[b.ints(each) for each in numbers]])


@row("Pad")
def pad(b, op):
    x = b.value(types(op, b.opset), 1, 6)
    mode = b.choice(["constant", "constant", "edge", "reflect"] + ["wrap"] * (b.opset >= 19))
    pads = [b.choice([0, 0, 1, 2] + [-1] * (mode == "constant" and b.opset >= 11)) for _ in range(2 * x.rank)]
    if mode in ("reflect", "wrap"):
        pads = [min(p, max(0, e - 1)) for p, e in zip(pads, x.shape * 2)]
    if b.opset < 11:
        return b.emit(op, [x], pads=pads, mode=mode, value=b.choice([0.0, 1.5]))
    value = b.const(np.array(b.choice([0, 1, 3]), x.dtype)) if b.chance(0.5) and mode == "constant" else None
    inputs = [x, b.ints(pads), value]
    if b.opset >= 18 and b.chance(0.3):
        axes = b.rng.sample(range(x.rank), b.rng.randint(1, x.rank))
        inputs = [x, b.ints([pads[a] for a in axes] + [pads[x.rank + a] for a in axes]), value, b.ints(axes)]
    return b.emit(op, inputs, mode=mode)


def indices(b, count, shape, dtype=None, low=None):
    """Legal ones, negative ones among them where that is allowed."""
    if count < 1:
        raise Unfit("nothing to take")
    low = -count if low is None and b.opset >= 11 and b.chance(0.4) else 0
    return b.fresh(dtype or b.choice(INDICES), shape, low, count - 1)


@row("Gather")
def gather(b, op):
    x = b.value(ALL, 1)
    axis = b.axis(x, static=True)
    at = b.choice([(), (1,), (3,), (2, 2), (5,)])
    b.emit(op, [x, indices(b, x.shape[axis], at)], axis=axis)


@row("GatherElements")
def gather_elements(b, op):
    x = b.value(ALL, 1, 6, where=lambda v: v.static())
    axis = b.axis(x)
    shape = [b.rng.randint(1, max(1, e)) for e in x.shape]
    shape[axis] = b.choice([1, 2, 4])
    b.emit(op, [x, indices(b, x.shape[axis], tuple(shape))], axis=axis)


@row("GatherND")
def gather_nd(b, op):
    x = b.value(ALL, 1, 5, where=lambda v: v.static(), full=True)
    batch = b.choice([0, 0, 1]) if b.opset >= 12 and x.rank > 1 else 0
    depth = b.rng.randint(1, x.rank - batch)
    columns = [indices(b, e, (*x.shape[:batch], 3, 1), I64, 0) for e in x.shape[batch:batch + depth]]
    at = columns[0] if depth == 1 else b.emit("Concat", columns, axis=-1 if b.opset >= 11 else batch + 1)
    b.emit(op, [x, at], **({"batch_dims": batch} if batch else {}))


def some_reduction(b, x):
    """Bools have no greatest one."""
    known = ["none", "add", "mul"] + ["max", "min"] * (b.opset >= 18 and x.dtype != bool)
    return {"reduction": b.choice(known)} if b.opset >= 16 and b.chance(0.4) else {}


@row("ScatterND")
def scatter_nd(b, op):
    x = b.value(types(op, b.opset), 1, 4, where=lambda v: v.static(), full=True)
    depth = b.rng.randint(1, x.rank)
    # Each place once: what comes last is not said.
    places = b.np.permutation(int(np.prod(x.shape[:depth])))[:3]
    at = np.stack(np.unravel_index(places, x.shape[:depth]), -1).astype(np.int64)
    updates = b.fresh(x.dtype, (len(places), *x.shape[depth:]))
    more = some_reduction(b, x)
    b.emit(op, [x, b.const(at) if b.chance(0.6) else place_input(b, at), updates], **more)


def place_input(b, array):
    """Values that a run gives, equal in every set."""
    value = b.input(array.dtype, array.shape, 0, 1)
    for lanes in value.lanes:
        for lane in lanes:
            lane[...] = array
    return value


@row("ScatterElements", "Scatter")
def scatter_elements(b, op):
    x = b.value(types(op, b.opset), 1, 4, where=lambda v: v.static(), full=True)
    axis = b.axis(x)
    count = b.rng.randint(1, x.shape[axis])
    shape = list(x.shape)
    shape[axis] = count
    order = np.argsort(b.np.random(x.shape), axis=axis).take(range(count), axis=axis).astype(
        b.choice(["int32", "int64"]))
    more = some_reduction(b, x)
    at = b.const(order) if b.chance(0.6) else place_input(b, order)
    b.emit(op, [x, at, b.fresh(x.dtype, tuple(shape))], axis=axis, **more)


@row("ScatterElements")
def scatter_many_times(b, op):
    """An element may be met again: what adds does not depend on the order."""
    if b.opset < 18:
        raise Unfit("no reduction of this kind")
    x = b.value([F32, I64], 1, 3, where=lambda v: v.static() and finite(v), full=True)
    axis = b.axis(x)
    shape = [b.rng.randint(1, e) for e in x.shape]
    shape[axis] = b.choice([1, 3, 7])
    b.emit(op, [x, indices(b, x.shape[axis], tuple(shape)), b.fresh(x.dtype, tuple(shape))], axis=axis,
           reduction=b.choice(["add", "max", "min"]))


@row("TensorScatter")
def tensor_scatter(b, op):
    cache = b.value(FLOATS[:1], 3, 4, where=lambda v: v.static(), full=True)
    axis = -2
    extent = cache.shape[axis]
    shape = list(cache.shape)
    shape[axis] = b.rng.randint(1, extent)
    at = b.fresh(I64, (cache.shape[0],), 0, extent - shape[axis])
    b.emit(op, [cache, b.fresh(cache.dtype, tuple(shape)), at], axis=axis)


@row("DepthToSpace", "SpaceToDepth")
def blocks(b, op):
    size = 2
    n, c, h, w = b.choice([1, 2]), b.choice([1, 2, 3]), b.choice([1, 2]), b.choice([1, 3])
    shape = (n, c * 4, h, w) if op == "DepthToSpace" else (n, c, h * 2, w * 2)
    x = b.value(types(op, b.opset), 4, 4, where=lambda v: v.static() and (
        v.shape[1] % 4 == 0 if op == "DepthToSpace" else v.shape[2] % 2 == v.shape[3] % 2 == 0),
        shape=lambda: shape)
    more = {"mode": b.choice(["DCR", "CRD"])} if op == "DepthToSpace" and b.opset >= 11 else {}
    b.emit(op, [x], blocksize=size, **more)


@row("Trilu")
def trilu(b, op):
    x = b.value(types(op, b.opset), 2)
    k = b.ints(b.choice([0, 1, -1, 5, -7])) if b.chance(0.6) else None
    b.emit(op, [x, k], upper=b.choice([0, 1]))


@row("CenterCropPad")
def center(b, op):
    x = b.value(ALL, 1, 5, where=lambda v: v.static())
    axes = b.rng.sample(range(x.rank), b.rng.randint(1, x.rank))
    b.emit(op, [x, b.ints([b.choice([1, 2, 4, 7]) for _ in axes])], axes=axes)


@row("ReverseSequence")
def reverse_sequence(b, op):
    x = b.value(ALL, 2, 5, where=lambda v: v.static(0) and v.static(1), full=True)
    batch = b.choice([0, 1])
    lengths = b.fresh(I64, (x.shape[batch],), 1, x.shape[1 - batch])
    b.emit(op, [x, lengths], batch_axis=batch, time_axis=1 - batch)


@row("OneHot")
def one_hot(b, op):
    depth = b.choice([1, 3, 5])
    at = b.fresh(b.choice([*INDICES, F32]), b.shape(0, 3), -depth - 1, depth + 1)
    # ONNX Runtime adds the difference of the two, which is exact for quarters.
    values = b.const(b.choice([np.round(4 * b.array(F32, (2,), -9, 9)) / 4, b.array(I64, (2,))]))
    b.emit(op, [at, b.ints(depth), values], axis=b.rng.randint(-at.rank - 1, at.rank))


@row("Slice")
def slice_backwards(b, op):
    """Numbers of i32, axes left out between, ends beyond either side."""
    if b.opset < 10:
        raise Unfit("attributes")
    x = b.value(ALL, 1, 4, where=lambda v: v.static(), full=True)
    count = b.rng.randint(1, x.rank)
    starts = [b.choice([0, -1, e - 1, e + 3, -e - 3]) for e in x.shape[:count]]
    ends = [b.choice([e, 0, -1, -e - 1, 1 << 30, -(1 << 30)]) for e in x.shape[:count]]
    steps = [b.choice([1, -1, 2, -3]) for _ in range(count)]
    b.emit(op, [x, b.ints(starts, np.int32), b.ints(ends, np.int32), None, b.ints(steps, np.int32)])


@row("Compress")
def compress(b, op):
    x = b.value(ALL, 1, 4, where=lambda v: v.static(), full=True)
    axis = b.choice([None, *range(x.rank)])
    extent = int(np.prod(x.shape)) if axis is None else x.shape[axis]
    keep = b.fresh(BOOL[0], (extent,)) if b.chance(0.5) else b.const(b.array(BOOL[0], (extent,)))
    b.emit(op, [x, keep], **({} if axis is None else {"axis": axis}))


@row("NonZero")
def non_zero(b, op):
    b.emit(op, [b.value(types(op, b.opset), 1, 4, full=True)])


@row("Unique")
def unique(b, op):
    # Whether rounded numbers are equal is chance.
    x = b.value([F32, I64], 1, 3, where=lambda v: v.static() and finite(v) and all(
        np.array_equal(exact, up) for exact, up, _ in v.lanes), full=True)
    axis = {"axis": b.rng.randrange(x.rank)} if b.chance(0.4) else {}
    b.emit(op, [x], b.choice([[1], [1, 1, 1, 1], [1, 0, 1]]), sorted=b.choice([0, 1]), **axis)


@row("TopK")
def top_k(b, op):
    x = b.value(types(op, b.opset), 1, 4, finite, full=True)
    axis = b.axis(x, static=True) if b.opset >= 10 else x.rank - 1
    if b.opset < 11 and axis < 0:
        axis += x.rank
    k = b.rng.randint(1, x.shape[axis])
    if b.opset < 10:
        return b.emit(op, [x], [1, 1], axis=axis, k=k)
    more = {"largest": b.choice([0, 1]), "sorted": 1} if b.opset >= 11 else {}
    return b.emit(op, [x, b.ints([k])], [1, 1], axis=axis, **more)


@row("NonMaxSuppression")
def suppression(b, op):
    n, boxes, classes = b.choice([1, 2]), b.choice([4, 9]), b.choice([1, 2])
    corners = b.input(F32, (n, boxes, 2), 0, 5)
    ends = b.emit("Add", [corners, b.input(F32, (n, boxes, 2), 0.5, 4)])
    limits = [b.ints([3]), b.const(np.float32([0.4])), b.const(np.float32([0.3]))]
    b.emit(op, [b.emit("Concat", [corners, ends], axis=2), b.input(F32, (n, classes, boxes), 0, 1), *limits])
