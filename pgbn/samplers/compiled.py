"""Kernels that are compiled by numba and kept on disk for the next run, where that is possible.

The files spare the compiler's time, no more: where they cannot be written (a container that is
read-only, a full disk, a quota) or read (a power cut left half of one), the kernel is compiled
again, and that is said once.
"""

import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

from pgbn.errors import notify
from pgbn.samplers.from_numba import IS_INSTALLED, numba, without_compiler

try:
    from pgbn.samplers.kernel_files import KernelFiles, kernel_stamp
    from pgbn.samplers.linked import Kernel
except ImportError:  # a numba that is built otherwise inside: its own way takes longer to compile
    Kernel = None  # type: ignore[assignment, misc]


_said: list[str] = []


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit`, whose ``cache=True`` is a wish: nothing fails for want of a cache.

    A division by 0 is that of numpy unless ``error_model`` says otherwise. All kernels have the
    same, or numba would compile its own functions (`np.empty`, `min`) for each kind of them.
    """
    if not IS_INSTALLED:
        return without_compiler
    options = {"error_model": "numpy", **options}

    def kernel_of(function: Callable[..., Any]) -> Any:
        plain: Any = numba.njit(**{**options, "cache": False})(function)
        if plain is function:  # numba is switched off
            return function
        if Kernel is None:
            return _keep(plain) if options.get("cache") else plain
        chosen = {**plain.targetoptions, "no_cfunc_wrapper": True}  # no pointers to kernels
        inlined = chosen.pop("forceinline", False)
        kernel: Any = Kernel(function, targetoptions=chosen)
        kernel.forceinline = inlined
        return _keep(kernel) if options.get("cache") else kernel

    return kernel_of


def _keep(kernel: Any) -> Any:
    """The kernel, with files for what is compiled of it if numba knows a folder for them."""
    try:
        kernel.enable_caching()
    except RuntimeError as error:  # it knows none that it could write to
        _say(error)
        return kernel
    cache = kernel._cache
    if Kernel is not None:
        stamp = (
            cache._impl.locator.get_source_stamp(),
            kernel_stamp(inspect.getfile(kernel.py_func)),
        )
        cache._cache_file = KernelFiles(cache._cache_path, cache._impl.filename_base, stamp)
    cache.load_overload = _reading(cache.load_overload, cache.flush)
    cache.save_overload = _writing(cache.save_overload)
    return kernel


def _reading(load: Callable[..., Any], flush: Callable[[], None]) -> Callable[..., Any]:
    """What was kept, or nothing. Half a file, which raises anything, is forgotten."""

    @wraps(load)
    def attempt(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except OSError as error:
            _say(error)
        except Exception:
            with suppress(OSError):  # what is compiled now may then not be kept: said there
                flush()
        return None

    return attempt


def _writing(save: Callable[..., None]) -> Callable[..., None]:
    @wraps(save)
    def attempt(*arguments: Any) -> None:
        try:
            save(*arguments)
        except Exception as error:  # half of an index that cannot be replaced raises anything
            _say(error)

    return attempt


def _say(error: Exception) -> None:
    if not _said:
        _said.append(str(error))
        notify(
            f"compiled kernels are not kept on disk ({error}): every run compiles them anew, which "
            "takes a minute or so; set NUMBA_CACHE_DIR to a folder that can be written"
        )
