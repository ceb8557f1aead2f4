"""Tables of a document: how many there are, and which units they go to."""

import math

import numpy as np
import pytest
from numba import njit
from scipy import stats

import pgbn
from pgbn.samplers.documents.upper_layers import pass_up, sums_of
from pgbn.training.trained import Priors, TrainedNetwork
from tests.samplers.documents.test_units import single, stream


@njit
def _pass_up(rng, m_below, below, a, phi, theta, expected, out, listed, sums):
    m, seated = np.zeros(theta.size), np.zeros(theta.size + 1, np.int32)
    for i in range(out.shape[0]):
        pass_up(rng, m_below, below, a, phi, theta, expected, m, seated, sums)
        out[i] = m
        listed[i] = seated[0]


@pytest.mark.parametrize("customers", [(1, 4, 0, 63), (2, 200, 64, 65)])
def test_tables_are_shared_out(customers):
    """E m_l = Σ_k E[tables_k] φ_kl θ_l / a_k, E[tables] = Σ_i a / (a + i)."""
    width, repeats = 5, 20_000
    rng = np.random.default_rng(0)
    parts, phi = np.zeros(32), np.zeros((4, 32))
    parts[:width], phi[:, :width] = rng.dirichlet(np.ones(width)), rng.random((4, width))
    a = 3.0 * phi @ parts
    m_below = np.array(customers, np.float64)
    below = np.array([(m_below > 0).sum(), *np.flatnonzero(m_below), 0], np.int32)
    out, listed = np.zeros((repeats, 32)), np.zeros(repeats, np.int64)
    unused = np.zeros(width)
    _pass_up(stream(), m_below, below, a, single(phi.ravel()), single(parts), unused, out, listed,
             sums_of(32))  # fmt: skip
    tables = [sum(a[k] / (a[k] + i) for i in range(n)) for k, n in enumerate(customers)]
    expected = np.array(tables) @ (3.0 * phi * parts / a[:, None])
    error = out.std(axis=0) / math.sqrt(repeats) + 1e-9
    assert (np.abs(out.mean(axis=0) - expected) < 4.5 * error).all()
    np.testing.assert_array_equal(listed, (out > 0).sum(axis=1))


@pytest.mark.parametrize(
    ("phi", "expected", "shares"),
    [
        ((0.2, 0.0, 0.4, 0.0), (1e-30, 5.0, 1e-30, 5.0), (1 / 3, 0, 2 / 3, 0)),
        ((0.2, 0.0, 0.6, 0.0), (0.0, 5.0, 0.0, 5.0), (1 / 4, 0, 3 / 4, 0)),
        ((0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 1.0), (1 / 4, 1 / 4, 1 / 4, 1 / 4)),
    ],
)
def test_tables_of_units_that_underflowed_are_shared_out_by_expectations(phi, expected, shares):
    """∝ φ_l E θ_l; ∝ φ_l if that is 0 for all units; to any unit if no unit can have caused it."""
    repeats = 4000
    below, listed = np.array([1, 0], np.int32), np.zeros(repeats, np.int64)
    out = np.zeros((repeats, 32))
    _pass_up(stream(), np.ones(1), below, np.zeros(1), single(phi), single(np.zeros(32)),
             np.array(expected), out, listed, sums_of(32))  # fmt: skip
    assert (out.sum(axis=1) == 1).all()
    np.testing.assert_allclose(out.mean(axis=0)[:4], shares, atol=0.035)
    assert (out[:, np.append(shares, np.zeros(28)) == 0] == 0).all()


def test_many_tables_are_shared_out() -> None:
    """x ~ Pois(θ1), θ1 ~ Gam(s, 1) with s = Σ_k θ2_k ~ Gam(Σ r, 0.1): the posterior of s is an
    integral in one dimension, and E θ2_k = E[s] r_k / Σ r."""
    r, x = np.array([20.0, 30.0]), 800
    priors = Priors(p=(1e9, 1e9), c=(1e9, 1e10))  # the rates are known: 1 and 0.1
    phi = (np.ones((1, 1)), np.ones((2, 1)))
    model = TrainedNetwork.of_topics(phi, r, np.array([1.0, 0.1]), priors=priors)
    found = pgbn.infer(model, np.array([[x]]), burn_in=50, samples=2000, seed=1, threads=1)
    s = np.linspace(1.0, 2000.0, 20_000)
    weight = stats.gamma(r.sum(), scale=10.0).pdf(s) * stats.nbinom(s, 0.5).pmf(x)
    expected = (s * weight).sum() / weight.sum() * r / r.sum()
    np.testing.assert_allclose(found["theta2"][0], expected, rtol=0.1)
