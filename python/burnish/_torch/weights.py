"""Whether weights are still what they were when they became constants.

A pointer and a version are compared at each call. PyTorch counts neither ``p.data += 1``, nor a write
through NumPy, nor what merges adapters; so content is looked at, too: one word of each tensor at each
call, and in turn, a chunk a call, all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from burnish_runtime._burnish_runtime import TensorGuard

from .reader import reader
from .types import is_dense

# Hashed at each call: takes 1 us, so that 100 MB of weights are gone through in 6,100 calls.
CHUNK_BYTES = 16 << 10


def can_freeze(tensor: Any) -> bool:
    """Tensors of the CPU whose elements fill one piece of memory, and whose writes PyTorch counts."""
    return isinstance(tensor, torch.Tensor) and tensor.numel() > 0 and not why_loose(tensor)


def why_loose(tensor: torch.Tensor) -> str:
    """Why it is no constant; empty: it may be one."""
    if tensor.is_inference():
        return "made in inference mode, where PyTorch counts no writes"
    if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.is_conj():
        return "no plain tensors of the CPU"
    # Memory may have been taken away, as sharding does between calls.
    end = (tensor.storage_offset() + tensor.numel()) * tensor.element_size()
    if tensor.numel() and (tensor.data_ptr() == 0 or tensor.untyped_storage().nbytes() < end):
        return "without memory at this call"
    return "" if tensor.element_size() in (1, 2, 4, 8) and is_dense(tensor) else "with gaps between their elements"


def _size_bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.element_size()


class Weights:
    """The tensors of a call that are constants: `indices` are their places among its arguments."""

    def __init__(self, args: Sequence[Any], indices: Sequence[int], full: bool):
        self._indices = tuple(indices)
        self._guard = TensorGuard(
            reader(), [(index, args[index], _size_bytes(args[index])) for index in indices], CHUNK_BYTES)
        self._full = full and bool(indices)
        self._doubted = False

    @property
    def pointers(self) -> set[int]:
        return set(self._guard.pointers)

    def doubt(self) -> None:
        """All content is looked at, at the next call."""
        self._doubted = bool(self._indices)

    def unchanged(self, args: tuple[Any, ...]) -> bool:
        """The common case, and quick."""
        return not (self._full or self._doubted) and self._guard.unchanged(args)

    def changed(self, args: Sequence[Any]) -> list[int]:
        """Where content differs, by looking at all of it. What only moved is known there from now on."""
        self._doubted = False
        return [index for which, index in enumerate(self._indices)
                if not can_freeze(args[index])
                or not self._guard.same(which, args[index], _size_bytes(args[index]))]
