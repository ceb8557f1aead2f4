"""Which hidden counts are drawn from their Bessel law at once."""

from __future__ import annotations

from typing import Any

import pytest

from pgbn import Gamma, HiddenPoisson, Network, Poisson
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw
from pgbn.engine.steps.gamma_layers import hidden_draw

H = HiddenPoisson("h", 2.0, dims=("i", "k"))
LINE = HiddenPoisson("h", 2.0, dims="i")
CASES: dict[str, tuple[Any, Any, bool]] = {
    "alone": (H, 0.5 + H, True),
    "beside a node": (H, Gamma("b", 1, 1, dims="k") + H, True),
    "half of it": (H, 0.5 + 0.5 * H, False),
    "in a product": (H, 0.5 + Gamma("b", 1, 1, dims=("i", "k")) * H, False),
    "read by several": (LINE, 0.5 + LINE, False),
}


@pytest.mark.parametrize("case", CASES)
def test_what_fits(case: str) -> None:
    h, shape, fits = CASES[case]
    theta = Gamma("theta", shape, 1.0, dims=("i", "k"))
    network = Network(Poisson("x", theta, dims=("i", "k")))
    program = Program(network, {}, {"i": 2, "k": 2}, 1)
    assert (hidden_draw(program, Draw(h)) is not None) == fits
