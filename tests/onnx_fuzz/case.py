"""A case: a model, sets of inputs, and ranges of dimensions; and its form in a file.

The file is JSON by protobuf's own rules: "why" (one line), "dims", "threads", "model" (a ModelProto) and "sets"
(lists of TensorProto, in the order of the model's inputs).
"""

import dataclasses
import json
import re

import onnx
from google.protobuf import json_format
from onnx import numpy_helper, printer

import evaluate


@dataclasses.dataclass
class Case:
    model: onnx.ModelProto
    sets: list  # Of arrays by input.
    dims: dict  # "1..4" by dimension, as --dim has it.
    threads: int = 2  # That the bundle is built for.

    @property
    def opset(self):
        return next(entry.version for entry in self.model.opset_import if not entry.domain)

    @property
    def names(self):
        return [value.name for value in self.model.graph.input]

    def inputs(self, arrays):
        """None: the run leaves it to its default."""
        return [arrays.get(name) for name in self.names]

    def text(self):
        """As ONNX prints it, without long constants, with the shapes of all sets."""
        lines = [re.sub(r"= +\{[^{}]{60,}\}", "= {..}", printer.to_text(self.model))]
        for arrays in self.sets:
            lines.append(", ".join(f"{name}{list(array.shape)}" for name, array in arrays.items()))
        return "\n".join(lines + [f"--dim {name}={text}" for name, text in self.dims.items()])


def save(case, path, why):
    sets = [[json_format.MessageToDict(numpy_helper.from_array(array, name))
             for name, array in arrays.items()] for arrays in case.sets]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"why": why, "dims": case.dims, "threads": case.threads, "model": json_format.MessageToDict(case.model),
                   "sets": sets}, file, indent=1)
        file.write("\n")


def load(path):
    """The case and why it was kept."""
    with open(path, encoding="utf-8") as file:
        read = json.load(file)
    sets = []
    for tensors in read["sets"]:
        protos = [json_format.ParseDict(tensor, onnx.TensorProto()) for tensor in tensors]
        sets.append({tensor.name: numpy_helper.to_array(tensor) for tensor in protos})
    model = json_format.ParseDict(read["model"], onnx.ModelProto())
    return Case(model, sets, read["dims"], read.get("threads", 2)), read["why"]


def expected(case):
    """Lanes of each output, by set. Raises evaluate.Unfit."""
    values = evaluate.evaluate_graph(case.model, case.sets)
    return [[values[output.name].lanes[i] for output in case.model.graph.output]
            for i in range(len(case.sets))]
