"""What becomes of a model under backend="burnish", and where its time goes."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch

from . import backend
from .pieces import Piece

# Calls of the compiled model and of eager in turn, so that a change of the machine's pace meets both.
_CALLS_MIN, _CALLS_MAX = 5, 200


@dataclasses.dataclass(frozen=True)
class PieceReport:
    """A part that runs in Burnish."""

    name: str
    operators: int  #: That compute something.
    ms: float  #: Of one call of the model, in this piece: the median.
    refused: str = ""  #: Why it runs in PyTorch nevertheless.


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What `explain` found; as text, a report."""

    graphs: int  #: That PyTorch made of the model.
    breaks: Mapping[str, int]  #: Why it made more than one, and how often.
    pieces: tuple[PieceReport, ...]
    left: Mapping[str, str]  #: Operators that stay in PyTorch, and why.
    left_count: int
    operators: int  #: Of all graphs.
    whole: Mapping[str, str]  #: Graphs that stay in PyTorch whole, and why.
    ms: float  #: Of a call.
    eager_ms: float

    def __str__(self) -> str:
        lines = [f"{self.graphs} graphs, {len(self.pieces)} pieces, {self.left_count} of "
                 f"{self.operators} operators in PyTorch"]
        lines += [f"  {piece.name}: {piece.operators} operators, {piece.ms:.3f} ms" +
                  (f", in PyTorch: {piece.refused}" if piece.refused else "") for piece in self.pieces]
        lines += [f"  in PyTorch: {name} ({why})" for name, why in sorted(self.left.items())]
        lines += [f"  {name} in PyTorch: {why}" for name, why in self.whole.items()]
        lines += [f"  graph break, {count} times: {why}" for why, count in self.breaks.items()]
        beside = self.ms - sum(piece.ms for piece in self.pieces)
        lines.append(f"a call: {self.ms:.3f} ms, of which {max(0.0, beside):.3f} outside of pieces; "
                     f"eager: {self.eager_ms:.3f} ms")
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
        pieces=tuple(PieceReport(clock.piece.name, clock.piece.work_count, _ms(times),
                                 clock.piece.refused) for clock, times in zip(clocks, spent)),
        left=left, left_count=sum(one.left_count for one in parts),
        operators=sum(one.work_count for one in parts),
        whole={graph.name: graph.whole_fallback for graph in graphs if graph.whole_fallback},
        ms=_ms(ours), eager_ms=_ms(eager))


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
