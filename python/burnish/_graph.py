"""Models that a program has in memory, in Burnish's own operators."""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy

from burnish_runtime import BurnishError

# docs/model-graph.md.
_MAGIC = b"BURNGRPH"
_FORMAT, _SIZED_FORMAT = 1, 2
_ALIGNMENT = 64  # Of constants, in the file and so in the mapped memory: a line of a CPU's cache.
_DTYPES = {"float32": "f32", "float64": "f64", "int64": "i64", "int32": "i32", "int16": "i16",
           "int8": "i8", "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8",
           "bool": "bool", "float16": "f16", "bfloat16": "bf16"}
_BAD_MODEL_CODE = "B0301"  # As docs/cli.md numbers it.
_BFLOAT16 = "bfloat16"  # The one that NumPy lacks.


class Value:
    """A tensor of a `Graph`: what an operator reads or writes."""

    __slots__ = ("_graph", "name")

    def __init__(self, graph: Graph, name: str):
        self._graph = graph
        self.name = name

    def __repr__(self) -> str:
        return f"<Value {self.name!r}>"


class Graph:
    """A model as operators over tensors of fixed shape, for programs that translate into Burnish.

    `compile`, `tune` and `query` take it like any model. Operators and their attributes are listed
    in docs/model-graph.md; types and shapes of what they write are inferred when it is compiled,
    and mistakes are told then, with the node's name.

    Parameters
    ----------
    name : str, optional
        Of the model, for people.

    Examples
    --------
    >>> graph = burnish.Graph("layer")
    >>> x = graph.input("x", (1, 64))
    >>> y = graph.node("relu", graph.node("matmul", x, graph.constant(weights)))
    >>> graph.output(y, "y")
    >>> model = burnish.compile(graph)
    """

    def __init__(self, name: str = "graph"):
        self._header: dict[str, Any] = {"format": _FORMAT, "name": name, "inputs": [],
                                        "constants": [], "nodes": [], "outputs": []}
        self._names: set[str] = set()
        self._counts: dict[str, int] = {}
        self._given: list[tuple[Any, numpy.ndarray[Any, Any]]] = []
        self._data: list[numpy.ndarray[Any, Any]] = []
        self._size = 0
        self._known: dict[tuple[Any, ...], Value] = {}

    def input(self, name: str, shape: Sequence[int], dtype: Any = "float32") -> Value:
        """A tensor that a call gives; calls give them in the order of these."""
        self._header["inputs"].append({"name": name, **_type(shape, dtype)})
        return self._defined(name)

    def constant(self, array: Any, name: str | None = None, dtype: str | None = None) -> Value:
        """A tensor that is known: a NumPy array or what makes one, or anything with DLPack.

        The memory is read when the graph is compiled or saved, and copied only where it has gaps.
        An array that is given again without a name is the constant that it was. Of bfloat16, which
        NumPy lacks, are torch's tensors, arrays of ml_dtypes' type, and with ``dtype="bfloat16"``
        arrays of uint16 that hold its bits.
        """
        given, kind = _bits_of(array)
        kind = kind if dtype is None else dtype
        if kind == _BFLOAT16 and given.dtype.itemsize != 2:
            raise TypeError(f"want bfloat16 as its bits, uint16; got {given.dtype.name}")
        key = (given.__array_interface__["data"][0], given.shape, given.strides, kind)
        if name is None and key in self._known:
            return self._known[key]
        offset = self._append(array, given)
        name = self._unused("constant") if name is None else name
        self._header["constants"].append({"name": name, **_type(given.shape, kind),
                                          "offsetBytes": offset})
        return self._known.setdefault(key, self._defined(name))

    def node(self, op: str, *inputs: Value, outputs: int = 1, name: str | None = None,
             **attributes: Any) -> Any:
        """An operator; returns what it writes: a Value, or a tuple of `outputs` of them.

        Attributes are integers, floats, strings, or sequences of integers or of floats.
        """
        name = self._unused(op) if name is None else name
        results = [name] if outputs == 1 else [f"{name}:{i}" for i in range(outputs)]
        for value in inputs:
            if value._graph is not self:
                raise ValueError(f"{value!r} belongs to another graph")
        self._header["nodes"].append({
            "name": name, "op": op, "inputs": [value.name for value in inputs],
            "outputs": results,
            "attributes": {key: _attribute(key, value) for key, value in attributes.items()}})
        values = tuple(self._defined(result) for result in results)
        return values[0] if outputs == 1 else values

    def output(self, value: Value, name: str | None = None) -> None:
        """A tensor that a call returns, in the order of these."""
        if value._graph is not self:
            raise ValueError(f"{value!r} belongs to another graph")
        self._header["outputs"].append({"name": name or value.name, "value": value.name})

    def header(self) -> dict[str, Any]:
        """The message, as `docs/model-graph.md` says it."""
        return self._header

    def data(self, constant: int) -> numpy.ndarray[Any, Any]:
        """The elements of a constant, by its place."""
        return self._data[constant]

    def give_sizes(self, sizes: Sequence[dict[str, Any]]) -> None:
        """Sizes that each run decides: what the header's axes and places are sums of."""
        self._header.update(format=_SIZED_FORMAT, sizes=list(sizes))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file that every command with ``--model`` takes."""
        with open(path, "wb") as file:
            self.write(file)

    def write(self, file: IO[bytes]) -> None:
        """What `save` writes."""
        for chunk in self._chunks():
            file.write(chunk)

    @staticmethod
    def read(file: IO[bytes]) -> Graph:
        """The graph of what `write` wrote. Constants are read where they lie in the file, which is mapped; all else
        is checked when the graph is compiled.

        Raises `BurnishError` (B0301) where the file does not hold what it says.
        """
        try:
            data = numpy.memmap(file, numpy.uint8, "r")
            size = struct.unpack("<Q", data[8:16].tobytes())[0]
            header, begin = json.loads(data[16:16 + size].tobytes()), 16 + size
            if data[:8].tobytes() != _MAGIC:
                raise ValueError("it begins with other bytes")
            graph = Graph(header["name"])
            arrays = [_part(data, begin, constant) for constant in header["constants"]]
            for constant, array in zip(header["constants"], arrays):
                constant["offsetBytes"] = graph._append(array, array)
            graph._header = header
            graph._names = {one["name"] for one in (*header["inputs"], *header["constants"])} | {
                name for node in header["nodes"] for name in node["outputs"]}
        except (ValueError, KeyError, TypeError, struct.error) as error:
            raise BurnishError(f"no file of a graph: {error}", code=_BAD_MODEL_CODE) from error
        return graph

    def inputs(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes, in their order."""
        return [(one["name"], tuple(one["shape"])) for one in self._header["inputs"]]

    def outputs(self) -> list[str]:
        return [one["name"] for one in self._header["outputs"]]

    def fingerprint(self) -> tuple[str, str]:
        """Hashes of the operators, with the constants that a refit cannot replace, and of the other
        constants. The graph's name is in neither."""
        structure, content = hashlib.sha256(), hashlib.sha256()
        header = {key: value for key, value in self._header.items() if key != "name"}
        structure.update(json.dumps(header, allow_nan=False, sort_keys=True).encode())
        for constant, data in zip(self._header["constants"], self._data):
            (content if _replaceable(constant) else structure).update(data.reshape(-1).view(numpy.uint8))
        return structure.hexdigest(), content.hexdigest()

    def replaceable(self) -> dict[str, Any]:
        """Constants that a bundle compiled with ``refit`` may take anew; of bfloat16 as they were given."""
        rows = zip(self._header["constants"], self._data, self._given)
        return {constant["name"]: given[0] if constant["dtype"] == _DTYPES[_BFLOAT16] else data
                for constant, data, given in rows if _replaceable(constant)}

    def _chunks(self) -> Iterator[Any]:
        header = json.dumps(self._header, allow_nan=False).encode()
        header += b" " * (_padded(16 + len(header)) - 16 - len(header))
        yield _MAGIC + struct.pack("<Q", len(header)) + header
        for data in self._data:
            yield memoryview(data).cast("B") if data.size else b""
            yield bytes(_padded(data.nbytes) - data.nbytes)

    def _append(self, array: Any, given: numpy.ndarray[Any, Any]) -> int:
        """A constant's elements; returns where they begin."""
        offset = self._size
        self._given.append((array, given))  # Its address stays its own.
        self._data.append(numpy.asarray(given, dtype=given.dtype.newbyteorder("<"), order="C"))
        self._size += _padded(given.nbytes)
        return offset

    def _defined(self, name: str) -> Value:
        if name in self._names:
            raise ValueError(f"two values are named {name!r}")
        self._names.add(name)
        return Value(self, name)

    def _unused(self, stem: str) -> str:
        self._counts[stem] = self._counts.get(stem, -1) + 1
        name = f"{stem}_{self._counts[stem]}"
        return self._unused(stem) if name in self._names else name


