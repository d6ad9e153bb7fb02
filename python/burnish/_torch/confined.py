"""The child that reads a file of torch.export.save: from one open file to another, in the sandbox of compilers.

usage: python -m burnish._torch.confined SOURCE OUT PARENT   two descriptors, and the process to end with; PyTorch may
write into TMPDIR
"""

from __future__ import annotations

import os
import sys
import tempfile

from burnish_runtime import BurnishError
from burnish_runtime._burnish_runtime import confine

from . import archive, export

# Beyond what PyTorch has mapped: the file's tensors twice, once read and once decomposed, the graph, and PyTorch's
# tables. A model of 2 GB took 5.
_MEMORY_BYTES_MIN, _MEMORY_OF_A_BYTE = 8 << 30, 4
_OUT_BYTES_MIN, _OUT_OF_A_BYTE = 1 << 30, 2
_CPU_SECONDS = 1200  # A model of 2 GB takes one minute.
REFUSED = 65  # Of sysexits.h, as the programs have it.


def _mapped_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def main(source: int, out: int, parent: int) -> int:
    size = os.fstat(source).st_size
    folders = sorted({os.path.realpath(path) for path in (*sys.path, sys.prefix, sys.base_prefix) if path})
    missing = confine(parent, folders, tempfile.gettempdir(), _mapped_bytes() + _MEMORY_BYTES_MIN + _MEMORY_OF_A_BYTE * size,
                      _CPU_SECONDS, _OUT_BYTES_MIN + _OUT_OF_A_BYTE * size)
    if missing:
        print(f"note: this kernel has no {missing}, which would keep a hostile file from the machine", file=sys.stderr)
    try:
        with os.fdopen(source, "rb") as file:
            graph = export.graph_of(archive.load(file))
        with os.fdopen(out, "wb") as file:
            graph.write(file)
    except BurnishError as error:
        print(f"error[{error.code}]: {error}", *getattr(error, "__notes__", ()), sep="\n  ", file=sys.stderr)
        return REFUSED
    except Exception as error:  # Whatever torch thinks of the program.
        print(f"error[{archive.BAD_MODEL_CODE}]: torch cannot read it: {type(error).__name__}: {error}".splitlines()[0],
              file=sys.stderr)
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
