"""Options of the backend: one table, from `options=` or the environment."""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Mapping
from typing import Any

REFUSE = "error"
FALLBACKS = ("eager", "inductor", REFUSE)
FREEZES = ("sample", "full", "none")
FIRSTS = ("wait", "eager")
BACKGROUND = "background"
PRECISIONS = ("f32", "bf16", "f16", "auto")
TUNES = ("off", "now", BACKGROUND)
FARM = "farm:"  # With HOST:PORT or unix:PATH of a tracker behind it.
# Of tuner/study/search_preset.cc, but for "default", which measures nothing.
SCHEDULERS = ("burnish", "templates", "generator", "auto_scheduler", "meta_schedule")
OF_STUDIES = ("trials", "time", "scheduler")
_PORT_MAX = 65535
_TRIALS_MIN = -1  # Until the gain is small.
_OPT_LEVEL_MAX = 3


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
    scheduler: str | None = None  #: Of a study: one of SCHEDULERS.
    sizes: int = 8  #: How many bundles a graph of dynamic sizes gets; then it stays in PyTorch.
    #: What a dynamic size is at most in a bundle for a range of them, where the graph does not say less; by default as
    #: the calls want it (`sizes.bounds_of`). 0: no ranges.
    size_limit: int | None = None
    threads: int | None = None  #: By default torch.get_num_threads().
    opt_level: int | None = None  #: As of `burnish.compile`, like the next three.
    accuracy: float | str | None = None
    precision: str = "f32"
    database: str | os.PathLike[str] | None = None
    cache: bool = True  #: Whether bundles of earlier processes are taken, and kept for later ones.
    dump: str | os.PathLike[str] | None = None  #: A folder for each piece's graph, as a file and as text.

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            _check_type(field.name, getattr(self, field.name), str(field.type))
        for name, allowed in (("fallback", FALLBACKS), ("freeze", FREEZES), ("first", FIRSTS),
                              ("precision", PRECISIONS), ("scheduler", (None, *SCHEDULERS))):
            if getattr(self, name) not in allowed:
                raise _wrong(name, getattr(self, name), f"one of {', '.join(filter(None, allowed))}")
        if self.tune not in TUNES and not _names_a_tracker(self.tune):
            raise _wrong("tune", self.tune, f"{', '.join(TUNES)}, {FARM}HOST:PORT or {FARM}unix:PATH")
        for name, least, most in (("sizes", 1, None), ("size_limit", 0, None), ("threads", 1, None),
                                  ("opt_level", 0, _OPT_LEVEL_MAX), ("trials", _TRIALS_MIN, None)):
            value = getattr(self, name)
            if value is not None and not least <= value <= (value if most is None else most):
                raise _wrong(name, value, f"at least {least}" if most is None else f"{least} to {most}")
        if self.accuracy is not None and self.accuracy != "strict" and not (
                isinstance(self.accuracy, (int, float)) and 0 < self.accuracy < math.inf):
            raise _wrong("accuracy", self.accuracy, 'a share above 0, or "strict"')
        if self.time is not None and not re.fullmatch(r"(?=.*[1-9])([0-9]+(\.[0-9]+)?[hms])+", self.time):
            raise _wrong("time", self.time, "such as 90s, 10m or 2h")
        self._refuse_what_does_nothing()

    def _refuse_what_does_nothing(self) -> None:
        """Options that these others leave without an effect."""
        if self.strict and self.first == "eager":
            raise ValueError("option strict: what is compiled behind the calls cannot fail in one: "
                             "want first=\"wait\" with it")
        if self.strict and self.fallback == "inductor":
            raise ValueError("option strict: what would stay in PyTorch is an error, so that fallback=\"inductor\" runs "
                             "nothing: want one of the two")
        given = [name for name in OF_STUDIES if getattr(self, name) is not None]
        if given and self.tune == "off":
            raise ValueError(f"option {given[0]}: it is of a study, and nothing is tuned: want tune=\"now\", "
                             f"tune=\"{BACKGROUND}\" or tune=\"{FARM}HOST:PORT\" with it")

    @property
    def narrows(self) -> bool:
        """Whether weights are rounded to 16 bits, so that a bundle takes no others."""
        return self.precision != "f32"


def _wrong(name: str, got: Any, want: str) -> ValueError:
    return ValueError(f"option {name}: got {got!r}, want {want}")


# By an option's type: what values of it are, and in words.
_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "bool": ((bool,), "True or False"), "int": ((int,), "an integer"), "float": ((int, float), "a number"),
    "str": ((str,), "a text"), "os.PathLike[str]": ((os.PathLike,), "a path")}


def _check_type(name: str, value: Any, annotation: str) -> None:
    """True and False are no numbers here."""
    if value is None and "None" in annotation:
        return
    kinds = [_TYPES[kind] for kind in annotation.split(" | ") if kind != "None"]
    if isinstance(value, bool) != (annotation == "bool") or not any(isinstance(value, kind) for kind, _ in kinds):
        raise _wrong(name, value, " or ".join(text for _, text in kinds))


def _names_a_tracker(tune: str) -> bool:
    address = tune.removeprefix(FARM)
    if tune.startswith(FARM) and address.startswith("unix:"):
        return address != "unix:"
    host, _, port = address.rpartition(":")
    return tune.startswith(FARM) and bool(host) and port.isascii() and port.isdigit() and 0 < int(port) <= _PORT_MAX


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
