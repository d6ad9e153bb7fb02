"""Compilers for PyTorch's ahead-of-time functions, by the names that functorch gave them.

>>> from functorch.compile import aot_function
>>> from burnish.functorch import compile_fx
>>> fast = aot_function(f, fw_compiler=compile_fx, bw_compiler=compile_fx)

A compiler takes a graph of ATen's operators and example inputs, and returns what runs it.
This module imports torch (docs/pytorch.md, "Ahead of time").
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from functorch.compile import (aot_function, aot_module, make_boxed_func,
                               min_cut_rematerialization_partition)

from ._torch import backend, importer
from ._torch.bisecting import debug_compile
from ._torch.drawing import draw_graph
from ._torch.dumping import graph_dumper_aot, random_inputs
from ._torch.options import options_of

__all__ = ["compile_fx", "debug_compile", "draw_graph", "graph_dumper_aot", "memory_efficient_fusion", "nop",
           "print_compile", "random_inputs"]


def compile_fx(fx_g: torch.fx.GraphModule, inps: Sequence[Any],
               options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Run a graph in Burnish, forward or backward; what is not supported stays in PyTorch, named once.

    Parameters
    ----------
    fx_g : torch.fx.GraphModule
        As AOTAutograd gives it. All its inputs are inputs: no weight is a constant.
    inps : sequence
        Example inputs; only the graph's own types and sizes are used.
    options : mapping, optional
        Of the backend (docs/pytorch.md).
    """
    return backend.boxed(fx_g, (), options_of(options))


def nop(fx_g: torch.fx.GraphModule, inps: Sequence[Any]) -> Callable[..., Any]:
    """Run a graph in PyTorch as it is: what AOTAutograd alone costs, and whether it is right."""
    return make_boxed_func(fx_g.forward)


def print_compile(fx_g: torch.fx.GraphModule, inps: Sequence[Any]) -> Callable[..., Any]:
    """Print a graph, and run it in PyTorch."""
    print(fx_g.print_readable(print_output=False))
    return nop(fx_g, inps)


def memory_efficient_fusion(fn: Callable[..., Any], options: Mapping[str, Any] | None = None) -> Any:
    """Compile a function or module, forward and backward, by Burnish.

    What the backward pass needs is computed again or kept, as PyTorch's min-cut partitioner decides.

    Parameters
    ----------
    fn : callable or torch.nn.Module
    options : mapping, optional
        Of the backend.
    """
    compiler = functools.partial(compile_fx, options=options)
    compile_ = aot_module if isinstance(fn, torch.nn.Module) else aot_function
    return compile_(fn, fw_compiler=compiler, bw_compiler=compiler,
                    partition_fn=min_cut_rematerialization_partition,
                    decompositions=importer.decompositions())
