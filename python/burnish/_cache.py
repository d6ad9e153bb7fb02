"""Bundles that earlier processes compiled: `$BURNISH_BUNDLE_CACHE`, else `$XDG_CACHE_HOME/burnish/bundles`.

A bundle's name says what it was made of: a hash of the operators and of all that decides about the code, and a hash
of the weights. With the first alone a bundle that takes other weights is found, too. Nothing else lies there but
bundles, files that are being written, and locks, so that nothing has to be read to look something up; what a bundle holds
the runtime checks when it opens it.

A bundle is code that this process will run: the folder must be the user's own, and nobody else may write to it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import logging
import os
import stat
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from burnish_runtime import __version__

from . import _programs
from ._graph import Graph

log = logging.getLogger("burnish.cache")

FORMAT = "1"  # Of names, and of what they are hashes of.
DEFAULT_BYTES = 8 << 30  # Some 80 bundles of 100 MB.
_LOCKS = 64  # Files; what is compiled under one is compiled in turn.
_LOCK_SECONDS = 600.0  # Longer than anything compiles: then the other process is taken for dead.
_STALE_SECONDS = 86400.0  # A file that is being written since then belongs to nobody.
_SUFFIX, _REFIT, _FIXED, _PART = ".bundle", "refit", "fixed", "part-"
REFITTABLE = _REFIT + _SUFFIX  # How bundles end that take other weights.


@dataclasses.dataclass(frozen=True)
class Key:
    code: str
    content: str


def key_of(graph: Graph, settings: Mapping[str, Any]) -> Key:
    """`settings`: all that decides about the code and is not in the graph."""
    structure, content = graph.fingerprint()
    facts = [FORMAT, __version__, structure, _stamp(_programs.path("tuner")), _machine(),
             *(f"{name}={value}" for name, value in sorted(settings.items()))]
    return Key(_short("\n".join(facts)), _short(content))


def setting(name: str) -> str | None:
    """What the programs take where no flag says otherwise (docs/cli.md, "Settings"); None: their default."""
    text = os.environ.get("BURNISH_" + name.upper())
    if text is not None:
        return text
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    for folder in (base, "/etc"):
        with contextlib.suppress(OSError, ValueError):  # A broken file is an error of the program's.
            with open(os.path.join(folder, "burnish", "config.toml"), "rb") as file:
                value = tomllib.load(file).get(name)
            if value is not None:
                return str(value)
    return None


def surroundings(database: str | None) -> dict[str, str | None]:
    """What decides about the code and is neither in the graph nor an argument."""
    return {"target": setting("target"), "calibration": setting("calibration"),
            "records": database_stamp(database)}


def database_stamp(path: str | None) -> str:
    """Changes with the records, by which schedules are chosen."""
    if path is None:
        base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        path = setting("db") or os.path.join(base, "burnish", "burnish.db")
    path = path.removeprefix("sqlite:")
    return path + _stamp(path) + _stamp(path + "-wal")


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "none"
    return f"{status.st_size},{status.st_mtime_ns}"


def _machine() -> str:
    """The CPU, for which code is made: homes are shared between machines."""
    wanted = ("model name", "flags", "CPU implementer", "CPU part", "Features")
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(1 << 16).split("\n\n")[0]
    except OSError:
        return "unknown"
    return json.dumps([line for line in first.splitlines() if line.startswith(wanted)])


class Cache:
    """One folder. Any number of processes may use it at the same time."""

    def __init__(self, folder: str, limit_bytes: int):
        self.folder = folder
        self.limit_bytes = limit_bytes

    def usable(self) -> bool:
        if self.limit_bytes <= 0 or setting("server"):  # A daemon does not say when its records change.
            return False
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            status = os.stat(self.folder)
        except OSError as error:
            log.warning("no cache of bundles: %s", error)
            return False
        if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            log.warning("%s is not used: others may write to it (chmod 700 it, or set BURNISH_BUNDLE_CACHE)",
                        self.folder)
            return False
        return True

    def exact(self, key: Key, refit: bool) -> list[str]:
        """Bundles of these weights; `refit`: only such as take others."""
        kinds = (_REFIT,) if refit else (_FIXED, _REFIT)
        paths = [self._path(key, kind) for kind in kinds]
        return [path for path in paths if os.path.exists(path)]

    def others(self, key: Key) -> list[str]:
        """Bundles of the same code that take other weights, the last used first."""
        return [path for path, _, _ in self._bundles()
                if os.path.basename(path).startswith(key.code + "-") and path.endswith(REFITTABLE)]

    def part(self) -> str:
        """A file to write, which `keep` takes."""
        handle, path = tempfile.mkstemp(prefix=_PART, dir=self.folder)
        os.close(handle)
        return path

    def keep(self, key: Key, part: str, refit: bool) -> str:
        """Others see all of the file or nothing."""
        path = self._path(key, _REFIT if refit else _FIXED)
        os.replace(part, path)
        self._shrink(path)
        return path

    def used(self, path: str) -> None:
        with contextlib.suppress(OSError):
            os.utime(path)

    def drop(self, path: str) -> None:
        """It is no bundle, or none of this version's."""
        with contextlib.suppress(OSError):
            os.unlink(path)

    @contextlib.contextmanager
    def alone(self, key: Key) -> Iterator[None]:
        """One process at a time compiles a graph; the others then find the bundle. The lock ends with its
        process."""
        name = f"lock-{int(key.code[:4], 16) % _LOCKS:02d}"
        handle = os.open(os.path.join(self.folder, name), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            end = time.monotonic() + _LOCK_SECONDS
            while not _locked(handle) and time.monotonic() < end:
                time.sleep(0.02)
            yield
        finally:
            os.close(handle)

    def _path(self, key: Key, kind: str) -> str:
        return os.path.join(self.folder, f"{key.code}-{key.content}-{kind}{_SUFFIX}")

    def _bundles(self) -> list[tuple[str, float, int]]:
        """Path, time and size of each, the last used first."""
        found = []
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # Another process may remove it.
                    status = entry.stat(follow_symlinks=False)
                    if entry.name.endswith(_SUFFIX) and stat.S_ISREG(status.st_mode):
                        found.append((entry.path, status.st_mtime, status.st_size))
                    elif entry.name.startswith(_PART) and time.time() - status.st_mtime > _STALE_SECONDS:
                        os.unlink(entry.path)
        return sorted(found, key=lambda one: -one[1])

    def _shrink(self, kept: str) -> None:
        """Removes what was used longest ago. Who has a bundle open keeps it."""
        total = 0
        for path, _, size in self._bundles():
            total += size
            if total > self.limit_bytes and path != kept:
                self.drop(path)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def user_cache() -> Cache:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.environ.get("BURNISH_BUNDLE_CACHE") or os.path.join(base, "burnish", "bundles")
    text = os.environ.get("BURNISH_BUNDLE_CACHE_BYTES", "")
    try:
        limit = int(text) if text else DEFAULT_BYTES
    except ValueError as error:
        raise ValueError(f"BURNISH_BUNDLE_CACHE_BYTES: got {text!r}, want a number of bytes; 0: no "
                         "cache") from error
    return Cache(folder, limit)
