"""Converters of windows over dimensions: pools, and the places of their maxima."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import torch

from .builder import GraphBuilder, Tensor
from .registry import Unsupported, register_converter
from .types import refuse_reading, shape_of


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
    refuse_reading(node, 1)
    return _pool(g, node, "max_pool", self, kernel_size, stride, padding, ceil_mode,
                 dilations=each(dilation, _dims_of(node))), None


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
    # Windows of different extents: a product with the weights of each, a dimension at a time.
    for axis, size, want in zip(range(self.rank - dims, self.rank), sizes, wanted):
        weights = numpy.zeros((size, want), self.dtype)
        for i in range(want):
            begin, end = i * size // want, -(-(i + 1) * size // want)
            weights[begin:end, i] = 1 / (end - begin)
        order = [d for d in range(self.rank) if d != axis] + [axis]
        moved = g.transpose(self, order)
        rows = g.reshape(moved, (moved.size // size, size))
        means = g.reshape(g.matmul(rows, g.constant(weights)), (*moved.shape[:-1], want))
        self = g.transpose(means, [order.index(d) for d in range(self.rank)])
    return self
