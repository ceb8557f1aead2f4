"""Convert draws, trained networks or estimators to ReportData.

Topics may change their numbers between chains, and along one. So only quantities that do not depend
on the numbering of units are compared:

    a number               itself
    a vector on a simplex  Σ p², averaged over the vectors
    any other array        its total
"""

from __future__ import annotations

import platform
from ast import literal_eval
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import (
    check_integer,
    check_mapping,
    check_names,
    check_text,
    is_integral,
    listed,
    term_names,
    validated,
)
from pgbn.engine.data.cells import Cells
from pgbn.engine.data.reading import read_array
from pgbn.engine.run.draws import Draws
from pgbn.errors import DataError, notify
from pgbn.evaluation.held_out import HeldOut
from pgbn.evaluation.periods import check_dates
from pgbn.evaluation.shares import check_row_order
from pgbn.evaluation.topic_words import relevance_of, token_count, topic_weights, usual_length
from pgbn.explain import derivation
from pgbn.nodes.base import Latent
from pgbn.report.data import Matrix, ReportData, Series, Simplex, proportions
from pgbn.report.text import several
from pgbn.storage.terms import TOKEN
from pgbn.training.kept_draws import BEFORE_MERGING
from pgbn.training.trained import TrainedNetwork, observed_node, trained_network, unwrapped
from pgbn.versions import __version__
from pgbn.zoo import layers
from pgbn.zoo.links import get_link

if TYPE_CHECKING:
    from pgbn.network.network import Network


Coords = Mapping[str, Sequence[Any]]
_READABLE = {"log_likelihood": "log likelihood", "width": "active topics of the top layer"}
_ONLY_TOPICS = "only for networks whose layers are topics of documents"
_ARGUMENTS = (
    "max_width", "depth", "eta", "burn_in", "sweeps", "link", "seed", "sampler", "average",
    "min_width", "min_count", "trace_every",
)  # fmt: skip


