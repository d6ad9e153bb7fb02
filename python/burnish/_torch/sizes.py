"""One graph for all sizes of a range (docs/adr/0029-ranges-from-traces.md).

PyTorch's graph is traced at the greatest sizes and at a few others, and each trace is converted as any graph of
fixed sizes is. What differs between them has to be a sum of products of sizes: it is fitted to some traces and
held to another. The compiler proves that each operator keeps to what a run fills.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from .._graph import Graph
from . import importer
from .builder import GraphBuilder
from .registry import Unsupported
from .results import Results

SYMBOLS_MAX = 3  # Traces double with each.
# Of a range's end, where nobody sets it: below the first, a bundle for more costs hardly more. What the graph says of a
# size is the end where that is at most so many times the power of two; else it is too far for its memory.
BOUND_LEAST = 8
KNOWN_TIMES_MAX = 4
_INFINITE = 1 << 28  # More than a tensor's axis has (docs/model-graph.md).
_LEAST = 2  # PyTorch has graphs of their own for 0 and 1.

# Products of sizes, by their places, to factors.
Sum = dict[tuple[int, ...], int]


@dataclasses.dataclass(frozen=True)
class Size:
    """A size that calls decide, and where they say it."""

    symbol: Any
    argument: int
    axis: int
    least: int
    greatest: int | None  #: None: the graph does not say.


def _expression(value: Any) -> Any:
    """Of PyTorch's symbolic number sympy's; of a number itself."""
    node = getattr(value, "node", None)
    return value if node is None else node.expr


def _numbers(node: torch.fx.Node) -> list[Any]:
    """What a node's shape is made of."""
    value = node.meta.get("val")
    every = value if isinstance(value, (tuple, list)) else (value,)
    found: list[Any] = []
    for one in every:
        found.extend(one.shape if isinstance(one, torch.Tensor) else [one])
    return [one for one in found if hasattr(one, "node")]


def sizes_of(module: torch.fx.GraphModule, frozen: Sequence[int]) -> list[Size]:
    """The sizes of a module whose nodes say symbols; Unsupported where it has others than a range can have."""
    found: dict[Any, Size] = {}
    symbols = set()
    for i, node in enumerate(module.graph.find_nodes(op="placeholder")):
        value = node.meta.get("val")
        for axis, extent in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            expression = _expression(extent)
            if isinstance(expression, int):
                continue
            symbols |= expression.free_symbols
            if expression.is_Symbol and i not in frozen and expression not in found and importer.is_read(node):
                found[expression] = _size(extent, expression, i, axis)
    for node in module.graph.nodes:
        for number in _numbers(node):
            symbols |= number.node.expr.free_symbols
    alone = sorted(str(symbol) for symbol in symbols if symbol not in found)
    if alone:
        raise Unsupported(f"no input has a dimension of {alone[0]} alone")
    if not found or len(found) > SYMBOLS_MAX:
        raise Unsupported(f"{len(found)} sizes, want 1 to {SYMBOLS_MAX}")
    return list(found.values())


def _size(extent: Any, symbol: Any, argument: int, axis: int) -> Size:
    known = extent.node.shape_env.var_to_range.get(symbol)
    least = _LEAST if known is None else max(_LEAST, int(known.lower))
    greatest = None
    if known is not None and bool(known.upper < _INFINITE):  # It may be PyTorch's own infinity.
        greatest = int(known.upper)
    return Size(symbol, argument, axis, least, greatest)


def values_of(sizes: Sequence[Size], args: Sequence[Any]) -> tuple[int, ...]:
    return tuple(args[size.argument].shape[size.axis] for size in sizes)


def bounds_of(sizes: Sequence[Size], values: Sequence[int], before: Sequence[tuple[int, ...]],
              limit: int | None) -> tuple[int, ...] | None:
    """Of a bundle that is made for a call of these sizes; None where there may be none. `before`: of bundles that
    are there, which it covers as well, so that there are few."""
    bounds = []
    for i, (size, value) in enumerate(zip(sizes, values)):
        bound = max(BOUND_LEAST, 1 << (value - 1).bit_length(), *(one[i] for one in before))
        if limit is not None:
            bound = limit
        if size.greatest is not None and size.greatest <= (1 if limit is not None else KNOWN_TIMES_MAX) * bound:
            bound = size.greatest
        if not max(size.least, _LEAST) <= value <= bound or bound <= size.least:
            return None
        bounds.append(bound)
    return tuple(bounds)


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The key of a range's bundle."""

    bounds: tuple[int, ...]


