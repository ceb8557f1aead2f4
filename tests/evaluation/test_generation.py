"""Generated documents: their lengths, their rates c, and the laws of their numbers."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from pgbn.errors import DataError
from pgbn.evaluation import (
    generate_documents,
    overdispersion,
    predicted_overdispersion,
    variance_to_mean,
)
from pgbn.training import train_layerwise
from pgbn.training.trained import Priors, TrainedNetwork
from tests.helpers.trained import X, model_of


def test_poisson_documents_have_the_expected_length():
    """E x_·j = r_· Π_t 1 / c^(t)."""
    model = model_of()
    made = generate_documents(model, 4000, seed=1)
    assert made.counts.shape == (4000, 12)
    lengths = np.asarray(made.counts.sum(axis=1))
    expected = model.r.sum() / 0.8**2
    assert abs(lengths.mean() - expected) < 4 * lengths.std() / math.sqrt(4000)
    mean = np.asarray(made.counts.mean(axis=0))
    exact = model.r @ model.phi[1] @ model.phi[0] / 0.8**2
    error = made.counts.toarray().std(axis=0) / math.sqrt(4000)
    assert (np.abs(mean - exact) < 4.5 * error).all()


def test_documents_of_a_given_length_and_ranked_words():
    model = model_of()
    fixed = generate_documents(model, 5, length=40, seed=2)
    assert fixed.counts.sum(axis=1).tolist() == [40] * 5
    each = generate_documents(model, 3, length=[1, 2, 3], seed=2)
    assert each.counts.sum(axis=1).tolist() == [1, 2, 3]
    names = [f"w{v}" for v in range(12)]
    words = fixed.ranked(3, names)
    best = np.argmax(fixed.theta[0][0] @ model.phi[0])
    assert words[0][0] == names[best]
    assert [len(row) for row in words] == [3] * 5
    assert fixed.ranked(2)[0][0] == best


def log_shares(model, n, seed=0):
    """ln θ^(1)/θ^(1)_· by the definition, all in logarithms: ln Gam(a) = ln Gam(a + 1) + ln U / a,
    and where a itself is below 1e-250 the limit of Dir(a), one unit k with probability a_k / a_·.
    """
    rng = np.random.default_rng(seed)
    shape = np.broadcast_to(np.log(model.r), (n, model.r.size))
    for t in range(model.depth - 1, -1, -1):
        a = np.exp(np.maximum(shape, np.log(1e-300)))
        logs = np.log(rng.gamma(a + 1)) + np.log(rng.random(a.shape)) / a
        tiny = shape.max(axis=1) < np.log(1e-250)
        one = (shape[tiny] + rng.gumbel(size=shape[tiny].shape)).argmax(axis=1)
        logs[tiny] = -np.inf
        logs[np.flatnonzero(tiny), one] = -1e9
        total = logsumexp(logs, axis=1, keepdims=True)
        logs -= total  # now of the shares
        if t:  # a sum below e^-1e4 need not be exact, and ln Φ would be lost beside it
            total = np.maximum(total - np.log(model.c[t]), -1e4)
            shape = total + logsumexp(logs[:, :, None] + np.log(model.phi[t]), axis=1)
    return logs


def test_documents_whose_units_all_underflow_have_the_right_shares():
    """One topic has nearly all of such a document; equal shares would be the units' floor."""
    model, n = model_of((5, 4, 3, 2), terms=6).with_topics(r=np.array([0.4, 0.2])), 20_000
    made = generate_documents(model, n, length=7, seed=1)
    share = np.exp(log_shares(model, n))
    found = made.theta[0] / made.theta[0].sum(axis=1, keepdims=True)
    assert (made.theta[0].sum(axis=1) < 1e-280).mean() > 0.1
    rate = share @ model.phi[0]
    counts = np.random.default_rng(2).multinomial(7, rate / rate.sum(axis=1, keepdims=True))
    for expected, drawn in ((share, found), (counts, made.counts.toarray() * 1.0)):
        for i in range(expected.shape[1]):
            one, two = expected[:, [i]] * expected, drawn[:, [i]] * drawn
            error = np.sqrt((one.var(axis=0) + two.var(axis=0)) / n)
            assert (np.abs(one.mean(axis=0) - two.mean(axis=0)) < 4.5 * error).all()
    # Rates beyond all numbers leave the shares alone.
    for rates in (np.full(4, 1e200), np.full(4, 1e-200)):
        made = generate_documents(model.with_topics(c=rates), 500, length=7)
        assert np.isfinite(made.theta[0]).all()
        assert (made.theta[0].sum(axis=1) > 0).all()
        assert made.counts.sum() == 7 * 500


