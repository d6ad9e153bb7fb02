"""Latencies to a few numbers. All times in nanoseconds unless the name says otherwise."""

import random
import statistics

BOOTSTRAP_COUNT = 2000


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def summarize(rounds):
    """`rounds`: the latencies of each turn. min, median and p90 over all; round_medians_ms shows
    whether the machine changed meanwhile."""
    flat = [value for values in rounds for value in values]
    return {
        "n": len(flat),
        "rounds": len(rounds),
        "min_ms": min(flat) * 1e-6,
        "median_ms": statistics.median(flat) * 1e-6,
        "p90_ms": quantile(flat, 0.9) * 1e-6,
        "round_medians_ms": [round(statistics.median(values) * 1e-6, 3) for values in rounds],
    }


def ratio_interval(ours, peers, level=0.95, seed=1):
    """Interval of (median of ours / median of the better peer), by bootstrap over rounds: the
    inferences of one turn share the machine's mood, so they are drawn together, and so are the
    engines' turns of one round. `peers`: list of rounds as in `summarize`, one per peer. A peer is
    the better one in each draw anew."""
    rng = random.Random(seed)
    medians = [[statistics.median(values) for values in rounds] for rounds in [ours, *peers]]
    count = min(len(values) for values in medians)
    ratios = []
    for _ in range(BOOTSTRAP_COUNT):
        draw = [rng.randrange(count) for _ in range(count)]
        first, *others = (statistics.median(values[i] for i in draw) for values in medians)
        ratios.append(first / min(others))
    tail = (1 - level) / 2
    return quantile(ratios, tail), quantile(ratios, 1 - tail)