@validated
def report_data(
    model: Any,
    X: Any = None,
    *,
    coords: Coords | None = None,
    vocabulary: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    dates: Sequence[Any] | None = None,
    classes: Sequence[Any] | None = None,
    columns: Mapping[str, str] | None = None,
    token_pattern: str | None = None,
    held_out: Any = None,
    max_width: int | Sequence[int] | None = None,
    settings: Mapping[str, Any] | None = None,
    title: str = "",
    seed: int = 0,
    relevance: float | None = None,
) -> ReportData:
    """Gather the data of a report about ``model``.

    Parameters
    ----------
    model
        Draws of any network, a trained network, the result of `train_layerwise`, a fitted
        estimator, or a list of trained ones: chains with different seeds on the same data. Topics
        are those of the first chain, traces are of all.
    X
        Documents × terms, for topic models. A trained network shows the documents of its training
        if it kept their state; others are inferred, with ``seed``.
    coords
        Labels along dims, in addition to those that draws have.
    vocabulary
        The names of the terms.
    names, texts, dates, classes
        Columns of the documents: lists, arrays or Series of pandas. Dates are years, datetimes, or
        texts such as "2019-03-01".
    columns, token_pattern
        The names of the dates and classes, {"date": "published"}, and the pattern of a term in the
        texts.
    held_out
        Other documents × terms; the page shows their perplexity for each number of layers.
    max_width
        The maximum width of the first layer, or of each layer.
    settings, title
        The settings that the page lists, and the heading. With the arguments max_width, depth and
        seed among the settings, the page also has the code that repeats the run.
    seed
        The seed of what is inferred, and of the map.
    relevance
        Ranks words as in `pgbn.TrainedNetwork.topics`; the slider of the page starts there.

    Returns
    -------
    ReportData
        `write_report` and the figures of `pgbn.plot` take it in place of a model, so that nothing
        is inferred twice.

    Raises
    ------
    DataError
        If a column of the documents has another length than the documents, or an argument does not
        apply to this model.

    Examples
    --------
    >>> import numpy as np
    >>> import pgbn
    >>> from pgbn.report import report_data
    >>> phi = np.array([[0.7, 0.3, 0.0], [0.0, 0.4, 0.6]])
    >>> model = pgbn.TrainedNetwork.of_topics((phi,), r=np.ones(2), c=np.ones(1))
    >>> data = report_data(model, vocabulary=["rain", "wind", "sun"])
    >>> data.words(layer=1, topic=1, top=2)
    ['sun', 'wind']
    """
    if isinstance(model, ReportData):
        return model
    check_row_order(X, texts=texts, names=names, dates=dates, classes=classes)
    relevance_of(1, relevance)
    given, pattern = check_mapping("settings", settings), check_text("token_pattern", token_pattern)
    if isinstance(model, Draws):
        draws = model
        _check_draws(draws)
        found = _summaries(draws)
        parts = _parts_of_draws(draws, found)
        trained_only = {"X": X, "held_out": held_out, "max_width": max_width}
        _reject("only for trained networks", trained_only)
    else:
        models = list(model) if isinstance(model, (list, tuple)) else [model]
        chains = _chains(models)
        draws = _kept(chains[0][-1])
        found = _summaries(draws)
        parts = _parts_of_trained(models[0], chains, X, held_out, max_width, seed)
    labels = {**draws.coords, **check_mapping("coords", coords)}
    of_documents = {"names": names, "texts": texts, "dates": dates, "classes": classes}
    as_topics = {layers.phi(t) for t, _ in enumerate(parts.get("phi", ()), 1)}
    if as_topics:
        parts |= _checked_documents(parts, labels, vocabulary, of_documents)
    else:
        _reject(_ONLY_TOPICS, {"vocabulary": vocabulary, **of_documents})
    versions = {"pgbn": __version__, "numpy": np.__version__, "python": platform.python_version()}
    parts["settings"] = {**parts["settings"], **versions, **given}
    parts["title"] = check_text("title", title) or parts["title"]
    net: Any = draws.network
    return ReportData(
        nodes=tuple(_node_row(net, found, name) for name in net.nodes),
        simplexes=tuple(s for s in _simplexes(draws, found, labels) if s.name not in as_topics),
        picture=str(net.plot()),
        derivation=derivation(net),
        repeat=_code_to_repeat(parts["settings"]),
        columns=check_mapping("columns", columns),
        token_pattern=pattern or TOKEN,
        seed=seed,
        relevance=relevance,
        **parts,
    )


