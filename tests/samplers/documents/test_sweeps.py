"""Documents with the network given: posterior moments, and topics that cannot have a term. The joint
law is tested in `tests/evidence/test_documents.py`."""

import numpy as np
import pytest
from scipy import stats

from pgbn.samplers.documents.sweeps import Documents, count_law, scratch_for
from pgbn.samplers.documents.units import pack_layers
from pgbn.training.new_rows import infer
from pgbn.training.trained import Priors, TrainedNetwork

# ---- the law --------------------------------------------------------------------------


def test_one_topic_is_known_exactly():
    """K = 1: θ | x ~ Gam(r + N, rate 1 + c), p | N ~ Beta(a0 + N, b0 + r): E θ = (r + N) E p."""
    model = TrainedNetwork.of_topics((np.full((1, 3), 1 / 3),), np.array([2.0]), np.ones(1),
                           priors=Priors(p=(3.0, 4.0)))  # fmt: skip
    found = infer(model, np.array([[2, 0, 5]]), burn_in=0, draws=20_000)
    n, r, a, b = 7, 2.0, 3.0 + 7, 4.0 + 2.0
    mean = (r + n) * a / (a + b)
    square = (r + n) * (r + n + 1) * a * (a + 1) / ((a + b) * (a + b + 1))
    assert found["theta1"][0, 0] == pytest.approx(mean, rel=0.01)
    assert found.sd["theta1"][0, 0] == pytest.approx(np.sqrt(square - mean**2), rel=0.02)
    assert found.proportions["theta1"][0, 0] == pytest.approx(1.0)
    assert found.proportions_sd["theta1"][0, 0] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.filterwarnings("ignore::pgbn.PgbnWarning")
def test_without_any_units_the_shares_are_equal():
    model = TrainedNetwork.of_topics((np.full((2, 3), 1 / 3),), np.zeros(2), np.ones(1))
    found = infer(model, np.zeros((1, 3), int), burn_in=0, draws=2)
    np.testing.assert_allclose(found.proportions["theta1"], [[0.5, 0.5]])


def test_many_tables_are_shared_out() -> None:
    """x ~ Pois(θ1), θ1 ~ Gam(s, 1) with s = Σ_k θ2_k ~ Gam(Σ r, 0.1): the posterior of s is an
    integral in one dimension, and E θ2_k = E[s] r_k / Σ r."""
    r, x = np.array([20.0, 30.0]), 800
    priors = Priors(p=(1e9, 1e9), c=(1e9, 1e10))  # the rates are known: 1 and 0.1
    phi = (np.ones((1, 1)), np.ones((2, 1)))
    model = TrainedNetwork.of_topics(phi, r, np.array([1.0, 0.1]), priors=priors)
    found = infer(model, np.array([[x]]), burn_in=50, draws=2000, seed=1, threads=1)
    s = np.linspace(1.0, 2000.0, 20_000)
    weight = stats.gamma(r.sum(), scale=10.0).pdf(s) * stats.nbinom(s, 0.5).pmf(x)
    expected = (s * weight).sum() / weight.sum() * r / r.sum()
    np.testing.assert_allclose(found["theta2"][0], expected, rtol=0.1)


# ---- topics that cannot have a term ----------------------------------------------------

APART = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])


def apart_model(depth, rare, link="poisson", phi=APART):
    matrices = (np.array(phi), np.eye(2), np.eye(2))[:depth]
    return TrainedNetwork.of_topics(matrices, np.array([1.0, rare]), np.ones(depth), link=link,
                          priors=Priors(p=(3.0, 3.0), c=(5.0, 5.0)))  # fmt: skip


@pytest.mark.parametrize("count", [3, 3000])
def test_tokens_are_in_the_topics_that_can_have_them(count):
    """However small r_k is: the proportions are (r_k + m_k) / (r_· + m_·)."""
    for rare in (1e-10, 1e-20, 1e-200, 0.0):
        found = infer(apart_model(1, rare), [[0, 0, count, 1]], burn_in=2, draws=3)
        expected = [1 / (count + 2), (count + 1) / (count + 2)]
        np.testing.assert_allclose(found.proportions["theta1"], [expected], rtol=1e-6)


def test_negligible_topics_count_where_the_others_have_less():
    """φ_wk r_k decides, though r_2 is below the rounding of r_·: 2e-30 against 1e-20 / 2."""
    phi = [[0.5, 0.5, 2e-30, 2e-30], [0.0, 0.0, 0.5, 0.5]]
    found = infer(apart_model(1, 1e-20, phi=phi), [[0, 0, 3, 1]], burn_in=2, draws=3)
    np.testing.assert_allclose(found.proportions["theta1"], [[0.2, 0.8]], rtol=1e-6)


@pytest.mark.parametrize("link", ["poisson", "bernoulli", "gamma"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_rarer_topic_makes_no_difference_if_only_it_explains_the_data(depth, link):
    x = np.array([[0, 0, 1, 1]]) if link == "bernoulli" else np.array([[0, 0, 3, 1]])
    expected = infer(apart_model(depth, 1e-10, link), x, burn_in=500, draws=20_000)
    for rare in (1e-20, 0.0):
        found = infer(apart_model(depth, rare, link), x, burn_in=500, draws=20_000, seed=1)
        for t in found.layers:
            np.testing.assert_allclose(
                found.proportions[f"theta{t}"], expected.proportions[f"theta{t}"], atol=0.015
            )
        assert found.proportions["theta1"][0, 1] > 0.5


def test_topics_that_underflow_share_a_token_as_the_prior_says():
    """P(z = k) ∝ φ_wk (Φ^(2) r)_k."""
    phi = np.array([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5], [0.5, 0.5]])
    upper = np.array([[1.0, 0, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1]])
    model = TrainedNetwork.of_topics((phi, upper), np.array([1.0, 2e-25, 1e-25]), np.ones(2))
    shares = np.mean(
        [infer(model, [[0, 1]], burn_in=3, draws=2, seed=seed).proportions["theta1"][0]
         for seed in range(400)], axis=0)  # fmt: skip
    first, second, third = 0.25 * 0.5 * 2, 0.5 * 0.5 * 2, 0.5 * 1
    ratio = np.array([first, second, third]) / (first + second + third)
    np.testing.assert_allclose(shares[1:] / shares[1:].sum(), ratio, atol=0.1)


@pytest.mark.parametrize(("latent", "room"), [(None, 900), ("bessel", 1)])
def test_only_counts_have_room_for_labels(latent: str | None, room: int) -> None:
    """900 tokens of the longest document that has labels; reals have none, however large."""
    data = np.array([900.0, 3.0, 5e7])
    documents = Documents(
        np.array([0, 1, 3, 3]), np.zeros(3, np.int32), data, np.zeros(3, np.uint64)
    )
    phi = np.full((300, 2), 0.5)
    layers = pack_layers([phi], np.ones(300), (1.0, 1.0, 1.0, 1.0))
    work = scratch_for(0, 3, documents, count_law(latent, 1.0), layers)
    assert work.labels.z.size == room
