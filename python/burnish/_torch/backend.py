"""`torch.compile(model, backend="burnish")`: found by the entry point of group torch_dynamo_backends.

What of PyTorch is not public is named here, in `partition.py`, `importer.py`, `archive.py` and `reader.py` alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext

from burnish_runtime import BurnishError

from .. import _pace
from . import importer
from .options import REFUSE, Options, options_of
from .partition import Parts, parts_of
from .pieces import is_static

log = logging.getLogger("burnish.torch")
_numbers = itertools.count()
_F = TypeVar("_F", bound=Callable[..., Any])


@dataclasses.dataclass
class Graph:
    """What became of one graph of a model: for `explain`."""

    name: str
    parts: Parts | None = None
    whole_fallback: str = ""  #: Why all of it stays in PyTorch.


_listeners = threading.local()  # `graphs`: the list that a running `explain` fills.


@contextlib.contextmanager
def listening() -> Iterator[list[Graph]]:
    """The graphs that this thread compiles meanwhile."""
    before, _listeners.graphs = getattr(_listeners, "graphs", None), []
    try:
        yield _listeners.graphs
    finally:
        _listeners.graphs = before


def _tell(graph: Graph) -> None:
    graphs = getattr(_listeners, "graphs", None)
    if graphs is not None:
        graphs.append(graph)


def refusing_early(check: Callable[[Mapping[str, Any] | None], object]) -> Callable[[_F], _F]:
    """A backend whose options are looked at when torch.compile is called, by PyTorch's hook for backends. That is given
    nothing, so they are read where its caller has them; if PyTorch moves them, the first call is the one that says what
    is wrong, as it is with PyTorch before 2.15."""
    def add(backend: _F) -> _F:
        def begin() -> None:
            given = getattr(sys._getframe(1).f_locals.get("backend"), "kwargs", {})
            check(given.get("options"))
            refuse_modes({name: value for name, value in given.items() if name != "options"})

        backend._dynamo_backend_init = begin  # type: ignore[attr-defined]
        return backend
    return add


@refusing_early(options_of)
def burnish(module: torch.fx.GraphModule, inputs: Sequence[Any], *,
            options: Mapping[str, Any] | None = None, **unused: Any) -> Callable[..., Any]:
    """The backend, as torch.compile calls it."""
    settings = options_of(options)
    refuse_modes(unused)
    why = _fallback_reason(inputs)
    if why:
        return _left_whole(module, inputs, settings, why)
    return aot_autograd(
        fw_compiler=functools.partial(_unexpected, settings=settings),
        inference_compiler=functools.partial(_compiled, settings=settings),
        decompositions=importer.decompositions())(module, inputs)


def refuse_modes(given: Mapping[str, Any]) -> None:
    """Of what torch.compile hands on beside options; `name` is for its own logs."""
    for name, value in given.items():
        if name != "name" and value not in (None, "default"):
            raise ValueError(f"Burnish's backends have no modes: got {name}={value!r}, want options={{...}}")


def _fallback_reason(inputs: Sequence[Any]) -> str:
    if torch.is_grad_enabled() and any(
            isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
        return ("it needs gradients, which are PyTorch's; run it under torch.inference_mode() or "
                "torch.no_grad() where it does not")
    return ""


def _say_left(settings: Options, why: str) -> None:
    """A graph stays in PyTorch whole: an error with `strict`, else a warning."""
    name = f"graph_{next(_numbers)}"
    if settings.strict or settings.fallback == REFUSE:
        raise BurnishError(f"{name} would stay in PyTorch: {why}", code=importer.UNSUPPORTED_CODE)
    log.warning("%s stays in PyTorch (%s): %s", name, settings.fallback, why)
    _tell(Graph(name, whole_fallback=why))


def _left_whole(module: torch.fx.GraphModule, inputs: Sequence[Any], settings: Options,
                why: str) -> Callable[..., Any]:
    _say_left(settings, why)
    if settings.fallback == "inductor":
        from torch._inductor.compile_fx import compile_fx
        return compile_fx(module, list(inputs))
    return module.forward


def _unexpected(module: torch.fx.GraphModule, inputs: Sequence[Any], settings: Options) -> Any:
    """AOTAutograd found gradients that the inputs did not show, and has cut the graph already: too late
    for another compiler of whole graphs."""
    runs = REFUSE if settings.fallback == REFUSE else "eager"
    _say_left(dataclasses.replace(settings, fallback=runs), "it needs gradients")
    return make_boxed_func(module.forward)


def _compiled(module: torch.fx.GraphModule, inputs: Sequence[Any], settings: Options) -> Any:
    """Of a graph without gradients, functional, its weights among its arguments."""
    context = TracingContext.try_get()
    metadata = None if context is None else context.fw_metadata
    frozen = [] if metadata is None else [
        i for i in metadata.static_input_indices
        if i < len(inputs) and not metadata.input_info[i].mutates_data]
    return boxed(module, frozen, settings)


def boxed(module: torch.fx.GraphModule, frozen: Sequence[int], settings: Options) -> Any:
    """What runs a functional graph, in AOTAutograd's convention. `frozen`: arguments that are weights."""
    name = f"graph_{next(_numbers)}"
    parts = parts_of(module, frozen, settings, is_static(module), name)
    _report(name, parts, settings)
    _tell(Graph(name, parts))
    run = parts.module

    def call(args: list[Any]) -> Any:  # By its name at each call: `explain` puts a clock there.
        pace = _pace.active
        if pace is None:
            return run.forward(*args)
        with pace:
            return run.forward(*args)

    call._boxed_call = True
    return call


def _report(name: str, parts: Parts, settings: Options) -> None:
    if not parts.work_count:
        log.info("%s computes nothing: it stays in PyTorch", name)
        return
    if not parts.left:
        return
    share = parts.left_work / parts.work if parts.work else 0.0
    text = (f"{name}: {parts.left_count} of {parts.work_count} operators, some {share:.1%} of the work, stay in PyTorch, "
            f"around {len(parts.pieces)} pieces that do not: " +
            ", ".join(f"{operator} ({why})" for operator, why in sorted(parts.left.items())))
    if settings.strict:
        raise BurnishError(text, code=importer.UNSUPPORTED_CODE)
    log.warning("%s", text)
