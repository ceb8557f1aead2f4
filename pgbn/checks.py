"""Checks of arguments that several subpackages share: numbers, names, arrays."""

from __future__ import annotations

import errno
import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError, did_you_mean

MOST_THREADS = 1024  # systems allow no more
MOST_LAYERS = 100  # of a network that is trained
# The default maximum widths of estimators and commands. They shrink, so that upper layers can be
# read like a table of contents (docs/howto/widths.md has the measurements).
WIDTHS = (80, 20, 6)
DEPTH = len(WIDTHS)
# Names of other packages for the number of topics.
OTHER_NAMES = ("n_components", "num_topics", "n_topics", "nr_topics", "k", "K", "T")


P = ParamSpec("P")
R = TypeVar("R")


def validated(function: Callable[P, R]) -> Callable[P, R]:
    """A public function whose arguments are checked by the types in its signature.

    ``Annotated[int, check]``: ``check(value, name)`` returns the value to use, or raises an error
    that names the argument; with ``| None``, None passes. The body can trust its arguments.
    """
    signature = inspect.signature(function)

    @cache
    def checks() -> dict[str, Callable[[Any, str], Any]]:
        scope = function.__globals__
        found = {
            name: _check_in(_resolved(parameter.annotation, scope))
            for name, parameter in signature.parameters.items()
        }
        return {name: check for name, check in found.items() if check is not None}

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(_wrong_call(function, signature, args, kwargs, error)) from None
        bound.apply_defaults()
        for name, check in checks().items():
            bound.arguments[name] = check(bound.arguments[name], name)
        return function(*bound.args, **bound.kwargs)

    return checked


# Arguments of other packages, and of earlier versions, as they are called here.
# Several, of which a function has at most one, are divided by blanks.
_OWN_WORDS = {
    **dict.fromkeys(("warmup", "tune", "burnin", "num_warmup"), "burn_in"),
    **dict.fromkeys(("samples", "n_samples", "num_samples", "n_draws"), "draws"),
    **dict.fromkeys(("n_iter", "num_iterations", "iterations", "iters"), "draws sweeps"),
    **dict.fromkeys(("max_iter", "epochs", "passes"), "draws sweeps"),
    **dict.fromkeys(("n", "n_words", "num_words", "topn", "n_top_words"), "top"),
    **dict.fromkeys(("alpha", "beta", "topic_word_prior"), "eta"),
    **dict.fromkeys(("random_state", "random_seed", "rng"), "seed"),
    **dict.fromkeys(("n_jobs", "cores", "num_threads"), "threads"),
    **dict.fromkeys(("num_chains", "n_chains"), "chains"),
    **dict.fromkeys(("held", "fixed", "known"), "given"),
    "seed": "random_state",
    "threads": "n_jobs",
    **dict.fromkeys(OTHER_NAMES, "width max_width widths"),
    "layer1": "sampler",
    "step": "sampler",
    **dict.fromkeys(("init", "initvals"), "start"),
    "size": "sizes",
}


def _wrong_call(
    function: Callable[..., Any],
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: TypeError,
) -> str:
    """What is wrong with the arguments of a call: an unknown one, or else Python's own words."""
    names, name = list(signature.parameters), function.__name__
    if names[:1] == ["self"]:
        owner = type(args[0]).__name__
        names, name = names[1:], owner if name == "__init__" else f"{owner}.{name}"
    for unknown in [each for each in kwargs if each not in names]:
        return f"{name} has no argument {unknown!r}.{own_word(unknown, names)}"
    missing = re.match(r"missing a required.* argument: '(\w+)'", str(error))
    if missing is not None:
        every = [p for p in signature.parameters.values() if p.name in names]
        needed = [p.name for p in every if p.default is p.empty and p.kind not in (2, 4)]
        return f"{name}: the argument {missing[1]!r} is missing; write {name}({', '.join(needed)})"
    if "too many positional" in str(error):
        listed = ", ".join(names) or "none"
        return f"{name}: too many arguments by position; its arguments are: {listed}"
    return f"{name}: {error}"


