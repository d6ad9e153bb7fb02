"""A graph's bundle: an earlier one's from the cache, that of other weights refitted, or compiled."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import tempfile

from burnish_runtime import BurnishError, Model, Threads, load

from .. import _cache
from .._compile import bundle_path
from .._compile import compile as compile_graph
from .._graph import Graph
from .._model_source import kept_graph
from .._study import studies
from .._tune import tune
from .options import BACKGROUND, FARM, Options

log = logging.getLogger("burnish.torch")

_NOT_TUNED = "B0603"  # As docs/cli.md numbers it.
_UNTIL_GAIN = -1  # Trials, as a study counts them: until the gain is small.
_LEFT = ("interrupted", "running")  # The second: its process was killed, or runs it; `resume` knows.
_STUDIES_MAX = 20  # The newest; each is asked for.


@dataclasses.dataclass(frozen=True)
class Made:
    model: Model
    how: str  #: "cached", "refitted" or "compiled".
    refits: bool  #: Whether it takes other weights.
    own: bool  #: Whether its file is this process's alone.


def made(graph: Graph, options: Options, threads: int, pool: Threads, refit: bool,
         tuned: bool = False) -> Made:
    """`refit`: it has to take other weights later; `tuned`: what has no records is measured first."""
    if tuned:
        _study(graph, options, threads)
    cache = _cache.user_cache()
    if not options.cache or not cache.usable():
        path = _compiled(graph, options, threads, refit, bundle_path())
        return Made(load(path, threads=pool), "compiled", refit, own=True)
    key = _cache.key_of(graph, {
        "threads": threads, "opt_level": options.opt_level, "accuracy": options.accuracy,
        "precision": options.precision,
        **_cache.surroundings(options.database)})
    found = _found(cache, key, graph, pool, refit)
    if found is not None:
        return found
    with cache.alone(key):
        found = _found(cache, key, graph, pool, refit)  # Of whom this process has waited for.
        if found is not None:
            return found
        part = cache.part()
        try:
            path = cache.keep(key, _compiled(graph, options, threads, refit, part), refit)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
        return Made(load(path, threads=pool), "compiled", refit, own=False)


def _study(graph: Graph, options: Options, threads: int) -> None:
    """Measures, unless each task of the graph has a record: what is best on record then holds for it."""
    with tempfile.NamedTemporaryFile(suffix=".bundle") as file:
        try:
            _compiled(graph, options, threads, False, file.name, require_tuned=True)
            return
        except BurnishError as error:
            if error.code != _NOT_TUNED:
                raise
    if options.tune == BACKGROUND and _resumed(graph, options, threads):
        return
    tracker = options.tune.removeprefix(FARM) if options.tune.startswith(FARM) else None
    tune(graph, trials=options.trials, time=options.time, threads=threads, accuracy=options.accuracy,
         scheduler=options.scheduler, database=options.database, tracker=tracker, precision=options.precision)


def _resumed(graph: Graph, options: Options, threads: int) -> bool:
    """Whether a study of this graph went on that an earlier process left: behind calls one takes hours, and a server
    may not live that long."""
    title = os.path.basename(kept_graph(graph))
    trials = _UNTIL_GAIN if options.trials is None else options.trials
    try:
        for study in studies(database=options.database, limit=_STUDIES_MAX):
            progress = study.progress()
            of_this = progress.title == title and f",threads={threads}," in progress.target + ","
            if of_this and progress.state in _LEFT and progress.trials_max == trials:
                log.info("study %s goes on, after %d trials", study.id, progress.trials)
                study.resume()
                return True
    except BurnishError as error:  # No database yet, or somebody runs it: then there is a study of its own.
        log.info("no study goes on: %s", error)
    return False


def _compiled(graph: Graph, options: Options, threads: int, refit: bool, path: str,
              require_tuned: bool = False) -> str:
    # Weights and all, for as long as it is compiled.
    with tempfile.NamedTemporaryFile(suffix=".graph") as file:
        graph.save(file.name)
        return compile_graph(file.name, path, threads=threads, opt_level=options.opt_level,
                             accuracy=options.accuracy, precision=options.precision,
                             database=options.database, refit=refit, require_tuned=require_tuned)


def _found(cache: _cache.Cache, key: _cache.Key, graph: Graph, pool: Threads,
           refit: bool) -> Made | None:
    for path in cache.exact(key, refit):
        model = _opened(cache, path, graph, pool)
        if model is not None:
            cache.used(path)
            return Made(model, "cached", path.endswith(_cache.REFITTABLE), own=False)
    for path in cache.others(key):
        # Its own weights are not looked at: they are replaced, and that checks what stays.
        model = _opened(cache, path, graph, pool, trust=True)
        if model is None:
            continue
        given = graph.replaceable()
        if not set(given) <= {parameter.name for parameter in model.parameters}:
            continue  # What it does not take has the other weights' values.
        with contextlib.suppress(BurnishError):
            model = model.refit(given)
            cache.used(path)
            return Made(model, "refitted", True, own=False)
    return None


def _opened(cache: _cache.Cache, path: str, graph: Graph, pool: Threads,
            trust: bool = False) -> Model | None:
    """None where it is not what its name says: it is compiled again then, in its place."""
    try:
        model = load(path, threads=pool, trust_parameters=trust)
    except BurnishError:
        cache.drop(path)
        return None
    inputs = [(one.name, tuple(one.shape)) for one in model.inputs]
    if inputs == graph.inputs() and [one.name for one in model.outputs] == graph.outputs():
        return model
    cache.drop(path)
    return None
