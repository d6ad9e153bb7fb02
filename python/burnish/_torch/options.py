"""Options of the backend: one table, from `options=` or the environment."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

REFUSE = "error"
FALLBACKS = ("eager", "inductor", REFUSE)
FREEZES = ("sample", "full", "none")
FIRSTS = ("wait", "eager")
BACKGROUND = "background"
PRECISIONS = ("f32", "bf16", "f16", "auto")
TUNES = ("off", "now", BACKGROUND)
FARM = "farm:"  # With HOST:PORT of a tracker behind it.


@dataclasses.dataclass(frozen=True)
class Options:
    """How `backend="burnish"` works. Each has an environment variable, BURNISH_TORCH_ and its name,
    which holds where `options` do not say otherwise."""

    fallback: str = "eager"  #: Who runs graphs that train, or stay in PyTorch whole; "error": nobody.
    strict: bool = False  #: Whether what would fall back is an error.
    freeze: str = "sample"  #: How changed weights are found; "none": weights are inputs.
    first: str = "wait"  #: For the bundle; "eager": calls run in PyTorch until it is ready.
    #: "now": on this machine; "background": there, in the gaps between calls; "farm:HOST:PORT": elsewhere.
    tune: str = "off"
    trials: int | None = None  #: Of a study; by default until nothing is gained.
    time: str | None = None  #: Of a study, such as "30m".
    scheduler: str | None = None  #: Of a study: a preset of rules and search, as of `burnish.tune`.
    sizes: int = 8  #: How many bundles a graph of dynamic sizes gets; then it stays in PyTorch.
    #: What a dynamic size is at most in a bundle for a range of them, where the graph does not say less; by default as
    #: the calls want it (`sizes.bounds_of`). 0: no ranges.
    size_limit: int | None = None
    threads: int | None = None  #: By default torch.get_num_threads().
    opt_level: int | None = None  #: As of `burnish.compile`, like the next three.
    accuracy: float | str | None = None
    precision: str = "f32"
    database: str | None = None
    cache: bool = True  #: Whether bundles of earlier processes are taken, and kept for later ones.
    dump: str | None = None  #: A folder for each piece's graph, as a file and as text.

    def __post_init__(self) -> None:
        for name, allowed in (("fallback", FALLBACKS), ("freeze", FREEZES),
                              ("first", FIRSTS), ("precision", PRECISIONS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"option {name}: got {getattr(self, name)!r}, want one of "
                                 f"{', '.join(allowed)}")
        if self.tune not in TUNES and not self.tune.startswith(FARM):
            raise ValueError(f"option tune: got {self.tune!r}, want {', '.join(TUNES)} or {FARM}HOST:PORT")
        if self.strict and self.first == "eager":
            raise ValueError("option strict: what is compiled behind the calls cannot fail in one: "
                             "want first=\"wait\" with it")
        if self.sizes < 1:
            raise ValueError(f"option sizes: got {self.sizes}, want at least 1")
        if self.size_limit is not None and self.size_limit < 0:
            raise ValueError(f"option size_limit: got {self.size_limit}, want at least 0")


    @property
    def narrows(self) -> bool:
        """Whether weights are rounded to 16 bits, so that a bundle takes no others."""
        return self.precision != "f32"


_READERS = {"bool": lambda text: {"0": False, "1": True}[text], "int": int, "int | None": int,
            "float | str | None": lambda text: text if text == "strict" else float(text)}


def options_of(given: Mapping[str, Any] | None) -> Options:
    """What the user said; a name that is not known is an error that lists those that are."""
    given = dict(given or {})
    fields = {field.name: field for field in dataclasses.fields(Options)}
    unknown = sorted(set(given) - set(fields))
    if unknown:
        raise ValueError(f"unknown option {unknown[0]!r}; the options are {', '.join(fields)}")
    for name, field in fields.items():
        text = os.environ.get(f"BURNISH_TORCH_{name.upper()}")
        if name in given or text is None:
            continue
        try:
            given[name] = _READERS.get(str(field.type), str)(text)
        except (KeyError, ValueError) as error:
            raise ValueError(f"BURNISH_TORCH_{name.upper()}: got {text!r}, want {field.type}") from error
    return Options(**given)
