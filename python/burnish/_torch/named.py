"""Backends of torch.compile beside "burnish": its presets of search by name, and tools to look at what it is given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd

from . import importer
from .backend import burnish, refuse_modes, refusing_early
from .bisecting import debug_compile
from .options import Options, options_of

_FOLDER = "burnish_debug"  # Of `burnish_check`, where the option dump says no other.


def _with_scheduler(name: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    given = dict(options or {})
    if given.setdefault("scheduler", name) != name:
        raise ValueError(f"backend burnish_{name} has scheduler={name!r}; got {given['scheduler']!r}: want backend "
                         "burnish for another")
    return given


def _refuse_options(backend: str, options: Mapping[str, Any] | None, *taken: str) -> None:
    for name in options or {}:
        if name not in taken:
            raise ValueError(f"backend {backend} has no option {name!r}: it has {', '.join(taken) or 'none'}")


def _options_of_check(options: Mapping[str, Any] | None) -> Options:
    _refuse_options("burnish_check", options, "dump")
    return options_of(options)


@refusing_early(lambda options: options_of(_with_scheduler("auto_scheduler", options)))
def burnish_auto_scheduler(module: torch.fx.GraphModule, inputs: Sequence[Any], *,
                           options: Mapping[str, Any] | None = None, **unused: Any) -> Callable[..., Any]:
    """The backend with scheduler="auto_scheduler", for whom knows TVM by that name; `tune` says where to measure."""
    return burnish(module, inputs, options=_with_scheduler("auto_scheduler", options), **unused)


@refusing_early(lambda options: options_of(_with_scheduler("meta_schedule", options)))
def burnish_meta_schedule(module: torch.fx.GraphModule, inputs: Sequence[Any], *,
                          options: Mapping[str, Any] | None = None, **unused: Any) -> Callable[..., Any]:
    """The same with "meta_schedule"."""
    return burnish(module, inputs, options=_with_scheduler("meta_schedule", options), **unused)


@refusing_early(functools.partial(_refuse_options, "burnish_nop"))
def burnish_nop(module: torch.fx.GraphModule, inputs: Sequence[Any], *,
                options: Mapping[str, Any] | None = None, **unused: Any) -> Callable[..., Any]:
    """Runs in PyTorch what the backend would be given: what AOTAutograd alone costs, and whether it is right."""
    _refuse_options("burnish_nop", options)
    refuse_modes(unused)
    return _aot(_run)(module, inputs)


@refusing_early(functools.partial(_refuse_options, "burnish_print"))
def burnish_print(module: torch.fx.GraphModule, inputs: Sequence[Any], *,
                  options: Mapping[str, Any] | None = None, **unused: Any) -> Callable[..., Any]:
    """The same, and prints it."""
    _refuse_options("burnish_print", options)
    refuse_modes(unused)
    return _aot(_printed)(module, inputs)


@refusing_early(_options_of_check)
def burnish_check(module: torch.fx.GraphModule, inputs: Sequence[Any], *,
                  options: Mapping[str, Any] | None = None, **unused: Any) -> Callable[..., Any]:
    """Runs in PyTorch, and looks for the first step that Burnish gets wrong or refuses: a folder then has it
    (`burnish.functorch.debug_compile`), the one that the option `dump` names."""
    refuse_modes(unused)
    folder = _options_of_check(options).dump or _FOLDER
    return _aot(functools.partial(debug_compile, folder=folder))(module, inputs)


def _aot(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """Of each graph, forward and backward, as the backend gets them."""
    return aot_autograd(fw_compiler=compiler, decompositions=importer.decompositions())


def _run(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    def call(args: list[Any]) -> Any:
        return module.forward(*args)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def _printed(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    print(module.print_readable(print_output=False))
    return _run(module, inputs)
