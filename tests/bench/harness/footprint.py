"""What a model costs before its first output and while it runs: memory and time, each in fresh
processes, one at a time."""

import os
import statistics

from engine import Engine

# Each of these takes a model in within a second or two; TorchInductor compiles for a minute.
ENGINES = ("burnish", "openvino", "ort")
RUN_SECONDS = 0.3  # Before the memory is read: the model "while running".
TOUCH_FACTOR = 6  # Free memory that is touched before a start, in sizes of the model's file.


def _once(name, model, folder, cpus):
    engine = Engine(name, model, folder, cpus,
                    touch_bytes=TOUCH_FACTOR * os.path.getsize(model))
    try:
        engine.turn(RUN_SECONDS)
        start = engine.start
        return {"memory_mib": engine.resident_bytes() / 2**20,
                "peak_mib": start["peak_bytes"] / 2**20,
                "import_ms": start["import_seconds"] * 1e3,
                "cpu_ms": start["cpu_seconds"] * 1e3,
                "load_ms": start["load_seconds"] * 1e3,
                "first_output_ms": (start["load_seconds"] + start["first_run_seconds"]) * 1e3}
    finally:
        engine.close()


def _summarize(starts):
    """The median of each figure, and the smallest and largest time to the first output."""
    times = [each["first_output_ms"] for each in starts]
    return {"n": len(starts), "first_output_range_ms": [min(times), max(times)],
            **{key: statistics.median(each[key] for each in starts) for key in starts[0]}}


def measure(models, folder, cpus, count):
    """`models`: model file by engine name. `count` starts of each, in turn, after one that only
    warms the page cache. Returns figures by engine (README.md says what they mean)."""
    starts = {name: [] for name in models}
    for turn in range(count + 1):
        for name, model in models.items():
            start = _once(name, model, folder, cpus)
            if turn > 0:
                starts[name].append(start)
    return {name: _summarize(each) for name, each in starts.items()}
