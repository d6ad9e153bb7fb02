"""The one exception. A module of its own, because the extension imports it too."""

from __future__ import annotations


class BurnishError(Exception):
    """What the runtime, or Burnish's programs, refused or could not do.

    Attributes
    ----------
    message : str
        What came, what was wanted, and for which tensor or file.
    code : str or None
        Its number in the documentation, such as ``"B0404"``; None where it has none.
    status : str or None
        Its kind, as in ``burnish.h``: ``"INVALID_ARGUMENT"``, ``"NOT_FOUND"``, ...
    """

    def __init__(self, message: str, *, code: str | None = None, status: str | None = None):
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status


BurnishError.__module__ = "burnish_runtime"  # Where users find it, and pickle.
