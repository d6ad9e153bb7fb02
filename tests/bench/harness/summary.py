"""Latencies to a few numbers. All times in nanoseconds unless the name says otherwise."""

import statistics

import numpy as np

BOOTSTRAP_COUNT = 2000
OURS, AGAIN = "ours", "again"  # The engines of `paired` that are no peers.


def summarize(rounds):
    """`rounds`: the latencies of each turn. min, median and p90 over all; round_medians_ms shows
    whether the machine changed meanwhile."""
    flat = np.concatenate(rounds) * 1e-6
    return {
        "n": len(flat),
        "rounds": len(rounds),
        "min_ms": float(flat.min()),
        "median_ms": float(np.median(flat)),
        "p90_ms": float(np.quantile(flat, 0.9)),
        "round_medians_ms": [round(float(np.median(values)) * 1e-6, 3) for values in rounds],
    }


def ratio_interval(ours, peers, level=0.95, seed=1):
    """Interval of (median of ours / median of the better peer), by bootstrap over rounds: the
    inferences of one turn share the machine's mood, so they are drawn together, and so are the
    engines' turns of one round. `peers`: list of rounds as in `summarize`, one per peer. A peer is
    the better one in each draw anew."""
    rng = np.random.default_rng(seed)
    engines = [[np.asarray(values) for values in rounds] for rounds in [ours, *peers]]
    ratios = []
    for _ in range(BOOTSTRAP_COUNT):
        draw = rng.integers(0, len(ours), len(ours))
        first, *others = (np.median(np.concatenate([rounds[i] for i in draw]))
                          for rounds in engines)
        ratios.append(first / min(others))
    tail = (1 - level) / 2
    return [float(np.quantile(ratios, share)) for share in (tail, 1 - tail)]


def paired(rounds):
    """Of {engine: latencies of each turn}: to the better peer, and of ours to ours. A round is
    divided by itself: the machine changes its pace from one to the next."""
    medians = {name: [float(np.median(values)) for values in each] for name, each in rounds.items()}
    peers = [name for name in rounds if name not in (OURS, AGAIN)]
    best = min(peers, key=lambda name: statistics.median(medians[name]))

    def ratio(name, to):
        return statistics.median(a / b for a, b in zip(medians[name], medians[to]))

    return {"reference": best, "ratio": ratio(OURS, best), "a_a": ratio(AGAIN, OURS),
            "interval": ratio_interval(rounds[OURS], [rounds[name] for name in peers]),
            "microseconds": {name: statistics.median(each) * 1e-3 for name, each in medians.items()
                             if name != AGAIN}}
