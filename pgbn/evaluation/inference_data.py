"""Draws, trained networks and estimators in the form of xarray and ArviZ, with coords.

Needs the extra ``pgbn[arviz]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgbn.checks import listed
from pgbn.engine.run.draws import Draws
from pgbn.errors import DataError, PgbnError
from pgbn.evaluation.log_likelihood import SMALL, log_joint, observed_array
from pgbn.network.network import Network
from pgbn.training.trained import unwrapped
from pgbn.zoo import layers


def need(*names: str) -> Any:
    """Import the first installed one of some packages."""
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise PgbnError(f"this needs {names[0]}: pip install 'pgbn[arviz]'")


def draws_dataset(draws: Draws) -> Any:
    """The draws as an ``xarray.Dataset``."""
    xarray = need("xarray")
    data = {name: (draws.dims[name], value) for name, value in draws.arrays.items()}
    used = {dim for dims in draws.dims.values() for dim in dims}
    coords = {dim: labels for dim, labels in draws.coords.items() if dim in used}
    return xarray.Dataset(data, coords=coords, attrs=draws.attributes)


def _names(argument: str, names: Any) -> list[str]:
    """Names of nodes, one or several."""
    remedy = "give names of observed nodes"
    every = [names] if isinstance(names, str) else listed(argument, names, remedy)
    for name in every:
        if not isinstance(name, str):
            raise DataError(f"{argument}={name!r:.60}: {remedy}")
    return every


def inference_data(
    draws: Draws,
    predicted: Iterable[str] = (),
    likelihoods: Mapping[str, str] | Iterable[str] = (),
    seed: int = 0,
) -> Any:
    """The draws in the groups of ArviZ; see `Draws.to_arviz`."""
    arviz = need("arviz_base")
    predicted = _names("predict", predicted)
    if isinstance(likelihoods, Mapping):
        by = dict(likelihoods)
    else:
        by = dict.fromkeys(_names("log_likelihood", likelihoods), "cell")
    dims = {name: list(found[2:]) for name, found in draws.dims.items()}
    observed = set(draws.network.observed) if draws.network is not None else set()
    is_prior = bool(draws.attributes.get("prior", False))
    groups: dict[str, dict[str, NDArray[Any]]] = {"prior" if is_prior else "posterior": {
        name: value for name, value in draws.arrays.items() if not is_prior or name not in observed
    }}  # fmt: skip
    if is_prior:
        groups["prior_predictive"] = {n: v for n, v in draws.arrays.items() if n in observed}
    if not is_prior and draws.network is not None and set(draws.network.latent) <= set(draws):
        groups["sample_stats"] = {"lp": log_joint(draws)}
    if predicted:
        groups["posterior_predictive"] = {
            name: draws.predict(name, seed=seed) for name in predicted
        }
    if by:
        groups["log_likelihood"] = {
            name: draws.log_likelihood(name, how, seed=seed) for name, how in by.items()
        }
    small = {n: cells for n, cells in draws.data.items() if 8 * prod(cells.shape) <= SMALL}
    if small:
        groups["observed_data"] = {name: observed_array(draws, name) for name in small}
    return _to_tree(arviz, draws, groups, dims, by)


def kept_data(model: Any) -> Any:
    """The draws that a training kept, as the group posterior; see `FittedModel.to_arviz`."""
    trained = unwrapped(model)
    if not getattr(trained, "draws", None):
        raise DataError(
            f"to_arviz: the {type(model).__name__} has no draws; train with keep_draws=20"
        )
    names = getattr(trained, "vocabulary", None)
    coords = {layers.TERM: list(names)} if names is not None else {}
    return kept_tree(trained.network, trained.draws, coords)


def kept_tree(
    network: Network, draws: Mapping[str, NDArray[np.float64]], coords: Mapping[str, list[str]]
) -> Any:
    """Draws of some nodes, the draw as the first axis, as the group posterior."""
    return inference_data(Draws(
        {name: np.asarray(value)[None] for name, value in draws.items()},
        {name: ("chain", "draw", *network.nodes[name].axes) for name in draws},
        coords=dict(coords),
    ))  # fmt: skip


def _to_tree(
    arviz: Any,
    draws: Draws,
    groups: Mapping[str, Mapping[str, NDArray[Any]]],
    dims: Mapping[str, list[str]],
    by: Mapping[str, str],
) -> Any:
    """Build one DataTree; the log likelihood of rows has fewer dims than the data of the same
    name."""
    network = draws.network
    axes = {name: list(network.nodes[name].axes) for name in network.observed} if network else {}
    others = {name: value for name, value in groups.items() if name != "log_likelihood"}
    tree = arviz.from_dict(others, dims={**axes, **dims}, coords=draws.coords, attrs=None)
    for group in ("posterior", "prior"):
        if group in others:
            tree[group].attrs.update(draws.attributes)
    if "log_likelihood" not in groups:
        return tree
    assert network is not None
    own: dict[str, list[str]] = {}
    for name, value in groups["log_likelihood"].items():
        dims_of = axes[name][:1] if by[name] == "row" else axes[name]
        own[name] = dims_of[: np.ndim(value) - 2]
        if len(own[name]) != np.ndim(value) - 2:
            raise DataError(f"log_likelihood: {name!r}: an array of {np.ndim(value)} dims")
    part = arviz.from_dict({"log_likelihood": groups["log_likelihood"]}, dims=own,
                           coords={d: v for d, v in draws.coords.items()
                                   if any(d in found for found in own.values())})  # fmt: skip
    tree["log_likelihood"] = part["log_likelihood"]
    return tree