class At:
    """What a module's symbols are for some sizes."""

    def __init__(self, sizes: Sequence[Size], values: Sequence[int]):
        self._values = {size.symbol: value for size, value in zip(sizes, values)}

    def number(self, value: Any) -> Any:
        expression = _expression(value)
        if isinstance(expression, (bool, int, float)):
            return expression
        return int(expression.subs(self._values))

    def numbers(self, values: Sequence[Any]) -> list[Any]:
        return [self.number(one) for one in values]

    def of(self, node: torch.fx.Node) -> Any:
        """What the node's result is like: a tensor without memory, or a number."""
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            return self.number(value)
        shape, stride = self.numbers(value.shape), self.numbers(value.stride())
        offset = self.number(value.storage_offset())
        reach = 1 + offset + sum((n - 1) * step for n, step in zip(shape, stride))
        return torch.empty(max(reach, 0), dtype=value.dtype, device="meta").as_strided(shape, stride, offset)


@dataclasses.dataclass
class _Trace:
    """A module at some sizes, and what was made of it."""

    module: torch.fx.GraphModule
    written: importer.Written
    builder: GraphBuilder
    results: Results
    values: tuple[int, ...]


@dataclasses.dataclass
class Range:
    """A graph of sizes, and how its module's arguments and results belong to it."""

    graph: Graph
    sizes: list[Size]
    bounds: tuple[int, ...]
    module: torch.fx.GraphModule  #: At the bounds.
    written: importer.Written
    results: Results  #: Of nodes that say symbols.


def range_of(module: torch.fx.GraphModule, sizes: Sequence[Size], bounds: Sequence[int],
             constants: Mapping[str, torch.Tensor], name: str) -> Range:
    """Unsupported where it is not the same graph at all sizes."""
    traces = [_traced(module, sizes, point, constants, name) for point in _points(sizes, bounds)]
    top = traces[0]
    for other in traces[1:]:
        _check_alike(top, other)
    fit = _Fit(traces)
    header = [trace.builder.graph.header() for trace in traces]
    for one in header[0]["inputs"]:
        _fit_axes(fit, one, [_by_name(each["inputs"], one["name"]) for each in header])
    for i, one in enumerate(header[0]["constants"]):
        _fit_axes(fit, one, [each["constants"][i] for each in header])
        _check_elements(one["name"], [trace.builder.graph.data(i) for trace in traces])
    for i, one in enumerate(header[0]["nodes"]):
        _fit_places(fit, one, [each["nodes"][i] for each in header])
    top.builder.graph.give_sizes([
        {"name": f"s{i}", "least": size.least, "greatest": bound}
        for i, (size, bound) in enumerate(zip(sizes, bounds))])
    by_name = {node.name: node for node in module.graph.nodes}
    results = top.results
    results.made = [by_name[node.name] for node in results.made]
    for entry in results.entries:
        entry.node = None if entry.node is None else by_name[entry.node.name]
        entry.owner = None if entry.owner is None else by_name[entry.owner.name]
    return Range(top.builder.graph, list(sizes), tuple(bounds), top.module, top.written, results)


