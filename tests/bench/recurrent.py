"""LSTM and GRU against ONNX Runtime: batch 1, all threads, both in turn, with an A/A control.

    ./dev bench recurrent [--hidden 64,128,...] [--steps 1,200] [--kinds LSTM,GRU] [--threads 2] [--db PATH]

Each model has one operator with constant weights, its input as wide as its state. It is compiled
with default schedules, or those of --db; `burnish_runtime` and ONNX Runtime run it in this process,
in turn. The number is the median over rounds of the ratio of their times by the wall's clock; "a/a" is
ours against ours.
"""

import argparse
import importlib
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
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import machine

EXTENSION = "//python/runtime:burnish_runtime/_burnish_runtime.abi3.so"
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def make_model(kind, hidden, steps, seed=0, **attributes):
    """One operator; outputs Y and Y_h."""
    rng = np.random.default_rng(seed)
    rows = GATES[kind] * hidden
    scale = 1 / math.sqrt(hidden)

    def weights(name, *shape):
        return numpy_helper.from_array(
            (rng.uniform(-scale, scale, shape)).astype(np.float32), name)

    if kind == "GRU":
        attributes.setdefault("linear_before_reset", 1)  # As PyTorch and Keras export it.
    node = helper.make_node(kind, ["x", "w", "r", "b"], ["y", "y_h"], hidden_size=hidden,
                            **attributes)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node], kind.lower(), [info("x", TensorProto.FLOAT, [steps, 1, hidden])],
        [info("y", TensorProto.FLOAT, [steps, 1, 1, hidden]),
         info("y_h", TensorProto.FLOAT, [1, 1, hidden])],
        [weights("w", 1, rows, hidden), weights("r", 1, rows, hidden),
         weights("b", 1, 2 * rows)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def seconds_of(call, count):
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start


def ratios(ours, theirs, rounds):
    """Medians of ours / theirs and of ours / ours, and of ours in seconds."""
    for call in (ours, theirs):
        call()
    count = max(1, int(0.02 / max(seconds_of(ours, 3) / 3, 1e-7)))
    cross, same, seconds = [], [], []
    for _ in range(rounds):
        a = seconds_of(ours, count)
        b = seconds_of(theirs, count)
        c = seconds_of(ours, count)
        cross.append((a + c) / 2 / b)
        same.append(a / c)
        seconds.append(c / count)
    return statistics.median(cross), statistics.median(same), statistics.median(seconds)


def runtime_package(folder):
    """`burnish_runtime` as it was built."""
    package = pathlib.Path(folder) / "burnish_runtime"
    shutil.copytree(machine.ROOT / "python/runtime/burnish_runtime", package)
    shutil.copy(machine.output(EXTENSION), package)
    sys.path.insert(0, folder)
    return importlib.import_module("burnish_runtime")


def session_of(path, threads):
    """ONNX Runtime's, of a file. Its threads stop spinning where its run ends: ours have their turn then."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.force_spinning_stop", "1")
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def measure(burnish_runtime, folder, kind, hidden, steps, rounds, threads, database):
    model = make_model(kind, hidden, steps)
    path = os.path.join(folder, f"{kind}_{hidden}_{steps}.onnx")
    onnx.save(model, path)
    bundle = path.replace(".onnx", ".bundle")
    command = [str(machine.output("//tuner:tuner")), "compile", "--model", path, f"--threads={threads}", "--out", bundle]
    command += ["--db", database] if database else []
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    reference = session_of(path, threads)
    x = np.random.default_rng(1).standard_normal((steps, 1, hidden)).astype(np.float32)
    want = reference.run(None, {"x": x})
    loaded = burnish_runtime.load(bundle, threads=threads)
    got = loaded.run(x)
    for a, b in zip(got, want):
        assert np.abs(np.asarray(a) - b).max() < 1e-4, f"{kind} {hidden} {steps}: wrong"
    return ratios(lambda: loaded.run(x), lambda: reference.run(None, {"x": x}), rounds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", default="64,128,256,512,1024")
    parser.add_argument("--steps", default="1,200")
    parser.add_argument("--kinds", default="LSTM,GRU")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--db", default="")
    arguments = parser.parse_args()
    machine.build(EXTENSION, "//tuner", "//worker/builder")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        runtime = runtime_package(folder)
        for kind in arguments.kinds.split(","):
            for hidden in map(int, arguments.hidden.split(",")):
                for steps in map(int, arguments.steps.split(",")):
                    ratio, same, seconds = measure(runtime, folder, kind, hidden, steps,
                                                   arguments.rounds, arguments.threads, arguments.db)
                    found.append(ratio)
                    print(f"{kind:4} hidden {hidden:5} steps {steps:4}: {ratio:5.2f} of ONNX "
                          f"Runtime, {seconds * 1e6:9.1f} us  (a/a {same:.2f})", flush=True)
    mean = math.exp(statistics.fmean(map(math.log, found)))
    print(f"geometric mean {mean:.2f}, worst {max(found):.2f}")


if __name__ == "__main__":
    main()
