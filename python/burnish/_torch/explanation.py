"""What becomes of a model under backend="burnish", and where its time goes."""

from __future__ import annotations

import dataclasses
import logging
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from burnish_runtime import BurnishError

from .. import _tuner
from . import backend, team
from .pieces import Piece

log = logging.getLogger("burnish.torch")

# Calls of the compiled model and of eager in turn, so that a change of the machine's pace meets both.
_CALLS_MIN, _CALLS_MAX = 5, 200
_PROFILE_SECONDS_MIN = 0.05


# Of a report's text: a model has hundreds of steps, and few of them take the time.
_STEPS_SHOWN = 5
_DEFAULT = "default"  # A schedule that no measurement has chosen.


@dataclasses.dataclass(frozen=True)
class StepReport:
    """What runs as one kernel: some of a piece's operators."""

    name: str
    ms: float  #: Alone on the machine, without the piece's other work between its runs.
    least_ms: float  #: Below which this machine's peaks of arithmetic and memory allow nothing.
    schedule: str  #: "default": as the analytic model likes it; or where the record is from.


@dataclasses.dataclass(frozen=True)
class PieceReport:
    """A part that runs in Burnish."""

    name: str
    operators: int  #: That compute something.
    ms: float  #: Of one call of the model, in this piece: the median.
    refused: str = ""  #: Why it runs in PyTorch nevertheless.
    steps: tuple[StepReport, ...] = ()  #: In the order of the run; none where they were not timed.
    threads: str = ""  #: Whose threads it runs on.
    sizes: str = ""  #: Which sizes its bundles are for, where those are not fixed.


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What `explain` found; as text, a report."""

    graphs: int  #: That PyTorch made of the model.
    breaks: Mapping[str, int]  #: Why it made more than one, and how often.
    pieces: tuple[PieceReport, ...]
    left: Mapping[str, str]  #: Operators that stay in PyTorch, and why.
    left_count: int
    operators: int  #: Of all graphs.
    left_share: float  #: Of the graphs' work, what those do that stay in PyTorch: an estimate.
    whole: Mapping[str, str]  #: Graphs that stay in PyTorch whole, and why.
    ms: float  #: Of a call.
    eager_ms: float

    @property
    def tunable_ms(self) -> float:
        """What steps take that nobody has tuned here."""
        return sum(step.ms for step in self._defaults())

    @property
    def tuning_brings_at_most_ms(self) -> float:
        """An estimate: so much those steps are above what the machine's peaks allow. Tuning brings a part of that."""
        return sum(max(0.0, step.ms - step.least_ms) for step in self._defaults())

    def _defaults(self) -> list[StepReport]:
        return [step for piece in self.pieces for step in piece.steps if step.schedule == _DEFAULT]

    def __str__(self) -> str:
        lines = [f"{self.graphs} graphs, {len(self.pieces)} pieces, {self.left_count} of "
                 f"{self.operators} operators in PyTorch" +
                 (f", some {self.left_share:.1%} of the work" if self.left_count else "")]
        for piece in self.pieces:
            lines.append(f"  {piece.name}: {piece.operators} operators, {piece.ms:.3f} ms, {piece.threads}" +
                         (f", {piece.sizes}" if piece.sizes else "") +
                         (f", in PyTorch: {piece.refused}" if piece.refused else ""))
            slowest = sorted(piece.steps, key=lambda step: -step.ms)
            lines += [f"    {step.name}: {step.ms:.3f} ms, at least {step.least_ms:.3f} by the machine's peaks, "
                      f"{step.schedule}" for step in slowest[:_STEPS_SHOWN]]
            if len(slowest) > _STEPS_SHOWN:
                rest = slowest[_STEPS_SHOWN:]
                lines.append(f"    {len(rest)} more: {sum(step.ms for step in rest):.3f} ms")
        lines += [f"  in PyTorch: {name} ({why})" for name, why in sorted(self.left.items())]
        lines += [f"  {name} in PyTorch: {why}" for name, why in self.whole.items()]
        lines += [f"  graph break, {count} times: {why}" for why, count in self.breaks.items()]
        beside = self.ms - sum(piece.ms for piece in self.pieces)
        lines.append(f"a call: {self.ms:.3f} ms, of which {max(0.0, beside):.3f} outside of pieces; "
                     f"eager: {self.eager_ms:.3f} ms")
        if self.tunable_ms:
            lines.append(f"tuning (estimate): steps that take {self.tunable_ms:.3f} ms have default schedules; by the "
                         f"machine's peaks at most {self.tuning_brings_at_most_ms:.3f} of that can go")
        elif any(piece.steps for piece in self.pieces):
            lines.append("tuning (estimate): nothing; all steps have schedules that were measured here")
        return "\n".join(lines)


