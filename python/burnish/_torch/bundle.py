"""What a piece runs for some sizes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

from burnish_runtime import Model

from .results import Layout, Result, Results
from .sizes import At, Size


@dataclasses.dataclass
class Bundle:
    """A piece for some sizes. `model` is None where it stays in PyTorch, or does until its bundle is ready."""

    model: Model | None
    taken: list[int] = dataclasses.field(default_factory=list)  #: Arguments that are inputs.
    made: list[Layout] = dataclasses.field(default_factory=list)  #: Of outputs.
    results: list[Result] = dataclasses.field(default_factory=list)
    cuts: list[Layout] = dataclasses.field(default_factory=list)  #: Of outputs in this call, where it fills a part.
    #: Of a range: its sizes, and where its results come from.
    range: tuple[list[Size], Results] | None = None
    names: dict[int, str] = dataclasses.field(default_factory=dict)  #: Of constants, by argument.
    refits: bool = False
    own: bool = True  #: Whether nobody else uses its file.
    how: str = ""  #: As of `making.Made`.

    def at(self, values: Sequence[int]) -> Bundle:
        """Of a range: for a call of these sizes."""
        if self.range is None or self.model is None:
            return self
        sizes, results = self.range
        at = At(sizes, values)
        return dataclasses.replace(self, cuts=results.layouts(at.of), results=results.results(at.of))

    def discard(self) -> None:
        """Its file is as large as the weights. What runs keeps it as long as that takes."""
        if self.model is not None and self.own:
            os.unlink(self.model.path)
