"""Poisson-randomised gamma dynamical systems: a chain through hidden counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn import Network, zoo
from pgbn.testing import geweke

SIZES = {"time": 4, "term": 3}


def mild(offset: float, tau: Any = 1.5) -> Network:
    return zoo.prgds(2, offset, eta=0.7, tau=tau, gamma0_prior=(6, 2), delta_prior=(3, 3))


def test_what_the_next_row_passes_back_is_needed() -> None:
    def broken(chain: pg.Chain) -> None:
        at = [turn.step.name for turn in chain._turns].index("counts(theta)")
        turn = chain._turns[at]

        def run(key: int) -> None:
            turn.run(key)
            chain.program.counts["theta", "self"][:] = 0

        chain._turns[at] = type(turn)(turn.step, turn.base, run)

    result = geweke(mild(0.7), SIZES, 2000, 8, seed=3, broken=broken)
    assert result.worst > 6, result


def test_a_silent_factor_speaks_again() -> None:
    """θ is exactly 0 in some sweeps and not in others, whatever it was before."""
    x = np.zeros((4, 3), int)
    x[1] = 3
    chain = mild(0.0).chain({"x": x}, seed=1)
    zero = np.array([(chain.sweep().values["theta"] == 0) for _ in range(150)])
    assert zero[:, 0].any(axis=0).all()
    assert (~zero[:, 0]).any(axis=0).all()
    assert not zero[:, 1].all(axis=1).any()  # somebody has made the counts


def test_the_future_and_the_file() -> None:
    network = zoo.prgds(3)
    x = np.random.default_rng(0).poisson(2.0, (6, 4))
    draws = network.sample({"x": x}, burn_in=20, draws=5, chains=1, seed=0)
    assert zoo.prgds(3).to_json() == Network.from_json(network.to_json()).to_json()
    with pytest.raises(pg.DataError, match="no draws of 'p"):
        network.forecast({"theta": draws.values["theta"]}, 2)
    future = network.forecast(draws, 2, seed=1)
    assert future.values["x"].shape == (1, 5, 2, 4)
