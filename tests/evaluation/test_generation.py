"""Generated documents: their lengths, their rates c, and the laws of their numbers."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp

from pgbn.errors import DataError
from pgbn.evaluation import overdispersion
from pgbn.training import train_layerwise
from pgbn.training.trained import Priors, TrainedNetwork
from tests.helpers.trained import X, model_of


def test_poisson_documents_have_the_expected_length():
    """E x_·j = r_· Π_t 1 / c^(t)."""
    model = model_of()
    made = model.generate(4000, seed=1)
    assert made["x"].shape == (4000, 12)
    lengths = np.asarray(made["x"].sum(axis=1))
    expected = model.r.sum() / 0.8**2
    assert abs(lengths.mean() - expected) < 4 * lengths.std() / math.sqrt(4000)
    mean = np.asarray(made["x"].mean(axis=0))
    exact = model.r @ model.phi[1] @ model.phi[0] / 0.8**2
    error = made["x"].toarray().std(axis=0) / math.sqrt(4000)
    assert (np.abs(mean - exact) < 4.5 * error).all()


def rates_of(made):
    """c^(2) and c^(3) of every document."""
    return np.stack([made["p2"], made["c3"]], axis=1)


def test_documents_of_a_given_length():
    model = model_of()
    fixed = model.generate(5, length=40, seed=2)
    assert fixed["x"].sum(axis=1).tolist() == [40] * 5
    each = model.generate(3, length=[1, 2, 3], seed=2)
    assert each["x"].sum(axis=1).tolist() == [1, 2, 3]


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
    made = model.generate(n, length=7, seed=1)
    share = np.exp(log_shares(model, n))
    found = made["theta1"] / made["theta1"].sum(axis=1, keepdims=True)
    assert (made["theta1"].sum(axis=1) < 1e-280).mean() > 0.1
    rate = share @ model.phi[0]
    counts = np.random.default_rng(2).multinomial(7, rate / rate.sum(axis=1, keepdims=True))
    for expected, drawn in ((share, found), (counts, made["x"].toarray() * 1.0)):
        for i in range(expected.shape[1]):
            one, two = expected[:, [i]] * expected, drawn[:, [i]] * drawn
            error = np.sqrt((one.var(axis=0) + two.var(axis=0)) / n)
            assert (np.abs(one.mean(axis=0) - two.mean(axis=0)) < 4.5 * error).all()
    # Rates beyond all numbers leave the shares alone.
    for rates in (np.full(4, 1e200), np.full(4, 1e-200)):
        made = model.with_topics(c=rates).generate(500, length=7)
        assert np.isfinite(made["theta1"]).all()
        assert (made["theta1"].sum(axis=1) > 0).all()
        assert made["x"].sum() == 7 * 500


def test_rates_at_medians_of_training_documents_or_from_the_prior():
    training = train_layerwise(X, 4, 2, burn_in=5, sweeps=5, min_width=1, threads=1)
    model = training.deepest
    medians = model.generate(50, seed=1)
    assert (rates_of(medians) == model.c).all()
    known = set(zip(model.state["p2"].tolist(), model.state["c3"].tolist(), strict=True))
    one, two = (rates_of(model.generate(50, length=3, c="random", seed=s)) for s in (1, 2))
    assert set(map(tuple, one.tolist())) <= known  # of one training document
    assert (one != two).any()
    prior = model.generate(2000, length=9, c="prior", seed=1)
    assert prior["c3"].mean() == pytest.approx(1.0, abs=0.1)
    for c in ("mean", None, np.ones((3, 2))):
        with pytest.raises(DataError, match="'median', 'random' or 'prior'"):
            model.generate(1, c=c)
    with pytest.raises(DataError, match="needs the state"):
        model.without_state().generate(1, c="random")


@pytest.mark.parametrize("link", ["poisson", "gamma"])
def test_rates_beyond_all_counts_are_refused(link):
    """Beta(0.01, 0.01) gives rates up to 1e300; their counts would wrap around."""
    with pytest.raises(
        DataError, match=r"document \d+ has a Poisson rate of \S+e\+.*c=\"median\""
    ) as e:
        model_of(link=link).generate(300, c="prior")
    number = int(str(e.value).split()[1])
    assert ("length=" in str(e.value)) == (link == "poisson")
    made = model_of().generate(300, c="prior", length=10)
    assert made["x"].sum(axis=1).tolist() == [10] * 300
    rates = (made["theta1"] @ model_of().phi[0]).max(axis=1)
    assert number == np.flatnonzero(rates >= 2**31)[0]
    assert model_of(link="bernoulli").generate(300, c="prior")["x"].max() == 1


def test_arguments_of_generation():
    model = model_of()
    for length in (1.7, [1, 2.5], math.nan, -1):
        with pytest.raises(DataError, match="length="):
            model.generate(2, length=length)
    assert model.generate(2, length=3.0)["x"].sum() == 6


@pytest.mark.parametrize("link", ["bernoulli", "gamma"])
def test_other_links_generate_their_kind_of_data(link):
    made = model_of(link=link, noise=2.0).generate(300, seed=3)["x"]
    if link == "bernoulli":
        assert set(np.unique(made.toarray())) == {0, 1}
    else:
        assert (made.data != np.floor(made.data)).all()
        exact = model_of().r.sum() / 0.8**2 / 2.0
        assert made.sum(axis=1).mean() == pytest.approx(exact, rel=0.25)
    with pytest.raises(DataError, match="only documents of counts"):
        model_of(link=link).generate(1, length=5)


def test_rates_of_the_prior_follow_the_priors_of_the_model() -> None:
    model = model_of(priors=Priors(p=(5.0, 3.0), c=(8.0, 2.0)))
    made = model.generate(4000, length=9, c="prior")
    # E (1 − p)/p = b / (a − 1) and E c = shape / rate
    np.testing.assert_allclose(rates_of(made).mean(axis=0), [3 / 4, 4.0], rtol=0.08)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("rate", [0.0, 1.0])
@pytest.mark.filterwarnings("error")
def test_units_that_are_all_zero_give_every_topic_the_same_share(depth: int, rate: float) -> None:
    phi = (np.array([[1.0, 0.0, 0.0], [0.0, 0.4, 0.6]]), np.eye(2))[:depth]
    model = TrainedNetwork.of_topics(phi, np.zeros(2), np.full(depth, rate))
    made = model.generate(3, length=4000)
    assert all((made[f"theta{t}"] == 0).all() for t in range(1, depth + 1))
    assert made["x"].sum(axis=1).tolist() == [4000] * 3
    np.testing.assert_allclose(made["x"].mean(axis=0) / 4000, [0.5, 0.2, 0.3], atol=0.03)
    assert model.generate(3)["x"].sum() == 0


def identity_model(depth, p, width=3):
    phi = [np.eye(width)] * depth
    c = np.ones(depth)
    c[0] = (1 - p) / p
    return TrainedNetwork.of_topics(tuple(phi), np.array([0.5, 1.0, 2.0]), c)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_depth_multiplies_the_variance_to_mean_ratio(depth):
    """Paper, section 2.2: [1 + (T − 1) p] / (1 − p) for identity matrices and c = 1."""
    p = 0.6
    predicted = overdispersion(identity_model(depth, p))
    np.testing.assert_allclose(predicted, (1 + (depth - 1) * p) / (1 - p))


def test_the_ratio_of_a_general_network():
    model = TrainedNetwork.of_topics(
        (np.eye(4), model_of((3,), terms=4).phi[0]), np.ones(3), np.array([0.5, 1.5])
    )
    counts = model.generate(40_000, seed=0)["x"]
    counts = counts.toarray()
    ratio = counts.var(axis=0) / counts.mean(axis=0)
    np.testing.assert_allclose(ratio, overdispersion(model), rtol=0.08)


def test_overdispersion_checks():
    with pytest.raises(DataError, match="give a list of 1 numbers"):
        overdispersion(identity_model(1, 0.5), [1.0, 1.0])
    for c in ([-1, 1], [0, 1], [math.nan, 1], [math.inf, 1], "ab", ["a", "b"]):
        with pytest.raises(DataError, match="c"):
            overdispersion(identity_model(2, 0.5), c)
