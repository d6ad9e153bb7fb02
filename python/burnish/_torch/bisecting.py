"""Which step of a graph is wrong first, and a folder that shows it without PyTorch."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

from .._compile import compile as compile_graph
from . import importer, narrow
from .dumping import array_of, write_graph
from .swapping import ERROR_MAX, NARROW_ERROR_MAX

log = logging.getLogger("burnish.torch")

_SCRIPT = '''"""Shows what `burnish.functorch.debug_compile` found. Needs burnish and NumPy, not PyTorch."""
import pathlib
import numpy
import burnish

here = pathlib.Path(__file__).parent
inputs = numpy.load(here / "inputs.npz")
wanted = numpy.load(here / "wanted.npz")
model = burnish.compile(here / "model.graph", threads=1)
# Of bfloat16, which wants the package ml_dtypes, the files have float32.
results = model(**{info.name: inputs[info.name].astype(info.dtype) for info in model.inputs})
for info, got in zip(model.outputs, results if isinstance(results, tuple) else (results,)):
    want = wanted[info.name]
    scale = max(float(numpy.abs(want).max(initial=0)), 1e-6)
    print(info.name, "error", float(numpy.abs(got.astype(float) - want.astype(float)).max(initial=0)) / scale)
'''


def debug_compile(fx_g: torch.fx.GraphModule, inps: Sequence[Any],
                  folder: str | os.PathLike[str] = "burnish_debug") -> Callable[..., Any]:
    """Run a graph in PyTorch; at the first call look for the first step that Burnish gets wrong.

    If there is one, `folder` has it alone, with the inputs that PyTorch has for it (``inputs.npz``), PyTorch's
    results (``wanted.npz``), the step as ``graph.txt`` and ``model.graph``, and ``repro.py``, which shows it without
    PyTorch. What was found is a warning of the logger ``burnish.torch``.

    Parameters
    ----------
    fx_g : torch.fx.GraphModule
        As AOTAutograd gives it: this is a compiler for `functorch.compile.aot_function`.
    inps : sequence
    folder : str or os.PathLike
    """
    looked: list[bool] = []

    def call(args: list[Any]) -> Any:
        if not looked:
            looked.append(True)
            found = first_wrong(fx_g, args)
            if found is not None:
                step, inputs, wanted, why = found
                _write(step, inputs, wanted, os.fspath(folder))
                log.warning("%s: wrong from here on (%s); %s shows it", step_name(step), why,
                            os.path.join(folder, "repro.py"))
        return fx_g.forward(*args)

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def step_name(step: torch.fx.GraphModule) -> str:
    names = [importer.full_name(node.target) for node in step.graph.nodes if node.op == "call_function"]
    return ", ".join(name for name in names if not name.startswith("_operator"))


class _Values(torch.fx.Interpreter):
    """All that a graph computes in PyTorch, each value as it was when it was made."""

    def __init__(self, module: torch.fx.GraphModule):
        super().__init__(module, garbage_collect_values=False)
        self.values: dict[torch.fx.Node, Any] = {}

    def run_node(self, n: torch.fx.Node) -> Any:
        value = super().run_node(n)
        self.values[n] = value.clone() if isinstance(value, torch.Tensor) else value
        return value


def first_wrong(module: torch.fx.GraphModule, args: Sequence[Any]) -> Any:
    """(Its graph, its inputs, what it should give, why), or None: by halves, each a compilation."""
    with torch.no_grad():
        interpreter = _Values(module)
        interpreter.run(*args)
    values = interpreter.values
    steps = [node for node in module.graph.nodes if node.op == "call_function"]
    if not steps or not _trouble(*_part(module, steps, values)):
        return None
    low, high = 0, len(steps)  # The first `low` steps are right, the first `high` are not.
    while high - low > 1:
        middle = (low + high) // 2
        if _trouble(*_part(module, steps[:middle], values)):
            high = middle
        else:
            low = middle
    step = _part(module, steps[low:high], values)
    why = _trouble(*step)
    if not why:  # Right alone: wrong only together with what was fused into it.
        step = _part(module, steps[:high], values)
        why = _trouble(*step)
    return (*step, why)


def _part(module: torch.fx.GraphModule, steps: Sequence[torch.fx.Node],
          values: dict[torch.fx.Node, Any]) -> tuple[torch.fx.GraphModule, list[Any], list[Any]]:
    """A graph of these steps: what they read of others are its inputs, what others read its results."""
    # An operator of several results comes along with who reads one of them: it is no input.
    whole = [source for step in steps for source in step.all_input_nodes
             if source not in steps and isinstance(values[source], (tuple, list))]
    steps = [*dict.fromkeys(whole), *steps]
    inside, graph = set(steps), torch.fx.Graph()
    sources = dict.fromkeys(source for step in steps for source in step.all_input_nodes
                            if source not in inside)
    inputs = [source for source in sources if source.op != "get_attr"]
    known: dict[torch.fx.Node, torch.fx.Node] = {}
    for source in inputs:
        known[source] = graph.placeholder(source.name)
        known[source].meta = dict(source.meta)
    for step in [*(source for source in sources if source.op == "get_attr"), *steps]:
        known[step] = graph.node_copy(step, known.__getitem__)
    results = [step for step in steps if isinstance(values[step], torch.Tensor)
               and (not step.users or any(user not in inside for user in step.users))]
    graph.output(tuple(known[step] for step in results))
    return (torch.fx.GraphModule(module, graph), [values[source] for source in inputs],
            [values[step] for step in results])


def _trouble(part: torch.fx.GraphModule, inputs: Sequence[Any], wanted: Sequence[torch.Tensor]) -> str:
    """What is wrong with a graph in Burnish; empty: nothing."""
    if not wanted:
        return ""
    try:
        model = compile_graph(importer.convert(part, {}), threads=1)
        made = [torch.empty(want.shape, dtype=want.dtype) for want in wanted]
        model.run(**_named(part, inputs, {one.name for one in model.inputs}), out=tuple(made))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    error_max = NARROW_ERROR_MAX if narrow.is_in(part) else ERROR_MAX
    for got, want in zip(made, wanted, strict=True):
        error = _error(got, want)
        if not error <= error_max:
            return f"error {error:.2e} of the scale"
    return ""


def _named(part: torch.fx.GraphModule, inputs: Sequence[Any], names: set[str]) -> dict[str, torch.Tensor]:
    return {node.name: value.detach()
            for node, value in zip(part.graph.find_nodes(op="placeholder"), inputs)
            if node.name in names and isinstance(value, torch.Tensor)}


def _error(got: torch.Tensor, want: torch.Tensor) -> float:
    if not want.numel():
        return 0.0
    got, want = got.double(), want.double()
    finite = want.isfinite()
    if not torch.equal(finite, got.isfinite()):
        return float("inf")
    scale = max(want[finite].abs().max().item() if finite.any() else 0.0, 1e-6)
    return float((got - want)[finite].abs().max().item() / scale) if finite.any() else 0.0


def _write(step: torch.fx.GraphModule, inputs: Sequence[Any], wanted: Sequence[torch.Tensor],
           folder: str) -> None:
    write_graph(step, folder)
    names = {node.name for node in step.graph.find_nodes(op="placeholder") if importer.is_read(node)}
    numpy.savez(os.path.join(folder, "inputs.npz"), **{
        name: array_of(value) for name, value in _named(step, inputs, names).items()})
    numpy.savez(os.path.join(folder, "wanted.npz"), **{
        f"output_{i}": array_of(value) for i, value in enumerate(wanted)})
    with open(os.path.join(folder, "repro.py"), "w", encoding="utf-8") as file:
        file.write(_SCRIPT)
