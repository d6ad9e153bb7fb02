"""Models in 16-bit floats, and f32 models whose storage is narrowed, against ONNX Runtime in f32.

Weights are random, but the outputs differ between inputs by more than 0.3 of their rms: errors are
measured against that spread.

usage: narrow_models.py TUNER
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import quantized_models  # noqa: E402
from test_report import Report  # noqa: E402

# Of the spread between inputs: the unit of rounding, 2^-8 and 2^-11, times what some ten layers of
# independent errors add up to (their root) and what the last layer's cancellation amplifies.
ERROR_MAX = {"bf16": 0.04, "f16": 0.005}
ONNX_TYPE = {"bf16": TensorProto.BFLOAT16, "f16": TensorProto.FLOAT16}
INPUTS = 8


def rounded(array, kind):
    """float32 values that the type holds, to nearest even."""
    array = np.ascontiguousarray(array, np.float32)
    if kind == "f16":
        return array.astype(np.float16).astype(np.float32)
    bits = array.view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16
    return bits.astype(np.uint32).view(np.float32)


def narrow_model(model, kind):
    """The model with all its floats in the type."""
    narrow = onnx.ModelProto()
    narrow.CopyFrom(model)
    for tensor in narrow.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        values = rounded(onnx.numpy_helper.to_array(tensor), kind)
        raw = (values.view(np.uint32) >> 16).astype(np.uint16) if kind == "bf16" \
            else values.astype(np.float16)
        tensor.ClearField("float_data")
        tensor.raw_data = raw.tobytes()
        tensor.data_type = ONNX_TYPE[kind]
    for value in (*narrow.graph.input, *narrow.graph.output, *narrow.graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = ONNX_TYPE[kind]
    return narrow


class Tuner:
    def __init__(self, program, folder):
        self.program, self.folder = os.path.realpath(program), folder

    def __call__(self, *arguments):
        return subprocess.run([self.program, *arguments], capture_output=True, text=True,
                              env={**os.environ, "XDG_CACHE_HOME": self.folder,
                                   "XDG_DATA_HOME": self.folder}, check=False)

    def compile(self, model, *flags):
        path, bundle = os.path.join(self.folder, "m.onnx"), os.path.join(self.folder, "m.bundle")
        onnx.save(model, path)
        done = self("compile", "--model", path, "--out", bundle, "--json", *flags)
        return done, bundle

    def run(self, bundle, x, kind):
        x_path, y_path = (os.path.join(self.folder, name) for name in ("x.npy", "y.npy"))
        np.save(x_path, x.astype(np.float16) if kind == "f16" else x)
        done = self("run", bundle, "--input", x_path, "--output", y_path)
        assert done.returncode == 0, done.stderr
        return np.load(y_path).astype(np.float32)


def error_of(got, want):
    spread = np.sqrt(np.mean((want - want.mean(axis=0)) ** 2))
    assert spread > 0.3 * np.sqrt(np.mean(want ** 2)), "weights without a signal"
    return float(np.sqrt(np.mean((got - want) ** 2)) / spread)


def judge(got, want, kind):
    error = error_of(got, want)
    wrong = [] if error <= ERROR_MAX[kind] else [f"differs from ONNX Runtime in f32: {error:.2g}"]
    return wrong, f"error {error:.2g} of the spread"


class Case:
    """A model with inputs, ONNX Runtime's outputs for them, and its size in f32."""

    def __init__(self, tuner, model):
        self.tuner, self.model = tuner, model
        random = np.random.default_rng(5)
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        scales = np.exp(random.normal(size=(INPUTS, *[1] * len(shape))))
        self.inputs = rounded(random.normal(size=(INPUTS, *shape)) * scales, "bf16")
        session = onnxruntime.InferenceSession(model.SerializeToString())
        self.want = np.stack([session.run(None, {"x": x})[0] for x in self.inputs])
        self.f32_bytes = self.built(model)[0]["weights_bytes"]

    def built(self, model, *flags):
        done, bundle = self.tuner.compile(model, *flags)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), bundle

    def outputs(self, bundle, kind):
        return np.stack([self.tuner.run(bundle, x, kind) for x in self.inputs])

    def of_type(self, kind):
        """The model's own tensors are narrow."""
        _, bundle = self.built(narrow_model(self.model, kind))
        wrong, note = judge(self.outputs(bundle, kind), self.want, kind)
        info = self.tuner("run", bundle, "--info").stdout
        return wrong + ([] if f"{kind}[" in info else [f"--info does not name {kind}: {info}"]), note

    def stored(self, kind):
        """An f32 model, narrow inside."""
        built, bundle = self.built(self.model, "--precision", kind, "--accuracy", "0.2")
        wrong, note = judge(self.outputs(bundle, "f32"), self.want, kind)
        if not 0 < built["measured_error"] <= 0.2:
            wrong.append(f"measured error {built['measured_error']}")
        return wrong, note

    def halved(self, kind):
        """The weights of an f32 model, narrow inside, take half the room."""
        built, _ = self.built(self.model, "--precision", kind, "--accuracy", "0.2")
        share = built["weights_bytes"] / self.f32_bytes
        return [] if share <= 0.55 else ["more than half"], f"{share:.2f} of f32's bytes"

    def over_budget(self):
        """What no layer keeps in bf16 is built in f32."""
        built, bundle = self.built(self.model, "--precision", "bf16", "--accuracy", "1e-7")
        wide = [layer["type"] for layer in built["layers"]] == ["f32"] * len(built["layers"])
        error = error_of(self.outputs(bundle, "f32"), self.want)
        wrong = [] if wide and built["layers"] else [f"layers {built['layers']}"]
        return wrong + ([] if error < 1e-4 else [f"error {error:.2g}"]), ""

    def taken_back(self):
        """Half the error of all layers in bf16 is kept with most of them, on data of the user's."""
        folder = os.path.join(self.tuner.folder, "data")
        os.makedirs(folder, exist_ok=True)
        np.save(os.path.join(folder, "x.npy"), self.inputs)
        flags = ("--precision", "bf16", "--data", folder, "--accuracy")
        every, bundle = self.built(self.model, *flags, "1")
        error = error_of(self.outputs(bundle, "f32"), self.want)
        budget = every["measured_error"] / 2
        built, bundle = self.built(self.model, *flags, str(budget))
        wide = [layer["name"] for layer in built["layers"] if layer["type"] == "f32"]
        left = error_of(self.outputs(bundle, "f32"), self.want)
        info = json.loads(self.tuner("run", bundle, "--info", "--json").stdout)
        types = {step["type"] for step in info["steps"]}
        wrong = []
        if not 0 < built["measured_error"] <= budget:
            wrong.append(f"measured error {built['measured_error']}, want <= {budget}")
        if not 0 < len(wide) < len(built["layers"]):
            wrong.append(f"{len(wide)} of {len(built['layers'])} layers in f32")
        if not left < error:
            wrong.append(f"error {left:.2g} of the spread, {error:.2g} with all layers in bf16")
        if types != {"bf16", "f32"} or info["measured_error"] != built["measured_error"] \
                or info["measured_on"] != f"{INPUTS} examples of {folder}":
            wrong.append(f"--info: {types}, {info['measured_error']} on {info['measured_on']}")
        return wrong, f"{len(wide)} of {len(built['layers'])} layers in f32, error {left:.2g}"

    def in_int8(self):
        """By ranges of examples, and no further from f32 than it says."""
        folder = os.path.join(self.tuner.folder, "ranges")
        os.makedirs(folder, exist_ok=True)
        np.save(os.path.join(folder, "x.npy"), np.concatenate([self.inputs, self.inputs]))
        built, bundle = self.built(self.model, "--precision", "int8", "--data", folder,
                                   "--accuracy", "0.5")
        error = error_of(self.outputs(bundle, "f32"), self.want)
        types = {task["type"] for task in built["tasks"]}
        wrong = [] if 0 < built["measured_error"] <= 0.5 else [f"{built['measured_error']}"]
        wrong += [] if types & {"u8", "i8"} else [f"tasks in {types}"]
        wrong += [] if error < 0.2 else [f"error {error:.2g}"]
        # Some layers for a third of that error, and none for next to nothing.
        budget = built["measured_error"] / 3
        some, bundle = self.built(self.model, "--precision", "int8", "--data", folder,
                                  "--accuracy", str(budget))
        left = error_of(self.outputs(bundle, "f32"), self.want)
        if not some["measured_error"] <= budget or not left < error:
            wrong.append(f"error {left:.2g}, measured {some['measured_error']}")
        none, _ = self.built(self.model, "--precision", "int8", "--data", folder, "--accuracy",
                             "1e-6")
        if {layer["type"] for layer in none["layers"]} != {"f32"}:
            wrong.append(f"layers {none['layers']}")
        return wrong, f"error {error:.2g} of the spread, {left:.2g} with {self.counts(some)}"

    @staticmethod
    def counts(built):
        types = sorted(layer["type"] for layer in built["layers"])
        return ", ".join(f"{types.count(t)} {t}" for t in sorted(set(types)))

    def fastest(self):
        """A mixture within the budget, or f32."""
        wrong, notes = [], []
        for data in ((), ("--data", "random")):
            built, bundle = self.built(self.model, "--precision", "auto", "--accuracy", "0.05",
                                       *data)
            error = built["measured_error"] or 0
            wrong += [] if error <= 0.05 else [f"measured error {error}"]
            kept, note = judge(self.outputs(bundle, "f32"), self.want, "bf16")
            wrong += kept if not data else []
            notes.append(f"{self.counts(built)}; {note}")
        return wrong, "; with ranges ".join(notes)

    def study(self, kind, *data):
        """Tasks, bundle and a later compile have the layers that were found at the start."""
        path, bundle = (os.path.join(self.tuner.folder, n) for n in ("s.onnx", "s.bundle"))
        database = os.path.join(self.tuner.folder, "s.db")
        onnx.save(self.model, path)
        every, _ = self.built(self.model, "--precision", kind, *data, "--accuracy", "1")
        done = self.tuner("submit", "--model", path, "--precision", kind, *data, "--accuracy",
                          str(every["measured_error"] / 2), "--trials", "2", "--refine", "off",
                          "--db", database, "--out", bundle, "--json")
        assert done.returncode == 0, done.stderr
        events = {event["event"]: event for event in map(json.loads, done.stdout.splitlines())}
        study, built = events["submitted"]["study"], events["built"]
        shown = json.loads(self.tuner("status", study, "--db", database, "--json").stdout)
        again = os.path.join(self.tuner.folder, "again.bundle")
        done = self.tuner("compile", "--study", study, "--db", database, "--out", again, "--json")
        assert done.returncode == 0, done.stderr
        wrong = []
        wide = {layer["name"] for layer in built["layers"] if layer["type"] == "f32"}
        if shown["precision"] != kind or not wide <= set(shown["layer_types"]):
            wrong.append(f"status: {shown['precision']}, {shown['layer_types']}, want {wide}")
        if json.loads(done.stdout)["layers"] != built["layers"]:
            wrong.append("compile --study has other layers")
        return wrong, f"{len(wide)} of {len(built['layers'])} layers in f32"


