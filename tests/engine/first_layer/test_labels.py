"""A label for every token."""

from __future__ import annotations

import numpy as np

import pgbn as pg


def test_chains_begin_with_labels_of_their_own() -> None:
    data = {"x": np.full((20, 6), 3)}
    init = {"phi1": np.full((3, 6), 1 / 6), "theta1": np.ones((20, 3))}
    one, two = (
        pg.zoo.pfa(3).chain(data, chain=number, init=init, layer1="collapsed", threads=1)
        for number in (0, 1)
    )
    assert (one.sampler.tokens.labels != two.sampler.tokens.labels).any()
