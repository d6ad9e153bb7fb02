"""Which parts of a graph run in Burnish, and which stay in PyTorch."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from torch.fx.passes.operator_support import OperatorSupportBase
from torch.utils.flop_counter import flop_registry

from . import importer
from .options import Options
from .pieces import Piece

# What moves or makes elements without computing any, besides views.
_NO_WORK = frozenset(f"aten.{name}" for name in (
    "arange.start_step", "clone.default", "empty.memory_format", "full.default", "full_like.default",
    "lift_fresh_copy.default", "new_empty.default", "new_full.default", "new_ones.default",
    "new_zeros.default", "ones.default", "ones_like.default", "scalar_tensor.default",
    "_unsafe_view.default", "zeros.default", "zeros_like.default", "_assert_tensor_metadata.default"))
# One of these is worth a call of its own.
_HEAVY = frozenset(f"aten.{name}" for name in (
    "addmm.default", "bmm.default", "baddbmm.default", "convolution.default", "mm.default",
    "_scaled_dot_product_flash_attention_for_cpu.default"))
# Of lighter operators: below, what a call costs is more than what fusing them saves.
_LIGHT_MIN = 3
# So many additions and multiplications a core makes while memory gives it one element, or takes it: an estimate.
_FLOPS_OF_AN_ELEMENT = 16


@dataclasses.dataclass(frozen=True)
class Parts:
    """A graph whose pieces are its submodules; `whole`: it is one piece, and nothing is left out."""

    module: Any
    pieces: list[Piece]
    left: dict[str, str]  #: Operators that stay in PyTorch, and why.
    left_count: int  #: Nodes that do.
    work_count: int  #: Nodes that compute something.
    left_work: float = 0.0  #: What those nodes do, of `work`.
    work: float = 0.0  #: Of all nodes, as `effort` counts it.

    @property
    def whole(self) -> bool:
        return isinstance(self.module, Piece)


def works(node: torch.fx.Node) -> bool:
    """Whether a node computes elements."""
    return (node.op == "call_function" and node.target is not operator.getitem and not _is_view(node.target)
            and not importer.is_number(node) and importer.full_name(node.target) not in _NO_WORK)


def _is_view(target: Any) -> bool:
    """Whether an operator's results have the memory of its argument, and nothing is written there."""
    return isinstance(target, torch._ops.OpOverload) and any(
        one.alias_info is not None and not one.alias_info.is_write for one in target._schema.returns)


def effort(node: torch.fx.Node) -> float:
    """What a node of fixed sizes does, for shares: its arithmetic by PyTorch's own count, or what it reads and writes."""
    values = [node.meta.get("val"), *(source.meta.get("val") for source in node.all_input_nodes)]
    tensors = [one for value in values for one in (value if isinstance(value, (tuple, list)) else (value,))
               if isinstance(one, torch.Tensor)]
    moved = float(_FLOPS_OF_AN_ELEMENT * sum(one.numel() for one in tensors))
    count = flop_registry.get(getattr(node.target, "overloadpacket", None))
    if count is None:
        return moved
    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda source: source.meta["val"])
    return max(moved, float(count(*args, **kwargs, out_val=node.meta["val"])))


def is_worth(nodes: Sequence[torch.fx.Node]) -> bool:
    heavy = any(importer.full_name(node.target) in _HEAVY for node in nodes)
    return heavy or sum(map(works, nodes)) >= _LIGHT_MIN


class _Support(OperatorSupportBase):
    def __init__(self, reasons: Mapping[str, str]):
        self._reasons = reasons

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module],
                          node: torch.fx.Node) -> bool:
        if node.op != "call_function" or importer.is_number(node):
            return False  # Numbers stay outside, and come as arguments.
        source = node.args[0] if node.target is operator.getitem else node
        return source.name not in self._reasons and node.name not in self._reasons


def _hinted(module: torch.fx.GraphModule) -> list[Any]:
    """Arguments of the sizes that a graph of dynamic sizes was traced with."""
    def number(value: Any) -> Any:
        node = getattr(value, "node", None)
        return value if node is None else node.hint

    found = []
    for node in module.graph.find_nodes(op="placeholder"):
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            found.append(number(value))
            continue
        found.append(torch.empty_strided([number(n) for n in value.shape],
                                         [number(n) for n in value.stride()], dtype=value.dtype,
                                         device="meta"))
    return found


def _on_cpu(module: torch.fx.GraphModule, meta: list[Any]) -> list[Any]:
    with torch._subclasses.FakeTensorMode():
        return [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=str(
            node.meta["val"].device)) if isinstance(x, torch.Tensor) else x
            for x, node in zip(meta, module.graph.find_nodes(op="placeholder"))]


def parts_of(module: torch.fx.GraphModule, frozen: Sequence[int], options: Options, static: bool,
             name: str) -> Parts:
    """Cuts a graph. `frozen`: its arguments that are weights; `static`: its nodes say fixed sizes."""
    sized = module if static else importer.with_sizes(module, _on_cpu(module, _hinted(module)))
    reasons = importer.reasons(sized.graph)
    why = {node.name: reason for node, reason in reasons.items()}
    work = [node for node in module.graph.nodes if works(node)]
    left: dict[str, str] = {}
    for node, reason in reasons.items():
        left.setdefault(importer.full_name(node.target), reason)
    efforts = {node.name: effort(node) for node in sized.graph.nodes if works(node)}
    if not reasons:
        pieces = [_piece(module, frozen, options, name)] if work else []
        return Parts(pieces[0] if pieces else module, pieces, {}, 0 if pieces else len(work), len(work),
                     work=sum(efforts.values()))
    partitioner = CapabilityBasedPartitioner(module, _Support(why), allows_single_node_partition=True)
    partitions = [one for one in partitioner.propose_partitions() if is_worth(list(one.nodes))]
    inside = {node.name for one in partitions for node in one.nodes}
    pieces = _fused(module, partitioner, partitions, frozen, options, name)
    outside = [one for one in efforts if one not in inside]
    return Parts(module, pieces, left, len(outside), len(work), sum(map(efforts.__getitem__, outside)),
                 sum(efforts.values()))


def _piece(module: torch.fx.GraphModule, frozen: Sequence[int], options: Options,
           name: str) -> Piece:
    piece = Piece(module, frozen, options, name)
    piece.work_count = sum(map(works, module.graph.nodes))
    return piece


def _fused(module: torch.fx.GraphModule, partitioner: CapabilityBasedPartitioner,
           partitions: list[Partition], frozen: Sequence[int], options: Options,
           name: str) -> list[Piece]:
    if not partitions:
        return []
    before = {node.target for node in module.graph.find_nodes(op="call_module")}
    partitioner.fuse_partitions(partitions)
    weights = {node for i, node in enumerate(module.graph.find_nodes(op="placeholder")) if i in frozen}
    pieces = []
    for node in module.graph.find_nodes(op="call_module"):
        if node.target in before:
            continue
        of_weights = [i for i, source in enumerate(node.args) if source in weights]
        piece = _piece(getattr(module, node.target), of_weights, options, f"{name}_{len(pieces)}")
        setattr(module, node.target, piece)
        pieces.append(piece)
    module.recompile()
    return pieces
