"""Compiling a model with the best schedules on record."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from typing import Any, overload

from burnish_runtime import Model, load

from . import _tuner
from ._model_source import Dims, ModelSource, Shapes, Values, from_module, model_flags

_folder: tuple[int, str] | None = None


def bundle_path() -> str:
    """For a bundle that nobody named: models refit and share it, so it stays until Python ends."""
    global _folder
    if _folder is None or _folder[0] != os.getpid():
        _folder = os.getpid(), tempfile.mkdtemp(prefix="burnish-")
        atexit.register(_remove, *_folder)
    handle, path = tempfile.mkstemp(suffix=".bundle", dir=_folder[1])
    os.close(handle)
    return path


def _remove(process: int, folder: str) -> None:
    if process == os.getpid():  # Not in a forked child.
        shutil.rmtree(folder, ignore_errors=True)


@overload
def compile(model: ModelSource, path: None = None, *, shapes: Shapes | None = None,
            values: Values | None = None, dims: Dims | None = None,
            target: str | None = None, threads: int | None = None,
            accuracy: float | str | None = None, opt_level: int | None = None,
            precision: str | None = None, data: str | os.PathLike[str] | None = None,
            require_tuned: bool = False, refit: bool = False,
            database: str | os.PathLike[str] | None = None, server: str | None = None) -> Model: ...


@overload
def compile(model: Any, path: Any, *, shapes: None = None, values: None = None, dims: None = None,
            target: str | None = None, threads: int | None = None,
            accuracy: float | str | None = None, opt_level: int | None = None,
            precision: str | None = None, data: str | os.PathLike[str] | None = None,
            require_tuned: bool = False, refit: bool = False,
            database: str | os.PathLike[str] | None = None, server: str | None = None) -> Model: ...


@overload
def compile(model: ModelSource, path: str | os.PathLike[str], *, example: Any = None, shapes: Shapes | None = None,
            values: Values | None = None, dims: Dims | None = None,
            target: str | None = None, threads: int | None = None,
            accuracy: float | str | None = None, opt_level: int | None = None,
            precision: str | None = None, data: str | os.PathLike[str] | None = None,
            require_tuned: bool = False, refit: bool = False,
            database: str | os.PathLike[str] | None = None, server: str | None = None) -> str: ...


def compile(model: ModelSource, path: Any = None, *, example: Any = None,
            shapes: Shapes | None = None, values: Values | None = None,
            dims: Dims | None = None, target: str | None = None, threads: int | None = None,
            accuracy: float | str | None = None, opt_level: int | None = None,
            precision: str | None = None, data: str | os.PathLike[str] | None = None,
            require_tuned: bool = False, refit: bool = False,
            database: str | os.PathLike[str] | None = None,
            server: str | None = None) -> Model | str:
    """Compile a model with the best schedules on record; measures none.

    Parameters
    ----------
    model : str, os.PathLike, bytes, object with SerializeToString, Graph, ExportedProgram, or Task
        An ONNX model, a graph, a program of torch.export or its ``.pt2`` file, or a model that
        Burnish knows by name. A torch.nn.Module comes with `example`.
    path : str or os.PathLike, optional
        The bundle to write. Without it the model is loaded. Anything else in this place is `example`:
        ``compile(module, image)``.
    example : tensor or tuple of tensor, optional
        Inputs of a torch.nn.Module, whose sizes the compiled model has. The module is exported in evaluation mode.
    shapes : mapping of str to sequence of int, optional
        Of inputs whose shape the model leaves open.
    values : mapping of str to number or sequence of numbers, optional
        Of inputs that are fixed, such as a size that shapes depend on: the compiled model does not
        take them.
    dims : mapping of str to tuple of int, int or str, optional
        Of dimensions that the model names: ``{"seq": (1, 512)}`` lets each call choose a size,
        ``{"batch": 8}`` fixes one, ``{"total": "past+seq"}`` is the sum of others.
    target : str, optional
        The CPU to compile for: ``"host"``, the default, or a text such as
        ``"cpu:arch=znver3,threads=2"``.
    threads : int, optional
        To compile for; by default those of the target.
    accuracy : float or "strict", optional
        Error of the whole model at most, as a share of its largest output; 1e-4 by default, and
        2e-2 with `precision`.
        ``"strict"``: round as the operators' definitions do.
    opt_level : int, optional
        0: no fusion, 1: fusion, 2: layout, 3, the default: rounding may change.
    precision : {"f32", "auto", "bf16", "f16", "int8"}, optional
        How weights, and what lies between operators, are stored; sums, inputs and outputs stay as
        they are. Layers whose fewer bits cost more than `accuracy` stay in f32; ``"auto"`` takes
        whatever is fastest by layer. ``"int8"`` computes in integers, by ranges found on `data`;
        its `accuracy` is 1e-1 by default. With `data` it is a choice of ``"auto"``.
    data : str or os.PathLike, optional
        A folder of NumPy files, examples that the model's error is measured on, by default random
        inputs, and that int8 has its ranges from. ``"random"`` draws those, too.
    require_tuned : bool, default False
        Fail unless each task of the model was tuned on this target.
    refit : bool, default False
        Let all floating-point parameters be replaced later by `Model.refit`, not only those that
        the compiler took as they are.
    database : str or os.PathLike, optional
        Where records are; by default the user's, as for ``tuner``.
    server : str, optional
        A tuner daemon (HOST:PORT) whose records to use.

    Returns
    -------
    Model or str
        The loaded model, or `path` if it was given.

    Raises
    ------
    BurnishError
        With a ``code`` of docs/cli.md: B0201 where there is no such file, B0301 to B0304 for models
        that are broken, not supported, without shapes or too large, B0603 for `require_tuned`,
        B0804 where `precision` costs more than `accuracy`, B0404, B0405 and B0408 for `data` that
        cannot be used.
    """
    if path is not None and not isinstance(path, (str, os.PathLike)):
        path, example = None, path
    if example is not None:
        model = from_module(model, example)
    out = bundle_path() if path is None else os.fspath(path)
    _tuner.run("compile", [
        *model_flags(model, shapes, values, dims),
        *_tuner.settings(out=out, target=target, threads=threads, accuracy=accuracy,
                         opt_level=opt_level, precision=precision, data=data,
                         require_tuned=require_tuned, refit=refit, db=database, server=server)])
    return load(out) if path is None else out
