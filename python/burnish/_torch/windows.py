"""Converters of windows over dimensions: pools, and the places of their maxima."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy
import torch

from .builder import GraphBuilder, Tensor
from .registry import Unsupported, register_converter
from .types import results_read, shape_of


def each(values: int | Sequence[int], dims: int) -> list[int]:
    """PyTorch takes one number for all dimensions."""
    values = [values] if isinstance(values, int) else list(values)
    return values * dims if len(values) == 1 else values


def batched(g: GraphBuilder, x: Tensor, dims: int) -> Tensor:
    return x if x.rank == dims + 2 else g.reshape(x, (1, *x.shape))


def _pool(g: GraphBuilder, node: torch.fx.Node, name: str, x: Tensor, kernel: Sequence[int],
          stride: Sequence[int], padding: int | Sequence[int], ceil_mode: bool,
          **attributes: Any) -> Tensor:
    dims = _dims_of(node)
    kernel = each(kernel, dims)
    shape = shape_of(node)
    y = g.op(name, batched(g, x, dims), shape=shape if x.rank == dims + 2 else (1, *shape),
             kernel_shape=kernel, strides=each(stride, dims) or kernel,
             pads=each(padding, dims) * 2, ceil_mode=int(ceil_mode), **attributes)
    return g.reshape(y, shape)


def _dims_of(node: torch.fx.Node) -> int:
    """Of pools: the operator's name says it."""
    return next(dims for dims in (1, 2, 3) if f"{dims}d" in str(node.target))


@register_converter("aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default")
def max_pool_with_indices(g: GraphBuilder, node: torch.fx.Node, self: Tensor,
                          kernel_size: Sequence[int], stride: Sequence[int],
                          padding: Sequence[int], dilation: Sequence[int],
                          ceil_mode: bool) -> tuple[Tensor | None, ...]:
    y = max_pool(g, node, self, kernel_size, stride, padding, dilation, ceil_mode)
    if 1 not in results_read(node):
        return y, None
    return y, _places_of_maxima(g, node, self, kernel_size, stride, padding, dilation)


def _places_of_maxima(g: GraphBuilder, node: torch.fx.Node, x: Tensor, kernel_size: Sequence[int],
                      stride: Sequence[int], padding: Sequence[int],
                      dilation: Sequence[int]) -> Tensor:
    """Where in an input's plane each window has its maximum: every window is laid out, which takes the input's memory
    as often as a window has elements."""
    dims = _dims_of(node)
    kernel, pads, apart = each(kernel_size, dims), each(padding, dims), each(dilation, dims)
    steps = each(stride, dims) or kernel
    extents, counts = x.shape[-dims:], shape_of(node)[-dims:]
    windows, inside = x, numpy.ones((), bool)
    places = first = numpy.zeros((), numpy.int64)
    for axis in range(dims):
        at = numpy.arange(counts[axis])[:, None] * steps[axis] - pads[axis] + apart[axis] * numpy.arange(kernel[axis])
        # Dimension `axis` of the plane becomes two; those before are two each already.
        windows = g.gather(windows, g.constant(at.clip(0, extents[axis] - 1)), x.rank - dims + 2 * axis)
        inside = inside[..., None, None] & ((at >= 0) & (at < extents[axis]))
        places = places[..., None, None] * extents[axis] + at
        begin = numpy.where(at[:, 0] < 0, at[:, 0] % apart[axis], at[:, 0])
        first = first[..., None] * extents[axis] + begin
    # All windows' dimensions, then all within a window.
    order = [2 * axis for axis in range(dims)] + [2 * axis + 1 for axis in range(dims)]
    shape = (*counts, math.prod(kernel))
    inside, places = (numpy.transpose(one, order).reshape(shape) for one in (inside, places))
    # A window of nothing but the least number has its maximum where it begins behind the plane's edge. One of no
    # element at all has it there, too.
    places = numpy.where(inside, places, first[..., None])
    before = list(range(x.rank - dims))
    windows = g.reshape(g.transpose(windows, before + [x.rank - dims + axis for axis in order]),
                        (*x.shape[:-dims], *shape))
    least = -math.inf if windows.is_float else int(numpy.iinfo(windows.dtype).min)
    windows = g.where(g.constant(inside), windows, g.number(least, windows.dtype))
    best = g.reshape(g.arg("argmax", windows, -1, False), (*windows.shape[:-1], 1))
    if windows.is_float:  # Of several NaN eager takes the last.
        order = g.expand(g.constant(numpy.arange(shape[-1])), windows.shape)
        is_nan = g.op("is_nan", windows, dtype="bool")
        last = g.reshape(g.arg("argmax", g.where(is_nan, order, -1), -1, False), best.shape)
        found = g.op("gather_elements", is_nan, last, shape=best.shape, axis=best.rank - 1)
        best = g.where(found, last, best)
    all_places = g.expand(g.constant(places), windows.shape)
    return g.reshape(g.op("gather_elements", all_places, best, shape=best.shape, axis=best.rank - 1), shape_of(node, 1))


