"""Rows of what networks have whole: products, windows, sizes, norms, distances, attention (rows.py says what a row is)."""

import math

from program import BLEND, EXACT, NORM, ROUNDED, SUM, Unfit
from rows import FLOATS, WIDE, row


# ---- Products.

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
    return [bias, x, m.fresh(m.dtype(x), [m.shape(x)[1], wide])], _shares(m)


def _shares(m):
    return {"beta": m.choice([1, 1, 0.5, 0]), "alpha": m.choice([1, 2])}


@row(SUM, "baddbmm.default")
def _baddbmm(m):
    args = _bmm(m)
    return [m.fresh(m.dtype(args[0]), [1, 1, m.shape(args[1])[2]]), *args], _shares(m)


@row(SUM, "addmv.default")
def _addmv(m):
    x = m.tensor(WIDE, least_rank=2, most_rank=2)
    return [m.fresh(m.dtype(x), m.shape(x)[:1]), x, m.fresh(m.dtype(x), m.shape(x)[1:])], _shares(m)


@row(SUM, "mv.default")
def _mv(m):
    x = m.tensor(WIDE, least_rank=2, most_rank=2)
    return [x, m.fresh(m.dtype(x), m.shape(x)[1:])]


@row(SUM, "dot.default")
def _dot(m):
    x = m.tensor(WIDE, least_rank=1, most_rank=1)
    return [x, m.same(x)]


@row(SUM, "matmul.default")
def _matmul(m):
    x = m.tensor(WIDE, least_rank=1)
    inner = m.shape(x)[-1]
    return [x, m.fresh(m.dtype(x), m.choice([[inner], [inner, 3], [2, inner, 1]]))]


@row(SUM, "linear.default")
def _linear(m):
    x = m.tensor(FLOATS, least_rank=1)
    wide = m.choice([1, 3, 5])
    return [x, m.fresh(m.dtype(x), [wide, m.shape(x)[-1]]), m.fresh(m.dtype(x), [wide]) if m.flag() else None]


