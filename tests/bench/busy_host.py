"""How long an inference takes on a host that takes CPU time away without a word.

./dev bench busy_host [--models NAMES] [--against TUNER] [--rounds N] [--seconds S] [--json]

p50 and p99 of `tuner bench` in fresh processes, in turn. The cases are quiet, sleepers that come back late (goal:
1.05 of quiet), CPUs with 4 % of other work, and both (goal: 1.15). *quiet, again* is the control.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import machine
import model_files
import weight_distributions

# What harness/busy_host.c does, by its variables. 200 gaps of 200 us a second are 4 %, what idle-looking hosts took.
HOSTS = {
    "quiet": {},
    "woken 100 us": {"BUSY_HOST_WOKEN": "100"},
    "woken 300 us": {"BUSY_HOST_WOKEN": "300"},
    "stolen 200 x 200 us": {"BUSY_HOST_STOLEN": "200:200"},
    "woken 300, stolen": {"BUSY_HOST_WOKEN": "300", "BUSY_HOST_STOLEN": "200:200"},
    "quiet, again": {},
}
LIBRARY = "//tests/bench:busy_host.so"


def times_of(tuner, bundle, options, host):
    """(p50, p99) in ms of one turn, in a process of its own."""
    variables = HOSTS[host]
    preload = {"LD_PRELOAD": str(machine.output(LIBRARY)), **variables} if variables else {}
    done = subprocess.run([tuner, "bench", bundle, "--threads", str(options.threads), "--seconds",
                           str(options.seconds), "--json"], env={**os.environ, **preload},
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"busy_host: {tuner} bench ends with {done.returncode}: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    return result["median_ms"], result["p99_ms"]


def measure(name, tuners, options, folder):
    path = pathlib.Path(folder) / f"{name}.onnx"
    bundle = path.with_suffix(".bundle")
    model_files.write_onnx(name, path, 1, weight_distributions.AS_THEY_ARE)
    model_files.write_bundle(path, bundle, options.threads, "1e-4", None)
    turns = {}
    for _ in range(options.rounds):
        for host in HOSTS:
            for arm, tuner in tuners.items():
                turns.setdefault((host, arm), []).append(times_of(tuner, bundle, options, host))
    rows = []
    for (host, arm), times in turns.items():
        quiet = statistics.median(p50 for p50, _ in turns["quiet", arm])
        p50 = statistics.median(each for each, _ in times)
        rows.append({"model": name, "host": host, "arm": arm, "p50_ms": p50,
                     "p99_ms": statistics.median(each for _, each in times), "of_quiet": p50 / quiet})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="resnet50,mobilenet_v2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="of a turn")
    parser.add_argument("--against", help="the program tuner of another build, in turn")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    model_files.build()
    machine.build(LIBRARY)
    tuners = {"this": str(machine.output("//tuner:tuner"))}
    if options.against:
        tuners["other"] = options.against
    rows = []
    with tempfile.TemporaryDirectory(prefix="burnish-busy-host-") as folder:
        for name in options.models.split(","):
            rows += measure(name, tuners, options, folder)
    if options.json:
        print(json.dumps({"schema": 1, "machine": machine.describe(), "threads": options.threads,
                          "rounds": options.rounds, "seconds": options.seconds, "rows": rows}))
        return
    print(machine.headline(machine.describe()))
    print(f"{options.rounds} rounds in turn, {options.seconds:g} s a turn; medians of rounds")
    print(f"{'model':16} {'host':22} {'arm':6} {'p50':>10} {'p99':>10}   of quiet")
    for row in rows:
        print(f"{row['model']:16} {row['host']:22} {row['arm']:6} {row['p50_ms']:7.2f} ms {row['p99_ms']:7.2f} ms   "
              f"{row['of_quiet']:.2f}")


if __name__ == "__main__":
    main()
