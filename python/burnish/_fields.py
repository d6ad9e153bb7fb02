"""From an answer of ``tuner`` to a dataclass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


def fields_of(kind: type, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Those values of an answer that `kind` has; later versions of ``tuner`` may say more."""
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in answer.items() if name in names}
