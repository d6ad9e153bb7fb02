"""A bundle of all sizes of a range against the bundles of single sizes, in turn, with an A/A control.

    ./dev bench sizes [--models encoder,images] [--count 20] [--rounds 5] [--width 256] [--calls 1000] [--threads 2]
    ./dev bench sizes --onnx resnet50.onnx --dim batch=1..8 --at 1,2,3,5,8

The models are those of tests/e2e/models/dims_models.py, with rows of `--width`, at random sizes of their
ranges, or a file's own at the sizes of `--at`. For each size, in one process: the median over rounds of the ratio
of times by the wall's clock on all threads; "a/a" is the static bundle against itself; ONNX Runtime has the
model of all sizes. Then how long the range took to compile beside its greatest size but one, both
with nothing kept from before, how much larger the bundle is, how much resident memory grew over
`--calls` calls of random sizes after 100, and what a call costs more where its sizes are others than
those of the call before. What is beyond its bar says so.
"""

import argparse
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "harness"), str(HERE.parent / "e2e/models")]
import dims_models
import machine
from recurrent import EXTENSION, ratios, runtime_package, session_of

# Sizes that callers come with; those of the tests are as small as tests like.
RANGES = {"encoder": {"batch": (1, 4), "seq": (1, 256)},
          "decoder": {"batch": (1, 2), "past": (1, 200), "seq": (1, 16)},
          "images": {"batch": (1, 16)},
          "sound": {"batch": (1, 2), "length": (400, 16000)},
          "recurrence": {"steps": (1, 100), "batch": (1, 4)}}


# Bars: of the static bundle's time, the geometric mean and the worst; of one size's time to compile;
# MiB beside one size's bundle; percent of resident memory.
MEAN, WORST, COMPILE, GROWN_MIB, RESIDENT = 1.15, 1.5, 4.0, 20.0, 1.0


def against(value, bar):
    return f"(bar {bar:g}{'' if value <= bar else ', MISSED'})"


def resident_kib():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def resident_growth(call, rng, ranges, make_inputs, calls):
    """Percent of resident memory that calls of random sizes add after the first hundred."""
    for number in range(calls + 100):
        sizes = {dim: int(rng.integers(low, high + 1)) for dim, (low, high) in ranges.items()}
        call(*make_inputs(rng, sizes))
        if number == 99:
            before = resident_kib()
    return 100 * (resident_kib() / before - 1)


def change_us(call, rng, ranges, make_inputs, rounds, repeats=100):
    """Microseconds of CPU that a call at the greatest bound takes more where the widest size changes by one."""
    widest = max(ranges, key=lambda dim: ranges[dim][1] / ranges[dim][0])
    # Two of each, so that calls of one size find as little of their inputs in caches as those in turn.
    most = [make_inputs(rng, {dim: high - (less if dim == widest else 0) for dim, (_, high) in ranges.items()})
            for less in (0, 0, 1, 1)]

    def seconds(order):
        start = time.process_time()
        for _ in range(repeats):
            for number in order:
                call(*most[number])
        return (time.process_time() - start) / (repeats * len(order))

    differences = []
    for _ in range(rounds):
        same = (seconds([0, 1]) + seconds([2, 3])) / 2
        differences.append(seconds([0, 2]) - same)
    return 1e6 * statistics.median(differences)


