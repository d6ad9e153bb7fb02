"""How long the first answers of a compiled model of PyTorch's take: ./dev bench pytorch --first.

Each is a process of its own, in turn: eager; nothing kept; the bundle in the cache; new weights. *Ours* is the time in what
Burnish does of it, the rest PyTorch's: its guards, its tracing, AOTAutograd. *Garbage* is what Python's collector takes meanwhile.
By the wall clock: this wants a machine that does nothing else.
"""

import argparse
import gc
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

CASES = ("eager", "nothing kept", "cached", "eager first")


class Clock:
    """Seconds in the functions that it wraps, those within each other once."""

    def __init__(self):
        self.seconds, self.garbage, self._depth, self._collects = 0.0, 0.0, 0, 0.0
        gc.callbacks.append(self._collected)

    def wrapped(self, function):
        def call(*args, **kwargs):
            begin, self._depth = time.perf_counter(), self._depth + 1
            try:
                return function(*args, **kwargs)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self.seconds += time.perf_counter() - begin
        return call

    def _collected(self, phase, info):
        if phase == "start":
            self._collects = time.perf_counter()
        elif self._depth:
            self.garbage += time.perf_counter() - self._collects


def measured(case, name, threads):
    """Seconds: of the first answer, and of ours in it; of the answer after new weights, the second such one."""
    import torch
    import torch_models
    from burnish import _programs
    from burnish._torch import backend, pieces
    _programs.FOLDER = os.environ["BENCH_PROGRAMS"]
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model, args, kwargs = torch_models.make(name)
    clock = Clock()
    backend.boxed = clock.wrapped(backend.boxed)
    for method in ("_built", "_weigh"):
        setattr(pieces.Piece, method, clock.wrapped(getattr(pieces.Piece, method)))
    options = {"first": "eager"} if case == "eager first" else {}
    run = model if case == "eager" else torch.compile(
        model, backend=lambda module, inputs: backend.burnish(module, inputs, options=options))

    def timed():
        begin = time.perf_counter()
        run(*args, **kwargs)
        return time.perf_counter() - begin

    with torch.inference_mode():
        row = {"first": timed(), "ours": clock.seconds, "garbage": clock.garbage}
        for key in ("rebuilt", "refitted") * (case == "cached"):
            for parameter in model.parameters():
                parameter.mul_(1.01)
            row[key] = timed()
    return row


def main():
    parser = argparse.ArgumentParser(prog="./dev bench pytorch --first")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measured(options.child, options.model, options.threads)))
        return
    rows = {case: [] for case in CASES}
    for _ in range(options.rounds):
        for case in CASES:
            if case in ("nothing kept", "eager first"):
                shutil.rmtree(os.path.join(os.environ["XDG_CACHE_HOME"], "burnish"), ignore_errors=True)
            ended = subprocess.run([sys.executable, "-B", __file__, "--child", case, "--model", options.model,
                                    "--threads", str(options.threads)], check=True, stdout=subprocess.PIPE)
            rows[case].append(json.loads(ended.stdout.splitlines()[-1]))
    print(f"{options.model}, {options.threads} threads, {options.rounds} rounds: median (least to greatest), seconds")
    for case in CASES:
        for key in rows[case][0]:
            times = [row[key] for row in rows[case]]
            print(f"  {case:14} {key:9} {statistics.median(times):6.2f} ({min(times):.2f} to {max(times):.2f})")


if __name__ == "__main__":
    main()
