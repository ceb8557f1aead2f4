"""What a chain offers of the rooms above it."""

from __future__ import annotations

import numpy as np

import pgbn as pg


def test_explain_tells_of_the_sampler_of_the_chain() -> None:
    network = pg.zoo.pfa(2)
    for layer1 in ("blocked", "partial", "collapsed"):
        chain = network.chain({"x": np.ones((2, 3), int)}, layer1=layer1, threads=1)
        assert str(chain.explain("latex")) == str(network.explain("latex", layer1))
        assert len(chain.explain(brief=True)) < len(chain.explain())