def own_word(unknown: str, names: list[str]) -> str:
    """`` Did you mean 'x'?`` for an argument that a function lacks; ``names`` are those it has."""
    own = next((word for word in _OWN_WORDS.get(unknown, "").split() if word in names), None)
    if own is not None:
        return f" Did you mean {own!r}?"
    hint = did_you_mean(unknown, names)
    if "sizes" in names and unknown not in _OWN_WORDS and "Did you mean" not in hint:
        hint += f" If it is a dim, give its size as sizes={{{unknown!r}: …}}."
    return hint


def _resolved(annotation: Any, scope: dict[str, Any]) -> Any:
    """The type that an annotation names. A type that only type checkers import has no check."""
    try:
        return eval(annotation, scope) if isinstance(annotation, str) else annotation
    except NameError:
        return None


def _check_in(hint: Any) -> Callable[[Any, str], Any] | None:
    """The check in an annotated type, if any."""
    if get_origin(hint) is Annotated:
        own: Callable[[Any, str], Any] = hint.__metadata__[0]
        return own
    inner = next((check for part in get_args(hint) if (check := _check_in(part))), None)
    if inner is None or type(None) not in get_args(hint):
        return None
    return lambda value, name: None if value is None else inner(value, name)


def is_integral(value: Any) -> bool:
    """Whether a value is an integer or an integral float.

    A bool is not, nor a span of time, which numpy counts among integers."""
    if isinstance(value, (bool, np.timedelta64)):
        return False
    return isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())


