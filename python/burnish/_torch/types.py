"""What an FX node says about its values: types, shapes, which of its results are read."""

from __future__ import annotations

import operator
from typing import Any

import torch

from .builder import ELEMENT_TYPES
from .registry import Unsupported


def name_of(dtype: torch.dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    if name not in ELEMENT_TYPES:
        raise Unsupported(f"element type {name}")
    return name


def value_of(node: torch.fx.Node) -> Any:
    """The fake tensor, or tuple of them, or number that stands for a node's result."""
    if "val" not in node.meta:
        raise Unsupported("the graph does not say its type")
    return node.meta["val"]


def element_type(node: torch.fx.Node, result: int = 0) -> str:
    value = value_of(node)
    return name_of((value[result] if isinstance(value, (tuple, list)) else value).dtype)


def shape_of(node: torch.fx.Node, result: int = 0) -> tuple[int, ...]:
    value = value_of(node)
    value = value[result] if isinstance(value, (tuple, list)) else value
    return tuple(int(extent) for extent in value.shape)


def result_type(node: torch.fx.Node) -> str:
    """The type that PyTorch compares two operands in."""
    operands = [value_of(x) if isinstance(x, torch.fx.Node) else x for x in node.args[:2]]
    return name_of(torch.result_type(*operands))


def results_read(node: torch.fx.Node) -> set[int]:
    """Which of the results of an operator with several of them something reads."""
    return {user.args[1] for user in node.users if user.target is operator.getitem and user.users}


def refuse_reading(node: torch.fx.Node, *results: int) -> None:
    read = results_read(node) & set(results)
    if read:
        raise Unsupported(f"result {min(read)} is read")


def reach(tensor: torch.Tensor) -> int | None:
    """How many elements its memory has, gaps among them; None where two of its own may lie in one place."""
    places = 1
    for stride, extent in sorted((stride, extent) for stride, extent in
                                 zip(tensor.stride(), tensor.shape) if extent != 1):
        if stride < places:
            return None
        places += (extent - 1) * stride
    return places


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill one piece of memory, in whatever order of dimensions."""
    return reach(tensor) == tensor.numel()
