"""Files of torch.export.save, read as data.

`torch.export.load` unpickles the samples of inputs that a file holds, evaluates the text of its sizes, and takes any
function below `torch` for an operator: who wrote the file runs code. Here samples are left out, weights are bytes or
go by PyTorch's loader of weights alone, operators are registered ones, and sizes are numbers. What is behind this,
PyTorch's own reading of graphs, was not written for files of strangers either: `confined.py` keeps it from the machine.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

import numpy
import torch
from torch._export.serde import schema
from torch._export.serde.serialize import ExportedProgramDeserializer, _dict_to_dataclass, deserialize_scalar_type
from torch.export import pt2_archive

from burnish_runtime import BurnishError

from .importer import UNSUPPORTED_CODE

BAD_MODEL_CODE = "B0301"  # As docs/cli.md numbers it.
_MODEL = "models/model.json"
_WEIGHTS, _CONSTANTS = "data/weights/", "data/constants/"
_TENSOR = "tensor_"  # Of constants that are tensors: the others are objects of Python's.
# A node's operator: registered, one that is made of graphs, or arithmetic of sizes.
_OPERATOR = re.compile(r"torch\.ops\.(higher_order\.[a-z]\w*|[a-z]\w*\.[a-z_]\w*\.[A-Za-z]\w*)"
                       r"|_operator\.(getitem|add|sub|mul|floordiv|mod|neg|eq|ne|lt|le|gt|ge)")


def _broken(what: str) -> BurnishError:
    error = BurnishError(f"no file of torch.export.save, or a damaged one: {what}", code=BAD_MODEL_CODE)
    error.add_note("hint: write it again, with torch.export.save(torch.export.export(model, inputs), path)")
    return error


def refuse(what: str, hint: str) -> BurnishError:
    error = BurnishError(what, code=UNSUPPORTED_CODE)
    error.add_note(f"hint: {hint}")
    return error


def load(file: IO[bytes]) -> torch.export.ExportedProgram:
    """The program of a file; it has no samples of inputs.

    Raises `BurnishError`: B0301 for what is damaged, B0302 for what is more than weights and operators.
    """
    try:
        archive = _Archive(file)
        header = archive.json(_MODEL)
        _check_graph(header["graph_module"]["graph"])
        header["guards_code"] = []  # Python's code; nothing here runs it.
        parameters = archive.tensors(_WEIGHTS + "model_weights_config.json", _WEIGHTS)
        constants = archive.tensors(_CONSTANTS + "model_constants_config.json", _CONSTANTS)
        program = _dict_to_dataclass(schema.ExportedProgram, header)
        return ExportedProgramDeserializer().deserialize(program, parameters, constants)
    except BurnishError:
        raise
    except Exception as error:
        text = str(error).strip().splitlines()
        raise _broken(f"{type(error).__name__}: {text[0] if text else 'without a word'}") from error


class _Archive:
    """A zip file as PyTorch writes it: all in one folder, nothing compressed, nothing twice."""

    def __init__(self, file: IO[bytes]):
        size = file.seek(0, io.SEEK_END)
        self._zip = zipfile.ZipFile(file)
        self._entries: dict[str, zipfile.ZipInfo] = {}
        roots, total = set(), 0
        for entry in self._zip.infolist():
            root, _, name = entry.filename.partition("/")
            roots.add(root)
            total += entry.file_size
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
                raise _broken(f"{entry.filename} is compressed, which PyTorch does to none")
            if not name or ".." in name.split("/") or root in ("", "..") or "\\" in name or "\0" in entry.filename:
                raise _broken(f"the name {entry.filename!r} leaves its folder")
            if name in self._entries:
                raise _broken(f"{entry.filename} is there twice")
            self._entries[name] = entry
        if len(roots) > 1:
            raise _broken("its entries are not in one folder")
        if total > size:
            raise _broken(f"its entries have {total} bytes, and the file {size}")
        if not self._entries or _MODEL not in self._entries:
            raise _broken(f"it has no {_MODEL}")
        version = self.bytes("archive_version").decode()
        if version != pt2_archive.constants.ARCHIVE_VERSION_VALUE:
            raise refuse(f"the file has version {version}, want {pt2_archive.constants.ARCHIVE_VERSION_VALUE}",
                         "write it with the PyTorch that reads it")

    def bytes(self, name: str) -> bytes:
        return self._array(name).tobytes()

    def json(self, name: str) -> Any:
        return json.loads(self.bytes(name))

    def _array(self, name: str) -> numpy.ndarray[Any, Any]:
        if name not in self._entries:
            raise _broken(f"it has no {name}")
        array = numpy.empty(self._entries[name].file_size, numpy.uint8)
        with self._zip.open(self._entries[name]) as entry:  # Which checks the sum at the end.
            view, at = memoryview(array), 0
            while at < len(view):
                count = entry.readinto(view[at:])
                if not count:
                    raise _broken(f"{name} ends after {at} bytes of {len(view)}")
                at += count
        return array

    def tensors(self, config: str, folder: str) -> dict[str, torch.Tensor]:
        """By their names in the model. Those of one entry share its memory, as they did when they were written."""
        bases: dict[str, numpy.ndarray[Any, Any]] = {}
        found = {}
        for name, meta in self.json(config)["config"].items():
            path = str(meta["path_name"])
            if folder == _CONSTANTS and not path.startswith(_TENSOR):
                raise refuse(f"the constant {name} is an object of Python's, and reading it would run code",
                             "export a model whose constants are tensors")
            if meta["use_pickle"]:
                tensor = self._unpickled(name, folder + path)
            else:
                if path not in bases:
                    bases[path] = self._array(folder + path)
                tensor = _view_of(bases[path], name, meta["tensor_meta"])
            found[name] = torch.nn.Parameter(tensor.detach(), requires_grad=False) if meta["is_param"] else tensor
        return found

    def _unpickled(self, name: str, path: str) -> torch.Tensor:
        try:
            tensor = torch.load(io.BytesIO(self.bytes(path)), weights_only=True)
        except BurnishError:
            raise
        except Exception as error:
            raise refuse(f"the tensor {name} is pickled, and holds more than a tensor: reading it would run code",
                         "export a model whose parameters are plain tensors") from error
        if not isinstance(tensor, torch.Tensor):
            raise _broken(f"{name} is a {type(tensor).__name__}")
        return tensor


def _view_of(base: numpy.ndarray[Any, Any], name: str, meta: Mapping[str, Any]) -> torch.Tensor:
    """A tensor over the bytes of an entry, which it must not leave."""
    dtype = deserialize_scalar_type(schema.ScalarType(meta["dtype"]))
    sizes, strides = ([_number(one) for one in meta[key]] for key in ("sizes", "strides"))
    offset = _number(meta["storage_offset"])
    if 0 in sizes:
        return torch.zeros(sizes, dtype=dtype)
    if len(sizes) != len(strides) or min([offset, *sizes, *strides]) < 0:
        raise _broken(f"{name} has sizes {sizes}, strides {strides} and offset {offset}")
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    if base.size % dtype.itemsize or (last + 1) * dtype.itemsize > base.size:
        raise _broken(f"{name} has {base.size} bytes, and its sizes want {(last + 1) * dtype.itemsize}")
    flat = torch.from_numpy(base)
    flat = flat.ne(0) if dtype == torch.bool else flat.view(dtype)  # Other bytes are no bool.
    return flat.as_strided(sizes, strides, offset)


def _number(size: Mapping[str, Any]) -> int:
    number = size.get("as_int")
    if not isinstance(number, int) or isinstance(number, bool):
        raise _broken(f"a tensor's size is {size}")
    return number


def _check_graph(graph: Mapping[str, Any]) -> None:
    dynamic = [argument["as_tensor"]["name"] for argument in graph["inputs"] if "as_tensor" in argument and
               _has_expression(graph["tensor_values"][argument["as_tensor"]["name"]])]
    if dynamic:
        raise refuse(f"inputs have dynamic dimensions: {', '.join(dynamic)}",
                     "export the program without dynamic_shapes, for one size")
    if _has_expression(graph):
        raise refuse("the program has sizes that depend on values", "export a model whose sizes are known")
    for node in _nodes(graph):
        target = node["target"]
        if not isinstance(target, str) or not _OPERATOR.fullmatch(target) or "__" in target:
            raise refuse(f"the program calls {str(target)[:100]!r}, which is no operator", "export it again")
        node["metadata"] = {}  # Where it was written: names of functions, which PyTorch would look up.


def _leaves(value: Any) -> Iterator[Any]:
    """A JSON value and all within it, without recursion: who wrote it says how deep it is."""
    pending = [value]
    while pending:
        one = pending.pop()
        yield one
        if isinstance(one, dict):
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(one)


def _has_expression(value: Any) -> bool:
    return any(isinstance(one, dict) and one.get("as_expr") is not None for one in _leaves(value))


def _nodes(graph: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """With those of graphs within the graph."""
    for one in _leaves(graph):
        if isinstance(one, dict) and "target" in one and "inputs" in one:
            yield one
