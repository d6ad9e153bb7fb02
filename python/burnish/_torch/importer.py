"""From ATen graphs, as torch.export and AOTAutograd write them, to `Graph`.

`reasons` says which nodes cannot be converted, each for itself; `convert` makes the graph of one
that has none. Both want a graph of fixed sizes, which `with_sizes` makes of any.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from burnish_runtime import BurnishError

from .._graph import Graph
from . import (  # noqa: F401  Most fill the table.
    bitwise, elementwise, indexing, movement, narrow, neural, reductions, windows)
from .builder import GraphBuilder, Tensor
from .registry import CONVERTERS, Unsupported, parameters_of
from .types import name_of, results_read, value_of

# Arguments that say how a result lies in memory, or what the node's own type says anyway.
_SAID_BY_TYPE = frozenset({"device", "dtype", "layout", "memory_format", "non_blocking",
                           "pin_memory"})
# Of types and layouts, which the importer checks itself. What checks values is no such thing.
_CHECKS_OF_TYPES = frozenset({"aten._assert_tensor_metadata.default"})
_NUMBERS = (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)
UNSUPPORTED_CODE = "B0302"  # docs/cli.md: what the compiler lacks.


def _more() -> dict[Any, Callable[..., Any]]:
    """Of operators that are core, and which nothing here has whole."""
    return torch._decomp.get_decompositions([torch.ops.aten.grid_sampler_2d])


def decompositions() -> dict[Any, Callable[..., Any]]:
    """Core ATen's and a few more, but for operators that have a converter: those the compiler has
    whole."""
    table = {**torch._decomp.core_aten_decompositions(), **_more()}
    return {overload: rule for overload, rule in table.items()
            if full_name(overload) not in CONVERTERS}


def full_name(target: Any) -> str:
    """``aten.add.Tensor``; of anything but an operator its own name."""
    if isinstance(target, torch._ops.OpOverload):
        return f"{target.namespace}.{target._schema.name.split('::')[1]}.{target._overloadname}"
    return getattr(target, "__name__", str(target))


def with_sizes(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> torch.fx.GraphModule:
    """A copy whose nodes say what they are for `inputs`: tensors, of which sizes and strides alone
    count, and numbers."""
    sized = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
    mode = FakeTensorMode(allow_non_fake_inputs=True)

    class Sizes(torch.fx.Interpreter):
        def run_node(self, node: torch.fx.Node) -> Any:
            result = super().run_node(node)
            node.meta = {**node.meta, "val": result}
            return result

    with mode, torch.no_grad():
        fake = [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
                if isinstance(x, torch.Tensor) else x for x in inputs]
        Sizes(sized).run(*fake)
    return sized


def is_number(node: torch.fx.Node) -> bool:
    """Sizes and what is computed of them: known when the graph's sizes are."""
    return isinstance(node.meta.get("val"), _NUMBERS)


def _checks_types(node: torch.fx.Node) -> bool:
    return full_name(node.target) in _CHECKS_OF_TYPES


def _check_type(node: torch.fx.Node) -> None:
    value = value_of(node)
    read = results_read(node)
    for i, tensor in enumerate(value) if isinstance(value, (tuple, list)) else ((None, value),):
        if tensor is None or (i is not None and i not in read):
            continue
        if not isinstance(tensor, torch.Tensor):
            raise Unsupported(f"a result of type {type(tensor).__name__}")
        name_of(tensor.dtype)
        if tensor.device.type != "cpu" or tensor.layout != torch.strided:
            raise Unsupported(f"a tensor on {tensor.device}, {tensor.layout}")
        if 0 in tensor.shape:
            raise Unsupported("a tensor without elements")


def _arguments(node: torch.fx.Node, convert: Callable[..., Any],
               value: Callable[[torch.fx.Node], Any]) -> dict[str, Any]:
    """What a converter is called with: by name, defaults filled in, tensors as `value` has them."""
    names, takes_rest = parameters_of(convert)
    schema = node.target._schema
    given = {argument.name: one for argument, one in zip(schema.arguments, node.args)}
    given.update(node.kwargs)
    found = {}
    for argument in schema.arguments:
        name = argument.name
        one = torch.fx.map_arg(given.get(name, argument.default_value), value)
        if name in names:
            found[name] = one
        elif takes_rest:
            found[name] = one
        elif name not in _SAID_BY_TYPE and one != argument.default_value:
            raise Unsupported(f"{name}={one}")
    return found


def _check_result(node: torch.fx.Node, result: Any) -> None:
    """A converter's mistake must not become a wrong answer."""
    wanted = value_of(node)
    pairs = zip(result, wanted, strict=True) if isinstance(wanted, (tuple, list)) else (
        (result, wanted),)
    for got, want in pairs:
        if got is None or want is None:
            continue
        shape = tuple(want.shape)
        if got.shape != shape or got.dtype != name_of(want.dtype):
            raise Unsupported(f"its converter made {got.dtype}{list(got.shape)}, want "
                              f"{name_of(want.dtype)}{list(shape)}")


def _converted(builder: GraphBuilder, node: torch.fx.Node,
               value: Callable[[torch.fx.Node], Any]) -> Any:
    convert = CONVERTERS.get(full_name(node.target))
    if convert is None:
        raise Unsupported("no converter")
    for source in (*node.all_input_nodes, node):
        if not is_number(source):
            _check_type(source)
    arguments = _arguments(node, convert, value)
    if narrow.wants_float32(node, full_name(node.target)):
        wide = {name: narrow.in_float32(builder, one) for name, one in arguments.items()}
        result = narrow.rounded(builder, convert(builder, narrow.InFloat32(node), **wide), value_of(node))
    else:
        result = convert(builder, node, **arguments)
    _check_result(node, result)
    return result


