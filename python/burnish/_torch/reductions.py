"""Converters of what goes over dimensions: sums, extremes, variances, running sums, orders."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .builder import GraphBuilder, Tensor
from .registry import Unsupported, register_converter
from .types import element_type, refuse_reading, results_read

Dims = int | Sequence[int] | None


def _dims(dim: Dims) -> list[int] | None:
    """None for all: PyTorch says so by an empty list, too."""
    if dim is None or isinstance(dim, int):
        return None if dim is None else [dim]
    return list(dim) or None


def _count(x: Tensor, dims: list[int] | None) -> int:
    axes = range(x.rank) if dims is None else {x.axis(dim) for dim in dims}
    return math.prod(x.shape[axis] for axis in axes) if x.rank else 1


# In bool a sum is whether any is true, a product whether all are.
_OF_BOOLS = {"reduce_sum": "reduce_max", "reduce_prod": "reduce_min"}


def _over(name: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: Dims = None,
                keepdim: bool = False) -> Tensor:
        x = g.cast(self, element_type(node))
        if x.dtype == "bool":
            return _extreme(g, _OF_BOOLS[name], x, _dims(dim), keepdim)
        return g.reduce(name, x, _dims(dim), keepdim)
    return convert


def _over_all(name: str) -> Callable[..., Any]:
    convert_over = _over(name)

    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
        return convert_over(g, node, self)
    return convert


for _names, _op in ((("sum.dim_IntList", "sum.default"), "reduce_sum"),
                    (("mean.dim", "mean.default"), "reduce_mean"),
                    (("prod.dim_int", "prod.default"), "reduce_prod"),
                    (("logsumexp.default",), "reduce_log_sum_exp")):
    for _name in _names:
        _all = _name.endswith(".default") and _name != "logsumexp.default"
        register_converter(f"aten.{_name}")((_over_all if _all else _over)(_op))


def _extreme(g: GraphBuilder, name: str, x: Tensor, dims: list[int] | None,
             keep: bool = False) -> Tensor:
    if x.dtype != "bool":
        return g.reduce(name, x, dims, keep)
    return g.cast(g.reduce(name, g.cast(x, "uint8"), dims, keep), "bool")


def _extremes(name: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: Dims,
                keepdim: bool) -> Tensor:
        return _extreme(g, name, self, _dims(dim), keepdim)
    return convert


def _extreme_of_all(name: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
        return _extreme(g, name, self, None)
    return convert


def _extreme_and_where(name: str, arg: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int,
                keepdim: bool) -> tuple[Tensor | None, ...]:
        values = _extreme(g, name, self, [dim], keepdim)
        return values, _argument(g, arg, self, dim, keepdim) if 1 in results_read(node) else None
    return convert


def _argument(g: GraphBuilder, name: str, x: Tensor, dim: int | None, keep: bool) -> Tensor:
    x = g.cast(x, "uint8") if x.dtype == "bool" else x
    if x.rank == 0:
        return g.number(0, "int64")
    if dim is not None:
        return g.arg(name, x, dim, keep)
    flat = g.arg(name, g.reshape(x, (x.size,)), 0, False)
    return g.reshape(flat, (1,) * x.rank) if keep else flat


def _arguments(name: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int | None,
                keepdim: bool) -> Tensor:
        return _argument(g, name, self, dim, keepdim)
    return convert


for _name in ("max", "min"):
    register_converter(f"aten.a{_name}.default")(_extremes(f"reduce_{_name}"))
    register_converter(f"aten.{_name}.default")(_extreme_of_all(f"reduce_{_name}"))
    register_converter(f"aten.{_name}.dim")(_extreme_and_where(f"reduce_{_name}", f"arg{_name}"))
    register_converter(f"aten.arg{_name}.default")(_arguments(f"arg{_name}"))


def _quantifier(name: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: Dims = None,
                keepdim: bool = False) -> Tensor:
        found = _extreme(g, name, g.cast(self, "bool"), _dims(dim), keepdim)
        return g.cast(found, element_type(node))
    return convert


def _quantifier_of_all(name: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor) -> Tensor:
        return g.cast(_extreme(g, name, g.cast(self, "bool"), None), element_type(node))
    return convert


for _name, _op in (("any", "reduce_max"), ("all", "reduce_min")):
    register_converter(f"aten.{_name}.default")(_quantifier_of_all(_op))
    register_converter(f"aten.{_name}.dim", f"aten.{_name}.dims")(_quantifier(_op))


# ---- Variances, in two passes: the square of the mean would cancel against the mean of squares.

def _moments(g: GraphBuilder, x: Tensor, dims: list[int] | None, correction: float,
             keep: bool) -> tuple[Tensor, Tensor]:
    difference = g.sub(x, g.reduce("reduce_mean", x, dims, True))
    squares = g.reduce("reduce_sum_square", difference, dims, keep)
    left = max(0.0, _count(x, dims) - correction)
    variance = g.div(squares, float(left)) if left != 1 else squares
    return variance, g.reduce("reduce_mean", x, dims, keep)


@register_converter("aten.var.correction", "aten.var_mean.correction")
def variance_and_mean(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: Dims,
                      correction: float | None, keepdim: bool) -> Any:
    both = _moments(g, self, _dims(dim), 1 if correction is None else correction, keepdim)
    return both if "var_mean" in str(node.target) else both[0]


@register_converter("aten.std.correction")
def deviation(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: Dims,
              correction: float | None, keepdim: bool) -> Tensor:
    variance, _ = _moments(g, self, _dims(dim), 1 if correction is None else correction, keepdim)
    return g.op("sqrt", variance)


@register_converter("aten.var.dim")
def variance(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: Dims, unbiased: bool,
             keepdim: bool) -> Tensor:
    return _moments(g, self, _dims(dim), int(unbiased), keepdim)[0]


@register_converter("aten.linalg_vector_norm.default")
def norm(g: GraphBuilder, node: torch.fx.Node, self: Tensor, ord: float, dim: Dims,
         keepdim: bool) -> Tensor:
    x = g.cast(self, element_type(node))
    names = {1: "reduce_l1", 2: "reduce_l2"}
    if ord in names:
        return g.reduce(names[ord], x, _dims(dim), keepdim)
    if abs(ord) == math.inf:
        return g.reduce("reduce_max" if ord > 0 else "reduce_min", g.op("abs", x), _dims(dim),
                        keepdim)
    if ord == 0:
        unequal = g.cast(g.logical_not(g.compare("equal", x, 0.0)), x.dtype)
        return g.reduce("reduce_sum", unequal, _dims(dim), keepdim)
    powers = g.op("pow", g.op("abs", x), g.number(float(ord), x.dtype))
    return g.op("pow", g.reduce("reduce_sum", powers, _dims(dim), keepdim),
                g.number(1 / ord, x.dtype))


# ---- Running sums and orders.

def _running(name: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int) -> Tensor:
        x = g.cast(self, element_type(node))
        return g.op(name, x, axis=x.axis(dim)) if x.rank else x
    return convert


register_converter("aten.cumsum.default")(_running("cum_sum"))
register_converter("aten.cumprod.default")(_running("cum_prod"))


def _largest(g: GraphBuilder, x: Tensor, k: int, dim: int,
             largest: bool) -> tuple[Tensor, Tensor]:
    if x.rank == 0:
        return x, g.number(0, "int64")
    axis = x.axis(dim)
    given = g.cast(x, "uint8") if x.dtype == "bool" else x
    values, indices = g.graph.node("top_k", given.value, outputs=2, axis=axis, k=k,
                                   largest=int(largest))
    shape = (*x.shape[:axis], k, *x.shape[axis + 1:])
    return g.cast(Tensor(values, shape, given.dtype), x.dtype), Tensor(indices, shape, "int64")


@register_converter("aten.topk.default")
def topk(g: GraphBuilder, node: torch.fx.Node, self: Tensor, k: int, dim: int, largest: bool,
         **ignored: Any) -> tuple[Tensor, Tensor]:
    return _largest(g, self, k, dim, largest)  # Sorted, also where that is not asked for.


@register_converter("aten.sort.default", "aten.sort.stable")
def sort(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, descending: bool,
         **ignored: Any) -> tuple[Tensor, Tensor]:
    return _largest(g, self, self.shape[self.axis(dim)] if self.rank else 1, dim, descending)


# ---- Softmax.

def _softmax(name: str) -> Callable[..., Any]:
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int, **ignored: Any) -> Tensor:
        x = g.cast(self, element_type(node))
        if x.rank == 0:
            return g.reshape(g.op(name, g.reshape(x, (1,)), axis=0), ())
        return g.op(name, x, axis=x.axis(dim))
    return convert


register_converter("aten._softmax.default", "aten.softmax.int")(_softmax("softmax"))
register_converter("aten._log_softmax.default", "aten.log_softmax.int")(_softmax("log_softmax"))


@register_converter("aten._safe_softmax.default")
def safe_softmax(g: GraphBuilder, node: torch.fx.Node, self: Tensor, dim: int) -> Tensor:
    """Of rows of -infinity alone 0."""
    x = g.cast(self, element_type(node))
    if x.rank == 0:
        raise Unsupported("a scalar")
    empty = g.compare("equal", g.reduce("reduce_max", x, [dim], True), -math.inf)
    rows = g.op("softmax", g.where(empty, g.number(0.0, x.dtype), x), axis=x.axis(dim))
    return g.where(empty, g.number(0.0, x.dtype), rows)


@register_converter("aten.native_dropout.default")
def dropout(g: GraphBuilder, node: torch.fx.Node, input: Tensor, p: float,
            train: bool | None) -> tuple[Tensor | None, ...]:
    if train is not False and p != 0:
        raise Unsupported("training")
    refuse_reading(node, 1)
    return input, None
