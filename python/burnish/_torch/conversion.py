"""From a file of torch.export.save to a graph, by a child that can harm nothing. Imports no torch."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import tempfile

from burnish_runtime import BurnishError

from .._graph import Graph

_NO_FILE_CODE, _BAD_MODEL_CODE, _START_CODE = "B0201", "B0301", "B0801"
# Of a child's talk: enough for an error and a crash's last lines.
_TALK_BYTES = 1 << 16
_ERROR = re.compile(r"^error\[(B\d{4})\]: (.*)(?:\n  hint: (.*))?$", re.MULTILINE)


def graph_of_file(path: str | os.PathLike[str]) -> Graph:
    """Raises `ModuleNotFoundError` where there is no torch, and `BurnishError`: B0201, B0301, B0302."""
    if importlib.util.find_spec("torch") is None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")
    try:
        source = open(path, "rb")
    except OSError as error:
        raise BurnishError(f"cannot read {os.fspath(path)}: {error.strerror}", code=_NO_FILE_CODE) from error
    with source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as talk, tempfile.TemporaryDirectory() as scratch:
        descriptors = source.fileno(), out.fileno()
        command = [sys.executable, "-P", "-m", "burnish._torch.confined", *map(str, (*descriptors, os.getpid()))]
        # Modules come from where this process has them, and not from the folder that it happens to be in.
        # A user's name and folder are said, since looking them up asks a daemon of the system's.
        surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path)), "TMPDIR": scratch,
                        "HOME": scratch, "USER": "nobody", "LOGNAME": "nobody", "PYTHONDONTWRITEBYTECODE": "1"}
        surroundings.pop("TORCHINDUCTOR_CACHE_DIR", None)
        try:
            ended = subprocess.run(command, pass_fds=descriptors, env=surroundings, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=talk, check=False)
        except OSError as error:
            raise BurnishError(f"cannot start {sys.executable}: {error}", code=_START_CODE) from error
        if ended.returncode != 0:
            talk.seek(0)
            raise _error_of(talk.read(_TALK_BYTES).decode(errors="replace"), ended.returncode)
        return Graph.read(out)


def _error_of(talk: str, returncode: int) -> BurnishError:
    said = _ERROR.search(talk)
    if said is not None:
        error = BurnishError(said[2], code=said[1])
        if said[3]:
            error.add_note(f"hint: {said[3]}")
        return error
    words = talk.strip().splitlines()
    if returncode < 0:
        how = f"the child that read it was ended by {signal.Signals(-returncode).name}: it asked for more than a model needs"
    else:
        how = f"the child that read it ended with {returncode}"
    return BurnishError(how + (f"; its last words: {words[-1]}" if words else ""), code=_BAD_MODEL_CODE)
