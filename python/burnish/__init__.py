"""Tunes and compiles neural networks for the CPU that runs them, and runs them.

>>> import burnish
>>> model = burnish.compile("resnet50.onnx")
>>> logits = model(image)

Models come as ONNX files, as their bytes, as objects with ``SerializeToString``
(``onnx.ModelProto``), as programs of ``torch.export``, or as a ``Graph`` of Burnish's own operators.
What compiles and tunes are programs of this package, in processes of their own: this one loads the
runtime alone.
"""

from burnish_runtime import (BurnishError, Model, TensorInfo, Threads, __version__, empty, load)

from ._compile import compile
from ._graph import Graph, Value
from ._model_source import Task, from_torch
from ._query import Record, query
from ._study import Progress, Study, TaskProgress, TaskResult, TuneResult, studies
from ._torch import explain, refresh, wait
from ._torch.registry import Unsupported, register_converter
from ._tune import tune

__all__ = ["BurnishError", "Graph", "Model", "Progress", "Record", "Study", "Task", "TaskProgress",
           "TaskResult", "TensorInfo", "Threads", "TuneResult", "Unsupported", "Value", "__version__",
           "compile", "empty", "explain", "from_torch", "load", "query", "refresh",
           "register_converter", "studies", "tune", "wait"]
