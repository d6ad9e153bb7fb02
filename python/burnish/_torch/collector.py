"""Python's collector of cycles, while a first answer is awaited."""

from __future__ import annotations

import gc

_OLDEST = 2
_postponed_at = -1  # How many collections of the oldest objects there had been.


def postpone() -> None:
    """A collection of the oldest objects that is due comes later, once.

    What PyTorch makes when it is imported and when it traces a model, some 400,000 objects that stay, makes such a
    collection due: 0.2 s, which fall to whom makes the next few hundred objects, and a piece makes thousands. It is due
    again after some 70,000 objects, and then takes place. Nothing is switched off, so that nothing has to be restored.
    """
    global _postponed_at
    collections = gc.get_stats()[_OLDEST]["collections"]
    if collections == _postponed_at or gc.get_freeze_count():
        return  # The second: what the process has frozen would not stay so.
    _postponed_at = collections
    try:
        gc.freeze()  # All young and old objects are set aside,
    finally:
        gc.unfreeze()  # and are old ones now: nothing was looked at, and counting begins again.
