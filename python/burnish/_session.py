"""`InferenceSession`: a model behind ONNX Runtime's signature, for programs that were written for that."""

from __future__ import annotations

import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from burnish_runtime import BurnishError, Model, load

from . import _compile, _onnx_file
from ._binding import IOBinding, outputs_of
from ._onnx_file import ModelMetadata, NodeArg, OnnxFile
from ._session_options import SessionOptions, compile_settings, unsupported

_PROVIDER = "CPUExecutionProvider"
_MISSING_FILE_CODE, _TENSOR_CODE, _NAME_CODE = "B0201", "B0404", "B0405"
_BUNDLE = b"BRNSHBUN"  # How a bundle's bytes begin.
# Sets of sizes with a model of their own. Who has more wants one for a range.
_MODELS_MAX, _MODELS_WARN = 16, 4
# Arguments of burnish.compile that a session takes by name.
_COMPILE = {"accuracy", "data", "database", "dims", "opt_level", "precision", "refit", "require_tuned", "server", "shapes",
            "target", "threads", "values"}
_IGNORED = {"disabled_optimizers", "enable_fallback", "read_config_from_model"}


def get_available_providers() -> list[str]:
    """The CPU's, by ONNX Runtime's name."""
    return [_PROVIDER]


def get_device() -> str:
    """``"CPU"``."""
    return "CPU"


def _tensor_error(message: str, code: str = _TENSOR_CODE) -> BurnishError:
    return BurnishError(message, code=code)


