"""A warning that points at the user's own line, however deep inside pgbn it comes from."""

from __future__ import annotations

import sys
import warnings

from pgbn.notices import PgbnWarning

__all__ = ["notify"]

# scikit-learn wraps `transform` and calls it in pipelines: its lines tell the user nothing either.
_INSIDE = ("pgbn", "sklearn")


def notify(message: str) -> None:
    """Warn with a `PgbnWarning` at the nearest caller outside pgbn."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _package(frame.f_globals) in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, PgbnWarning, stacklevel=level)


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
