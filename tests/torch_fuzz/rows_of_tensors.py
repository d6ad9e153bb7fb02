"""Rows of what moves elements, makes known ones or takes an index (rows.py says what a row is)."""

import math

from program import EXACT, ROUNDED, SUM, Unfit
from rows import ALL, FLOATS, INTEGERS, WIDE, row


# ---- Moves.

@row(EXACT, "view.default", "reshape.default", "_unsafe_view.default")
def _reshape(m):
    x = m.tensor(ALL)
    return [x, m.refactored(m.shape(x))]


@row(EXACT, "permute.default")
def _permute(m):
    x = m.tensor(ALL)
    return [x, m.shuffled(range(len(m.shape(x))))]


@row(EXACT, "transpose.int")
def _transpose(m):
    x = m.tensor(ALL, least_rank=2)
    return [x, m.dim(x), m.dim(x)]


@row(EXACT, "t.default")
def _turned(m):
    return [m.tensor(ALL, most_rank=2)]


@row(EXACT, "squeeze.default")
def _squeeze_all(m):
    return [m.tensor(ALL)]


@row(EXACT, "squeeze.dims")
def _squeeze_some(m):
    x = m.tensor(ALL)
    return [x, m.dims(x)]


@row(EXACT, "unsqueeze.default")
def _unsqueeze(m):
    x = m.tensor(ALL)
    return [x, m.dim(x) if m.shape(x) else 0]


@row(EXACT, "squeeze.dim", "unbind.int")
def _squeeze(m):
    x = m.tensor(ALL, least_rank=1)
    return [x, m.dim(x)]


@row(EXACT, "expand.default")
def _expand(m):
    x = m.tensor(ALL)
    return [x, [m.choice([2, 3]), *(m.choice([2, 3, 4]) if size == 1 else size for size in m.shape(x))]]


@row(EXACT, "slice.Tensor")
def _slice(m):
    x = m.tensor(ALL, least_rank=1)
    return [x, m.dim(x), m.choice([0, 1, -2, None]), m.choice([2, -1, 100, None]), m.choice([1, 1, 2])]


@row(EXACT, "select.int")
def _select(m):
    x = m.tensor(ALL, least_rank=1)
    dim = m.dim(x)
    return [x, dim, m.choice([0, -1, max(0, m.shape(x)[dim] - 1)])]


@row(EXACT, "narrow.default")
def _narrow(m):
    x = m.tensor(ALL, least_rank=1)
    dim = m.dim(x)
    size = m.shape(x)[dim]
    length = m.up_to(size)
    start = m.choice([0, size - length])
    return [x, dim, start - size if start and m.flag() else start, length]


@row(EXACT, "split_with_sizes.default")
def _split_unevenly(m):
    x = m.tensor(ALL, least_rank=1)
    dim = m.dim(x)
    size = m.shape(x)[dim]
    first = m.up_to(size)
    return [x, [first, size - first] if first < size else [size], dim]


@row(EXACT, "as_strided.default")
def _as_strided(m):
    """Within the memory of a tensor that is dense."""
    x = m.fresh(m.choice(ALL), [m.choice([12, 16])])
    return [x, *m.choice([([3, 2], [2, 1], None), ([3, 2], [1, 4], 1), ([2, 2, 2], [1, 0, 3], 2), ([], [], 5)])]


@row(EXACT, "split.Tensor")
def _split(m):
    x = m.tensor(ALL, least_rank=1)
    return [x, m.choice([1, 2, 3]), m.dim(x)]


@row(EXACT, "flip.default")
def _flip(m):
    x = m.tensor(ALL, least_rank=1)
    return [x, m.dims(x)]


@row(EXACT, "roll.default")
def _roll(m):
    x = m.tensor(ALL, least_rank=1)
    return [x, [m.choice([1, -1, 2, 5])], [m.dim(x)]]


@row(EXACT, "diagonal.default")
def _diagonal(m):
    return [m.tensor(ALL, least_rank=2), m.choice([0, 1, -1])]


@row(EXACT, "tril.default", "triu.default")
def _triangle(m):
    return [m.tensor(ALL, least_rank=2), m.choice([0, 1, -1])]


@row(EXACT, "cat.default", "stack.default")
def _cat(m):
    x = m.tensor(ALL, least_rank=1)
    return [[x, m.same(x), m.same(x)][:m.choice([1, 2, 3])], m.dim(x)]


@row(EXACT, "repeat.default")
def _repeat(m):
    x = m.tensor(ALL)
    return [x, [m.choice([1, 2]) for _ in range(len(m.shape(x)) + m.choice([0, 1]))]]


