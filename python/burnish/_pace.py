"""Work behind a process that serves: its children take a share of the CPUs, and stand still while a call runs.

`burnish-launcher --pace` does that (base/pacer.h); this process tells when calls run, in a page of shared memory
(base/pace_page.h). One work at a time, and one a user and machine, so that the share is that of all.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import threading
import time
from collections.abc import Iterator

SHARE_PERCENT = 10  # Of the CPUs that this process may use.
_BYTES = mmap.PAGESIZE
_RUNNING, _BEGUN = 0, 1  # Words of 4 bytes.
_STOPPED, _CPU, _WALL = 2, 3, 4  # Of 8, in nanoseconds.
# A gap shorter than that is one between calls that follow each other.
_GAP_S = 0.001
_GAP_WAIT_S = 0.5  # A server without gaps gets no better bundle unless one of its calls has to wait.
_LOCK_POLL_S = 1.0

active: Pace | None = None  #: What runs behind the calls of this process.
_local = threading.local()  # `pace`: what children of this thread run behind.


class Pace:
    """A context around each call of the server."""

    def __init__(self) -> None:
        self._file = os.memfd_create("burnish-pace")  # Nothing is left behind, whatever ends this process.
        os.ftruncate(self._file, _BYTES)
        self._page = mmap.mmap(self._file, _BYTES)
        self._words = memoryview(self._page).cast("I")
        self._long_words = memoryview(self._page).cast("q")
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._words[_BEGUN] = (self._words[_BEGUN] + 1) & 0xFFFFFFFF
            self._words[_RUNNING] += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._words[_RUNNING] -= 1

    def close(self) -> None:
        os.close(self._file)  # The page goes with the last call that is in it.

    def flags(self) -> list[str]:
        """Of burnish-launcher, for a child."""
        return [f"--pace=/proc/{os.getpid()}/fd/{self._file}", f"--share={SHARE_PERCENT}"]

    @property
    def taken(self) -> tuple[float, float]:
        """Seconds of CPU that children took, and in how many seconds."""
        return self._long_words[_CPU] / 1e9, self._long_words[_WALL] / 1e9

    @property
    def stopped_s(self) -> float:
        return self._long_words[_STOPPED] / 1e9

    def await_turn(self, spent_cpu_s: float) -> None:
        """For work in this process itself, before the next piece of it: sleeps until what the last one took was
        the share, and then until no call runs."""
        time.sleep(spent_cpu_s / (cpu_count() * SHARE_PERCENT / 100))
        end = time.monotonic() + _GAP_WAIT_S
        while time.monotonic() < end:
            begun = self._words[_BEGUN]
            time.sleep(_GAP_S)
            if not self._words[_RUNNING] and begun == self._words[_BEGUN]:
                return


def cpu_count() -> int:
    return len(os.sched_getaffinity(0))


def launcher_flags() -> list[str]:
    """For children of this thread."""
    pace = getattr(_local, "pace", None)
    return [] if pace is None else pace.flags()


@contextlib.contextmanager
def behind_calls() -> Iterator[Pace]:
    """Children that this thread starts meanwhile are paced. Waits for whom of this user's processes does so."""
    global active
    with _alone():
        pace = Pace()
        active = _local.pace = pace
        try:
            yield pace
        finally:
            active = _local.pace = None
            pace.close()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(base, "burnish")
    os.makedirs(folder, exist_ok=True)
    handle = os.open(os.path.join(folder, "behind-calls.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        while not _locked(handle):
            time.sleep(_LOCK_POLL_S)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        # Of the process, not of the file's descriptor: a forked child must not keep it.
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _after_fork() -> None:
    """The page is the parent's, whose child runs behind the parent's calls."""
    global active
    active = _local.pace = None


os.register_at_fork(after_in_child=_after_fork)
