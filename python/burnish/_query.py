"""What was measured."""

from __future__ import annotations

import dataclasses
import os

from . import _tuner
from ._fields import fields_of
from ._model_source import ModelSource, Task, model_flags


@dataclasses.dataclass(frozen=True)
class Record:
    """The measured schedule of one task."""

    name: str  #: The task's, as the study of the model named it.
    workload: str  #: SHA-256 of the task's program.
    target: str  #: The CPU that it was measured on.
    rank_ms: float  #: The latency by which records are ranked.
    median_ms: float
    network_factor: float  #: What the neighbours in the model make of it.
    gflops: float  #: 0 where the program's operations are not known.
    peak_share: float  #: Of this machine's peak; 0 where that is not known.
    trial: str
    recorded_ns: int  #: Since 1970, UTC.
    host: str
    unconfirmed: bool  #: No worker of the farm at another address has measured the same.
    contract: str
    trace: str | None = None  #: The schedule, if it was asked for.


def query(model: ModelSource | None = None, *, task: str | None = None, top: int = 1,
          limit: int = 100, trace: bool = False, target: str | None = None,
          database: str | os.PathLike[str] | None = None,
          server: str | None = None) -> list[Record]:
    """The best schedules that were measured.

    Parameters
    ----------
    model : as for `compile`, optional
        As it was tuned: the same path, or the same bytes. Without `model` and `task` all records.
    task : str, optional
        Instead of a model: a task's name, or the beginning of a workload's hash.
    top : int, default 1
        How many of each task.
    limit : int, default 100
        How many tasks at most.
    trace : bool, default False
        With the schedules' texts.
    target : str, optional
        Only what was measured for this CPU.
    database : str or os.PathLike, optional
        By default the user's.
    server : str, optional
        A tuner daemon (HOST:PORT), whose records they are then.

    Returns
    -------
    list of Record

    Raises
    ------
    BurnishError
        ``code`` B0603: nothing was measured for it.
    """
    if model is not None and task is not None:
        raise TypeError("give either model or task")
    if isinstance(model, Task):
        what = [f"--task={model.text}"]  # A study's title has no batch.
    elif model is not None:
        what = model_flags(model, None)
    else:
        what = _tuner.settings(task=task)
    answer = _tuner.run("query", [*what, *_tuner.settings(top=top, limit=limit, trace=trace,
                                                          target=target, db=database,
                                                          server=server)])
    return [Record(**fields_of(Record, record)) for record in answer["records"]]
