"""Topics and their shares as data frames of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, listed
from pgbn.errors import DataError
from pgbn.evaluation.shares import check_row_order, group_shares, middle_and_ends, plain_list
from pgbn.evaluation.topic_words import topic_name, topics
from pgbn.training.trained import TrainedNetwork

Matrix = NDArray[np.float64]
_INTERVAL = ["share", "low", "high"]


def data_frame(table: Any, columns: Any = None, index: Any = None) -> Any:
    """A data frame of a matrix, of rows, or of columns by name.

    Lone surrogates in texts become question marks: if pyarrow is installed, pandas passes texts to
    it, and it rejects them.
    """
    try:
        import pandas
    except ImportError:
        raise DataError("data frames need pandas: pip install pandas") from None
    if isinstance(table, Mapping):
        table = {name: list(map(_valid, column)) for name, column in table.items()}
    elif isinstance(table, list):
        table = [tuple(map(_valid, row)) for row in table]
    return pandas.DataFrame(table, columns=columns, index=index)


def _valid(cell: Any) -> Any:
    return cell.encode("utf-8", "replace").decode("utf-8") if isinstance(cell, str) else cell


def needed(value: Any, call: str) -> Any:
    """An argument that the method needs, rejected if it is missing."""
    if value is None:
        raise DataError(f"{call}: give all of these; a model does not keep its documents X")
    return value


def entries_of(name: str, entries: Any, X: Any) -> list[Any]:
    """One entry for each document of X, such as dates or classes."""
    check_row_order(X, **{name: entries})
    found = plain_list(entries, name)
    size = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(found) != size:
        raise DataError(f"{name}: {len(found)} entries for {size} documents; give one for each")
    return found


def index_of(X: Any, names: Any) -> list[Any] | None:
    """The names of documents: those that were given, or the index of a data frame."""
    if names is None:
        index = getattr(X, "index", None)
        return None if index is None or callable(index) else list(index)  # of a list, its method
    if getattr(names, "ndim", 1) != 1:
        raise DataError(f"names={names!r:.60}: give one name for each document")
    return listed("names", names, "give one name for each document")


def topics_frame(
    model: TrainedNetwork,
    means: Mapping[int, Matrix | None],
    top: int,
    vocabulary: Any,
    relevance: float | None,
    interval: float,
) -> Any:
    """The topics of some layers; ``means`` are draws of their mean shares in documents, if any."""
    rows: list[tuple[Any, ...]] = []
    for layer, draws in means.items():
        shares = () if draws is None else middle_and_ends(draws, interval)
        rows += [
            (each.name, each.label, each.weight, *(share[each.index] for share in shares),
             " ".join(each.terms))
            for each in topics(model, layer, top, vocabulary, relevance)
        ]  # fmt: skip
    between = [] if any(draws is None for draws in means.values()) else _INTERVAL
    return data_frame(rows, ["topic", "label", "weight", *between, "words"])


def documents_frame(found: Sequence[Matrix], layer: int, index: list[Any] | None) -> Any:
    """Documents × topics or, with the ends of an interval, a row for each of both."""
    shares = found[0]
    if index is not None and len(index) != len(shares):
        raise DataError(f"names: {len(index)} names for {len(shares)} documents; give one for each")
    columns = [topic_name(layer, k) for k in range(shares.shape[1])]
    if len(found) == 1:
        return data_frame(shares, columns=columns, index=index)
    rows = [
        (name, topic, *(each[j, k] for each in found))
        for j, name in enumerate(range(len(shares)) if index is None else index)
        for k, topic in enumerate(columns)
    ]
    return data_frame(rows, ["document", "topic", *_INTERVAL])


def top_documents(found: Sequence[Matrix], topic: int, n: int, X: Any, texts: Any) -> Any:
    """The documents with the largest shares of a topic, and their texts."""
    shares = found[0][:, topic]
    order = np.argsort(-shares, kind="stable")[: check_integer("n", n, 1)]
    columns = zip(_INTERVAL, (each[order, topic] for each in found), strict=False)
    table: dict[str, Any] = {"document": order, **dict(columns)}
    if texts is not None:
        every = entries_of("texts", texts, X)
        table["text"] = [every[j] for j in order]
    return data_frame(table)


def groups_frame(
    kind: str, entries: Sequence[Any], draws: Matrix, layer: int, interval: float, name: str
) -> Any:
    """A row for each group of documents and topic."""
    rows = group_shares(draws, entries, layer, interval, name)
    return data_frame(rows, [kind, "documents", "topic", *_INTERVAL])
