"""From a trained network, a layer-wise training, or draws of several chains to ReportData."""

from __future__ import annotations

import platform
from ast import literal_eval
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import term_names
from pgbn.engine.data.cells import Cells, read_array
from pgbn.errors import DataError
from pgbn.evaluation import topic_weights
from pgbn.report.data import Matrix, ReportData, Series
from pgbn.training.trained import TrainedNetwork, observed_node, trained_network
from pgbn.zoo.links import get_link

if TYPE_CHECKING:
    from pgbn.engine.run.draws import Draws
    from pgbn.network.network import Network

__all__ = ["report_data", "report_data_from_draws"]

_ARGUMENTS = (
    "max_width", "depth", "eta", "burn_in", "collect", "link", "seed", "layer1", "average",
    "min_width", "min_count", "trace_every",
)  # fmt: skip
_READABLE = {"log_likelihood": "log likelihood", "width": "active topics of the top layer"}


def report_data(
    model: Any,
    X: Any = None,
    *,
    vocabulary: Sequence[str] | None = None,
    documents: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    max_width: int | None = None,
    settings: Mapping[str, Any] | None = None,
    repeat: str = "",
    title: str = "Topics by layer",
    seed: int = 0,
) -> ReportData:
    """What a report shows of ``model``.

    ``model`` is the result of `train_layerwise`, a trained network, a fitted estimator, or a list
    of such: chains with different seeds on the same documents. Topics are those of the first
    chain, traces are of all. The documents are those of the training where the state was kept;
    with ``X`` (documents × terms) and no state they are inferred, with ``seed``. ``documents`` are
    their texts, ``titles`` their names; ``max_width`` is the width that the first layer was given;
    ``settings`` and ``repeat`` (code) are shown so that a reader can repeat the run; the code is
    made from the settings if these have the arguments max_width, depth and seed.
    """
    if isinstance(model, ReportData):
        return model
    models = list(model) if isinstance(model, (list, tuple)) else [model]
    if not models:
        raise DataError("model is an empty list; give at least one trained network")
    chains = [_stages(each) for each in models]
    trained = chains[0][-1]
    sizes = {stages[-1].vocabulary_size for stages in chains}
    if len(sizes) > 1:
        raise DataError(f"model: chains with {sorted(sizes)} terms; give chains of the same data")
    vocabulary = trained.vocabulary if vocabulary is None else vocabulary
    given = int(max_width or getattr(models[0], "max_width", None) or 0)
    cells = None if X is None else read_array(observed_node(trained.link), X, imputed=False)
    facts = _facts(trained, cells) | dict(settings or {})
    stopped = getattr(getattr(models[0], "training_", models[0]), "stopped", None)
    if stopped:
        facts.setdefault("training stopped", stopped)
    if len(chains) > 1:
        facts.setdefault("chains", len(chains))
    return ReportData(
        phi=trained.phi,
        weights=tuple(topic_weights(trained, t) for t in range(1, trained.depth + 1)),
        active=tuple(_has_counts(phi) for phi in trained.phi),
        budget=(given, *trained.widths[:-1]),
        vocabulary=term_names(vocabulary, trained.vocabulary_size),
        theta=_documents(trained, cells, seed),
        titles=titles,
        documents=documents,
        series=_series(chains),
        stages=_borders(chains[0]),
        derivation=trained.network().explain("markdown"),
        settings=facts,
        repeat=repeat or _code(facts),
        title=title,
        labels=trained.labels,
    )


def report_data_from_draws(
    network: Network,
    draws: Draws,
    *,
    vocabulary: Sequence[str] | None = None,
    documents: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    repeat: str = "",
    title: str = "Topics by layer",
) -> ReportData:
    """The same from draws of a network whose layers are called phi1, theta1, phi2, theta2, …

    Topics are means over the draws of the first chain. The traces are the scalar nodes, the total
    of r and the mean total of every θ, for all chains.
    """
    depth = sum(f"phi{t}" in draws.values for t in range(1, len(draws.values) + 1))
    if not depth or any(f"theta{t}" not in draws.values for t in range(1, depth + 1)):
        raise DataError("draws: the report needs the nodes phi1, theta1, phi2, …: see keep=")
    phi, theta = [], []
    for t in range(1, depth + 1):
        loadings, units = draws[f"phi{t}"][0], draws[f"theta{t}"][0]
        if draws.dims[f"phi{t}"][2] != f"topic{t}":
            loadings = loadings.swapaxes(1, 2)
        if draws.dims[f"theta{t}"][2] == f"topic{t}":
            units = units.swapaxes(1, 2)
        phi.append(np.asarray(loadings.mean(axis=0)))
        theta.append(np.asarray(_proportions(units).mean(axis=0)))
    weights = tuple(units.mean(axis=0) for units in theta)
    kept = {name: value for name, value in draws.attributes.items() if value is not None}
    shape = draws["phi1"].shape
    return ReportData(
        phi=tuple(phi),
        weights=weights,
        active=tuple(weight > 1e-3 for weight in weights),
        budget=tuple(matrix.shape[0] for matrix in phi),
        vocabulary=term_names(vocabulary, phi[0].shape[1]),
        theta=tuple(theta),
        titles=titles,
        documents=documents,
        series=_scalars(draws),
        derivation=network.explain("markdown"),
        settings={"chains": shape[0], "draws": shape[1], **kept, **_versions(), **(settings or {})},
        repeat=repeat,
        title=title,
        active_means="topics with more than 0.1 % of the weight of their layer",
    )


# ---- parts of a trained network ---------------------------------------------------------


