"""Rows of what networks have whole: products, windows, norms (rows.py says what a row is)."""

import math

from program import EXACT, NORM, SUM
from rows import FLOATS, WIDE, row


# ---- Products, windows, norms.

@row(SUM, "mm.default")
def _mm(m):
    x = m.tensor(FLOATS + ("int64",), least_rank=2, most_rank=2)
    return [x, m.fresh(m.dtype(x), [m.shape(x)[1], m.choice([1, 3, 5])])]


@row(SUM, "bmm.default")
def _bmm(m):
    x = m.tensor(WIDE, least_rank=3, most_rank=3)
    batch, _, inner = m.shape(x)
    return [x, m.fresh(m.dtype(x), [batch, inner, m.choice([1, 3])])]


@row(SUM, "addmm.default")
def _addmm(m):
    x = m.tensor(WIDE, least_rank=2, most_rank=2)
    wide = m.choice([2, 5])
    bias = m.fresh(m.dtype(x), [wide])
    return [bias, x, m.fresh(m.dtype(x), [m.shape(x)[1], wide])], {"beta": m.choice([1, 1, 0.5, 0]), "alpha": m.choice([1, 2])}


@row(SUM, "convolution.default")
def _convolution(m):
    x = m.tensor(WIDE, least_rank=4, most_rank=4)
    channels = m.shape(x)[1]
    groups = m.choice([1, channels])
    bias = m.fresh(m.dtype(x), [2 * groups]) if m.flag() else None
    return [x, m.fresh(m.dtype(x), [2 * groups, channels // groups, m.choice([1, 2]), 2]), bias, [m.choice([1, 2])] * 2,
            [m.choice([0, 1])] * 2, [1, 1], False, [0, 0], groups]


@row(EXACT, "max_pool2d_with_indices.default")
def _max_pool(m):
    return [m.tensor(WIDE, least_rank=3, most_rank=4), [2, 2], [m.choice([1, 2])] * 2, [m.choice([0, 1])] * 2]


@row(SUM, "avg_pool2d.default")
def _avg_pool(m):
    return [m.tensor(WIDE, least_rank=3, most_rank=4), [2, 2], [m.choice([1, 2])] * 2, [m.choice([0, 1])] * 2, m.flag(), m.flag()]


@row(SUM, "_adaptive_avg_pool2d.default")
def _adaptive(m):
    return [m.tensor(WIDE, least_rank=3, most_rank=4), [m.choice([1, 2]), m.choice([1, 3])]]


@row(NORM, "layer_norm.default")
def _layer_norm(m):
    x = m.tensor(WIDE, least_rank=2)
    last = m.shape(x)[-1]
    return [x, [last], m.fresh(m.dtype(x), [last]), m.fresh(m.dtype(x), [last]), 1e-5]


@row(EXACT, "reflection_pad1d.default", "replication_pad1d.default")
def _pad_by_edge(m):
    return [m.tensor(FLOATS, least_rank=2, most_rank=3), [m.choice([0, 1, 2]), m.choice([0, 1])]]


@row(EXACT, "max_unpool2d.default")
def _max_unpool(m):
    x = m.tensor(WIDE, least_rank=3, most_rank=4)
    *planes, height, width = m.shape(x)
    wide = [height + m.choice([0, 2]), width + 1]
    flat = [math.prod(planes), height * width]
    return [x, m.once(math.prod(wide), flat, 1, becomes=[*planes, height, width]), wide]
