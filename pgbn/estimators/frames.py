"""Tables as data frames of pandas, which is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgbn.errors import DataError
from pgbn.evaluation.shares import GroupShares

__all__ = ["data_frame", "long_frame"]


def data_frame(table: Any, columns: Any = None, index: Any = None) -> Any:
    """A data frame of a matrix, of rows, or of columns by name.

    Half characters of texts become question marks: where pyarrow is installed, pandas gives texts
    to it, and it refuses them.
    """
    try:
        import pandas
    except ImportError:
        raise DataError("data frames need pandas: pip install pandas") from None
    if isinstance(table, Mapping):
        table = {name: list(map(_whole, column)) for name, column in table.items()}
    elif isinstance(table, list):
        table = [tuple(map(_whole, row)) for row in table]
    return pandas.DataFrame(table, columns=columns, index=index)


def _whole(cell: Any) -> Any:
    return cell.encode("utf-8", "replace").decode("utf-8") if isinstance(cell, str) else cell


def long_frame(found: GroupShares, name: str) -> Any:
    """A line for each group and topic."""
    rows = [
        (group, int(found.documents[g]), k, found.share[g, k], found.low[g, k], found.high[g, k])
        for g, group in enumerate(found.groups)
        for k in range(found.share.shape[1])
    ]
    return data_frame(rows, [name, "documents", "topic", "share", "low", "high"])
