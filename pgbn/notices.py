"""The warning that pgbn gives where it can go on, but a user should know."""

from __future__ import annotations

import sys
import warnings

__all__ = ["PgbnWarning", "notify"]

# scikit-learn wraps `transform` and calls it in pipelines: its lines tell the user nothing either.
_INSIDE = ("pgbn", "sklearn")


class PgbnWarning(UserWarning):
    """Data that were handled in a way worth knowing: empty documents, unknown terms, …"""


def notify(message: str) -> None:
    """Warn at the user's own line, the nearest caller outside pgbn, however deep we are in it."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _package(frame.f_globals) in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, PgbnWarning, stacklevel=level)


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