class _Clock:
    """Adds up what a piece takes."""

    def __init__(self, piece: Piece):
        self.piece, self.seconds = piece, 0.0
        self._forward = piece.forward
        piece.__dict__["forward"] = self._timed

    def _timed(self, *args: Any) -> Any:
        begin = time.perf_counter()
        try:
            return self._forward(*args)
        finally:
            self.seconds += time.perf_counter() - begin

    def stop(self) -> None:
        del self.piece.__dict__["forward"]


def explain(model: Callable[..., Any], *inputs: Any, options: Mapping[str, Any] | None = None,
            seconds: float = 1.0, **named_inputs: Any) -> Explanation:
    """See `burnish.explain`."""
    model = getattr(model, "_orig_mod", model)  # What torch.compile was given.
    counters = torch._dynamo.utils.counters["graph_break"]
    before = dict(counters)
    with backend.listening() as graphs:
        # A function of its own, for which PyTorch has nothing compiled yet.
        compiled = torch.compile(model, backend=lambda module, given: backend.burnish(
            module, given, options=options))
        compiled(*inputs, **named_inputs)
        compiled(*inputs, **named_inputs)
    parts = [graph.parts for graph in graphs if graph.parts is not None]
    clocks = [_Clock(piece) for one in parts for piece in one.pieces]
    ours, eager, spent = [], [], [[] for _ in clocks]
    begin = time.perf_counter()
    try:
        while len(ours) < _CALLS_MIN or (len(ours) < _CALLS_MAX
                                         and time.perf_counter() - begin < seconds):
            for clock in clocks:
                clock.seconds = 0.0
            ours.append(_seconds(compiled, inputs, named_inputs))
            for clock, times in zip(clocks, spent):
                times.append(clock.seconds)
            eager.append(_seconds(model, inputs, named_inputs))
    finally:
        for clock in clocks:
            clock.stop()
    left: dict[str, str] = {}
    for one in parts:
        left.update(one.left)
    return Explanation(
        graphs=len(graphs), breaks={_short(why): count - before.get(why, 0)
                                    for why, count in counters.items() if count > before.get(why, 0)},
        pieces=tuple(PieceReport(clock.piece.name, clock.piece.work_count, _ms(times), clock.piece.refused,
                                 _steps(clock.piece, seconds), team.named(clock.piece.thread_count()),
                                 clock.piece.sizes_text)
                     for clock, times in zip(clocks, spent)),
        left=left, left_count=sum(one.left_count for one in parts),
        operators=sum(one.work_count for one in parts),
        left_share=sum(one.left_work for one in parts) / (sum(one.work for one in parts) or 1.0),
        whole={graph.name: graph.whole_fallback for graph in graphs if graph.whole_fallback},
        ms=_ms(ours), eager_ms=_ms(eager))


def _steps(piece: Piece, seconds: float) -> tuple[StepReport, ...]:
    """Of the bundle that ran last, in a process of its own."""
    models = [bundle.model for bundle in piece.bundles.values() if bundle.model is not None]
    if not models:
        return ()
    try:
        answer = _tuner.run("bench", [models[-1].path, "--profile", *_tuner.settings(
            seconds=max(_PROFILE_SECONDS_MIN, seconds / 4), threads=models[-1].thread_count)])
    except BurnishError as error:  # Inputs are made up there, and an index may be out of bounds.
        log.info("%s: steps were not timed: %s", piece.name, error)
        return ()
    return tuple(StepReport(step["name"], 1e-3 * step["time_us"], 1e-3 * (step["bound_us"] or 0.0),
                            step["schedule"]) for step in answer["steps"])


def _short(why: str) -> str:
    """What PyTorch says first of a graph break, and its explanation; hints and links follow."""
    lines = [line.strip() for line in why.splitlines()]
    explained = [line.removeprefix("Explanation: ") for line in lines if line.startswith("Explanation: ")]
    return ": ".join([*lines[:1], *explained[:1]])


def _seconds(call: Callable[..., Any], inputs: Any, named_inputs: Any) -> float:
    begin = time.perf_counter()
    call(*inputs, **named_inputs)
    return time.perf_counter() - begin


def _ms(times: list[float]) -> float:
    return 1e3 * statistics.median(times)
