"""From a trained network or a layer-wise training, of one chain or several, to ReportData."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import check_integer, check_mapping, check_text, is_integral, listed, term_names
from pgbn.engine.data.cells import read_array
from pgbn.engine.data.nonzero import Cells
from pgbn.errors import DataError
from pgbn.evaluation import completion_perplexity, topic_weights
from pgbn.evaluation.projection import token_count, usual_length
from pgbn.evaluation.shares import check_row_order
from pgbn.explain import derivation
from pgbn.report.data import Matrix, ReportData, Series, proportions
from pgbn.report.text import code_to_repeat, trained_facts, used_versions
from pgbn.storage.stop_words import TOKEN
from pgbn.training.averages import BEFORE_MERGING
from pgbn.training.trained import TrainedNetwork, observed_node, trained_network
from pgbn.zoo import layers

if TYPE_CHECKING:
    from pgbn.engine.run.draws import Draws
    from pgbn.network.network import Network


_READABLE = {"log_likelihood": "log likelihood", "width": "active topics of the top layer"}


def report_data(
    model: Any,
    X: Any = None,
    *,
    vocabulary: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    dates: Sequence[Any] | None = None,
    classes: Sequence[Any] | None = None,
    columns: Mapping[str, str] | None = None,
    token_pattern: str | None = None,
    held_out: Any = None,
    max_width: int | Sequence[int] | None = None,
    settings: Mapping[str, Any] | None = None,
    repeat: str = "",
    title: str = "",
    seed: int = 0,
    relevance: float | None = None,
    documents: Sequence[str] | None = None,
) -> ReportData:
    """What a report shows of ``model``.

    ``model`` is the result of `train_layerwise`, a trained network, a fitted estimator, or a list
    of such: chains with different seeds on the same documents. Topics are those of the first
    chain, traces are of all. The documents are those of the training where the state was kept;
    with ``X`` (documents × terms) and no state they are inferred, with ``seed``. Of them may be
    given: ``texts``, ``titles``, ``dates`` (years, datetimes, or texts such as "2019-03-01") and
    ``classes``; ``columns`` says what these two are called, {"date": "published"}, and
    ``token_pattern`` what a term of the texts looks like. ``held_out`` are other documents × terms,
    whose perplexity by the number of layers is shown. ``max_width`` is the width that the first
    layer was given, or that of each layer; ``settings`` and ``repeat`` (code) are shown so that a
    reader can repeat the run; the code is made from the settings if these have the arguments
    max_width, depth and seed. Words are ranked by ``relevance`` as in `pgbn.evaluation.topics`; the
    slider of the page, in tenths, begins there. ``documents`` is the old name of ``texts``.
    """
    if isinstance(model, ReportData):
        return model
    if documents is not None:
        warn("documents= is called texts= now", DeprecationWarning, stacklevel=2)
        texts = documents if texts is None else texts
    check_row_order(X, texts=texts, titles=titles, dates=dates, classes=classes)
    models = list(model) if isinstance(model, (list, tuple)) else [model]
    chains = _chains(models)
    trained = chains[0][-1]
    vocabulary = trained.vocabulary if vocabulary is None else vocabulary
    given = getattr(models[0], "max_width", None) if max_width is None else max_width
    cells = None if X is None else read_array(observed_node(trained.link), X, imputed=False)
    facts = trained_facts(trained, cells) | check_mapping("settings", settings)
    stopped = getattr(getattr(models[0], "training_", models[0]), "stopped", None)
    if stopped:
        facts.setdefault("training stopped", stopped)
    if len(chains) > 1:
        facts.setdefault("chains", len(chains))
    return ReportData(
        phi=trained.phi,
        weights=tuple(topic_weights(trained, t) for t in range(1, trained.depth + 1)),
        active=tuple(_has_counts(phi) for phi in trained.phi),
        budget=_budgets(given, trained.widths),
        vocabulary=term_names(vocabulary, trained.vocabulary_size),
        theta=_documents(trained, cells, seed),
        titles=titles,
        texts=texts,
        dates=dates,
        classes=classes,
        columns=check_mapping("columns", columns),
        token_pattern=check_text("token_pattern", token_pattern) or TOKEN,
        held_out=_held_out(chains[0], held_out, seed),
        series=_series(chains),
        stages=_borders(chains[0]),
        derivation=derivation(trained.network()),
        settings=facts,
        repeat=check_text("repeat", repeat) or code_to_repeat(facts),
        title=title,
        seed=seed,
        labels=trained.labels,
        length=usual_length(trained),
        tokens=token_count(trained),
        relevance=relevance,
    )


def _budgets(max_width: int | Sequence[int] | None, widths: tuple[int, ...]) -> tuple[int, ...]:
    """The width that each layer was given: its own budget, and no more than the layer below has."""
    given = [max_width or 0] if max_width is None or is_integral(max_width) else max_width
    each = [
        check_integer("max_width", number, 0)
        for number in listed("max_width", given, "give a number, or one for each layer")
    ]
    if not 0 < len(each) <= len(widths):
        raise DataError(f"max_width: {len(each)} numbers for {len(widths)} layers")
    below = (each[0], *widths[:-1])
    return tuple(map(min, (*each, *below[len(each) :]), below))


# ---- parts of a trained network ---------------------------------------------------------


def _chains(models: Sequence[Any]) -> list[tuple[TrainedNetwork, ...]]:
    """The networks of each chain, which must be of the same data."""
    if not models:
        raise DataError("model is an empty list; give at least one trained network")
    chains = [_stages(each) for each in models]
    sizes = {stages[-1].vocabulary_size for stages in chains}
    if len(sizes) > 1:
        raise DataError(f"model: chains with {sorted(sizes)} terms; give chains of the same data")
    return chains


def _stages(model: Any) -> tuple[TrainedNetwork, ...]:
    """The networks of depth 1, 2, … of one chain, or the one that there is."""
    deepest = trained_network(model)
    return tuple(getattr(getattr(model, "training_", model), "networks", (deepest,)))


def _has_counts(phi: Matrix) -> NDArray[np.bool_]:
    """E φ_k = (η + x) / Σ(η + x) is flat exactly where the topic has no counts."""
    if phi.shape[1] == 1:
        return np.ones(phi.shape[0], np.bool_)
    return np.asarray(np.ptp(phi, axis=1) > 1e-12)


def _documents(trained: TrainedNetwork, cells: Cells | None, seed: int) -> tuple[Matrix, ...]:
    names = [layers.theta(t) for t in range(1, trained.depth + 1)]
    if all(name in trained.state for name in names):
        theta = tuple(proportions(np.asarray(trained.state[name])) for name in names)
        if cells is None or cells.rows == theta[0].shape[0]:
            return theta
    if cells is None:
        return ()
    from pgbn.training.new_rows import infer

    hidden = infer(trained, cells, burn_in=50, samples=50, seed=seed, units=False)
    return tuple(proportions(hidden.features(t)) for t in hidden.layers)


def _held_out(stages: Sequence[TrainedNetwork], X: Any, seed: int) -> tuple[tuple[int, float], ...]:
    """Depth and perplexity of one half of the tokens of each document, given the other half."""
    if X is None:
        return ()
    return tuple(
        (each.depth, completion_perplexity(each, X, burn_in=50, samples=50, seed=seed).perplexity())
        for each in stages
    )


# ---- traces -----------------------------------------------------------------------------


def _borders(stages: Sequence[TrainedNetwork]) -> tuple[tuple[float, str], ...]:
    """Where each further layer was put on top."""
    return tuple((float(below.sweeps), f"layer {above.depth}") for below, above in pairwise(stages))


def _series(chains: Sequence[Sequence[TrainedNetwork]]) -> tuple[Series, ...]:
    """The traces of all stages, end to end, at the sweeps that all chains noted; the second half
    of the last stage has settled, or what of it is not from before topics were merged."""
    names = [name for name in chains[0][-1].traces if name not in ("sweep", BEFORE_MERGING)]
    out = []
    for name in names:
        joined = [_joined(stages, name) for stages in chains]
        sweeps, values = _at_common_sweeps(joined)
        if not sweeps.size:
            continue
        begin, present = (
            max(_first(own, stages[-1].traces, name, merged)
                for (own, _), stages in zip(joined, chains, strict=True))
            for merged in (False, True)
        )  # fmt: skip
        half = sweeps.size - int((sweeps >= begin).sum()) // 2
        readable = _READABLE.get(name, name.replace("_", " "))
        settled = max(half, int((sweeps < present).sum()))
        out.append(Series(readable, sweeps, values, settled))
    return tuple(out)


def _at_common_sweeps(traces: Sequence[tuple[Matrix, Matrix]]) -> tuple[Matrix, Matrix]:
    """The sweeps that all traces have, and the values there, (chains, sweeps)."""
    first = traces[0][0]
    if all(np.array_equal(sweeps, first) for sweeps, _ in traces):
        return first, np.stack([values for _, values in traces])
    common = reduce(np.intersect1d, [sweeps for sweeps, _ in traces])
    found = []
    for sweeps, values in traces:
        unique, place = np.unique(sweeps, return_index=True)
        found.append(values[place[np.isin(unique, common)]])
    return common, np.stack(found)


def _first(sweeps: Matrix, trace: Mapping[str, Any], name: str, merged: bool) -> float:
    """The first sweep of the last stage that was noted, or that was after topics were merged."""
    wider = np.count_nonzero(trace.get(BEFORE_MERGING, ())) if merged else 0
    place = sweeps.size - np.size(trace.get(name, ())) + int(wider)
    return float(np.append(sweeps, np.inf)[min(place, sweeps.size)])


def _joined(stages: Sequence[TrainedNetwork], name: str) -> tuple[Matrix, Matrix]:
    sweeps, values, done = [np.zeros(0)], [np.zeros(0)], 0.0
    for stage in stages:
        if name in stage.traces:
            sweeps.append(done + np.asarray(stage.traces["sweep"], np.float64))
            values.append(np.asarray(stage.traces[name], np.float64))
        done = float(stage.sweeps)
    return np.concatenate(sweeps), np.concatenate(values)


# ---- from draws ---------------------------------------------------------------------------------
#
# From draws of several chains to ReportData.


def report_data_from_draws(
    network: Network,
    draws: Draws,
    *,
    vocabulary: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    dates: Sequence[Any] | None = None,
    classes: Sequence[Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    repeat: str = "",
    title: str = "",
) -> ReportData:
    """What a report shows of draws of a network whose layers are named as those of `pgbn.zoo`.

    Topics are means over the draws of the first chain. The traces are the scalar nodes, the total
    of r and the mean total of every θ, for all chains.
    """
    if not hasattr(draws, "attributes") or not hasattr(network, "nodes"):
        raise DataError("give a pgbn.Network, and draws of it that Network.sample returned")
    depth = sum(layers.phi(t) in draws.values for t in range(1, len(draws.values) + 1))
    if not depth or any(layers.theta(t) not in draws.values for t in range(1, depth + 1)):
        names = f"{layers.phi(1)}, {layers.theta(1)}, {layers.phi(2)}, …"
        raise DataError(f"draws: the report needs the nodes {names}: see keep=")
    phi, theta = [], []
    for t in range(1, depth + 1):
        loadings, units = draws[layers.phi(t)][0], draws[layers.theta(t)][0]
        if draws.dims[layers.phi(t)][2] != layers.topic(t):
            loadings = loadings.swapaxes(1, 2)
        if draws.dims[layers.theta(t)][2] == layers.topic(t):
            units = units.swapaxes(1, 2)
        phi.append(np.asarray(loadings.mean(axis=0)))
        theta.append(np.asarray(proportions(units).mean(axis=0)))
    weights = tuple(units.mean(axis=0) for units in theta)
    kept = {name: value for name, value in draws.attributes.items() if value is not None}
    shape = draws[layers.phi(1)].shape
    return ReportData(
        phi=tuple(phi),
        weights=weights,
        active=tuple(weight > 1e-3 for weight in weights),
        budget=tuple(matrix.shape[0] for matrix in phi),
        vocabulary=term_names(vocabulary, phi[0].shape[1]),
        theta=tuple(theta),
        titles=titles,
        texts=texts,
        dates=dates,
        classes=classes,
        series=_scalars(draws),
        derivation=derivation(network),
        settings={
            "chains": shape[0],
            "draws": shape[1],
            **kept,
            **used_versions(),
            **check_mapping("settings", settings),
        },
        repeat=repeat,
        title=title,
        active_means="topics with more than 0.1 % of the weight of their layer",
    )


def _scalars(draws: Draws) -> tuple[Series, ...]:
    sweeps = np.arange(1.0, next(iter(draws.values.values())).shape[1] + 1)
    sweeps = draws.attributes.get("burn_in", 0) + sweeps * draws.attributes.get("thin", 1)
    out = []
    for name, value in draws.values.items():
        dims = draws.dims[name][2:]
        if not dims:
            out.append(Series(name, sweeps, value))
        elif name == layers.TOP_SHAPE:
            out.append(Series("total of r", sweeps, value.sum(axis=-1)))
        elif name.startswith("theta") and len(dims) == 2:
            totals = value.sum(axis=(2, 3)) / value.shape[2 if dims[0] == "doc" else 3]
            out.append(Series(f"mean total of {name}", sweeps, totals))
    return tuple(out)
