"""Tuning."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from burnish_runtime import BurnishError

from . import _tuner
from ._fields import fields_of
from ._model_source import Dims, ModelSource, Shapes, Values, model_flags
from ._study import Progress, Study, progress_of

#: Called with a study's progress; False, and nothing else, ends the study.
Callback: TypeAlias = Callable[[Progress], object]


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
              interval: float) -> TuneResult:
    """`submit` or `resume`."""
    run = _Run(server, database, callback, interval)
    where = _tuner.settings(server=server, db=database)
    with _tuner.Tuner(command, [*flags, *where, "--quiet"]) as runner:
        run.follow(runner)
        error = runner.error()
    return run.result(error)


def tune(model: ModelSource, path: str | os.PathLike[str] | None = None, *,
         trials: int | None = None, time: str | None = None, shapes: Shapes | None = None,
         values: Values | None = None, dims: Dims | None = None,
         target: str | None = None, threads: int | None = None,
         accuracy: float | str | None = None, scheduler: str | None = None,
         seed: int | None = None, precision: str | None = None,
         data: str | os.PathLike[str] | None = None, tracker: str | None = None,
         server: str | None = None, database: str | os.PathLike[str] | None = None,
         callback: Callback | None = None, interval: float = 1.0) -> TuneResult:
    """Search for the fastest program of each operator of a model, by measuring.

    Without `tracker` and `server` the search uses this machine, all of it. What is measured is
    recorded when it is: Ctrl-C or a crash loses nothing, and ``Study(id).resume()`` goes on.

    Parameters
    ----------
    model : str, os.PathLike, bytes, object with SerializeToString, Graph, or Task
        As for `compile`. Bytes are kept in the user's cache folder, for who resumes the study.
    path : str or os.PathLike, optional
        The bundle to write at the end.
    trials : int, optional
        Candidates to measure; 0: default schedules alone, -1: until the gain is small.
    time : str, optional
        Time to tune for at most: ``"90s"``, ``"10m"``, ``"2h"``.
    shapes, values, dims, target, threads, accuracy, precision, data : optional
        As for `compile`. Which layers are stored how is found when the study is submitted, and is
        part of it.
    scheduler : str, optional
        A preset of rules and search: burnish, all, generator, auto_scheduler, meta_schedule, default.
    seed : int, optional
        Of every random choice.
    tracker : str, optional
        A farm (HOST:PORT) to measure on.
    server : str, optional
        A tuner daemon (HOST:PORT) that runs the study. It goes on when this process ends.
    database : str or os.PathLike, optional
        By default the user's.
    callback : callable, optional
        Called in this thread with a `Progress` whenever something has changed. If it returns False
        the study is cancelled, and can be resumed. What it raises ends the run and is raised.
    interval : float, default 1.0
        Seconds between two looks at the study for `callback`.

    Returns
    -------
    TuneResult

    Raises
    ------
    BurnishError
        With a ``code`` of docs/cli.md, such as B0605: all that was tried has failed.
    """
    flags = [*model_flags(model, shapes, values, dims),
             *_tuner.settings(trials=trials, time=time, target=target, threads=threads,
                              accuracy=accuracy, scheduler=scheduler, seed=seed,
                              precision=precision, data=data, tracker=tracker, out=path)]
    return run_study("submit", flags, server, database, callback, interval)
