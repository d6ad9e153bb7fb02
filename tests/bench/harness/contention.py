"""Whether PyTorch's threads and ours disturb each other: ./dev bench pytorch --contention.

The loop has one operator of PyTorch's over 1 M elements and one run of a bundle, each on all threads. What it takes is
compared with the sum of both alone, by wall time: this wants a machine that does nothing else. As it is, runs take place on
PyTorch's own threads. The other rows have threads of ours beside them: PyTorch's (libgomp) spin after each operator, and ours
after each run, as long as each variant says.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ELEMENTS = 1 << 20
# Before a loop is timed: a thread of ours that lost its CPU in the loop before stays out of runs for up to 0.256 s
# (compiler/runtime/team_policy.h), and a run without it is no measure of a run alone.
SETTLE_S = 0.3
# Name, environment of the process, microseconds that threads of ours spin (0: the default, 50).
TEAM = -1  # In their place: none of ours.
VARIANTS = (("as it is", {}, TEAM), ("the same, libgomp's do not spin", {"GOMP_SPINCOUNT": "0"}, TEAM),
            ("threads of our own", {}, 0), ("ours do not spin", {}, 1),
            ("libgomp's do not spin", {"GOMP_SPINCOUNT": "0"}, 0),
            ("neither spins", {"GOMP_SPINCOUNT": "0"}, 1))


def one(name, threads, spin_us, rounds, calls):
    import torch
    import torch_models
    from burnish import Threads, _programs
    from burnish._torch import backend, pieces, team
    _programs.FOLDER = os.environ["BENCH_PROGRAMS"]
    torch.set_num_threads(threads)
    if spin_us != TEAM:
        pieces._pools[threads] = Threads(threads, spin_us=spin_us)
    elif team.team()[0] is None:
        sys.exit(f"contention: {team.team()[1]}")
    torch.manual_seed(0)
    model, args, kwargs = torch_models.make(name)
    x = torch.randn(ELEMENTS)
    with torch.inference_mode():
        run = torch.compile(model, backend=backend.burnish)
        loops = {"torch": lambda: x.relu_(), "bundle": lambda: run(*args, **kwargs)}
        loops["both"] = lambda: (x.relu_(), run(*args, **kwargs))
        found = {each: [] for each in loops}
        for loop in loops.values():
            for _ in range(calls):
                loop()
        for _ in range(rounds):
            for each, loop in loops.items():
                settled = time.perf_counter() + SETTLE_S
                while time.perf_counter() < settled:
                    loop()
                begin = time.perf_counter()
                for _ in range(calls):
                    loop()
                found[each].append(1e3 * (time.perf_counter() - begin) / calls)
    medians = {each: statistics.median(times) for each, times in found.items()}
    ratios = sorted(both / (alone + other) for both, alone, other in
                    zip(found["both"], found["torch"], found["bundle"]))
    return {**medians, "ratio": statistics.median(ratios), "low": ratios[0], "high": ratios[-1]}


def main():
    parser = argparse.ArgumentParser(prog="./dev bench pytorch --contention")
    parser.add_argument("--model", default="mobilenet_v2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        print(json.dumps(one(options.model, options.threads, options.child, options.rounds, options.calls)))
        return
    print(f"{options.model}, {options.threads} threads: ms a turn; the loop over the sum of both alone (bar: 1.05)")
    for name, variables, spin_us in VARIANTS:
        environment = {**os.environ, **variables, "OMP_NUM_THREADS": str(options.threads)}
        out = subprocess.run([sys.executable, "-B", __file__, "--child", str(spin_us), *sys.argv[1:]],
                             env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        row = json.loads(out.splitlines()[-1])
        print(f"  {name:31} relu_ {row['torch']:6.3f}  bundle {row['bundle']:7.3f}  both {row['both']:7.3f}  "
              f"ratio {row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})", flush=True)


if __name__ == "__main__":
    main()
