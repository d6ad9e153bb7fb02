"""Whether one way to run a piece may take another's place: equal results, and no slower for sure.

Measured beside whatever the process does, so in pairs, one of each in turn: what disturbs one disturbs its
neighbour. A bound on the mean of the pairs' ratio decides, and not the ratio itself, which is right by luck half of the
time where both are equally fast.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .types import is_dense

COPIED_BYTES_MAX = 64 << 20  # Inputs above are not copied, but made anew at random.
PAIRS_MIN, PAIRS_MAX = 30, 240
SECONDS_MAX = 30.0  # Of runs, for pairs beyond the least number.
# Of what a pair took, before the next one behind the calls: threads take turns with calls, so that without a pause
# each call would wait for a run of the proof as well.
PAUSE = 2.0
ERROR_MAX = 1e-4  # Of the largest element, as docs/contracts.md counts it.
PRECISION_ERROR_MAX = 2e-2  # With the option `precision`: its default budget (docs/low-precision.md).
# Of a model in 16 bits PyTorch rounds each value: in bfloat16 by 2^-9 of it, some 1e-2 after fifty layers.
NARROW_ERROR_MAX = 5e-2
# Student's t for one side of 95 % and 29 degrees of freedom; with more pairs it falls to 1.65.
_T = 1.70

Call = Callable[[Sequence[Any]], Any]


def private_inputs(args: Sequence[Any], shared: Sequence[int]) -> tuple[Any, ...]:
    """Arguments that nobody else writes to. `shared`: weights, which stay as they are."""
    own = [x for i, x in enumerate(args) if i not in shared and isinstance(x, torch.Tensor)]
    fill = _copied if sum(x.numel() * x.element_size() for x in own) <= COPIED_BYTES_MAX else _random
    return tuple(x if i in shared or not isinstance(x, torch.Tensor) else fill(x.detach())
                 for i, x in enumerate(args))


def _copied(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype).copy_(x) if is_dense(x) else x.clone()


def _random(x: torch.Tensor) -> torch.Tensor:
    """Of the same type, shape and range: an index has to stay in bounds."""
    if x.dtype.is_floating_point:
        return torch.randn(x.shape, dtype=x.dtype)
    if x.dtype == torch.bool:
        return torch.rand(x.shape) < 0.5
    least, greatest = (int(x.min()), int(x.max())) if x.numel() else (0, 0)
    return torch.randint(least, greatest + 1, x.shape, dtype=x.dtype)


def refusal(old: Call, new: Call, args: Sequence[Any], clock: Callable[[], float] = time.perf_counter,
            await_turn: Callable[[float], None] = lambda seconds: None, error_max: float = ERROR_MAX) -> str:
    """Why `new` must not take the place of `old`; empty: it may. `await_turn` is called before each pair, with what
    the one before it took; `error_max` is a share of a result's largest element."""
    begin = clock()
    why = _difference(_tensors(old(args)), _tensors(new(args)), error_max)
    if why:
        return why
    for _ in range(2):  # Caches warm.
        await_turn(clock() - begin)
        begin = clock()
        old(args), new(args)
    ratios: list[float] = []
    pair, spent = clock() - begin, 0.0
    while len(ratios) < PAIRS_MAX:
        await_turn(pair)
        first, second = (old, new) if len(ratios) % 2 else (new, old)
        times = {}
        for call in (first, second):
            start = clock()
            call(args)
            times[call] = max(clock() - start, 1e-9)
        ratios.append(math.log(times[new] / times[old]))
        pair = sum(times.values())
        spent += pair
        if len(ratios) < PAIRS_MIN:
            continue
        low, high = bounds(ratios)
        if high <= 1.0:
            return ""
        if low > 1.0 or spent > SECONDS_MAX:
            break
    return f"it takes {bounds(ratios)[0]:.2f} to {bounds(ratios)[1]:.2f} of the time"


def bounds(log_ratios: Sequence[float]) -> tuple[float, float]:
    """The lower and the upper 95 % bound of the geometric mean of ratios."""
    mean = statistics.fmean(log_ratios)
    half = _T * statistics.stdev(log_ratios) / math.sqrt(len(log_ratios))
    return math.exp(mean - half), math.exp(mean + half)


def _tensors(results: Any) -> list[torch.Tensor]:
    every = results if isinstance(results, (tuple, list)) else (results,)
    return [one.clone() for one in every if isinstance(one, torch.Tensor)]


def _difference(old: Sequence[torch.Tensor], new: Sequence[torch.Tensor], error_max: float) -> str:
    if len(old) != len(new):
        return f"it gives {len(new)} tensors, not {len(old)}"
    for i, (want, got) in enumerate(zip(old, new)):
        if want.shape != got.shape or want.dtype != got.dtype:
            return f"result {i} is {got.dtype} {list(got.shape)}, not {want.dtype} {list(want.shape)}"
        if not want.dtype.is_floating_point:
            if not torch.equal(want, got):
                return f"result {i} differs"
            continue
        finite = want.isfinite()
        if not torch.equal(finite, got.isfinite()):
            return f"result {i} has other infinities or NaNs"
        if not finite.any():
            continue
        scale = max(want[finite].abs().max().item(), 1e-6)
        error = (want - got)[finite].abs().max().item() / scale
        if error > error_max:
            return f"result {i} differs by {error:.2e} of the scale"
    return ""
