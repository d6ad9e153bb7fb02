"""Memory of this process that is resident, in bytes, as Linux counts it (proc(5))."""

import mmap
import pathlib

import numpy as np


def _field(path, name):
    """Of a file of lines "Name:  number kB"."""
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) << 10
    raise RuntimeError(f"memory: {path} has no {name}")


def proportional():
    """PSS of all mappings: private pages, and of each shared page its share. Page cache that is
    not mapped counts for nobody."""
    return _field("/proc/self/smaps_rollup", "Pss")


def _status(name):
    return _field("/proc/self/status", name)


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
    size_bytes = min(size_bytes, _field("/proc/meminfo", "MemAvailable") // 2)
    if size_bytes <= 0:
        return
    with mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as pages:
        pages.madvise(mmap.MADV_HUGEPAGE)
        np.frombuffer(pages, np.uint8)[::4096] = 1
