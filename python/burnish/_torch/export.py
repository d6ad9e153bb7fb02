"""Models of torch.export."""

from __future__ import annotations

from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

from .._graph import Graph
from .archive import refuse
from .importer import convert, decompositions


def graph_of_module(module: torch.nn.Module, example: Any) -> Graph:
    """The graph of a module in evaluation mode, for inputs of the example's sizes: a tensor, or a tuple of them."""
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"an example comes with a torch.nn.Module, not with a {type(module).__name__}; a bundle's path is text")
    inputs = tuple(example) if isinstance(example, (tuple, list)) else (example,)
    modes = {each: each.training for each in module.modules()}
    module.eval()
    try:
        with torch.no_grad():
            program = torch.export.export(module, inputs)
    finally:
        for each, training in modes.items():
            each.training = training
    return graph_of(program)


def graph_of(program: torch.export.ExportedProgram, name: str = "torch") -> Graph:
    """The graph of an exported program; its inputs and outputs keep their names and order."""
    program = program.run_decompositions(decompositions())
    signature = program.graph_signature
    dynamic = [node.name for node in program.graph.find_nodes(op="placeholder")
               if not all(isinstance(size, int) for size in getattr(node.meta["val"], "shape", ()))]
    if dynamic:
        raise refuse(f"inputs have dynamic dimensions: {', '.join(dynamic)}",
                      "export the program without dynamic_shapes, for one size")
    constants: dict[str, Any] = {}
    for spec in signature.input_specs:
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            table = (program.constants if spec.kind == InputKind.CONSTANT_TENSOR
                     or spec.persistent is False else program.state_dict)
            constants[spec.arg.name] = table[spec.target]
        elif spec.kind != InputKind.USER_INPUT:
            raise refuse(f"the program has an input of kind {spec.kind.name}: {spec.arg.name}",
                          "export the model in evaluation mode")
    written = [spec.target or spec.arg.name for spec in signature.output_specs
               if spec.kind != OutputKind.USER_OUTPUT]
    if written:
        raise refuse(f"the program writes to what it was given: {', '.join(written)}",
                      "export the model in evaluation mode, and return what it computes")
    names: list[str] = []
    for node_name in (spec.arg.name for spec in signature.output_specs
                      if getattr(spec.arg, "name", None)):
        names.append(node_name if node_name not in names else f"{node_name}_{len(names)}")
    return convert(program.graph_module, constants, name, names)