def compiled(folder, name, dims, threads, *more):
    """The bundle's path, and the seconds that it took."""
    path = os.path.join(folder, name + ".bundle")
    flags = [f"--dim={dim}={size}" for dim, size in dims.items()]
    start = time.monotonic()
    subprocess.run([str(machine.output("//tuner:tuner")), "compile", "--model",
                    os.path.join(folder, "model.onnx"), f"--threads={threads}", "--out", path, *flags, *more],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return path, time.monotonic() - start


def at_sizes(runtime, folder, name, dynamic, all_sizes, rounds, threads):
    """The ratio at each of the sizes."""
    reference = session_of(os.path.join(folder, "model.onnx"), threads)
    names = [value.name for value in reference.get_inputs()]
    found = []
    for sizes, inputs in all_sizes:
        static = runtime.load(compiled(folder, "static", sizes, threads)[0], threads=threads)
        given = dict(zip(names, inputs))
        for a, b in zip(dynamic.run(*inputs), static.run(*inputs)):
            assert np.allclose(a, b, atol=1e-4 * max(1, np.abs(b).max())), f"{name} {sizes}: wrong"
        ratio, _, seconds = ratios(lambda: dynamic(*inputs), lambda: static(*inputs), rounds)
        same = ratios(lambda: static(*inputs), lambda: static(*inputs), 3)[0]
        peer = ratios(lambda: dynamic(*inputs), lambda: reference.run(None, given), rounds)[0]
        found.append(ratio)
        print(f"{name:10} {sizes}: {ratio:6.2f} of the static bundle, {peer:6.2f} of ONNX Runtime, "
              f"{seconds * 1e6:9.1f} us (a/a {same:.2f})", flush=True)
    return found


def measure(runtime, folder, name, options):
    build, _, make_inputs = dims_models.MODELS[name]
    ranges, threads = RANGES[name], options.threads
    pathlib.Path(folder, "model.onnx").write_bytes(build())
    rng = np.random.default_rng(11)
    compiled(folder, "warm", {dim: high for dim, (_, high) in ranges.items()}, threads)
    path, range_s = compiled(folder, "range", {dim: f"{low}..{high}" for dim, (low, high) in ranges.items()}, threads,
                             "--cache=none")
    one_path, one_s = compiled(folder, "one", {dim: high - 1 for dim, (_, high) in ranges.items()}, threads,
                               "--cache=none")
    dynamic = runtime.load(path, threads=threads)
    drawn = []
    for _ in range(options.count):
        sizes = {dim: int(rng.integers(low, high + 1)) for dim, (low, high) in ranges.items()}
        drawn.append((sizes, make_inputs(rng, sizes)))
    found = at_sizes(runtime, folder, name, dynamic, drawn, options.rounds, threads)
    mean = math.exp(statistics.fmean(map(math.log, found)))
    grown = (os.path.getsize(path) - os.path.getsize(one_path)) / 2**20
    ratio, worst = range_s / one_s, max(found)
    resident = resident_growth(dynamic, rng, ranges, make_inputs, options.calls)
    change = change_us(dynamic, rng, ranges, make_inputs, options.rounds)
    print(f"{name:10} geometric mean {mean:.2f} {against(mean, MEAN)}, worst {worst:.2f} {against(worst, WORST)}; "
          f"compiling the range {ratio:.2f} of one size {against(ratio, COMPILE)}; {grown:+.2f} MiB beside the "
          f"bundle of one {against(grown, GROWN_MIB)}; resident memory {resident:+.2f} % over {options.calls} calls "
          f"{against(resident, RESIDENT)}; other sizes than the call before {change:+.1f} us", flush=True)


def measure_file(runtime, folder, options):
    """A file of one input, by one size of its first dimension."""
    dim, bounds = options.dim.split("=")
    shutil.copy(options.onnx, os.path.join(folder, "model.onnx"))
    dynamic = runtime.load(compiled(folder, "range", {dim: bounds}, options.threads)[0], threads=options.threads)
    rng = np.random.default_rng(11)
    given = session_of(options.onnx, options.threads).get_inputs()

    def draw(size):
        shapes = [[size if extent == dim else extent for extent in value.shape] for value in given]
        return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]

    drawn = [({dim: size}, draw(size)) for size in map(int, options.at.split(","))]
    found = at_sizes(runtime, folder, pathlib.Path(options.onnx).stem, dynamic, drawn, options.rounds,
                     options.threads)
    mean = math.exp(statistics.fmean(map(math.log, found)))
    print(f"geometric mean {mean:.2f}, worst {max(found):.2f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default="encoder,decoder,images,sound,recurrence")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--onnx", help="a file instead of these models, whose inputs are f32")
    parser.add_argument("--dim", default="batch=1..8", help="its range")
    parser.add_argument("--at", default="1,2,3,5,8", help="its sizes")
    arguments = parser.parse_args()
    dims_models.WIDTH, dims_models.WORDS = arguments.width, 300
    machine.build(EXTENSION, "//tuner", "//worker/builder")
    with tempfile.TemporaryDirectory() as folder:
        runtime = runtime_package(folder)
        if arguments.onnx:
            return measure_file(runtime, folder, arguments)
        for name in arguments.models.split(","):
            measure(runtime, folder, name, arguments)


if __name__ == "__main__":
    main()