def is_finite_number(value: Any) -> bool:
    """Whether a value is a finite real number; a bool is not."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:  # an integer that is too large for a float
        return False


def check_integer(name: str, value: Any, least: int) -> int:
    """``value`` as an int, or an error that names the argument."""
    if not is_integral(value) or value < least:
        raise DataError(f"{name}={value!r:.60} must be an integer of at least {least}")
    if value >= 2**63:  # too large for any array, count or loop
        raise DataError(f"{name}={value!r:.60}: give a number below 2^63")
    return int(value)


def check_flag(name: str, value: Any) -> bool:
    """True or False, also as a number; an array of several is rejected."""
    if not isinstance(value, (bool, np.bool_)) and not is_integral(value) and value is not None:
        raise DataError(f"{name}={value!r:.60}: give True or False")
    return bool(value)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """One of the words in ``choices``, or an error that lists them; an array is rejected."""
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        raise DataError(f"{name}={value!r:.60} is not known.{did_you_mean(value, known)}")
    return str(value)


def layer_error(name: str, layer: Any, depth: int) -> DataError:
    """The error for a layer that a model of ``depth`` layers lacks."""
    has = "1 layer; give 1" if depth == 1 else f"{depth} layers; give an integer from 1 to {depth}"
    return DataError(f"{name}={layer!r:.60}: the model has {has}")


def check_text(name: str, value: Any) -> str:
    """A text, or an empty one for None."""
    if value is not None and not isinstance(value, str):
        raise DataError(f"{name}={value!r:.60}: give a text")
    return value or ""


def check_mapping(name: str, value: Any) -> dict[Any, Any]:
    """A dict, or an empty one for None."""
    if value is not None and not isinstance(value, Mapping):
        raise DataError(f"{name}={value!r:.60}: give a dict")
    return dict(value or {})


def listed(name: str, value: Any, remedy: str) -> list[Any]:
    """The entries of a list, an array or an iterator; a text is rejected."""
    try:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError
        return list(value)
    except TypeError:
        raise DataError(f"{name}={value!r:.60}: {remedy}") from None


def thread_count(threads: int | None) -> int:
    """The number of threads: the argument, else PGBN_THREADS, else the cores of this process."""
    name = "threads"
    if threads is None:
        name = "PGBN_THREADS"
        text = os.environ.get("PGBN_THREADS", "")
        if not text:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (
                os.cpu_count() or 1
            )  # fmt: skip
        try:
            threads = int(text)
        except ValueError:
            raise DataError(f"PGBN_THREADS={text!r} must be a positive integer") from None
    if check_integer(name, threads, 1) > MOST_THREADS:
        raise DataError(f"{name}={threads!r} must be at most {MOST_THREADS}")
    return int(threads)


def check_seed(seed: int, name: str = "seed") -> int:
    """A seed is an integer from 0 to 2^64 − 1."""
    whole = isinstance(seed, (int, np.integer)) and is_integral(seed)
    if not whole or not 0 <= seed < 2**64:
        raise DataError(f"{name}={seed!r:.60} must be an integer from 0 to 2^64 - 1")
    return int(seed)


def check_path(name: str, value: Any) -> Path:
    """``value`` as a path that a file or a folder can have, or an error that names the argument.

    An empty string is rejected: it would be the current working folder."""
    text, reason = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None, ""
    if not isinstance(text, str) or not text:
        reason = "give a path"
    else:
        try:
            os.lstat(text)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                reason = "give a shorter name"
        except ValueError:  # NUL, or half a character
            reason = "no file can have this name; give another"
    if reason:
        raise DataError(f"{name}={value!r:.60}: {reason}")
    return Path(str(text))


def check_place(name: str, value: Any) -> Path:
    """`check_path`, as an absolute path.

    Long work then writes to the same place if a callback changes the working folder."""
    path = check_path(name, value)
    try:
        return path.absolute()
    except OSError as error:
        raise DataError(
            f"{name}={str(path)!r}: the working folder does not exist ({error.strerror}); give "
            "an absolute path"
        ) from None


def check_names(
    argument: str, names: Sequence[Any] | Mapping[Any, int], size: int | None = None
) -> list[str]:
    """One name for each of ``size`` things, in their order.

    The names in a dict from names to numbers, such as ``CountVectorizer.vocabulary_``, are sorted
    by the numbers, which must be 0, 1, …
    """
    in_a_row = hasattr(names, "__len__") and hasattr(names, "__getitem__")
    in_a_row = in_a_row and getattr(names, "ndim", 1) == 1 and not isinstance(names, type)
    if isinstance(names, Mapping):
        numbers = list(names.values())
        whole = all(is_integral(number) for number in numbers)
        if not whole or sorted(numbers) != list(range(len(numbers))):
            raise DataError(
                f"{argument}: a dict must give each name its column, 0 to {len(numbers) - 1} and "
                "each once; or give a list of the names in the order of the columns"
            )
        names = sorted(names, key=names.__getitem__)
    elif isinstance(names, (str, bytes, bytearray, Set)) or not in_a_row:
        kind = "a string" if isinstance(names, str) else f"a {type(names).__name__}"
        raise DataError(f"{argument}: {kind}; give a list of the names, in their order")
    if size is not None and len(names) != size:
        raise DataError(
            f"{argument}: {len(names)} names, but {size} are needed; for the columns of X, these "
            "are vectorizer.get_feature_names_out()"
            if argument == "vocabulary"
            else f"{argument}: {len(names)} names, but {size} are needed"
        )
    return [str(name) for name in names]


def term_names(vocabulary: Sequence[Any] | Mapping[Any, int] | None, size: int) -> list[str]:
    """The names of ``size`` terms, checked; term0, term1, … by default."""
    if vocabulary is None:
        return [f"term{v}" for v in range(size)]
    return check_names("vocabulary", vocabulary, size)


# ---- types of arguments: `validated` calls the check of each ------------------------------


def at_least(least: int) -> Callable[[Any, str], int]:
    """The check of an integer of at least ``least``."""
    return lambda value, name: check_integer(name, value, least)


def _flag(value: Any, name: str) -> bool:
    return check_flag(name, value)


def _sizes(value: Any, name: str) -> Mapping[str, int]:
    if not isinstance(value, Mapping):
        raise DataError(f"{name}={value!r:.60}: give a dict, such as {{'doc': 10}}")
    return value


def _place(value: Any, name: str) -> Path:
    return check_path(name, value)


Seed = Annotated[int, check_seed]
Sweeps = Annotated[int, at_least(0)]
Count = Annotated[int, at_least(1)]
Replicates = Annotated[int, at_least(2)]
Flag = Annotated[bool, _flag]
Sizes = Annotated[Mapping[str, int], _sizes]
Place = Annotated[str | Path, _place]


# ---- arrays that a user gives: numbers, with named dims in order, nothing masked ----------


def numbers(what: str, value: Any) -> NDArray[Any]:
    """A value as an array of numbers; ``what`` is its name in an error."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise DataError(f"{what} has rows of unequal length; give an array of numbers") from None
    if array.dtype.kind not in "iufb":
        raise DataError(f"{what} has the dtype {array.dtype}; give an array of numbers")
    return array


