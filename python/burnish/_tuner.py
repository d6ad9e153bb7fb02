"""Runs the program ``tuner`` as a child process: its answers as JSON, its errors as exceptions.

The child cannot outlive the thread that started it, however that ends (``burnish-launcher``), and
leads a process group of its own: Ctrl-C comes to Python, which ends the child and then raises.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import IO, Any

from burnish_runtime import BurnishError

from . import _pace, _programs

# A tuner that is asked to stop writes what it has measured and ends its farm, which takes a second
# or two; by then one that does not answer is stuck.
STOP_SECONDS = 20.0
# Of a child's talk: enough for a crash's last lines.
LAST_WORDS_BYTES = 4096
CRASH_CODE = "B0901"  # "A bug of Burnish", as docs/cli.md numbers it.
INTERRUPTED_CODE = "B0905"

_TEXT_ERROR = re.compile(r"^error\[(B\d{4})\]: (.*)$((?:\n  \w+: .*$)*)", re.MULTILINE)


def settings(**values: object) -> list[str]:
    """Flags of the command line: ``opt_level=3`` is ``--opt-level 3``; None and False are none."""
    flags: list[str] = []
    for name, value in values.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            flags.append(flag)
        elif value is not None and value is not False:
            text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
            flags.append(f"{flag}={text}")
    return flags


def error_of(talk: str, returncode: int) -> BurnishError:
    """What a tuner that failed has said on stderr, as an exception."""
    parts = _json_error(talk) or _text_error(talk)
    if parts is None:
        how = (f"was ended by {signal.Signals(-returncode).name}" if returncode < 0 else
               f"ended with exit code {returncode}")
        words = talk.strip()[-LAST_WORDS_BYTES:]
        return BurnishError(f"the program tuner {how}" + (f"; its last words: {words}" if words else
                                                          ", without a word"), code=CRASH_CODE)
    message = parts["message"]
    if parts.get("where"):
        message += f" ({parts['where']})"
    error = BurnishError(message, code=parts["code"])
    if parts.get("hint"):
        error.add_note(f"hint: {parts['hint']}")
    return error


def _json_error(talk: str) -> dict[str, str] | None:
    for line in reversed(talk.splitlines()):
        if line.startswith("{"):
            try:
                error = json.loads(line)["error"]
                return {str(key): str(value) for key, value in error.items()
                        } if "code" in error and "message" in error else None
            except (ValueError, TypeError, KeyError, AttributeError):
                return None
    return None


def _text_error(talk: str) -> dict[str, str] | None:
    found = None
    for found in _TEXT_ERROR.finditer(talk):
        pass  # The last one.
    if found is None:
        return None
    details = dict(re.findall(r"^  (where|hint): (.*)$", found[3], re.MULTILINE))
    return {"code": found[1], "message": found[2], **details}


class Tuner:
    """One run of ``tuner`` with ``--json``, whose lines are read while it runs.

    A context: leaving it ends a child that still runs, softly at first.
    """

    def __init__(self, command: str, arguments: Sequence[str]):
        self._talk: IO[bytes] = tempfile.TemporaryFile()
        self._rest = b""
        launcher = [_programs.path("burnish-launcher"), f"--parent={os.getpid()}",
                    *_pace.launcher_flags(), "--"]
        try:
            self._process = subprocess.Popen(
                [*launcher, _programs.path("tuner"), command, *arguments, "--json"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._talk)
        except OSError as error:
            self._talk.close()
            raise BurnishError(f"cannot start the programs in {_programs.FOLDER}: {error}; "
                               "install the package again", code="B0801") from error

    def __enter__(self) -> Tuner:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        try:
            self.end()
        finally:
            self._pipe.close()
            self._talk.close()

    @property
    def _pipe(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def fileno(self) -> int:
        """Readable when there is something to read."""
        return self._pipe.fileno()

    def running(self) -> bool:
        return self._process.poll() is None

    def interrupt(self) -> None:
        """Asks the child to stop, as Ctrl-C in a shell does."""
        if self.running():
            self._process.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Ends the child: asks, waits, then kills it; its children end with it."""
        try:
            self.interrupt()
            self._process.wait(STOP_SECONDS)
        except BaseException as error:  # Also a second Ctrl-C.
            self._process.kill()
            self._process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise

    def read(self) -> list[dict[str, Any]] | None:
        """The lines that are there, after at least one wait for them; None at the end."""
        data = os.read(self.fileno(), 1 << 16)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines if line.strip()]

    def error(self) -> BurnishError | None:
        """Waits for its end; what went wrong, if something did."""
        returncode = self._process.wait()
        if returncode == 0:
            return None
        self._talk.seek(0)
        return error_of(self._talk.read().decode(errors="replace"), returncode)


def run(command: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The one object that a command prints."""
    answers = list(stream(command, arguments))
    if len(answers) != 1:
        raise BurnishError(f"tuner {command} printed {len(answers)} answers instead of one",
                           code=CRASH_CODE)
    return answers[0]


def stream(command: str, arguments: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Each object that a command prints, when it does."""
    with Tuner(command, arguments) as tuner:
        while (answers := tuner.read()) is not None:
            yield from answers
        if error := tuner.error():
            raise error


def together(tuners: Sequence[Tuner], seconds: float) -> list[Tuner]:
    """Those that have something to read, after at most so many seconds."""
    with selectors.DefaultSelector() as selector:
        for tuner in tuners:
            selector.register(tuner, selectors.EVENT_READ, tuner)
        return [key.data for key, _ in selector.select(seconds)]
