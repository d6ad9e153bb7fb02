"""The table of converters: an operator's overload by its full name, such as ``aten.add.Tensor``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Converter = Callable[..., Any]
_F = TypeVar("_F", bound=Converter)

CONVERTERS: dict[str, Converter] = {}


class Unsupported(Exception):
    """Raised by a converter: this call of the operator has to stay in PyTorch, and why."""


def register_converter(*names: str) -> Callable[[_F], _F]:
    """Convert an operator of PyTorch into Burnish's.

    A decorator. The function gets a `GraphBuilder`, the `torch.fx.Node`, and those arguments of the
    operator that it names, as the operator's schema names them: tensors as the builder's `Tensor`,
    all else as Python's values. An argument that it does not name must have its default, else the call
    stays in PyTorch. It returns a `Tensor`, or a tuple of them, for the operator's results.

    Parameters
    ----------
    *names : str
        Full names of overloads: ``"aten.add.Tensor"``, ``"mylib.twice.default"``.

    Examples
    --------
    >>> @burnish.register_converter("mylib.twice.default")
    ... def twice(graph, node, x):
    ...     return graph.op("add", x, x)
    """
    def add(convert: _F) -> _F:
        for name in names:
            if name.count(".") != 2:
                raise ValueError(f"got {name!r}, want an overload's full name, such as "
                                 "'mylib.twice.default'")
            CONVERTERS[name] = convert
        return convert
    return add


def parameters_of(convert: Converter) -> tuple[frozenset[str], bool]:
    """The operator's arguments that a converter names, and whether it may be given all others."""
    own = list(inspect.signature(convert).parameters.values())[2:]
    rest = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in own)
    return frozenset(parameter.name for parameter in own
                     if parameter.kind is not inspect.Parameter.VAR_KEYWORD), rest
