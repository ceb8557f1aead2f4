"""Gamma process dynamic Poisson factor analysis, of counts and of binary data."""

from __future__ import annotations

import numpy as np

from pgbn import BernoulliPoisson, zoo

MILD = (4.0, 4.0)
BINARY = zoo.gp_dpfa(2, 0.5, MILD, MILD, MILD, MILD, link="bernoulli")


def test_counts_are_those_of_the_gamma_markov_chain() -> None:
    counts = np.random.default_rng(0).poisson(1.0, (5, 4))
    one, other = (
        make(3).chain({"x": counts}, seed=1).sweep(3).values
        for make in (zoo.gp_dpfa, zoo.gamma_markov_chain)
    )
    assert all(np.array_equal(one[name], other[name]) for name in other)
    assert isinstance(BINARY["x"], BernoulliPoisson)
