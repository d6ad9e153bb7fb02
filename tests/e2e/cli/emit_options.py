"""What each option of `tuner compile` does to each text of --emit: none is passed over in silence.

usage: emit_options.py TUNER [CASE...]

A model's texts with an option and without it are the same, differ, or the option is refused. WANT says which,
and why where they are the same; an option of `tuner compile --help` that stands nowhere fails.
"""

import concurrent.futures
import json
import os
import re
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

from harness import run_cases

MODEL_AND_TASKS = ("onnx", "ir")  # Other forms are of schedules.
TARGET = ("--target", "cpu:arch=znver3,threads=2")
SHAPE = ("--shape", "x=4x64x16x16")
NOT_TUNED = "B0603"


class Want:
    """`others`: what becomes of each form but those of `same` and `refused`. `given`: what both texts have beside the
    option."""

    def __init__(self, value, others="differs", same=(), refused=(), why_same="", given=(*SHAPE, *TARGET)):
        self.value, self.others, self.same, self.refused = value, others, same, refused
        self.why_same, self.given = why_same, given

    def of(self, form):
        return "same" if form in self.same else "refused" if form in self.refused else self.others


WANT = {
    "--shape": Want("x=2x64x16x16"),
    "--value": Want("gain=3"),
    "--dim": Want("rows=1..4", given=("--dim", "rows=1..8", *TARGET)),
    "--batch": Want("2", "refused"),  # A file has its own.
    "--study": Want("mine", "refused"),
    "--opt-level": Want("0", refused=["onnx"]),
    "--precision": Want("bf16", refused=["onnx"]),
    "--passes": Want("-channels_last", refused=["onnx"]),
    "--dump-graph-after": Want("simplify", "refused"),  # One text at a time.
    "--refit": Want(None, "same", refused=["onnx"], why_same="what makes weights again stands beside the same kernels"),
    "--require-tuned": Want(None, "refused"),  # Nothing was tuned.
    "--accuracy": Want("strict", same=MODEL_AND_TASKS, why_same="they are the same, however they are rounded"),
    "--threads": Want("1", same=MODEL_AND_TASKS, why_same="neither says who runs them"),
    "--target": Want("cpu:arch=znver4,threads=2", same=MODEL_AND_TASKS, why_same="neither says what runs them"),
    "--json": Want(None, refused=["onnx"]),
    "--verbose": Want(None, "refused"),  # It is said of a bundle.
}
# These say where something is, or what is said beside the text.
NO_MATTER = {"--help", "--task", "--model", "--out", "--emit", "--data", "--cpus", "--calibration", "--cache",
             "--python", "--server", "--db", "--quiet", "--log-level"}


def model():
    """x [rows, 64, 16, 16] by a convolution that Winograd's fits and a normalization, times a gain that a run gives."""
    rng = np.random.default_rng(0)
    weights = {"w": rng.standard_normal((64, 64, 3, 3)), "variance": np.ones(64)}
    weights.update({name: rng.standard_normal(64) for name in ("scale", "bias", "mean")})
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"], ["n"]),
             helper.make_node("Mul", ["n", "gain"], ["y"])]
    floats = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "emitted", [helper.make_tensor_value_info("x", floats, ["rows", 64, 16, 16]),
                           helper.make_tensor_value_info("gain", floats, [])],
        [helper.make_tensor_value_info("y", floats, ["rows", 64, 16, 16])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class Cases:
    """Each method that is named `case_` is one, and returns what is wrong."""

    def __init__(self, programs, folder):
        self.tuner, self.folder = programs.run, folder
        self.help = self.tuner("compile", "--help").out
        self.forms = re.search(r"--emit :\{(\S+)\}", self.help).group(1).split(",")
        self.model = os.path.join(folder, "model.onnx")
        onnx.save(model(), self.model)

    def emit(self, form, *options):
        return self.tuner("compile", "--model", self.model, "--emit", form, "--cache", "none", "--db",
                          os.path.join(self.folder, "records.db"), *options)

    def outcome(self, option, form, want):
        """"same", "differs" or "refused"; else what is wrong."""
        given = dict(zip(want.given[::2], want.given[1::2]))
        before = self.emit(form, *want.given)
        given.pop(option, None)
        after = self.emit(form, *sum(given.items(), ()), option, *([want.value] if want.value else []))
        if before.code != 0:
            return before.err
        if after.code != 0:
            return "refused" if option in after.cause + after.hint or after.error == NOT_TUNED else after.err
        return "same" if before.out == after.out else "differs"

    def case_each_option_in_each_form(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            asked = {(option, form): pool.submit(self.outcome, option, form, want)
                     for option, want in WANT.items() for form in self.forms}
        wrong = []
        for (option, form), found in asked.items():
            want = WANT[option].of(form)
            if found.result() != want:
                wrong.append(f"{option} with --emit {form}: {found.result()}, want {want}")
        wrong += [f"{option}: nothing says why a text is the same" for option, want in WANT.items()
                  if (want.same or want.others == "same") and not want.why_same]
        return wrong

    def case_each_option_is_known_here(self):
        options = set(re.findall(r"^  (?:-h,)?(--[\w-]+)", self.help, re.MULTILINE))
        return [f"{option} stands in neither table" for option in options - WANT.keys() - NO_MATTER] + [
            f"{option} is no option" for option in (WANT.keys() | NO_MATTER) - options]

    def case_json_holds_the_text(self):
        text = self.emit("ir", *SHAPE, *TARGET)
        told = json.loads(self.emit("ir", *SHAPE, *TARGET, "--json").out)
        path = os.path.join(self.folder, "task.ir")
        written = json.loads(self.emit("ir", *SHAPE, *TARGET, "--json", "--out", path).out)
        with open(path, encoding="utf-8") as file:
            content = file.read()
        return [what for what, holds in {
            "text": told == {"schema": 1, "emit": "ir", "text": text.out},
            "out": written == {"schema": 1, "emit": "ir", "out": path} and content == text.out}.items() if not holds]


if __name__ == "__main__":
    sys.exit(run_cases("emit_options", sys.argv[1], sys.argv[2:], Cases))
