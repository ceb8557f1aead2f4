"""The array behind each kind of operand."""

from __future__ import annotations

import numpy as np

import pgbn as pg


def test_whole_numbers_among_reals_are_multiplied_as_reals() -> None:
    noise = pg.Gamma("a", 4, 4) * pg.Gamma("b", 4, 4, dims="d")
    network = pg.Network(pg.PoissonGamma("x", pg.Gamma("th", 4, 4), noise, dims="d"))
    whole, reals = (network.chain({"x": x}).sweep() for x in ([0, 1, 2], [0.0, 1.0, 2.0]))
    assert whole.values["b"].tolist() == reals.values["b"].tolist()
    assert np.isfinite(whole.values["b"]).all()
