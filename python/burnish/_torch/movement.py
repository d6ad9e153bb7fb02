"""Converters of what moves elements, or makes tensors of known values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import torch

from .builder import GraphBuilder, Tensor
from .registry import Unsupported, register_converter
from .types import element_type, shape_of, value_of


_DIMENSIONS_MAX = 8  # Of a tensor in the compiler.


# ---- The same elements.

@register_converter("aten.alias.default", "aten.clone.default", "aten.detach.default",
                    "aten.lift_fresh_copy.default")
def identity(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
    return self


@register_converter("aten._to_copy.default")
def to_copy(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
    return g.cast(self, element_type(node))


@register_converter("aten.view.default", "aten._unsafe_view.default", "aten.reshape.default",
                    "aten.unsqueeze.default", "aten.squeeze.default", "aten.squeeze.dim",
                    "aten.squeeze.dims")
def view(g: GraphBuilder, node: torch.fx.Node, self: Tensor, **ignored: Any) -> Tensor:
    return g.reshape(self, shape_of(node))


@register_converter("aten.expand.default")
def expand(g: GraphBuilder, node: torch.fx.Node, self: Tensor, **ignored: Any) -> Tensor:
    return g.expand(self, shape_of(node))


@register_converter("aten.permute.default")
def permute(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dims: Sequence[int]) -> Tensor:
    return g.transpose(self, dims)


@register_converter("aten.transpose.int")
def transpose(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim0: int, dim1: int) -> Tensor:
    order = list(range(self.rank))
    if order:
        a, b = self.axis(dim0), self.axis(dim1)
        order[a], order[b] = order[b], order[a]
    return g.transpose(self, order)


@register_converter("aten.t.default")
def transposed(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
    return g.transpose(self, list(range(self.rank))[::-1])


@register_converter("aten.pixel_shuffle.default")
def pixel_shuffle(g: GraphBuilder, node: torch.fx.Node, self: Tensor,
                  upscale_factor: int) -> Tensor:
    *batch, channels, height, width = self.shape
    r = upscale_factor
    split = g.reshape(self, (*batch, channels // r ** 2, r, r, height, width))
    n = len(batch)
    return g.reshape(g.transpose(split, [*range(n), n, n + 3, n + 1, n + 4, n + 2]), shape_of(node))


# ---- Parts.

def bounds(extent: int, start: int | None, end: int | None) -> tuple[int, int]:
    """As a slice of Python has them."""
    begin, stop, _ = slice(start, end).indices(extent)
    return begin, max(begin, stop)


@register_converter("aten.slice.Tensor")
def slice_(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, start: int | None,
           end: int | None, step: int) -> Tensor:
    return g.slice(self, dim, *bounds(self.shape[dim], start, end), step)


@register_converter("aten.select.int")
def select(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, index: int) -> Tensor:
    return g.select(self, dim, index)


@register_converter("aten.narrow.default")
def narrow(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, start: int,
           length: int) -> Tensor:
    start %= self.shape[dim]
    return g.slice(self, dim, start, start + length)


@register_converter("aten.split_with_sizes.default")
def split_with_sizes(g: GraphBuilder, node: torch.fx.Node, self: Tensor,
                     split_sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]:
    return g.split(self, dim, split_sizes)


@register_converter("aten.split.Tensor")
def split(g: GraphBuilder, node: torch.fx.Node, self: Tensor, split_size: int,
          dim: int) -> tuple[Tensor, ...]:
    extent = self.shape[dim]
    return g.split(self, dim, [min(split_size, extent - at) for at in range(0, extent, split_size)])


@register_converter("aten.unbind.int")
def unbind(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int) -> tuple[Tensor, ...]:
    return tuple(g.select(self, dim, index) for index in range(self.shape[dim]))


@register_converter("aten.flip.default")
def flip(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dims: Sequence[int]) -> Tensor:
    for axis in sorted({self.axis(dim) for dim in dims}) if self.rank else ():
        self = g.slice(self, axis, self.shape[axis] - 1, -1, -1)
    return self


@register_converter("aten.roll.default")
def roll(g: GraphBuilder, node: torch.fx.Node, self: Tensor, shifts: Sequence[int], dims: Sequence[int]) -> Tensor:
    """Each axis as its end before its beginning."""
    x = self if dims else g.reshape(self, (self.size,))
    for shift, dim in zip(shifts, dims or [0]):
        extent = x.shape[x.axis(dim)]
        first = -shift % extent
        if first:
            x = g.concat([g.slice(x, dim, first, extent), g.slice(x, dim, 0, first)], dim)
    return g.reshape(x, self.shape)


@register_converter("aten.diagonal.default")
def diagonal(g: GraphBuilder, node: torch.fx.Node, self: Tensor, offset: int, dim1: int,
             dim2: int) -> Tensor:
    a, b = self.axis(dim1), self.axis(dim2)
    kept = [dim for dim in range(self.rank) if dim not in (a, b)]
    rows, columns = self.shape[a], self.shape[b]
    flat = g.reshape(g.transpose(self, [*kept, a, b]),
                     (*(self.shape[dim] for dim in kept), rows * columns))
    begin = offset if offset >= 0 else -offset * columns
    positions = begin + (columns + 1) * numpy.arange(shape_of(node)[-1])
    return g.gather(flat, g.constant(positions), -1)


@register_converter("aten.unfold.default")
def unfold(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dimension: int, size: int,
           step: int) -> Tensor:
    axis = self.axis(dimension)
    begins = numpy.arange(0, self.shape[axis] - size + 1, step)
    windows = g.gather(self, g.constant(begins[:, None] + numpy.arange(size)), axis)
    return g.transpose(windows, [d for d in range(windows.rank) if d != axis + 1] + [axis + 1])


# ---- More elements.

@register_converter("aten.cat.default")
def cat(g: GraphBuilder, node: torch.fx.Node, tensors: Sequence[Tensor], dim: int) -> Tensor:
    dtype = element_type(node)
    return g.concat([g.cast(x, dtype) for x in tensors], dim)


@register_converter("aten.stack.default")
def stack(g: GraphBuilder, node: torch.fx.Node, tensors: Sequence[Tensor], dim: int) -> Tensor:
    dtype = element_type(node)
    axis = dim % (tensors[0].rank + 1)
    return g.concat([g.reshape(g.cast(x, dtype), (*x.shape[:axis], 1, *x.shape[axis:]))
                     for x in tensors], axis)


@register_converter("aten.repeat.default")
def repeat(g: GraphBuilder, node: torch.fx.Node, self: Tensor, repeats: Sequence[int]) -> Tensor:
    shape = (1,) * (len(repeats) - self.rank) + self.shape
    if 2 * len(shape) <= _DIMENSIONS_MAX:
        apart = [extent for size in shape for extent in (1, size)]
        wide = [extent for count, size in zip(repeats, shape) for extent in (count, size)]
        return g.reshape(g.expand(g.reshape(self, apart), wide), shape_of(node))
    x = g.reshape(self, shape)
    for axis, count in enumerate(repeats):  # One at a time: each is a dimension more.
        before, behind = x.shape[:axis], x.shape[axis:]
        if count != 1:
            wide = g.expand(g.reshape(x, (*before, 1, *behind)), (*before, count, *behind))
            x = g.reshape(wide, (*before, count * behind[0], *behind[1:]))
    return x


def _padded(g: GraphBuilder, x: Tensor, pads: Sequence[int], mode: str,
            value: float = 0) -> Tensor:
    """`pads` as PyTorch has them: before and behind the last dimension, then the one before it."""
    before, behind = [0] * x.rank, [0] * x.rank
    for i in range(len(pads) // 2):
        before[-1 - i], behind[-1 - i] = pads[2 * i], pads[2 * i + 1]
    shape = [size + a + b for size, a, b in zip(x.shape, before, behind)]
    if not any(before) and not any(behind):
        return x
    as_number = {} if mode != "constant" else {"value": float(value)}
    if x.dtype == "bool" or (not x.is_float and abs(value) > 2 ** 53):
        raise Unsupported(f"a pad of {x.dtype}")
    return g.op("pad", x, shape=shape, mode=mode, pads=before + behind, **as_number)


@register_converter("aten.constant_pad_nd.default")
def constant_pad(g: GraphBuilder, node: torch.fx.Node, self: Tensor, pad: Sequence[int],
                 value: float) -> Tensor:
    if self.dtype == "bool":
        return g.cast(_padded(g, g.cast(self, "uint8"), pad, "constant", bool(value)), "bool")
    return _padded(g, self, pad, "constant", value)


for _rank in (1, 2, 3):
    @register_converter(f"aten.reflection_pad{_rank}d.default")
    def reflection_pad(g: GraphBuilder, node: torch.fx.Node, self: Tensor,
                       padding: Sequence[int]) -> Tensor:
        return _padded(g, self, padding, "reflect")

    @register_converter(f"aten.replication_pad{_rank}d.default")
    def replication_pad(g: GraphBuilder, node: torch.fx.Node, self: Tensor,
                        padding: Sequence[int]) -> Tensor:
        pads = list(padding)
        for i in range(0, len(pads), 2):
            if min(pads[i:i + 2]) >= 0:
                continue
            # A pad below 0 takes elements away; what the other side repeats may be one of them.
            axis = self.rank - 1 - i // 2
            places = numpy.arange(self.shape[axis] + pads[i] + pads[i + 1]) - pads[i]
            kept = places.clip(0, self.shape[axis] - 1).astype(numpy.int64)
            self = g.gather(self, g.constant(kept), axis)
            pads[i:i + 2] = 0, 0
        return _padded(g, self, pads, "edge")


# ---- Some elements written over.

@register_converter("aten.slice_scatter.default")
def slice_scatter(g: GraphBuilder, node: torch.fx.Node, self: Tensor, src: Tensor, dim: int,
                  start: int | None, end: int | None, step: int) -> Tensor:
    extent = self.shape[dim]
    begin, stop = bounds(extent, start, end)
    src = g.cast(src, self.dtype)
    if step == 1:
        parts = [g.slice(self, dim, 0, begin)] if begin else []
        parts.append(src)
        return g.concat(parts + ([g.slice(self, dim, stop, extent)] if stop < extent else []), dim)
    # Each element is one of src or stays: which, is known.
    along = numpy.arange(extent)
    written = (along >= begin) & (along < stop) & ((along - begin) % step == 0)
    source = numpy.clip((along - begin) // step, 0, src.shape[dim] - 1)
    beside = [1] * self.rank
    beside[dim] = extent
    return g.where(g.constant(written.reshape(beside)),
                   g.gather(src, g.constant(source.astype(numpy.int64)), dim), self)


@register_converter("aten.select_scatter.default")
def select_scatter(g: GraphBuilder, node: torch.fx.Node, self: Tensor, src: Tensor, dim: int,
                   index: int) -> Tensor:
    axis = self.axis(dim)
    index %= self.shape[axis]
    whole = g.reshape(src, (*src.shape[:axis], 1, *src.shape[axis:]))
    return slice_scatter(g, node, self, whole, axis, index, index + 1, 1)


@register_converter("aten.as_strided.default")
def as_strided(g: GraphBuilder, node: torch.fx.Node, self: Tensor, size: Sequence[int],
               stride: Sequence[int], storage_offset: int | None) -> Tensor:
    """Of memory that the tensor's own elements fill as far as they are asked for."""
    source = value_of(node.args[0])
    own = _places_in_memory(source.shape, source.stride(), source.storage_offset())
    places = _places_in_memory(size, stride, source.storage_offset() if storage_offset is None else storage_offset)
    element = numpy.full(max(own.max(), places.max()) + 1, -1)
    element[own.reshape(-1)] = numpy.arange(own.size)
    wanted = element[places]
    if wanted.min() < 0:
        raise Unsupported("as_strided beyond the tensor")
    return g.gather(g.reshape(self, (self.size,)), g.constant(wanted), 0)


