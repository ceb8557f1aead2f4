"""From draws of several chains to ReportData."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pgbn.checks import check_mapping, term_names
from pgbn.errors import DataError
from pgbn.explain import derivation
from pgbn.report.data import ReportData, Series, proportions
from pgbn.report.facts import used_versions

if TYPE_CHECKING:
    from pgbn.engine.run.draws import Draws
    from pgbn.network.network import Network

from pgbn.zoo import layers

__all__ = ["report_data_from_draws"]


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
