"""Converters of elements that are chosen, or written, by index tensors.

Which operators take indices that count from the end is PyTorch's: `index`, `index_put` and what decomposes to them
do. All others refuse an index below 0, and read through `GraphBuilder.from_start`. What a run refuses PyTorch runs
again and raises for; so an operator whose decomposition raises something else, or takes more, has a converter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy
import torch

from .builder import GraphBuilder, Operand, Tensor
from .registry import Unsupported, register_converter
from .types import element_type, results_read, shape_of

_NONE, _MEAN = 0, 1  # Reductions of losses, as ATen numbers them (at::Reduction).


@register_converter("aten.embedding.default")
def embedding(g: GraphBuilder, node: torch.fx.Node, weight: Tensor, indices: Tensor,
              **ignored: object) -> Tensor:
    return g.gather(weight, g.from_start(indices), 0)


@register_converter("aten.index_select.default")
def index_select(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int,
                 index: Tensor) -> Tensor:
    at = g.from_start(g.reshape(index, (index.size,)))
    return g.reshape(g.gather(g.reshape(self, self.shape or (1,)), at, dim), shape_of(node))


@register_converter("aten.gather.default")
def gather(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, index: Tensor,
           **ignored: object) -> Tensor:
    x, at = g.reshape(self, self.shape or (1,)), g.reshape(index, index.shape or (1,))
    taken = g.op("gather_elements", x, g.from_start(at), shape=at.shape, axis=x.axis(dim))
    return g.reshape(taken, index.shape)


@register_converter("aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default")
def nll_loss(g: GraphBuilder, node: torch.fx.Node, self: Tensor, target: Tensor, weight: Tensor | None,
             reduction: int, ignore_index: int) -> tuple[Tensor, Tensor]:
    """The loss, and the weight of all targets that count (0 without a reduction)."""
    axis = min(1, self.rank - 1)
    shape = (*self.shape[:axis], 1, *self.shape[axis + 1:])
    counts = g.logical_not(g.compare("equal", target, ignore_index))
    classes = g.where(counts, target, g.number(0, target.dtype))  # Of those that do not count any one.
    at = g.from_start(g.reshape(classes, shape))
    zero = g.number(0.0, self.dtype)
    picked = g.op("neg", g.reshape(g.op("gather_elements", self, at, shape=shape, axis=axis), target.shape))
    if weight is not None or 1 in results_read(node):  # Who reads the weight alone has its targets checked, too.
        each = g.filled(self.shape[axis:axis + 1], 1.0, self.dtype) if weight is None else weight
        weights = g.gather(each, g.from_start(classes), 0)
    else:
        weights = g.expand(g.number(1.0, self.dtype), target.shape)
    weights = g.where(counts, weights, zero)
    losses = g.where(counts, picked if weight is None else g.mul(picked, weights), zero)
    if reduction == _NONE:
        return losses, zero
    total, weight_of_all = (g.reduce("reduce_sum", one, None) for one in (losses, weights))
    return (g.div(total, weight_of_all) if reduction == _MEAN else total), weight_of_all


def _positions(g: GraphBuilder, x: Tensor,
               indices: Sequence[Tensor | None]) -> tuple[list[int], Tensor]:
    """The dimensions that are indexed, and for each place its position in them, in a last
    dimension."""
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    given = [index for index in indices if index is not None]
    if any(index.dtype in ("bool", "uint8") for index in given):
        raise Unsupported("a mask as index: its result's size depends on its values")
    shape = numpy.broadcast_shapes(*(index.shape for index in given))
    columns = [g.reshape(g.expand(g.cast(index, "int64"), shape), (*shape, 1)) for index in given]
    return dims, g.concat(columns, -1)


@register_converter("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(g: GraphBuilder, node: torch.fx.Node, self: Tensor,
          indices: Sequence[Tensor | None]) -> Tensor:
    given = [dim for dim, one in enumerate(indices) if one is not None]
    if not given:
        return self
    if len(given) == 1 and indices[given[0]].dtype not in ("bool", "uint8"):
        return g.gather(self, indices[given[0]], given[0])
    dims, positions = _positions(g, self, indices)
    kept = [dim for dim in range(self.rank) if dim not in dims]
    first = g.transpose(self, dims + kept)
    places = positions.shape[:-1]
    taken = g.op("gather_nd", first, positions, dtype=self.dtype,
                 shape=(*places, *(self.shape[dim] for dim in kept)))
    if dims != list(range(dims[0], dims[-1] + 1)):
        return taken  # Indices apart from each other: their dimensions come first.
    n, before = len(places), dims[0]
    return g.transpose(taken, [*range(n, n + before), *range(n), *range(n + before, taken.rank)])


@register_converter("aten.take.default")
def take(g: GraphBuilder, node: torch.fx.Node, self: Tensor, index: Tensor) -> Tensor:
    return g.gather(g.reshape(self, (self.size,)), index, 0)


def _scattered(g: GraphBuilder, x: Tensor, dim: int, index: Tensor, updates: Tensor,
               reduction: str, from_end: bool = False) -> Tensor:
    if x.dtype == "bool" and reduction != "none":  # "Or" is the greater one, "and" the lesser.
        extreme = {"add": "max", "mul": "min"}.get(reduction, reduction)
        return g.cast(_scattered(g, g.cast(x, "uint8"), dim, index, g.cast(updates, "uint8"),
                                 extreme), "bool")
    data, at = g.reshape(x, x.shape or (1,)), g.reshape(index, index.shape or (1,))
    updates = g.reshape(updates, updates.shape or (1,))
    for axis, extent in enumerate(at.shape):  # More updates than indices may be given.
        updates = g.slice(updates, axis, 0, extent)
    kind = {} if reduction == "none" else {"reduction": reduction}
    written = g.op("scatter_elements", data, g.index(at) if from_end else g.from_start(at), g.cast(updates, x.dtype),
                   shape=data.shape, dtype=x.dtype, axis=data.axis(dim), **kind)
    return g.reshape(written, x.shape)


@register_converter("aten.scatter.src")
def scatter(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, index: Tensor,
            src: Tensor) -> Tensor:
    return _scattered(g, self, dim, index, src, "none")


@register_converter("aten.scatter.value")
def scatter_value(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, index: Tensor,
                  value: float) -> Tensor:
    return _scattered(g, self, dim, index, g.expand(g.number(value, self.dtype), index.shape),
                      "none")


@register_converter("aten.scatter.reduce", "aten.scatter.value_reduce")
def scatter_with(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, index: Tensor,
                 reduce: str, src: Tensor | None = None, value: float | None = None) -> Tensor:
    updates = src if src is not None else g.expand(g.number(value, self.dtype), index.shape)
    return _scattered(g, self, dim, index, updates, {"add": "add", "multiply": "mul"}[reduce])


@register_converter("aten.scatter_add.default")
def scatter_add(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, index: Tensor,
                src: Tensor) -> Tensor:
    return _scattered(g, self, dim, index, src, "add")


def _spread(g: GraphBuilder, x: Tensor, dim: int, index: Tensor) -> Tensor:
    """An index of one dimension, of whole slices of x."""
    if not x.rank:
        return g.reshape(index, ())
    axis = x.axis(dim)
    beside = [1] * x.rank
    beside[axis] = index.size
    return g.expand(g.reshape(index, beside), (*x.shape[:axis], index.size, *x.shape[axis + 1:]))


@register_converter("aten.index_add.default")
def index_add(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, index: Tensor, source: Tensor,
              alpha: float) -> Tensor:
    at = _spread(g, self, dim, index)
    added = source if alpha == 1 else g.mul(source, alpha)
    return _scattered(g, self, dim, at, g.reshape(added, at.shape), "add")


@register_converter("aten.index_copy.default")
def index_copy(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    at = _spread(g, self, dim, index)
    return _scattered(g, self, dim, at, g.reshape(source, at.shape), "none")


@register_converter("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
def index_fill(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, index: Tensor, value: Operand) -> Tensor:
    at = _spread(g, self, dim, index)
    filled = g.cast(value, self.dtype) if isinstance(value, Tensor) else g.number(value, self.dtype)
    return _scattered(g, self, dim, at, g.expand(filled, at.shape), "none", from_end=True)


@register_converter("aten.max_unpool2d.default", "aten.max_unpool3d.default")
def max_unpool(g: GraphBuilder, node: torch.fx.Node, self: Tensor, indices: Tensor, output_size: Sequence[int],
               **ignored: object) -> Tensor:
    dims = len(output_size)
    planes = math.prod(self.shape[:-dims])
    empty = g.expand(g.number(0, self.dtype), (planes, math.prod(output_size)))
    inner = (planes, self.size // planes)
    return g.reshape(_scattered(g, empty, 1, g.reshape(indices, inner), g.reshape(self, inner), "none"),
                     shape_of(node))


@register_converter("aten.scatter_reduce.two")
def scatter_reduce(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, index: Tensor,
                   src: Tensor, reduce: str, include_self: bool) -> Tensor:
    names = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}
    if self.dtype == "bool":
        if reduce == "mean":
            raise Unsupported("a mean of bool")
        extreme = {"sum": "amax", "prod": "amin"}.get(reduce, reduce)
        return g.cast(scatter_reduce(g, node, g.cast(self, "uint8"), dim, index, g.cast(src, "uint8"),
                                     extreme, include_self), "bool")
    start = self
    if not include_self:  # What is written to begins with what the reduction leaves as it is.
        neutral = {"sum": 0, "prod": 1, "mean": 0}.get(reduce)
        if neutral is None:
            least, most = (-numpy.inf, numpy.inf) if self.is_float else (
                int(numpy.iinfo(self.dtype).min), int(numpy.iinfo(self.dtype).max))
            neutral = least if reduce == "amax" else most
        start = _scattered(g, self, dim, index, g.expand(g.number(neutral, self.dtype), index.shape),
                           "none")
    result = _scattered(g, start, dim, index, src, names[reduce])
    if reduce != "mean":
        return result
    ones = g.expand(g.number(1, self.dtype), index.shape)
    own = g.expand(g.number(int(include_self), self.dtype), self.shape)
    counts = g.binary("max", _scattered(g, own, dim, index, ones, "add"), 1)
    if self.is_float:
        return g.div(result, counts)
    return g.div(g.sub(result, g.op("mod", result, counts)), counts)  # Rounded down.


@register_converter("aten.index_put.default", "aten._unsafe_index_put.default")
def index_put(g: GraphBuilder, node: torch.fx.Node, self: Tensor, indices: Sequence[Tensor | None],
              values: Tensor, accumulate: bool) -> Tensor:
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype == "bool":
        return _put_where(g, self, indices[0], g.cast(values, self.dtype), accumulate)
    dims, positions = _positions(g, self, indices)
    if dims != list(range(len(dims))):
        raise Unsupported("an index that is not of the first dimensions")
    if accumulate and self.dtype == "bool":
        raise Unsupported("accumulate of bool")
    if 0 in positions.shape:
        return self
    shape = (*positions.shape[:-1], *self.shape[len(dims):])
    updates = g.expand(g.cast(values, self.dtype), shape)
    kind = {"reduction": "add"} if accumulate else {}
    return g.op("scatter_nd", self, positions, updates, shape=self.shape, dtype=self.dtype, **kind)


def _taken_in_order(g: GraphBuilder, mask: Tensor, rows: Tensor) -> Tensor:
    """For each place of a mask in its order the next row; of places that are not set, any one. Too few rows end the
    run, and PyTorch has the error."""
    flat = g.cast(g.reshape(mask, (mask.size,)), "int64")
    order = g.sub(g.op("cum_sum", flat, axis=0), 1)
    chosen = g.gather(rows, g.where(g.cast(flat, "bool"), order, g.number(0, "int64")), 0)
    return g.reshape(chosen, (*mask.shape, *rows.shape[1:]))


def _put_where(g: GraphBuilder, self: Tensor, mask: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    whole = g.reshape(mask, mask.shape + (1,) * (self.rank - mask.rank))
    inner = self.shape[mask.rank:]
    if values.rank <= len(inner) or values.shape[0] == 1:  # The same for all places.
        placed = values if values.rank <= len(inner) else g.reshape(values, values.shape[1:])
    else:
        placed = _taken_in_order(g, mask, g.expand(values, (values.shape[0], *inner)))
    if accumulate:
        placed = g.op("or", self, placed) if self.dtype == "bool" else g.add(self, placed)
    return g.where(whole, g.expand(placed, self.shape), self)


@register_converter("aten.masked_scatter.default")
def masked_scatter(g: GraphBuilder, node: torch.fx.Node, self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    shape = shape_of(node)
    places = g.expand(mask, shape)
    return g.where(places, _taken_in_order(g, places, g.reshape(source, (source.size,))), g.expand(self, shape))


@register_converter("aten.tril.default", "aten.triu.default")
def triangle(g: GraphBuilder, node: torch.fx.Node, self: Tensor, diagonal: int) -> Tensor:
    of = numpy.tril if "tril" in str(node.target) else numpy.triu
    kept = of(numpy.ones(self.shape[-2:], bool), diagonal)
    zero: Operand = g.number(0, element_type(node))
    return g.where(g.constant(kept), self, zero)
