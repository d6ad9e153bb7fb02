"""A `Graph` whose values have types: what converters write operators with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .._graph import Graph, Value

# Names of NumPy's and PyTorch's types, which agree, to those of docs/model-graph.md.
ELEMENT_TYPES = {"float32": "f32", "float64": "f64", "int64": "i64", "int32": "i32",
                 "int16": "i16", "int8": "i8", "uint64": "u64", "uint32": "u32",
                 "uint16": "u16", "uint8": "u8", "bool": "bool", "float16": "f16",
                 "bfloat16": "bf16"}
NARROW = frozenset({"float16", "bfloat16"})  # Stored so, and computed in float32.
Shape = tuple[int, ...]
# No axis has this element: the compiler's extents end at 2^28. Both types of indices hold it.
_BEYOND = 2 ** 31 - 1


class Tensor:
    """A value with its type. `moved`: what it is a transposition of, by which order of axes; `merged`: such a
    transposition that it is a reshape of."""

    __slots__ = ("dtype", "merged", "moved", "shape", "value")

    def __init__(self, value: Value, shape: Sequence[int], dtype: str):
        self.value = value
        self.shape = tuple(int(extent) for extent in shape)
        self.dtype = dtype
        self.moved: tuple[Tensor, list[int]] | None = None
        self.merged: Tensor | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def transposed(self) -> Tensor | None:
        """The matrix that this one is the transposition of: a product reads that instead."""
        return self.moved[0] if self.moved is not None and self.moved[1] == [1, 0] else None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_float(self) -> bool:
        return "float" in self.dtype

    def axis(self, dim: int) -> int:
        """A dimension counted from the front; that of a scalar, which PyTorch allows, is 0."""
        return dim % self.rank if self.rank else 0

    def __repr__(self) -> str:
        return f"<Tensor {self.value.name} {self.dtype}{list(self.shape)}>"


Operand = Tensor | int | float | bool


def _bfloat16_bits(value: float) -> numpy.uint16:
    """Rounded to the nearest, ties to even: by way of float32, as PyTorch rounds a number of Python's."""
    with numpy.errstate(over="ignore"):
        word = int(numpy.array(value).astype(numpy.float32).view(numpy.uint32))
    if math.isnan(value):
        return numpy.uint16(word >> 16 | 0x40)  # Some bit of the fraction that is left.
    return numpy.uint16(word + 0x7FFF + (word >> 16 & 1) >> 16)


