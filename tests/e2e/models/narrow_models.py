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
        # Winograd's transformed weights are f32.
        transformed = any(task["algorithm"] for task in built["tasks"])
        if not transformed and built["weights_bytes"] > 0.6 * self.f32_bytes:
            wrong.append(f"{built['weights_bytes']} bytes of weights, of {self.f32_bytes} in f32")
        return wrong, note

    def over_budget(self):
        done, _ = self.tuner.compile(self.model, "--precision", "bf16", "--accuracy", "1e-6")
        named = "stored as bf16 the error is" in done.stderr and "--precision f32" in done.stderr
        return [] if done.returncode != 0 and named else [str(done.returncode), done.stderr], ""


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
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