def _points(sizes: Sequence[Size], bounds: Sequence[int]) -> list[tuple[int, ...]]:
    """The greatest first; then all that differ from them in some sizes, and some that nothing is fitted to."""
    low = [min(max(size.least, prime), bound - 1) for size, bound, prime in zip(sizes, bounds, (5, 7, 11))]
    corners = list(itertools.product(*zip(bounds, low)))
    # Even and odd, so that halves that are rounded down are no sums either.
    others = [tuple(min(max(size.least, bound * share // 4 - i), bound - 1)
                    for i, (size, bound) in enumerate(zip(sizes, bounds))) for share in (2, 3)]
    return list(dict.fromkeys([*corners, *others]))


def _traced(module: torch.fx.GraphModule, sizes: Sequence[Size], values: tuple[int, ...],
            constants: Mapping[str, torch.Tensor], name: str) -> _Trace:
    at = At(sizes, values)
    given = []
    with FakeTensorMode():
        for node in module.graph.find_nodes(op="placeholder"):
            value = node.meta["val"]
            given.append(torch.empty_strided(at.numbers(value.shape), at.numbers(value.stride()), dtype=value.dtype,
                                             device=value.device)
                         if isinstance(value, torch.Tensor) else at.number(value))
    try:
        sized = importer.with_sizes(module, given)
    except Exception as error:  # What PyTorch's guards say of the sizes is more than their range.
        raise Unsupported(f"not for sizes {values}: {type(error).__name__}: {error}") from error
    missing = importer.reasons(sized.graph)
    if missing:
        raise Unsupported(importer.names_of(missing))
    builder = GraphBuilder(name, sized=True)
    written = importer.Written(builder, sized, constants, unread=False)
    results = Results(sized, written.returned)
    results.name_outputs(builder, written.values)
    return _Trace(sized, written, builder, results, values)


def _by_name(rows: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next(row for row in rows if row["name"] == name)


def _check_alike(top: _Trace, other: _Trace) -> None:
    ours, theirs = top.builder.graph.header(), other.builder.graph.header()
    where = f"sizes {other.values} make another graph than {top.values}"
    for key in ("inputs", "constants", "outputs"):
        if [row["name"] for row in ours[key]] != [row["name"] for row in theirs[key]]:
            raise Unsupported(f"{where}: its {key}")
    if [row["value"] for row in ours["outputs"]] != [row["value"] for row in theirs["outputs"]]:
        raise Unsupported(f"{where}: its outputs")
    if top.results.signature() != other.results.signature():
        raise Unsupported(f"{where}: what results share")
    for one, two in itertools.zip_longest(ours["nodes"], theirs["nodes"]):
        if one is None or two is None or any(one[key] != two[key] for key in ("op", "inputs", "outputs")):
            raise Unsupported(f"{where}: {(one or two)['op']}")


class _Fit:
    """Sums of products of sizes through what traces say."""

    def __init__(self, traces: Sequence[_Trace]):
        points = [trace.values for trace in traces]
        count = len(points[0])
        self._products = [subset for length in range(count + 1)
                          for subset in itertools.combinations(range(count), length)]
        self._rows = numpy.array([[math.prod(point[i] for i in subset) for subset in self._products]
                                  for point in points], dtype=numpy.float64)

    def __call__(self, numbers: Sequence[int], what: str) -> Sum | None:
        """None: they are all the same."""
        if all(number == numbers[0] for number in numbers):
            return None
        corners = len(self._products)
        factors = numpy.linalg.solve(self._rows[:corners], numpy.array(numbers[:corners], dtype=numpy.float64))
        whole = {subset: round(factor) for subset, factor in zip(self._products, factors) if round(factor)}
        rows = self._rows.astype(numpy.int64)
        places = {subset: i for i, subset in enumerate(self._products)}
        for row, number in zip(rows, numbers):
            if sum(factor * int(row[places[subset]]) for subset, factor in whole.items()) != number:
                raise Unsupported(f"{what} is no sum of products of sizes: {list(numbers)}")
        return whole


def _message(whole: Sum) -> dict[str, Any]:
    return {"products": [{"factor": factor, "sizes": list(subset)} for subset, factor in whole.items()]}


def _fit_axes(fit: _Fit, row: dict[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    if any(len(each["shape"]) != len(row["shape"]) or each["dtype"] != row["dtype"] for each in rows):
        raise Unsupported(f"{row['name']} has another type at other sizes")
    for axis in range(len(row["shape"])):
        whole = fit([each["shape"][axis] for each in rows], f"axis {axis} of {row['name']}")
        if whole is not None:
            row.setdefault("axes", []).append({"axis": axis, "holds": _message(whole)})


def _check_elements(name: str, arrays: Sequence[Any]) -> None:
    """At smaller sizes a constant has to be the first elements of what it is at the greatest."""
    top = arrays[0]
    for other in arrays[1:]:
        if other.shape == top.shape and other.ctypes.data == top.ctypes.data:
            continue  # A weight.
        first = top[tuple(slice(0, extent) for extent in other.shape)]
        if first.shape != other.shape or not numpy.array_equal(
                numpy.ascontiguousarray(first).view(numpy.uint8), numpy.ascontiguousarray(other).view(numpy.uint8)):
            raise Unsupported(f"{name}, a constant, follows a size")


def _fit_places(fit: _Fit, row: dict[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    for key, value in row["attributes"].items():
        others = [each["attributes"].get(key) for each in rows]
        if all(other == value for other in others):
            continue
        if "ints" not in value or (row["op"], key) not in _DECIDED:
            raise Unsupported(f"{key} of {row['op']} follows a size")
        lists = [other["ints"]["values"] if other and "ints" in other else [] for other in others]
        if any(len(each) != len(lists[0]) for each in lists):
            raise Unsupported(f"{key} of {row['op']} has another length at other sizes")
        for index in range(len(lists[0])):
            whole = fit([each[index] for each in lists], f"{key} of {row['op']}")
            if whole is not None:
                row.setdefault("places", []).append({"attribute": key, "index": index, "is": _message(whole)})


# What compiler/frontend/sized_graph.h takes.
_DECIDED = frozenset({("reshape", "shape"), ("expand", "shape"), ("slice", "starts"), ("slice", "ends")})
