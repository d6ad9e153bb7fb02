"""From a file of torch.export to one that every command of ``tuner`` takes, so that a farm needs no torch.

With --keep in the place of a name it prints that of a file in the user's cache, as `burnish.tune` keeps models.

usage: python -m burnish.export MODEL.pt2 OUT.graph
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from burnish_runtime import BurnishError

from ._model_source import PT2, from_torch, kept_graph

_USAGE = 64  # Of sysexits.h, as the programs of this package have it (docs/cli.md).
_REFUSED = 65
_UNAVAILABLE = 69
_KEEP = "--keep"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2 or not arguments[0].endswith(PT2):
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return _USAGE
    source, out = arguments
    try:
        graph = from_torch(source)
        if out == _KEEP:
            print(kept_graph(graph))
        else:
            graph.save(out)
    except BurnishError as error:
        print(f"error[{error.code}]: {error}", *getattr(error, "__notes__", ()), sep="\n  ", file=sys.stderr)
        return _REFUSED
    except ImportError as error:
        print(f"error: {error}", file=sys.stderr)
        return _UNAVAILABLE
    except Exception as error:  # Whatever torch thinks of the file.
        print(f"error: {error}", file=sys.stderr)
        return _REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
