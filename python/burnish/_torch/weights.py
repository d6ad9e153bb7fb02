"""Whether weights are still what they were when they became constants.

A pointer and a version are compared at each call. PyTorch counts neither ``p.data += 1``, nor a write
through NumPy, nor what merges adapters; so content is looked at, too: some elements of each tensor at each
call, and in turn, a chunk a call, all of it.
"""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Sequence
from typing import Any

import torch

from .types import is_dense

# Hashed at each call: takes some 10 us, so that 100 MB of weights are gone through in 6,100 calls.
CHUNK_BYTES = 16 << 10
_WORDS = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}
# Elements of a tensor that are looked at in turn, one at each call.
_PROBES = 3
_GOLDEN = 0.6180339887498949  # Multiples of the golden section spread evenly over an interval.


def can_freeze(tensor: Any) -> bool:
    """Tensors of the CPU whose elements fill one piece of memory, and whose writes PyTorch counts."""
    if not isinstance(tensor, torch.Tensor) or tensor.is_inference() or not tensor.numel():
        return False
    if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.is_conj():
        return False
    # Memory may have been taken away, as sharding does between calls.
    end = (tensor.storage_offset() + tensor.numel()) * tensor.element_size()
    if tensor.data_ptr() == 0 or tensor.untyped_storage().nbytes() < end:
        return False
    return tensor.element_size() in _WORDS and is_dense(tensor)


def _bytes_at(pointer: int, size: int) -> Any:
    return (ctypes.c_char * size).from_address(pointer)


class _Frozen:
    """One tensor as it was."""

    __slots__ = ("crcs", "index", "pointer", "probes", "size", "values", "version")

    def __init__(self, index: int, tensor: torch.Tensor):
        self.index = index
        self.size = tensor.numel() * tensor.element_size()
        self._place(tensor)
        self.crcs = self._hashes()

    def _place(self, tensor: torch.Tensor) -> None:
        self.pointer, self.version = tensor.data_ptr(), tensor._version
        word, count = _WORDS[tensor.element_size()], tensor.numel()
        self.probes = [word.from_address(self.pointer + ctypes.sizeof(word) * int(
            count * ((k + 1) * _GOLDEN % 1))) for k in range(min(_PROBES, count))]
        self.values = [probe.value for probe in self.probes]

    def _hashes(self) -> list[int]:
        return [self.hash(at) for at in range(0, self.size, CHUNK_BYTES)]

    def hash(self, begin: int) -> int:
        return zlib.crc32(_bytes_at(self.pointer + begin, min(CHUNK_BYTES, self.size - begin)))

    def same(self, tensor: torch.Tensor) -> bool:
        """Whether all of a tensor, wherever it lies now, is what it was; then it is known there."""
        if tensor.numel() * tensor.element_size() != self.size:
            return False
        self._place(tensor)
        return self._hashes() == self.crcs


class Weights:
    """The tensors of a call that are constants: `indices` are their places among its arguments."""

    def __init__(self, args: Sequence[Any], indices: Sequence[int], full: bool):
        self._frozen = [_Frozen(index, args[index]) for index in indices]
        self._chunks = [(one, at // CHUNK_BYTES) for one in self._frozen
                        for at in range(0, one.size, CHUNK_BYTES)]
        self._full = full
        self._turn = 0
        self._doubted = False
        self._remember()

    def _remember(self) -> None:
        """As lists, which Python compares without a step of its own for each weight."""
        self._pointers = [one.pointer for one in self._frozen]
        self._versions = [one.version for one in self._frozen]
        self._probes = [[one.probes[k % len(one.probes)] for one in self._frozen]
                        for k in range(_PROBES)]
        self._values = [[one.values[k % len(one.values)] for one in self._frozen]
                        for k in range(_PROBES)]

    @property
    def pointers(self) -> set[int]:
        return set(self._pointers)

    def doubt(self) -> None:
        """All content is looked at, at the next call."""
        self._doubted = True

    def unchanged(self, args: Sequence[Any]) -> bool:
        """The common case, and quick: pointers first, since the rest reads what lies there."""
        if not self._frozen:
            return True
        tensors = [args[one.index] for one in self._frozen]
        if list(map(torch.Tensor.data_ptr, tensors)) != self._pointers:
            return False
        try:
            if [tensor._version for tensor in tensors] != self._versions:
                return False
        except RuntimeError:  # An inference tensor took a weight's place: its writes are not counted.
            return False
        if self._full or self._doubted:
            return False
        self._turn += 1
        round_ = self._turn % _PROBES
        if [probe.value for probe in self._probes[round_]] != self._values[round_]:
            return False
        one, chunk = self._chunks[self._turn % len(self._chunks)]
        return one.hash(chunk * CHUNK_BYTES) == one.crcs[chunk]

    def changed(self, args: Sequence[Any]) -> list[int]:
        """Where content differs, by looking at all of it. What only moved is known there from now on."""
        self._doubted = False
        differ = [one.index for one in self._frozen
                  if not can_freeze(args[one.index]) or not one.same(args[one.index])]
        if not differ:
            self._remember()
        return differ
