"""A gate that is certain."""

from __future__ import annotations

import numpy as np

import pgbn
from pgbn import Gamma, Network, Poisson


def test_a_gate_of_probability_1_stays_open() -> None:
    """At an exposure of 3000, e^{−q} is 0 as a double, and so was the odds of the gate."""
    gate = pgbn.Bernoulli("gate", pgbn.Constant([1.0, 0.0, 0.5], dims="i"), dims="i")
    theta = Gamma("theta", 1000.0 * gate, 1, dims="i")
    net = Network(Poisson("x", 20.0 * theta, dims="i"))
    with np.errstate(all="raise"):
        chain = net.chain({"x": [0, 0, 0]}).sweep(3)
    assert chain.values["gate"].tolist() == [1.0, 0.0, 0.0]
