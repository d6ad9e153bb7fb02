"""Graphs as folders: text for people, JSON for programs, and a file that `tuner` takes. No pickles."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch
from functorch.compile import aot_module_simplified, min_cut_rematerialization_partition

from . import importer

METADATA = "metadata.json"


def array_of(tensor: torch.Tensor) -> numpy.ndarray[Any, Any]:
    """For a file: of bfloat16, which NumPy lacks, as float32."""
    tensor = tensor.detach().cpu().contiguous()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def graph_dumper_aot(name: str, folder: str | os.PathLike[str],
                     dump_example_input: bool = False) -> Callable[..., Any]:
    """A backend of torch.compile that runs in PyTorch, and writes each graph that it is given.

    ``folder/NAME_joint_0``, ``NAME_forward_0``, ``NAME_backward_0`` and so on have ``graph.txt``, ``metadata.json`` with
    the inputs' types (`random_inputs` makes some), ``model.graph`` if Burnish has all operators, which
    ``tuner submit --graph`` takes, and with `dump_example_input` the inputs as ``input_0.npy`` and on.

    Parameters
    ----------
    name : str
    folder : str or os.PathLike
    dump_example_input : bool, default False
    """
    counts: dict[str, int] = {}

    def dump(module: torch.fx.GraphModule, kind: str, inputs: Sequence[Any]) -> None:
        number = counts.setdefault(kind, 0)
        counts[kind] += 1
        write_graph(module, os.path.join(folder, f"{name}_{kind}_{number}"),
                    inputs if dump_example_input else None)

    def compiler(kind: str) -> Callable[..., Any]:
        def compile_(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
            def call(args: list[Any]) -> Any:
                if not written:
                    written.append(True)
                    dump(module, kind, args)  # Now with real inputs.
                return module.forward(*args)
            written: list[bool] = []
            call._boxed_call = True  # type: ignore[attr-defined]
            return call
        return compile_

    def partition(joint: torch.fx.GraphModule, *args: Any, **kwargs: Any) -> Any:
        dump(joint, "joint", ())
        return min_cut_rematerialization_partition(joint, *args, **kwargs)

    def compile_all(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
        return aot_module_simplified(
            module, inputs, fw_compiler=compiler("forward"), bw_compiler=compiler("backward"),
            partition_fn=partition, decompositions=importer.decompositions(),
            inference_compiler=compiler("forward"))

    return compile_all


def write_graph(module: torch.fx.GraphModule, folder: str, inputs: Sequence[Any] | None = None) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "graph.txt"), "w", encoding="utf-8") as file:
        file.write(module.print_readable(print_output=False))
    given = [None] * len(module.graph.find_nodes(op="placeholder")) if not inputs else list(inputs)
    entries = [_entry(node, value)
               for node, value in zip(module.graph.find_nodes(op="placeholder"), given)]
    with open(os.path.join(folder, METADATA), "w", encoding="utf-8") as file:
        json.dump({"format": 1, "inputs": entries}, file, indent=1)
    for i, value in enumerate(inputs or ()):
        if isinstance(value, torch.Tensor):
            numpy.save(os.path.join(folder, f"input_{i}.npy"), array_of(value),
                       allow_pickle=False)
    try:
        graph = importer.convert(module, {})
    except Exception as error:  # What is not supported, says the text.
        with open(os.path.join(folder, "not_converted.txt"), "w", encoding="utf-8") as file:
            file.write(f"{error}\n")
        return
    graph.save(os.path.join(folder, "model.graph"))


def _entry(node: torch.fx.Node, value: Any) -> dict[str, Any]:
    """`value`: None where it is not known."""
    fake = node.meta.get("val")
    if not isinstance(fake, torch.Tensor):
        return {"name": node.name, "value": fake if isinstance(fake, (bool, int, float)) else None}
    entry = {"name": node.name, "dtype": str(fake.dtype).removeprefix("torch."),
             "shape": [int(size) for size in fake.shape],
             "stride": [int(step) for step in fake.stride()]}
    integers = not fake.dtype.is_floating_point and not fake.dtype.is_complex
    if isinstance(value, torch.Tensor) and integers and value.numel():
        entry.update(least=int(value.min()), greatest=int(value.max()))
    return entry


def random_inputs(folder: str | os.PathLike[str], seed: int = 0) -> list[Any]:
    """Inputs for a graph that `graph_dumper_aot` wrote: of its types, shapes and strides.

    Integers are between the least and the greatest of the example, so that indices are in bounds.

    Parameters
    ----------
    folder : str or os.PathLike
    seed : int, default 0
    """
    with open(os.path.join(folder, METADATA), encoding="utf-8") as file:
        metadata = json.load(file)
    if metadata.get("format") != 1:
        raise ValueError(f"{folder}: {METADATA} has format {metadata.get('format')!r}, want 1")
    random = torch.Generator().manual_seed(seed)
    return [_random(entry, random) for entry in metadata["inputs"]]


def _random(entry: dict[str, Any], random: torch.Generator) -> Any:
    if "dtype" not in entry:
        return entry["value"]
    dtype = getattr(torch, entry["dtype"])
    made = torch.empty_strided(entry["shape"], entry["stride"], dtype=dtype)
    if dtype.is_floating_point:
        return made.copy_(torch.randn(entry["shape"], generator=random))
    least, greatest = entry.get("least", 0), entry.get("greatest", 1)
    return made.copy_(torch.randint(least, greatest + 1, entry["shape"], generator=random))
