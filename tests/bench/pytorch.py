"""PyTorch's models by torch.compile(backend="burnish"): right or wrong, whole or in pieces.

./dev bench pytorch [--only NAME,NAME] [--time] [--routes [--opset N]] [--out FILE]
./dev bench pytorch --operators [--only NAME,NAME] [--samples N] [--out FILE] [--table FILE]
./dev bench pytorch --overhead [--calls N] [--rounds N]
./dev bench pytorch --contention [--model NAME] [--threads N] [--rounds N] [--calls N]
./dev bench pytorch --background [--model NAME] [--threads N] [--every MS] [--seconds S] [--turns N]
./dev bench pytorch --sizes [--model bert|torch] [--width N] [--batch N] [--lengths N,N] [--rounds N] [--calls N]
./dev bench pytorch --swaps [--model NAME] [--threads N] [--callers N] [--calls N] [--turns N]
./dev bench pytorch --first [--model NAME] [--threads N] [--rounds N]
./dev bench pytorch --training [--model NAME] [--rounds N] [--size N]
What right and whole mean: tests/bench/README.md.

--time: Inductor too. `TORCHINDUCTOR_CACHE_DIR=FOLDER` keeps its code for a later run
--routes: how many tasks are the same as by PyTorch's ONNX exporter, by `--opset` (23)
--overhead: CPU time of a call beyond the run, with 4 and 270 parameters
--contention: a loop of one operator of PyTorch's and one run, over the sum of both alone
--background: requests each `--every` ms, with a study behind them held and at work in turn (goal: p99 at most
  1.20), share of the CPUs, trials a minute (goal: 20)
--sizes: a bundle for a range over one for each size (goal: at most 1.3) and over eager; CPU time on one
  thread. `--model torch`: layers of PyTorch's own
--swaps: `--callers` threads call one model during swaps: wrong results (ends with 1), median, p99, longest
  call (goal: at most twice the median)
--first: the first answer of a fresh process: eager, nothing kept, the bundle in the cache, `first="eager"`;
  then the answers after new weights (goal: 1 s from the second on)
--training: a step with `fallback="inductor"` over Inductor's own, in turn, CPU time on one thread
--operators: how much of core ATen is right, by PyTorch's own samples (OpInfo). `--table FILE` writes the
  table of `python/tests:torch_operators_test`
"""

import argparse
import json
import logging
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import limited
import machine
import torch_libraries
import torch_models
import torch_routes

PACKAGE = "//python/runtime:burnish_runtime_files"
EXTENSION = "//python/runtime:burnish_runtime/_burnish_runtime.abi3.so"
PROGRAMS = ("//tuner:tuner", "//base:burnish-launcher")
RUN_LOOP = "//python/runtime/testdata:run_loop.so"
GRAPH_MAIN = "//compiler/frontend:graph_main"
ERROR_MAX = 1e-4  # Of the scale, as docs/contracts.md counts it.
# Ten times what the slowest takes on two cores that nobody else uses.
SECONDS_MAX, BYTES_MAX = 600, 12 << 30
ROUNDS, CALLS = 15, 4  # Turns of each engine, and calls in each.


def package(folder):
    """The packages as Bazel has built them, in `folder`; the environment to import them with torch."""
    machine.build(PACKAGE, *PROGRAMS, GRAPH_MAIN)
    runtime = folder / "burnish_runtime"
    runtime.mkdir()
    for source in (machine.ROOT / "python/runtime/burnish_runtime").iterdir():
        (runtime / source.name).symlink_to(source)
    extension = machine.output(EXTENSION)
    (runtime / extension.name).symlink_to(extension)
    (folder / "burnish").symlink_to(machine.ROOT / "python/burnish")
    programs, libraries, cache = (folder / each for each in ("programs", "libraries", "cache"))
    for each in (programs, libraries, cache):
        each.mkdir()
    for target in PROGRAMS:
        path = machine.output(target)
        (programs / path.name).symlink_to(path)
    return {**torch_libraries.environment(libraries), "PYTHONPATH": str(folder),
            "BENCH_PROGRAMS": str(programs), "BENCH_GRAPH_MAIN": str(machine.output(GRAPH_MAIN)),
            "XDG_CACHE_HOME": str(cache), "XDG_DATA_HOME": str(cache)}


# ---- In a process of its own, one model.

def first_tensor(value):
    import torch
    while not isinstance(value, torch.Tensor):
        value = next(iter(value.values())) if hasattr(value, "values") else value[0]
    return value


def one(name, timed, threads):
    import torch
    from burnish import _programs
    from burnish._torch import backend
    _programs.FOLDER = os.environ["BENCH_PROGRAMS"]
    # The libraries in CUDA's place answer nothing here, and this call reads what they would write.
    torch.cuda.is_current_stream_capturing = lambda: False
    torch.set_num_threads(threads)
    said = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger("burnish.torch").addHandler(handler)
    torch.manual_seed(0)
    model, args, kwargs = torch_models.make(name)
    for parameter in model.parameters():
        if not parameter.any():  # A head of zeros, whose result would say nothing.
            torch.nn.init.normal_(parameter, std=0.02)
    with torch.inference_mode(), backend.listening() as graphs:
        want = first_tensor(model(*args, **kwargs))
        run = torch.compile(model, backend=backend.burnish)
        begin = time.monotonic()
        got = first_tensor(run(*args, **kwargs))
        first = time.monotonic() - begin
        error = ((got - want).abs().max() / want.abs().max()).item()
        row = {"name": name, "error": error, "graphs": len(graphs), "first_s": first, "said": said,
               "whole": len(graphs) == 1 and graphs[0].parts is not None and graphs[0].parts.whole,
               "state": "right" if error <= ERROR_MAX and got.shape == want.shape else "wrong"}
        if timed:
            row["ms"] = times(model, run, args, kwargs)
    return row


