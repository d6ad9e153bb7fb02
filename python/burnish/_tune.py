"""Tuning."""

from __future__ import annotations

import os

from . import _tuner
from ._model_source import Dims, ModelSource, Shapes, Values, model_flags
from ._study import Callback, TuneResult, run_study


def tune(model: ModelSource, path: str | os.PathLike[str] | None = None, *,
         trials: int | None = None, time: str | None = None, shapes: Shapes | None = None,
         values: Values | None = None, dims: Dims | None = None,
         target: str | None = None, threads: int | None = None,
         accuracy: float | str | None = None, scheduler: str | None = None,
         seed: int | None = None, precision: str | None = None,
         data: str | os.PathLike[str] | None = None, tracker: str | None = None,
         server: str | None = None, database: str | os.PathLike[str] | None = None,
         callback: Callback | None = None, interval: float | None = None) -> TuneResult:
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
        A preset of rules and search: burnish, templates, generator, auto_scheduler, meta_schedule, default.
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
    interval : float, optional
        Seconds between two looks at the study for `callback`; 1 by default.

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