def _places_in_memory(size: Sequence[int], stride: Sequence[int], offset: int) -> numpy.ndarray[Any, Any]:
    places = numpy.full((), offset)
    for extent, step in zip(size, stride):
        places = places[..., None] + step * numpy.arange(extent)
    return places


@register_converter("aten.copy.default")
def copy(g: GraphBuilder, node: torch.fx.Node, self: Tensor, src: Tensor) -> Tensor:
    return g.expand(g.cast(src, self.dtype), self.shape)


# ---- Known values.

def _full(g: GraphBuilder, node: torch.fx.Node, value: float) -> Tensor:
    return g.expand(g.number(value, element_type(node)), shape_of(node))


@register_converter("aten.full.default", "aten.full_like.default", "aten.new_full.default")
def full(g: GraphBuilder, node: torch.fx.Node, fill_value: float, **ignored: Any) -> Tensor:
    return _full(g, node, fill_value)


@register_converter("aten.fill.Scalar")
def fill(g: GraphBuilder, node: torch.fx.Node, value: float, **ignored: Any) -> Tensor:
    return _full(g, node, value)


@register_converter("aten.empty.memory_format", "aten.empty_strided.default", "aten.empty_like.default",
                    "aten.new_empty.default", "aten.zeros.default", "aten.zeros_like.default", "aten.new_zeros.default")
def zeros(g: GraphBuilder, node: torch.fx.Node, **ignored: Any) -> Tensor:
    return _full(g, node, 0)


@register_converter("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(g: GraphBuilder, node: torch.fx.Node, **ignored: Any) -> Tensor:
    return _full(g, node, 1)


@register_converter("aten.scalar_tensor.default")
def scalar_tensor(g: GraphBuilder, node: torch.fx.Node, s: float) -> Tensor:
    return g.number(s, element_type(node))


@register_converter("aten.arange.start_step")
def arange(g: GraphBuilder, node: torch.fx.Node, start: float, end: float,
           step: float) -> Tensor:
    dtype = element_type(node)
    if numpy.issubdtype(dtype, numpy.integer):
        start, step = int(start), int(step)  # PyTorch rounds these, and not the elements.
    return g.constant((start + step * numpy.arange(*shape_of(node))).astype(dtype))
