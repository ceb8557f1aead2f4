"""Columns beside the documents: their entries, and which of them are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgbn.checks import listed

__all__ = ["is_missing", "plain_list"]


def plain_list(values: Any, name: str = "dates") -> list[Any]:
    """A column as a list; of a column of Arrow the values, not its boxes around them."""
    plain = values.to_pylist() if hasattr(values, "to_pylist") else values
    return listed(name, plain, "give one entry for each document")


def is_missing(entry: Any) -> bool:
    """Whether an entry is None, NaN, NaT or the NA of pandas."""
    try:
        return entry is None or bool(entry != entry)  # NaN and NaT are not themselves
    except (TypeError, ValueError):  # pandas' NA does not say; of an array each entry does
        return np.ndim(entry) == 0