@row(EXACT, "constant_pad_nd.default")
def _pad(m):
    x = m.tensor(ALL, least_rank=1)
    return [x, [m.choice([0, 1, 2, -1]) for _ in range(2 * m.choice(range(1, len(m.shape(x)) + 1)))], m.choice([0, 1])]


@row(EXACT, "unfold.default")
def _unfold(m):
    x = m.tensor(ALL, least_rank=1)
    dim, size, step = m.dim(x), m.choice([1, 2, 3]), m.choice([1, 2])
    if size > step and m.shape(x) and m.shape(x)[dim] < size + step:
        raise Unfit("PyTorch's tracing takes one window for windows that overlap, to which nothing may write")
    return [x, dim, size, step]


@row(EXACT, "_to_copy.default")
def _cast(m):
    x = m.tensor(ALL)
    to = m.choice(ALL)
    if m.dtype(x) in FLOATS and to in INTEGERS:
        x = m.whole(m.dtype(x))  # Else a number that the type has not is anything.
    return [x], {"dtype": "torch." + to}


@row(EXACT, "full_like.default", "fill.Scalar")
def _full_like(m):
    return [m.tensor(ALL), m.choice([0, 1, 3])]


@row(EXACT, "ones_like.default", "zeros_like.default")
def _known_like(m):
    return [m.tensor(ALL)]


@row(EXACT, "new_ones.default", "new_zeros.default")
def _known_beside(m):
    return [m.tensor(ALL), m.any_shape()]


@row(EXACT, "new_full.default")
def _full_beside(m):
    return [m.tensor(ALL), m.any_shape(), m.choice([0, 1, 3])]


def _known(m, *args):
    """Of no tensor: of a type that one has, so that the program has an input."""
    return list(args), {"dtype": "torch." + m.dtype(m.tensor(ALL))}


@row(EXACT, "ones.default", "zeros.default")
def _known_of_size(m):
    return _known(m, m.any_shape())


@row(EXACT, "full.default")
def _full(m):
    return _known(m, m.any_shape(), m.choice([0, 1, 3]))


@row(EXACT, "scalar_tensor.default")
def _scalar(m):
    return _known(m, m.choice([0, 1, 7]))


@row(ROUNDED, "arange.start_step")
def _range(m):
    start, step = m.choice([(0, 1), (3, 2), (5, -1), (-4, 3)])
    args, kwargs = _known(m, start, start + step * m.choice([1, 4, 7]), step)
    if kwargs["dtype"] == "torch.uint8":
        args = [0, 5, 1]
    return args, kwargs


@row(EXACT, "select_scatter.default")
def _select_scatter(m):
    x = m.tensor(ALL, least_rank=1)
    dim, shape = m.dim(x), m.shape(x)
    index = m.choice([0, -1, shape[dim] - 1])
    del shape[dim]
    return [x, m.fresh(m.dtype(x), shape), dim, index]


@row(EXACT, "slice_scatter.default")
def _slice_scatter(m):
    x = m.tensor(ALL, least_rank=1)
    dim = m.dim(x)
    size = m.shape(x)[dim]
    begin = m.choice(range(size)) if size else 0
    shape = list(m.shape(x))
    shape[dim] = size - begin
    return [x, m.fresh(m.dtype(x), shape), dim, begin, None, 1]


@row(EXACT, "copy_.default")
def _copy(m):
    x = m.tensor(ALL)
    return [x, m.beside(x)]


# ---- By index.

@row(EXACT, "embedding.default")
def _embedding(m):
    table = m.tensor(WIDE, least_rank=2, most_rank=2)
    return [table, m.index(m.shape(table)[0], m.any_shape(most_rank=2))]


@row(EXACT, "index_select.default")
def _index_select(m):
    x = m.tensor(ALL, least_rank=1)
    dim = m.dim(x)
    return [x, dim, m.index(m.shape(x)[dim], [m.choice([1, 3, 5])])]


@row(EXACT, "gather.default")
def _gather(m):
    x = m.tensor(ALL, least_rank=1)
    dim = m.dim(x)
    return [x, dim, m.index(m.shape(x)[dim], m.inside(x, dim), ("int64",))]


@row(EXACT, "index.Tensor", "_unsafe_index.Tensor")
def _index(m):
    x = m.tensor(ALL, least_rank=1)
    shape = m.any_shape(most_rank=2)
    return [x, [m.index(size, shape, from_end=True) if m.chance(0.7) else None for size in m.shape(x)]]


@row(EXACT, "take.default")
def _take(m):
    x = m.tensor(ALL, least_rank=1)
    return [x, m.index(math.prod(m.shape(x)), m.any_shape(most_rank=2), ("int64",), from_end=True)]


