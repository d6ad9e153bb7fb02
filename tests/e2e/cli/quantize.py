"""Mistakes that a user of `tuner quantize` makes, and Ctrl-C.

usage: quantize.py TUNER [CASE...]
"""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import LONG_S, run_cases

EX_USAGE, EX_DATAERR, EX_NOINPUT, EX_IOERR = 64, 65, 66, 74
INTERRUPTED = 130


def product(width=8, weights=None, second=False, scale=1.0):
    """y = x w, and x + k where there is a second input k."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", width])]
    if second:
        inputs.append(helper.make_tensor_value_info("k", TensorProto.INT64, ["n", 1]))
        nodes += [helper.make_node("Cast", ["k"], ["kf"], to=TensorProto.FLOAT),
                  helper.make_node("Add", ["p", "kf"], ["y"])]
    else:
        nodes.append(helper.make_node("Mul", ["p", "s"], ["y"]))
    w = np.ones((width, 4), np.float32) if weights is None else weights
    constants = [numpy_helper.from_array(w, "w"),
                 numpy_helper.from_array(np.float32(scale), "s")][:1 if second else 2]
    graph = helper.make_graph(nodes, "g", inputs,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model


class Cases:
    """Each method that is named `case_` is one, and returns what is wrong."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.model = self.save_model("good.onnx", product())
        self.examples = np.random.default_rng(1).normal(size=(12, 8)).astype(np.float32)

    def path(self, name):
        return os.path.join(self.folder, name)

    def save_model(self, name, model):
        onnx.save(model, self.path(name))
        return self.path(name)

    def data(self, name, **arrays):
        folder = self.path(name)
        for file, array in arrays.items():
            os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
            np.save(os.path.join(folder, f"{file}.npy"), array)
        os.makedirs(folder, exist_ok=True)
        return folder

    def line(self, data, *flags, model=None):
        shape = [] if "--dim" in flags else ["--shape", "x=1x8"]
        return ("quantize", "--model", model or self.model, *shape, "--data", data, "--out",
                self.path("q.onnx"), *flags)

    def refused(self, code, error, *texts, data, flags=(), model=None):
        outcome = self.programs.run(*self.line(data, *flags, model=model))
        wrong = outcome.complaints(code, error, *texts)
        if os.path.exists(self.path("q.onnx")):
            wrong.append("a model was written")
            os.remove(self.path("q.onnx"))
        return wrong

    def case_what_is_right_is_taken(self):
        wrong = []
        for name, arrays in {"rows": {"x": self.examples}, "stack": {"any": self.examples[:, None]},
                             "files": {str(i): e[None] for i, e in enumerate(self.examples)},
                             "folders": {f"{i}/x": e[None] for i, e in enumerate(self.examples)}
                             }.items():
            outcome = self.programs.run(*self.line(self.data(name, **arrays)))
            wrong += outcome.complaints(0, "")
            if "ranges from 12 examples" not in outcome.out:
                wrong.append(outcome.out)
        with open(self.path("q.onnx"), "rb") as file:
            first = file.read()
        os.remove(self.path("q.onnx"))
        # The same examples give the same bytes.
        wrong += self.programs.run(*self.line(self.path("rows"))).complaints(0, "")
        with open(self.path("q.onnx"), "rb") as file:
            wrong += [] if file.read() == first else ["another file of the same examples"]
        os.remove(self.path("q.onnx"))
        return wrong

    def case_data_that_cannot_be_used(self):
        x = self.examples
        bad = x.copy()
        bad[7, 3] = np.nan
        infinite = x.copy()
        infinite[2, 0] = np.inf
        wrong = self.refused(EX_NOINPUT, "B0201", "no such folder", data=self.path("none"))
        wrong += self.refused(EX_DATAERR, "B0408", "no .npy file", data=self.data("empty"))
        wrong += self.refused(EX_DATAERR, "B0408", "got 3 examples, want at least 10",
                              data=self.data("few", x=x[:3]))
        wrong += self.refused(EX_DATAERR, "B0408", "NaN or infinite in example 7",
                              data=self.data("nan", x=bad))
        wrong += self.refused(EX_DATAERR, "B0408", "in example 2", data=self.data("inf", x=infinite))
        wrong += self.refused(EX_DATAERR, "B0404", "f32[12,7]", "f32[1,8]",
                              data=self.data("shape", x=x[:, :7]))
        wrong += self.refused(EX_DATAERR, "B0404", "f64[12,8]", "x.astype('f32')",
                              data=self.data("type", x=x.astype(np.float64)))
        wrong += self.refused(EX_USAGE, "B0405", "labels.npy",
                              data=self.data("other", x=x, labels=np.zeros(12)))
        with open(os.path.join(self.data("cut"), "x.npy"), "wb") as file:
            file.write(b"\x93NUMPY")
        return wrong + self.refused(EX_DATAERR, "B0202", "x.npy", data=self.path("cut"))

    def case_inputs_that_are_missing(self):
        model = self.save_model("two.onnx", product(second=True))
        shape = ("--shape", "k=1x1")
        wrong = self.refused(EX_NOINPUT, "B0201", "no file for input k i64[1,1]", model=model,
                             data=self.data("one", x=self.examples), flags=shape)
        return wrong + self.refused(
            EX_DATAERR, "B0404", "input k: got 11 examples, want 12", model=model, flags=shape,
            data=self.data("fewer", x=self.examples, k=np.zeros((11, 1), np.int64)))

    def case_models_that_cannot_be_quantized(self):
        data = self.data("rows", x=self.examples)
        quantized = self.path("once.onnx")
        line = self.line(data)
        wrong = self.programs.run(*line[:-1], quantized).complaints(0, "")
        wrong += self.refused(EX_DATAERR, "B0301", "has quantized tensors already", model=quantized,
                              data=data)
        nothing = product()
        del nothing.graph.node[0]
        nothing.graph.node[0].input[0] = "x"
        wrong += self.refused(EX_DATAERR, "B0301", "nothing to quantize", data=data,
                              model=self.save_model("nothing.onnx", nothing))
        batches = self.data("batches", x=np.resize(self.examples, (12, 4, 8)))
        wrong += self.refused(EX_DATAERR, "B0303", "--dim", data=batches, flags=("--dim", "n=1..4"))
        infinite = np.full((8, 4), np.inf, np.float32)
        wrong += self.refused(EX_DATAERR, "B0301", "the weights w", data=data,
                              model=self.save_model("inf.onnx", product(weights=infinite)))
        # Finite inputs whose products are not.
        return wrong + self.refused(
            EX_DATAERR, "B0408", "output y is NaN or infinite for example 0", data=data,
            model=self.save_model("over.onnx", product(
                weights=np.full((8, 4), 1e38, np.float32), scale=1e10)))

    def case_flags_that_do_not_fit(self):
        data = self.data("rows", x=self.examples)
        wrong = self.refused(EX_USAGE, "B0101", "--method", data=data, flags=("--method", "entropy"))
        wrong += self.refused(EX_USAGE, "B0101", "--percentile", data=data,
                              flags=("--percentile", "101"))
        wrong += self.refused(EX_USAGE, "B0101", "--group", data=data,
                              flags=("--method", "weights", "--group", "48"))
        wrong += self.refused(EX_USAGE, "B0101", "--examples", data=data, flags=("--examples", "2"))
        wrong += self.programs.run("quantize", "--model", self.model, "--data", data).complaints(
            EX_USAGE, "B0101", "--out")
        wrong += self.programs.run("quantize", "--model", self.model, "--out", "q").complaints(
            EX_USAGE, "B0101", "--data")
        return wrong + self.programs.run(*self.line(data)[:-1], self.path("none/q.onnx")).complaints(
            EX_IOERR, "B0204")

    def case_weights_need_no_data(self):
        line = ("quantize", "--model", self.model, "--shape", "x=1x8", "--method", "weights", "--out",
                self.path("w8.onnx"))
        outcome = self.programs.run(*line)
        wrong = outcome.complaints(0, "")
        if "1 by weights of 8 bits, 0 others" not in outcome.out or "error" in outcome.out:
            wrong.append(outcome.out)
        outcome = self.programs.run(*line, "--data", self.data("two", x=self.examples[:2]))
        wrong += outcome.complaints(0, "")
        return wrong + ([] if "error       " in outcome.out else [outcome.out])

    def case_profile_has_the_peak_of_what_a_step_reads(self):
        wrong = self.programs.run(*self.line(self.data("rows", x=self.examples))).complaints(0, "")
        bundle = self.path("q.bundle")
        line = ("compile", "--model", self.path("q.onnx"), "--out", bundle, "--db", self.path("q.db"))
        wrong += self.programs.run(*line).complaints(0, "")
        line = ("bench", bundle, "--seconds", "0.05", "--profile")
        outcome = self.programs.run(*line, "--json")
        wrong += outcome.complaints(0, "")
        told = json.loads(outcome.out or "{}")
        products = [step for step in told.get("steps", []) if step["type"] in ("u8", "i8")]
        # Its product leaves as floats, and is one of bytes.
        if len(products) != 1:
            return wrong + [f"one product of bytes is wanted: {told}"]
        share, gflops = products[0]["peak_share"], products[0]["gflops"]
        if not 0 < share or abs(gflops / share / told["peak_gflops_int8"] - 1) > 1e-6:
            wrong.append(f"another peak: {told}")
        if min(told["peak_gflops_int8"], told["peak_gflops_bf16"]) < told["peak_gflops"]:
            wrong.append(f"less than f32, to which all may be widened: {told}")
        text = self.programs.run(*line).out
        return wrong + ([] if " of int8; " in text else [text])

    def case_interrupted_it_leaves_nothing(self):
        # It takes several seconds: it is in one of its builds, or between runs of one.
        images = np.random.default_rng(2).normal(size=(12, 3, 96, 96)).astype(np.float32)
        process = subprocess.Popen(
            [self.programs.tuner, "quantize", "--task", "resnet18", "--shape", "input=1x3x96x96",
             "--data", self.data("images", input=images), "--out", self.path("q.onnx")],
            stderr=subprocess.PIPE, env=self.programs.environment)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=LONG_S)[1].decode()
        wrong = [] if process.returncode == INTERRUPTED else [f"exit code {process.returncode}: {err}"]
        return wrong + (["a model was written"] if os.path.exists(self.path("q.onnx")) else [])


def main(arguments):
    tuner, *names = arguments
    return run_cases("quantize", tuner, names, Cases)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
