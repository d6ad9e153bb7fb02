"""How long an inference takes while something else is busy on one of its CPUs.

./dev bench neighbour [--models NAMES] [--threads N] [--rounds N] [--seconds S] [--json]

p50, p90 and p99 of MobileNetV3-Small and ResNet-50 on two threads that are not pinned: quiet, and with a busy loop
pinned to each CPU in turn. Then the same on one thread, and both quiet cases again as A/A. The last column is a p99
over the first row's p50 (goal: at most 2 with busy CPUs and two threads).
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import machine
import mobilenet_v3
import model_files
import weight_distributions
from c_runtime import Model, load_library
from engine import RUNTIME

GOAL = 2.0  # p99 beside a neighbour, in the quiet median of one thread.


@contextlib.contextmanager
def busy(cpu):
    """Somebody's ordinary work on one CPU, of the same session: Linux's autogroup gives another
    session a share of its own."""
    loop = subprocess.Popen(["sh", "-c", "while :; do :; done"],
                            preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


def bundle_of(name, folder, threads):
    path = pathlib.Path(folder) / f"{name}.onnx"
    if name == "mobilenet_v3_small":
        mobilenet_v3.save(path)
    else:
        model_files.write_onnx(name, path, 1, weight_distributions.AS_THEY_ARE)
    bundle = path.with_suffix(".bundle")
    model_files.write_bundle(path, bundle, threads, "1e-4", None)
    return bundle, model_files.make_inputs(str(path))


def cases(threads, cpus):
    """(name, threads, CPU of the neighbour or None), in the order of a round."""
    yield "one thread", 1, None
    yield f"{threads} threads", threads, None
    for cpu in cpus:
        yield f"{threads} threads, CPU {cpu} busy", threads, cpu
        yield f"one thread, CPU {cpu} busy", 1, cpu
    yield f"{threads} threads, again", threads, None
    yield "one thread, again", 1, None


def measure(name, library, options, folder):
    bundle, inputs = bundle_of(name, folder, options.threads)
    # Not pinned, as a user's are: only the neighbour is.
    models = {count: Model(library, bundle, [None] * count) for count in (1, options.threads)}
    for model in models.values():
        model.set_inputs(list(inputs.values()))
    cpus = machine.pick_cpus(options.threads)
    samples = {}
    for _ in range(options.rounds):
        for case, count, cpu in cases(options.threads, cpus):
            with busy(cpu) if cpu is not None else contextlib.nullcontext():
                models[count].benchmark(options.seconds / 4)
                samples.setdefault(case, []).append(models[count].benchmark(options.seconds))
    for model in models.values():
        model.close()
    rows = [{"model": name, "case": case, "runs": sum(each.run_count for each in turns),
             "p50_ms": statistics.median(each.median_ns for each in turns) * 1e-6,
             "p90_ms": statistics.median(each.p90_ns for each in turns) * 1e-6,
             "p99_ms": statistics.median(each.p99_ns for each in turns) * 1e-6,
             "p99_worst_ms": max(each.p99_ns for each in turns) * 1e-6}
            for case, turns in samples.items()]
    for row in rows:
        row["p99_ratio"] = row["p99_ms"] / rows[0]["p50_ms"]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="mobilenet_v3_small,resnet50")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of a turn")
    parser.add_argument("--library", help="another libburnish.so.0, to compare with")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.threads < 2:
        sys.exit("neighbour: --threads wants 2 at least: one thread has no partner to wait for")
    model_files.build()
    library = load_library(options.library or str(machine.output(RUNTIME)))
    rows = []
    with tempfile.TemporaryDirectory(prefix="burnish-neighbour-") as folder:
        for name in options.models.split(","):
            rows += measure(name, library, options, folder)
    if options.json:
        print(json.dumps({"schema": 1, "machine": machine.describe(), "threads": options.threads,
                          "rounds": options.rounds, "seconds": options.seconds, "goal": GOAL,
                          "rows": rows}))
        return
    print(machine.headline(machine.describe()))
    print(f"{options.rounds} rounds in turn, {options.seconds:g} s a turn; medians of rounds")
    print(f"{'model':20} {'case':24} {'p50':>9} {'p90':>9} {'p99':>9} {'worst p99':>9}   "
          "p99 / one thread's p50")
    for row in rows:
        print(f"{row['model']:20} {row['case']:24} {row['p50_ms']:6.2f} ms {row['p90_ms']:6.2f} ms "
              f"{row['p99_ms']:6.2f} ms {row['p99_worst_ms']:6.2f} ms   {row['p99_ratio']:.2f}")
    met = all(row["p99_ratio"] <= GOAL for row in rows
              if "threads, CPU" in row["case"])
    print(f"goal: at most {GOAL:g} beside a busy neighbour: {'met' if met else 'not met'}")


if __name__ == "__main__":
    main()