def reason(node: torch.fx.Node) -> str | None:
    """Why an operator has to stay in PyTorch, or None."""
    if node.op != "call_function":
        return None if node.op in ("placeholder", "output", "get_attr") else f"a {node.op}"
    if node.target is operator.getitem or is_number(node) or _checks_types(node):
        return None
    builder, known = GraphBuilder(), {}

    def value(source: torch.fx.Node) -> Any:
        if is_number(source):
            return value_of(source)
        if source not in known:
            fake = value_of(source)
            known[source] = builder.input(source.name, fake.shape, name_of(fake.dtype))
        return known[source]

    try:
        _converted(builder, node, value)
    except Unsupported as error:
        return str(error)
    except Exception as error:  # A converter met what it was not written for.
        return f"its converter failed: {type(error).__name__}: {error}"
    return None


def reasons(graph: torch.fx.Graph) -> dict[torch.fx.Node, str]:
    """The nodes that cannot be converted, and why."""
    found = {node: reason(node) for node in graph.nodes}
    return {node: why for node, why in found.items() if why is not None}


def names_of(unsupported: Mapping[torch.fx.Node, str]) -> str:
    """Each operator once, with the first reason: for people."""
    by_name: dict[str, str] = {}
    for node, why in unsupported.items():
        by_name.setdefault(full_name(node.target), why)
    return ", ".join(f"{name} ({why})" for name, why in sorted(by_name.items()))


def attribute(module: torch.nn.Module, target: str) -> Any:
    for name in target.split("."):
        module = getattr(module, name)
    return module


def convert(module: torch.fx.GraphModule, constants: Mapping[str, torch.Tensor],
            name: str = "torch", output_names: Sequence[str] = ()) -> Graph:
    """The graph of a module whose nodes say fixed sizes.

    Placeholders in `constants` are constants, those that are numbers are what they say, and the rest
    inputs in their order. What the module returns that is no tensor is no output.
    """
    missing = reasons(module.graph)
    if missing:
        error = BurnishError(f"PyTorch's operators without a counterpart: {names_of(missing)}",
                             code=UNSUPPORTED_CODE)
        error.add_note("hint: add a converter with burnish.register_converter, or run the model by "
                       "torch.compile(..., backend=\"burnish\"), which leaves them to PyTorch")
        raise error
    builder = GraphBuilder(name)
    for i, tensor in enumerate(Written(builder, module, constants).results()):
        builder.graph.output(tensor.value, output_names[i] if output_names else f"output_{i}")
    return builder.graph


class Written:
    """A module's operators, as they were written into a builder."""

    def __init__(self, builder: GraphBuilder, module: torch.fx.GraphModule,
                 constants: Mapping[str, torch.Tensor], prefix: str = "", unread: bool = True):
        """`prefix` is put before names of inputs; without `unread` those that no operator reads are
        left out."""
        self.values: dict[torch.fx.Node, Any] = {}
        self.constants: dict[str, str] = {}  #: Placeholders' names to those of the graph.
        self.returned: list[Any] = []  #: Nodes, or what is no node.
        self.read: set[torch.fx.Node] = set()  #: Placeholders that are the graph's inputs.
        self._unread = unread
        for node in module.graph.nodes:
            if node.op == "output":
                self.returned = leaves(node.args[0])
            else:
                self.values[node] = self._value(builder, module, node, constants, prefix)

    def _value(self, builder: GraphBuilder, module: torch.fx.GraphModule, node: torch.fx.Node,
               constants: Mapping[str, torch.Tensor], prefix: str) -> Any:
        if node.op == "get_attr":
            return _constant(builder, attribute(module, str(node.target)), str(node.target))
        if is_number(node) or _checks_types(node):
            return node.meta.get("val")
        if node.op == "placeholder":
            if node.name in constants:
                tensor = _constant(builder, constants[node.name], node.name)
                self.constants[node.name] = tensor.value.name
                return tensor
            if not self._unread and not is_read(node):
                return None
            self.read.add(node)
            return _input(builder, node, prefix)
        if node.target is operator.getitem:
            return self.values[node.args[0]][node.args[1]]
        return _converted(builder, node, self.values.__getitem__)

    def results(self) -> list[Tensor]:
        """What the module returns, but for what is no tensor."""
        values = [self.values[one] for one in self.returned if isinstance(one, torch.fx.Node)]
        return [value for value in values if isinstance(value, Tensor)]


def is_read(node: torch.fx.Node) -> bool:
    return any(user.op != "output" for user in node.users)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for one in value for leaf in leaves(one)]
    return [value]


def _input(builder: GraphBuilder, node: torch.fx.Node, prefix: str) -> Tensor:
    fake = value_of(node)
    if 0 in fake.shape:
        raise BurnishError(f"input {node.name} has no elements", code=UNSUPPORTED_CODE)
    return builder.input(prefix + node.name, fake.shape, name_of(fake.dtype))


def _constant(builder: GraphBuilder, tensor: Any, name: str) -> Tensor:
    if not isinstance(tensor, torch.Tensor):
        raise BurnishError(f"{name} is a {type(tensor).__name__}, want a tensor",
                           code=UNSUPPORTED_CODE)
    return builder.constant(tensor.detach(), None)