def _stages(model: Any) -> tuple[TrainedNetwork, ...]:
    """The networks of depth 1, 2, … of one chain, or the one that there is."""
    deepest = trained_network(model)
    return tuple(getattr(getattr(model, "training_", model), "networks", (deepest,)))


def _has_counts(phi: Matrix) -> NDArray[np.bool_]:
    """E φ_k = (η + x) / Σ(η + x) is flat exactly where the topic has no counts."""
    if phi.shape[1] == 1:
        return np.ones(phi.shape[0], np.bool_)
    return np.asarray(np.ptp(phi, axis=1) > 1e-12)


def _proportions(units: Matrix) -> Matrix:
    """θ_kj / θ_·j, equal parts where all are zero."""
    totals = units.sum(axis=-1, keepdims=True)
    return np.where(totals > 0, units / np.where(totals > 0, totals, 1.0), 1.0 / units.shape[-1])


def _documents(trained: TrainedNetwork, cells: Cells | None, seed: int) -> tuple[Matrix, ...]:
    names = [f"theta{t}" for t in range(1, trained.depth + 1)]
    if all(name in trained.state for name in names):
        theta = tuple(_proportions(np.asarray(trained.state[name])) for name in names)
        if cells is None or cells.rows == theta[0].shape[0]:
            return theta
    if cells is None:
        return ()
    from pgbn.training.new_rows import infer

    hidden = infer(trained, cells, burn_in=50, samples=50, seed=seed, units=False)
    return tuple(_proportions(hidden.features(t)) for t in hidden.layers)


# ---- traces -----------------------------------------------------------------------------


def _borders(stages: Sequence[TrainedNetwork]) -> tuple[tuple[float, str], ...]:
    """Where each further layer was put on top."""
    return tuple((float(below.sweeps), f"layer {above.depth}") for below, above in pairwise(stages))


def _series(chains: Sequence[Sequence[TrainedNetwork]]) -> tuple[Series, ...]:
    """The traces of all stages, end to end; the second half of the last stage has settled."""
    names = [name for name in chains[0][-1].traces if name != "sweep"]
    out = []
    for name in names:
        joined = [_joined(stages, name) for stages in chains]
        length = min(sweeps.size for sweeps, _ in joined)
        if not length:
            continue
        last = chains[0][-1].traces[name].size
        out.append(
            Series(
                _READABLE.get(name, name.replace("_", " ")),
                joined[0][0][:length],
                np.stack([values[:length] for _, values in joined]),
                max(length - last // 2, 0),
            )
        )
    return tuple(out)


def _joined(stages: Sequence[TrainedNetwork], name: str) -> tuple[Matrix, Matrix]:
    sweeps, values, done = [np.zeros(0)], [np.zeros(0)], 0.0
    for stage in stages:
        if name in stage.traces:
            sweeps.append(done + np.asarray(stage.traces["sweep"], np.float64))
            values.append(np.asarray(stage.traces[name], np.float64))
        done = float(stage.sweeps)
    return np.concatenate(sweeps), np.concatenate(values)


def _scalars(draws: Draws) -> tuple[Series, ...]:
    sweeps = np.arange(1.0, next(iter(draws.values.values())).shape[1] + 1)
    sweeps = draws.attributes.get("burn_in", 0) + sweeps * draws.attributes.get("thin", 1)
    out = []
    for name, value in draws.values.items():
        dims = draws.dims[name][2:]
        if not dims:
            out.append(Series(name, sweeps, value))
        elif name == "r":
            out.append(Series("total of r", sweeps, value.sum(axis=-1)))
        elif name.startswith("theta") and len(dims) == 2:
            totals = value.sum(axis=(2, 3)) / value.shape[2 if dims[0] == "doc" else 3]
            out.append(Series(f"mean total of {name}", sweeps, totals))
    return tuple(out)


# ---- settings ---------------------------------------------------------------------------


def _facts(trained: TrainedNetwork, cells: Cells | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "layer widths": " – ".join(map(str, trained.widths)),
        "terms": trained.vocabulary_size,
    }
    if cells is not None:
        facts |= {"documents": cells.rows, "tokens": int(cells.values.sum())}
    facts |= {"link": trained.link, "sweeps in all": trained.sweeps}
    if trained.eta:
        facts["eta, by layer"] = ", ".join(f"{eta:g}" for eta in trained.eta)
    for name in type(trained.priors).__annotations__:
        if name != "noise" or get_link(trained.link).noise:
            first, second = getattr(trained.priors, name)
            facts[f"prior of {name}"] = f"({first:g}, {second:g})"
    return facts | _versions()


def _code(settings: Mapping[str, Any]) -> str:
    """The call of `train_layerwise` with these settings, where enough of them are known."""
    if not {"max_width", "depth", "seed"} <= settings.keys():
        return ""
    given = {name: settings[name] for name in _ARGUMENTS if name in settings}
    rows = [f"    {name}={_literal(value)}," for name, value in given.items()]
    return "\n".join(["from pgbn.training.layerwise import train_layerwise", "",
                      "model = train_layerwise(", "    X,", *rows, ")"])  # fmt: skip


def _literal(value: Any) -> str:
    """A value as Python code; text that is code already, such as "[1, 2]", stays."""
    try:
        return repr(literal_eval(value) if isinstance(value, str) else value)
    except (ValueError, SyntaxError):
        return repr(value)


def _versions() -> dict[str, str]:
    from pgbn.versions import __version__

    return {"pgbn": __version__, "numpy": np.__version__, "python": platform.python_version()}
