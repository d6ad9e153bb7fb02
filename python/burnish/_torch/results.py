"""Where a piece's results come from, and how they lie in memory: as PyTorch's do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

from burnish_runtime import BurnishError, empty

from . import importer
from .builder import Tensor
from .registry import Unsupported
from .types import reach

# Of an output that has memory of the runtime's. Of smaller ones the 3 us more that this takes would be no gain: the
# kernel takes 0.1 us to give and clear a page of 4 KiB, on a virtual machine up to 1.5.
KEPT_BYTES_MIN = 256 << 10

# Sizes, strides, type, and bytes from the first element to the last.
Layout = tuple[tuple[int, ...], tuple[int, ...], torch.dtype, int]
# What a node's result is for some sizes: a tensor without memory, and its offset; or a number.
ValueOf = Callable[[torch.fx.Node], Any]


@dataclasses.dataclass
class Result:
    """One of a piece's results. `view`: sizes, strides and offset of a part of it."""

    kind: str  #: "made" by the model, an "argument", or a "value".
    which: Any
    view: tuple[Any, Any, int] | None = None

    def of(self, made: Sequence[torch.Tensor], args: Sequence[Any]) -> Any:
        if self.kind == "value":
            return self.which
        whole = (made if self.kind == "made" else args)[self.which]
        if self.view is None:
            return whole
        size, stride, offset = self.view
        return whole.as_strided(size, stride, whole.storage_offset() + offset)


@dataclasses.dataclass
class _Entry:
    """A result before sizes are known: `node` says its type where it is a "number" or a view."""

    kind: str  #: As Result's, or a "number" of the graph.
    which: Any
    node: torch.fx.Node | None = None
    owner: torch.fx.Node | None = None  #: Whose memory the result is a view of.


class Results:
    """Of one module. Results that share memory in PyTorch share it here: one is made, the others are views of it."""

    def __init__(self, module: torch.fx.GraphModule, returned: Sequence[Any]):
        self.made: list[torch.fx.Node] = []  #: What the model makes, in the order of its outputs.
        self.entries: list[_Entry] = []
        placeholders = module.graph.find_nodes(op="placeholder")
        owners = _owners(module)
        for node in returned:
            if not isinstance(node, torch.fx.Node):
                self.entries.append(_Entry("value", node))
                continue
            if importer.is_number(node):
                self.entries.append(_Entry("number", None, node))
                continue
            if node.op == "get_attr":
                self.entries.append(_Entry("value", importer.attribute(module, str(node.target))))
                continue
            owner = owners.get(node, node)
            view = (None, None) if owner is node else (node, owner)
            if owner.op == "placeholder":
                self.entries.append(_Entry("argument", placeholders.index(owner), *view))
                continue
            if owner not in self.made:
                self.made.append(owner)
            self.entries.append(_Entry("made", self.made.index(owner), *view))
        if not self.made:
            raise Unsupported("it computes nothing")

    def name_outputs(self, builder: Any, values: dict[torch.fx.Node, Any]) -> None:
        for i, owner in enumerate(self.made):
            tensor = values[owner]
            assert isinstance(tensor, Tensor)
            builder.graph.output(tensor.value, f"output_{i}")

    def layouts(self, value_of: ValueOf) -> list[Layout]:
        """In which outputs are made."""
        return [_layout(value_of(owner)) for owner in self.made]

    def results(self, value_of: ValueOf) -> list[Result]:
        found = []
        for entry in self.entries:
            if entry.kind == "number":
                found.append(Result("value", value_of(entry.node)))
            elif entry.node is None:
                found.append(Result(entry.kind, entry.which))
            else:
                found.append(Result(entry.kind, entry.which, _view(value_of(entry.node), value_of(entry.owner))))
        return found

    def signature(self) -> Any:
        """What is the same for all sizes of one graph, if these are made in the same way for all of them."""
        return [node.name for node in self.made], [
            (entry.kind, None if entry.kind == "value" else entry.which, str(entry.node), str(entry.owner))
            for entry in self.entries]


def value_said(node: torch.fx.Node) -> Any:
    """Of a module whose nodes say fixed sizes."""
    return node.meta["val"]


def _layout(fake: torch.Tensor) -> Layout:
    """In which an output is made: that of eager, which the code around it may rely on."""
    places = reach(fake)
    if places is None:
        places, fake = fake.numel(), torch.empty_like(fake, memory_format=torch.contiguous_format, device="meta")
    return tuple(fake.shape), tuple(fake.stride()), fake.dtype, places * fake.element_size()


def unwritten(layout: Layout) -> torch.Tensor:
    """A tensor that is to be filled. PyTorch's memory is malloc's, which gives large blocks back to the system as soon as
    they are free, and the next one is cleared page by page; that of `burnish_runtime.empty` is kept."""
    shape, stride, dtype, size_bytes = layout
    if size_bytes < KEPT_BYTES_MIN:
        return torch.empty_strided(shape, stride, dtype=dtype)
    memory = torch.from_numpy(empty(size_bytes, numpy.uint8)).untyped_storage()
    return torch.empty(0, dtype=dtype).set_(memory, 0, shape, stride)


def _owners(module: torch.fx.GraphModule) -> dict[torch.fx.Node, torch.fx.Node]:
    """For each node that is a view in PyTorch, the one whose memory it has."""
    first: dict[int, torch.fx.Node] = {}
    owners = {}
    for node in module.graph.nodes:
        value = node.meta.get("val")
        if node.op in ("output", "get_attr") or not isinstance(value, torch.Tensor):
            continue
        owner = first.setdefault(value.untyped_storage()._cdata, node)
        whole = owner.meta["val"]
        if owner is not node and value.dtype == whole.dtype and (
                owner.op == "placeholder" or reach(whole) is not None):
            owners[node] = owner
    return owners


def _view(part: torch.Tensor, whole: torch.Tensor) -> tuple[Any, Any, int]:
    return tuple(part.shape), tuple(part.stride()), part.storage_offset() - whole.storage_offset()


def cut(part: torch.Tensor, whole: torch.Tensor, layout: Layout) -> torch.Tensor:
    """`part`, what a run fills of `whole`, as PyTorch lays it out; a copy where that lies otherwise, or would keep
    more than twice its memory."""
    shape, stride, _, _ = layout
    if tuple(part.shape) != shape:
        raise BurnishError(f"a run made {list(part.shape)}, want {list(shape)}")
    if part.stride() == stride and 2 * part.numel() >= whole.numel():
        return part
    return unwritten(layout).copy_(part)
