"""Draws of the joint distribution, from the roots to the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn import DataError, NetworkError
from tests.helpers.refusals import check_refused
from tests.helpers.small_data import NET, X, draw, equal_arrays

Cases = dict[str, tuple[Callable[[], Any], list[str]]]

REFUSED: Cases = {
    "generate: size": (lambda: NET.generate(), ["size of dim", "sizes={"]),
    "generate: name": (lambda: draw(given={"thet": 1}), ["given", "'thet'", "theta1"]),
    "generate: shape": (lambda: draw(given={"theta1": X}), ["theta1", "size 3"]),
    "generate: ndim": (lambda: draw(given={"theta1": [1.0]}), ["theta1", "(1,)"]),
    "generate: str": (lambda: draw(given={"theta1": "a"}), ["'theta1'", "finite numbers"]),
    "generate: ragged": (lambda: draw(given={"theta1": [[1], [1, 2]]}), ["unequal"]),
    "generate: negative": (lambda: draw(given={"theta1": -np.ones((2, 2))}), ["negative", "-1"]),
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
    with pytest.raises(pg.DataError, match=r"phi1 sums to 1\.5"):
        net.generate(sizes={"doc": 2}, given={"phi1": np.full((2, 3), 0.5)})
