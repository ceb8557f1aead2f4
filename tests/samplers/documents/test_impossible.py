"""Topics that cannot have a term, terms that no topic has, terms that the model does not know."""

import numpy as np
import pytest

from pgbn.errors import PgbnWarning
from pgbn.evaluation import completion_perplexity
from pgbn.training.new_rows import align_terms, infer
from pgbn.training.trained import Priors, TrainedNetwork

APART = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])


def model_of(depth, rare, link="poisson", phi=APART):
    matrices = (np.array(phi), np.eye(2), np.eye(2))[:depth]
    return TrainedNetwork(matrices, np.array([1.0, rare]), np.ones(depth), link=link,
                          priors=Priors(p=(3.0, 3.0), c=(5.0, 5.0)))  # fmt: skip


@pytest.mark.parametrize("count", [3, 3000])
def test_tokens_are_in_the_topics_that_can_have_them(count):
    """However small r_k is: the proportions are (r_k + m_k) / (r_· + m_·)."""
    for rare in (1e-10, 1e-20, 1e-200, 0.0):
        found = infer(model_of(1, rare), [[0, 0, count, 1]], burn_in=2, samples=3)
        expected = [1 / (count + 2), (count + 1) / (count + 2)]
        np.testing.assert_allclose(found.proportions[1], [expected], rtol=1e-6)


def test_negligible_topics_count_where_the_others_have_less():
    """φ_wk r_k decides, though r_2 is below the rounding of r_·: 2e-30 against 1e-20 / 2."""
    phi = [[0.5, 0.5, 2e-30, 2e-30], [0.0, 0.0, 0.5, 0.5]]
    found = infer(model_of(1, 1e-20, phi=phi), [[0, 0, 3, 1]], burn_in=2, samples=3)
    np.testing.assert_allclose(found.proportions[1], [[0.2, 0.8]], rtol=1e-6)


@pytest.mark.parametrize("link", ["poisson", "bernoulli", "gamma"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_rarer_topic_makes_no_difference_if_only_it_explains_the_data(depth, link):
    x = np.array([[0, 0, 1, 1]]) if link == "bernoulli" else np.array([[0, 0, 3, 1]])
    expected = infer(model_of(depth, 1e-10, link), x, burn_in=500, samples=20_000)
    for rare in (1e-20, 0.0):
        found = infer(model_of(depth, rare, link), x, burn_in=500, samples=20_000, seed=1)
        for t in found.layers:
            np.testing.assert_allclose(found.proportions[t], expected.proportions[t], atol=0.015)
        assert found.proportions[1][0, 1] > 0.5


def test_topics_that_underflow_share_a_token_as_the_prior_says():
    """P(z = k) ∝ φ_wk (Φ^(2) r)_k."""
    phi = np.array([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5], [0.5, 0.5]])
    upper = np.array([[1.0, 0, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1]])
    model = TrainedNetwork((phi, upper), np.array([1.0, 2e-25, 1e-25]), np.ones(2))
    shares = np.mean(
        [infer(model, [[0, 1]], burn_in=3, samples=2, seed=seed).proportions[1][0]
         for seed in range(400)], axis=0)  # fmt: skip
    first, second, third = 0.25 * 0.5 * 2, 0.5 * 0.5 * 2, 0.5 * 1
    ratio = np.array([first, second, third]) / (first + second + third)
    np.testing.assert_allclose(shares[1:] / shares[1:].sum(), ratio, atol=0.1)


@pytest.mark.parametrize("link", ["poisson", "bernoulli", "gamma"])
def test_terms_that_no_topic_has_are_unknown(link):
    phi = np.array([[0.5, 0.5, 0.0, 0.0, 0.0], [0.1, 0.4, 0.0, 0.5, 0.0]])
    model = TrainedNetwork((phi,), np.ones(2), np.ones(1), link=link)
    x = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 0, 1], [0, 1, 0, 1, 0]])
    known = x.copy()
    known[:, [2, 4]] = 0
    with pytest.warns(PgbnWarning) as caught:
        found = infer(model, x, burn_in=3, samples=3)
    message = "X: 2 unknown terms with 3 counts were dropped: no topic of the model has column 2, …"
    assert [str(each.message) for each in caught][:1] == [message]
    assert (found.unknown_terms, found.unknown_tokens) == (2, 3)
    assert found.empty.tolist() == [1]
    with pytest.warns(PgbnWarning, match="no known term"):
        expected = infer(model, known, burn_in=3, samples=3)
    np.testing.assert_array_equal(found.units[1], expected.units[1])
    with pytest.warns(PgbnWarning):  # one beyond the vocabulary as well
        wider = infer(model, np.hstack([x, x[:, :1]]), burn_in=3, samples=3)
    assert (wider.unknown_terms, wider.unknown_tokens) == (3, 4)


def test_perplexity_leaves_out_terms_that_no_topic_has():
    phi = np.array([[0.5, 0.5, 0.0]])
    model = TrainedNetwork((phi,), np.ones(1), np.ones(1))
    with pytest.warns(PgbnWarning, match="1 unknown terms with 9 counts") as caught:
        found = completion_perplexity(model, [[4, 4, 9]], [[2, 2, 0]], burn_in=3, samples=3)
    assert len(caught) == 1
    assert found.perplexity() == pytest.approx(2.0)


def test_totals_of_unknown_terms_are_not_cut_off():
    model = TrainedNetwork((np.array([[1.0]]),), np.ones(1), np.ones(1), link="gamma")
    for value, text in ((0.4, "a total of 0.4 were"), (0.1, "a total of 0.1 were")):
        with pytest.warns(PgbnWarning, match=f"1 unknown terms with {text}"):
            found = infer(model, [[1.5, value]], burn_in=1, samples=1)
        assert found.unknown_tokens == value
    tenths = np.full((320, 2), 0.1)
    assert align_terms(tenths, 1)[2] == pytest.approx(32.0)
    whole = align_terms(np.full((32, 2), 1.0), 1)[2]
    assert (whole, type(whole)) == (32, int)
