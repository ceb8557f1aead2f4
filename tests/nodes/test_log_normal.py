"""LogNormal: its density, and what it hears."""

from __future__ import annotations

import numpy as np
from scipy import stats

import pgbn
from tests.helpers.normal_networks import log_linear


def test_density() -> None:
    value = np.array([0.2, 1.0, 7.0])
    ours = pgbn.LogNormal("a", 0, 1).log_density(value, mean=0.3, precision=4.0)
    assert np.allclose(ours, stats.lognorm(s=0.5, scale=np.exp(0.3)).logpdf(value))


def test_drawn_with_the_gamma_below_integrated_out() -> None:
    step = next(step for step in log_linear().schedule if step.name == "a")
    assert list(step.marginalises) == ["theta"]
    assert {read.name for read in step.reads} == {"c", "counts(theta)", "tau", "w"}


def test_a_large_precision_holds_it_at_the_exponential() -> None:
    a = pgbn.LogNormal("a", 2.0, 1e8, dims="doc")
    net = pgbn.Network(pgbn.Poisson("x", a, dims="doc"), sizes={"doc": 3})
    draws = net.sample({"x": np.array([0, 5, 50])}, burn_in=1, draws=5, seed=0)
    assert np.allclose(draws["a"], np.exp(2.0), rtol=1e-2)
