"""What a Python call takes beyond the C API's, for one NumPy array in and one out.

./dev bench python_calls [--calls N] [--rounds N] [--json]

A model that copies 24 bytes, on one thread, called by `burnish_runtime` and by a loop in C, in one process and in
turn; CPU time. The first two rows are controls; each other row is what that way of calling takes beyond C (goal:
3,000 ns with `out` given). Then the import, beyond NumPy's (goal: 50 ms).
"""

import argparse
import ctypes
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import machine

PACKAGE = "//python/runtime:burnish_runtime_files"
EXTENSION = "//python/runtime:burnish_runtime/_burnish_runtime.abi3.so"
LOOP = "//python/runtime/testdata:run_loop.so"
KERNELS = "//python/runtime/testdata:kernels"
C_RUN = "burnish_run_tensors, from C"
EMPTY_LOOP = "a loop of Python's without a call"
CONTROLS = (C_RUN, EMPTY_LOOP)
WRITE_BUNDLES = "//python/runtime/testdata:write_bundles"


def import_package(folder):
    """The package that Bazel has built, put together in `folder` and imported from there."""
    package = pathlib.Path(folder) / "burnish_runtime"
    package.mkdir()
    for source in (machine.ROOT / "python/runtime/burnish_runtime").iterdir():
        (package / source.name).symlink_to(source)
    extension = machine.output(EXTENSION)
    (package / extension.name).symlink_to(extension)
    sys.path.insert(0, folder)
    return importlib.import_module("burnish_runtime")


def import_ms(folder, count):
    """Sorted: what `import burnish_runtime` takes in fresh processes that have NumPy already."""
    script = ("import numpy, time; begin = time.perf_counter(); import burnish_runtime; "
              "print((time.perf_counter() - begin) * 1e3)")
    environment = {**os.environ, "PYTHONPATH": folder, "PYTHONSAFEPATH": "1"}
    times = [float(subprocess.run([sys.executable, "-c", script], env=environment, check=True,
                                  stdout=subprocess.PIPE, text=True).stdout)
             for _ in range(count)]
    return sorted(times)


def c_loop(path, x, y):
    """Nanoseconds of `calls` runs from C, on a model of its own."""
    library = ctypes.CDLL(str(machine.output(LOOP)))
    library.open_model.restype = ctypes.c_void_p
    library.run_loop.restype = ctypes.c_int64
    model = ctypes.c_void_p(library.open_model(str(path).encode()))
    addresses = [ctypes.c_void_p(array.ctypes.data) for array in (x, y)]

    def run(calls):
        spent = library.run_loop(model, *addresses, ctypes.c_int64(calls))
        if spent < 0:
            sys.exit("python_calls: the run from C failed")
        return spent
    return run


def python_loop(statement, names):
    """Nanoseconds of CPU time that `calls` times `statement` take."""
    scope = {"thread_time_ns": time.thread_time_ns, **names}
    exec(f"def loop(calls):\n"  # pylint: disable=exec-used
         f"    begin = thread_time_ns()\n"
         f"    for _ in range(calls): {statement}\n"
         f"    return thread_time_ns() - begin\n", scope)
    return scope["loop"]


def measure(loops, calls, rounds):
    """By name: nanoseconds a call in each round. All in turn, so that what disturbs one disturbs
    its neighbours."""
    results = {name: [] for name in loops}
    for name, loop in loops.items():
        loop(calls // 10 + 1)  # Warm.
    for _ in range(rounds):
        for name, loop in loops.items():
            results[name].append(loop(calls) / calls)
    return results


def rows_of(results):
    """(Name, low, median, high): the controls as they are, each way to call beyond the run from C
    of its round."""
    rows = [(name, *spread(results[name])) for name in CONTROLS]
    for name, times in results.items():
        if name not in CONTROLS:
            rows.append((name, *spread([t - c for t, c in zip(times, results[C_RUN])])))
    return rows


def spread(values):
    values = sorted(values)
    return values[0], values[len(values) // 2], values[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    subprocess.run(["bazel", "build", PACKAGE, LOOP, KERNELS, WRITE_BUNDLES], cwd=machine.ROOT,
                   check=True, stderr=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        runtime = import_package(folder)
        subprocess.run([machine.output(WRITE_BUNDLES), machine.output(KERNELS).with_suffix(".so"),
                        folder], check=True)
        path = pathlib.Path(folder) / "f32.bundle"
        model = runtime.load(path, threads=1)
        x = runtime.empty((2, 3), "float32")
        x[:] = 1
        y = runtime.empty((2, 3), "float32")
        names = {"model": model, "run": model.run, "x": x, "y": y}
        loops = {
            C_RUN: c_loop(path, x, y),
            EMPTY_LOOP: python_loop("pass", names),
            "model.run(x, out=y)": python_loop("model.run(x, out=y)", names),
            "model.run(x=x, out=y)": python_loop("model.run(x=x, out=y)", names),
            "model(x), the output is made": python_loop("model(x)", names),
        }
        results = measure(loops, options.calls, options.rounds)
        imports = import_ms(folder, 11)
    rows = rows_of(results)
    facts = machine.describe()
    if options.json:
        print(json.dumps({"schema": 1, "machine": facts, "import_ms": imports, "rows": [
            dict(zip(("name", "low_ns", "median_ns", "high_ns"), row)) for row in rows]}))
        return
    print(machine.headline(facts))
    print(f"CPU time in ns a call, {options.rounds} rounds of {options.calls} calls in turn; from "
          "the third row on, beyond the first:")
    for name, low, median, high in rows:
        print(f"  {name:36} {median:8.0f}  ({low:.0f} to {high:.0f})")
    print(f"import burnish_runtime after NumPy: {spread(imports)[1]:.1f} ms "
          f"({imports[0]:.1f} to {imports[-1]:.1f}, {len(imports)} processes)")


if __name__ == "__main__":
    main()
