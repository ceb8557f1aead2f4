"""The log densities of the nodes against those of scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ive

import pgbn as pg


@pytest.mark.parametrize(
    ("node", "value", "slots", "expected"),
    [
        (pg.Beta("p", 2, 3), 0.3, {"a": 2.0, "b": 3.0}, stats.beta(2, 3).logpdf(0.3)),
        (pg.Gamma("g", 1, 1), 0.7, {"shape": 2.0, "rate": 3.0},
         stats.gamma(2, scale=1 / 3).logpdf(0.7)),
        (pg.Gamma("g", 1, 1), 0.7, {"shape": 0.0, "rate": 3.0}, -np.inf),
        (pg.BernoulliPoisson("b", 1.0), 0, {"rate": 2.0}, -2.0),
        (pg.BernoulliPoisson("b", 1.0), 1, {"rate": 2.0}, math.log(-math.expm1(-2.0))),
        (pg.PoissonGamma("y", 1.0, 1.0), 0.0, {"rate": 2.0, "noise": 3.0}, -2.0),
        (pg.PoissonGamma("y", 1.0, 1.0), 1e-9, {"rate": 1e-9, "noise": 1.0},
         math.log(1e-9) - 2e-9),
        (pg.PoissonGamma("y", 1.0, 1.0), 1e7, {"rate": 1e7, "noise": 1.0},
         math.log(ive(1, 2e7))),
    ],
    ids=["beta", "gamma", "gamma of shape 0", "no count", "a count", "no number",
         "a small number", "a large number"],
)  # fmt: skip
def test_log_densities(
    node: pg.Node, value: float, slots: dict[str, float], expected: float
) -> None:
    arrays = {name: np.array(number) for name, number in slots.items()}
    assert node.log_density(np.array(value), **arrays) == pytest.approx(expected, rel=1e-10)


def test_the_density_of_a_multinomial_has_its_factorials() -> None:
    x = np.array([[2, 0, 5], [1, 1, 0]])
    chain = pg.zoo.lda(2, 0.5, 0.5).chain({"x": x}, threads=1).sweep()
    rate = chain.values["theta"] @ chain.values["phi"]
    exact = sum(
        stats.multinomial(counts.sum(), share / share.sum()).logpmf(counts)
        for counts, share in zip(x, rate, strict=True)
    )
    assert chain.log_likelihood() == pytest.approx(exact, rel=1e-9)
    node = chain.network["x"]
    dense = node.log_density(x[None, None], probability=rate[None, None], axis=3)
    assert dense.sum() == pytest.approx(exact, rel=1e-9)
