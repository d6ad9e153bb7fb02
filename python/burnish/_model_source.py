"""Models as a caller has them, and the flags that give them to ``tuner``."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy

from ._graph import Graph


class Serializable(Protocol):
    """Such as ``onnx.ModelProto``."""

    def SerializeToString(self) -> bytes: ...


@dataclasses.dataclass(frozen=True)
class Task:
    """A model of the zoo (``"resnet50"``), or one operator with random weights.

    Parameters
    ----------
    text : str
        As for ``tuner --task``: ``"conv2d:h=56,ci=64,co=64,k=3,p=1"``.
    batch : int, optional
        Of the zoo's models.
    """

    text: str
    batch: int | None = None


# The last is a torch.export.ExportedProgram, whose type only who has torch can name.
ModelSource: TypeAlias = "str | os.PathLike[str] | bytes | Serializable | Graph | Task | Any"
Shapes: TypeAlias = "Mapping[str, Sequence[int]]"
Number: TypeAlias = "bool | int | float"
Dims: TypeAlias = "Mapping[str, str | int | tuple[int, int]]"
Values: TypeAlias = "Mapping[str, Number | Sequence[Number]]"


PT2 = ".pt2"  # Of a file that torch.export.save wrote.


def from_torch(program: Any) -> Graph:
    """The graph of a PyTorch model.

    Parameters
    ----------
    program : torch.export.ExportedProgram, or the path of a ``.pt2`` file
        Of fixed sizes, that writes to nothing it was given. A file is read in a child that can harm nothing, which has
        the converters of this package alone: ``from_torch(torch.export.load(path))`` has yours, and runs what code the
        file holds.

    Returns
    -------
    Graph

    Raises
    ------
    BurnishError
        ``code`` B0302, with the names of all operators that are not supported; B0201 or B0301 for a file that is not
        there or none of torch.export.save.
    """
    if isinstance(program, (str, os.PathLike)):
        from ._torch.conversion import graph_of_file
        return graph_of_file(program)
    from ._torch import export  # Imports torch.
    return export.graph_of(program)


def from_module(module: Any, example: Any) -> Graph:
    """The graph of a torch.nn.Module for inputs of the example's sizes: a tensor, or a tuple of them."""
    from ._torch import export  # Imports torch.
    return export.graph_of_module(module, example)


def _text(value: Number) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _sizes(dim: str | int | tuple[int, int]) -> str:
    return f"{dim[0]}..{dim[1]}" if isinstance(dim, tuple) else str(dim)


def model_flags(model: ModelSource, shapes: Shapes | None, values: Values | None = None,
                dims: Dims | None = None) -> list[str]:
    """Flags that name the model, the shapes of its inputs, and the inputs that are fixed."""
    flags = [f"--shape={name}={'x'.join(str(int(size)) for size in shape)}"
             for name, shape in (shapes or {}).items()]
    flags += [f"--value={name}={','.join(map(_text, numpy.atleast_1d(value).tolist()))}"
              for name, value in (values or {}).items()]
    flags += [f"--dim={name}={_sizes(dim)}" for name, dim in (dims or {}).items()]
    if isinstance(model, Task):
        batch = [] if model.batch is None else [f"--batch={model.batch}"]
        return [f"--task={model.text}", *batch, *flags]
    is_path = isinstance(model, (str, os.PathLike))
    if type(model).__module__.startswith("torch.export") or (
            is_path and os.fspath(model).endswith(PT2)):
        model = from_torch(model)
    if isinstance(model, (str, os.PathLike)):
        return [f"--model={os.fspath(model)}", *flags]
    if isinstance(model, Graph):
        return [f"--model={kept_graph(model)}", *flags]
    if isinstance(model, (bytes, bytearray, memoryview)):
        return [f"--model={_kept(lambda: [model], '.onnx')}", *flags]
    serialize = getattr(model, "SerializeToString", None)
    if "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module):
        raise TypeError(f"{type(model).__name__} is a torch.nn.Module, which comes with an example of its inputs: "
                        "burnish.compile(module, example)")
    if serialize is None:
        raise TypeError("model is neither a path, nor bytes, nor a burnish.Graph or burnish.Task, nor a "
                        "torch.export.ExportedProgram, nor has it SerializeToString: "
                        f"{type(model).__name__}")
    data = serialize()
    return [f"--model={_kept(lambda: [data], '.onnx')}", *flags]


def kept_graph(graph: Graph) -> str:
    """The path of its file."""
    return _kept(graph._chunks, ".graph")


def _kept(chunks: Callable[[], Iterable[Any]], suffix: str) -> str:
    """A file with these bytes that stays: who resumes a study or asks for its records names it."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(base, "burnish", "models")
    digest = hashlib.sha256()
    for chunk in chunks():
        digest.update(chunk)
    path = os.path.join(folder, digest.hexdigest() + suffix)
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        # Complete or not there: others may write the same model at the same time.
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            for chunk in chunks():
                file.write(chunk)
        os.replace(file.name, path)
    return path
