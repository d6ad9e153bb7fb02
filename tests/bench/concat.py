"""Concats of a model's inputs against memcpy of the same bytes, in turn, in one process.

./dev bench concat [--threads 1,2] [--rounds 20] [--seconds 0.1] [--json]

Models of one concat whose parts are the model's own inputs, in turn with `memcpy` of as many bytes. The ratio is that
of the least times, *medians* that of the turns' medians.
"""

import argparse
import ctypes
import json
import os
import pathlib
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import machine
import model_files
from c_runtime import Model, load_library
from engine import RUNTIME

# Parts, shape of each, axis, element type. The first three are the same bytes along the channels of
# an image, along rows that lie side by side, and one behind the other.
CASES = (
    (16, (1, 64, 28, 28), 1, np.float32),
    (16, (784, 64), 1, np.float32),
    (16, (1, 50176), 1, np.float32),
    (16, (1, 64, 112, 112), 1, np.float32),
    (2, (784, 512), 1, np.float32),
    (40, (784, 32), 1, np.float32),
    (16, (784, 7), 1, np.float32),
    (16, (784, 64), 1, np.int64),
)
BATCH_NS = 50_000  # Of memcpy calls between two looks at the clock, which takes 0.1 us.


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench concat", description=__doc__.split("\n")[0])
    parser.add_argument("--threads", default="1,2", metavar="N,N", help="of ours (%(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="turns of each (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.1, help="of a turn (%(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    options.threads = [int(each) for each in options.threads.split(",")]
    if min(*options.threads, options.rounds, options.seconds) <= 0:
        parser.error("want at least one thread, one round and a time")
    return options


def write_model(path, count, shape, axis, dtype):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    names = [f"x{i}" for i in range(count)]
    whole = [count * extent if d == axis else extent for d, extent in enumerate(shape)]
    graph = helper.make_graph(
        [helper.make_node("Concat", names, ["y"], axis=axis)], "concat",
        [helper.make_tensor_value_info(name, kind, shape) for name in names],
        [helper.make_tensor_value_info("y", kind, whole)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)


def check(model, parts, axis):
    if not np.array_equal(model.run(parts)[0], np.concatenate(parts, axis)):
        raise RuntimeError("the concat is wrong")


class Memcpy:
    """Copies of `size` bytes from one block of memory to another, both touched before."""

    def __init__(self, size):
        self._size = size
        self._from, self._to = np.ones(size, np.uint8), np.zeros(size, np.uint8)
        self._calls = 1
        start = time.perf_counter_ns()
        self._copy()
        self._calls = max(1, BATCH_NS // (time.perf_counter_ns() - start))

    def _copy(self):
        to, source, size = self._to.ctypes.data, self._from.ctypes.data, self._size
        for _ in range(self._calls):
            ctypes.memmove(to, source, size)

    def turn(self, seconds):
        """Nanoseconds of a call: the least of the turn, and its median."""
        times, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter_ns()
            self._copy()
            times.append((time.perf_counter_ns() - start) / self._calls)
        return min(times), float(np.median(times))


def measure(case, options, folder, library, cpus):
    """A row: times by "memcpy" and by number of threads, each [min, median of turns' medians]."""
    count, shape, axis, dtype = case
    rng = np.random.default_rng(0)
    parts = [rng.integers(0, 99, shape).astype(dtype) for _ in range(count)]
    size = sum(part.nbytes for part in parts)
    write_model(folder / "model.onnx", *case)
    bundle, models = folder / "model.bundle", {}
    for threads in options.threads:
        model_files.write_bundle(folder / "model.onnx", bundle, threads, "1e-4", None)
        models[threads] = Model(library, bundle, cpus[:threads])
        check(models[threads], parts, axis)
    memcpy = Memcpy(size)
    os.sched_setaffinity(0, cpus[:1])  # A model's threads go where they are told.
    turns = {name: [] for name in ("memcpy", *options.threads)}
    for _ in range(options.rounds):
        turns["memcpy"].append(memcpy.turn(options.seconds))
        for threads, model in models.items():
            latency = model.benchmark(options.seconds)
            turns[threads].append((latency.min_ns, latency.median_ns))
    os.sched_setaffinity(0, cpus)
    for model in models.values():
        model.close()
    times = {name: [min(least for least, _ in each), float(np.median([m for _, m in each]))]
             for name, each in turns.items()}
    return {"parts": count, "shape": shape, "axis": axis, "dtype": np.dtype(dtype).name,
            "bytes": size, "times_ns": times}


def print_row(row):
    times = row["times_ns"]
    copy = times["memcpy"]
    shape = "x".join(map(str, row["shape"]))
    text = (f"{row['parts']:2} x {shape:14} axis {row['axis']} {row['dtype']:8}"
            f"{row['bytes'] / 1e6:8.2f} MB  memcpy {copy[0] / 1e3:8.1f} us")
    for threads, time_ns in times.items():
        if threads != "memcpy":
            text += (f"  {threads} threads {time_ns[0] / 1e3:8.1f} us, {time_ns[0] / copy[0]:5.2f} "
                     f"(medians {time_ns[1] / copy[1]:5.2f})")
    print(text, flush=True)


def main():
    options = parse_arguments()
    try:
        cpus = machine.pick_cpus(max(options.threads))
    except ValueError as error:
        sys.exit(f"concat: {error}")
    model_files.build()
    library = load_library(str(machine.output(RUNTIME)))
    if not options.json:
        print(machine.headline(machine.describe()))
    rows = []
    with tempfile.TemporaryDirectory(prefix="burnish-concat-") as folder:
        for case in CASES:
            rows.append(measure(case, options, pathlib.Path(folder), library, cpus))
            if not options.json:
                print_row(rows[-1])
    if options.json:
        print(json.dumps({"schema": 1, "benchmark": "concat", "machine": machine.describe(),
                          "rows": rows}))


if __name__ == "__main__":
    main()
