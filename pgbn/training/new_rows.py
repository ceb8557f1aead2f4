"""Hidden units of new documents, given a trained network.

    p(θ^(1…T)_j, c_j | x_j, Φ^(1…T), r)

by Gibbs sampling with Φ and r fixed (Zhou, Cong & Chen 2015, section 3). Documents are independent
given the network, and each has a random stream keyed by the seed and its own counts: the result for
a document is the same in any batch, in any order, on any number of threads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.checks import (
    check_flag,
    check_integer,
    check_names,
    check_seed,
    labels_of_columns,
)
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import read_array
from pgbn.engine.rows.independent import row_network
from pgbn.engine.rows.infer import sample_rows
from pgbn.engine.rows.new_rows import CountLaw, GivenBlocks, NewRows, RowTask, Wanted
from pgbn.errors import DataError, notify
from pgbn.samplers.executor import Executor, executor_of
from pgbn.training.kept_draws import given_stacks
from pgbn.training.trained import TrainedNetwork, check_layer, trained_network
from pgbn.zoo import layers as layers_of_zoo
from pgbn.zoo.links import REALS, get_link

Names = Sequence[str] | Mapping[str, int]


def infer(
    model: TrainedNetwork,
    X: Any,
    *,
    layers: int | Iterable[int] | None = None,
    burn_in: int = 500,
    draws: int = 500,
    seed: int = 0,
    threads: int | None = None,
    terms: Names | None = None,
    vocabulary: Names | None = None,
    units: bool = True,
    executor: Executor | None = None,
) -> NewRows:
    """The hidden units of the documents ``X`` (documents × terms, sparse or dense): `Network.infer`
    given Φ and r, with ``proportions``.

    ``model`` is a trained network, the result of `train_layerwise` or a fitted estimator.
    ``layers`` are numbered from 1; all by default. Columns of X beyond the vocabulary, and terms
    that no topic has, are dropped. ``terms`` are the names of X's columns; with them, columns are
    matched by name. ``vocabulary`` are the names of the model's columns, by default those that it
    was saved with. Both are lists, or dicts from names to columns. A data frame, or an
    ``xarray.DataArray`` with labels along term, provides its own ``terms`` if the model has names.
    The result's ``attributes`` say how many ``unknown_terms`` there were, with how many
    ``unknown_tokens``. ``units=False`` omits θ itself and keeps θ/θ_· only. An ``executor``, such
    as `pgbn.Ray`, takes the place of ``threads``. If the model kept draws (``keep_draws`` of
    training), each of them runs its own chain, with its share of the sweeps (a burn-in of at least
    10). Means and standard deviations are then over Φ and r too. These draws come from one chain,
    so a topic means the same in all of them.
    """
    model = trained_network(model)
    check_integer("burn_in", burn_in, 0)
    check_integer("draws", draws, 1)
    if max(burn_in, draws) >= 2**63:
        raise DataError("burn_in, draws: give numbers below 2^63")
    names = tuple(layers_of_zoo.theta(t) for t in _layers(model, layers))
    wanted = Wanted(names, proportions=True, values=check_flag("units", units))
    cells, unknown_terms, unknown_tokens = read_new_documents(model, X, terms, vocabulary)
    network, link = row_network(model.network, layers_of_zoo.DOCUMENT), get_link(model.link)
    blocks = GivenBlocks(given_stacks(model), int(burn_in), int(draws))
    law = CountLaw(link.latent, link.whole)
    task = RowTask(network, layers_of_zoo.DOCUMENT, blocks, wanted, check_seed(seed), law)
    found = sample_rows(task, {layers_of_zoo.DATA: cells}, executor_of(threads, executor))
    _report_empty(found.empty, cells.rows)
    unknown = {"unknown_terms": unknown_terms, "unknown_tokens": unknown_tokens}
    return replace(found, attributes=unknown)


def _layers(model: TrainedNetwork, layers: int | Iterable[int] | None) -> tuple[int, ...]:
    if layers is None:
        return tuple(range(1, model.depth + 1))
    chosen: tuple[Any, ...] = tuple(layers) if np.iterable(layers) else (layers,)
    if not chosen:
        raise DataError(f"layers={layers!r}: give at least one of the layers 1 to {model.depth}")
    return tuple(dict.fromkeys(check_layer(model, t, "layers") for t in chosen))


def read_new_documents(
    model: TrainedNetwork,
    X: Any,
    terms: Names | None = None,
    vocabulary: Names | None = None,
    name: str = "X",
) -> tuple[Cells, int, float]:
    """Checked documents in the columns of the model; the numbers of unknown terms and of their
    counts.

    A term that no topic has is as unknown as one beyond the vocabulary. ``name`` is the name of the
    argument in errors.
    """
    if sp.issparse(X) and X.shape[-1] >= 2**31:
        raise DataError(f"{name} has {X.shape[-1]} columns; give fewer than 2^31")
    node, size = get_link(model.link).data_node(name), model.vocabulary_size
    cells = read_array(node, X, imputed=False)
    columns: int = 0
    tokens: float = 0
    known_names = model.vocabulary if vocabulary is None else vocabulary
    if terms is None and known_names is not None:
        terms = labels_of_columns(X)
        if terms is not None and not set(terms) & set(known_names):
            raise DataError(
                f"{name}: none of its columns, {terms[0]!r}, …, is a term of the model; give the "
                "names of its terms, or an array without names, which goes by position"
            )
    if terms is not None:
        vocabulary = known_names  # the names that the model was saved with, if any
    if terms is not None or vocabulary is not None or cells.columns != size:
        known, columns, tokens = align_terms(cells, size, terms, vocabulary, name)
        cells = read_array(node, known)
        if columns:
            notify(f"{name}: {columns} unknown terms with {amount(tokens)} were dropped")
    nowhere = (model.phi[0].max(axis=0) == 0.0)[cells.indices]
    if nowhere.any():
        dropped, total = np.unique(cells.indices[nowhere]), _total(cells.values[nowhere])
        notify(
            f"{name}: {dropped.size} unknown terms with {amount(total)} were dropped: "
            f"no topic of the model has column {dropped[0]}{', …' if dropped.size > 1 else ''}"
        )
        kept = sp.csr_array(
            (np.where(nowhere, 0, cells.values), cells.indices, cells.indptr),
            shape=(cells.rows, size),
        )
        kept.eliminate_zeros()
        cells, columns, tokens = read_array(node, kept), columns + dropped.size, tokens + total
    return cells, columns, tokens


def _total(values: NDArray[Any]) -> float:
    """The sum, an integer if all values are whole."""
    total = values.sum()
    return int(total) if (values == np.floor(values)).all() else float(total)


def amount(total: float) -> str:
    """The words of a notice for what was dropped: counts, or a total of data that are not
    counts."""
    return f"{total} counts" if isinstance(total, int) else f"a total of {total:.6g}"


def align_terms(
    X: Any,
    size: int,
    terms: Names | None = None,
    vocabulary: Names | None = None,
    name: str = "X",
) -> tuple[sp.csr_array, int, float]:
    """X with the columns of the model, and the numbers of unknown columns and counts.

    The number of counts is an integer if all data are.
    """
    cells = read_array(REALS.data_node(name), X, imputed=False)  # any number from 0 on
    parts = (cells.values, cells.indices, cells.indptr)
    X = sp.csr_array(parts, shape=(cells.rows, cells.columns))
    if (terms is None) != (vocabulary is None):
        raise DataError(
            f"terms and vocabulary: give both (names of {name}'s and the model's columns)"
        )
    if terms is None or vocabulary is None:
        if X.shape[1] < size:
            raise DataError(
                f"{name} has {X.shape[1]} columns, but the model has {size} terms; give terms= "
                "and vocabulary= to match columns by name"
            )
        known, rest = X[:, :size], X[:, size:]
    else:
        given = check_names("terms", terms, X.shape[1])
        own = check_names("vocabulary", vocabulary, size)
        for argument, names in (("terms", given), ("vocabulary", own)):
            twice = next((each for each, n in Counter(names).items() if n > 1), None)
            if twice is not None:
                raise DataError(f"{argument}: {twice!r} names two columns; give every term once")
        number = {term: i for i, term in enumerate(own)}
        target = np.array([number.get(term, -1) for term in given], np.int64)
        found = np.flatnonzero(target >= 0)
        move = sp.csr_array(
            (np.ones(found.size, X.dtype), (found, target[found])), shape=(len(given), size)
        )
        known, rest = X @ move, X[:, np.flatnonzero(target < 0)]
    return sp.csr_array(known), np.unique(rest.indices).size, _total(rest.data)


def _report_empty(empty: NDArray[np.int64], rows: int) -> None:
    if empty.size:
        first = ", ".join(str(row) for row in empty[:5])
        notify(
            f"{empty.size} of {rows} documents have no known term (rows {first}"
            f"{', …' if empty.size > 5 else ''}): their topic weights are those of the prior"
        )