class InferenceSession:
    """A model behind ONNX Runtime's signature.

    Parameters
    ----------
    path_or_bytes : str, os.PathLike or bytes
        An ONNX file, its bytes, or a bundle. A model all of whose sizes are said is compiled now; one that leaves sizes
        open is compiled for the sizes of a run when they come for the first time. ``dims={"batch": (1, 8)}`` compiles it
        now, once for all of a range.
    sess_options : SessionOptions, optional
        ``intra_op_num_threads`` and ``graph_optimization_level`` count.
    providers, provider_options : sequence, optional
        Without effect: the CPU runs it.
    **compile_options
        Of `burnish.compile`: ``dims``, ``shapes``, ``precision``, ``database`` and others.

    Raises
    ------
    BurnishError
        As `burnish.compile` and `burnish.load` do, and B0103 for what has no counterpart.
    """

    def __init__(self, path_or_bytes: str | os.PathLike[str] | bytes, sess_options: SessionOptions | None = None,
                 providers: Sequence[Any] | None = None, provider_options: Sequence[Any] | None = None,
                 **compile_options: Any):
        unknown = compile_options.keys() - _COMPILE - _IGNORED
        if unknown:
            raise TypeError(f"InferenceSession takes no {', '.join(sorted(unknown))}; of burnish.compile it takes "
                            + ", ".join(sorted(_COMPILE)))
        self._options = {**compile_settings(sess_options),
                         **{name: value for name, value in compile_options.items() if name in _COMPILE}}
        self._session_options = sess_options
        self._source = path_or_bytes
        self._lock = threading.Lock()
        self._models: OrderedDict[tuple[tuple[int, ...], ...], Model] = OrderedDict()
        self._fixed: Model | None = None
        self._open()

    def _open(self) -> None:
        if isinstance(self._source, (str, os.PathLike)):
            path = os.fspath(self._source)
            try:
                with open(path, "rb") as file:
                    data = file.read(len(_BUNDLE))
                    is_bundle = data == _BUNDLE
                    data = b"" if is_bundle else data + file.read()
            except OSError as error:
                raise BurnishError(f"{path}: {error.strerror}", code=_MISSING_FILE_CODE) from error
        else:
            path, data, is_bundle = "the model", bytes(self._source), False
        if is_bundle:
            self._fixed = load(path, threads=self._options.get("threads"))
            self._about = _about_bundle(self._fixed)
            return
        self._about = _onnx_file.read(data, path)
        given = {**self._options.get("shapes", {}), **self._options.get("values", {})}
        is_open = any(not isinstance(size, int) for each in self._about.inputs if each.name not in given
                      for size in each.shape)
        if not is_open or self._options.get("dims"):
            self._fixed = _compile.compile(self._source, **self._options)

    # --- what it says of itself

    def get_inputs(self) -> list[NodeArg]:
        """Those that a run must have, in the model's order."""
        return list(self._about.inputs)

    def get_outputs(self) -> list[NodeArg]:
        """All, in the model's order."""
        return list(self._about.outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs that a run may leave out."""
        return list(self._about.overridable)

    def get_modelmeta(self) -> ModelMetadata:
        """What the file says."""
        return self._about.about

    def get_providers(self) -> list[str]:
        """The CPU's."""
        return get_available_providers()

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """None."""
        return {_PROVIDER: {}}

    def get_session_options(self) -> SessionOptions | None:
        """Those that it was made with."""
        return self._session_options

    def set_providers(self, providers: Sequence[Any] | None = None, provider_options: Sequence[Any] | None = None) -> None:
        """Without effect."""

    def disable_fallback(self) -> None:
        """Without effect."""

    def enable_fallback(self) -> None:
        """Without effect."""

    def end_profiling(self) -> str:
        """Refused."""
        raise unsupported("end_profiling", "`tuner bench BUNDLE --profile` has the time of each step")

    # --- runs

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
            run_options: Any = None) -> list[numpy.ndarray[Any, Any]]:
        """Run one inference.

        Parameters
        ----------
        output_names : sequence of str, or None
            None, or an empty one: all.
        input_feed : mapping of str to tensor
        run_options : RunOptions, optional
            Without effect.

        Returns
        -------
        list of numpy.ndarray
            In the order of `output_names`.

        Raises
        ------
        ValueError
            An input is missing.
        BurnishError
            A name is not the model's (``code`` B0405), or a tensor has another type or shape (B0404).
        """
        return self._run(output_names, input_feed)

    def io_binding(self) -> IOBinding:
        """For `run_with_iobinding`."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Run one inference on what is bound."""
        iobinding._run()

    def _check_input(self, name: str) -> None:
        known = [each.name for each in (*self._about.inputs, *self._about.overridable)]
        if name not in known:
            raise _tensor_error(f"Invalid input name: {name}; the model has {', '.join(known)}", _NAME_CODE)

    def _check_output(self, name: str) -> None:
        known = [each.name for each in self._about.outputs]
        if name not in known:
            raise _tensor_error(f"Invalid output name: {name}; the model has {', '.join(known)}", _NAME_CODE)

    def _run(self, output_names: Sequence[str] | None, feed: Mapping[str, Any],
             out: Mapping[str, Any] | None = None) -> list[numpy.ndarray[Any, Any]]:
        names = [each.name for each in self._about.outputs]
        wanted = list(output_names) if output_names else names
        missing = [each.name for each in self._about.inputs if each.name not in feed]
        if missing:
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({list(feed)}).")
        for name in feed:
            self._check_input(name)
        for name in wanted:
            self._check_output(name)
        model = self._model_for(feed)
        results = outputs_of(names, out)
        if results is None:  # Also of a model whose input is called "out".
            got = model(**feed)
        else:
            got = model.run(out=results if len(names) > 1 else results[0], **feed)
        arrays = dict(zip(names, got if isinstance(got, tuple) else (got,)))
        return [arrays[name] for name in wanted]

    def _model_for(self, feed: Mapping[str, Any]) -> Model:
        if self._fixed is not None:
            return self._fixed
        inputs = [each for each in self._about.inputs if each.name not in self._options.get("values", {})]
        shapes = {each.name: tuple(numpy.shape(feed[each.name])) for each in inputs}
        key = tuple(shapes.values())
        with self._lock:
            if key in self._models:
                self._models.move_to_end(key)
                return self._models[key]
            for each in inputs:
                _check_tensor(each, feed[each.name], shapes[each.name])
            if len(self._models) == _MODELS_WARN - 1:
                sizes = sorted({size for each in inputs for size in each.shape if isinstance(size, str)})
                warnings.warn(f"{_MODELS_WARN} sets of sizes are compiled one by one; dims={{{sizes[0]!r}: (1, 512)}}"
                              " compiles one model for all of a range" if sizes else
                              f"{_MODELS_WARN} sets of sizes are compiled one by one", RuntimeWarning, stacklevel=4)
            if len(self._models) == _MODELS_MAX:
                self._models.popitem(last=False)
            options = {**self._options, "shapes": {**shapes, **self._options.get("shapes", {})}}
            model = _compile.compile(self._source, **options)
            self._models[key] = model
            return model


def _check_tensor(info: NodeArg, tensor: Any, shape: tuple[int, ...]) -> None:
    """Before anything is compiled for a tensor that the model would refuse."""
    kind = getattr(tensor, "dtype", None)
    wanted = _onnx_file.KIND_OF_NAME.get(info.type, "")
    if isinstance(kind, numpy.dtype) and wanted and kind.name != wanted:
        raise _tensor_error(f"Unexpected input data type of {info.name}: got {kind.name}, want {wanted}")
    if len(shape) != len(info.shape):
        raise _tensor_error(f"Invalid rank for input: {info.name} Got: {len(shape)} Expected: {len(info.shape)}")
    for index, (got, want) in enumerate(zip(shape, info.shape)):
        if isinstance(want, int) and got != want:
            raise _tensor_error(f"Got invalid dimensions for input: {info.name} index: {index} Got: {got} Expected: {want}")


def _about_bundle(model: Model) -> OnnxFile:
    def told(infos: Sequence[Any]) -> list[NodeArg]:
        return [NodeArg(each.name, _onnx_file.NAME_OF_KIND.get(str(each.dtype), "tensor(undefined)"), list(each.shape)) for each in infos]

    return OnnxFile(told(model.inputs), told(model.outputs), [], ModelMetadata())
