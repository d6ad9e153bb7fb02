"""PyTorch's models: from ATen graphs to `burnish.Graph`, and the backend of torch.compile.

Read `importer.py` first, then `backend.py`. This file, `registry.py` and `builder.py` import no torch.
"""

from __future__ import annotations

import sys
from typing import Any


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
