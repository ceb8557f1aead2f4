"""Arrays that a user gives: numbers, with named dims put in order and no masked entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.errors import DataError

__all__ = ["check_unmasked", "in_order", "numbers"]


def numbers(what: str, value: Any) -> NDArray[Any]:
    """A value as an array of numbers; ``what`` is how an error calls it."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise DataError(f"{what} has rows of unequal length; give an array of numbers") from None
    if array.dtype.kind not in "iufb":
        raise DataError(f"{what} has the dtype {array.dtype}; give an array of numbers")
    return array


def in_order(what: str, axes: tuple[str, ...], value: Any) -> Any:
    """A value with named dims (an ``xarray.DataArray``) with its dims in the order of ``axes``.

    Other values have no names and go by position, as do the names dim_0, dim_1, … which xarray
    gives to dims that have none.
    """
    dims = getattr(value, "dims", None)
    if not isinstance(dims, tuple) or not hasattr(value, "transpose"):
        return value
    if not all(isinstance(dim, str) for dim in dims):
        return value
    if sorted(dims) == sorted(map(str, axes)):
        return value.transpose(*axes)
    if dims == tuple(f"dim_{number}" for number in range(len(dims))):
        return value
    raise DataError(
        f"{what}: an array with the dims {dims}, but {axes} are needed; rename them, e.g. with "
        ".rename(...), or give .values to go by position"
    )


def check_unmasked(what: str, value: Any) -> None:
    """Refuse a masked array with masked entries: only data may have unknown cells."""
    if np.ma.is_masked(value):
        raise DataError(
            f"{what}: masked entries, but only data may have unknown cells; fill them, e.g. with "
            ".filled(1.0)"
        )