def test_rates_at_medians_of_training_documents_or_from_the_prior():
    training = train_layerwise(X, 4, 2, burn_in=5, sweeps=5, min_width=1, threads=1)
    model = training.deepest
    medians = generate_documents(model, 50, seed=1)
    assert (medians.c == model.c).all()
    known = set(zip(model.state["p2"].tolist(), model.state["c3"].tolist(), strict=True))
    one, two = (generate_documents(model, 50, length=3, c="random", seed=s).c for s in (1, 2))
    assert set(map(tuple, one.tolist())) <= known  # of one training document
    assert (one != two).any()
    prior = generate_documents(model, 2000, length=9, c="prior", seed=1)
    assert prior.c[:, 1].mean() == pytest.approx(1.0, abs=0.1)
    for c in ("mean", None, np.ones((3, 2))):
        with pytest.raises(DataError, match="'median', 'random' or 'prior'"):
            generate_documents(model, 1, c=c)
    with pytest.raises(DataError, match="needs the state"):
        generate_documents(model.without_state(), 1, c="random")


@pytest.mark.parametrize("link", ["poisson", "gamma"])
def test_rates_beyond_all_counts_are_refused(link):
    """Beta(0.01, 0.01) gives rates up to 1e300; their counts would wrap around."""
    with pytest.raises(
        DataError, match=r"document \d+ has a Poisson rate of \S+e\+.*c=\"median\""
    ) as e:
        generate_documents(model_of(link=link), 300, c="prior")
    number = int(str(e.value).split()[1])
    assert ("length=" in str(e.value)) == (link == "poisson")
    made = generate_documents(model_of(), 300, c="prior", length=10)
    assert made.counts.sum(axis=1).tolist() == [10] * 300
    rates = (made.theta[0] @ made.phi).max(axis=1)
    assert number == np.flatnonzero(rates >= 2**31)[0]
    assert generate_documents(model_of(link="bernoulli"), 300, c="prior").counts.max() == 1


def test_arguments_of_generation():
    model = model_of()
    for length in (1.7, [1, 2.5], math.nan, -1):
        with pytest.raises(DataError, match="length="):
            generate_documents(model, 2, length=length)
    assert generate_documents(model, 2, length=3.0).counts.sum() == 6
    for top in (-1, 0, 1.5, "a"):
        with pytest.raises(DataError, match=f"top={top!r}"):
            generate_documents(model, 1, length=3).ranked(top)


@pytest.mark.parametrize("link", ["bernoulli", "gamma"])
def test_other_links_generate_their_kind_of_data(link):
    made = generate_documents(model_of(link=link, noise=2.0), 300, seed=3).counts
    if link == "bernoulli":
        assert set(np.unique(made.toarray())) == {0, 1}
    else:
        assert (made.data != np.floor(made.data)).all()
        exact = model_of().r.sum() / 0.8**2 / 2.0
        assert made.sum(axis=1).mean() == pytest.approx(exact, rel=0.25)
    with pytest.raises(DataError, match="only documents of counts"):
        generate_documents(model_of(link=link), 1, length=5)


