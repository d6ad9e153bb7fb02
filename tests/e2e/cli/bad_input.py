"""Bad input to the built `tuner`: exit code, number and hint of each error, and nothing lost.

usage: bad_input.py TUNER [CASE...]
"""

import hashlib
import json
import os
import sqlite3
import struct
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from harness import dump, run_cases

EX_USAGE, EX_DATAERR, EX_NOINPUT, EX_UNAVAILABLE = 64, 65, 66, 69
EX_IOERR, EX_TEMPFAIL, EX_CONFIG = 74, 75, 78


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, "test", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def small_model():
    weights = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", [2, 64])],
                 [value("y", [2, 64])], [weights])


def for_a_cpu_that_none_is(path):
    """The bundle with one of its features renamed, so that no machine has it, and its hashes set
    right again: every feature of a real target is on some machine. The layout is that of
    compiler/runtime/section_file.h; section 0 is the manifest and smaller than a digest's chunk."""
    with open(path, "rb") as file:
        content = bytearray(file.read())
    entry, entry_bytes = 24, 56
    offset, size = struct.unpack_from("<QQ", content, entry + 8)
    manifest = bytes(content[offset:offset + size]).replace(b"sse4.2", b"sse9.9")
    content[offset:offset + size] = manifest
    content[entry + 24:entry + entry_bytes] = sha256(sha256(manifest))
    table_end = entry + entry_bytes * struct.unpack_from("<I", content, 12)[0]
    content[table_end:table_end + 32] = sha256(content[:table_end])
    return bytes(content)


def sha256(content):
    return hashlib.sha256(content).digest()


