"""What an ONNX file says of its inputs and outputs, without the package `onnx`: a reader of the few fields that this
takes, bounded by the bytes that are there. The compiler reads the model itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from burnish_runtime import BurnishError

_BAD_MODEL_CODE = "B0301"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_VARINT_BITS = 64
# TensorProto.DataType: what ONNX Runtime calls it, and NumPy.
TYPES = {1: ("tensor(float)", "float32"), 2: ("tensor(uint8)", "uint8"), 3: ("tensor(int8)", "int8"),
         4: ("tensor(uint16)", "uint16"), 5: ("tensor(int16)", "int16"), 6: ("tensor(int32)", "int32"),
         7: ("tensor(int64)", "int64"), 8: ("tensor(string)", ""), 9: ("tensor(bool)", "bool"),
         10: ("tensor(float16)", "float16"), 11: ("tensor(double)", "float64"), 12: ("tensor(uint32)", "uint32"),
         13: ("tensor(uint64)", "uint64"), 16: ("tensor(bfloat16)", "bfloat16")}
# The same both ways: by NumPy's name, and by ONNX Runtime's.
NAME_OF_KIND = {kind: name for name, kind in TYPES.values()}
KIND_OF_NAME = {name: kind for name, kind in TYPES.values()}


@dataclasses.dataclass(frozen=True)
class NodeArg:
    """An input or output.

    Attributes
    ----------
    name : str
    type : str
        Such as ``"tensor(float)"``.
    shape : list of int, str or None
        A name for a size that the model names, None for one that is not said.
    """

    name: str
    type: str
    shape: list[int | str | None]


@dataclasses.dataclass(frozen=True)
class ModelMetadata:
    """What a model says of itself."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    version: int = 0
    custom_metadata_map: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class OnnxFile:
    """Inputs without those that have a default."""

    inputs: list[NodeArg]
    outputs: list[NodeArg]
    overridable: list[NodeArg]
    about: ModelMetadata


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift >= _VARINT_BITS:
            raise ValueError("a number does not end")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """(number, value) of a message's numbers and bytes; what is fixed is passed over."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if kind not in (_BYTES, _FIXED32, _FIXED64):
            raise ValueError(f"no field is of kind {kind}")
        size = 8 if kind == _FIXED64 else 4
        if kind == _BYTES:
            size, at = _varint(data, at)
        if size > len(data) - at:
            raise ValueError("a field is longer than the file")
        if kind == _BYTES:
            yield number, data[at:at + size]
        at += size


def _message(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a number is where a message should be")
    return value


def _text(value: int | memoryview) -> str:
    return bytes(_message(value)).decode(errors="replace")


def _signed(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise ValueError("bytes are where a number should be")
    value &= (1 << _VARINT_BITS) - 1
    return value - (1 << _VARINT_BITS) if value >> (_VARINT_BITS - 1) else value


def _size(dimension: memoryview) -> int | str | None:
    size: int | str | None = None
    for number, value in _fields(dimension):
        if number == 1:
            size = _signed(value)
        elif number == 2:
            size = _text(value) or None
    return size


def _tensor(data: memoryview) -> tuple[str, list[int | str | None]]:
    """(type, shape) of a TypeProto.Tensor."""
    kind, shape = "tensor(undefined)", []
    for number, value in _fields(data):
        if number == 1:
            element = _signed(value)
            kind = TYPES.get(element, (f"tensor({element})", ""))[0]
        elif number == 2:
            shape = [_size(_message(each)) for field, each in _fields(_message(value)) if field == 1]
    return kind, shape


def _node_arg(data: memoryview) -> NodeArg:
    name, kind, shape = "", "undefined", []
    for number, value in _fields(data):
        if number == 1:
            name = _text(value)
        elif number == 2:
            for field, each in _fields(_message(value)):
                if field == 1:
                    kind, shape = _tensor(_message(each))
                else:
                    kind = "no tensor"  # A sequence, a map or an optional.
    return NodeArg(name, kind, shape)


def _name_of(data: memoryview, field: int) -> str:
    return next((_text(value) for number, value in _fields(data) if number == field), "")


def _graph(data: memoryview) -> tuple[str, list[NodeArg], list[NodeArg], set[str]]:
    name, inputs, outputs, constants = "", [], [], set()
    for number, value in _fields(data):
        if number == 2:
            name = _text(value)
        elif number == 5:
            constants.add(_name_of(_message(value), 8))
        elif number == 11:
            inputs.append(_node_arg(_message(value)))
        elif number == 12:
            outputs.append(_node_arg(_message(value)))
        elif number == 15:  # SparseTensorProto, whose values have the name.
            for field, each in _fields(_message(value)):
                if field == 1:
                    constants.add(_name_of(_message(each), 8))
    return name, inputs, outputs, constants


def read(data: bytes | memoryview, path: str) -> OnnxFile:
    """Raises `BurnishError` B0301 where these are no bytes of a model; `path` is for its message."""
    about: dict[str, str | int] = {}
    metadata: dict[str, str] = {}
    graph = None
    texts = {2: "producer_name", 4: "domain", 6: "description"}
    try:
        for number, value in _fields(memoryview(data)):
            if number in texts:
                about[texts[number]] = _text(value)
            elif number == 5:
                about["version"] = _signed(value)
            elif number == 7:
                graph = _graph(_message(value))
            elif number == 14:
                metadata[_name_of(_message(value), 1)] = _name_of(_message(value), 2)
        if graph is None:
            raise ValueError("there is no graph in it")
    except ValueError as error:
        refused = BurnishError(f"{path} is no ONNX model: {error}", code=_BAD_MODEL_CODE)
        refused.add_note("hint: give an .onnx file or its bytes, or a bundle; .ort files: the .onnx that they were made of")
        raise refused from error
    name, inputs, outputs, constants = graph
    return OnnxFile([each for each in inputs if each.name not in constants], outputs,
                    [each for each in inputs if each.name in constants],
                    ModelMetadata(graph_name=name, custom_metadata_map=metadata, **about))  # type: ignore[arg-type]
