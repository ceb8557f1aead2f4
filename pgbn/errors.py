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
    "missing_attribute",
    "missing_name",
    "notify",
    "printable",
    "tell",
]

import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from types import MappingProxyType

# C0 except tab and newline, DEL, C1, line separators, marks and overrides of the direction, and
# surrogates (half characters), which no file and no terminal accepts.
_CONTROL = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: object, *, one_line: bool = False) -> str:
    """A text that is safe to show in a terminal.

    Control characters, which a term or a file name may contain, are shown as \\u001b. JSON keeps
    its meaning. Newlines and tabs stay, unless ``one_line``."""
    shown = _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))
    return shown.replace("\n", "\\n").replace("\t", "\\t") if one_line else shown


def tell(line: object) -> None:
    """Print a line about work that continues, also if the standard output is closed or full."""
    with suppress(OSError, ValueError):
        print(printable(line, one_line=True), flush=True)


class PgbnError(ValueError):
    """Base of all errors raised by pgbn; a ValueError, as scikit-learn expects.

    Its text is safe to show in a terminal."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(printable(a) if isinstance(a, str) else a for a in args))


class NetworkError(PgbnError):
    """A network that is not well formed: names, dims, parameters, cycles."""


class MissingRuleError(NetworkError):
    """A latent node that would receive evidence for which no conjugate rule is registered."""


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


def missing_attribute(
    owner: object, name: str, instead: Mapping[str, str], hint: str = ""
) -> AttributeError:
    """The error for an attribute that an object lacks, with what to write instead.

    ``instead`` has what to write for words of other packages."""
    if not hint and not name.startswith("_"):
        near = get_close_matches(name, [n for n in dir(type(owner)) if n[0] != "_"], 1, 0.75)
        word = instead.get(name, near[0] if near else "")
        hint = f"; write {word}" if name in instead else f"; did you mean {word!r}?" if word else ""
    return AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}{hint}")


def missing_name(
    module: str, name: str, known: Iterable[str], instead: Mapping[str, str] = MappingProxyType({})
) -> AttributeError:
    """The error for a name that a module lacks: with what to write instead, or a similar name."""
    words = {word.lower(): word for word in known}
    near = [] if name.startswith("_") else get_close_matches(name.lower(), words, 1, 0.6)
    hint = f"; did you mean {module}.{words[near[0]]}?" if near else ""
    if name in instead:
        hint = f"; {instead[name]}"
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}")


# ---- warnings -------------------------------------------------------------------------

# scikit-learn wraps `transform`, and pydantic makes classes: their lines do not help users.
_INSIDE = ("pgbn", "pydantic", "sklearn")


class PgbnWarning(UserWarning):
    """Data that were handled in a special way: empty documents, unknown terms, …"""


def notify(message: str) -> None:
    """Warn at the user's own line, which is the nearest caller outside pgbn."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _package(frame.f_globals) in _INSIDE:
        frame, level = frame.f_back, level + 1
    try:
        warnings.warn(printable(message), PgbnWarning, stacklevel=level)
    except ValueError:  # the standard error is closed, so that no warning can be printed
        if not getattr(sys.stderr, "closed", False):
            raise


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