def pointwise_network():
    w = quantized_models.Writer(4)
    x = w.conv("x", 192, 384, 1)
    return w.model([1, 192, 8, 8], w.conv(x, 384, 192, 1, relu=False))


def main(program):
    report = Report("narrow_models")
    with tempfile.TemporaryDirectory() as folder:
        tuner = Tuner(program, folder)
        for make in (quantized_models.residual_network, quantized_models.mobile_network,
                     quantized_models.transformer):
            case = Case(tuner, make())
            for kind in ("bf16", "f16"):
                report.run(f"{make.__name__} of {kind}", lambda c=case, k=kind: c.of_type(k))
                report.run(f"{make.__name__} stored in {kind}", lambda c=case, k=kind: c.stored(k))
            report.run(f"{make.__name__} over its accuracy", case.over_budget)
            report.run(f"{make.__name__} with layers taken back", case.taken_back)
            report.run(f"{make.__name__} as fast as may be", case.fastest)
            report.run(f"{make.__name__} in int8", case.in_int8)
        # Panels of 16 to 96 columns, whatever a machine's default schedules choose, divide 192:
        # weights of other widths may be padded by half as much again.
        for name, model in (("products", quantized_models.transformer(width=192)),
                            ("convolutions", pointwise_network())):
            wide = Case(tuner, model)
            for kind in ("bf16", "f16"):
                report.run(f"weights of {name} in {kind}", lambda c=wide, k=kind: c.halved(k))
        report.run("a study of the last", lambda: case.study("bf16"))
        report.run("a study of it in int8", lambda: case.study("int8", "--data", "random"))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
