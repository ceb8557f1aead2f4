"""Fused kernels of gamma layers, in place of the composed rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn import zoo
from pgbn.engine.steps.gamma_layers import draws_as


@pytest.mark.parametrize("layer1", ["auto", "blocked"])
def test_a_single_gamma_may_have_a_sum_as_its_shape(layer1: str) -> None:
    w, u = (pg.Gamma(name, 2, 2, dims="k") for name in "wu")
    network = pg.Network(pg.Poisson("x", pg.Gamma("s", w @ u, 1.0), dims="d"), sizes={"k": 2})
    chains = [network.chain({"x": [1, 2]}, layer1=each).sweep(3) for each in (layer1, "composed")]
    assert chains[0].values["s"] == chains[1].values["s"]


def test_a_subclass_with_its_own_law_is_left_alone() -> None:
    class Own(pg.Gamma):
        def generate(self, stream: Any, **slots: Any) -> Any:
            return super().generate(stream, **slots)

    own, ours = Own("a", 1, 1, dims=("i", "j")), pg.Gamma("b", 1, 1, dims=("i", "j"))
    network = pg.Network(pg.Poisson("x", own * ours, dims=("i", "j")))
    assert draws_as(network.wiring, ours, pg.Gamma)
    assert not draws_as(network.wiring, own, pg.Gamma)


@pytest.mark.parametrize("layer1", ["collapsed", "blocked"])
def test_vague_rates_of_empty_documents_do_not_overflow(layer1):
    """Gam(0.01, 0.01) draws rates such as 1e-200: shapes and exposures leave single precision."""
    x = np.zeros((200, 3), int)
    x[0] = [3, 2, 1]
    network = zoo.pgbn([2, 2, 2, 2], c_prior=(0.01, 0.01))
    values = network.chain({"x": x}, seed=0, layer1=layer1).sweep(60).values
    assert all(np.isfinite(value).all() for value in values.values())
    assert max(value.max() for value in values.values()) > 1e38
