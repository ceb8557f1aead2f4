"""What the parts of a trained network may be, whoever has written the file that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pgbn.checks import is_finite_number, is_integral, numbers
from pgbn.errors import DataError
from pgbn.zoo import layers

if TYPE_CHECKING:
    from pgbn.network.network import Network


LARGEST = 1e150  # products of two such numbers are finite


def check_parts(model: Any) -> None:
    """Priors, eta, noise, sweeps, traces and the state of a `TrainedNetwork`."""
    _check_numbers("eta", model.eta)
    _check_numbers("noise", (model.noise,))
    if not is_dataclass(model.priors):
        raise DataError(f"TrainedNetwork: priors={model.priors!r:.60}: give pgbn.Priors(...)")
    for field in fields(model.priors):
        _check_numbers(f"priors: {field.name}", getattr(model.priors, field.name), 2)
    if not is_integral(model.sweeps) or not 0 <= model.sweeps < 2**63:
        raise DataError(f"TrainedNetwork: sweeps={model.sweeps!r:.60}: give a number from 0 on")
    check_dicts(model, "traces", "state", "labels", "draws")
    check_traces("TrainedNetwork", model.traces)
    for name, value in model.state.items():
        array = numbers(f"TrainedNetwork: state[{name!r}]", value)
        if not np.isfinite(array).all():
            raise DataError(
                f"TrainedNetwork: state[{name!r}] has values that no chain has; give finite numbers"
            )
    if model.state:
        network = model.network()
        loadings = {layers.phi(t): phi for t, phi in enumerate(model.phi, 1)}
        sizes = check_shapes("TrainedNetwork: phi", network, loadings)
        check_shapes("TrainedNetwork: state", network, model.state, sizes)


def check_dicts(model: Any, *names: str) -> None:
    """Some fields of a trained or grown network are dicts."""
    for name in names:
        if not isinstance(getattr(model, name), Mapping):
            given = type(getattr(model, name)).__name__
            raise DataError(f"{type(model).__name__}: {name} is {given}; give a dict")


def check_shapes(
    what: str,
    network: Network,
    arrays: Mapping[str, Any],
    sizes: Mapping[str, int] | None = None,
    before: tuple[str, ...] = (),
) -> dict[str, int]:
    """Values of nodes have the dims of their nodes, ``before`` them those of draws, and a dim has
    the same size in all of them, the one of the network or of ``sizes`` if they know it. Returns
    the sizes of all dims."""
    known = {**network.sizes, **(sizes or {})}
    for name, value in arrays.items():
        if name not in network.nodes:
            raise DataError(f"{what}: {name!r:.60} is no node of the network")
        axes = (*before, *network[name].axes)
        shape = numbers(f"{what}: {name}", value).shape
        fits = len(shape) == len(axes)
        if not fits or any(known.setdefault(d, n) != n for d, n in zip(axes, shape, strict=True)):
            wanted = tuple(known.get(dim, dim) for dim in axes)
            raise DataError(f"{what}: {name} has shape {shape}, but its dims {axes} need {wanted}")
    return known


def _check_numbers(name: str, values: Any, length: int | None = None) -> None:
    listed = isinstance(values, (tuple, list)) and len(values) == (length or len(values))
    if not listed or not all(is_finite_number(each) and 0 < each <= LARGEST for each in values):
        raise DataError(
            f"TrainedNetwork: {name}={values!r:.60}: give positive numbers up to {LARGEST:g}"
        )


def check_traces(what: str, traces: Mapping[str, Any]) -> None:
    """Series of numbers, all as long as the series of sweeps."""
    arrays = {name: numbers(f"{what}: traces[{name!r}]", value) for name, value in traces.items()}
    sizes = {name: array.shape for name, array in arrays.items()}
    good = not sizes or (len(set(sizes.values())) == 1 and len(sizes.get("sweep", ())) == 1)
    if not good:
        raise DataError(
            f"{what}: traces of the shapes {sizes}; give 'sweep', and series of numbers "
            "that are as long"
        )