class GraphBuilder:
    """Writes operators of docs/model-graph.md into a graph. Methods take tensors of one type unless
    they say otherwise; where one of two operands is a number, it gets the other's type."""

    def __init__(self, name: str = "torch", sized: bool = False):
        """`sized`: of a graph whose sizes are not all fixed; then operators that change nothing at these sizes are
        written all the same, since they may at others."""
        self.graph = Graph(name)
        self._sized = sized
        self._scalars: dict[tuple[str, str], Tensor] = {}

    def input(self, name: str, shape: Sequence[int], dtype: str) -> Tensor:
        return Tensor(self.graph.input(name, shape, dtype), shape, dtype)

    def constant(self, array: Any, name: str | None = None) -> Tensor:
        """A NumPy array, or a tensor of PyTorch's."""
        return Tensor(self.graph.constant(array, name), array.shape, str(array.dtype).removeprefix("torch."))

    def filled(self, shape: Sequence[int], value: float, dtype: str) -> Tensor:
        """A constant whose elements are all `value`."""
        if dtype == "bfloat16":
            return Tensor(self.graph.constant(numpy.full(shape, _bfloat16_bits(value)), None, dtype),
                          shape, dtype)
        with numpy.errstate(over="ignore"):  # What f32 cannot hold is infinite, as in PyTorch.
            return self.constant(numpy.full(shape, numpy.array(value).astype(dtype)))

    def number(self, value: float, dtype: str) -> Tensor:
        """A constant without dimensions; the same one for the same value."""
        key = (repr(value), dtype)  # As text: 0.0 and -0.0 are equal, NaN is unequal to itself.
        if key not in self._scalars:
            self._scalars[key] = self.filled((), value, dtype)
        return self._scalars[key]

    def op(self, name: str, *inputs: Tensor, shape: Sequence[int] | None = None,
           dtype: str | None = None, **attributes: Any) -> Tensor:
        """An operator of one result, which by default has the shape that the inputs broadcast to and
        the type of the first."""
        if shape is None:
            shape = numpy.broadcast_shapes(*(x.shape for x in inputs))
        value = self.graph.node(name, *(x.value for x in inputs), **attributes)
        return Tensor(value, shape, inputs[0].dtype if dtype is None else dtype)

    def _pair(self, a: Operand, b: Operand) -> tuple[Tensor, Tensor]:
        like = a if isinstance(a, Tensor) else b
        assert isinstance(like, Tensor), "one of two operands has to be a tensor"
        return (a if isinstance(a, Tensor) else self.number(a, like.dtype),
                b if isinstance(b, Tensor) else self.number(b, like.dtype))

    def binary(self, name: str, a: Operand, b: Operand) -> Tensor:
        if isinstance(a, Tensor) and not isinstance(b, Tensor):
            return self.op(name, a, self.factor(b, a.dtype))
        return self.op(name, *self._pair(a, b))

    def factor(self, value: float, dtype: str) -> Tensor:
        """A number behind a tensor of that type: where both are computed in float32 it is not rounded, nor does
        PyTorch round it."""
        return self.number(value, "float32" if dtype in NARROW else dtype)

    def add(self, a: Operand, b: Operand) -> Tensor:
        return self.binary("add", a, b)

    def sub(self, a: Operand, b: Operand) -> Tensor:
        return self.binary("sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Tensor:
        return self.binary("mul", a, b)

    def div(self, a: Operand, b: Operand) -> Tensor:
        """Of integers, the quotient without its fraction."""
        return self.binary("div", a, b)

    def compare(self, name: str, a: Operand, b: Operand) -> Tensor:
        """equal, less, less_equal, greater or greater_equal; of bool equal alone."""
        return self.op(name, *self._pair(a, b), dtype="bool")

    def where(self, condition: Tensor, a: Operand, b: Operand) -> Tensor:
        a, b = self._pair(a, b)
        return self.op("where", condition, a, b, dtype=a.dtype)

    def logical_not(self, x: Tensor) -> Tensor:
        return self.op("not", x)

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        if x.dtype == dtype:
            return x
        return self.op("cast", x, dtype=dtype, to=ELEMENT_TYPES[dtype])

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        shape = tuple(int(extent) for extent in shape)
        if x.merged is not None and x.merged.shape == shape:
            return x.merged
        if x.shape == shape and not self._sized:
            return x
        result = self._shaped("reshape", x, shape)
        result.merged = x if x.moved is not None else None
        return result

    def expand(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        shape = tuple(int(extent) for extent in shape)
        return x if x.shape == shape and not self._sized else self._shaped("expand", x, shape)

    def _shaped(self, name: str, x: Tensor, shape: Shape) -> Tensor:
        return Tensor(self.graph.node(name, x.value, shape=shape), shape, x.dtype)

    def transpose(self, x: Tensor, order: Sequence[int]) -> Tensor:
        order = [x.axis(dim) for dim in order]
        if x.moved is not None:
            x, before = x.moved
            order = [before[dim] for dim in order]
        if order == list(range(x.rank)):
            return x
        result = self.op("transpose", x, shape=[x.shape[dim] for dim in order], perm=order)
        result.moved = (x, order)
        return result

    def by_rows(self, x: Tensor, product: Callable[[Tensor], Tensor]) -> Tensor:
        """What `product` makes of a matrix, of each row by itself. Rows that were moved before are taken as they lay and
        moved afterwards: PyTorch's attention has the batch inside, where all rows of a dynamic batch's bound would be
        computed, and behind the product it often moves them back."""
        moved = x.merged
        if moved is None or moved.moved is None or x.rank != 2:
            return product(x)
        source, order = moved.moved
        count = next((n for n in range(moved.rank) if moved.shape[:n] and math.prod(moved.shape[:n]) == x.shape[0]), 0)
        as_before = sorted(order[:count])
        if as_before == order[:count]:
            return product(x)
        rows = self.reshape(self.transpose(source, [*as_before, *order[count:]]), x.shape)
        result = product(rows)
        apart = self.reshape(result, (*(source.shape[axis] for axis in as_before), result.shape[1]))
        again = self.transpose(apart, [*(as_before.index(axis) for axis in order[:count]), count])
        return self.reshape(again, result.shape)

    def concat(self, tensors: Sequence[Tensor], dim: int) -> Tensor:
        if len(tensors) == 1:
            return tensors[0]
        axis = tensors[0].axis(dim)
        shape = list(tensors[0].shape)
        shape[axis] = sum(x.shape[axis] for x in tensors)
        return self.op("concat", *tensors, shape=shape, axis=axis)

    def slice(self, x: Tensor, dim: int, begin: int, end: int, step: int = 1) -> Tensor:
        """Elements from `begin` until before `end`; with a negative step -1 is before the first."""
        axis = x.axis(dim)
        if (begin, end, step) == (0, x.shape[axis], 1) and not self._sized:
            return x
        shape = list(x.shape)
        shape[axis] = len(range(begin, end, step))
        return self.op("slice", x, shape=shape, axes=[axis], starts=[begin], ends=[end],
                       steps=[step])

    def select(self, x: Tensor, dim: int, index: int) -> Tensor:
        axis = x.axis(dim)
        index %= x.shape[axis]
        return self.reshape(self.slice(x, axis, index, index + 1),
                            x.shape[:axis] + x.shape[axis + 1:])

    def split(self, x: Tensor, dim: int, sizes: Sequence[int]) -> tuple[Tensor, ...]:
        if len(sizes) == 1:
            return (x,)
        axis = x.axis(dim)
        values = self.graph.node("split", x.value, outputs=len(sizes), axis=axis,
                                 split=[int(size) for size in sizes])
        return tuple(Tensor(value, (*x.shape[:axis], int(size), *x.shape[axis + 1:]), x.dtype)
                     for value, size in zip(values, sizes))

    def reduce(self, name: str, x: Tensor, dims: Sequence[int] | None,
               keep: bool = False) -> Tensor:
        """reduce_sum, reduce_max, ...: over all dimensions without `dims`."""
        axes = sorted({x.axis(dim) for dim in dims}) if dims is not None else list(range(x.rank))
        if x.rank == 0:
            axes = []
        shape = [1 if d in axes else extent for d, extent in enumerate(x.shape)
                 if keep or d not in axes]
        return self.op(name, x, shape=shape, axes=axes, keepdims=int(keep))

    def arg(self, name: str, x: Tensor, dim: int, keep: bool) -> Tensor:
        """argmax or argmin along one dimension."""
        axis = x.axis(dim)
        shape = x.shape[:axis] + ((1,) if keep else ()) + x.shape[axis + 1:]
        return self.op(name, x, shape=shape, dtype="int64", axis=axis, keepdims=int(keep))

    def matmul(self, a: Tensor, b: Tensor) -> Tensor:
        """Of matrices, batches broadcast."""
        batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return self.op("matmul", a, b, shape=(*batch, a.shape[-2], b.shape[-1]))

    def gather(self, x: Tensor, indices: Tensor, dim: int) -> Tensor:
        """Indices below 0 count from the end; beyond both ends a run fails."""
        axis = x.axis(dim)
        return self.op("gather", x, self.index(indices), dtype=x.dtype, axis=axis,
                       shape=(*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]))

    def index(self, indices: Tensor) -> Tensor:
        """Of a type that gather and its like take."""
        return indices if indices.dtype == "int32" else self.cast(indices, "int64")

    def from_start(self, indices: Tensor) -> Tensor:
        """Indices of which none may count from the end: one below 0 becomes one that is beyond every axis."""
        at = self.index(indices)
        return self.where(self.compare("less", at, 0), self.number(_BEYOND, at.dtype), at)
