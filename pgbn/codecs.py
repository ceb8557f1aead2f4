"""What is saved, as JSON and arrays: networks, chains, trained networks and estimators.

A codec turns an object into a `Parts` (JSON content, and groups of arrays that become files) and
back. Reading trusts nothing: what the kernels would index with is checked first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pgbn.chain import Chain
from pgbn.data import Cells, read_array
from pgbn.errors import StorageError
from pgbn.network import Network
from pgbn.nodes.base import Observed
from pgbn.trained import Priors, TrainedNetwork
from pgbn.training import LayerwiseTraining

if TYPE_CHECKING:
    from pgbn.estimators import PGBN

__all__ = [
    "Parts",
    "chain_content",
    "chain_data",
    "chain_state",
    "compact",
    "decode",
    "decode_chain",
    "decode_networks",
    "encode",
    "encode_networks",
    "matrix_arrays",
    "read_matrix",
    "read_priors",
]

Group = dict[str, NDArray[Any]]
Files = Callable[[str], Group]  # the arrays of a group, read when they are asked for


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


def compact(array: NDArray[Any]) -> NDArray[Any]:
    """Integers in as few bytes as their values need; other arrays as they are."""
    if array.dtype.kind not in "iu" or not array.size or array.min() < 0:
        return array
    return array.astype(np.min_scalar_type(array.max()), copy=False)


# ---- chains ---------------------------------------------------------------------------


def _encode_chain(chain: Chain) -> Parts:
    if chain.program.replicates != 1:
        raise StorageError("replicated chains cannot be saved; save a Chain made by Network.chain")
    content = chain_content(chain)
    return Parts("chain", content, {"data": chain_data(chain), "state": chain_state(chain)})


def chain_content(chain: Chain) -> dict[str, Any]:
    """All but the arrays. The sampler of the first layer is named, since "auto" may choose
    otherwise in another version; "blocked" stands for general rules with fused tables."""
    general = chain.layer1 == "composed" and chain.program.fused
    return {
        "network": json.loads(chain.network.to_json()),
        "seed": chain.seed,
        "number": chain.number,
        "sweeps": chain.sweeps,
        "layer1": "blocked" if general else chain.layer1,
        "shapes": {name: list(cells.shape) for name, cells in chain.program.cells.items()},
    }


def chain_state(chain: Chain) -> Group:
    """The arrays of `Chain.state`."""
    return {name: compact(array) for name, array in chain.state().items()}


def chain_data(chain: Chain) -> Group:
    """The data of all observed nodes, as cells."""
    out: Group = {}
    for name, cells in chain.program.cells.items():
        out[f"{name}/indptr"], out[f"{name}/indices"] = cells.indptr, compact(cells.indices)
        out[f"{name}/values"] = compact(cells.values)
        if cells.missing is not None:
            out[f"{name}/missing"] = cells.missing
    return out


def decode_chain(content: Mapping[str, Any], files: Files, threads: int | None) -> Chain:
    """A chain at the place where it was saved."""
    network = Network.from_json(json.dumps(content["network"]))
    arrays = files("data")
    data = {
        name: _read_cells(network[name], tuple(content["shapes"][name]), name, arrays)
        for name in network.observed
    }
    seed, number, layer1 = (content[name] for name in ("seed", "number", "layer1"))
    chain = Chain(network, data, seed, number, None, layer1, threads)
    return chain.restore(files("state"), content["sweeps"])


def _read_cells(node: Any, shape: tuple[int, ...], name: str, arrays: Group) -> Cells:
    indptr, indices = (arrays[f"{name}/{part}"] for part in ("indptr", "indices"))
    values, missing = arrays[f"{name}/values"], arrays.get(f"{name}/missing")
    rows, columns = int(np.prod(shape[:-1], dtype=object)), shape[-1] if shape else 1
    _check_rows(indptr, indices, values, rows, columns)
    assert isinstance(node, Observed)
    if missing is not None and (missing.shape != values.shape or missing.dtype != bool):
        raise StorageError(f"the data of {name} are damaged: missing")
    complaint = node.check(values)
    if complaint or len(shape) != len(node.axes):
        raise StorageError(f"the data of {name} are damaged: {complaint or shape}")
    kind = np.int64 if values.dtype.kind in "iu" else np.float64
    return Cells(node.axes, shape, 1, indptr.astype(np.int64), indices.astype(np.int32),
                 values.astype(kind), missing)  # fmt: skip


def _check_rows(indptr: Any, indices: Any, values: Any, rows: int, columns: int) -> None:
    """Compressed sparse rows that may be indexed with."""
    good = (
        indptr.shape == (rows + 1,)
        and indptr.dtype.kind in "iu"
        and indices.dtype.kind in "iu"
        and values.dtype.kind in "iuf"
        and indices.shape == values.shape == (int(indptr[-1]),)
        and indptr[0] == 0
        and bool((np.diff(indptr.astype(np.int64)) >= 0).all())
        and (not indices.size or (int(indices.min()) >= 0 and int(indices.max()) < columns))
        and bool(np.isfinite(values).all())
    )
    if not good:
        raise StorageError("the data are damaged: not the rows of a sparse matrix")


def matrix_arrays(X: Any) -> Group:
    """The documents that belong to a model; unknown cells count as 0."""
    from pgbn.trained import observed_node

    cells = read_array(observed_node("gamma", "data"), X)
    return {"shape": np.array(cells.shape), "indptr": cells.indptr,
            "indices": compact(cells.indices), "values": compact(cells.values)}  # fmt: skip


def read_matrix(arrays: Group) -> sp.csr_array:
    """The documents again."""
    rows, columns = (int(size) for size in arrays["shape"])
    indptr, indices, values = (arrays[name] for name in ("indptr", "indices", "values"))
    _check_rows(indptr, indices, values, rows, columns)
    kind = np.int64 if values.dtype.kind in "iu" else np.float64
    parts = (values.astype(kind), indices.astype(np.int32), indptr.astype(np.int64))
    return sp.csr_array(parts, shape=(rows, columns))


# ---- trained networks -----------------------------------------------------------------


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
        at = Beginning(str(content["link"]), int(content["seed"]), fixed, len(networks))
        estimator._keep(LayerwiseTraining(networks, str(content["stopped"])), at)
        estimator.n_features_in_ = int(content["features"])
        if "feature_names" in content:
            estimator.feature_names_in_ = np.array(content["feature_names"], object)
    return estimator
