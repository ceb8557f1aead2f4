"""Chains of Dirichlets, and several Shifts in one slot: their law, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import pgbn as pg
from pgbn.testing import geweke

SIZES = {"time": 3, "term": 3}


def observed(phi: pg.Dirichlet, **sizes: int) -> pg.Network:
    """Counts of topics that change with the time."""
    theta = pg.Gamma("theta", 2.0, 1.0, dims=("time", "topic"))
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("time", "term")),
                      sizes={"topic": 2, **sizes})  # fmt: skip


def walk() -> pg.Network:
    """φ_t ~ Dir(c φ_{t−1}), with c latent."""
    lag = pg.Shift(pg.Gamma("c", 8, 2) * pg.Self(), along="time", initial=1.0)
    return observed(pg.Dirichlet("phi", lag, over="term", dims=("time", "topic")))


def mixture() -> pg.Network:
    """Topics of the row before mix, and the first row has a latent base."""
    b = pg.Gamma("b", 4, 2, dims=("before", "topic"))
    base = pg.Dirichlet("base", 1.0, over="term")
    lag = pg.Shift(b @ pg.Self(topic="before"), along="time", initial=3.0 * base)
    return observed(pg.Dirichlet("phi", lag, over="term", dims=("time", "topic")), before=2)


def two_shifts() -> pg.Network:
    """θ_t ~ Gam(Πθ_{t−1} + θ_{t−1} / 2, …)."""
    pi = pg.Dirichlet("pi", 1.0, over="topic", dims="before")
    nu = pg.Gamma("nu", 4, 2, dims="topic")
    shape = pg.Shift(pi @ pg.Self(topic="before"), along="time", initial=nu)
    shape = shape + pg.Shift(0.5 * pg.Self(), along="time", initial=0.3)
    theta = pg.Gamma("theta", shape, 1.5, dims=("time", "topic"))
    phi = pg.Dirichlet("phi", 0.7, over="term", dims="topic")
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("time", "term")),
                      sizes={"topic": 2, "before": 2})  # fmt: skip


NETWORKS: dict[str, Callable[[], pg.Network]] = {
    "walk": walk, "mixture": mixture, "two shifts": two_shifts,
}  # fmt: skip


def test_what_the_next_row_passes_back_is_needed() -> None:
    """A forward draw that forgets the tables of the next row is seen."""

    def broken(chain: pg.Chain) -> None:
        at = [turn.step.name for turn in chain._turns].index("counts(phi)")
        turn = chain._turns[at]

        def run(key: int) -> None:
            turn.run(key)
            chain.program.counts["phi", "self"][:] = 0

        chain._turns[at] = type(turn)(turn.step, turn.base, run)

    result = geweke(walk(), SIZES, 2000, 8, seed=2, broken=broken)
    assert result.worst > 6, result


def test_exposures_are_drawn_row_by_row() -> None:
    """−ln s, s ~ Beta(a_·, n_·), and 0 in a row that hears nothing."""
    network = walk()
    x = np.zeros((3, 3), int)
    x[1] = 5
    chain = network.chain({"x": x}, seed=0).sweep(2)
    drawn = chain.program.drawn["phi", "concentration"]
    assert drawn.shape == (1, 3, 2)
    assert (drawn[0, 2] == 0).all()
    assert (drawn[0, 1] > 0).any()
    again = network.chain({"x": x}, seed=0).restore(chain.state(), 2).sweep(1)
    assert np.array_equal(again.values["phi"], chain.sweep(1).values["phi"])


def test_weights_that_differ_between_terms_are_refused() -> None:
    w = pg.Constant(np.array([1.0, 2.0, 3.0]), dims="term")
    lag = pg.Shift(w * pg.Self(), along="time", initial=1.0)
    with pytest.raises(pg.MissingRuleError, match="weighs the entries of the row before"):
        observed(pg.Dirichlet("phi", lag, over="term", dims=("time", "topic")))


def test_an_earlier_row_of_another_node() -> None:
    """Also by categories, whatever rows they say."""
    z = pg.Gamma("z", pg.Shift(pg.Self(), along="time", initial=2.0), 2.0, dims="time")
    before = pg.Categories("before", dims="time", of="past", values=[0, 0, 1])
    theta = pg.Gamma("theta", z.rename(time="past")[before] + 0.5, 1.0, dims="time")
    network = pg.Network(pg.Poisson("x", theta, dims="time"), pg.Poisson("y", z, dims="time"))
    result = geweke(network, {"time": 3}, 3000, 8, seed=1)
    assert result.worst < 4, result


def test_shifts_along_two_dims_are_refused() -> None:
    shape = pg.Shift(pg.Self(), along="a", initial=1.0) + pg.Shift(pg.Self(), along="b", initial=1)
    with pytest.raises(pg.NetworkError, match="Shifts along 'a' and 'b'; give all the same dim"):
        pg.Network(pg.Poisson("x", pg.Gamma("t", shape, 1.0, dims=("a", "b")), dims=("a", "b")))
