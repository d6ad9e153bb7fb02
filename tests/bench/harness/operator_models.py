"""The rows of `./dev bench operators` (operators.toml): each row's ONNX model and inputs."""

import math
import pathlib
import re
import tomllib
import zlib

import numpy as np
import onnx
import real_inputs
from onnx import TensorProto, helper, numpy_helper

ROWS = pathlib.Path(__file__).resolve().parents[1] / "operators.toml"
KEYS = {"name", "source", "inputs", "weights", "integers", "nodes"}
OPSET = helper.make_opsetid("", 18)
IR_VERSION = 8
INTEGER_HOW = "index"


def parse(text):
    """Rows of a TOML text, each with its "class". ValueError: what is wrong with which row."""
    found = []
    for kind, rows in tomllib.loads(text).items():
        for row in rows:
            extra = set(row) - KEYS
            missing = {"name", "source", "inputs", "nodes"} - set(row)
            if extra or missing:
                raise ValueError(f"{row.get('name', kind)}: got the keys {sorted(extra)}, which no row "
                                 f"has, and lacks {sorted(missing)}")
            found.append({"class": kind, "weights": {}, "integers": {}, **row})
    names = [row["name"] for row in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"rows share the names {twice}")
    return found


def entries():
    return parse(ROWS.read_text(encoding="utf-8"))


def chosen(rows, pattern):
    """Those whose "class/name" has a match of `pattern`."""
    return [row for row in rows if re.search(pattern, f"{row['class']}/{row['name']}")]


def _array(text, seed, default):
    """An array from "EXTENTS [HOW [N]]"."""
    spec = real_inputs.Input(text if " " in text else f"{text} {default}")
    return spec.array(seed, np.int64 if spec.how == INTEGER_HOW else np.float32)


def inputs(row):
    """Arrays by name, in the model's order."""
    return {name: _array(text, f"{row['name']} {name}", "normal")
            for name, text in row["inputs"].items()}


def _weight(row, name, text):
    """Normal numbers, by the root of how many are summed for an output, or nearly so: all extents
    but the largest. So outputs are as large as inputs, as in a trained network."""
    array = _array(text, f"{row['name']} {name}", "normal")
    if " " in text or array.ndim < 2:
        return array
    return (array / math.sqrt(array.size / max(array.shape))).astype(np.float32)


def model(row):
    """The checked ONNX model, with the shapes of its outputs."""
    constants = [numpy_helper.from_array(_weight(row, name, text), name)
                 for name, text in row["weights"].items()]
    constants += [numpy_helper.from_array(np.array(values, np.int64), name)
                  for name, values in row["integers"].items()]
    nodes = [onnx.parser.parse_node(text) for text in row["nodes"]]
    graph = helper.make_graph(
        nodes, row["name"],
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
         for name, array in inputs(row).items()],
        [onnx.ValueInfoProto(name=nodes[-1].output[0])], constants)
    made = onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[OPSET], ir_version=IR_VERSION), strict_mode=True)
    onnx.checker.check_model(made)
    return made
