"""Three rows of `./dev bench operators` the whole way: model, tuner compile, turns of bound engines, a row.
No speed is asserted. Where OpenVINO is not installed, ONNX Runtime is the only peer."""

import math
import os
import pathlib
import sys
import tempfile
from unittest import mock

BENCH = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(BENCH), str(BENCH / "harness"), str(BENCH.parent / "e2e" / "models")]
import machine
import operator_models
import operator_table
import operators
import real
import real_judge
from test_report import Report

# A result of another type; two inputs; a constant.
NAMES = ("imagenet_argmax", "dlrm_interaction", "switch_router")


def built(target):
    """Where Bazel has put a target beside this test."""
    folder, _, name = target.removeprefix("//").partition(":")
    return pathlib.Path(folder).resolve() / name


def measured(name, cpus):
    entry = next(each for each in operator_models.entries() if each["name"] == name)
    options = operators.parse_arguments(["--rounds", "2", "--seconds", "0.002"])
    options.threads = len(cpus)
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(machine, "output", built):
        return operators.measure(entry, options, pathlib.Path(folder), cpus)


def is_a_row(name, cpus):
    row = measured(name, cpus)
    wrong = [] if row["state"] == real_judge.RIGHT else [operator_table.row_text(row, {})]
    for key in ("ratio", "a_a"):
        if not (math.isfinite(row.get(key, math.nan)) and row[key] > 0):
            wrong.append(f"{key}: {row.get(key)}")
    if not {"ours", "ort"} <= set(row.get("microseconds", {})):
        wrong.append(f"times: {row.get('microseconds')}")
    return wrong, f"{row.get('ratio'):.2f} of {row.get('reference')}" if not wrong else ""


def a_wrong_result_is_a_failure(cpus):
    """As if the bundle computed something else: a hundredth of the range beside it."""
    plain = real.run_once

    def off(engine, *arguments):
        outputs = plain(engine, *arguments)
        return [each + 0.01 * (each.max() - each.min()) if "burnish" in engine else each
                for each in outputs]

    with mock.patch.object(real, "run_once", off):
        row = measured("switch_router", cpus)
    got = operator_table.summarize([row], {})["failures"]
    return [] if got == {"switch_router": real_judge.WRONG} else [f"got {got}"], ""


def a_model_that_is_refused_is_a_failure(cpus):
    """Random numbers, which no bundle makes."""
    entry = {"name": "refused", "class": "pool", "source": "", "weights": {}, "integers": {},
             "inputs": {"x": "4x4 image"}, "nodes": ["y = Bernoulli(x)"]}
    with mock.patch.object(operator_models, "entries", lambda: [entry]):
        row = measured("refused", cpus)
    got = operator_table.summarize([row], {})["failures"]
    return [] if got == {"refused": real_judge.REFUSED} else [str(row)], ""


def main():
    cpus = machine.pick_cpus(min(2, len(os.sched_getaffinity(0))))
    report = Report("bench_operators_run")
    for name in NAMES:
        report.run(name, lambda name=name: is_a_row(name, cpus))
    report.run("a_wrong_result_is_a_failure", lambda: a_wrong_result_is_a_failure(cpus))
    report.run("a_model_that_is_refused_is_a_failure",
               lambda: a_model_that_is_refused_is_a_failure(cpus))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
