"""Estimators as JSON and arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from pgbn.checks import check_seed
from pgbn.errors import StorageError
from pgbn.estimators.network import NetworkTransformer
from pgbn.estimators.parameters import fixed_parameters, read_sweeps
from pgbn.estimators.pgbn import PFA, PGBN
from pgbn.network.layers import global_nodes
from pgbn.network.network import Network
from pgbn.nodes.base import Latent
from pgbn.storage.archive import Files, Group, Parts, check_form, register_codec
from pgbn.training.settings import Family, budgets, read_family
from pgbn.training.trained import Priors, check_shapes, read_priors
from pgbn.training.training_files import decode_networks, encode_networks, under
from pgbn.training.training_result import LayerwiseTraining

_OF_FITTED: dict[str, Any] = {"seed": int, "features": int}
_OF_SOME: dict[str, Any] = {"networks": list[dict[str, Any]], "stopped": str,
                            "feature_names": list[str]}  # fmt: skip
# Parameters that files do not have at their defaults: earlier versions knew none of them.
_LATER = {"merge_duplicates": True, "learning": "gibbs", "batch_size": 512, "keep_draws": 0}


def _parameters(estimator: NetworkTransformer) -> dict[str, Any]:
    """The parameters as JSON."""
    parameters: dict[str, Any] = estimator.get_params(deep=False)
    del parameters["executor"]  # of this machine, and no part of a model
    if isinstance(parameters["random_state"], np.random.RandomState):
        raise StorageError(
            "random_state is a generator, which cannot be saved; give an integer with "
            "set_params(random_state=0)"
        )
    if isinstance(parameters.get("max_width"), np.ndarray):
        parameters["max_width"] = parameters["max_width"].tolist()
    return parameters


def _fitted(estimator: NetworkTransformer) -> tuple[dict[str, Any], Group]:
    """What any estimator knows after `fit`, and the arrays of what was trained."""
    content: dict[str, Any] = {"seed": estimator._seed, "features": estimator.n_features_in_}
    arrays: Group = {}
    if hasattr(estimator, "training_"):
        content["networks"], arrays = encode_networks(estimator.training_.models)
        content["stopped"] = estimator.training_.stopped
    if hasattr(estimator, "feature_names_in_"):
        content["feature_names"] = [str(name) for name in estimator.feature_names_in_]
    return content, arrays


def _restore(
    estimator: NetworkTransformer,
    content: Mapping[str, Any],
    arrays: Group,
    vocabulary: Sequence[str] | None = None,
) -> None:
    """What any estimator knows after `fit`, from files."""
    check_form(content, _OF_FITTED)
    read_sweeps(estimator)
    estimator._seed = check_seed(content["seed"])
    if "networks" in content:
        networks = decode_networks(content["networks"], arrays, vocabulary)
        estimator.training_ = LayerwiseTraining(networks, content["stopped"])
    estimator.n_features_in_ = content["features"]
    if "feature_names" in content:
        names = content["feature_names"]
        if len(names) != content["features"]:
            raise StorageError(f"damaged: {content['features']} features, {len(names)} names")
        estimator.feature_names_in_ = np.array(names, object)


def _tuple_widths(parameters: dict[str, Any]) -> None:
    """Budgets as the default has them: JSON knows no tuples."""
    if isinstance(parameters.get("max_width"), list):
        parameters["max_width"] = tuple(parameters["max_width"])


# ---- PGBN and PFA -------------------------------------------------------------------------


def _encode_estimator(estimator: PGBN) -> Parts:
    parameters = _parameters(estimator)
    if isinstance(parameters["priors"], Priors):
        parameters["priors"] = asdict(parameters["priors"])
    for name, default in _LATER.items():
        if parameters.get(name) == default:
            del parameters[name]
    content: dict[str, Any] = {"class": type(estimator).__name__, "parameters": parameters}
    if not hasattr(estimator, "training_"):
        return Parts(content)
    own, arrays = _fitted(estimator)
    content |= own | {"link": estimator.link_, "fixed": estimator._fixed}
    deepest = estimator.training_.deepest
    return Parts(content, {"model": arrays}, deepest.vocabulary, deepest.vocabulary_size)


def _decode_estimator(
    content: Mapping[str, Any], files: Files, /, names: Sequence[str] | None = None, **_: Any
) -> PGBN:
    known = {kind.__name__: kind for kind in (PGBN, PFA)}
    check_form(content, {"class": str, "parameters": dict[str, Any]}, _OF_SOME)
    if content["class"] not in known:
        raise StorageError(f"unknown estimator {content['class']!r}")
    parameters = dict(content["parameters"])
    if parameters.get("priors") is not None:
        parameters["priors"] = read_priors(parameters["priors"])
    _tuple_widths(parameters)
    if parameters.pop("output", "layer") == "concat":  # the earlier way to ask for all layers
        parameters["layer"] = None
    estimator = known[content["class"]](**parameters)
    if "networks" in content:
        check_form(content, {"link": str, "stopped": str})
        _restore(estimator, content, files("model"), names)
        name = estimator._width_name
        fixed = content.get("fixed") or fixed_parameters(
            estimator, budgets(name, getattr(estimator, name), 1)
        )
        check_form(fixed, {name: int | Sequence[int], "random_state": int | str | None})
        estimator.link_, estimator._fixed = content["link"], fixed
        estimator._keep(estimator.training_)
        terms = estimator.components_.shape[1]
        if estimator.n_features_in_ != terms:
            raise StorageError(
                f"damaged: {estimator.n_features_in_} features, but topics of {terms} terms"
            )
    return estimator


# ---- NetworkTransformer -------------------------------------------------------------------


def _encode_transformer(estimator: NetworkTransformer) -> Parts:
    parameters = _parameters(estimator)
    network = parameters.pop("network")
    if isinstance(network, Network):
        parameters["network"] = {"network": json.loads(network.to_json())}
    elif network is not None:
        parameters["network"] = Family(network).content()
    content: dict[str, Any] = {"parameters": parameters}
    if not hasattr(estimator, "network_"):
        return Parts(content)
    own, arrays = _fitted(estimator)
    content |= own | {"network": json.loads(estimator.network_.to_json())}
    arrays |= {f"draws/{name}": value for name, value in estimator.draws_.items()}
    arrays |= {f"means/{name}": value for name, value in estimator.means_.items()}
    return Parts(content, {"model": arrays})


def _decode_transformer(
    content: Mapping[str, Any], files: Files, /, **_: Any
) -> NetworkTransformer:
    check_form(content, {"parameters": dict[str, Any]}, _OF_SOME)
    parameters, fitted = dict(content["parameters"]), None
    if "network" in content:
        fitted = Network.from_json(json.dumps(content["network"]))
    given = parameters.get("network")
    if given is not None and "network" in given:
        parameters["network"] = Network.from_json(json.dumps(given["network"]))
    elif given is not None and "function" not in given:
        parameters["network"] = read_family(given).build
    elif given is not None:  # a function of one's own is not in files: what it gave is
        parameters["network"] = fitted
    _tuple_widths(parameters)
    estimator = NetworkTransformer(**parameters)
    if fitted is None:
        return estimator
    arrays = files("model")
    _restore(estimator, content, arrays)
    draws, means = under("draws/", arrays), under("means/", arrays)
    _check_kept(estimator, fitted, draws, means, content["features"])
    estimator.network_, estimator.draws_, estimator.means_ = fitted, draws, means
    return estimator


def _check_kept(
    estimator: NetworkTransformer, network: Network, draws: Group, means: Group, features: int
) -> None:
    """What `fit` leaves: draws of all that the rows share, and means of that and of what stands
    other than the features, for one row."""
    estimator._check(network)
    sizes = {estimator._columns(network): features, estimator.rows: 1}
    shared = global_nodes(network, [estimator.rows])
    for what, arrays, wanted in (
        ("draws", draws, shared),
        ("means", means, [*shared, *estimator._further(network)]),
    ):
        if set(arrays) != set(wanted):
            raise StorageError(f"damaged: {what} of {sorted(arrays)}, not of {sorted(wanted)}")
        before = ("draw",) if what == "draws" else ()
        sizes |= check_shapes(f"damaged: {what}", network, arrays, sizes, before)
    for name, mean in means.items():
        node = network[name]
        complaint = node.refuses_mean(mean) if isinstance(node, Latent) else None
        if complaint:
            raise StorageError(f"damaged: the mean of {name} {complaint}")


register_codec("estimator", PGBN, _encode_estimator, _decode_estimator, "an estimator")
register_codec("transformer", NetworkTransformer, _encode_transformer, _decode_transformer)