def test_rates_of_the_prior_follow_the_priors_of_the_model() -> None:
    model = model_of(priors=Priors(p=(5.0, 3.0), c=(8.0, 2.0)))
    made = generate_documents(model, 4000, length=9, c="prior")
    # E (1 − p)/p = b / (a − 1) and E c = shape / rate
    np.testing.assert_allclose(made.c.mean(axis=0), [3 / 4, 4.0], rtol=0.08)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("rate", [0.0, 1.0])
@pytest.mark.filterwarnings("error")
def test_units_that_are_all_zero_give_every_topic_the_same_share(depth: int, rate: float) -> None:
    phi = (np.array([[1.0, 0.0, 0.0], [0.0, 0.4, 0.6]]), np.eye(2))[:depth]
    model = TrainedNetwork.of_topics(phi, np.zeros(2), np.full(depth, rate))
    made = generate_documents(model, 3, length=4000)
    assert all((units == 0).all() for units in made.theta)
    assert made.counts.sum(axis=1).tolist() == [4000] * 3
    np.testing.assert_allclose(made.counts.mean(axis=0) / 4000, [0.5, 0.2, 0.3], atol=0.03)
    assert generate_documents(model, 3).counts.sum() == 0


def test_real_numbers_have_the_variance_of_their_law() -> None:
    """E (b x − λ)² = 2 λ for x ~ Gam(n, b), n ~ Pois(λ)."""
    phi, r, c = (np.ones((1, 1)),), np.array([4000.0]), np.array([40.0])
    model = TrainedNetwork.of_topics(phi, r, c, link="gamma", noise=2.0)
    made = generate_documents(model, 20_000, seed=1)
    rate = made.theta[0][:, 0]
    error = made.counts.toarray()[:, 0] * 2.0 - rate
    assert np.mean(error**2 / (2 * rate)) == pytest.approx(1.0, abs=0.05)


def identity_model(depth, p, width=3):
    phi = [np.eye(width)] * depth
    c = np.ones(depth)
    c[0] = (1 - p) / p
    return TrainedNetwork.of_topics(tuple(phi), np.array([0.5, 1.0, 2.0]), c)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_depth_multiplies_the_variance_to_mean_ratio(depth):
    """Paper, section 2.2: [1 + (T − 1) p] / (1 − p) for identity matrices and c = 1."""
    p = 0.6
    predicted = predicted_overdispersion(identity_model(depth, p))
    np.testing.assert_allclose(predicted, (1 + (depth - 1) * p) / (1 - p))
    assert overdispersion(depth, p) == pytest.approx(predicted[0])


def test_the_ratio_of_a_general_network():
    model = TrainedNetwork.of_topics(
        (np.eye(4), model_of((3,), terms=4).phi[0]), np.ones(3), np.array([0.5, 1.5])
    )
    counts = generate_documents(model, 40_000, seed=0).counts
    np.testing.assert_allclose(variance_to_mean(counts), predicted_overdispersion(model), rtol=0.08)


def test_overdispersion_checks():
    with pytest.raises(DataError, match="p=1"):
        overdispersion(2, 1.0)
    with pytest.raises(DataError, match="2 rates for 1 layers"):
        predicted_overdispersion(identity_model(1, 0.5), [1.0, 1.0])
    for arguments, message in (((1.5, 0.5), "depth=1.5"), ((math.nan, 0.5), "depth=nan"),
                               (("2", 0.5), "depth='2'"), ((2, "a"), "p='a'"),
                               ((2, math.nan), "p=nan"), ((2, -0.1), "p=-0.1")):  # fmt: skip
        with pytest.raises(DataError, match=message):
            overdispersion(*arguments)
    for c in ([-1, 1], [0, 1], [math.nan, 1], [math.inf, 1], "ab", ["a", "b"]):
        with pytest.raises(DataError, match="c"):
            predicted_overdispersion(identity_model(2, 0.5), c)
    assert np.isnan(variance_to_mean(np.zeros((3, 1)))).all()
    assert variance_to_mean([[0], [2]]).tolist() == [2.0]  # that of a sample