def in_order(what: str, axes: tuple[str, ...], value: Any) -> Any:
    """A value with named dims (an ``xarray.DataArray``) with its dims in the order of ``axes``.

    Other values have no names and are taken by position. So are the names dim_0, dim_1, … which
    xarray gives to dims without a name. An ``xarray.Dataset``, which is several arrays, is
    rejected.
    """
    if hasattr(value, "data_vars"):
        names = ", ".join(map(repr, list(value.data_vars)[:5]))
        raise DataError(
            f"{what}: an xarray.Dataset of {names or 'no arrays'}; give one of its arrays, a "
            "DataArray: dataset[name]"
        )
    dims = getattr(value, "dims", None)
    if not isinstance(dims, tuple) or not hasattr(value, "transpose"):
        return value
    if not all(isinstance(dim, str) for dim in dims):
        return _inner(value)
    if sorted(dims) == sorted(map(str, axes)):
        return _inner(value.transpose(*axes))
    if dims == tuple(f"dim_{number}" for number in range(len(dims))):
        return _inner(value)
    raise DataError(
        f"{what}: an array with the dims {dims}, but {axes} are needed; rename them, e.g. with "
        ".rename(...), or give .values to go by position"
    )


def _inner(value: Any) -> Any:
    """An array of the package ``sparse`` without the ``xarray.DataArray`` around it."""
    data = getattr(value, "data", None)
    return data if is_sparse_array(data) else value


def is_sparse_array(value: Any) -> bool:
    """Whether it is an array of the package ``sparse``, of any of its formats."""
    return type(value).__module__.split(".")[0] == "sparse" and hasattr(value, "asformat")


def labels_of_columns(value: Any, dim: str = "term") -> list[str] | None:
    """The names of the columns of a data frame, or of an ``xarray.DataArray`` along a dim.

    Data that were read from one have names too. None if there are none, or if they are not texts.
    """
    if isinstance(labels := getattr(value, "labels", None), dict):
        names = list(labels.get(dim, []))
    elif hasattr(value, "dims") and hasattr(value, "coords"):
        known = dim in value.dims and dim in value.coords
        names = list(value.coords[dim].values.tolist()) if known else []
    else:
        columns = getattr(value, "columns", ())  # of other things their number
        table = len(getattr(value, "shape", ())) == 2
        names = list(columns) if table and isinstance(columns, Iterable) else []
    return names if names and all(isinstance(name, str) for name in names) else None


def first_difference(names: Sequence[Any], others: Sequence[Any]) -> str:
    """The difference between two lists of labels, for an error about the first list."""
    for number, (one, other) in enumerate(zip(names, others, strict=False)):
        if one != other:
            return f"{one!r} where the others have {other!r} (number {number})"
    return f"{len(names)} labels where the others have {len(others)}"


def check_unmasked(what: str, value: Any) -> None:
    """Reject a masked array with masked entries: only data may have unknown cells."""
    if np.ma.is_masked(value):
        raise DataError(
            f"{what}: masked entries, but only data may have unknown cells; fill them, e.g. with "
            ".filled(1.0)"
        )
