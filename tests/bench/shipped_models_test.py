"""Five models that packages ship, the whole way: tuner compile, a bundle, the C API; against ONNX
Runtime, judged as `./dev bench real` judges. Nothing is timed.

They are of its list, and installed by ./dev setup (tests/requirements-shipped.txt)."""

import os
import pathlib
import sys
import tempfile
from unittest import mock

BENCH = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(BENCH), str(BENCH / "harness"), str(BENCH.parent / "e2e" / "models")]
import machine
import real
import real_judge
import real_models
from test_report import Report

# Speech with If and LSTM and an input that is fixed; text; audio; a picture; GRU.
NAMES = ("silero_vad", "magika", "wake_melspectrogram", "orientation", "aecmos_1663829550")


def built(target):
    """Where Bazel has put a target beside this test."""
    folder, _, name = target.removeprefix("//").partition(":")
    return pathlib.Path(folder).resolve() / name


def is_right(entry, cpus):
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(machine, "output", built):
        row = real.measure(entry, len(cpus), pathlib.Path(folder) / "kept", cpus)
    note = f"error {row.get('error', float('nan')):.1e}, floor {row.get('spread', float('nan')):.1e}"
    return [] if row["state"] == real_judge.RIGHT else [real_judge.row_text(row)], note


def main():
    cpus = machine.pick_cpus(min(2, len(os.sched_getaffinity(0))))
    report = Report("shipped_models")
    for entry in real_models.entries():
        if entry["name"] in NAMES:
            report.run(entry["name"], lambda entry=entry: is_right(entry, cpus))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