class Cases:
    """Each method that is named `case_` is one, and returns what is wrong."""

    def __init__(self, programs, folder):
        self.programs = programs
        self.folder = folder
        self.tuner = programs.run
        self.bundle = self.path("good.bundle")
        self.good = self.write("good.onnx", small_model().SerializeToString())
        outcome = self.tuner("compile", "--model", self.good, "--db", self.path("compile.db"),
                             "--out", self.bundle)
        assert outcome.code == 0, outcome.err

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def refused_model(self, content, code, error, *texts, flags=()):
        """By `submit` and by `compile`, before a database or a bundle is made."""
        path = content if isinstance(content, str) else self.write("bad.onnx", content)
        database, bundle = self.path("untouched.db"), self.path("untouched.bundle")
        wrong = []
        for command in ("submit", "compile"):
            outcome = self.tuner(command, "--model", path, "--db", database, "--out", bundle,
                                 *flags)
            wrong += outcome.complaints(code, error, *texts)
        wrong += [f"{made} was made" for made in (database, bundle) if os.path.exists(made)]
        return wrong

    # ---- Models

    def case_model_that_is_cut_off(self):
        content = small_model().SerializeToString()
        wrong = []
        for share in (0.1, 0.5, 0.9):
            wrong += self.refused_model(content[:int(len(content) * share)], EX_DATAERR, "B0301")
        return wrong

    def case_model_that_is_none(self):
        wrong = self.refused_model(b"", EX_DATAERR, "B0301")
        wrong += self.refused_model(b"#!/bin/sh\nexit 0\n", EX_DATAERR, "B0301")
        wrong += self.refused_model(os.urandom(4096), EX_DATAERR, "B0301")
        wrong += self.refused_model(self.path("nowhere.onnx"), EX_NOINPUT, "B0201")
        return wrong + self.refused_model(self.folder, EX_NOINPUT, "B0201")

    def case_model_of_another_framework_names_its_export(self):
        wrong = []
        for name, export in (("x.pt", "torch.onnx.export"), ("x.pth", "torch.onnx.export"),
                             ("x.safetensors", "optimum-cli export onnx"),
                             ("x.tflite", "tf2onnx.convert --tflite"), ("x.h5", "format='onnx'")):
            path = self.path(name)
            with open(path, "wb") as file:
                file.write(b"PK\3\4")
            for line in (("compile", "--out", self.path("x.bundle")), ("submit", "--trials", "1"),
                         ("quantize", "--method", "weights", "--out", self.path("x.onnx"))):
                outcome = self.tuner(*line, "--model", path)
                wrong += outcome.complaints(EX_DATAERR, "B0301", export)
        return wrong

    def case_model_that_claims_to_be_huge(self):
        wrong = []
        for dims in ([1 << 40], [1 << 32, 1 << 32], [(1 << 63) - 1, 4], [-1]):
            claim = TensorProto(name="w", dims=dims, data_type=TensorProto.FLOAT, raw_data=b"1234")
            content = model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [1])],
                            [value("y", [1])], [claim]).SerializeToString()
            wrong += self.refused_model(content, EX_DATAERR,
                                        "B0301" if dims == [-1] else "B0304")
        content = model([helper.make_node("Relu", ["x"], ["y"])], [value("x", [1 << 31, 1 << 31])],
                        [value("y", [1 << 31, 1 << 31])]).SerializeToString()
        wrong += self.refused_model(content, EX_DATAERR, "B0304")
        # A field of 2 GiB that is not there.
        return wrong + self.refused_model(b"\x3a\xff\xff\xff\xff\x07", EX_DATAERR, "B0301")

    def case_model_with_a_cycle(self):
        nodes = [helper.make_node("Add", ["x", "b"], ["a"], name="first"),
                 helper.make_node("Relu", ["a"], ["b"], name="second")]
        content = model(nodes, [value("x", [4])], [value("b", [4])]).SerializeToString()
        itself = model([helper.make_node("Relu", ["y"], ["y"], name="self")], [value("x", [4])],
                       [value("y", [4])]).SerializeToString()
        return (self.refused_model(content, EX_DATAERR, "B0301", "cycle") +
                self.refused_model(itself, EX_DATAERR, "B0301"))

    def case_model_whose_weights_are_another_file(self):
        secret = self.write("secret", b"\0" * 16)
        wrong = []
        inside = os.path.join(self.folder, "models")
        os.makedirs(os.path.join(inside, "x"), exist_ok=True)
        for location in (secret, "../secret", "x/../../secret"):
            weights = TensorProto(name="w", dims=[4], data_type=TensorProto.FLOAT,
                                  data_location=TensorProto.EXTERNAL)
            weights.external_data.add(key="location", value=location)
            content = model([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [4])],
                            [value("y", [4])], [weights]).SerializeToString()
            path = self.write("models/external.onnx", content)
            wrong += self.refused_model(path, EX_DATAERR, "B0301")
        return wrong

    def case_model_that_nests_deeply(self):
        graph = b""
        for _ in range(3000):  # Graph.node, Node.attribute, Attribute.g
            for tag in (0x32, 0x2a, 0x0a):
                graph = bytes([tag]) + varint(len(graph)) + graph
        content = b"\x08\x08\x3a" + varint(len(graph)) + graph  # Model.ir_version, Model.graph
        outcome = self.tuner("compile", "--model", self.write("deep.onnx", content), "--out",
                             self.path("untouched.bundle"), "--db", self.path("untouched.db"))
        return outcome.complaints(EX_DATAERR, "B0301")

    def case_model_with_an_operator_that_is_not_known(self):
        nodes = [helper.make_node("Frobnicate", ["x"], ["y"], name="mystery")]
        content = model(nodes, [value("x", [4])], [value("y", [4])]).SerializeToString()
        return self.refused_model(content, EX_DATAERR, "B0302", "mystery", "Frobnicate",
                                  "docs/operators.md")

    def case_all_operators_that_are_missing_are_named(self):
        nodes = [helper.make_node(f"Foo{max(i - 1, 0)}", ["x"], [f"y{i}"]) for i in range(20)]
        content = model(nodes, [value("x", [4])], [value("y0", [4])]).SerializeToString()
        path = self.write("missing.onnx", content)
        wrong = self.refused_model(path, EX_DATAERR, "B0302", "Foo0 (2 nodes, first 'y0')",
                                   "and 13 more")
        outcome = self.tuner("compile", "--model", path, "--json", "--out", self.path("no"))
        error = json.loads(outcome.err)["error"]
        if len(error["message"]) > 600:
            wrong.append(f"a message of {len(error['message'])} bytes")
        want = [{"name": f"Foo{i}", "count": 2 if i == 0 else 1} for i in range(19)]
        return wrong + ([] if error.get("operators") == want else [str(error)])

    def case_names_with_control_characters_do_not_reach_the_terminal(self):
        nodes = [helper.make_node("Frob\x1b[2J", ["x"], ["y"], name="\x1b]0;title\x07")]
        content = model(nodes, [value("x", [4])], [value("y", [4])]).SerializeToString()
        return self.refused_model(content, EX_DATAERR, "B0302")

    def case_dimension_that_is_not_fixed(self):
        content = model([helper.make_node("Relu", ["pixels"], ["y"])],
                        [value("pixels", ["batch", 4])],
                        [value("y", ["batch", 4])]).SerializeToString()
        wrong = self.refused_model(content, EX_DATAERR, "B0303", "pixels", "--shape")
        for shape in ("pixels=-1x4", "pixels", "pixels=ax4"):
            wrong += self.refused_model(content, EX_USAGE, "B0101", flags=("--shape", shape))
        # Nothing is a shape; there is just nothing to tune.
        wrong += self.tuner("submit", "--model", self.write("bad.onnx", content), "--db", self.path("untouched.db"),
                            "--shape", "pixels=0x4").complaints(EX_USAGE, "B0101", "nothing to tune", "tuner compile")
        wrong += self.refused_model(content, EX_USAGE, "B0307", "nothing", "inputs are: pixels",
                                    flags=("--shape", "nothing=1x4"))
        for shape in ("1x5", "1x4x1"):
            wrong += self.refused_model(content, EX_USAGE, "B0307", "the model has batchx4", shape,
                                        flags=("--shape", f"pixels={shape}"))
        return wrong

    def case_inputs_that_shapes_depend_on(self):
        path = self.write("reshape.onnx", model(
            [helper.make_node("Reshape", ["x", "shape"], ["y"])],
            [value("x", [2, 3]), value("shape", ["n"], TensorProto.INT64)],
            [value("y", ["a", "b"])]).SerializeToString())
        wrong = self.refused_model(path, EX_DATAERR, "B0303", "shape",
                                   flags=("--shape", "shape=2"))
        wrong += self.refused_model(path, EX_USAGE, "B0307", "i64",
                                    flags=("--value", "shape=3,two"))
        wrong += self.refused_model(path, EX_USAGE, "B0307", "inputs are: x, shape",
                                    flags=("--value", "nothing=1"))
        wrong += self.refused_model(path, EX_USAGE, "B0101", flags=("--value", "shape"))
        bundle, output = self.path("reshape.bundle"), self.path("reshape.npy")
        wrong += self.tuner("compile", "--model", path, "--value", "shape=3,-1", "--db",
                            self.path("compile.db"), "--out", bundle).complaints(0, "")
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        wrong += self.tuner("run", bundle, "--input", self.save("x23.npy", x), "--output",
                            output).complaints(0, "")
        return wrong if wrong or np.array_equal(np.load(output), x.reshape(3, 2)) else ["reshaped"]

    def case_products_of_integers(self):
        def product(operator, **attributes):
            weights = numpy_helper.from_array(np.arange(12, dtype=np.int32).reshape(3, 4), "w")
            return self.write(f"{operator}.onnx", model(
                [helper.make_node(operator, ["x", "w"], ["y"], **attributes)], [value("x", [2, 3], 6)],
                [value("y", [2, 4], 6)], [weights]).SerializeToString())
        # A half of an integer: nobody says how it rounds.
        wrong = self.refused_model(product("Gemm", alpha=0.5), EX_DATAERR, "B0302", "(Gemm)", "alpha")
        bundle, output = self.path("integers.bundle"), self.path("integers.npy")
        x = np.arange(-3, 3, dtype=np.int32).reshape(2, 3)
        want = x @ np.arange(12, dtype=np.int32).reshape(3, 4)
        for operator in ("MatMul", "Gemm"):
            wrong += self.tuner("compile", "--model", product(operator), "--db",
                                self.path("compile.db"), "--out", bundle).complaints(0, "")
            wrong += self.tuner("run", bundle, "--input", self.save("xi.npy", x), "--output",
                                output).complaints(0, "")
            if not wrong and (np.load(output) != want).any():
                wrong.append(f"wrong {operator}")
        return wrong

    def case_examples_that_do_not_fit(self):
        folder, narrow = self.path("examples"), ("--precision", "bf16", "--data")
        os.makedirs(folder, exist_ok=True)
        good = np.ones((3, 2, 64), np.float32)
        wrong = self.refused_model(self.good, EX_NOINPUT, "B0201",
                                   flags=(*narrow, self.path("nowhere")))
        wrong += self.refused_model(self.good, EX_DATAERR, "B0408", flags=(*narrow, folder))
        for array, code, error, *texts in (
                (good[..., :63], EX_DATAERR, "B0404", "63"),
                (good.astype(np.float64), EX_DATAERR, "B0404", "f64"),
                (np.full_like(good, np.nan), EX_DATAERR, "B0408")):
            np.save(os.path.join(folder, "x.npy"), array)
            wrong += self.refused_model(self.good, code, error, *texts, flags=(*narrow, folder))
        with open(os.path.join(folder, "x.npy"), "wb") as file:
            file.write(b"no array")
        wrong += self.refused_model(self.good, EX_DATAERR, "B0202", flags=(*narrow, folder))
        return wrong

    def case_precisions_that_do_not_go_together(self):
        wrong = []
        for command in ("submit", "compile"):
            wrong += self.tuner(command, "--model", self.good, "--db", self.path("untouched.db"),
                                "--out", self.path("untouched.bundle"), "--precision",
                                "int8").complaints(EX_USAGE, "B0101", "--data")
        wrong += self.refused_model(self.good, EX_USAGE, "B0101", "strict",
                                    flags=("--precision", "bf16", "--accuracy", "strict"))
        return wrong + self.refused_model(self.good, EX_USAGE, "B0101", "f8",
                                          flags=("--precision", "f8"))

    def case_targets_of_later_versions(self):
        wrong = []
        for target in ("cuda:arch=sm90", "opencl:device=0"):
            outcome = self.tuner("compile", "--task", "softmax:m=2,n=8", "--target", target, "--db",
                                 self.path("untouched.db"), "--out", self.path("untouched.bundle"))
            wrong += outcome.complaints(EX_UNAVAILABLE, "B0104", target)
        outcome = self.tuner("compile", "--task", "softmax:m=2,n=8", "--target", "cpu:arch=vax",
                             "--out", self.path("untouched.bundle"))
        return wrong + outcome.complaints(EX_USAGE, "B0103", "vax")

    def case_tasks_that_are_none(self):
        wrong = self.tuner("submit", "--task", "resnet51").complaints(EX_USAGE, "B0305", "resnet50")
        wrong += self.tuner("submit", "--task", "conv2d:h=-1").complaints(EX_USAGE, "B0306")
        wrong += self.tuner("submit").complaints(EX_USAGE, "B0101", "--task")
        return wrong

    def case_typing_errors(self):
        wrong = self.tuner("submt").complaints(EX_USAGE, "B0101", '"submt"', "did you mean submit?")
        wrong += self.tuner("submt", "--task", "x", "--json").complaints(
            EX_USAGE, "B0101", "submt", "did you mean submit?")
        wrong += self.tuner("frobnicate").complaints(EX_USAGE, "B0101", '"frobnicate"')
        wrong += self.tuner("list", "--sate", "done").complaints(EX_USAGE, "B0101", "--sate",
                                                                "did you mean --state?")
        wrong += self.tuner("list", "--limit=x").complaints(EX_USAGE, "B0101")
        bare = self.tuner()
        wrong += bare.complaints(EX_USAGE, "B0101", "Subcommands:", "submit", "no command")
        wrong += self.tuner("--json").complaints(EX_USAGE, "B0101")
        return wrong + ([] if bare.out == "" else ["help on stdout, which has data"])

    def case_options_that_would_do_nothing(self):
        """Each names the option; the first two also where no parser sees it, as from Python."""
        out = ("--out", self.path("untouched.bundle"), "--db", self.path("untouched.db"))
        operator = ("--task", "dense:k=8,m=8")
        wrong = []
        for line in (("compile", *operator, "--batch", "2", *out),
                     ("compile", *operator, "--shape", "input=2x8", *out),
                     ("compile", "--task", "resnet18", "--batch", "2", "--shape", "input=1x3x32x32", *out)):
            wrong += self.tuner(*line).complaints(EX_USAGE, "B0101", "batch", "shape")
        model = ("--model", self.good)
        for command, flag, *line in (
                ("submit", "--batch", *model, "--batch", "2"),
                ("compile", "--batch", *model, "--batch", "1", *out),
                ("quantize", "--batch", *model, "--batch", "2", *out[:2]),
                ("submit", "--until-gain", *operator, "--trials", "8", "--until-gain", "1%"),
                ("submit", "--strategy", *operator, "--scheduler", "default", "--strategy", "random"),
                ("submit", "--cost-model", *operator, "--strategy", "random", "--cost-model", "analytic"),
                ("compile", "--precision", "--study", "some", "--precision", "bf16", *out),
                ("compile", "--opt-level", *operator, "--emit", "onnx", "--opt-level", "0"),
                ("compile", "--refit", *operator, "--emit", "onnx", "--refit"),
                ("compile", "--data", *operator, "--emit", "sketches", "--data", "random"),
                ("quantize", "--group", *model, "--data", ".", "--group", "32", *out[:2]),
                ("quantize", "--percentile", *model, "--data", ".", "--percentile", "99.0", *out[:2]),
                ("quantize", "--examples", *model, "--method", "weights", "--examples", "50", *out[:2]),
                ("bench", "--rounds", self.bundle, "--rounds", "3"),
                ("run", "--tolerance", self.bundle, "--tolerance", "1")):
            wrong += self.tuner(command, *line).complaints(EX_USAGE, "B0101", flag, "does nothing here")
        return wrong

    def case_more_threads_than_there_are_cpus(self):
        count = len(os.sched_getaffinity(0)) + 1
        return self.tuner("submit", "--task", "dense:k=8,m=8", "--trials", "2", "--threads", str(count), "--db",
                          self.path("untouched.db")).complaints(
            EX_USAGE, "B0101", f"the target has {count} threads", f"--threads {count - 1}")

    def case_every_command_takes_a_log_level(self):
        wrong = []
        for command in self.programs.commands():
            if "--log-level" not in self.tuner(command, "--help").out:
                wrong.append(f"{command}: no --log-level")
        wrong += self.tuner("config", "show", "--log-level", "debug").complaints(0, "")
        return wrong + self.tuner("list", "--log-level", "loud").complaints(EX_CONFIG, "B0102",
                                                                          "loud", "--log-level")

    def case_errors_under_json_are_one_line_of_json(self):
        bundle = self.path("untouched.bundle")
        wrong = []
        for code, error, *arguments in (
                (EX_USAGE, "B0101", "sumbit", "--json"),
                (EX_USAGE, "B0101", "submit", "--json", "--trials", "many"),
                (EX_USAGE, "B0101", "list", "--limit", "0", "--json"),
                (EX_USAGE, "B0305", "compile", "--json", "--task", "resnet51", "--out", bundle),
                (EX_NOINPUT, "B0201", "bench", "--json", self.path("nowhere")),
                (EX_NOINPUT, "B0510", "status", "2001", "--json", "--db", self.path("compile.db")),
                (EX_DATAERR, "B0301", "submit", "--json", "--model", self.write("bad.onnx", b""))):
            wrong += self.tuner(*arguments).complaints(code, error)
        # An error of the settings, before there is a command.
        wrong += self.tuner("list", "--json", environment={"BURNISH_LOG_LEVEL": "loud"}).complaints(
            EX_CONFIG, "B0102")
        # A value that looks like the flag asks for nothing.
        text = self.tuner("bench", "--", "--json")
        return wrong + ([] if "error[B0201]" in text.err else [text.err])

    # ---- Bundles and arrays

    def save(self, name, array):
        np.save(self.path(name), array)
        return self.path(name)

    def case_arrays_that_do_not_fit(self):
        def run(*arguments):
            return self.tuner("run", *arguments, "--output", self.path("y.npy"))
        good = self.save("x.npy", np.zeros((2, 64), np.float32))
        wrong = run(self.bundle, "--input", self.save("s.npy", np.zeros((2, 65), np.float32))
                    ).complaints(EX_DATAERR, "B0404", "[2,65]", "[2,64]")
        wrong += run(self.bundle, "--input", self.save("d.npy", np.zeros((2, 64)))
                     ).complaints(EX_DATAERR, "B0404")
        wrong += run(self.bundle, "--input", f"z={good}").complaints(EX_USAGE, "B0405", "z")
        wrong += run(self.bundle).complaints(EX_USAGE, "B0101")
        wrong += run(self.bundle, "--input", self.path("none.npy")).complaints(EX_NOINPUT, "B0201")
        wrong += run(self.bundle, "--input", self.good).complaints(EX_DATAERR, "B0202")
        with open(good, "rb") as file:
            half = self.write("half.npy", file.read()[:300])
        wrong += run(self.bundle, "--input", half).complaints(EX_DATAERR, "B0202")
        if os.path.exists(self.path("y.npy")):
            wrong.append("an output was written")
        return wrong

    def case_outputs_that_are_not_as_expected(self):
        x, want = self.save("xc.npy", np.ones((2, 64), np.float32)), np.full((2, 64), 64, np.float32)
        want[1, 5] *= 1 + 1e-3
        run = ("run", self.bundle, "--input", x, "--compare", self.save("wc.npy", want))
        wrong = self.tuner(*run).complaints(EX_DATAERR, "B0407", "at [1,5]", "0.000999", "tolerance")
        near = self.tuner(*run, "--tolerance", "2e-3")
        wrong += near.complaints(0, "")
        if "y: max error" not in near.out:
            wrong.append(near.out)
        told = self.tuner(*run, "--json")
        wrong += told.complaints(EX_DATAERR, "B0407")
        compared = json.loads(told.out)["compared"][0]
        if compared["equal"] or compared["at"] != [1, 5] or compared["got"] != 64:
            wrong.append(str(compared))
        other = self.save("oc.npy", np.ones((2, 63), np.float32))
        wrong += self.tuner(*run[:4], "--compare", other).complaints(EX_DATAERR, "B0404", "[2,63]")
        return wrong + self.tuner(*run[:4], "--compare", self.path("none.npy")).complaints(
            EX_NOINPUT, "B0201")

    def case_bundles_that_are_none(self):
        with open(self.bundle, "rb") as file:
            content = file.read()
        damaged = bytearray(content)
        damaged[len(content) // 2] ^= 1
        wrong = []
        for command in ("run", "bench"):
            wrong += self.tuner(command, self.good).complaints(EX_DATAERR, "B0401")
            for name, bad in (("cut", content[:-100]), ("damaged", bytes(damaged))):
                wrong += self.tuner(command, self.write(name, bad)).complaints(EX_DATAERR, "B0402")
            wrong += self.tuner(command, self.path("nowhere")).complaints(EX_NOINPUT, "B0201")
        return wrong

    def case_bundle_for_another_cpu(self):
        path = self.write("other.bundle", for_a_cpu_that_none_is(self.bundle))
        return (self.tuner("bench", path).complaints(EX_UNAVAILABLE, "B0403", "sse9.9",
                                                     "--target host") +
                self.tuner("run", path).complaints(EX_UNAVAILABLE, "B0403", "sse9.9"))

    # ---- Databases

    def commands_on(self, database):
        return (self.tuner("list", "--db", database),
                self.tuner("submit", "--task", "softmax:m=2,n=8", "--trials", "0", "--db", database),
                self.tuner("compile", "--task", "softmax:m=2,n=8", "--db", database, "--out",
                           self.path("untouched.bundle")))

    def refused_database(self, path, code, error, *texts):
        with open(path, "rb") as file:
            before = file.read()
        wrong = []
        for outcome in self.commands_on(path):
            wrong += outcome.complaints(code, error, *texts)
        with open(path, "rb") as file:
            if file.read() != before:
                wrong.append("the file was changed")
        return wrong

    def case_database_that_is_none(self):
        wrong = self.refused_database(self.write("text.db", b"not a database\n" * 100), EX_DATAERR,
                                      "B0501", "text.db")
        other = self.path("other.db")
        with sqlite3.connect(other) as connection:
            connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.close()
        return wrong + self.refused_database(other, EX_DATAERR, "B0501", "other.db")

    def new_database(self, name):
        """A database with one study, and its path."""
        path = self.path(name)
        outcome = self.tuner("submit", "--task", "softmax:m=2,n=8", "--trials", "0", "--db", path)
        assert outcome.code == 0, outcome.err
        return path

    def case_database_of_a_newer_version(self):
        path = self.new_database("newer.db")
        connection = sqlite3.connect(path)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.commit()
        connection.close()
        before = dump(path)
        wrong = []
        for outcome in self.commands_on(path):
            wrong += outcome.complaints(EX_DATAERR, "B0502", str(version + 1))
        return wrong + ([] if dump(path) == before else ["the database was changed"])

    def case_database_that_another_process_holds(self):
        path = self.new_database("held.db")
        before = dump(path)
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        outcome = self.tuner("submit", "--task", "softmax:m=2,n=8", "--trials", "0", "--db", path)
        # Readers are let through.
        reader = self.tuner("list", "--db", path)
        holder.execute("ROLLBACK")
        holder.close()
        wrong = outcome.complaints(EX_TEMPFAIL, "B0503", path) + reader.complaints(0, "")
        return wrong + ([] if dump(path) == before else ["the database was changed"])

    def case_database_in_a_folder_that_is_made(self):
        path = self.path("new/folder/here.db")
        submit = ("submit", "--task", "softmax:m=2,n=8", "--trials", "0", "--db")
        wrong = self.tuner(*submit, path).complaints(0, "")
        if not os.path.exists(path):
            wrong.append("no database was made")
        # A file is in the way.
        return wrong + self.tuner(*submit, self.good + "/x/here.db").complaints(EX_NOINPUT, "B0508")

    def case_readers_make_no_database(self):
        path, wrong = self.path("absent/none.db"), []
        for arguments in (("list",), ("status",), ("query",), ("watch", "x"), ("cancel", "x"),
                          ("resume", "x"), ("retry", "x")):
            wrong += self.tuner(*arguments, "--db", path).complaints(EX_NOINPUT, "B0510", path,
                                                                     "tuner submit")
        wrong += self.tuner("compile", "--model", self.good, "--db", path, "--out",
                            self.path("plain.bundle")).complaints(0, "")
        doctor = self.tuner("doctor", "--db", path)
        if "not there yet" not in doctor.out:
            wrong.append(f"doctor: {doctor.out}")
        if os.path.exists(os.path.dirname(path)):
            wrong.append(f"a folder was made, with {os.listdir(os.path.dirname(path))}")
        empty = self.write("empty.db", b"")
        wrong += self.tuner("list", "--db", empty).complaints(EX_NOINPUT, "B0510", "is empty")
        return wrong + ([] if os.path.getsize(empty) == 0 else ["the empty file was filled"])

    def case_readers_leave_a_database_as_it_is(self):
        path = self.new_database("only.read.db")
        with open(path, "rb") as file:
            before = file.read()
        wrong = []
        for command in ("list", "status"):
            wrong += self.tuner(command, "--db", path).complaints(0, "")
        beside = [name for name in os.listdir(self.folder) if name.startswith("only.read.db-")]
        wrong += [f"left behind: {beside}"] if beside else []
        with open(path, "rb") as file:
            return wrong + ([] if file.read() == before else ["the file was changed"])

    def case_databases_of_later_versions(self):
        return self.tuner("list", "--db", "postgresql://localhost/x").complaints(EX_UNAVAILABLE,
                                                                                "B0509")

    def case_disk_that_is_full_for_the_database(self):
        path = self.new_database("full.db")
        before = dump(path)
        # The write-ahead log cannot grow: what a full disk does, with another number.
        outcome = self.tuner("submit", "--task", "resnet18", "--trials", "0", "--db", path,
                             file_bytes=4096)
        wrong = outcome.complaints(EX_IOERR, outcome.error if outcome.error in ("B0505", "B0507")
                                   else "B0505 or B0507", path)
        if dump(path) != before:
            wrong.append("the database was changed")
        return wrong + self.tuner("submit", "--task", "resnet18", "--trials", "0", "--db",
                                  path).complaints(0, "")

    def case_what_was_compiled_is_compiled_once(self):
        """Byte for byte the same bundle without a cache, with one, and with one that is damaged."""
        wrong, bundles, cache = [], [], self.path("cache")
        for folder in ("none", cache, cache, cache):
            out = self.path(f"cached{len(bundles)}.bundle")
            wrong += self.tuner("compile", "--model", self.good, "--db", self.path("compile.db"),
                                "--cache", folder, "--out", out).complaints(0, "")
            with open(out, "rb") as file:
                bundles.append(file.read())
            files = [entry.path for entry in os.scandir(cache)] if os.path.exists(cache) else []
            if len(bundles) == 2:
                before = {path: os.stat(path).st_ino for path in files}
                if len(files) < 2:
                    wrong.append(f"kept: {files}, not schedules and kernels")
            if len(bundles) == 3:
                if {path: os.stat(path).st_ino for path in files} != before:
                    wrong.append("what was kept was made again")
                for path in files:
                    with open(path, "r+b") as file:
                        file.truncate(os.path.getsize(path) // 2)
        if len(set(bundles)) != 1:
            wrong.append("the bundles differ")
        return wrong

    def case_disk_that_is_full_for_the_bundle(self):
        path = self.path("full.bundle")
        outcome = self.tuner("compile", "--model", self.good, "--db", self.path("compile.db"),
                             "--out", "/dev/full")
        wrong = outcome.complaints(EX_IOERR, "B0907", "/dev/full")
        with open(path, "wb") as file:
            file.write(b"before")
        outcome = self.tuner("compile", "--task", "dense:k=512,m=512", "--db",
                             self.path("compile.db"), "--out", path, file_bytes=256 << 10)
        wrong += outcome.complaints(EX_IOERR, "B0204", path)
        with open(path, "rb") as file:
            if file.read() != b"before":
                wrong.append("the old bundle is lost")
        left = [name for name in os.listdir(self.folder) if ".tmp-" in name]
        wrong += [f"left behind: {left}"] if left else []
        return wrong + self.tuner("compile", "--model", self.good, "--db", self.path("compile.db"),
                                  "--out", self.path("no/such/x")).complaints(EX_IOERR, "B0204")

    # ---- Studies, farms and daemons that are not there

    def case_studies_that_are_none(self):
        path = self.new_database("studies.db")
        wrong = []
        for command in ("status", "watch", "cancel", "resume"):
            wrong += self.tuner(command, "2001", "--db", path).complaints(EX_NOINPUT, "B0601",
                                                                         "2001")
        study = self.tuner("list", "--db", path).out.splitlines()[1].split()[0]
        wrong += self.tuner("resume", study, "--db", path).complaints(EX_DATAERR, "B0602", "done")
        wrong += self.tuner("cancel", study, "--db", path).complaints(EX_DATAERR, "B0602")
        return wrong + self.tuner("query", "--db", path).complaints(EX_NOINPUT, "B0603")

    def case_model_that_changed_since_it_was_submitted(self):
        path, changing = self.path("changed.db"), self.write("changing.onnx", b"")
        onnx.save(small_model(), changing)
        # A tracker without workers: the study is there, and has not begun.
        with self.programs.daemon(self.programs.tracker, "--listen",
                                  f"unix:{self.path('t1')}") as tracker:
            outcome = self.tuner("submit", "--model", changing, "--trials", "4", "--db", path,
                                 "--tracker", tracker.address, "--patience", "1")
            wrong = outcome.complaints(EX_UNAVAILABLE, "B0706", "tuner workers")
        self.write("changing.onnx", b"something else")
        return wrong + self.tuner("resume", outcome.study(), "--db", path).complaints(
            EX_DATAERR, "B0604", changing)

    def case_daemon_beyond_this_machine(self):
        return self.tuner("serve", "--listen", "0.0.0.0:0", "--db", self.path("open.db")).complaints(
            EX_USAGE, "B0101", "0.0.0.0:0", "can run code", "--insecure")

    def case_addresses_that_are_none(self):
        wrong = []
        for port in ("65536", "4294967297", "http", ""):
            address = f"127.0.0.1:{port}"
            texts = (EX_USAGE, "B0101", address)
            wrong += self.tuner("list", "--server", address).complaints(*texts)
            wrong += self.tuner("workers", "--tracker", address).complaints(*texts)
            wrong += self.tuner("serve", "--listen", address, "--db",
                                self.path("open.db")).complaints(*texts)
            wrong += self.tuner("list", environment={"BURNISH_SERVER": address}).complaints(
                EX_CONFIG, "B0102", address, "BURNISH_SERVER")
        return wrong

    def case_daemons_tell_errors_as_the_tuner_does(self):
        tracker, worker = self.programs.tracker, self.programs.worker
        slot = ("--tracker", "localhost:1", "--build", "1")
        wrong = []
        for code, error, program, *arguments in (
                (EX_USAGE, "B0101", tracker, "--lsten", "x"),
                (EX_USAGE, "B0101", tracker, "--listen", "localhost:65536"),
                (EX_USAGE, "B0101", tracker, "--listen", "0.0.0.0:0"),
                (EX_USAGE, "B0101", tracker, "--log-level", "loud"),
                (EX_USAGE, "B0101", tracker, "--listen", "nonsense", "--json"),
                (EX_UNAVAILABLE, "B0906", tracker, "--listen", "unix:/no/such/folder/socket"),
                (EX_USAGE, "B0101", worker),
                (EX_USAGE, "B0101", worker, "--tracker", "localhost:1"),
                (EX_USAGE, "B0101", worker, "--tracker", "localhost:65537", "--build", "1"),
                (EX_USAGE, "B0101", worker, *slot, "--log-level", "loud"),
                (EX_USAGE, "B0101", worker, *slot, "--label", "x")):
            wrong += self.tuner(*arguments, program=program).complaints(code, error)
        with open("/dev/full", "wb") as full:
            for program in (tracker, worker):
                told = self.tuner("--help", program=program, stdout=full)
                wrong += [] if told.code == EX_IOERR and told.error == "B0204" else [told.err]
            told = self.tuner("--listen", f"unix:{self.path('t2')}", program=tracker, stdout=full)
            wrong += [] if told.code == EX_IOERR and told.error == "B0204" else [told.err]
        return wrong

    def case_tracker_that_is_not_there(self):
        path = self.new_database("tracker.db")
        before = dump(path)
        wrong = self.tuner("submit", "--task", "softmax:m=2,n=8", "--trials", "4", "--db", path,
                           "--tracker", "127.0.0.1:1").complaints(EX_UNAVAILABLE, "B0701",
                                                                  "127.0.0.1:1")
        wrong += self.tuner("workers", "--tracker", "127.0.0.1:1").complaints(EX_UNAVAILABLE,
                                                                             "B0701")
        return wrong + ([] if dump(path) == before else ["the database was changed"])

    def case_daemon_that_is_not_there(self):
        wrong = []
        for command in (("list",), ("status",), ("cancel", "x"), ("watch", "x"), ("resume", "x"),
                        ("retry", "x"), ("submit", "--task", "softmax:m=2,n=8")):
            outcome = self.tuner(*command, "--server", "127.0.0.1:1")
            wrong += outcome.complaints(EX_UNAVAILABLE, "B0704", "127.0.0.1:1")
        outcome = self.tuner("submit", "--task", "softmax:m=2,n=8", "--detach")
        return wrong + outcome.complaints(EX_UNAVAILABLE, "B0705", "tuner serve")


if __name__ == "__main__":
    sys.exit(run_cases("bad_input", sys.argv[1], sys.argv[2:], Cases))
