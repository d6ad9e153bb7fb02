"""Studies: what was or is being tuned."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from burnish_runtime import BurnishError

from . import _tuner
from ._fields import fields_of

if TYPE_CHECKING:
    from ._tune import Callback, TuneResult

#: States that a study does not leave by itself.
ENDED = frozenset({"done", "failed", "cancelled", "interrupted", "parked"})


@dataclasses.dataclass(frozen=True)
class TaskProgress:
    """One task of a study."""

    name: str
    workload: str
    weight: float  #: How often the model has it.
    best_ms: float | None  #: None: nothing was measured yet.
    gflops: float


@dataclasses.dataclass(frozen=True)
class Progress:
    """A study as it is."""

    study: str  #: Its id.
    title: str
    state: str  #: queued, running, interrupted, done, failed, cancelled or parked.
    detail: str  #: Why, where there is more to say.
    target: str
    trials: int
    trials_max: int  #: Below 0: no bound.
    failures: Mapping[str, int]  #: By kind; they are trials too.
    model_ms: float | None  #: The tasks' best latencies by weight; None: some have none.
    tasks: tuple[TaskProgress, ...]

    @property
    def ended(self) -> bool:
        """Whether the study goes on only when somebody resumes it."""
        return self.state in ENDED


def progress_of(answer: Mapping[str, Any]) -> Progress:
    tasks = tuple(TaskProgress(**fields_of(TaskProgress, task)) for task in answer["tasks"])
    return Progress(**{**fields_of(Progress, answer), "tasks": tasks})


@dataclasses.dataclass(frozen=True)
class Study:
    """A study in a database, or of a tuner daemon.

    Parameters
    ----------
    id : str
        Its id, or the beginning of only one.
    server : str, optional
        The daemon (HOST:PORT) that runs it.
    database : str or os.PathLike, optional
        By default the user's.
    """

    id: str
    server: str | None = None
    database: str | os.PathLike[str] | None = None

    def _where(self) -> list[str]:
        return _tuner.settings(server=self.server, db=self.database)

    def progress(self) -> Progress:
        """The study as it is now."""
        return progress_of(_tuner.run("status", [self.id, *self._where()]))

    def watch(self, interval: float = 1.0) -> Iterator[Progress]:
        """Follow the study until it ends: what is new, looked for every `interval` seconds."""
        for answer in _tuner.stream("watch", [self.id, f"--interval={interval}", *self._where()]):
            yield progress_of(answer)

    def cancel(self) -> None:
        """End it; what it measured stays, and `resume` takes it up again."""
        _tuner.run("cancel", [self.id, *self._where()])

    def result(self) -> Progress:
        """Wait until the study ends.

        Raises
        ------
        BurnishError
            It has failed, was cancelled or waits for a `resume`; the message says why.
        """
        last = self.progress()
        if not last.ended:
            for last in self.watch():
                pass
        if last.state != "done":
            raise BurnishError(f"study {last.study} is {last.state}" +
                               (f": {last.detail}" if last.detail else ""), code="B0602")
        return last

    def resume(self, path: str | os.PathLike[str] | None = None, *, tracker: str | None = None,
               callback: Callback | None = None, interval: float = 1.0) -> TuneResult:
        """Go on with a study that has not reached its end; nothing is measured twice.

        Parameters and result are those of `tune`. The bundle's `path`, if the study had one, need
        not be said again.
        """
        from ._tune import run_study
        flags = [self.id, *_tuner.settings(out=path, tracker=tracker)]
        return run_study("resume", flags, self.server, self.database, callback, interval)


def studies(*, state: str | None = None, limit: int = 100, server: str | None = None,
            database: str | os.PathLike[str] | None = None) -> list[Study]:
    """Studies, newest first.

    Parameters
    ----------
    state : str, optional
        Only those that are queued, running, interrupted, done, failed, cancelled or parked.
    limit : int, default 100
        How many at most.
    server, database : optional
        As for `Study`.
    """
    answer = _tuner.run("list", _tuner.settings(state=state, limit=limit, server=server,
                                                db=database))
    return [Study(study["study"], server, database) for study in answer["studies"]]
