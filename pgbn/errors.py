"""Every error that a user can meet. All derive from `PgbnError`."""

__all__ = [
    "DataError",
    "MissingRuleError",
    "NetworkError",
    "PgbnError",
    "StaleReadError",
    "StorageError",
    "did_you_mean",
]

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
