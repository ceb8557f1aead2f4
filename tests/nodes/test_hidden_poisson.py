"""Hidden counts as nodes: in the shape of a gamma, and anywhere else."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.testing import geweke
from tests.helpers.language import HIDDEN_SIZES, hidden_in_a_shape


def test_a_count_that_forgets_its_gamma_is_seen() -> None:
    def broken(chain: pg.Chain) -> None:
        at = [turn.step.name for turn in chain._turns].index("h")
        turn = chain._turns[at]

        def run(key: int) -> None:
            turn.run(key)
            chain.program.values["h"] = chain.program.values["h"] + (key % 2)

        chain._turns[at] = type(turn)(turn.step, turn.base, run)

    assert geweke(hidden_in_a_shape(), HIDDEN_SIZES, 2000, 8, seed=2, broken=broken).worst > 6


def test_file_derivation_and_values() -> None:
    network = hidden_in_a_shape()
    text = str(network.explain())
    assert "Bessel" in text
    assert "∼ Pois(r" in text
    with pytest.raises(pg.DataError, match=r"value 1\.5; counts are"):
        network.chain({"x": np.ones((2, 2), int)}, init={"h": np.full((2, 2), 1.5)})