def times(model, run, args, kwargs):
    """Medians of each engine, in turns."""
    import statistics
    import torch
    torch._inductor.config.freezing = True
    engines = {"burnish": run, "eager": model, "inductor": torch.compile(model)}
    found = {engine: [] for engine in engines}
    for call in engines.values():
        call(*args, **kwargs)
        call(*args, **kwargs)
    for _ in range(ROUNDS):
        for engine, call in engines.items():
            for _ in range(CALLS):
                begin = time.perf_counter()
                call(*args, **kwargs)
                found[engine].append(1e3 * (time.perf_counter() - begin))
    return {engine: statistics.median(each) for engine, each in found.items()}


# ---- All of them.

def table_row(row):
    if "same" in row:
        return f"{row['name']:32} {row['direct']} tasks, {row['onnx']} by ONNX, {row['same']} the same"
    if "error" not in row:
        return f"{row['name']:32} {row['state']}: {row.get('detail', '')[-300:]}"
    text = (f"{row['name']:32} {row['state']:6} {row['error']:8.1e}  {'whole' if row['whole'] else 'pieces'}"
            f"  {row['first_s']:6.1f} s")
    if "ms" in row:
        ms = row["ms"]
        text += (f"  {ms['burnish']:8.2f} ms  {ms['burnish'] / ms['inductor']:.2f} of Inductor, "
                 f"{ms['burnish'] / ms['eager']:.2f} of eager")
    return "\n    ".join([text, *(line[:300] for line in row["said"])])


# What is measured by a script of its own, in a process that can import all it needs.
SCRIPTS = {"--operators": "aten_coverage.py", "--overhead": "call_overhead.py",
           "--contention": "contention.py", "--background": "background.py", "--training": "training.py",
           "--sizes": "dynamic_sizes.py", "--swaps": "swaps.py", "--first": "first_answer.py"}


def run_script(flag):
    with tempfile.TemporaryDirectory(prefix="burnish-bench-") as name:
        environment = {**os.environ, **package(pathlib.Path(name))}
        machine.build(RUN_LOOP)
        environment["BENCH_RUN_LOOP"] = str(machine.output(RUN_LOOP))
        script = pathlib.Path(__file__).parent / "harness" / SCRIPTS[flag]
        return subprocess.run([sys.executable, "-B", script, *(word for word in sys.argv[1:] if word != flag)],
                              env=environment, check=False).returncode


def main():
    for flag in SCRIPTS:
        if flag in sys.argv:
            return run_script(flag)
    parser = argparse.ArgumentParser(prog="./dev bench pytorch", description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="names, with commas between them")
    parser.add_argument("--time", action="store_true", help="against eager and Inductor, in turn")
    parser.add_argument("--routes", action="store_true", help="only compare tasks with those by way of ONNX")
    parser.add_argument("--opset", type=int, default=torch_routes.OPSET, help="of --routes: what PyTorch writes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", metavar="FILE", help="a line of JSON for each model; started again it goes on")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        with tempfile.TemporaryDirectory() as name:
            row = ({"name": options.child, **torch_routes.compared(
                *torch_models.make(options.child), pathlib.Path(name), os.environ["BENCH_GRAPH_MAIN"], options.opset)}
                if options.routes else one(options.child, options.time, options.threads))
        print(json.dumps(row))
        return 0
    # A model's process is in a session of its own: without this it would go on beside what is measured next.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    print(machine.headline(machine.describe()))
    rows = []
    if options.out and os.path.exists(options.out):
        with open(options.out, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
    done = {row["name"] for row in rows}
    with tempfile.TemporaryDirectory(prefix="burnish-bench-") as name:
        environment = package(pathlib.Path(name))
        environment["OMP_NUM_THREADS"] = str(options.threads)
        for model in options.only.split(",") if options.only else torch_models.names():
            if model in done:
                continue
            command = [sys.executable, "-B", __file__, "--child", model, "--threads", options.threads]
            command += ["--time"] * options.time + ["--routes"] * options.routes + ["--opset", options.opset]
            ended = limited.run(command, SECONDS_MAX, BYTES_MAX, environment)
            row = (json.loads(ended.out.splitlines()[-1]) if ended.code == 0 and not ended.limit else
                   {"name": model, "state": f"over its {ended.limit}" if ended.limit else "failed",
                    "whole": False, "detail": ended.err.strip(), "said": []})
            rows.append(row)
            print(table_row(row), flush=True)
            if options.out:
                with open(options.out, "a", encoding="utf-8") as file:
                    print(json.dumps(row), file=file)
    if options.routes:
        same, total = (sum(row.get(key, 0) for row in rows) for key in ("same", "onnx"))
        print(f"{same} of {total} tasks are the same by both routes")
        return 0 if all("same" in row for row in rows) else 1
    right = sum(row["state"] == "right" for row in rows)
    whole = sum(row["whole"] for row in rows)
    print(f"{len(rows)} models: {right} right, {whole} whole ({whole / max(1, len(rows)):.0%}), "
          f"{sum(row['state'] == 'wrong' for row in rows)} wrong")
    return 0 if right == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
