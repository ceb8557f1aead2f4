"""Trained networks and trainings as JSON and arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from pgbn.errors import StorageError
from pgbn.network.network import Network
from pgbn.storage.archive import Files, Group, Parts, check_form, register_codec, register_decoder
from pgbn.training.trained import TrainedNetwork, read_priors
from pgbn.training.training_result import LayerwiseTraining

_OF_BELIEF: dict[str, Any] = {"depth": int, "eta": list[float], "link": str, "noise": float,
                               "priors": dict[str, Sequence[float]], "sweeps": int}  # fmt: skip
_OF_ANY: dict[str, Any] = {"network": dict[str, Any], "layers": list[str], "sweeps": int}


def encode_networks(networks: Sequence[TrainedNetwork]) -> tuple[list[dict[str, Any]], Group]:
    """The fields of trained networks as JSON, and their arrays, by number."""
    content: list[dict[str, Any]] = []
    arrays: Group = {}
    for number, network in enumerate(networks):
        about = {"network": json.loads(network.network.to_json()), "sweeps": network.sweeps}
        kinds: dict[str, Mapping[Any, Any]] = {
            kind: getattr(network, kind) for kind in ("traces", "state", "draws")
        }
        if network.link:
            about |= {name: getattr(network, name) for name in ("depth", "link", "noise")}
            about |= {"eta": list(network.eta), "priors": asdict(network.priors)}
            about["labels"] = [[*place, text] for place, text in network.labels.items()]
            kinds |= {
                kind: dict(enumerate(getattr(network, kind)))
                for kind in ("phi", "weights", "order")
            }
            arrays |= {f"{number}/r": network.r, f"{number}/c": network.c}
        else:
            about["layers"] = list(network.layers)
            kinds["means"] = network.means
        content.append(about)
        for kind, group in kinds.items():
            arrays |= {f"{number}/{kind}/{n}": np.asarray(value) for n, value in group.items()}
    return content, arrays


def decode_networks(
    content: Any, arrays: Group, names: Sequence[str] | None = None
) -> tuple[TrainedNetwork, ...]:
    """Read trained networks; the class itself checks the shapes and sums."""
    return tuple(_decode(entry, under(f"{n}/", arrays), names) for n, entry in enumerate(content))


def _decode(content: Mapping[str, Any], part: Group, names: Sequence[str] | None) -> TrainedNetwork:
    kinds: dict[str, Any] = {kind: under(f"{kind}/", part) for kind in ("traces", "state", "draws")}
    if "layers" in content:
        check_form(content, _OF_ANY)
        return TrainedNetwork(
            network=Network.from_json(json.dumps(content["network"])),
            layers=tuple(content["layers"]),
            means=under("means/", part),
            sweeps=content["sweeps"],
            **kinds,
        )
    check_form(content, _OF_BELIEF, {"labels": list[list[int | str]]})
    layers = range(content["depth"])
    return TrainedNetwork.of_topics(
        phi=tuple(part[f"phi/{t}"] for t in layers),
        r=part["r"],
        c=part["c"],
        eta=tuple(content["eta"]),
        link=content["link"],
        noise=content["noise"],
        priors=read_priors(content["priors"]),
        weights=tuple(part[f"weights/{t}"] for t in layers if f"weights/{t}" in part),
        order=tuple(part[f"order/{t}"] for t in layers if f"order/{t}" in part),
        sweeps=content["sweeps"],
        labels={(t, k): text for t, k, text in content.get("labels", ())},
        vocabulary=names,
        **kinds,
    )


def under(prefix: str, arrays: Group) -> Group:
    """The arrays whose names begin with a prefix, without it."""
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


# ---- what is registered ---------------------------------------------------------------


def _encode_trained(network: TrainedNetwork) -> Parts:
    content, arrays = encode_networks((network,))
    return _parts({"networks": content}, arrays, network)


def _encode_training(training: LayerwiseTraining) -> Parts:
    content, arrays = encode_networks(training.models)
    return _parts({"networks": content, "stopped": training.stopped}, arrays, training.deepest)


def _parts(content: dict[str, Any], arrays: Group, network: TrainedNetwork) -> Parts:
    terms = network.vocabulary_size if network.link else None
    return Parts(content, {"model": arrays}, network.vocabulary, terms)


def _decode_trained(
    content: Mapping[str, Any], files: Files, /, names: Sequence[str] | None = None, **_: Any
) -> TrainedNetwork:
    return decode_networks(content["networks"], files("model"), names)[0]


def _decode_training(
    content: Mapping[str, Any], files: Files, /, names: Sequence[str] | None = None, **_: Any
) -> LayerwiseTraining:
    check_form(content, {"networks": list[dict[str, Any]], "stopped": str})
    networks = decode_networks(content["networks"], files("model"), names)
    if not networks:
        raise StorageError("a training has one network or more, and this has none: damaged")
    return LayerwiseTraining(networks, content["stopped"])


register_codec("trained", TrainedNetwork, _encode_trained, _decode_trained)
register_decoder("grown", _decode_trained)  # the earlier name of other networks
register_codec("training", LayerwiseTraining, _encode_training, _decode_training,
               "the result of train_layerwise")  # fmt: skip
