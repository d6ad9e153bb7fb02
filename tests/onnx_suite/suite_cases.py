"""ONNX's node cases, each with the class that the denominators are printed by."""

import random
import warnings

import numpy as np
import onnx

FLOAT = {"FLOAT"}
DOUBLE = {"DOUBLE"}
INTEGERS = {"INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64"}
BOOL = {"BOOL"}
ELEMENTS = ("f32", "f64", "integers", "bool", "other")


def all_cases():
    """Every node case by name. Cases draw random numbers while they are collected: the seed makes
    them the same each time."""
    random.seed(0)
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Imported here, because that computes every case, with NumPy's warnings.
        from onnx.backend.test.case import node
        cases = {case.name: case for case in node.collect_testcases(None) if case.model is not None}
    return {name: cases[name] for name in sorted(cases)}


def element_class(case):
    """By the types of inputs and outputs. "other": a type that is none of ours (16-bit and 8-bit
    floats, 4-bit integers, strings, complex numbers, sequences, optionals)."""
    types = set()
    for value in list(case.model.graph.input) + list(case.model.graph.output):
        if not value.type.HasField("tensor_type"):
            return "other"
        types.add(onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type))
    if types - FLOAT - DOUBLE - INTEGERS - BOOL:
        return "other"
    if types & FLOAT:
        return "f32"
    if types & DOUBLE:
        return "f64"
    return "integers" if types & INTEGERS else "bool"


def is_static(case):
    """Whether the model fixes every dimension of its inputs and outputs."""
    for value in list(case.model.graph.input) + list(case.model.graph.output):
        if not value.type.HasField("tensor_type") or not value.type.tensor_type.HasField("shape"):
            return False
        if not all(dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim):
            return False
    return True


def class_of(case):
    """"f32, static", "f64, dynamic, expanded": a row of the table."""
    parts = [element_class(case), "static" if is_static(case) else "dynamic"]
    return ", ".join(parts + (["expanded"] if "_expanded" in case.name else []))


def operator_of(case):
    """The operator that a case is about: the first node, or for an expanded case its name's."""
    node = case.model.graph.node[0]
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type
