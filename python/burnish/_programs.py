"""The programs of the wheel: where they are, and the commands that start them."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_programs")


def path(name: str) -> str:
    """Of one program. The programs find each other in the folder that they lie in."""
    return os.path.join(FOLDER, name)


def _become(name: str) -> NoReturn:
    # `tuner bench --against onnxruntime` wants the Python of this environment, activated or not.
    os.environ.setdefault("BURNISH_PYTHON", sys.executable)
    os.execv(path(name), [path(name), *sys.argv[1:]])


def tuner() -> NoReturn:
    """The command ``tuner``."""
    _become("tuner")


def tracker() -> NoReturn:
    """The command ``burnish-tracker``."""
    _become("tracker")


def worker() -> NoReturn:
    """The command ``burnish-worker``."""
    _become("worker")
