"""Kernels: functions that numba compiles when they are first called, kept on disk for the next run.

There are two ways to compile them; their results are bit-identical. *Linked*
(`pgbn.samplers.linked`) takes about half the time, but uses private parts of numba, which another
version may not have. *Plain* is `numba.njit`. The first use of any kernel compiles a small one by
the linked way (`pgbn.samplers.probe`). If that fails in any manner, or computes something wrong,
all kernels are compiled by plain numba, and a warning says so once. PGBN_PLAIN_NUMBA=1 chooses the
plain way.

The files on disk only save time. If they cannot be written (a read-only container, a full disk) or
read (a power cut left half of one), the kernel is compiled again, and a warning says so once. numba
trusts a file that its index names, and compares only the source file of the kernel itself. But the
index may be newer than the data, and a block of the data may be zeros after a power cut. A newer
pgbn may have changed the functions that a kernel calls. So a file here names its kernel and its
way, with a checksum, and its stamp covers all source files that the kernel's own file imports.
"""

import hashlib
import inspect
import os
import pickle
import re
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache, update_wrapper, wraps
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from pgbn.errors import notify
from pgbn.samplers.from_numba import (
    COMPILES,
    intrinsic,
    numba,
    typeof_impl,
    types,
    without_compiler,
)

_SAMPLERS = Path(__file__).parent
_IMPORT = re.compile(r"^ *(?:from|import) +pgbn\.samplers([\w.]*)(?: +import +([\w, ]*))?", re.M)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator for kernels: `numba.njit`, which compiles faster; a missing cache is no error.

    A division by 0 is that of numpy unless ``error_model`` says otherwise. All kernels have the
    same, or numba would compile its own functions (`np.empty`, `min`) for each kind of them.

    Parameters
    ----------
    **options
        Options of `numba.njit`. Kernels of pgbn have ``cache=True, nogil=True``.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> from pgbn.extend import njit
    >>> @njit(nogil=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """
    if not COMPILES:
        return without_compiler
    return lambda function: Kernel(function, {"error_model": "numpy", **options})


class Kernel:
    """A function that is compiled when it is first called, from Python or by another kernel.

    numba's dispatcher is made at the first call, since the way is chosen then.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.py_func, self.options = function, options

    # A call is a call of the dispatcher, without a frame of Python between them.
    __call__ = property(attrgetter("dispatcher"))

    def __getattr__(self, name: str) -> Any:
        """An attribute of numba's dispatcher; the dispatcher itself is made here, once."""
        if name == "dispatcher":
            made = dispatcher_by(way(), self.py_func, self.options)
            return vars(self).setdefault(name, made)  # another thread may have been quicker
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> Any:
        """By name, if other processes can import it."""
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        by_name = found is self and self.__module__ != "__main__"
        return self.__qualname__ if by_name else self.dispatcher.__reduce__()


@typeof_impl.register(Kernel)
def _type_in_kernels(kernel: Kernel, context: Any) -> Any:
    return numba.typeof(kernel.dispatcher)


# ---- the way --------------------------------------------------------------------------


class _Way(NamedTuple):
    """How kernels are compiled, and whether they are kept on disk."""

    linked: bool
    kept: bool


_chosen: list[_Way] = []  # at most one
_trial = threading.local()  # the way that this thread is trying


def way() -> _Way:
    """The way in which this process compiles kernels. The first call tries it.

    No lock: a thread that waits for one may hold numba's, which the trial needs.
    """
    tried: _Way | None = getattr(_trial, "way", None)
    if tried is not None:
        return tried
    if not _chosen:
        found, error = _first_that_works()
        if not _chosen:
            _chosen.append(found)
            if error is not None:
                _say_plain(found, error)
    return _chosen[0]


def _first_that_works() -> tuple[_Way, Exception | None]:
    """The best way that computes correctly, and the reason why a better one did not."""
    forced = os.environ.get("PGBN_PLAIN_NUMBA", "") not in ("", "0")
    failed: Exception | None = None
    for each in (_Way(True, True), _Way(False, True)):
        if forced and each.linked:
            continue
        _trial.way = each
        try:
            from pgbn.samplers.probe import try_kernel

            try_kernel()
        except Exception as error:
            failed = failed or error
        else:
            return each, failed
        finally:
            del _trial.way
    return _Way(False, False), failed


def _say_plain(found: _Way, error: Exception) -> None:
    kept = "" if found.kept else ", and they are not kept on disk"
    notify(
        f"numba {numba.__version__} is not built as pgbn expects ({type(error).__name__}: {error}):"
        f" kernels are compiled by plain numba{kept}. Results are bit-identical; compiling takes "
        "about twice as long. A newer pgbn may know this version"
    )


def dispatcher_by(chosen: _Way, function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """numba's dispatcher of a function."""
    others = {name: value for name, value in options.items() if name != "cache"}
    if chosen.linked:
        from pgbn.samplers.linked import link

        made = link(function, others)
    else:
        made = numba.njit(**others)(function)
    if options.get("cache") and chosen.kept:
        _keep(made, chosen)
    return made


# ---- files ----------------------------------------------------------------------------

_said: list[str] = []


def _keep(dispatcher: Any, chosen: _Way) -> None:
    """Keep compiled kernels on disk, if numba has a folder for them."""
    try:
        dispatcher.enable_caching()
    except RuntimeError as error:  # it knows none that it could write to
        _say(error)
        return
    kept = dispatcher._cache
    kept._cache_file = _Files(kept._cache_file, chosen, inspect.getfile(dispatcher.py_func))
    kept.load_overload = _reading(kept.load_overload, kept.flush)
    kept.save_overload = _writing(kept.save_overload)


class _Files:
    """numba's files of a kernel, with data that name their stamp, their way and their key."""

    def __init__(self, files: Any, chosen: _Way, source: str) -> None:
        self.files, self.way = files, tuple(chosen)
        files._source_stamp = self.stamp = (files._source_stamp, kernel_stamp(source))
        self.flush = files.flush

    def save(self, key: Any, data: Any) -> None:
        payload = self.files._dump(data)
        digest = hashlib.sha256(payload).digest()
        self.files.save((self.way, key), (self.stamp, self.way, key, digest, payload))

    def load(self, key: Any) -> Any:
        """The kernel that was kept under this key; else None, and it is compiled and written
        again."""
        found = self.files.load((self.way, key))
        if found is None:
            return None
        *whose, digest, payload = found
        if whose != [self.stamp, self.way, key] or hashlib.sha256(payload).digest() != digest:
            return None
        return pickle.loads(payload)


@cache
def kernel_stamp(file: str) -> str:
    """A checksum of a file of kernels and of all files of this package that it imports; and
    these."""
    found: dict[Path, bytes] = {}
    waiting = [Path(file)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path], imported = _read(path)
            waiting.extend(imported)
    return hashlib.sha256(b"".join(sorted(found.values()))).hexdigest()


@cache
def _read(path: Path) -> tuple[bytes, list[Path]]:
    """The checksum of a file, and its imports; nothing for a file that is in an archive."""
    try:
        text = path.read_bytes()
    except OSError:
        return b"", []
    imported = []
    for module, names in _IMPORT.findall(text.decode("utf-8", "replace")):
        place = _SAMPLERS.joinpath(*module.split("."))
        inside = [place / name.strip() for name in names.split(",")]
        imported += [path.with_suffix(".py") for path in (place, *inside)]
    return hashlib.sha256(text).digest(), [path for path in imported if path.is_file()]


def _reading(load: Callable[..., Any], flush: Callable[[], None]) -> Callable[..., Any]:
    """``load``, or None if the files are unreadable. Half a file may raise any error."""

    @wraps(load)
    def attempt(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except OSError as error:
            _say(error)
        except Exception:
            with suppress(OSError):  # the new kernel may then not be kept: `save` warns
                flush()
        return None

    return attempt


def _writing(save: Callable[..., None]) -> Callable[..., None]:
    @wraps(save)
    def attempt(*arguments: Any) -> None:
        try:
            save(*arguments)
        except Exception as error:  # half of an index that cannot be replaced may raise any error
            _say(error)

    return attempt


def _say(error: Exception) -> None:
    if not _said:
        _said.append(str(error))
        notify(
            f"compiled kernels are not kept on disk ({error}): every run compiles them anew, which "
            "takes a minute or so; set NUMBA_CACHE_DIR to a folder that can be written"
        )


# ---- bundles -----------------------------------------------------------------------------------
#
# Bundles of arrays that cost nothing to pass on.
#
# numba passes a bundle by its parts, seven words for each array, and counts the references to every
# array: up when a function takes it, down when it returns. For a bundle of thirty arrays that is as
# much work as a sweep over a short document, and the compiler takes many seconds to find out which
# counts it may drop. An uncounted bundle is passed by its address, and its arrays have no counter.
# Arrays and tuples of arrays lose their counters alone. If kernels are compiled by plain numba
# (`pgbn.samplers.compiled`), all of them stay what they are.


@intrinsic
def uncounted(typing_context, bundle):
    """The same bundle by its address, its arrays uncounted; or an uncounted array or tuple of them.

    It does not keep the arrays, and lasts as long as the calling function. The arrays must be
    arguments of that function, or parts of them, so that its caller keeps them until it returns; or
    the function keeps them by `keep`.
    """
    if way().linked:
        from pgbn.samplers.linked import without_counters

        return without_counters(bundle)

    def code(context, builder, signature, arguments):
        return context.compile_internal(builder, _same, signature, arguments)

    return bundle(bundle), code


def _same(bundle):
    return bundle


@intrinsic
def keep(typing_context, bundle):
    """Keep the arrays of a bundle alive up to this call."""

    def code(context, builder, signature, arguments):
        return context.get_dummy_value()

    return types.void(bundle), code
