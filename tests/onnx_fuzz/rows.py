"""The table of operators: a row is an importer's name, and a function that adds one such node (and
what it needs) to a Builder, or raises Unfit. The files operators_*.py fill it."""

import functools

import numpy as np
import onnx

from builder import ALL, onnx_type
from evaluate import Unfit

ROWS = {}


def row(*names):
    def add(function):
        for name in names:
            ROWS.setdefault(name, []).append(function)
        return function
    return add


@functools.lru_cache(maxsize=None)
def types(op, opset, index=0, domain=""):
    """What an input of an operator may be, of the types that tensors have here."""
    try:
        schema = onnx.defs.get_schema(op, opset, domain)
    except onnx.defs.SchemaError as error:
        raise Unfit(f"no {op} in operator set {opset}") from error
    names = schema.inputs[min(index, len(schema.inputs) - 1)].types
    found = [dtype for dtype in ALL
             if f"tensor({onnx.TensorProto.DataType.Name(onnx_type(dtype)).lower()})" in names]
    if not found:
        raise Unfit("no type")
    return found


def short(name):
    """Domain and operator of an importer's name."""
    domain, _, op = name.rpartition(".")
    return domain, op


def finite(v):
    """For operators where ONNX does not say what becomes of NaN and infinities."""
    return all(np.isfinite(array).all() for array in v.arrays)


def small(v):
    """For what ONNX Runtime computes of integers in floats, or of floats in fewer digits than they have."""
    return all((np.abs(array.astype(np.float64)) < 1000).all() for array in v.arrays)


def list_arg(b, name, numbers, since):
    """A list that is an attribute, or an input from an operator set on: (inputs, attributes)."""
    if b.opset < since:
        if not numbers:
            raise Unfit("an empty list has no type as an attribute")
        return [], {name: list(numbers)}
    return [b.ints(list(numbers))], {}
