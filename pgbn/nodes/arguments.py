"""What the constructors of expressions are given: arrays, positional arguments, complaints."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError
from scipy.sparse import csr_array, issparse

from pgbn.errors import NetworkError, did_you_mean

__all__ = ["as_array", "as_known", "by_position", "explain_error", "is_real", "short"]


def is_real(value: Any) -> bool:
    """Whether a value is a real number; a bool is none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def as_array(value: ArrayLike) -> NDArray[np.float64]:
    """Finite numbers as an array that cannot be changed."""
    if np.ma.is_masked(value):
        raise NetworkError(
            f"{short(value)} has masked entries; give numbers for them, e.g. with .filled(1.0)"
        )
    try:
        found = np.array(value)
    except (TypeError, ValueError):
        raise NetworkError(f"{short(value)} has rows of unequal length") from None
    if found.dtype.kind not in "iufb":
        raise NetworkError(f"{short(value)} is not a number or an array of numbers")
    if found.size == 0:
        raise NetworkError(f"{short(value)} is empty; give at least one number")
    array = found.astype(np.float64)
    if not np.isfinite(array).all():
        raise NetworkError(f"{short(value)} is not finite; give a finite number")
    array.flags.writeable = False
    return array


_MANY = 2_000_000  # rows or columns, some of which may be empty


def as_known(value: Any) -> Any:
    """What a constant is given: an array, or a sparse matrix, which stays one."""
    if not issparse(value):
        return as_array(value)
    if value.dtype.kind not in "iufb":
        raise NetworkError(f"{short(value)} has no real numbers; give integers or floats")
    longest = max(value.shape, default=0)
    if longest > _MANY and longest > 100 * value.nnz:  # a few bytes may claim any size
        raise NetworkError(
            f"a sparse matrix of shape {value.shape} with {value.nnz} entries; leave empty rows "
            "and columns out"
        )
    try:
        if hasattr(value, "check_format"):
            value.check_format(full_check=True)  # scipy follows indices that point outside
        elif value.format == "coo":
            value._check()
        matrix = csr_array(value, dtype=np.float64, copy=True)
    except (ValueError, TypeError, IndexError) as error:
        raise NetworkError(f"{short(value)} is damaged ({error}); make it anew") from None
    if not all(matrix.shape):
        raise NetworkError(f"{short(value)} is empty; give at least one row and one column")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not np.isfinite(matrix.data).all():
        raise NetworkError(f"{short(value)} is not finite; give finite numbers")
    for array in (matrix.indptr, matrix.indices, matrix.data):
        array.flags.writeable = False
    return matrix


def by_position(
    cls: type[Any], positional: tuple[str, ...], args: tuple[Any, ...], fields: dict[str, Any]
) -> dict[str, Any]:
    """The fields, with those that were given by position."""
    named = "name" in fields
    call = f"{cls.__name__}({fields['name']!r})" if named else cls.__name__
    if len(args) > len(positional):
        rest = [field for field in cls.model_fields if field not in (*positional, "name")]
        after = " after the name" if named else ""
        which = f" {positional}" if positional else ""
        raise NetworkError(
            f"{call}: takes {len(positional)} positional parameters{after}{which}, got "
            f"{len(args)}; give {', '.join(f'{field}=…' for field in rest)} by name"
        )
    for field, value in zip(positional, args, strict=False):
        if field in fields:
            raise NetworkError(f"{call}: {field} is given twice")
        fields = {**fields, field: value}
    return fields


def short(value: Any) -> str:
    """A value as an error shows it: long ones are cut."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:80]}…"


def explain_error(cls: type[Any], name: object, error: ValidationError) -> str:
    """A complaint of pydantic in our words; an argument that is not known is named first."""
    complaints = error.errors()
    first = next((c for c in complaints if c["type"] == "extra_forbidden"), complaints[0])
    field = ".".join(str(part) for part in first["loc"]) or "arguments"
    known = list(cls.model_fields)
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        message = "is missing"
    elif first["type"] == "extra_forbidden":
        message = f"is not a parameter.{did_you_mean(field, known)}"
    elif not first["type"].startswith("value_error"):
        message = f"{message}, got {short(first['input'])}"
    call = cls.__name__ if name is None else f"{cls.__name__}({name!r})"
    takes = ", ".join(["name", *(k for k in known if k != "name")] if "name" in known else known)
    return f"{call}: {field}: {message} ({cls.__name__} takes {takes})"
