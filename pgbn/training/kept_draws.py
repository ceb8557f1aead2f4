"""Draws of the global nodes that a training keeps: Φ^(1…T) and r with their uncertainty.

    p(new row | data) = ∫ p(new row | Φ, r) p(Φ, r | data) ≈ 1/S Σ_s p(new row | Φ^s, r^s)

A single Φ, even the posterior mean, ignores the uncertainty of the model; the average over draws
predicts better (docs/howto/criticism.md has figures).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from pgbn.network.network import Network
from pgbn.storage.read_limits import check_bytes
from pgbn.training.trained import TrainedNetwork
from pgbn.zoo import layers


def is_kept(number: int, total: int, draws: int) -> bool:
    """Whether the draw of sweep ``number`` of ``total`` is one of ``draws``, evenly spread and with
    the last sweep among them."""
    if not draws:
        return False
    apart = total // draws
    return (total - number) % apart == 0 and (total - number) // apart < draws


def stacked(
    draws: Sequence[Mapping[str, NDArray[np.float64]]],
) -> dict[str, NDArray[np.float64]]:
    """Draws of several nodes as one array for each node, with the draw as the first axis."""
    return {name: np.stack([draw[name] for draw in draws]) for name in (draws[0] if draws else ())}


def each_draw(model: TrainedNetwork) -> tuple[TrainedNetwork, ...]:
    """The network at each of its kept draws, or the network itself if it kept none. These networks
    have no state, since a state belongs to none of the draws."""
    if not model.draws:
        return (model,)
    at = {name: model.draws[name] for name in model.means if name in model.draws}
    return tuple(
        replace(
            model,
            means={**model.means, **{name: stack[s] for name, stack in at.items()}},
            draws={},
            state={},
        )
        for s in range(len(model.draws[layers.TOP_SHAPE]))
    )


def given_stacks(model: TrainedNetwork) -> dict[str, NDArray[np.float64]]:
    """Φ, r and the noise for new rows, each with the draw as the first axis: the kept draws, or
    else the single values."""
    return {name: model.draws.get(name, value[None]) for name, value in model.means.items()}


def check_draws_fit(
    network: Network, names: Sequence[str], sizes: Mapping[str, int], draws: int
) -> None:
    """Reject more draws of some nodes than fit into memory."""
    each = sum(prod(sizes.get(dim, 1) for dim in network.nodes[name].axes) for name in names)
    check_bytes(f"keep_draws={draws}", 8 * each * draws, "keep fewer draws, or make max_width less")
