"""PyTorch's models: from ATen graphs to `burnish.Graph`, and the backend of torch.compile.

Read `importer.py` first, then `backend.py`. This file, `registry.py`, `builder.py` and `conversion.py` import no torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .explanation import Explanation


def refresh(model: Any = None) -> None:
    """Look at all weights before the next call of what torch.compile made with backend="burnish".

    A write that neither PyTorch's version counters nor the sample of contents shows yet is found then
    (docs/pytorch.md, "Weights").

    Parameters
    ----------
    model : torch.nn.Module, optional
        Whose weights; by default those of all models.
    """
    pieces = sys.modules.get(f"{__name__}.pieces")
    if pieces is not None:  # Else nothing is compiled.
        pieces.refresh(model)


def wait(seconds: float | None = None) -> bool:
    """Wait until nothing is compiled or tuned behind running models of torch.compile.

    Parameters
    ----------
    seconds : float, optional
        At most.

    Returns
    -------
    bool
        False: something still is.
    """
    pieces = sys.modules.get(f"{__name__}.pieces")
    return pieces is None or bool(pieces.wait(seconds))


def explain(model: Callable[..., Any], *inputs: Any, options: Mapping[str, Any] | None = None,
            seconds: float = 1.0, **named_inputs: Any) -> Explanation:
    """Say what becomes of a PyTorch model under backend="burnish": compile it anew, and call it.

    Parameters
    ----------
    model : torch.nn.Module or function
        Compiled already or not.
    *inputs, **named_inputs
        Of a call.
    options : mapping, optional
        Of the backend (docs/pytorch.md).
    seconds : float, default 1.0
        For how long to call it, in turn with eager.

    Returns
    -------
    Explanation
        Pieces with the time that each takes, and each of their steps; what tuning would bring at most
        (an estimate); operators that stay in PyTorch and why, graphs, graph breaks; ``print`` it. Call this as the model is called, under ``torch.inference_mode()`` say.
    """
    from . import explanation  # Imports torch.
    return explanation.explain(model, *inputs, options=options, seconds=seconds, **named_inputs)
