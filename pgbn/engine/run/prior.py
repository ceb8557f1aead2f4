"""Many draws from the joint distribution at once, data and all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pgbn.checks import check_integer, check_seed
from pgbn.engine.compile.program import Program
from pgbn.engine.compile.sizes import check_fits, complete_sizes
from pgbn.engine.data.coords import check_coords
from pgbn.engine.run.draws import Draws
from pgbn.engine.run.generate import generate_into, to_axes
from pgbn.errors import DataError
from pgbn.samplers.executor import executor_of

if TYPE_CHECKING:
    from pgbn.network.network import Network

__all__ = ["prior_draws"]


def prior_draws(
    network: Network,
    draws: int,
    sizes: Mapping[str, int],
    seed: int,
    threads: int | None = None,
    coords: Mapping[str, Any] | None = None,
) -> Draws:
    """Every node (1, draws, *dims): the draws are replicates of one program."""
    number, seed = check_integer("draws", draws, 1), check_seed(seed)
    if not isinstance(sizes, Mapping):
        raise DataError(f"sizes={sizes!r}: give a dict, such as {{'doc': 10}}")
    labels = check_coords(network, coords, {})
    every = complete_sizes(network, {d: len(v) for d, v in labels.items()} | dict(sizes), {})
    check_coords(network, coords, every)
    check_fits(network, every, number, data=True)
    program = Program(network, {}, every, number, executor_of(threads))
    values = generate_into(program, seed, {})
    return Draws(
        {name: np.array(to_axes(program, name, value))[None] for name, value in values.items()},
        {name: ("chain", "draw", *network.nodes[name].axes) for name in values},
        {"seed": seed, "prior": True},
        network=network,
        coords=labels,
    )
