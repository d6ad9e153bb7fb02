"""Tunes and compiles neural networks for the CPU that runs them, and runs them.

>>> import burnish
>>> model = burnish.compile("resnet50.onnx")
>>> logits = model(image)

Models come as ONNX files, as their bytes, as objects with ``SerializeToString``
(``onnx.ModelProto``), as programs of ``torch.export``, or as a ``Graph`` of Burnish's own operators.
What compiles and tunes are programs of this package, in processes of their own: this one loads the
runtime alone. Programs that were written for ONNX Runtime find its names here:

>>> import burnish as ort
>>> logits, = ort.InferenceSession("resnet50.onnx").run(None, {"image": image})
"""

from burnish_runtime import (BurnishError, Model, TensorInfo, Threads, __version__, empty, load)

from ._binding import IOBinding, OrtValue
from ._compile import compile
from ._graph import Graph, Value
from ._model_source import Task, from_torch
from ._onnx_file import ModelMetadata, NodeArg
from ._query import Record, query
from ._session import InferenceSession, get_available_providers, get_device
from ._session_options import ExecutionMode, GraphOptimizationLevel, RunOptions, SessionOptions
from ._study import Progress, Study, TaskProgress, TaskResult, TuneResult, studies
from ._torch import explain, refresh, wait
from ._torch.registry import Unsupported, register_converter
from ._tune import tune

__all__ = ["BurnishError", "ExecutionMode", "Graph", "GraphOptimizationLevel", "IOBinding", "InferenceSession", "Model",
           "ModelMetadata", "NodeArg", "OrtValue", "Progress", "Record", "RunOptions", "SessionOptions", "Study", "Task",
           "TaskProgress", "TaskResult", "TensorInfo", "Threads", "TuneResult", "Unsupported", "Value", "__version__",
           "compile", "empty", "explain", "from_torch", "get_available_providers", "get_device", "load", "query",
           "refresh", "register_converter", "studies", "tune", "wait"]