def _replaceable(constant: dict[str, Any]) -> bool:
    """As docs/cli.md says of ``--refit``."""
    return "f" in constant["dtype"] and math.prod(constant["shape"]) > 1


def _bits_of(array: Any) -> tuple[numpy.ndarray[Any, Any], str]:
    """An array over a tensor's memory, and what its elements are; of bfloat16 an array of uint16."""
    if isinstance(array, numpy.ndarray) or not hasattr(array, "__dlpack__"):
        given = numpy.asarray(array)
        return (given.view(numpy.uint16) if given.dtype.name == _BFLOAT16 else given), given.dtype.name
    if str(getattr(array, "dtype", "")) == "torch.bfloat16":
        return numpy.from_dlpack(array.view(sys.modules["torch"].uint16)), _BFLOAT16
    given = numpy.from_dlpack(array)
    return given, given.dtype.name


def _part(data: numpy.ndarray[Any, Any], begin: int, constant: dict[str, Any]) -> numpy.ndarray[Any, Any]:
    """A constant's elements, of the bytes of a file."""
    name = {code: dtype for dtype, code in _DTYPES.items()}[constant["dtype"]]
    dtype = numpy.dtype("uint16" if name == _BFLOAT16 else name).newbyteorder("<")
    at, shape = begin + int(constant["offsetBytes"]), [int(extent) for extent in constant["shape"]]
    end = at + math.prod(shape) * dtype.itemsize
    if min([begin, *shape, int(constant["offsetBytes"])]) < 0 or end > data.size:
        raise ValueError(f"constant {constant['name']} is not in the file")
    return data[at:end].view(dtype).reshape(shape)


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _type(shape: Sequence[int], dtype: Any) -> dict[str, Any]:
    name = dtype if isinstance(dtype, str) and dtype in _DTYPES else numpy.dtype(dtype).name
    if name not in _DTYPES:
        raise TypeError(f"element type {name} is not one of {', '.join(_DTYPES)}")
    return {"dtype": _DTYPES[name], "shape": [int(extent) for extent in shape]}


def _attribute(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"s": value}
    array = numpy.asarray(value)
    if array.dtype.kind not in "biuf" or array.ndim > 1:
        raise TypeError(f"attribute {name} is neither a number, a string nor a list of numbers: "
                        f"{value!r}")
    # An empty list is one of floats to NumPy; what is empty in a model is most often axes or pads.
    if array.dtype.kind == "f" and (array.size > 0 or isinstance(value, numpy.ndarray)):
        floats = [_float(x) for x in array.reshape(-1)]
        return {"f": floats[0]} if array.ndim == 0 else {"floats": {"values": floats}}
    ints = [int(x) for x in array.reshape(-1)]
    return {"i": ints[0]} if array.ndim == 0 else {"ints": {"values": ints}}


def _float(value: Any) -> float | str:
    """As JSON of a protocol buffer has it: what is no number there is a word."""
    number = float(value)
    if math.isnan(number):
        return "NaN"
    return number if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"
