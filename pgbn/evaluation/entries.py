"""Columns beside the documents: their entries, and which of them are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgbn.checks import first_difference, listed
from pgbn.errors import DataError

__all__ = ["check_row_order", "is_missing", "plain_list"]


def plain_list(values: Any, name: str = "dates") -> list[Any]:
    """A column as a list; of a column of Arrow the values, not its boxes around them."""
    plain = values.to_pylist() if hasattr(values, "to_pylist") else values
    return listed(name, plain, "give one entry for each document")


def check_row_order(X: Any, **columns: Any) -> None:
    """Refuse columns of pandas whose labels are those of the documents ``X`` in another order, as
    after a sort of one of the two: entries go by position. Other labels say nothing of an order."""
    known: Any = getattr(X, "index", None)
    for name, column in columns.items():
        own: Any = getattr(column, "index", None)
        if not hasattr(own, "equals") or not hasattr(known, "equals") or own.equals(known):
            continue
        if len(own) == len(known) and set(own) == set(known):
            raise DataError(
                f"{name}: its rows are those of X in another order, such as "
                f"{first_difference(list(own), list(known))}; give {name}.loc[X.index] or, if it "
                f"goes by position, {name}.to_numpy()"
            )


def is_missing(entry: Any) -> bool:
    """Whether an entry is None, NaN, NaT or the NA of pandas."""
    try:
        return entry is None or bool(entry != entry)  # NaN and NaT are not themselves
    except (TypeError, ValueError):  # pandas' NA does not say; of an array each entry does
        return np.ndim(entry) == 0
