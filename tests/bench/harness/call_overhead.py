"""What a call of a compiled model of PyTorch's takes beyond the run: ./dev bench pytorch --overhead.

All in turn, in CPU time of the thread that calls; the model runs on one thread.
"""

import argparse
import ctypes
import os
import time

import torch
from torch import nn

from burnish import _programs
from burnish._torch import backend, pieces

ROWS, FEATURES = 2, 3  # What run_loop.c runs.
LAYERS = {4: 2, 270: 135}  # By parameters.


def c_loop(path, x):
    """Nanoseconds of so many runs from C, on a model of its own."""
    library = ctypes.CDLL(os.environ["BENCH_RUN_LOOP"])
    library.open_model.restype = ctypes.c_void_p
    library.run_loop.restype = ctypes.c_int64
    model, y = ctypes.c_void_p(library.open_model(os.fsencode(path))), torch.empty(ROWS, FEATURES)
    assert model.value, path
    library.keeps = y
    return lambda calls: library.run_loop(model, ctypes.c_void_p(x.data_ptr()),
                                          ctypes.c_void_p(y.data_ptr()), ctypes.c_int64(calls))


def python_loop(call):
    def loop(calls):
        begin = time.thread_time_ns()
        for _ in range(calls):
            call()
        return time.thread_time_ns() - begin
    return loop


def measured(layers, calls, rounds):
    """By name: the median of microseconds a call."""
    torch._dynamo.reset()
    before = pieces.live_pieces()
    torch.manual_seed(0)
    model = nn.Sequential(*[layer for _ in range(layers)
                            for layer in (nn.Linear(FEATURES, FEATURES), nn.ReLU())]).eval()
    x = torch.randn(ROWS, FEATURES)
    run = torch.compile(model, backend=lambda module, inputs: backend.burnish(
        module, inputs, options={"threads": 1}))
    run(x)
    piece, = (one for one in pieces.live_pieces() if one not in before)
    seen = []
    piece.__dict__["forward"] = lambda *args: seen.append(args) or type(piece).forward(piece, *args)
    result = run(x)
    del piece.__dict__["forward"]
    args, bundle = seen[0], next(iter(piece.bundles.values()))

    def stubbed(calls):
        piece.__dict__["forward"] = lambda *args: (result,)
        try:
            return loops["call"](calls)
        finally:
            del piece.__dict__["forward"]

    loops = {"run": c_loop(bundle.model.path, x), "piece": python_loop(lambda: piece.forward(*args)),
             "guard": python_loop(lambda: piece.weights.unchanged(args)),
             "empty": python_loop(lambda: None), "call": python_loop(lambda: run(x)),
             "pytorch": stubbed}
    found = {name: [] for name in loops}
    for loop in loops.values():
        loop(calls // 10 + 1)
    for _ in range(rounds):
        for name, loop in loops.items():
            found[name].append(loop(calls) / calls / 1e3)
    return {name: sorted(times)[len(times) // 2] for name, times in found.items()}


def overhead(found):
    """Of a piece beyond the run from C; `empty` is the loop's own."""
    return found["piece"] - found["run"] - found["empty"]


def main():
    parser = argparse.ArgumentParser(prog="./dev bench pytorch --overhead")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    _programs.FOLDER = os.environ["BENCH_PROGRAMS"]
    with torch.inference_mode(False), torch.no_grad():
        print("CPU time of a call, us      run in C   piece beyond it   of which guard   PyTorch around it"
              "   whole call")
        for parameters, layers in LAYERS.items():
            found = measured(layers, options.calls, options.rounds)
            print(f"{parameters:4} parameters           {found['run']:9.2f} {overhead(found):17.2f} "
                  f"{found['guard'] - found['empty']:16.2f} {found['pytorch']:19.2f} {found['call']:12.2f}")


if __name__ == "__main__":
    main()
