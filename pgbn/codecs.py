"""What is saved, as JSON and arrays: networks, chains, trained networks and estimators.

A codec turns an object into a `Parts` (JSON content, and groups of arrays that become files) and
back. `pgbn.chain_codec` has those of chains and data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from pgbn.chain import Chain
from pgbn.chain_codec import (
    Files,
    Group,
    chain_content,
    chain_data,
    chain_state,
    decode_chain,
)
from pgbn.errors import StorageError
from pgbn.network import Network
from pgbn.trained import Priors, TrainedNetwork
from pgbn.training import LayerwiseTraining

if TYPE_CHECKING:
    from pgbn.estimators import PGBN

__all__ = [
    "Parts",
    "decode",
    "decode_networks",
    "encode",
    "encode_networks",
    "read_priors",
]


@dataclass
class Parts:
    """An object taken to pieces."""

    kind: str
    content: dict[str, Any]
    arrays: dict[str, Group] = field(default_factory=dict)


def encode(value: Any) -> Parts:
    """The pieces of an object that can be saved."""
    if isinstance(value, Network):
        return Parts("network", {"network": json.loads(value.to_json())})
    if isinstance(value, Chain):
        return _encode_chain(value)
    if isinstance(value, TrainedNetwork):
        content, arrays = encode_networks((value,))
        return Parts("trained", {"networks": content}, {"model": arrays})
    if isinstance(value, LayerwiseTraining):
        content, arrays = encode_networks(value.networks)
        return Parts("training", {"networks": content, "stopped": value.stopped}, {"model": arrays})
    if type(value).__module__ == "pgbn.estimators":
        return _encode_estimator(value)
    raise StorageError(
        f"a {type(value).__name__} cannot be saved; save a Network, a Chain, a TrainedNetwork, the "
        "result of train_layerwise, or an estimator"
    )


def decode(
    kind: str,
    content: Mapping[str, Any],
    files: Files,
    threads: int | None = None,
    names: Sequence[str] | None = None,
) -> Any:
    """The object again; a trained one knows the ``names`` of its terms."""
    match kind:
        case "network":
            return Network.from_json(json.dumps(content["network"]))
        case "chain":
            return decode_chain(content, files, threads)
        case "trained":
            return decode_networks(content["networks"], files("model"), names)[0]
        case "training":
            networks = decode_networks(content["networks"], files("model"), names)
            return LayerwiseTraining(networks, str(content["stopped"]))
        case "estimator":
            return _decode_estimator(content, files, names)
    raise StorageError(f"this pgbn does not know what a saved {kind!r} is; install a newer one")


def _encode_chain(chain: Chain) -> Parts:
    if chain.program.replicates != 1:
        raise StorageError("replicated chains cannot be saved; save a Chain made by Network.chain")
    content = chain_content(chain)
    return Parts("chain", content, {"data": chain_data(chain), "state": chain_state(chain)})


def encode_networks(networks: tuple[TrainedNetwork, ...]) -> tuple[list[dict[str, Any]], Group]:
    """What is known of trained networks, and their arrays, by number."""
    content: list[dict[str, Any]] = []
    arrays: Group = {}
    for number, network in enumerate(networks):
        content.append({
            "network": json.loads(network.network().to_json()),
            "depth": network.depth,
            "eta": list(network.eta),
            "link": network.link,
            "noise": network.noise,
            "priors": asdict(network.priors),
            "sweeps": network.sweeps,
            "labels": [[layer, topic, text] for (layer, topic), text in network.labels.items()],
        })  # fmt: skip
        own = {"r": network.r, "c": network.c}
        own |= {f"phi/{t}": phi for t, phi in enumerate(network.phi)}
        own |= {f"weights/{t}": weights for t, weights in enumerate(network.weights)}
        own |= {f"traces/{name}": value for name, value in network.traces.items()}
        own |= {f"state/{name}": value for name, value in network.state.items()}
        arrays |= {f"{number}/{name}": np.asarray(value) for name, value in own.items()}
    return content, arrays


def decode_networks(
    content: Any, arrays: Group, names: Sequence[str] | None = None
) -> tuple[TrainedNetwork, ...]:
    """Trained networks again; the class itself checks the shapes and sums."""
    return tuple(_trained(entry, _under(f"{n}/", arrays), names) for n, entry in enumerate(content))


def _trained(
    content: Mapping[str, Any], part: Group, names: Sequence[str] | None
) -> TrainedNetwork:
    layers = range(int(content["depth"]))
    return TrainedNetwork(
        phi=tuple(part[f"phi/{t}"] for t in layers),
        r=part["r"],
        c=part["c"],
        eta=tuple(map(float, content["eta"])),
        link=content["link"],
        noise=float(content["noise"]),
        priors=read_priors(content["priors"]),
        weights=tuple(part[f"weights/{t}"] for t in layers if f"weights/{t}" in part),
        traces=_under("traces/", part),
        state=_under("state/", part),
        sweeps=int(content["sweeps"]),
        labels={(int(t), int(k)): str(text) for t, k, text in content.get("labels", ())},
        vocabulary=names,
    )


def read_priors(content: Mapping[str, Any]) -> Priors:
    """The priors again; what another version had besides is left out."""
    known = {entry.name for entry in fields(Priors)}
    return Priors(**{name: tuple(pair) for name, pair in content.items() if name in known})


def _under(prefix: str, arrays: Group) -> Group:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


# ---- estimators -----------------------------------------------------------------------


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
        return Parts("estimator", content)
    content["networks"], arrays = encode_networks(estimator.training_.networks)
    content |= {"stopped": estimator.training_.stopped, "link": estimator.link_,
                "seed": estimator._seed, "features": estimator.n_features_in_,
                "fixed": estimator._fixed}  # fmt: skip
    if hasattr(estimator, "feature_names_in_"):
        content["feature_names"] = [str(name) for name in estimator.feature_names_in_]
    return Parts("estimator", content, {"model": arrays})


def _decode_estimator(content: Mapping[str, Any], files: Files, names: Sequence[str] | None) -> Any:
    from pgbn import estimators
    from pgbn.estimator_fit import Beginning, fixed_parameters

    if content["class"] not in estimators.__all__:
        raise StorageError(f"unknown estimator {content['class']!r}")
    parameters = dict(content["parameters"])
    if parameters.get("priors") is not None:
        parameters["priors"] = read_priors(parameters["priors"])
    estimator = getattr(estimators, content["class"])(**parameters)
    if "networks" in content:
        networks = decode_networks(content["networks"], files("model"), names)
        fixed = dict(content.get("fixed") or fixed_parameters(estimator))
        if "feature_names" in content:
            estimator.feature_names_in_ = np.array(content["feature_names"], object)
        at = Beginning(str(content["link"]), int(content["seed"]), fixed, len(networks))
        estimator._keep(LayerwiseTraining(networks, str(content["stopped"])), at)
        estimator.n_features_in_ = int(content["features"])
    return estimator