def _written(m, types):
    x = m.tensor(types, least_rank=1)
    dim = m.dim(x)
    shape = m.inside(x, dim)
    return x, dim, shape


@row(EXACT, "scatter.src", "scatter_.src")
def _scatter(m):
    x, dim, shape = _written(m, ALL)
    return [x, dim, m.once(m.shape(x)[dim], shape, dim), m.fresh(m.dtype(x), shape)]


@row(EXACT, "scatter.value")
def _scatter_value(m):
    x, dim, shape = _written(m, ALL)
    return [x, dim, m.index(m.shape(x)[dim], shape, ("int64",)), m.choice([0, 1])]


@row(SUM, "scatter.reduce", "scatter.value_reduce")
def _scatter_with(m):
    x, dim, shape = _written(m, WIDE + ("int64",))
    updates = m.fresh(m.dtype(x), shape) if m.flag() else m.choice([2, 0, -1])
    return [x, dim, m.index(m.shape(x)[dim], shape, ("int64",)), updates], {"reduce": m.choice(["add", "multiply"])}


@row(SUM, "scatter_add.default", "scatter_add_.default")
def _scatter_add(m):
    x, dim, shape = _written(m, WIDE + INTEGERS)
    return [x, dim, m.index(m.shape(x)[dim], shape, ("int64",)), m.fresh(m.dtype(x), shape)]


@row(SUM, "scatter_reduce.two")
def _scatter_reduce(m):
    x, dim, shape = _written(m, WIDE + ("int64", "int32"))
    return [x, dim, m.index(m.shape(x)[dim], shape, ("int64",)), m.fresh(m.dtype(x), shape),
            m.choice(["sum", "prod", "mean", "amax", "amin"])], {"include_self": m.flag()}


@row(SUM, "index_add.default", "index_add_.default")
def _index_add(m):
    x = m.tensor(WIDE + INTEGERS, least_rank=1)
    dim, shape = m.dim(x), list(m.shape(x))
    count = m.choice([1, 3])
    index = m.index(shape[dim], [count])
    shape[dim] = count
    return [x, dim, index, m.fresh(m.dtype(x), shape)], {"alpha": m.choice([1, 1, 2])}


@row(EXACT, "index_copy.default")
def _index_copy(m):
    x = m.tensor(ALL, least_rank=1)
    dim, shape = m.dim(x), list(m.shape(x))
    index = m.once(shape[dim], [min(shape[dim], 2)], 0)
    shape[dim] = min(shape[dim], 2)
    return [x, dim, index, m.fresh(m.dtype(x), shape)]


@row(EXACT, "index_fill.int_Tensor")
def _index_fill_by_tensor(m):
    x = m.tensor(ALL, least_rank=1)
    dim = m.dim(x)
    return [x, dim, m.index(m.shape(x)[dim], [2], ("int64",), from_end=True), m.fresh(m.dtype(x), [])]


@row(EXACT, "masked_scatter.default")
def _masked_scatter(m):
    x = m.tensor(ALL)
    return [x, m.beside(x, dtype="bool"), m.fresh(m.dtype(x), [math.prod(m.shape(x)) + m.choice([0, 0, -2])])]


@row(EXACT, "index_fill.int_Scalar")
def _index_fill(m):
    x = m.tensor(ALL, least_rank=1)
    dim = m.dim(x)
    return [x, dim, m.index(m.shape(x)[dim], [2], ("int64",), from_end=True), m.choice([0, 1])]


@row(ROUNDED, "index_put.default", "index_put_.default", "_unsafe_index_put.default")
def _index_put(m):
    x = m.tensor(WIDE + INTEGERS, least_rank=1)
    shape = m.shape(x)
    count = min(2, shape[0])
    accumulate = m.flag()
    index = m.index(shape[0], [count], from_end=True) if accumulate else m.once(shape[0], [count], 0, from_end=True)
    return [x, [index], m.fresh(m.dtype(x), [count, *shape[1:]]), accumulate]


@row(SUM, "nll_loss_forward.default")
def _nll_loss(m):
    x = m.tensor(WIDE, least_rank=2, most_rank=2)
    rows, classes = m.shape(x)
    weight = m.fresh(m.dtype(x), [classes]) if m.flag() else None
    return [x, m.index(classes, [rows], ("int64",)), weight, m.choice([0, 1, 2]), m.choice([-100, 0, -1])]


@row(SUM, "nll_loss2d_forward.default")
def _nll_loss_2d(m):
    x = m.tensor(WIDE, least_rank=4, most_rank=4)
    batch, classes, *plane = m.shape(x)
    return [x, m.index(classes, [batch, *plane], ("int64",)), None, m.choice([0, 1, 2]), m.choice([-100, -1])]
