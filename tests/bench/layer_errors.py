"""Where Winograd's rounding shows: each step of a model against the same model without Winograd.

./dev bench layer_errors [--model resnet50] [--weights lognormal] [--accuracy 1e-4] [--db FILE]
How to read it: tests/bench/README.md.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent / "harness"))
import machine
import model_files
import weight_distributions
from c_runtime import Model, load_library
from engine import RUNTIME


def parse_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench layer_errors",
                                     description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="resnet50", metavar="NAME|FILE.onnx", help="%(default)s")
    parser.add_argument("--weights", choices=weight_distributions.DISTRIBUTIONS,
                        default=weight_distributions.AS_THEY_ARE, help="(%(default)s)")
    parser.add_argument("--accuracy", default="1e-4", help="of `tuner compile` (%(default)s)")
    parser.add_argument("--db", help="the records that `tuner compile` takes schedules from")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser.parse_args()


def step_errors(bundle, strict, arrays):
    """One dictionary for each step. Both bundles have the same steps: an algorithm is chosen inside
    of a step. The error is that of all steps so far: each runs on what the steps before it gave."""
    rows = []
    for model in (bundle, strict):
        model.set_inputs(arrays)
    steps, strict_steps = bundle.steps(), strict.steps()
    if [step.name for step in steps] != [step.name for step in strict_steps]:
        raise RuntimeError("the two bundles have different steps")
    for index, step in enumerate(steps):
        for output in range(step.output_count):
            got, want = (model.step_output(index, output).astype(np.float64)
                         for model in (bundle, strict))
            scale = np.abs(want).max() or 1.0
            difference = np.abs(got - want) / scale
            rows.append({"step": index, "name": step.name.decode(),
                         "workload": step.workload_id.decode(), "shape": list(got.shape),
                         "max_error": float(difference.max()),
                         "rms_error": float(np.sqrt(np.mean(difference**2)))})
    return rows


def measure(options, folder):
    machine.build(RUNTIME, model_files.TUNER)
    path = model_files.write_onnx(options.model, folder / "model.onnx", 1, options.weights)
    report = model_files.write_bundle(path, folder / "model.bundle", 1, options.accuracy,
                                      options.db)
    model_files.write_bundle(path, folder / "strict.bundle", 1, "strict", None)
    library = load_library(str(machine.output(RUNTIME)))
    models = [Model(library, folder / name, machine.pick_cpus(1))
              for name in ("model.bundle", "strict.bundle")]
    arrays = [np.ascontiguousarray(array) for array in model_files.make_inputs(path).values()]
    rows = step_errors(*models, arrays)
    for model in models:
        model.close()
    algorithms = {
        task["workload"]: f"{task['algorithm']} {task['parameter']}" if task["algorithm"] else ""
        for task in report["tasks"]
    }
    for row in rows:
        row["algorithm"] = algorithms.get(row["workload"], "")
    return rows


def print_table(options, rows):
    print(f"{options.model}, {options.weights} weights, --accuracy {options.accuracy}: "
          f"max|got - want| / max|want| of each step's output so far\n")
    print("| step | operators | shape | algorithm | max | root mean square |")
    print("|" + "---|" * 6)
    for row in rows:
        algorithm = row["algorithm"]
        print(f"| {row['step']} | {row['name']} | {'x'.join(map(str, row['shape']))} | {algorithm} "
              f"| {row['max_error']:.1e} | {row['rms_error']:.1e} |")
    worst = max(rows, key=lambda row: row["max_error"])
    print(f"\nworst: step {worst['step']}, {worst['max_error']:.1e}; "
          f"the model's output: {rows[-1]['max_error']:.1e}")


def main():
    options = parse_arguments()
    try:
        with tempfile.TemporaryDirectory(prefix="burnish-layers-") as folder:
            rows = measure(options, pathlib.Path(folder))
    except (RuntimeError, ValueError) as error:
        sys.exit(f"layer_errors: {error}")
    if options.json:
        print(json.dumps({"schema": 1, "benchmark": "layer_errors", "model": options.model,
                          "weights": options.weights, "accuracy": options.accuracy,
                          "machine": machine.describe(), "steps": rows}))
    else:
        print_table(options, rows)


if __name__ == "__main__":
    main()
