"""Bundles in turn with ONNX Runtime and each other, studies side by side, and studies that go on.

usage: against.py TUNER [CASE...]
"""

import json
import os
import subprocess
import sys
import threading

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import run_cases

EX_USAGE, EX_DATAERR, EX_NOINPUT, EX_UNAVAILABLE = 64, 65, 66, 69
SHORT = ("--seconds", "0.2", "--rounds", "3")
TIMES = {"schema": int, "model": str, "threads": int, "rounds": int, "median_ms": float, "ratio": float,
         "ratio_spread": float, "control_ratio": float, "control_spread": float, "outputs": list}


def model(seed=0, name="x", width=64):
    """y = relu(x @ w), with weights by the seed."""
    weights = np.random.default_rng(seed).standard_normal((width, 32), np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", [name, "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])], "test",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 32])],
        [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Cases:
    """Each method that is named `case_` is one, and returns what is wrong."""

    def __init__(self, programs, folder):
        self.programs, self.folder = programs, folder
        self.tuner = programs.run
        self.bundle, self.onnx = self.compiled("good")

    def path(self, name):
        return os.path.join(self.folder, name)

    def saved(self, file, **options):
        onnx.save(model(**options), self.path(f"{file}.onnx"))
        return self.path(f"{file}.onnx")

    def compiled(self, file, **options):
        source, bundle = self.saved(file, **options), self.path(f"{file}.bundle")
        outcome = self.tuner("compile", "--model", source, "--db", self.path("none.db"), "--out", bundle)
        assert outcome.code == 0, outcome.err
        return bundle, source

    def against(self, source, *flags, python=sys.executable, **options):
        return self.tuner("bench", self.bundle, "--against", "onnxruntime", "--model", source, *SHORT,
                          "--python", python, *flags, **options)

    def wrong_shape(self, got, want):
        """What is not of the names and types that it should be."""
        kinds = {key: type(value) for key, value in got.items()}
        return [] if kinds == want else [f"{kinds}, want {want}"]

    def case_both_are_timed_and_agree(self):
        outcome = self.against(self.onnx, "--json", "--threads", "1")
        wrong = outcome.complaints(0, "")
        if wrong:
            return wrong
        told = json.loads(outcome.out)
        wrong += self.wrong_shape(told, TIMES | {"against": dict})
        wrong += self.wrong_shape(told["against"], {"engine": str, "version": str, "model": str,
                                                    "median_ms": float})
        ratio = told["median_ms"] / told["against"]["median_ms"]
        # Medians of rounds on both sides: of three rounds the ratios may be of different ones.
        if not 0.2 < told["ratio"] / ratio < 5 or not told["control_ratio"] > 0:
            wrong.append(f"ratio {told['ratio']}, medians say {ratio}")
        if (told["rounds"], told["threads"]) != (3, 1):
            wrong.append(f"{told['rounds']} rounds, {told['threads']} threads")
        if [output["name"] for output in told["outputs"]] != ["y"] or \
                not told["outputs"][0]["relative_error"] < 1e-5:
            wrong.append(f"outputs {told['outputs']}")
        return wrong + (["a warning: " + outcome.err] if "differs" in outcome.err else [])

    def case_text_names_both_and_the_control(self):
        outcome = self.against(self.onnx)
        return outcome.complaints(0, "") + [
            f"no {word!r} in {outcome.out}" for word in
            ("ONNX Runtime 1.", self.bundle, "against itself", "3 rounds", "output y: max error")
            if word not in outcome.out]

    def case_other_weights_are_told(self):
        outcome = self.against(self.saved("weights", seed=1))
        return outcome.complaints(0, "") + (
            [] if "output y differs by" in outcome.err else ["no warning: " + outcome.err])

    def case_inputs_may_be_given(self):
        ones, long = self.path("ones.npy"), self.path("long.npy")
        np.save(ones, np.ones((4, 64), np.float32))
        np.save(long, np.ones((4, 65), np.float32))
        return (self.against(self.onnx, "--input", ones).complaints(0, "")
                + self.against(self.onnx, "--input", long).complaints(EX_DATAERR, "B0404", "x", long))

    def case_an_input_that_the_bundle_has_fixed_is_told(self):
        graph = helper.make_graph(
            [helper.make_node("Cast", ["factor"], ["f"], to=TensorProto.FLOAT),
             helper.make_node("Mul", ["x", "f"], ["y"])], "scaled",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
             helper.make_tensor_value_info("factor", TensorProto.INT64, [1])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])])
        source, bundle = self.path("fixed.onnx"), self.path("fixed.bundle")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                  source)
        wrong = self.tuner("compile", "--model", source, "--value", "factor=3", "--db",
                           self.path("none.db"), "--out", bundle).complaints(0, "")
        line = ("bench", bundle, "--against", "onnxruntime", "--model", source, *SHORT, "--python",
                sys.executable)
        same = self.tuner(*line, "--value", "factor=3", "--json")
        wrong += same.complaints(0, "")
        if not wrong and json.loads(same.out)["outputs"][0]["relative_error"] > 1e-6:
            wrong.append("other outputs: " + same.out)
        other = self.tuner(*line, "--value", "factor=4")
        wrong += other.complaints(0, "")
        if "output y differs" not in other.err:
            wrong.append("another value is not noticed: " + other.err)
        wrong += self.tuner(*line).complaints(EX_DATAERR, "B0404", "factor")
        wrong += self.tuner(*line, "--value", "factor=1,2").complaints(EX_DATAERR, "B0404", "factor")
        wrong += self.tuner(*line, "--value", "factor=3", "--value", "other=1").complaints(
            EX_DATAERR, "B0404", "other")
        # It is no input of the bundle, which alone says so.
        wrong += self.tuner("bench", bundle, "--value", "factor=3").complaints(EX_USAGE, "B0405", "fixed")
        return wrong + self.tuner("run", bundle, "--value", "factor=3").complaints(
            EX_USAGE, "B0405", "fixed")

    def case_values_of_inputs_may_stand_in_the_command_line(self):
        """x is told a value for each element; loops that a run decides have a limit."""
        body = helper.make_graph(
            [helper.make_node("Sub", ["v", "one"], ["w"]), helper.make_node("Greater", ["w", "zero"], ["go"])],
            "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []),
                     helper.make_tensor_value_info("c", TensorProto.BOOL, []),
                     helper.make_tensor_value_info("v", TensorProto.INT64, [])],
            [helper.make_tensor_value_info("go", TensorProto.BOOL, []),
             helper.make_tensor_value_info("w", TensorProto.INT64, [])],
            [numpy_helper.from_array(np.array(1), "one"), numpy_helper.from_array(np.array(0), "zero")])
        graph = helper.make_graph(
            [helper.make_node("Loop", ["", "yes", "n"], ["left"], body=body, name="counts")], "count",
            [helper.make_tensor_value_info("n", TensorProto.INT64, [])],
            [helper.make_tensor_value_info("left", TensorProto.INT64, [])],
            [numpy_helper.from_array(np.array(True), "yes")])
        source, bundle, zero = self.path("loop.onnx"), self.path("loop.bundle"), self.path("zero.npy")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                  source)
        np.save(zero, np.array(0))
        wrong = self.tuner("compile", "--model", source, "--db", self.path("none.db"), "--out",
                           bundle).complaints(0, "")
        wrong += self.tuner("run", bundle, "--value", "n=9", "--compare", zero).complaints(0, "")
        wrong += self.tuner("run", bundle, "--value", "n=9", "--loop-limit", "9").complaints(0, "")
        limited = (EX_DATAERR, "B0406", "goes on after 8 iterations", "--loop-limit")
        for command in ("run", "bench"):
            wrong += self.tuner(command, bundle, "--value", "n=9", "--loop-limit", "8").complaints(*limited)
            for value, code, number in (("n=x", EX_DATAERR, "B0404"), ("n=1,2", EX_DATAERR, "B0404"),
                                        ("m=1", EX_USAGE, "B0405"), ("n", EX_USAGE, "B0101"),
                                        ("n=", EX_USAGE, "B0101"), ("=1", EX_USAGE, "B0101"),
                                        ("n=99999999999999999999", EX_DATAERR, "B0404")):
                wrong += self.tuner(command, bundle, "--value", value).complaints(code, number, value)
            wrong += self.tuner(command, bundle, "--value", "n=1", "--value", "n=2").complaints(
                EX_USAGE, "B0101", "twice")
            wrong += self.tuner(command, bundle, "--value", "n=1", "--input", f"n={zero}").complaints(
                EX_USAGE, "B0101", "--input and a --value")
        return wrong

    def case_one_bundle_of_many_sizes(self):
        """Inputs say the sizes, or --size does; what does not fit is told by name."""
        graph = helper.make_graph(
            [helper.make_node("Add", ["x", "y"], ["z"])], "sized",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "seq"]) for name in "xy"],
            [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["batch", "seq"])])
        source, bundle = self.path("sized.onnx"), self.path("sized.bundle")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                  source)
        build = ("compile", "--model", source, "--db", self.path("none.db"), "--out", bundle)
        wrong = self.tuner(*build, "--dim", "batch=1..3,seq=2..9").complaints(0, "")
        arrays = {}
        for rows, columns in ((1, 2), (3, 9), (2, 5), (2, 10), (4, 5)):
            path = arrays[rows, columns] = self.path(f"a{rows}_{columns}.npy")
            np.save(path, np.full((rows, columns), 2, np.float32))
            np.save(path[:-4] + "_twice.npy", np.full((rows, columns), 4, np.float32))
        for size in ((1, 2), (3, 9), (2, 5)):
            wrong += self.tuner("run", bundle, "--input", f"x={arrays[size]}", "--input",
                                f"y={arrays[size]}", "--compare",
                                arrays[size][:-4] + "_twice.npy").complaints(0, "")
        for x, y, words in (((2, 10), (2, 10), "dimension 1 (seq) is 10, want 2 to 9"),
                            ((4, 5), (4, 5), "dimension 0 (batch) is 4, want 1 to 3"),
                            ((2, 5), (1, 2), "but that of input")):
            wrong += self.tuner("run", bundle, "--input", f"x={arrays[x]}", "--input",
                                f"y={arrays[y]}").complaints(EX_DATAERR, "B0404", words)
        info = self.tuner("run", bundle, "--info")
        wrong += [] if "batch 1..3, seq 2..9" in info.out else [info.out]
        wrong += self.tuner("bench", bundle, "--size", "batch=2,seq=3", "--seconds", "0.1").complaints(0, "")
        for size, words in (("seq=10", "want 2 to 9"), ("length=3", "no size of this name")):
            wrong += self.tuner("bench", bundle, "--size", size).complaints(EX_USAGE, "B0101", words)
        for dims, code, number, words in (
                ("batch=1..3", EX_DATAERR, "B0303", "--dim seq"),
                ("batch=1..3,seq=9..2", EX_USAGE, "B0307", "lower end"),
                ("batch=1..3,seq=2..9,length=1..2", EX_USAGE, "B0307", "batch, seq"),
                ("batch", EX_USAGE, "B0101", "--dim")):
            wrong += self.tuner(*build, "--dim", dims).complaints(code, number, words)
        other = self.path("fixed_size.bundle")
        wrong += self.tuner("compile", "--model", source, "--db", self.path("none.db"), "--dim",
                            "batch=2,seq=5", "--out", other).complaints(0, "")
        wrong += self.tuner("compare", bundle, other, "--size", "batch=2,seq=5", *SHORT).complaints(0, "")
        return wrong + self.tuner("compare", bundle, other, "--size", "batch=1,seq=5",
                                  *SHORT).complaints(EX_DATAERR, "B0404", "input x")

    def case_sessions_side_by_side(self):
        outcome = self.tuner("bench", self.bundle, "--sessions", "3", "--threads", "1", "--seconds", "0.2",
                             "--json")
        wrong = outcome.complaints(0, "")
        if wrong:
            return wrong
        told = json.loads(outcome.out)
        # Of three at once, each of which takes mean_ms for a run; some CPUs are others' as well.
        most = 3 * 1000 / told["mean_ms"]
        if (told["sessions"], told["threads"]) != (3, 1) or not 0 < told["runs_per_second"] <= 1.5 * most:
            wrong.append(f"{told}, at most {most:.0f} runs a second")
        if not told["min_ms"] <= told["median_ms"] <= told["p90_ms"] <= told["p99_ms"]:
            wrong.append(f"{told}")
        text = self.tuner("bench", self.bundle, "--sessions", "2", "--seconds", "0.1")
        wrong += text.complaints(0, "") + ([] if "runs/s" in text.out else [text.out])
        for flags in (("--profile",), ("--against", "onnxruntime", "--model", self.onnx)):
            wrong += self.tuner("bench", self.bundle, "--sessions", "2", *flags).complaints(
                EX_USAGE, "B0101", "--sessions")
        return wrong + self.tuner("bench", self.bundle, "--sessions", "0").complaints(EX_USAGE, "B0101")

    def case_cpus_are_those_named(self):
        """The bundle was compiled for all CPUs; on one it has one thread, and so has ONNX Runtime."""
        usable = sorted(os.sched_getaffinity(0))
        cpu = str(usable[-1])
        image = self.path("ones64.npy")
        np.save(image, np.ones((4, 64), np.float32))
        outcome = self.against(self.onnx, "--json", "--cpus", cpu)
        wrong = outcome.complaints(0, "")
        if not wrong and json.loads(outcome.out)["threads"] != 1:
            wrong.append(outcome.out)
        lines = {"bench": (self.bundle, "--seconds", "0.05"), "run": (self.bundle, "--input", image),
                 "compare": (self.bundle, self.bundle, "--seconds", "0.05", "--rounds", "1"),
                 "compile": ("--model", self.onnx, "--db", self.path("none.db"), "--out",
                             self.path("cpus.bundle"))}
        for command, line in lines.items():
            wrong += self.tuner(command, *line, "--cpus", cpu).complaints(0, "")
            for cpus in ("1023", "x", f"{cpu},{cpu}", "5-3", ","):
                wrong += self.tuner(command, *line, "--cpus", cpus).complaints(EX_USAGE, "B0101", "--cpus")
        wrong += self.tuner("bench", self.bundle, "--cpus", "1023").complaints(
            EX_USAGE, "B0101", "CPU 1023", f"may use {usable[0]}")
        told = self.tuner("run", self.path("cpus.bundle"), "--info", "--json")
        wrong += told.complaints(0, "")
        if not wrong and json.loads(told.out)["threads"] != 1:
            wrong.append(told.out)
        return wrong + self.tuner("bench", self.bundle, "--cpus", cpu, "--threads", "2").complaints(
            EX_USAGE, "B0101", "2 threads and 1 CPUs")

    def case_other_models_are_refused(self):
        broken = self.path("broken.onnx")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("no model")
        wrong = self.against(self.saved("name", name="z")).complaints(EX_DATAERR, "B0404", "are z", "x")
        wrong += self.against(self.saved("wide", width=65)).complaints(EX_DATAERR, "B0404", "wide.onnx")
        wrong += self.against(broken).complaints(EX_DATAERR, "B0301", broken)
        return wrong + self.against(self.path("none.onnx")).complaints(EX_NOINPUT, "B0201", "none.onnx")

    def case_python_without_onnxruntime_says_what_to_install(self):
        bare = self.path("bare-python")
        with open(bare, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
        os.chmod(bare, 0o755)
        wrong = []
        for python in (bare, "no-such-python"):
            outcome = self.against(self.onnx, python=python)
            wrong += outcome.complaints(EX_UNAVAILABLE, "B0906", "pip install onnxruntime", "--python")
        return wrong

    def case_other_engines_are_timed_or_say_what_to_install(self):
        wrong = []
        for engine, name in (("openvino", "OpenVINO "), ("torch", "PyTorch ")):
            outcome = self.tuner("bench", self.bundle, "--against", engine, "--model", self.onnx, *SHORT,
                                 "--python", sys.executable)
            imported = subprocess.run([sys.executable, "-c", f"import {engine}"], capture_output=True, check=False)
            if imported.returncode != 0:
                wrong += outcome.complaints(EX_UNAVAILABLE, "B0906", f"pip install {engine}", "--python")
            elif engine == "torch":  # Of an ONNX file.
                wrong += outcome.complaints(EX_DATAERR, "B0301", "torch.export.save")
            else:
                wrong += outcome.complaints(0, "") + [
                    f"no {word!r} in {outcome.out}" for word in (name, "output y: max error") if word not in outcome.out]
        return wrong + self.tuner("bench", self.bundle, "--against", "tvm", "--model", self.onnx).complaints(
            EX_USAGE, "B0101", "onnxruntime", "openvino", "torch")

    def case_python_may_be_a_setting(self):
        line = ("bench", self.bundle, "--against", "onnxruntime", "--model", self.onnx, *SHORT)
        return self.tuner(*line, environment={"BURNISH_PYTHON": sys.executable}).complaints(0, "")

    def case_onnxruntime_is_stopped_while_the_bundle_runs(self):
        python, about = self.path("python"), self.path("python.pid")
        with open(python, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho $$ > {about}\nexec {sys.executable} "$@"\n')
        os.chmod(python, 0o755)
        states, ended = [], threading.Event()

        def look():
            while not ended.wait(0.002):
                try:
                    with open(about, encoding="utf-8") as file:
                        process = int(file.read())
                    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
                        states.append(file.read().rpartition(") ")[2][0])
                except (OSError, ValueError):
                    pass  # Not yet, or no more.

        looker = threading.Thread(target=look)
        looker.start()
        outcome = self.against(self.onnx, python=python)
        ended.set()
        looker.join()
        # Two turns of three are the bundle's; T: stopped.
        return outcome.complaints(0, "") + ([] if "T" in states else [f"never stopped: {states}"])

    def case_two_bundles_are_timed_and_their_steps_listed(self):
        other, _ = self.compiled("other", seed=1)
        outcome = self.tuner("compare", self.bundle, other, *SHORT, "--json")
        wrong = outcome.complaints(0, "")
        if wrong:
            return wrong
        told = json.loads(outcome.out)
        wrong += self.wrong_shape(told, TIMES | {"against": dict, "steps": list})
        wrong += self.wrong_shape(told["against"], {"engine": str, "bundle": str, "median_ms": float})
        for step in told["steps"]:
            wrong += self.wrong_shape(step, {"name": str, "first": dict, "second": dict})
            wrong += self.wrong_shape(step["first"], {"schedule": str, "time_us": float})
        if not told["steps"] or "output y differs by" not in outcome.err:
            wrong.append(f"{told['steps']}, {outcome.err}")
        text = self.tuner("compare", self.bundle, self.bundle, *SHORT)
        return wrong + text.complaints(0, "") + [
            f"no {word!r} in {text.out}" for word in ("against itself", "max error 0 ", "default")
            if word not in text.out]

    def case_outputs_have_the_shape_of_the_run(self):
        """Places of what is above 0: as many as there are, written, compared and timed."""
        graph = helper.make_graph(
            [helper.make_node("Relu", ["x"], ["h"]), helper.make_node("NonZero", ["h"], ["y"])], "places",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 5])],
            [helper.make_tensor_value_info("y", TensorProto.INT64, [2, "n"])])
        source, bundle = self.path("places.onnx"), self.path("places.bundle")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), source)
        wrong = self.tuner("compile", "--model", source, "--db", self.path("none.db"), "--out",
                           bundle).complaints(0, "")
        x = np.random.default_rng(3).standard_normal((3, 5), np.float32)
        want, got = np.array(np.nonzero(x > 0)), self.path("got.npy")
        np.save(self.path("x.npy"), x)
        np.save(self.path("want.npy"), want)
        np.save(self.path("fewer.npy"), want[:, 1:])
        run = ("run", bundle, "--input", self.path("x.npy"), "--compare")
        outcome = self.tuner(*run, self.path("want.npy"), "--output", got, "--json")
        wrong += outcome.complaints(0, "")
        if not np.array_equal(np.load(got), want):
            wrong.append(f"got {np.load(got)}, want {want}")
        if json.loads(outcome.out)["outputs"][0]["shape"] != list(want.shape):
            wrong.append(outcome.out)
        wrong += self.tuner(*run, self.path("fewer.npy")).complaints(EX_DATAERR, "B0404")
        beside = self.tuner("bench", bundle, "--against", "onnxruntime", "--model", source, *SHORT,
                            "--python", sys.executable, "--json")
        wrong += beside.complaints(0, "")
        if json.loads(beside.out)["outputs"][0]["absolute_error"] != 0:
            wrong.append(beside.out)
        return wrong + self.tuner("compare", bundle, bundle, *SHORT).complaints(0, "")

    def case_bundles_of_other_models_are_not_compared(self):
        other, _ = self.compiled("z", name="z")
        wrong = self.tuner("compare", self.bundle, other).complaints(EX_DATAERR, "B0404", "z f32[4,64]")
        none = self.path("none.bundle")
        return wrong + self.tuner("compare", self.bundle, none).complaints(EX_NOINPUT, "B0201", none)

    def case_two_studies_side_by_side(self):
        database = ("--db", self.path("studies.db"))
        task = ("--task", "matmul:m=96,n=96,k=96")
        short, long = (self.tuner("submit", *task, "--trials", trials, *database).study()
                       for trials in ("2", "12"))
        outcome = self.tuner("compare", short, long, *database, "--json")
        wrong = outcome.complaints(0, "")
        if wrong:
            return wrong
        told = json.loads(outcome.out)
        wrong += self.wrong_shape(told, {"schema": int, "first": dict, "second": dict, "ratio": float,
                                         "tasks": list})
        (found,) = told["tasks"]
        wrong += self.wrong_shape(found, {"name": str, "weight": float, "ratio": float, "first": dict,
                                          "second": dict})
        sides = found["first"], found["second"]
        for side in sides:
            wrong += self.wrong_shape(side, {"best_ms": float, "trials": int, "trials_to_reach": int})
            if not 1 <= side["trials_to_reach"] <= side["trials"]:
                wrong.append(f"{side}")
        if [side["trials"] for side in sides] != [2, 12]:
            wrong.append(f"trials of {sides}")
        if abs(sides[0]["best_ms"] / sides[1]["best_ms"] - found["ratio"]) > 1e-6:
            wrong.append(f"ratio {found['ratio']} of {sides}")
        text = self.tuner("compare", short, long, *database)
        wrong += text.complaints(0, "") + [f"no {word!r} in {text.out}" for word in (short, long, "matmul")
                                           if word not in text.out]
        return wrong + self.tuner("compare", short, "nobody", *database).complaints(
            EX_NOINPUT, "B0601", "nobody")

    def case_study_that_is_done_goes_on(self):
        database = ("--db", self.path("more.db"))
        study = self.tuner("submit", "--task", "matmul:m=96,n=96,k=96", "--trials", "4",
                           *database).study()

        def now():
            status = json.loads(self.tuner("status", study, *database, "--json").out)
            return status["state"], status["trials"], status["trials_max"]

        wrong = self.tuner("resume", study, *database).complaints(EX_DATAERR, "B0602", "--trials +100")
        for trials, want in (("+3", 7), ("9", 9)):
            wrong += self.tuner("resume", study, "--trials", trials, *database).complaints(0, "")
            if now() != ("done", want, want):
                wrong.append(f"after {trials}: {now()}, want {want} trials")
        for trials in ("9", "0", "+0", "-1", "many"):
            wrong += self.tuner("resume", study, f"--trials={trials}", *database).complaints(
                EX_USAGE, "B0101", "--trials")
        return wrong + ([] if now() == ("done", 9, 9) else [f"changed: {now()}"])

    def case_daemons_study_that_is_done_goes_on(self):
        server = ("--server", f"unix:{self.path('s')}")
        with self.programs.daemon(self.programs.tuner, "serve", "--listen", server[1], "--db",
                                  self.path("serve.db")):
            submitted = self.tuner("submit", "--task", "matmul:m=96,n=96,k=96", "--trials", "3", *server)
            wrong = submitted.complaints(0, "")
            resume = ("resume", submitted.study(), *server)
            wrong += self.tuner(*resume).complaints(EX_DATAERR, "B0602", "--trials +100")
            wrong += self.tuner(*resume, "--trials", "+2").complaints(0, "")
            wrong += self.tuner(*resume, "--trials", "5").complaints(EX_USAGE, "B0101", "has had 5")
            status = json.loads(self.tuner("status", submitted.study(), *server, "--json").out)
        return wrong + ([] if (status["state"], status["trials"]) == ("done", 5) else [f"{status}"])

    def case_half_of_the_flags_is_a_usage_error(self):
        return [line for flags in (("--against", "onnxruntime"), ("--model", self.onnx),
                                   ("--against", "onnxruntime", "--model", self.onnx, "--profile"),
                                   ("--against", "tensorrt", "--model", self.onnx))
                for line in self.tuner("bench", self.bundle, *flags).complaints(EX_USAGE, "B0101")]


if __name__ == "__main__":
    sys.exit(run_cases("against", sys.argv[1], sys.argv[2:], Cases))