@row(SUM, "convolution.default")
def _convolution(m):
    dims = m.choice([1, 2, 2, 3])
    x = m.images(WIDE, dims, unbatched=False)
    channels = m.shape(x)[1]
    groups, turned = m.choice([1, channels]), m.chance(0.3)
    wide = 2 * groups
    bias = m.fresh(m.dtype(x), [wide]) if m.flag() else None
    kernel = [m.choice([1, 2])] + [2] * (dims - 1)
    shape = [channels, 2, *kernel] if turned else [wide, channels // groups, *kernel]
    # Between the elements of a turned one's input are zeros, which times infinity are NaN (docs/operators.md); so are
    # pads, of which eager says one thing in oneDNN and another beside it.
    weight = m.plain(m.dtype(x), shape)
    return [x, weight, bias, [m.choice([1, 2])] * dims, [m.choice([0, 1])] * dims, [m.choice([1, 1, 2])] * dims, turned,
            [0] * dims, groups]


# ---- Windows.

@row(EXACT, *(f"max_pool{dims}d{kind}.default" for dims in (1, 2, 3) for kind in ("", "_with_indices")
              if (dims, kind) != (1, "_with_indices")))
def _max_pool(m):
    dims = m.dims_of_row()
    return [m.images(FLOATS if dims == 2 else WIDE, dims), [2] * dims, [m.choice([1, 2])] * dims, [m.choice([0, 1])] * dims,
            [m.choice([1, 1, 2])] * dims, m.flag()]


@row(SUM, *(f"avg_pool{dims}d.default" for dims in (1, 2, 3)))
def _avg_pool(m):
    dims = m.dims_of_row()
    divisor = [] if dims == 1 else [m.choice([None, None, 3, -2])]
    return [m.images(FLOATS if dims == 2 else WIDE, dims), [2] * dims, [m.choice([1, 2])] * dims, [m.choice([0, 1])] * dims,
            m.flag(), m.flag(), *divisor]


@row(SUM, "_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default", "adaptive_avg_pool1d.default",
     "adaptive_avg_pool2d.default")
def _adaptive(m):
    dims = m.dims_of_row()
    return [m.images(WIDE, dims), [m.choice([1, 2, 3, 5]) for _ in range(dims)]]


@row(EXACT, "max_unpool2d.default", "max_unpool3d.default")
def _max_unpool(m):
    dims = m.dims_of_row()
    x = m.images(WIDE, dims)
    *planes, = m.shape(x)[:-dims]
    extents = m.shape(x)[-dims:]
    wide = [size + m.choice([0, 2]) for size in extents]
    flat = [math.prod(planes), math.prod(extents)]
    index = m.once(math.prod(wide), flat, 1, becomes=[*planes, *extents])
    return [x, index, wide] + ([[1] * dims, [0] * dims] if dims == 3 else [])


# ---- Other sizes.

@row(EXACT, *(f"{kind}_pad{dims}d.default" for kind in ("reflection", "replication") for dims in (1, 2, 3)))
def _pad_by_edge(m):
    dims = m.dims_of_row()
    return [m.images(FLOATS, dims), [m.choice([0, 1, 2, -1]) for _ in range(2 * dims)]]


@row(EXACT, "pixel_shuffle.default")
def _pixel_shuffle(m):
    *before, height, width = m.any_shape(least_rank=2)
    by = m.choice([1, 2])
    return [m.fresh(m.choice(FLOATS), [*before[:1], by * by * m.choice([1, 2]), height, width]), by]


def _sizes(m, x, dims):
    """New extents, or factors: one of the two."""
    if m.flag():
        return [m.choice([1, 2, 3, 7]) for _ in range(dims)], None
    return None, [m.choice([1.0, 2.0, 0.5, 1.5, 3.0]) for _ in range(dims)]


@row(EXACT, *(f"upsample_nearest{dims}d.vec" for dims in (1, 2, 3)))
def _nearest(m):
    dims = m.dims_of_row()
    x = m.images(FLOATS, dims, unbatched=False)
    return [x, *_sizes(m, x, dims)]


def _finite_image(m):
    """What tracing makes of these is another sum than eager's, of which infinity makes NaN elsewhere."""
    return m.plain(m.choice(WIDE), [m.choice([1, 2]), m.choice([1, 2]), m.choice([1, 3, 4]), m.choice([2, 3])])


@row(SUM, "upsample_bilinear2d.vec")
def _bilinear(m):
    x = _finite_image(m)
    sizes, factors = _sizes(m, x, 2)
    return [x, sizes, m.flag(), factors]


@row(EXACT, "upsample_nearest2d.default")
def _nearest_of_sizes(m):
    return [m.images(FLOATS, 2, unbatched=False), [m.choice([1, 2, 3, 7]), m.choice([1, 4])]]


@row(SUM, "upsample_bilinear2d.default")
def _bilinear_of_sizes(m):
    return [_finite_image(m), [m.choice([1, 2, 3, 7]), m.choice([1, 4])], m.flag()]


# ---- Norms.

@row(NORM, "native_layer_norm.default")
def _native_layer_norm(m):
    """Of finite numbers: eager's mean of infinity, which it returns here, is NaN."""
    return _normed(m, m.plain(m.choice(WIDE), m.any_shape(least_rank=2)))


@row(NORM, "layer_norm.default")
def _layer_norm(m):
    return _normed(m, m.tensor(WIDE, least_rank=2))


def _normed(m, x):
    inner = m.shape(x)[-m.choice([1, 1, 2]):]
    weight, bias = (m.fresh(m.dtype(x), inner) if m.chance(0.7) else None for _ in range(2))
    return [x, inner, weight, bias, 1e-5]


def _grouped(m, x):
    """Weights are finite: eager has them in one number with the deviation, and an infinite one less itself is NaN. So
    one element alone has in eager a rest of rounding for 0."""
    channels, plane = m.shape(x)[1], math.prod(m.shape(x)[2:])
    weight, bias = (m.plain(m.dtype(x), [channels]) if m.chance(0.7) else None for _ in range(2))
    groups = [n for n in range(1, channels + 1) if channels % n == 0 and channels * plane != n]
    if not groups:
        raise Unfit("groups of one element")
    return m.choice(groups), weight, bias


@row(NORM, "group_norm.default")
def _group_norm(m):
    x = m.tensor(WIDE, least_rank=3)
    return [x, *_grouped(m, x), 1e-5]


@row(NORM, "native_group_norm.default")
def _native_group_norm(m):
    x = m.plain(m.choice(WIDE), m.any_shape(least_rank=3))  # As of native_layer_norm.
    groups, weight, bias = _grouped(m, x)
    batch, channels, *plane = m.shape(x)
    return [x, weight, bias, batch, channels, math.prod(plane), groups, 1e-5]


def _batch_normed(m):
    x = m.tensor(WIDE, least_rank=2)
    channels = m.shape(x)[1:2]
    weight, bias = (m.fresh(m.dtype(x), channels) if m.chance(0.7) else None for _ in range(2))
    return [x, weight, bias, m.fresh(m.dtype(x), channels), m.positive(m.dtype(x), channels)]


@row(NORM, "batch_norm.default")
def _batch_norm(m):
    return [*_batch_normed(m), False, 0.1, 1e-5, False]


@row(NORM, "_native_batch_norm_legit_no_training.default", read=1)
def _native_batch_norm(m):
    return [*_batch_normed(m), 0.1, 1e-5]


@row(ROUNDED, "native_dropout.default", read=1)
def _dropout(m):
    return [m.tensor(FLOATS), *m.choice([(0.5, False), (0.0, True), (1.0, False)])]


# ---- Distances.

@row(NORM, "_cdist_forward.default")
def _cdist(m):
    x = m.tensor(WIDE, least_rank=2, most_rank=3)
    *batch, _, size = m.shape(x)
    return [x, m.fresh(m.dtype(x), [*batch, m.choice([1, 4]), size]), m.choice([0.0, 1.0, 2.0, 3.0, math.inf]), None]


@row(NORM, "_pdist_forward.default")
def _pdist(m):
    return [m.tensor(WIDE, least_rank=2, most_rank=2), m.choice([0.0, 1.0, 2.0, 3.0, math.inf])]


# ---- Attention.

def _attended(m, types):
    batch, heads, queries, keys, size = (m.choice([1, 2, 3]) for _ in range(5))
    dtype = m.base if m.base in types else m.choice(types)
    query = m.plain(dtype, [batch, heads, queries, size])
    key, value = (m.plain(dtype, [batch, heads, keys, size]) for _ in range(2))
    causal = m.chance(0.3)
    mask = None if causal or m.flag() else m.fresh("bool", [queries, keys]) if m.flag() else m.plain(dtype, [queries, keys])
    return query, key, value, mask, causal, m.choice([None, 0.5])


@row(BLEND, "scaled_dot_product_attention.default")
def _attention(m):
    query, key, value, mask, causal, scale = _attended(m, FLOATS)
    return [query, key, value, mask, 0.0, causal], {"scale": scale}


@row(BLEND, "_scaled_dot_product_flash_attention_for_cpu.default", read=1)
def _flash_attention(m):
    query, key, value, mask, causal, scale = _attended(m, WIDE)
    if mask is not None and m.dtype(mask) == "bool":
        mask = None
    return [query, key, value, 0.0, causal], {"attn_mask": mask, "scale": scale}


@row(BLEND, "_transformer_encoder_layer_fwd.default")
def _encoder_layer(m):
    heads, size, wide = m.choice([1, 2]), 4, m.choice([3, 8])

    def plain(*shape):
        return m.plain("float32", shape)

    return [plain(m.choice([1, 2]), m.choice([1, 3]), size), size, heads, plain(3 * size, size), plain(3 * size), plain(size, size),
            plain(size), m.flag(), m.flag(), 1e-5, plain(size), plain(size), plain(size), plain(size), plain(wide, size),
            plain(wide), plain(size, wide), plain(size)]
