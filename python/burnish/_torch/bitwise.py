"""Converters of operators on the bits of integers, by the arithmetic that Burnish's expressions have.

Exact, and slow: a conjunction looks up eight bits at a time, which is fine for the masks and hashes that models have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import torch

from .builder import GraphBuilder, Operand, Tensor
from .registry import register_converter
from .types import element_type

_BYTES = 256


def _converted(g: GraphBuilder, dtype: str, *operands: Operand) -> list[Tensor]:
    return [g.cast(x, dtype) if isinstance(x, Tensor) else g.number(x, dtype) for x in operands]


def _floor_quotient(g: GraphBuilder, a: Tensor, b: Tensor) -> Tensor:
    """The remainder goes first: a division of integers rounds toward 0."""
    return g.div(g.sub(a, g.op("mod", a, b)), b)


def _bytes_of(g: GraphBuilder, x: Tensor, count: int) -> list[Tensor]:
    """As int64, the lowest first."""
    base, found = g.number(_BYTES, "int64"), []
    for _ in range(count):
        found.append(g.op("mod", x, base))
        x = _floor_quotient(g, x, base)
    return found


def _both(g: GraphBuilder, a: Tensor, b: Tensor, size_bytes: int) -> Tensor:
    """a & b of int64, of which the lowest bytes count."""
    one = numpy.arange(_BYTES)
    table = g.constant((one[:, None] & one).reshape(-1))
    total = None
    for place, (left, right) in enumerate(zip(_bytes_of(g, a, size_bytes), _bytes_of(g, b, size_bytes))):
        shape = numpy.broadcast_shapes(left.shape, right.shape)
        at = g.op("add", g.mul(left, _BYTES), right, shape=shape)
        part = g.gather(table, at, 0)
        # The factor of the last byte wraps, and so do sums: what is left has the right bits.
        part = part if place == 0 else g.mul(part, 1 << 8 * place)
        total = part if total is None else g.add(total, part)
    assert total is not None
    return total


def _wrapped(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _bitwise(on_bool: str, ors: int, ands: int) -> Callable[..., Any]:
    """a | b = a + b - (a & b), a ^ b = a + b - 2 (a & b)."""
    def convert(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand) -> Tensor:
        dtype = element_type(node)
        if dtype == "bool":
            return g.op(on_bool, *_converted(g, "bool", self, other))
        a, b = _converted(g, "int64", *_converted(g, dtype, self, other))
        both = _both(g, a, b, numpy.dtype(dtype).itemsize)
        return g.cast(g.sub(g.add(a, b), g.mul(both, ands)) if ors else both, dtype)
    return convert


for _name, _of in {"and": ("and", 0, 1), "or": ("or", 1, 1), "xor": ("xor", 1, 2)}.items():
    register_converter(f"aten.bitwise_{_name}.Tensor", f"aten.bitwise_{_name}.Scalar",
                       f"aten.bitwise_{_name}.Scalar_Tensor")(_bitwise(*_of))


@register_converter("aten.bitwise_left_shift.Tensor", "aten.bitwise_left_shift.Tensor_Scalar",
                    "aten.bitwise_left_shift.Scalar_Tensor")
def left_shift(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand) -> Tensor:
    """By less than 0, or by all bits: 0."""
    x, factor, within = _shifted(g, node, self, other, 0)
    return g.where(within, g.mul(x, factor), g.number(0, x.dtype))


@register_converter("aten.bitwise_right_shift.Tensor", "aten.bitwise_right_shift.Tensor_Scalar",
                    "aten.bitwise_right_shift.Scalar_Tensor")
def right_shift(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand) -> Tensor:
    """By less than 0, or by all bits: what the sign fills in."""
    signed = not element_type(node).startswith("uint")
    x, factor, within = _shifted(g, node, self, other, int(signed))
    zero = g.number(0, x.dtype)
    sign = g.where(g.compare("less", x, 0), g.number(-1, x.dtype), zero) if signed else zero
    return g.where(within, _floor_quotient(g, x, factor), sign)


def _shifted(g: GraphBuilder, node: torch.fx.Node, self: Operand, other: Operand,
             sign_bits: int) -> tuple[Tensor, Tensor, Tensor]:
    """What is shifted, the power of two of the shift, and where the shift is one."""
    dtype = element_type(node)
    x, by = _converted(g, dtype, self, other)
    shape = numpy.broadcast_shapes(x.shape, by.shape)
    bits = 8 * numpy.dtype(dtype).itemsize - sign_bits
    powers = [1 << bit for bit in range(bits)]
    table = g.constant(numpy.array([_wrapped(power) for power in powers], numpy.int64).astype(dtype))
    steps = g.expand(g.cast(by, "int64"), shape)
    within = g.op("and", g.compare("greater_equal", steps, 0), g.compare("less", steps, bits))
    factor = g.gather(table, g.where(within, steps, g.number(0, "int64")), 0)
    return g.expand(x, shape), factor, within
