"""Missing cells: where the counts that a sweep imputes for them can be read.

A masked cell of x ~ Pois(λ) is unknown. Every sweep draws it, x | λ ~ Pois(λ), together with the
latent counts of the other cells (`composed`); the rest of the sweep takes it for data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgbn.engine.compile.program import Program
from pgbn.errors import DataError, did_you_mean
from pgbn.nodes.rules.registry import find_link

__all__ = ["check_imputed", "imputed"]


def imputed(program: Program, name: str) -> NDArray[np.int64]:
    """The data of an observed node, with the imputed counts where cells are missing."""
    check_imputed(program, name)
    if name not in program.latent_counts:
        raise DataError(f"imputed: {name!r} is imputed by sweeps: call chain.sweep() first")
    return np.asarray(program.cells[name].dense(program.latent_counts[name])[0], np.int64)


def check_imputed(program: Program, name: str, caller: str = "imputed") -> None:
    """Refuse a node that is not observed, has no missing cells, or whose cells are not imputed."""
    network = program.network
    if not isinstance(name, str) or name not in network.observed:
        raise DataError(
            f"{caller}: {name!r} is not an observed node.{did_you_mean(name, network.observed)}"
        )
    if program.cells[name].missing is None:
        raise DataError(
            f"{caller}: the data of {name!r} have no missing cells; give a numpy.ma.masked_array"
        )
    node = network.nodes[name]
    link = find_link(node)
    assert link is not None  # `read_data` refuses masked cells without one
    if link.counts is not None:
        raise DataError(
            f"{caller}: {name!r} is a {type(node).__name__}: for its missing cells a sweep draws "
            "the latent counts behind the data, not the data; draw those from the values of a "
            "chain: network.generate(given=chain.values)"
        )
    if not any((name, slot) in network.wiring.rules for slot in node.slots()):
        raise DataError(
            f"{caller}: the parameters of {name!r} are numbers, so that no sweep draws its missing "
            "cells; Network.generate() does"
        )
