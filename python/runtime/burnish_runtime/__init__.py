"""Runs Burnish's bundles: compiled models, one file each, on the CPU.

>>> import burnish_runtime
>>> model = burnish_runtime.load("resnet50.bundle")
>>> logits = model(image)

Tensors are NumPy arrays, or anything else in the CPU's memory that has a buffer, DLPack or
``__array_interface__``; none is copied in Python.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ._burnish_runtime import Model, TensorInfo, Threads, __version__, empty, open_bundle
from ._errors import BurnishError

__all__ = ["BurnishError", "Model", "TensorInfo", "Threads", "__version__", "empty", "load"]


def load(path: str | bytes | os.PathLike[str] | os.PathLike[bytes], *,
         threads: int | Threads | None = None, cpus: Sequence[int] | None = None,
         share_with: Model | None = None, trust_parameters: bool = False,
         loop_limit: int | None = None) -> Model:
    """Open a bundle.

    Parameters
    ----------
    path : str, bytes or os.PathLike
        A file that ``tuner compile``, ``tuner submit`` or ``burnish.compile`` wrote.
    threads : int or Threads, optional
        How many threads take part in an inference, the caller's included, or threads that models
        share. By default as many as the bundle was tuned for, but not more than there are CPUs.
    cpus : sequence of int, optional
        The CPU of each thread, of those that the process may use; as many threads as there are
        numbers. The caller's thread runs on the first during each inference.
    share_with : Model, optional
        A model of the same bundle: this one uses its parameters, with activations and threads of
        its own, so that both run at the same time; `Threads.disjoint` gives each CPUs of its own.
    trust_parameters : bool, default False
        Leave out the check of the parameters' hash, which takes about 0.3 ms a megabyte of one
        core.
    loop_limit : int, optional
        A loop whose end a run decides ends it with an error when it goes on after so many
        iterations; 1,000,000 by default.

    Returns
    -------
    Model

    Raises
    ------
    BurnishError
        There is no such file (``code`` B0201), it is not a bundle (B0401), damaged (B0402), or
        for a CPU or version that this is not (B0403).
    """
    if cpus is not None:
        if isinstance(threads, Threads):
            raise TypeError("cpus: got Threads as well, which have their CPUs: Threads(cpus=...)")
        threads = Threads(0 if threads is None else threads, cpus=cpus)
    return open_bundle(os.path.abspath(os.fsdecode(path)), threads, share_with, trust_parameters,
                       loop_limit)
