"""Posterior draws of the shares of topics in documents, and their means over groups of documents.

    θ^s_j ~ p(θ_j | x_j, Φ^s, r^s),   share^s_jk = θ^s_jk / θ^s_j·,   s = 1 … S

Each draw is the end of its own chain, given one of the draws of Φ and r that training kept, or else
the single Φ. Values computed from the draws have the spread of the posterior. Intervals express the
uncertainty about *these* documents, not how other documents would differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import (
    check_integer,
    check_seed,
    first_difference,
    is_finite_number,
    listed,
)
from pgbn.errors import DataError, PgbnWarning
from pgbn.evaluation.topic_words import topic_name
from pgbn.storage.read_limits import check_bytes
from pgbn.training.kept_draws import each_draw
from pgbn.training.new_rows import infer
from pgbn.training.trained import check_layer, trained_network
from pgbn.zoo import layers

Matrix = NDArray[np.float64]


def plain_list(values: Any, name: str = "dates") -> list[Any]:
    """A column as a list of plain values, also for a column of Arrow."""
    plain = values.to_pylist() if hasattr(values, "to_pylist") else values
    return listed(name, plain, "give one entry for each document")


def check_row_order(X: Any, **columns: Any) -> None:
    """Reject columns of pandas whose labels are those of the documents ``X`` in another order, as
    after a sort of one of the two: entries are matched by position. Other labels do not imply an
    order."""
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
    except (TypeError, ValueError):  # pandas' NA has no truth value, nor has an array
        return np.ndim(entry) == 0


def share_draws(
    model: Any,
    X: Any,
    layer: int = 1,
    draws: int = 20,
    *,
    burn_in: int = 50,
    seed: int = 0,
    threads: int | None = None,
) -> Matrix:
    """(draws, documents, K): posterior draws of θ/θ_· of a layer, for documents × terms ``X``."""
    model = trained_network(model)
    layer, draws = check_layer(model, layer), check_integer("draws", draws, 2)
    networks, out, seed = each_draw(model), [], check_seed(seed)
    for number in range(draws):
        with warnings.catch_warnings():
            if number:  # said once
                warnings.simplefilter("ignore", PgbnWarning)
            found = infer(networks[number % len(networks)], X, layers=layer, burn_in=burn_in,
                          draws=1, seed=(seed + number) % 2**64, threads=threads,
                          units=False)  # fmt: skip
        name = layers.theta(layer)
        mean, sd = found.proportions[name], found.proportions_sd[name]
        if not number:
            check_bytes(f"draws={draws}", 8 * mean.size * draws, "ask for fewer draws")
        out.append(_from_moments(mean, sd, np.random.default_rng([seed, number])))
    return np.stack(out)


def _from_moments(mean: Matrix, sd: Matrix, rng: np.random.Generator) -> Matrix:
    """A draw of Dir(α) by its mean α/α_· and variances, Σ_k var_k = (1 − Σ mean²) / (α_· + 1).

    One sample of `infer` has the moments of θ/θ_· given the counts of its last sweep. Given these,
    the units of a document share a rate, so their proportions are Dirichlet.
    """
    spread = np.maximum((sd**2).sum(axis=1), 1e-300)
    total = np.maximum((1 - (mean**2).sum(axis=1)) / spread - 1, 1e-6)
    units = rng.standard_gamma(mean * total[:, None])
    sums = units.sum(axis=1, keepdims=True)
    nowhere = sums[:, 0] <= 0  # shapes so small that all underflow: one topic has everything
    if nowhere.any():
        chosen = [rng.choice(mean.shape[1], p=row / row.sum()) for row in mean[nowhere]]
        units[nowhere] = np.eye(mean.shape[1])[chosen]
        sums[nowhere] = 1.0
    return np.asarray(units / sums)


def interval_of(interval: Any) -> tuple[float, float]:
    """The two quantiles that enclose the fraction ``interval`` of the draws, symmetrically."""
    if not is_finite_number(interval) or not 0 < interval < 1:
        raise DataError(f"interval={interval!r} must lie between 0 and 1, as 0.9 does")
    return (1 - float(interval)) / 2, (1 + float(interval)) / 2


def middle_and_ends(draws: Matrix, interval: float) -> tuple[Matrix, Matrix, Matrix]:
    """The mean over the first axis, and the two ends that enclose ``interval`` of the draws."""
    low, high = interval_of(interval)
    return draws.mean(axis=0), np.quantile(draws, low, axis=0), np.quantile(draws, high, axis=0)


def group_shares(
    draws: Matrix, entries: Sequence[Any], layer: int, interval: float, name: str
) -> list[tuple[Any, ...]]:
    """The mean shares of documents with the same entry, in the order of the entries: rows of the
    entry, the number of its documents, topic, share and the ends of the interval. Documents whose
    entry is None or NaN are omitted."""
    known = [entry for entry in entries if not is_missing(entry)]
    if not all(isinstance(entry, Hashable) for entry in known):
        raise DataError(f"{name}: give one name, number or date for each document")
    if not known:
        raise DataError(f"{name}: all are missing; give a class or a date for some documents")
    groups = sorted(set(known), key=lambda group: (str(type(group)), group))
    number = {group: place for place, group in enumerate(groups)}
    of = np.array([-1 if is_missing(entry) else number[entry] for entry in entries])
    means = np.stack([draws[:, of == group].mean(axis=1) for group in number.values()], axis=1)
    each, sizes = middle_and_ends(means, interval), np.bincount(of[of >= 0])
    return [
        (group, int(sizes[g]), topic_name(layer, k), *(column[g, k] for column in each))
        for g, group in enumerate(groups)
        for k in range(draws.shape[2])
    ]
