"""How the shares of topics depend on covariates of documents: the method of composition.

For each posterior draw s of the shares, a regression on the design Z of the covariates,

    share^s_jk = Z_j β_k + ε,   β^s_k ~ N(β̂^s_k, σ̂²_k (Z'Z)⁻¹),

and all β^s together are the posterior of the effects: its variance is that of a regression plus
that of the shares, which a regression on their means ignores (Treier & Jackman 2008; Roberts et
al., stm, 2014). Shares are not normal variables: the effects are those on the mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_unmasked, is_finite_number
from pgbn.errors import DataError, did_you_mean
from pgbn.evaluation.shares import interval_of, is_missing, plain_list
from pgbn.evaluation.topic_words import topic_name

Matrix = NDArray[np.float64]
EACH = 25  # draws of β for each draw of the shares


def compose(
    draws: Matrix,
    design: Matrix,
    terms: Sequence[str],
    layer: int = 1,
    interval: float = 0.9,
    seed: int = 0,
) -> list[tuple[Any, ...]]:
    """The effect of each column of ``design`` (documents, terms) on the share of each topic of a
    layer: rows of term, topic, mean, standard deviation and the ends of the interval. ``draws`` of
    the shares are (draws, documents, K)."""
    low, high = interval_of(interval)
    rng = np.random.default_rng(seed)
    documents, columns = design.shape
    if draws.shape[1] != documents:
        raise DataError(
            f"frame has {documents} rows, but X has {draws.shape[1]} documents; give a row for "
            "each document"
        )
    if documents <= columns:
        raise DataError(f"{documents} documents for {columns} effects; give more documents")
    basis, back = _orthogonal(design, terms)
    # The lower triangular L with L L' = B B' and a positive diagonal.
    upper = np.linalg.qr(back.T, mode="r")
    root, found = (upper * np.sign(np.diag(upper))[:, None]).T, []
    for share in draws:
        along = basis.T @ share
        sigma = np.sqrt(((share - basis @ along) ** 2).sum(axis=0) / (documents - columns))
        noise = rng.standard_normal((EACH, columns, share.shape[1]))
        found.append(back @ along + (root @ noise) * sigma)
    every = np.concatenate(found)
    each = (every.mean(axis=0), every.std(axis=0), np.quantile(every, low, axis=0),
            np.quantile(every, high, axis=0))  # fmt: skip
    return [
        (term, topic_name(layer, k), *(column[i, k] for column in each))
        for i, term in enumerate(terms)
        for k in range(draws.shape[2])
    ]


def _orthogonal(design: Matrix, names: Sequence[str]) -> tuple[Matrix, Matrix]:
    """Q with orthonormal columns and B with Z B = Q, so that β̂ = B Q'y and (Z'Z)⁻¹ = B B'.

    Years and their squares, or times in nanoseconds, hardly differ from multiples of the intercept
    and of each other. So columns are centred, if there is an intercept, and scaled before they are
    made orthogonal.
    """
    constant = np.flatnonzero((np.ptp(design, axis=0) == 0) & (design[0] != 0))
    centre = design.mean(axis=0) if constant.size else np.zeros(design.shape[1])
    centre[constant] = design[0, constant]
    centre[constant[:1]] = 0.0  # the intercept itself; any other constant becomes 0
    centred = design - centre
    sizes = np.linalg.norm(centred, axis=0)
    scale = np.where(sizes > 0, sizes, 1.0)
    scaled = centred / scale
    # The rounding error that remains of a column after its mean is subtracted.
    unsure = max(design.shape) * np.finfo(np.float64).eps
    unsure *= max(1.0, (np.linalg.norm(design, axis=0) / scale).max())
    if np.linalg.svd(scaled, compute_uv=False)[-1] <= unsure:
        raise DataError(
            f"the effects {', '.join(names)} cannot be separated: a column is the sum of others, "
            "or constant; omit one"
        )
    basis, upper = np.linalg.qr(scaled)
    back = np.linalg.inv(upper) / scale[:, None]
    if constant.size:
        first = constant[0]
        back[first] -= (centre / design[0, first]) @ back
    return basis, back


def design_matrix(formula: str, columns: Mapping[str, Any]) -> tuple[Matrix, list[str]]:
    """The design of "~ treatment + year": an intercept, each column of numbers as it is, and a:b
    for products. A column of texts, booleans or categories gives one column of 0 and 1 for every
    value but the first. Values are in the order of the alphabet, or of the categories of pandas."""
    if not isinstance(formula, str) or not formula.strip():
        raise DataError(f"formula={formula!r}: give a text such as '~ treatment + year'")
    if not formula.strip().startswith("~") and "~" in formula:
        raise DataError(
            f"formula={formula!r:.60}: the shares of the topics are explained; begin with ~, as in "
            "'~ treatment + year'"
        )
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
        columns = {name: plain_list(columns[name], "columns") for name in columns.column_names}
        for name, values in columns.items():  # numpy would make numbers and texts of None
            missing = any(map(is_missing, values))
            columns[name] = np.array(values, object) if missing else np.asarray(values)
    elif hasattr(columns, "get_columns"):  # a data frame of polars
        columns = {column.name: column.to_numpy() for column in columns.get_columns()}
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise DataError(f"columns={columns!r:.60}: give a data frame or a dict of columns")
    if not len(list(columns)):
        raise DataError("formula: there are no columns; give a data frame or a dict of columns")
    for name in columns:
        if np.ndim(columns[name]) != 1:
            raise DataError(f"columns: {name!r} is not a column; give one entry for each document")
    return columns


def _coded(name: str, column: Any) -> list[tuple[str, Matrix]]:
    """A column of numbers, or one of 0 and 1 for each value but the first."""
    check_unmasked(f"formula: {name}", column)
    categories = getattr(getattr(column, "dtype", None), "categories", None)  # of pandas
    values = np.asarray(column)
    entries = values.tolist() if values.dtype.kind != "M" else list(values)
    missing = [row for row, entry in enumerate(entries) if is_missing(entry)]
    if missing:
        raise DataError(
            f"formula: {name} has missing values in {len(missing)} of {len(entries)} rows, the "
            f"first of them row {missing[0]}; drop these rows from the frame and from X, or fill "
            "them"
        )
    if categories is None:
        if values.dtype.kind in "Mm" or any(isinstance(e, date | timedelta) for e in entries):
            raise DataError(
                f"formula: {name} holds dates or times; make a column of numbers beforehand, such "
                f"as the year (of pandas: frame[{name!r}].dt.year), or see topics_over_time"
            )
        numeric = _numbers(name, values, entries)
        if numeric is not None:
            return [(name, numeric)]
    texts = np.array([str(entry) for entry in entries])
    there = set(texts.tolist())
    order = sorted(there) if categories is None else list(map(str, categories))
    known = [text for text in order if text in there]
    if len(known) < 2:
        raise DataError(f"formula: {name} has one value only, {known[0]!r}; omit it")
    return [(f"{name}[{value}]", (texts == value).astype(np.float64)) for value in known[1:]]


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
