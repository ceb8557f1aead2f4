"""Trained networks and trainings as JSON and arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from pgbn.errors import StorageError
from pgbn.network.network import Network
from pgbn.storage.archive import Files, Group, Parts, check_form, register_codec
from pgbn.training.grown import GrownNetwork
from pgbn.training.trained import TrainedNetwork, read_priors
from pgbn.training.training_result import LayerwiseTraining

_OF_TRAINED: dict[str, Any] = {"depth": int, "eta": list[float], "link": str, "noise": float,
                               "priors": dict[str, Sequence[float]], "sweeps": int}  # fmt: skip
_OF_GROWN: dict[str, Any] = {"network": dict[str, Any], "layers": list[str], "sweeps": int}


def encode_networks(networks: Sequence[Any]) -> tuple[list[dict[str, Any]], Group]:
    """What is known of trained networks, and their arrays, by number."""
    content: list[dict[str, Any]] = []
    arrays: Group = {}
    for number, network in enumerate(networks):
        if isinstance(network, GrownNetwork):
            about, own = _encode_grown(network)
            content.append(about)
            arrays |= {f"{number}/{name}": np.asarray(value) for name, value in own.items()}
            continue
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
        own |= {f"draws/{name}": value for name, value in network.draws.items()}
        own |= {f"state/{name}": value for name, value in network.state.items()}
        arrays |= {f"{number}/{name}": np.asarray(value) for name, value in own.items()}
    return content, arrays


def decode_networks(
    content: Any, arrays: Group, names: Sequence[str] | None = None
) -> tuple[Any, ...]:
    """Trained networks again; the class itself checks the shapes and sums."""
    return tuple(
        _grown(entry, _under(f"{n}/", arrays))
        if "layers" in entry
        else _trained(entry, _under(f"{n}/", arrays), names)
        for n, entry in enumerate(content)
    )


def _encode_grown(network: GrownNetwork) -> tuple[dict[str, Any], Group]:
    content = {
        "network": json.loads(network.network().to_json()),
        "layers": list(network.layers),
        "sweeps": network.sweeps,
    }
    kinds = ("means", "traces", "state", "draws")
    parts = {kind: getattr(network, kind) for kind in kinds}
    return content, {f"{part}/{n}": a for part, group in parts.items() for n, a in group.items()}


def _grown(content: Mapping[str, Any], part: Group) -> GrownNetwork:
    check_form(content, _OF_GROWN)
    return GrownNetwork(
        model=Network.from_json(json.dumps(content["network"])),
        layers=tuple(content["layers"]),
        means=_under("means/", part),
        traces=_under("traces/", part),
        state=_under("state/", part),
        sweeps=content["sweeps"],
        draws=_under("draws/", part),
    )


def _trained(
    content: Mapping[str, Any], part: Group, names: Sequence[str] | None
) -> TrainedNetwork:
    check_form(content, _OF_TRAINED, {"labels": list[list[int | str]]})
    layers = range(content["depth"])
    return TrainedNetwork(
        phi=tuple(part[f"phi/{t}"] for t in layers),
        r=part["r"],
        c=part["c"],
        eta=tuple(content["eta"]),
        link=content["link"],
        noise=content["noise"],
        priors=read_priors(content["priors"]),
        weights=tuple(part[f"weights/{t}"] for t in layers if f"weights/{t}" in part),
        traces=_under("traces/", part),
        state=_under("state/", part),
        draws=_under("draws/", part),
        sweeps=content["sweeps"],
        labels={(t, k): text for t, k, text in content.get("labels", ())},
        vocabulary=names,
    )


def _under(prefix: str, arrays: Group) -> Group:
    return {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}


# ---- what is registered ---------------------------------------------------------------


def _encode_trained(network: TrainedNetwork | GrownNetwork) -> Parts:
    content, arrays = encode_networks((network,))
    return _parts({"networks": content}, arrays, network)


def _encode_training(training: LayerwiseTraining) -> Parts:
    content, arrays = encode_networks(training.networks)
    return _parts({"networks": content, "stopped": training.stopped}, arrays, training.deepest)


def _parts(content: dict[str, Any], arrays: Group, network: TrainedNetwork | GrownNetwork) -> Parts:
    if isinstance(network, GrownNetwork):
        return Parts(content, {"model": arrays})
    return Parts(content, {"model": arrays}, network.vocabulary, network.vocabulary_size)


def _decode_trained(
    content: Mapping[str, Any],
    files: Files,
    /,
    *,
    threads: int | None = None,
    names: Sequence[str] | None = None,
) -> Any:
    return decode_networks(content["networks"], files("model"), names)[0]


def _decode_training(
    content: Mapping[str, Any],
    files: Files,
    /,
    *,
    threads: int | None = None,
    names: Sequence[str] | None = None,
) -> LayerwiseTraining:
    check_form(content, {"networks": list[dict[str, Any]], "stopped": str})
    networks = decode_networks(content["networks"], files("model"), names)
    if not networks:
        raise StorageError("a training has one network or more, and this has none: damaged")
    return LayerwiseTraining(networks, content["stopped"])


register_codec("trained", TrainedNetwork, _encode_trained, _decode_trained)
register_codec("grown", GrownNetwork, _encode_trained, _decode_trained)
register_codec("training", LayerwiseTraining, _encode_training, _decode_training,
               "the result of train_layerwise")  # fmt: skip
