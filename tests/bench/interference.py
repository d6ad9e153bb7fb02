"""What search or building at idle priority costs a measurement on the same cores.

./dev bench interference [--pairs 200] [--bundle FILE] [--load COMMAND]
How it measures and how to read it: tests/bench/README.md.
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import machine
import summary
from burnish_runtime import DTYPES, Model, load_library
from engine import RUNTIME, Engine

TUNER = "//tuner:tuner"
SEARCH = "//tests/bench:candidate_rate"
KERNEL = "conv2d:n=1,h=28,w=28,ci=128,co=128,k=3,s=1,p=1"
GOAL_PERCENT = 1.0
SETTLE_SECONDS = 0.01  # For the load to start or stop on every CPU.


class Load:
    """A command, run again and again at SCHED_IDLE on each of the CPUs; stopped at first."""

    def __init__(self, command, cpus):
        again = f"while :; do {command} > /dev/null 2>&1; done"
        self._shells = [
            subprocess.Popen(["chrt", "--idle", "0", "taskset", "-c", str(cpu), "sh", "-c", again],
                             process_group=0) for cpu in cpus]
        self.pause()

    def _signal(self, number):
        for shell in self._shells:
            os.killpg(shell.pid, number)
        time.sleep(SETTLE_SECONDS)

    def pause(self):
        self._signal(signal.SIGSTOP)

    def resume(self):
        self._signal(signal.SIGCONT)

    def end(self):
        self._signal(signal.SIGKILL)
        for shell in self._shells:
            shell.wait()


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench interference",
                                     description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=200, help="%(default)s")
    parser.add_argument("--seconds", type=float, default=0.05, help="of a turn (%(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="%(default)s")
    parser.add_argument("--bundle", help=f"what is timed; else {KERNEL}")
    parser.add_argument("--load", help="a command; else the search's scoring of candidates")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    if min(options.pairs - 1, options.seconds, options.threads) <= 0:
        parser.error("want at least two pairs, a time and a thread")
    return options


def prepare(options, folder, cpus):
    """The path of the bundle; its inputs are in `folder`, normal or, as indices, 0 and 1."""
    machine.build(RUNTIME, *([] if options.load else [SEARCH]), *([] if options.bundle else [TUNER]))
    bundle = options.bundle
    if not bundle:
        bundle = str(folder / "kernel.bundle")
        subprocess.run([machine.output(TUNER), "compile", "--task", KERNEL, "--db",
                        folder / "empty.db", "--out", bundle], check=True, stdout=sys.stderr)
    model = Model(load_library(str(machine.output(RUNTIME))), bundle, cpus)
    rng = np.random.default_rng(0)
    inputs = {}
    for info in model.inputs:
        dtype, shape = np.dtype(DTYPES[info.dtype]), info.shape[:info.rank]
        inputs[info.name.decode()] = (rng.standard_normal(shape) if dtype.kind == "f" else
                                      rng.integers(0, 2, shape)).astype(dtype)
    model.close()
    np.savez(folder / "inputs.npz", **inputs)
    return bundle


def measure(engine, load, options):
    """Latencies of the turns (alone, beside the load). Which of a pair comes first alternates, so
    that a drift of the machine counts on both sides."""
    alone, beside = [], []
    for pair in range(options.pairs):
        for loaded in (pair % 2 == 0, pair % 2 == 1):
            if loaded:
                load.resume()
            engine.turn(options.seconds)
            load.pause()
            (beside if loaded else alone).append(engine.rounds.pop())
    return alone, beside


def excess(of, over):
    """By how many percent the median of some turns is above that of others, with its interval."""
    ratio = np.median(np.concatenate(of)) / np.median(np.concatenate(over))
    return {"percent": 100 * (float(ratio) - 1),
            "interval_95": [100 * (each - 1) for each in summary.ratio_interval(of, [over])]}


def print_table(result):
    print(machine.headline(result["machine"]))
    for name in ("alone", "beside"):
        times = result[name]
        print(f"{name:7} n={times['n']:6} in {times['rounds']} turns  min {times['min_ms']:8.4f}  "
              f"median {times['median_ms']:8.4f}  p90 {times['p90_ms']:8.4f} ms")
    for name, text in (("interference", "beside the load"), ("noise", "alone, every other turn")):
        low, high = result[name]["interval_95"]
        print(f"median {result[name]['percent']:+.2f} % {text} (95 % interval {low:+.2f} to "
              f"{high:+.2f})")
    print(f"goal: within {GOAL_PERCENT:.0f} %; load: {result['load']}")


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that the load ends, too.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="burnish-interference-"))
    engine = load = None
    try:
        cpus = machine.pick_cpus(options.threads)
        bundle = prepare(options, folder, cpus)
        command = options.load or shlex.join([str(machine.output(SEARCH)), "200"])
        engine = Engine("burnish", bundle, folder, cpus)
        load = Load(command, cpus)
        alone, beside = measure(engine, load, options)
    except ValueError as error:
        sys.exit(f"interference: {error}")
    finally:
        if load:
            load.end()
        if engine:
            engine.close()
        shutil.rmtree(folder)
    result = {"schema": 1, "benchmark": "interference", "machine": machine.describe(),
              "threads": options.threads, "cpus": cpus, "load": pathlib.Path(command.split()[0]).name,
              "alone": summary.summarize(alone), "beside": summary.summarize(beside),
              "interference": excess(beside, alone),
              "noise": excess(alone[1::2], alone[:len(alone) // 2 * 2:2])}
    print(json.dumps(result)) if options.json else print_table(result)


if __name__ == "__main__":
    main()
