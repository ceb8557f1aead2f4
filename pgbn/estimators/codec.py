"""Estimators as JSON and arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from pgbn.checks import check_seed
from pgbn.errors import StorageError
from pgbn.estimators.fit import fixed_parameters
from pgbn.estimators.pgbn import PFA, PGBN
from pgbn.storage.codecs import Files, Parts, register_codec
from pgbn.training.codec import decode_networks, encode_networks
from pgbn.training.result import LayerwiseTraining
from pgbn.training.trained import Priors, read_priors

__all__: list[str] = []


def _encode_estimator(estimator: PGBN) -> Parts:
    parameters = estimator.get_params(deep=False)
    if isinstance(parameters.get("random_state"), np.random.RandomState):
        raise StorageError(
            "random_state is a generator, which cannot be saved; give an integer with "
            "set_params(random_state=0)"
        )
    if isinstance(parameters["priors"], Priors):
        parameters["priors"] = asdict(parameters["priors"])
    content: dict[str, Any] = {"class": type(estimator).__name__, "parameters": parameters}
    if not hasattr(estimator, "training_"):
        return Parts(content)
    content["networks"], arrays = encode_networks(estimator.training_.networks)
    content |= {"stopped": estimator.training_.stopped, "link": estimator.link_,
                "seed": estimator._seed, "features": estimator.n_features_in_,
                "fixed": estimator._fixed}  # fmt: skip
    if hasattr(estimator, "feature_names_in_"):
        content["feature_names"] = [str(name) for name in estimator.feature_names_in_]
    deepest = estimator.training_.deepest
    return Parts(content, {"model": arrays}, deepest.vocabulary, deepest.vocabulary_size)


def _decode_estimator(
    content: Mapping[str, Any],
    files: Files,
    /,
    *,
    threads: int | None = None,
    names: Sequence[str] | None = None,
) -> PGBN:
    known = {kind.__name__: kind for kind in (PGBN, PFA)}
    if content["class"] not in known:
        raise StorageError(f"unknown estimator {content['class']!r}")
    parameters = dict(content["parameters"])
    if parameters.get("priors") is not None:
        parameters["priors"] = read_priors(parameters["priors"])
    estimator = known[content["class"]](**parameters)
    if "networks" in content:
        networks = decode_networks(content["networks"], files("model"), names)
        fixed = dict(content.get("fixed") or fixed_parameters(estimator))
        if "feature_names" in content:
            estimator.feature_names_in_ = np.array(content["feature_names"], object)
        training = LayerwiseTraining(networks, str(content["stopped"]))
        estimator._keep(training, str(content["link"]), check_seed(content["seed"]), fixed)
        estimator.n_features_in_ = int(content["features"])
    return estimator


register_codec("estimator", PGBN, _encode_estimator, _decode_estimator, "an estimator")
