"""Memory of this process that is resident, in bytes, as Linux counts it (proc(5))."""

import mmap
import pathlib

import numpy as np


def proportional():
    """PSS of all mappings: private pages, and of each shared page its share. Page cache that is
    not mapped counts for nobody."""
    for line in pathlib.Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    raise RuntimeError("memory: /proc/self/smaps_rollup has no Pss")


def _status(name):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) << 10
    raise RuntimeError(f"memory: /proc/self/status has no {name}")


class Growth:
    """What became resident since it was made. What was there before (the interpreter, NumPy, the
    inputs) is not counted; everything after is: code, weights, activations, heaps that were freed
    and not given back."""

    def __init__(self):
        pathlib.Path("/proc/self/clear_refs").write_text("5")  # The peak so far is forgotten.
        self._proportional, self._resident = proportional(), _status("VmRSS")

    def now(self):
        return proportional() - self._proportional

    def peak(self):
        """The largest resident size at any moment. Shared pages count whole here."""
        return _status("VmHWM") - self._resident


def touch_free(size_bytes):
    """Writes to so much free memory, or to half of it if that is less, and gives it back. Where a
    hypervisor takes pages back that a machine has freed, the next to use them waits until it has
    brought them in again: that is the machine's time, and no engine's."""
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            size_bytes = min(size_bytes, (int(line.split()[1]) << 10) // 2)
    if size_bytes <= 0:
        return
    with mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
        pages.madvise(mmap.MADV_HUGEPAGE)
        np.frombuffer(pages, np.uint8)[::4096] = 1