def _reject(why: str, given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            raise DataError(f"{name}: {why}; omit it. coords= gives the labels along dims")


def _checked_documents(
    parts: Mapping[str, Any], labels: Coords, vocabulary: Any, given: dict[str, Any]
) -> dict[str, Any]:
    """The names of the terms, and the columns of the documents."""
    phi, theta = parts["phi"], parts["theta"]
    columns = [name for name, column in given.items() if column is not None]
    if columns and not theta:
        notify(
            f"{', '.join(columns)}: not shown, since the model does not contain its documents; "
            "give them as X="
        )
    if vocabulary is None:
        vocabulary = labels.get(layers.TERM)
    if given["names"] is None and theta:
        given["names"] = labels.get(layers.DOCUMENT)
    size = len(theta[0]) if theta else None
    for name in ("names", "texts"):
        if given[name] is not None and theta:
            given[name] = check_names(name, given[name], size)
    for name in ("dates", "classes"):
        if given[name] is not None:
            _check_entries(name, given[name], size)
    if given["dates"] is not None:
        check_dates(given["dates"])
    return {"vocabulary": term_names(vocabulary, phi[0].shape[1]), **given}


def _check_entries(name: str, entries: Any, size: int | None) -> None:
    """One date or class for each document."""
    odd = isinstance(entries, (str, bytes, Mapping, Set, type))
    odd = odd or not hasattr(entries, "__len__") or getattr(entries, "ndim", 1) != 1
    if odd or any(isinstance(entry, (list, tuple)) for entry in entries):
        raise DataError(f"{name}={entries!r:.60}: give one entry for each document")
    if size is not None and len(entries) != size:
        raise DataError(
            f"{name}: {len(entries)} entries for {size} documents; give one for each of them"
        )


# ---- draws --------------------------------------------------------------------------------------


def _check_draws(draws: Draws) -> None:
    """Check that there are draws, and that they contain their network."""
    if draws.network is None:
        raise DataError(
            "draws: they do not contain their network; take those that net.sample returned or "
            "pgbn.load read"
        )
    if not draws.arrays or not _shape(draws, next(iter(draws.arrays)))[1]:
        raise DataError("draws: none was kept so far; let the run continue")


def _parts_of_draws(draws: Draws, found: Mapping[str, Summary]) -> dict[str, Any]:
    """Fields of `ReportData`."""
    chains, number = _shape(draws, next(iter(draws.arrays)))[:2]
    settings: dict[str, Any] = {"chains": chains, "draws of each": number}
    for name, cells in draws.data.items():
        sizes = zip(cells.dims, cells.shape, strict=True)
        settings[f"data {name}"] = " × ".join(f"{size} {dim}" for dim, size in sizes)
    settings |= {name: value for name, value in draws.attributes.items() if value is not None}
    if draws.interrupted:
        settings["unfinished"] = "the run is not finished; these are the draws so far"
    topics = _topics_of_draws(draws, found)
    title = _title(topics) if topics else "Posterior draws"
    series = _label_free_traces(draws, found)
    return {"title": title, "series": series, "settings": settings, **topics}


def _topics_of_draws(draws: Draws, found: Mapping[str, Summary]) -> dict[str, Any]:
    """Topics as means over the draws of the first chain, if nodes and dims are named as those of
    the belief networks of `pgbn.zoo`."""
    phi, theta = [], []
    for t in range(1, len(draws.arrays) + 1):
        loadings, units = layers.phi(t), layers.theta(t)
        of_topic = (layers.topic(t), layers.topic(t - 1))
        of_document = (layers.DOCUMENT, layers.topic(t))
        if not {loadings, units} <= found.keys():
            break
        if {*draws.dims[loadings][2:]} != {*of_topic} or {*draws.dims[units][2:]} != {*of_document}:
            break
        mean = found[loadings].first
        phi.append(mean if draws.dims[loadings][2:] == of_topic else mean.T)
        theta.append(_mean_shares(draws, units, draws.dims[units][2:] != of_document))
    if not phi:
        return {}
    weights = tuple(shares.mean(axis=0) for shares in theta)
    return {
        "phi": tuple(phi),
        "theta": tuple(theta),
        "weights": weights,
        "active": tuple(weight > 1e-3 for weight in weights),
        "active_means": "topics with more than 0.1 % of the weight of their layer",
        "budget": tuple(map(len, phi)),
    }


def _mean_shares(draws: Draws, name: str, topics_first: bool) -> Matrix:
    """The mean of θ_kj / θ_·j over the draws of the first chain, read block by block."""
    total, number = 0.0, 0
    for chain, _, rows in _blocks_of(draws, name):
        if chain:
            break
        total = total + proportions(rows.swapaxes(1, 2) if topics_first else rows).sum(axis=0)
        number += len(rows)
    return np.asarray(total / number)


def _title(parts: Mapping[str, Any]) -> str:
    theta, depth = parts["theta"], len(parts["phi"])
    return f"Topics of {several(len(theta[0]), 'document') if theta else several(depth, 'layer')}"


# ---- trained networks ---------------------------------------------------------------------------


def _chains(models: Sequence[Any]) -> list[tuple[TrainedNetwork, ...]]:
    """The networks of depth 1, 2, … of each chain, or the single one; all chains must be of the
    same data."""
    if not models:
        raise DataError("model is an empty list; give at least one trained network")
    chains = []
    for model in models:
        if not isinstance(unwrapped(model), TrainedNetwork):
            trained_network(model)  # raises an error that says what to give
        training = getattr(model, "training_", model)
        chains.append(tuple(getattr(training, "models", (unwrapped(model),))))
    sizes = {getattr(stages[-1], "vocabulary_size", 0) for stages in chains}
    if len(sizes) > 1:
        raise DataError(f"model: chains with {sorted(sizes)} terms; give chains of the same data")
    return chains


def _kept(trained: TrainedNetwork) -> Draws:
    """The kept draws of the nodes that all rows share, or else their means, as one chain."""
    kept = trained.draws or {name: value[None] for name, value in trained.means.items()}
    dims = {name: ("chain", "draw", *trained.network[name].axes) for name in kept}
    coords = {} if trained.vocabulary is None else {layers.TERM: list(trained.vocabulary)}
    values = {name: value[None] for name, value in kept.items()}
    return Draws(values, dims, network=trained.network, coords=coords)


def _parts_of_trained(
    model: Any,
    chains: Sequence[Sequence[TrainedNetwork]],
    X: Any,
    held_out: Any,
    max_width: Any,
    seed: int,
) -> dict[str, Any]:
    """Fields of `ReportData`; ``model`` is the first chain as given."""
    stages, trained = chains[0], chains[0][-1]
    widths = " – ".join(map(str, trained.widths))
    settings: dict[str, Any] = {"layer widths": widths, "sweeps in all": trained.sweeps}
    if trained.link:
        budget = _own_budget(model, trained.depth) if max_width is None else max_width
        cells = None if X is None else read_array(observed_node(trained.link), X, imputed=False)
        settings |= _belief_facts(trained, cells)
        parts = {
            "phi": trained.phi,
            "theta": _shares_of_documents(trained, cells, seed),
            "weights": tuple(topic_weights(trained, t) for t in range(1, trained.depth + 1)),
            "active": tuple(_has_counts(phi) for phi in trained.phi),
            "budget": _budgets(budget, trained.widths),
            "labels": trained.labels,
            "length": usual_length(trained),
            "tokens": token_count(trained),
            "held_out": _held_out(stages, held_out, seed),
        }
        parts["title"] = _title(parts)
    else:
        _reject(_ONLY_TOPICS, {"X": X, "held_out": held_out, "max_width": max_width})
        parts = {"title": "A network grown layer by layer"}
    if stopped := getattr(getattr(model, "training_", model), "stopped", None):
        settings["training stopped"] = stopped
    if len(chains) > 1:
        settings["chains"] = len(chains)
    borders = [(float(below.sweeps), f"layer {above.depth}") for below, above in pairwise(stages)]
    return {"series": _series(chains), "stages": tuple(borders), "settings": settings, **parts}


def _own_budget(model: Any, depth: int) -> Any:
    """The maximum widths that an estimator was given, for the layers that were trained."""
    budget = getattr(model, "max_width", None)
    return budget if budget is None or is_integral(budget) else list(budget)[:depth]


def _budgets(max_width: int | Sequence[int] | None, widths: tuple[int, ...]) -> tuple[int, ...]:
    """The maximum width of each layer: its own, and at most the width of the layer below."""
    given = [max_width or 0] if max_width is None or is_integral(max_width) else max_width
    each = [
        check_integer("max_width", number, 0)
        for number in listed("max_width", given, "give a number, or one for each layer")
    ]
    if not 0 < len(each) <= len(widths):
        raise DataError(
            f"max_width={max_width!r:.60} has {len(each)} numbers, but the model has {len(widths)} "
            "layers; give one number, or one for each layer"
        )
    below = (each[0], *widths[:-1])
    return tuple(map(min, (*each, *below[len(each) :]), below))


def _has_counts(phi: Matrix) -> NDArray[np.bool_]:
    """E φ_k = (η + x) / Σ(η + x) is flat exactly if the topic has no counts."""
    if phi.shape[1] == 1:
        return np.ones(phi.shape[0], np.bool_)
    return np.asarray(np.ptp(phi, axis=1) > 1e-12)


def _shares_of_documents(
    trained: TrainedNetwork, cells: Cells | None, seed: int
) -> tuple[Matrix, ...]:
    """θ_kj / θ_·j of every layer; empty if neither the state nor data are given."""
    names = [layers.theta(t) for t in range(1, trained.depth + 1)]
    if all(name in trained.state for name in names):
        theta = tuple(proportions(np.asarray(trained.state[name])) for name in names)
        if cells is None or cells.rows == theta[0].shape[0]:
            return theta
    if cells is None:
        return ()
    from pgbn.training.new_rows import infer

    hidden = infer(trained, cells, burn_in=50, draws=50, seed=seed, units=False)
    return tuple(proportions(hidden.features(t)) for t in hidden.layers)


def _held_out(stages: Sequence[TrainedNetwork], X: Any, seed: int) -> tuple[tuple[int, float], ...]:
    """Pairs of a depth and the perplexity of one half of the tokens of each document, given the
    other."""
    if X is None:
        return ()
    return tuple(
        (each.depth, HeldOut.of_model(each, X, burn_in=50, draws=50, seed=seed).perplexity())
        for each in stages
    )


def _series(chains: Sequence[Sequence[Any]]) -> tuple[Series, ...]:
    """The traces of all stages, end to end, at the sweeps that all chains recorded. The second half
    of the last stage has settled, or the part of it after topics were merged."""
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
    """The first recorded sweep of the last stage, or the first one after topics were merged."""
    wider = np.count_nonzero(trace.get(BEFORE_MERGING, ())) if merged else 0
    place = sweeps.size - np.size(trace.get(name, ())) + int(wider)
    return float(np.append(sweeps, np.inf)[min(place, sweeps.size)])


def _joined(stages: Sequence[Any], name: str) -> tuple[Matrix, Matrix]:
    sweeps, values, done = [np.zeros(0)], [np.zeros(0)], 0.0
    for stage in stages:
        if name in stage.traces:
            sweeps.append(done + np.asarray(stage.traces["sweep"], np.float64))
            values.append(np.asarray(stage.traces[name], np.float64))
        done = float(stage.sweeps)
    return np.concatenate(sweeps), np.concatenate(values)


def _belief_facts(trained: TrainedNetwork, cells: Cells | None) -> dict[str, Any]:
    """Sizes, link and priors of a belief network, by readable names."""
    facts: dict[str, Any] = {"terms": trained.vocabulary_size}
    if cells is not None:
        facts |= {"documents": cells.rows, "tokens": int(cells.values.sum())}
    facts["link"] = trained.link
    if trained.eta:
        facts["eta, by layer"] = ", ".join(f"{eta:g}" for eta in trained.eta)
    for name in type(trained.priors).__annotations__:
        if name != "noise" or get_link(trained.link).noise:
            first, second = getattr(trained.priors, name)
            facts[f"prior of {name}"] = f"({first:g}, {second:g})"
    return facts


def _code_to_repeat(settings: Mapping[str, Any]) -> str:
    """The call of `train_layerwise` with these settings, if enough of them are known, and comments
    on the steps after it."""
    if not {"max_width", "depth", "seed"} <= settings.keys():
        return ""
    given = {name: settings[name] for name in _ARGUMENTS if name in settings}
    rows = [f"    {name}={_literal(value)}," for name, value in given.items()]
    merged = "duplicates were merged" in str(settings.get("training stopped", ""))
    after = ["# then duplicate topics were merged, as", "# pgbn fit and pgbn.PGBN do by default"]
    return "\n".join(["import pgbn", "", "model = pgbn.train_layerwise(", "    X,", *rows, ")",
                      *(after if merged else [])])  # fmt: skip


def _literal(value: Any) -> str:
    """A value as Python code; text that is code already, such as "[1, 2]", stays."""
    try:
        return repr(literal_eval(value) if isinstance(value, str) else value)
    except (ValueError, SyntaxError):
        return repr(value)


# ---- summaries of draws ------------------------------------------------------------------------


def _shape(draws: Draws, name: str) -> tuple[int, ...]:
    """The shape of the draws of a node; those in a folder are not read for it."""
    known = getattr(draws.arrays, "shapes", None)
    return tuple(np.shape(draws.arrays[name]) if known is None else known[name])


@dataclass
class Summary:
    """The summary of a node for the page, gathered block by block: a run in a folder may be larger
    than memory."""

    over: str | None  # the dim over which it sums to one
    trace: Matrix  # (chain, draw): the label-free quantity
    first: Any = 0.0  # the mean of the first chain
    total: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    entries: int = 0

    def add(self, chain: int, start: int, rows: Matrix, vectors: int) -> None:
        flat = rows.reshape(len(rows), -1)
        if self.over is None:
            each = flat.sum(axis=1)
        else:
            each = np.einsum("di,di->d", flat, flat) / vectors
        self.trace[chain, start : start + len(rows)] = each
        if chain == 0:
            self.first = self.first + rows.sum(axis=0) / self.trace.shape[1]
        self.total += float(flat.sum())
        self.low = float(np.minimum(self.low, flat.min()))
        self.high = float(np.maximum(self.high, flat.max()))
        self.entries += flat.size


def _summaries(draws: Draws) -> dict[str, Summary]:
    """A summary of every node that has draws."""
    out, network = {}, draws.network
    assert network is not None
    for name in draws.arrays:
        node, (chains, number, *sizes) = network.nodes.get(name), _shape(draws, name)
        over = node.simplex if isinstance(node, Latent) else None
        own = zip(draws.dims[name][2:], sizes, strict=True)
        vectors = prod(size for dim, size in own if dim != over)
        out[name] = Summary(over, np.empty((chains, number)))
        for chain, start, rows in _blocks_of(draws, name):
            out[name].add(chain, start, rows, vectors)
    return out


def _blocks_of(draws: Draws, name: str) -> Iterable[tuple[int, int, Matrix]]:
    """The draws of a node in pieces: (chain, number of the first draw, draws)."""
    in_folder = getattr(draws.arrays, "blocks", None)
    if in_folder is not None:
        yield from in_folder(name)
        return
    for chain, rows in enumerate(draws.arrays[name]):
        yield chain, 0, np.asarray(rows)


def _label_free_traces(draws: Draws, found: Mapping[str, Summary]) -> tuple[Series, ...]:
    """Traces of quantities that do not depend on the numbering of units."""
    out = []
    for name, each in found.items():
        begin, step = draws.attributes.get("burn_in", 0), draws.attributes.get("thin", 1)
        sweeps = begin + np.arange(1.0, each.trace.shape[1] + 1) * step
        total = f"total of {name}" if draws.dims[name][2:] else name
        title = total if each.over is None else f"mean Σp² of {name}"
        out.append(Series(title, sweeps, each.trace))
    return tuple(out)


def _node_row(
    network: Network, found: Mapping[str, Summary], name: str
) -> tuple[str, str, str, str]:
    """Name, law, dims and posterior of a node."""
    node, each = network.nodes[name], found.get(name)
    slots = ", ".join(f"{slot}={getattr(node, slot)}" for slot in node.slots())
    if each is None:
        shown = "observed" if name in network.observed else "not kept"
    elif node.axes:
        shown = f"{each.low:.3g} … {each.high:.3g}, mean {each.total / each.entries:.4g}"
    else:
        shown = f"{each.trace.mean():.4g} ± {each.trace.std():.2g}"
    return name, f"{type(node).__name__}({slots})", ", ".join(node.axes) or "–", shown


def _simplexes(draws: Draws, found: Mapping[str, Summary], coords: Coords) -> Iterable[Simplex]:
    """Means of the first chain only: in another chain the same topic has another number."""
    for name, each in found.items():
        over = each.over
        if over is None:
            continue
        dims = list(draws.dims[name][2:])
        mean = np.moveaxis(each.first, dims.index(over), -1)
        dims.remove(over)
        places = [_names(coords, dim, size) for dim, size in zip(dims, mean.shape, strict=False)]
        rows = [
            ", ".join(f"{dim} {place[i]}" for dim, place, i in zip(dims, places, at, strict=True))
            for at in np.ndindex(*mean.shape[:-1])
        ]
        yield Simplex(name, over, mean.reshape(-1, mean.shape[-1]), tuple(rows),
                      _names(coords, over, mean.shape[-1]))  # fmt: skip


def _names(coords: Coords, dim: str, size: int) -> tuple[str, ...]:
    given = coords.get(dim, range(size))
    if len(given) != size:
        raise DataError(f"coords: {len(given)} labels along {dim!r}, but its size is {size}")
    return tuple(map(str, given))
