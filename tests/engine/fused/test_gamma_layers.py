"""Fused kernels of gamma layers, in place of the composed rules."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn import zoo
from pgbn.testing import geweke
from tests.helpers.models import pgbn, sizes_of
from tests.helpers.small_data import corpus


@pytest.mark.parametrize("layer1", ["auto", "collapsed", "partial", "blocked", "composed"])
def test_bits_do_not_depend_on_the_threads(layer1):
    network, x = zoo.pgbn([24, 20, 17]), corpus()
    chains = [network.chain({"x": x}, seed=3, layer1=layer1, threads=t).sweep(3) for t in (1, 2, 5)]
    first = chains[0].values
    assert chains[0].layer1 == chains[1].layer1 == ("collapsed" if layer1 == "auto" else layer1)
    for chain in chains[1:]:
        assert all(np.array_equal(first[name], v) for name, v in chain.values.items())
    assert all(np.isfinite(v).all() for v in first.values())


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("layer1", ["collapsed", "partial", "blocked", "composed"])
def test_same_posterior(depth, layer1):
    network = pgbn(depth)
    result = geweke(network, sizes_of(network), 4000, 6, seed=5, layer1=layer1)
    assert result.worst < 4, result


@pytest.mark.parametrize("layer1", ["auto", "blocked"])
def test_a_single_gamma_may_have_a_sum_as_its_shape(layer1: str) -> None:
    w, u = (pg.Gamma(name, 2, 2, dims="k") for name in "wu")
    network = pg.Network(pg.Poisson("x", pg.Gamma("s", w @ u, 1.0), dims="d"), sizes={"k": 2})
    chains = [network.chain({"x": [1, 2]}, layer1=each).sweep(3) for each in (layer1, "composed")]
    assert chains[0].values["s"] == chains[1].values["s"]
