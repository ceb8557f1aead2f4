"""The design of a regression on columns of a table: "~ treatment + year".

Columns of numbers stand as they are. Of texts, truth values and categories there is a column of 0
and 1 for every value but the first, which all others are compared with: the first in the order of
the alphabet, or of the categories of pandas where the column has such.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_unmasked, is_finite_number
from pgbn.errors import DataError, did_you_mean
from pgbn.evaluation.entries import is_missing

__all__ = ["design_matrix"]

Matrix = NDArray[np.float64]


def design_matrix(formula: str, columns: Mapping[str, Any]) -> tuple[Matrix, list[str]]:
    """The design of "~ treatment + year": an intercept, each column of numbers as it is, of texts,
    truth values or categories one column for every value but the first, and a:b for products."""
    if not isinstance(formula, str) or not formula.strip():
        raise DataError(f"formula={formula!r}: give a text such as '~ treatment + year'")
    terms = [term.strip() for term in formula.strip().removeprefix("~").split("+")]
    columns = _by_name(columns)
    known = [str(column) for column in columns]
    size = len(columns[next(iter(columns))])
    parts: list[tuple[str, Matrix]] = [("(intercept)", np.ones(size))]
    for term in terms:
        if term in ("1", ""):
            continue
        names = [name.strip() for name in term.split(":")]
        if not all(re.fullmatch(r"\w+", name) for name in names):
            raise DataError(
                f"formula: {term!r}: give names of columns with + between them, and a:b for a "
                "product; make other columns beforehand"
            )
        product = [("", np.ones(size))]
        for name in names:
            if name not in columns:
                raise DataError(f"formula: no column {name!r}.{did_you_mean(name, known)}")
            if len(columns[name]) != size:
                raise DataError(
                    f"columns: {name!r} has {len(columns[name])} entries, but {known[0]!r} {size}; "
                    "give one for each document"
                )
            product = [
                (f"{one}:{two}" if one else two, x * y)
                for one, x in product
                for two, y in _coded(name, columns[name])
            ]
        parts += product
    return np.column_stack([column for _, column in parts]), [name for name, _ in parts]


def _by_name(columns: Any) -> Any:
    """The columns of a dict or of a data frame of any package, by their names."""
    if hasattr(columns, "column_names"):  # a table of Arrow
        columns = {name: _of_arrow(columns[name]) for name in columns.column_names}
    elif hasattr(columns, "get_columns"):  # a data frame of polars
        columns = {column.name: column.to_numpy() for column in columns.get_columns()}
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise DataError(f"columns={columns!r:.60}: give a data frame or a dict of columns")
    if not len(list(columns)):
        raise DataError("formula: there are no columns; give a data frame or a dict of columns")
    for name in columns:
        if np.ndim(columns[name]) != 1:
            raise DataError(f"columns: {name!r} is no column; give one entry for each document")
    return columns


def _of_arrow(column: Any) -> NDArray[Any]:
    """Values with None where there is none: numpy would make other numbers and texts of them."""
    values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
    return np.array(values, object) if any(map(is_missing, values)) else np.asarray(values)


def _coded(name: str, column: Any) -> list[tuple[str, Matrix]]:
    """A column of numbers, or one of 0 and 1 for each value but the first."""
    check_unmasked(f"formula: {name}", column)
    categories = getattr(getattr(column, "dtype", None), "categories", None)  # of pandas
    values = np.asarray(column)
    entries = values.tolist() if values.dtype.kind != "M" else list(values)
    _check_known(name, entries)
    if categories is None:
        _check_not_dates(name, values, entries)
        numeric = _numbers(name, values, entries)
        if numeric is not None:
            return [(name, numeric)]
    texts = np.array([str(entry) for entry in entries])
    there = set(texts.tolist())
    order = sorted(there) if categories is None else list(map(str, categories))
    known = [text for text in order if text in there]
    if len(known) < 2:
        raise DataError(f"formula: {name} has one value only, {known[0]!r}; leave it out")
    return [(f"{name}[{value}]", (texts == value).astype(np.float64)) for value in known[1:]]


def _check_known(name: str, entries: list[Any]) -> None:
    missing = [row for row, entry in enumerate(entries) if is_missing(entry)]
    if missing:
        raise DataError(
            f"formula: {name} has missing values in {len(missing)} of {len(entries)} rows, the "
            f"first of them row {missing[0]}; drop these rows from the frame and from X, or fill "
            "them"
        )


def _check_not_dates(name: str, values: NDArray[Any], entries: list[Any]) -> None:
    kind = values.dtype.kind
    if kind in "Mm" or (kind == "O" and any(isinstance(e, date | timedelta) for e in entries)):
        raise DataError(
            f"formula: {name} holds dates or times; make a column of numbers beforehand, such as "
            f"the year (of pandas: frame[{name!r}].dt.year), or see topics_over_time"
        )


def _numbers(name: str, values: NDArray[Any], entries: list[Any]) -> Matrix | None:
    """The column as numbers if it holds nothing else."""
    if values.dtype.kind == "O" and not all(map(is_finite_number, entries)):
        return None
    if values.dtype.kind not in "iufO":
        return None
    found = values.astype(np.float64)
    if not np.isfinite(found).all():
        row = int(np.argmin(np.isfinite(found)))
        raise DataError(
            f"formula: {name} is {found[row]} in row {row}; give finite numbers, or drop such rows"
        )
    return found
