"""Every error that a user can meet, all of them a `PgbnError`, and the one warning."""

__all__ = [
    "DataError",
    "MissingRuleError",
    "NetworkError",
    "PgbnError",
    "PgbnWarning",
    "StaleReadError",
    "StorageError",
    "did_you_mean",
    "notify",
]

import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches


class PgbnError(ValueError):
    """Base of all errors raised by pgbn; a ValueError, as scikit-learn expects."""


class NetworkError(PgbnError):
    """A network that is not well formed: names, dims, parameters, cycles."""


class MissingRuleError(NetworkError):
    """A latent node that would hear evidence for which no conjugate rule is registered."""


class StaleReadError(PgbnError):
    """An order of steps that conditions on a value which an earlier step integrated out."""


class DataError(PgbnError):
    """Data, initial values or sizes that do not fit the network."""


class StorageError(PgbnError):
    """Files that cannot be read or written: foreign, damaged, of a newer version, a full disk."""


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """`` Did you mean 'x'?`` if a known word is close, else the list of known words."""
    words = sorted(known)
    close = get_close_matches(str(word), words, n=1)
    if close:
        return f" Did you mean {close[0]!r}?"
    return f" Known: {', '.join(words)}." if words else ""


# ---- warnings -------------------------------------------------------------------------

# scikit-learn wraps `transform` and calls it in pipelines: its lines tell the user nothing either.
_INSIDE = ("pgbn", "sklearn")


class PgbnWarning(UserWarning):
    """Data that were handled in a way worth knowing: empty documents, unknown terms, …"""


def notify(message: str) -> None:
    """Warn at the user's own line, the nearest caller outside pgbn, however deep we are in it."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _package(frame.f_globals) in _INSIDE:
        frame, level = frame.f_back, level + 1
    try:
        warnings.warn(message, PgbnWarning, stacklevel=level)
    except ValueError:  # a warning is none: there is no standard error any more to print it to
        if not getattr(sys.stderr, "closed", False):
            raise


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
