"""PyTorch's threads, so that ours do not fight with them for the CPUs.

PyTorch's operators run on OpenMP, GCC's libgomp in its wheels, whose threads spin for milliseconds after each operator. A
bundle on threads of its own then has to wait for a CPU, and so does the operator behind it. So its regions run on
libgomp's own threads, by the functions that GCC's compiled code calls. The library is the one that PyTorch has loaded: it is
looked up there, never linked, and its number of threads is held to what PyTorch says.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

import torch

from burnish_runtime import Threads

Team = tuple[int, int, int]

_FUNCTIONS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")


@functools.cache
def team() -> tuple[Team | None, str]:
    """For `Threads`; None: none is known, and why."""
    try:
        of_torch = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"),
                               mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        addresses = [_address(getattr(of_torch, name)) for name in _FUNCTIONS]
        count = torch.get_num_threads()  # First: in a thread of Python's that is new it tells OpenMP.
        its_count = of_torch.omp_get_max_threads()
    except (OSError, AttributeError):
        return None, "PyTorch runs on no OpenMP that is known here"
    library = _file_at(addresses[0])
    if not os.path.basename(library).startswith("libgomp"):
        return None, f"PyTorch runs on {os.path.basename(library) or 'an unknown library'}, not on libgomp"
    # What a program loads first for all to see comes before what PyTorch asks for.
    everybodys = getattr(ctypes.CDLL(None), _FUNCTIONS[0], None)
    if everybodys is not None and _address(everybodys) != addresses[0]:
        return None, "the process has two OpenMP libraries"
    if its_count != count:
        return None, f"{library} says {its_count} threads, PyTorch {count}"
    return (addresses[0], addresses[1], addresses[2]), ""


def threads_of(count: int) -> Threads:
    """PyTorch's, where they are as many as are asked for: a team of another size would be ended and started again by
    each operator."""
    found, _ = team()
    if found is None or count < 2 or count != torch.get_num_threads():
        return Threads(count)
    return Threads(count, openmp=found)


def named(count: int) -> str:
    """For people."""
    found, why = team()
    if count < 2:
        return "one thread, the caller's"
    if found is not None and count == torch.get_num_threads():
        return f"PyTorch's {count} threads"
    return f"{count} threads of their own" + (f": {why}" if why else "")


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _file_at(address: int) -> str:
    """The file that is mapped there; empty: none."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            begin, _, end = line.split(maxsplit=1)[0].partition("-")
            if int(begin, 16) <= address < int(end, 16):
                return line.split(maxsplit=5)[5].strip() if line.count(" ") > 5 else ""
    return ""
