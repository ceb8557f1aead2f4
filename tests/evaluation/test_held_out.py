"""Held-out perplexity of any node: against the belief network's own, and against exact sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import nbinom, poisson

import pgbn as pg
from pgbn.evaluation import HeldOut, split_tokens
from pgbn.evaluation.held_out import log_negative_binomials
from tests.helpers.refusals import check_refused

rng = np.random.default_rng(0)
COUNTS = rng.poisson(rng.gamma(0.3, 3.0, (30, 15)))
SEEN, HELD = split_tokens(COUNTS, 0.7)


@pytest.mark.parametrize("layer1", ["collapsed", "blocked", "composed"])
def test_tokens_by_values_are_the_ratio_of_sums(layer1: str) -> None:
    net = pg.zoo.pgbn([5, 3])
    chain = net.chain({"x": SEEN}, layer1=layer1).sweep(5)
    score, rates, y = HeldOut(HELD, net["x"]), 0.0, HELD.toarray()
    for _ in range(5):
        score.add_chain(chain.sweep())
        rates = rates + chain.values["theta1"] @ chain.values["phi1"]
    logs = y * np.log(rates / rates.sum(axis=1, keepdims=True))
    assert score.perplexity() == pytest.approx(np.exp(-logs.sum() / y.sum()), rel=1e-9)
    with np.errstate(invalid="ignore"):
        expected = np.exp(-logs.sum(axis=1) / y.sum(axis=1))
    np.testing.assert_allclose(score.per_row(), expected, rtol=1e-9)


@pytest.mark.parametrize("layer1", ["collapsed", "composed"])
def test_means_are_those_given_the_counts(layer1: str) -> None:
    net = pg.zoo.pgbn([5, 3])
    chain = net.chain({"x": SEEN}, layer1=layer1).sweep(5)
    score = HeldOut(HELD, net["x"])
    score.add_chain(chain, means=True)
    counts, values = chain.counts, chain.values
    phi = (0.05 + counts["phi1"]) / (0.05 + counts["phi1"]).sum(axis=1, keepdims=True)
    shape = values["theta2"] @ values["phi2"] + counts["theta1"]
    theta = shape / (1.0 + values["p2"][:, None])
    expected = HeldOut(HELD)
    expected.add(phi, theta)
    assert score.perplexity() == pytest.approx(expected.perplexity(), rel=1e-9)
    after = chain.values  # the chain has its own values again
    for name in values:
        np.testing.assert_array_equal(after[name], values[name])


def test_values_and_means_have_one_limit() -> None:
    net = pg.zoo.pfa(4, p_prior=(2.0, 2.0))
    chain = net.chain({"x": SEEN}, layer1="collapsed").sweep(30)
    values, means, few = (HeldOut(HELD, net["x"]) for _ in range(3))
    for number in range(400):
        chain.sweep()
        values.add_chain(chain)
        means.add_chain(chain, means=True)
        if number < 5:
            few.add_chain(chain, means=True)
    assert means.perplexity() == pytest.approx(values.perplexity(), rel=0.01)
    assert few.perplexity() < 1.2 * values.perplexity()


@pytest.mark.parametrize("link", ["poisson", "bernoulli"])
def test_cells_by_means_are_the_mean_over_gammas(link: str) -> None:
    """p(x | z) with θ integrated out, against many draws of θ given z."""
    net = pg.zoo.pgbn([3], link=link, p_prior=(2.0, 2.0), gamma0_prior=(2.0, 1.0))
    data = (COUNTS > 0).astype(int) if link == "bernoulli" else np.minimum(COUNTS, 6)
    mask = np.random.default_rng(1).random(data.shape) < 0.2
    chain = net.chain({"x": np.ma.masked_array(data, mask)}, seed=2).sweep(20)
    score = HeldOut(np.ma.masked_array(data, ~mask), net["x"], by="cells")
    score.add_chain(chain, means=True)
    counts, values = chain.counts, chain.values
    shape, rate = values["r"] + counts["theta1"], 1.0 + values["p2"][:, None, None]
    many = np.random.default_rng(3).gamma(shape, size=(4000, *shape.shape)) / rate[None, :, :, 0]
    rates = (many @ values["phi1"])[:, mask]
    x = data[mask]
    if link == "poisson":
        density = poisson.pmf(x, rates)
    else:
        density = np.where(x > 0, -np.expm1(-rates), np.exp(-rates))
    expected = np.exp(-np.log(density.mean(axis=0)).mean())
    assert score.perplexity() == pytest.approx(expected, rel=0.02)


def test_sum_of_negative_binomials() -> None:
    """Two of them and a Poisson count, convolved; with equal weights it is one again."""
    w, shape, rate = np.array([[0.7, 0.2]]), np.array([[1.5, 0.3]]), np.array([[0.4, 2.0]])
    none, known = np.zeros(1), np.full(1, 0.8)
    found = np.exp(log_negative_binomials(w, shape, rate, none, 40))[0]
    each = [
        nbinom.pmf(np.arange(41), a, c / (c + b))
        for b, a, c in zip(w[0], shape[0], rate[0], strict=True)
    ]
    np.testing.assert_allclose(found, np.convolve(*each)[:41], rtol=1e-9)
    more = np.exp(log_negative_binomials(w, shape, rate, known, 40))[0]
    both = np.convolve(found, poisson.pmf(np.arange(41), 0.8))[:41]
    np.testing.assert_allclose(more, both, rtol=1e-9)
    third = np.full((1, 3), 0.5), np.full((1, 3), 0.2), np.ones((1, 3))
    same = log_negative_binomials(*third, none, 2000)
    np.testing.assert_allclose(same[0], nbinom.logpmf(np.arange(2001), 0.6, 1 / 1.5), rtol=1e-8)


def test_multinomial_tokens_from_chain_and_draws() -> None:
    net = pg.zoo.lda(3)
    draws = net.sample({"x": SEEN}, burn_in=5, draws=4, progress=False)
    by_draws, by_hand = HeldOut(HELD, net["x"]), HeldOut(HELD)
    by_draws.add_draws(draws)
    for draw in range(4):
        by_hand.add(draws["phi"][0, draw], draws["theta"][0, draw])
    assert by_draws.samples == 4
    assert by_draws.perplexity() == pytest.approx(by_hand.perplexity(), rel=1e-12)


def test_a_network_of_ones_own_with_a_background() -> None:
    """f is the share of the whole rate, background and all."""
    theta = pg.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
    base = pg.Gamma("base", 1.0, 1.0, dims="term")
    net = pg.Network(pg.Poisson("x", phi @ theta + base, dims=("doc", "term")), sizes={"topic": 2})
    chain = net.chain({"x": SEEN}).sweep(3)
    score = HeldOut(HELD, net["x"])
    score.add_chain(chain)
    values = chain.values
    rate = values["theta"] @ values["phi"] + values["base"]
    share = rate / rate.sum(axis=1, keepdims=True)
    held = HELD.toarray()
    expected = np.exp(-(held * np.log(share)).sum() / held.sum())
    assert score.perplexity() == pytest.approx(expected, rel=1e-9)
    score.add_chain(chain, means=True)
    assert np.isfinite(score.perplexity())


def test_cells_by_means_beside_a_background() -> None:
    """θ is integrated out, and the background stays as it was drawn."""
    theta = pg.Gamma("theta", 1.0, 2.0, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
    base = pg.Gamma("base", 1.0, 1.0, dims="term")
    net = pg.Network(pg.Poisson("x", phi @ theta + base, dims=("doc", "term")), sizes={"topic": 2})
    data = np.minimum(COUNTS, 6)
    mask = np.random.default_rng(1).random(data.shape) < 0.2
    chain = net.chain({"x": np.ma.masked_array(data, mask)}, layer1="composed", seed=2).sweep(10)
    score = HeldOut(np.ma.masked_array(data, ~mask), net["x"], by="cells")
    score.add_chain(chain, means=True)
    values, shape = chain.values, 1.0 + chain.counts["theta"]
    many = np.random.default_rng(3).gamma(shape, size=(4000, *shape.shape)) / 3.0
    density = poisson.pmf(data[mask], (many @ values["phi"] + values["base"])[:, mask])
    expected = np.exp(-np.log(density.mean(axis=0)).mean())
    assert score.perplexity() == pytest.approx(expected, rel=0.02)


def test_tokens_of_new_rows_given_draws_of_the_rest() -> None:
    """20 draws of Φ, two of θ given each: the ratio of sums over all 40."""
    net = pg.zoo.pfa(3, 0.5)
    past = net.sample({"x": COUNTS[:20]}, burn_in=5, draws=20, keep=["phi1", "r"], progress=False)
    rows = net.infer({"x": SEEN[20:]}, past, "doc", burn_in=20, samples=40, keep="draws")
    score, by_hand = HeldOut(HELD[20:], net["x"]), HeldOut(HELD[20:])
    score.add_draws(rows)
    for number, theta in enumerate(rows.draws["theta1"]):
        by_hand.add(past["phi1"][0, number // 2], theta)
    assert score.samples == 40
    assert score.perplexity() == pytest.approx(by_hand.perplexity(), rel=1e-12)


def test_whole_rows_that_no_chain_has_seen() -> None:
    net = pg.zoo.pfa(2, 1.0, (2.0, 3.0), (4.0, 2.0), (2.0, 2.0))
    past = net.sample({"x": COUNTS[:20]}, burn_in=5, draws=3, keep=["phi1", "r"], progress=False)
    score = HeldOut(COUNTS[20:], net["x"], by="rows")
    score.add_draws(past, particles=5)
    logs = past.log_likelihood("x", by="row", particles=5, data={"x": COUNTS[20:]})[0]
    each = (logsumexp(logs, axis=0) - np.log(3)) / 15
    np.testing.assert_allclose(score.per_row(), np.exp(-each))
    assert score.perplexity() == pytest.approx(np.exp(-each.mean()))
    empty = HeldOut(np.zeros((2, 15), int), net["x"], by="rows")  # no tokens, and still rows
    empty.add_draws(past)
    assert 1 < empty.perplexity() < score.perplexity()


NET = pg.zoo.pfa(2)
REFUSED = {
    "name": (lambda: HeldOut(HELD, NET["r"]), ["is not an observed node"]),
    "by": (lambda: HeldOut(HELD, NET["x"], by="pages"), ["by='pages'", "tokens", "rows"]),
    "binary": (
        lambda: HeldOut(HELD, pg.zoo.pgbn([2], link="bernoulli")["x"]),
        ["binary", "by='cells'"],
    ),
    "no mask": (lambda: HeldOut(COUNTS, NET["x"], by="cells"), ["masked_array"]),
    "nothing": (lambda: HeldOut(COUNTS * 0, NET["x"]), ["nothing is held out"]),
    "no samples": (lambda: HeldOut(HELD, NET["x"]).perplexity(), ["no samples", "add_chain"]),
    "shape": (
        lambda: HeldOut(HELD, NET["x"]).add_chain(NET.chain({"x": COUNTS[:4]})),
        ["(30, 15)", "(4, 15)"],
    ),
    "rows of a chain": (
        lambda: HeldOut(COUNTS, NET["x"], by="rows").add_chain(NET.chain({"x": COUNTS})),
        ["by='rows'", "add_draws"],
    ),
    "gamma": (
        lambda: HeldOut(HELD, pg.zoo.pgbn([2], link="gamma")["x"]),
        ["PoissonGamma", "Multinomial"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    check_refused(build, (pg.DataError,), words)


@pytest.mark.parametrize("layer1", ["collapsed", "partial", "blocked"])
def test_the_current_topics_are_scored_though_nobody_looked_at_them(layer1: str) -> None:
    X = np.random.default_rng(5).poisson(0.6, (30, 12))
    net = pg.zoo.pfa(4)
    chain = net.chain({"x": X}, layer1=layer1, threads=1).sweep(5)
    found = []
    for _ in range(2):
        held_out = HeldOut(X, net["x"])
        held_out.add_chain(chain)
        found.append(held_out.perplexity())
        chain.select(["phi1"])  # looking changes nothing
    assert found[0] == found[1]


def test_new_rows_that_read_an_author() -> None:
    """Gam(2, 2) of each author is known from their other documents: rows of the right one fit."""
    author = pg.Categories("author", dims="doc", of="writer")
    rate, size = pg.Gamma("rate", 2, 2, dims=("writer", "term")), pg.Gamma("s", 40, 40, dims="doc")
    net = pg.Network(pg.Poisson("x", size * rate[author], dims=("doc", "term")))
    data = {"x": [[9, 0], [8, 1], [0, 9], [1, 7]], "author": [0, 0, 1, 1]}
    draws = net.sample(data, burn_in=5, draws=20, seed=1, progress=False, threads=1)
    found = []
    for numbers in ([0, 1], [1, 0]):
        held_out = HeldOut({"x": [[9, 0], [0, 8]], "author": numbers}, net["x"], by="rows")
        held_out.add_draws(draws)
        found.append(held_out.perplexity())
    assert found[0] < 0.5 * found[1]
    with pytest.raises(pg.DataError, match="no 'x' among"):
        HeldOut({"author": [0]}, net["x"], by="rows")
