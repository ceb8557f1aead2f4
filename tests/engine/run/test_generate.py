"""Draws of the joint distribution, from the roots to the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pgbn as pg
from pgbn import DataError, NetworkError
from pgbn.engine.run.generate import prior_step, to_axes, to_storage
from tests.helpers.refusals import check_refused
from tests.helpers.small_data import NET, X, draw, equal_arrays

Cases = dict[str, tuple[Callable[[], Any], list[str]]]

REFUSED: Cases = {
    "generate: size": (lambda: NET.generate(), ["size of dim", "sizes={"]),
    "generate: name": (lambda: draw(given={"thet": 1}), ["given", "'thet'", "theta1"]),
    "generate: shape": (lambda: draw(given={"theta1": X}), ["theta1", "size 3"]),
    "generate: ndim": (lambda: draw(given={"theta1": [1.0]}), ["theta1", "(1,)"]),
    "generate: str": (lambda: draw(given={"theta1": "a"}), ["'theta1'", "array of numbers"]),
    "generate: ragged": (lambda: draw(given={"theta1": [[1], [1, 2]]}), ["unequal"]),
    "generate: negative": (lambda: draw(given={"theta1": -np.ones((2, 2))}), ["-1", "at least 0"]),
    "generate: data": (lambda: draw(given={"x": np.full((2, 3), 0.5)}), ["'x'", "0.5"]),
    "generate: seed": (lambda: NET.generate(seed=-1), ["seed=-1"]),
    "generate: sizes": (lambda: NET.generate(sizes=3), ["sizes=3", "dict"]),
    "generate: given": (lambda: draw(given=3), ["given=3", "dict"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    check_refused(build, (DataError, NetworkError), words)


def test_generate_given_some_nodes() -> None:
    net = pg.zoo.pgbn([3, 2], p_prior=(2, 4), gamma0_prior=(4, 4))
    phi = np.full((3, 4), 0.25)
    drawn = net.generate(seed=1, sizes={"doc": 5}, given={"phi1": phi})
    assert drawn["x"].shape == (5, 4)
    assert np.array_equal(drawn["phi1"], phi)
    assert equal_arrays(drawn, net.generate(seed=1, sizes={"doc": 5}, given={"phi1": phi}))
    assert not np.array_equal(
        drawn["theta2"], net.generate(seed=2, sizes={"doc": 5}, given={"phi1": phi})["theta2"]
    )


def test_given_values_must_be_possible() -> None:
    net = pg.zoo.pgbn([2, 2], p_prior=(2, 4), gamma0_prior=(4, 4))
    with pytest.raises(pg.DataError, match=r"'phi1' sums to 1\.5"):
        net.generate(sizes={"doc": 2}, given={"phi1": np.full((2, 3), 0.5)})


def test_every_node_has_its_law() -> None:
    """Counts of a gamma rate are negative binomial."""
    network = pg.Network(pg.Poisson("x", pg.Gamma("g", 2, 3, dims="i"), dims="i"))
    drawn = network.generate(seed=1, sizes={"i": 20_000})
    assert stats.kstest(drawn["g"], stats.gamma(2, scale=1 / 3).cdf).pvalue > 1e-4
    share = np.bincount(drawn["x"], minlength=6)[:6] / 20_000
    np.testing.assert_allclose(share, stats.nbinom(2, 3 / 4).pmf(np.arange(6)), atol=0.015)


def test_a_node_has_streams_of_its_own_name() -> None:
    """What else is in the network does not change its draws."""
    g = pg.Gamma("g", 2, 3, dims="i")
    alone = pg.Network(pg.Poisson("x", g, dims="i"))
    beside = pg.Network(pg.Poisson("x", pg.Gamma("a", 1, 1) * g, dims="i"))
    one, two = (network.generate(seed=1, sizes={"i": 5})["g"] for network in (alone, beside))
    assert np.array_equal(one, two)


def test_between_the_order_of_dims_and_that_of_memory() -> None:
    program = NET.chain({"x": X}).program
    phi = np.arange(8.0).reshape(1, 2, 4)
    stored = to_storage(program, "phi1", phi)
    assert stored.shape == (1, 4, 2)
    assert stored.flags.c_contiguous
    assert np.array_equal(to_axes(program, "phi1", stored), phi)
    with pytest.raises(DataError, match=r"phi1: an array of shape \(4, 2\), expected \(2, 4\)"):
        to_storage(program, "phi1", np.zeros((1, 4, 2)))


def test_a_step_of_the_prior() -> None:
    program = NET.chain({"x": X}).program
    found = prior_step(program, "theta1")(7)
    assert found.shape == program.shape["theta1"]
    assert np.array_equal(found, prior_step(program, "theta1")(7))
    assert not np.array_equal(found, prior_step(program, "theta1")(8))


def test_replicates_are_independent_draws() -> None:
    chain = pg.Chain.replicated(NET, {"doc": 2, "term": 3}, 50, seed=2)
    values = chain.program.values["r"]
    assert values.shape == (50, 2)
    assert len(set(values[:, 0].tolist())) == 50