@register_converter("aten.max_pool2d.default", "aten.max_pool1d.default", "aten.max_pool3d.default")
def max_pool(g: GraphBuilder, node: torch.fx.Node, self: Tensor, kernel_size: Sequence[int],
             stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
             ceil_mode: bool) -> Tensor:
    return _pool(g, node, "max_pool", self, kernel_size, stride, padding, ceil_mode,
                 dilations=each(dilation, _dims_of(node)))


@register_converter("aten.avg_pool1d.default")
def avg_pool1d(g: GraphBuilder, node: torch.fx.Node, self: Tensor, kernel_size: Sequence[int],
               stride: Sequence[int], padding: Sequence[int], ceil_mode: bool,
               count_include_pad: bool) -> Tensor:
    # Of integers exact, as long as sums stay below 2^53.
    x = self if self.is_float else g.cast(self, "float64")
    means = _pool(g, node, "average_pool", x, kernel_size, stride, padding, ceil_mode,
                  count_include_pad=int(count_include_pad))
    return g.cast(means, self.dtype)


@register_converter("aten.avg_pool2d.default", "aten.avg_pool3d.default")
def avg_pool(g: GraphBuilder, node: torch.fx.Node, self: Tensor, kernel_size: Sequence[int],
             stride: Sequence[int], padding: Sequence[int], ceil_mode: bool,
             count_include_pad: bool, divisor_override: int | None) -> Tensor:
    if divisor_override is None:
        return avg_pool1d(g, node, self, kernel_size, stride, padding, ceil_mode, count_include_pad)
    x = self if self.is_float else g.cast(self, "float64")
    means = avg_pool1d(g, node, x, kernel_size, stride, padding, ceil_mode, True)
    dims, counts = _dims_of(node), numpy.ones(())
    kernel, pads = each(kernel_size, dims), each(padding, dims)
    steps = each(stride, dims) or kernel
    for axis in range(dims):  # With ceil_mode the last window may be cut.
        begin = numpy.arange(shape_of(node)[axis - dims]) * steps[axis] - pads[axis]
        end = numpy.minimum(begin + kernel[axis], self.shape[axis - dims] + pads[axis])
        counts = counts[..., None] * (end - begin)
    if self.is_float:
        return g.mul(means, g.constant((counts / divisor_override).astype(self.dtype)))
    totals = g.op("round", g.mul(means, g.constant(counts.astype("float64"))))
    return g.cast(g.div(totals, float(divisor_override)), self.dtype)


@register_converter("aten._adaptive_avg_pool2d.default", "aten._adaptive_avg_pool3d.default",
                    "aten.adaptive_avg_pool1d.default", "aten.adaptive_avg_pool2d.default")
def adaptive_avg_pool(g: GraphBuilder, node: torch.fx.Node, self: Tensor,
                      **ignored: Any) -> Tensor:
    dims = _dims_of(node)
    if not self.is_float:
        raise Unsupported(f"a mean of {self.dtype}")
    sizes, wanted = self.shape[-dims:], shape_of(node)[-dims:]
    if all(size % want == 0 for size, want in zip(sizes, wanted)):
        if sizes == wanted:
            return self
        axes = list(range(self.rank - dims, self.rank))
        if set(wanted) == {1}:
            return g.reduce("reduce_mean", self, axes, True)
        kernel = [size // want for size, want in zip(sizes, wanted)]
        return _pool(g, node, "average_pool", self, kernel, kernel, 0, False)
    # Windows of different extents: the elements of each, a dimension at a time, and 0 for what it lacks.
    for axis, size, want in zip(range(self.rank - dims, self.rank), sizes, wanted):
        begin = numpy.arange(want) * size // want
        end = -(-(numpy.arange(want) + 1) * size // want)
        at = begin[:, None] + numpy.arange((end - begin).max())
        behind = (1,) * (self.rank - 1 - axis)
        windows = g.gather(self, g.constant(at.clip(0, size - 1)), axis)
        inside = (at < end[:, None]).reshape(*at.shape, *behind)
        windows = g.where(g.constant(inside), windows, g.number(0.0, self.dtype))
        counts = (end - begin).astype(self.dtype).reshape(want, *behind)
        self = g.div(g.reduce("reduce_sum", windows, [axis + 1]), g.constant(counts))
    return self
