"""How the shares of topics depend on what is known of documents: the method of composition.

For each posterior draw s of the shares, a regression on the design Z of the covariates,

    share^s_jk = Z_j β_k + ε,   β^s_k ~ N(β̂^s_k, σ̂²_k (Z'Z)⁻¹),

and all β^s together are the posterior of the effects: its variance is that of a regression, plus
that of the shares, which a regression on their means leaves out (Treier & Jackman 2008; Roberts et
al., stm, 2014). Shares are no normal variables: effects are those on the mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_names, check_seed, numbers
from pgbn.errors import DataError, did_you_mean
from pgbn.evaluation.shares import interval_of

__all__ = ["Effects", "compose", "design_matrix"]

Matrix = NDArray[np.float64]
EACH = 25  # draws of β for each draw of the shares


@dataclass(frozen=True)
class Effects:
    """Of each of ``terms`` on each topic, (terms, K): the mean, ``sd`` and interval of β."""

    terms: tuple[str, ...]
    mean: Matrix
    sd: Matrix
    low: Matrix
    high: Matrix


def compose(
    draws: Matrix, design: Matrix, terms: Sequence[str], interval: float = 0.9, seed: int = 0
) -> Effects:
    """The effects of the columns of ``design`` (documents, terms) on shares (draws, documents,
    K)."""
    low, high = interval_of(interval)
    rng = np.random.default_rng(check_seed(seed))
    draws, design = _finite("draws", draws, 3), _finite("design", design, 2)
    documents, columns = design.shape
    names = check_names("terms", terms, columns)
    if not draws.size or draws.shape[1] != documents:
        raise DataError(
            f"draws of shape {draws.shape} for a design of {documents} documents; give shares of "
            "(draws, documents, topics), as pgbn.evaluation.share_draws does"
        )
    if documents <= columns:
        raise DataError(f"{documents} documents for {columns} effects; give more documents")
    if np.linalg.matrix_rank(design) < columns:
        raise DataError(
            f"the effects {', '.join(names)} cannot be told apart: a column is the sum of others, "
            "or constant; leave one out"
        )
    inverse = np.linalg.inv(design.T @ design)
    root, hat, found = np.linalg.cholesky(inverse), inverse @ design.T, []
    for share in draws:
        mean = hat @ share
        sigma = np.sqrt(((share - design @ mean) ** 2).sum(axis=0) / (documents - columns))
        noise = rng.standard_normal((EACH, columns, share.shape[1]))
        found.append(mean + (root @ noise) * sigma)
    every = np.concatenate(found)
    return Effects(tuple(names), every.mean(axis=0), every.std(axis=0),
                   np.quantile(every, low, axis=0), np.quantile(every, high, axis=0))  # fmt: skip


def _finite(what: str, value: Any, dims: int) -> Matrix:
    array = numbers(what, value).astype(np.float64)
    if array.ndim != dims or not np.isfinite(array).all():
        raise DataError(f"{what} of shape {array.shape}: give finite numbers in {dims} dimensions")
    return array


def design_matrix(formula: str, columns: Mapping[str, Any]) -> tuple[Matrix, list[str]]:
    """The design of "~ treatment + year": an intercept, each column of numbers as it is, of texts
    or truth values one column for every value but the first, and a:b for products."""
    if not isinstance(formula, str) or not formula.strip():
        raise DataError(f"formula={formula!r}: give a text such as '~ treatment + year'")
    terms = [term.strip() for term in formula.strip().removeprefix("~").split("+")]
    if hasattr(columns, "column_names"):  # a table of Arrow
        columns = {name: np.asarray(columns[name]) for name in columns.column_names}
    elif hasattr(columns, "get_columns"):  # a data frame of polars
        columns = {column.name: column.to_numpy() for column in columns.get_columns()}
    if not isinstance(columns, Mapping) and not hasattr(columns, "columns"):
        raise DataError(f"columns={columns!r:.60}: give a data frame or a dict of columns")
    known = [str(column) for column in columns]  # of a dict, or of a data frame of pandas
    if not known:
        raise DataError("formula: there are no columns; give a data frame or a dict of columns")
    for name in columns:
        if np.ndim(columns[name]) != 1:
            raise DataError(f"columns: {name!r} is no column; give one entry for each document")
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
            product = [
                (f"{one}:{two}" if one else two, x * y)
                for one, x in product
                for two, y in _coded(name, columns[name])
            ]
        parts += product
    return np.column_stack([column for _, column in parts]), [name for name, _ in parts]


def _coded(name: str, column: Any) -> list[tuple[str, Matrix]]:
    """A column of numbers, or one of 0 and 1 for each value but the first."""
    values = np.asarray(column)
    if values.dtype.kind in "iuf":
        if not np.isfinite(values).all():
            raise DataError(f"formula: {name} has missing values; leave these documents out")
        return [(name, values.astype(np.float64))]
    texts = np.array([str(value) for value in values.tolist()])
    known = sorted(set(texts.tolist()))
    if len(known) < 2:
        raise DataError(f"formula: {name} has one value only, {known[0]!r}; leave it out")
    return [(f"{name}[{value}]", (texts == value).astype(np.float64)) for value in known[1:]]
