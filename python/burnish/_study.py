"""Studies: what was or is being tuned, and what follows one that runs."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from burnish_runtime import BurnishError

from . import _tuner
from ._fields import fields_of

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


#: Called with a study's progress; False, and nothing else, ends the study.
Callback: TypeAlias = Callable[[Progress], object]


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
               callback: Callback | None = None, interval: float | None = None) -> TuneResult:
        """Go on with a study that has not reached its end; nothing is measured twice.

        Parameters and result are those of `tune`. The bundle's `path`, if the study had one, need
        not be said again.
        """
        flags = [self.id, *_tuner.settings(out=path, tracker=tracker)]
        return run_study("resume", flags, self.server, self.database, callback, interval)


@dataclasses.dataclass(frozen=True)
class TaskResult:
    """One task of a study at its end."""

    name: str
    weight: float
    flop_count: int
    default_ms: float | None  #: What `compile` takes without a trial.
    best_ms: float | None
    gain: float | None  #: Of the best over the default, measured in turn; None: not compared.
    refined: bool  #: Whether the model's neighbours decided.
    trials: int


@dataclasses.dataclass(frozen=True)
class TuneResult:
    """What a study found."""

    study: Study
    reason: str  #: Why it ended: trials, time, gain, ..., or ``"cancelled"`` by the callback.
    trials: int
    failures: Mapping[str, int]
    elapsed_s: float
    tasks: tuple[TaskResult, ...]
    bundle: str | None  #: The bundle that was written.

    @property
    def cancelled(self) -> bool:
        """Whether the callback ended it; `study.resume()` goes on."""
        return self.reason == "cancelled"


class _Run:
    """A study's run here: two children, one that runs or follows it and one that watches it."""

    def __init__(self, server: str | None, database: str | os.PathLike[str] | None,
                 callback: Callback | None, interval: float):
        self.server, self.database = server, database
        self.callback, self.interval = callback, interval
        self.study: Study | None = None
        self.tuned: dict[str, Any] = {}
        self.bundle: str | None = None
        self.cancelled = False

    def take(self, event: Mapping[str, Any]) -> None:
        if event["event"] in ("submitted", "resumed"):
            self.study = Study(event["study"], self.server, self.database)
        elif event["event"] == "tuned":
            self.tuned = dict(event)
        elif event["event"] == "built":
            self.bundle = event["bundle"]

    def tell(self, progress: Progress) -> None:
        assert self.callback is not None and self.study is not None
        if not self.cancelled and self.callback(progress) is False:
            self.cancelled = True
            if not progress.ended:
                self.study.cancel()

    def follow(self, runner: _tuner.Tuner) -> None:
        """Until the runner has said everything."""
        while self.study is None or self.callback is None:
            if (events := runner.read()) is None:
                return
            for event in events:
                self.take(event)
        where = _tuner.settings(server=self.server, db=self.database)
        with _tuner.Tuner("watch", [self.study.id, f"--interval={self.interval}", *where]) as watch:
            open_ones = [runner, watch]
            while runner in open_ones:
                for ready in _tuner.together(open_ones, seconds=1.0):
                    answers = ready.read()
                    if answers is None:
                        open_ones.remove(ready)
                    for answer in answers or []:
                        if ready is runner:
                            self.take(answer)
                        else:
                            self.tell(progress_of(answer))

    def result(self, error: BurnishError | None) -> TuneResult:
        if error is not None and not self.cancelled:
            raise error
        if self.study is None:
            raise BurnishError("tuner named no study", code=_tuner.CRASH_CODE)
        tasks = tuple(TaskResult(**fields_of(TaskResult, task))
                      for task in self.tuned.get("tasks", []))
        reason = "cancelled" if self.cancelled else self.tuned.get("reason", "")
        return TuneResult(self.study, reason, self.tuned.get("trials", 0),
                          self.tuned.get("failures", {}), self.tuned.get("elapsed_s", 0.0), tasks,
                          self.bundle)


def run_study(command: str, flags: Sequence[str], server: str | None,
              database: str | os.PathLike[str] | None, callback: Callback | None,
              interval: float | None) -> TuneResult:
    """`submit` or `resume`."""
    if interval is not None and callback is None:
        raise ValueError("interval: it is how often callback is called: give one as well")
    if interval is not None and not 0 < interval < math.inf:
        raise ValueError(f"interval: got {interval}, want seconds above 0")
    run = _Run(server, database, callback, 1.0 if interval is None else interval)
    where = _tuner.settings(server=server, db=database)
    with _tuner.Tuner(command, [*flags, *where, "--quiet"]) as runner:
        run.follow(runner)
        error = runner.error()
    return run.result(error)


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
