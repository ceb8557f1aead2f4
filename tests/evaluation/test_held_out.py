"""Held-out perplexity of any node: against the belief network's own, and against exact sums."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from scipy.stats import nbinom, poisson

import pgbn as pg
from pgbn.errors import DataError, PgbnWarning
from pgbn.evaluation import HeldOut, split_tokens
from pgbn.evaluation.held_out import log_negative_binomials
from tests.helpers.refusals import check_refused
from tests.helpers.trained import X, model_of

rng = np.random.default_rng(0)
COUNTS = rng.poisson(rng.gamma(0.3, 3.0, (30, 15)))
SEEN, HELD = split_tokens(COUNTS, 0.7)


@pytest.mark.parametrize("sampler", ["collapsed", "blocked", "composed"])
def test_tokens_by_values_are_the_ratio_of_sums(sampler: str) -> None:
    net = pg.zoo.pgbn([5, 3])
    chain = net.chain({"x": SEEN}, sampler=sampler).sweep(5)
    score, rates, y = HeldOut(HELD, net["x"]), 0.0, HELD.toarray()
    for _ in range(5):
        score.add_chain(chain.sweep())
        rates = rates + chain.values["theta1"] @ chain.values["phi1"]
    logs = y * np.log(rates / rates.sum(axis=1, keepdims=True))
    assert score.perplexity() == pytest.approx(np.exp(-logs.sum() / y.sum()), rel=1e-9)
    with np.errstate(invalid="ignore"):
        expected = np.exp(-logs.sum(axis=1) / y.sum(axis=1))
    np.testing.assert_allclose(score.per_row(), expected, rtol=1e-9)


@pytest.mark.parametrize("sampler", ["collapsed", "composed"])
def test_means_are_those_given_the_counts(sampler: str) -> None:
    net = pg.zoo.pgbn([5, 3])
    chain = net.chain({"x": SEEN}, sampler=sampler).sweep(5)
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


def background() -> pg.Network:
    theta = pg.Gamma("theta1", 1.0, 2.0, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi1", 0.5, over="term", dims="topic")
    base = pg.Gamma("base", 1.0, 1.0, dims="term")
    return pg.Network(pg.Poisson("x", phi @ theta + base, dims=("doc", "term")), sizes={"topic": 2})


@pytest.mark.parametrize("kind", ["poisson", "bernoulli", "background"])
def test_cells_by_means_are_the_mean_over_gammas(kind: str) -> None:
    """p(x | z) with θ integrated out, against many draws of θ given z; a background stays as it was
    drawn."""
    priors = {"p_prior": (2.0, 2.0), "gamma0_prior": (2.0, 1.0)}
    net = background() if kind == "background" else pg.zoo.pgbn([3], link=kind, **priors)
    data = (COUNTS > 0).astype(int) if kind == "bernoulli" else np.minimum(COUNTS, 6)
    mask = np.random.default_rng(1).random(data.shape) < 0.2
    chain = net.chain({"x": np.ma.masked_array(data, mask)}, seed=2).sweep(20)
    score = HeldOut(np.ma.masked_array(data, ~mask), net["x"], by="cell")
    score.add_chain(chain, means=True)
    counts, values = chain.counts, chain.values
    shape = values.get("r", 1.0) + counts["theta1"]
    rate = 1.0 + (values["p2"][:, None] if "p2" in values else 2.0)
    many = np.random.default_rng(3).gamma(shape, size=(4000, *shape.shape)) / rate
    rates = (many @ values["phi1"] + values.get("base", 0.0))[:, mask]
    x = data[mask]
    if kind == "bernoulli":
        density = np.where(x > 0, -np.expm1(-rates), np.exp(-rates))
    else:
        density = poisson.pmf(x, rates)
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
    assert by_draws.draws == 4
    assert by_draws.perplexity() == pytest.approx(by_hand.perplexity(), rel=1e-12)


def test_tokens_of_a_network_of_ones_own_with_a_background() -> None:
    """f is the share of the total rate, background and all."""
    net = background()
    chain = net.chain({"x": SEEN}).sweep(3)
    score = HeldOut(HELD, net["x"])
    score.add_chain(chain)
    rate = chain.values["theta1"] @ chain.values["phi1"] + chain.values["base"]
    share, held = rate / rate.sum(axis=1, keepdims=True), HELD.toarray()
    expected = np.exp(-(held * np.log(share)).sum() / held.sum())
    assert score.perplexity() == pytest.approx(expected, rel=1e-9)
    score.add_chain(chain, means=True)
    assert np.isfinite(score.perplexity())


def test_tokens_of_new_rows_given_draws_of_the_rest() -> None:
    """20 draws of Φ, two of θ given each: the ratio of sums over all 40."""
    net = pg.zoo.pfa(3, 0.5)
    past = net.sample({"x": COUNTS[:20]}, burn_in=5, draws=20, keep=["phi1", "r"], progress=False)
    rows = net.infer({"x": SEEN[20:]}, past, "doc", burn_in=20, draws=40, keep="draws")
    score, by_hand = HeldOut(HELD[20:], net["x"]), HeldOut(HELD[20:])
    score.add_draws(rows)
    for number, theta in enumerate(rows.draws["theta1"]):
        by_hand.add(past["phi1"][0, number // 2], theta)
    assert score.draws == 40
    assert score.perplexity() == pytest.approx(by_hand.perplexity(), rel=1e-12)


def test_whole_rows_that_no_chain_has_seen() -> None:
    net = pg.zoo.pfa(2, 1.0, (2.0, 3.0), (4.0, 2.0), (2.0, 2.0))
    past = net.sample({"x": COUNTS[:20]}, burn_in=5, draws=3, keep=["phi1", "r"], progress=False)
    score = HeldOut(COUNTS[20:], net["x"], by="row")
    score.add_draws(past, particles=5)
    logs = past.log_likelihood("x", by="row", particles=5, data={"x": COUNTS[20:]})[0]
    each = (logsumexp(logs, axis=0) - np.log(3)) / 15
    np.testing.assert_allclose(score.per_row(), np.exp(-each))
    assert score.perplexity() == pytest.approx(np.exp(-each.mean()))
    empty = HeldOut(np.zeros((2, 15), int), net["x"], by="row")  # no tokens, and still rows
    empty.add_draws(past)
    assert 1 < empty.perplexity() < score.perplexity()


def test_what_a_score_shows_of_itself() -> None:
    score = HeldOut(np.array([[1, 0]]))
    assert repr(score) == "HeldOut(by='token', draws=0)"
    score.add([[0.25, 0.75]], [[2.0]])
    assert repr(score) == "HeldOut(by='token', draws=1, perplexity=4)"


def test_small_probabilities_count_as_they_are() -> None:
    accumulator = HeldOut(np.array([[1, 0]]))
    accumulator.add(np.array([[1e-30, 1.0]]), np.ones((1, 1)))
    assert accumulator.perplexity() == pytest.approx(1e30)


def test_held_out_data_and_samples_are_checked():
    phi, theta = np.full((2, 12), 1 / 12), np.ones((30, 2))
    accumulator = HeldOut(X, threads=1)
    for wrong, message in {
        "1-d": ((phi[0], theta), "phi is ndarray of 1 dims"),
        "sparse": ((sp.csr_array(phi), theta), "phi is csr_array"),
        "ragged": (([[1.0], [0.5, 0.5]], theta), "phi is list"),
        "masked": ((np.ma.masked_equal(phi, 0), theta), "phi is MaskedArray"),
        "strings": ((phi, theta.astype(str)), "theta is ndarray"),
        "no topics": ((phi[:0], theta[:, :0]), "phi is ndarray"),
        "not normalised": ((2 * phi, theta), "phi: the rows"),
        "negative topic": ((phi + np.r_[-1, 1, [0] * 10], theta), "phi: the rows"),
        "NaN topic": ((phi * np.nan, theta), "phi: the rows"),
        "NaN units": ((phi, theta * np.nan), "theta: the units"),
        "negative units": ((phi, -theta), "theta: the units"),
        "infinite units": ((phi, theta * np.inf), "theta: the units"),
    }.values():
        with pytest.raises(DataError, match=message):
            accumulator.add(*wrong)
    with pytest.raises(DataError, match="do not fit"):
        accumulator.add(np.ones((2, 5)), theta)
    accumulator.add(phi.tolist(), theta.tolist())
    assert accumulator.perplexity() == pytest.approx(12.0)
    with pytest.raises(DataError, match=r"'topics': 1.* after 1 of .*: 2.*reset\(\)"):
        accumulator.add(phi[:1], theta[:, :1])
    accumulator.reset()
    accumulator.add(np.eye(1, 12), np.ones((30, 1)))
    with pytest.warns(PgbnWarning, match="probability 0"):
        assert accumulator.perplexity() > 1e9
    masked = np.ma.masked_equal(X.toarray(), 1)
    for run in (HeldOut, lambda data: split_tokens(data, 0.5)):
        with pytest.raises(DataError, match="masked cells are not supported"):
            run(masked)


NET = pg.zoo.pfa(2)
REFUSED = {
    "another network": (
        lambda: HeldOut(X).add_chain(pg.zoo.lda(3).chain({"x": X})),
        ["no 'x' that is a Poisson"],
    ),
    "no chain": (lambda: HeldOut(X).add_chain(model_of()), ["chain is TrainedNetwork"]),
    "name": (lambda: HeldOut(HELD, NET["r"]), ["is not an observed node"]),
    "by": (lambda: HeldOut(HELD, NET["x"], by="pages"), ["by='pages'", "token", "row"]),
    "binary": (
        lambda: HeldOut(HELD, pg.zoo.pgbn([2], link="bernoulli")["x"]),
        ["binary", "by='cell'"],
    ),
    "no mask": (lambda: HeldOut(COUNTS, NET["x"], by="cell"), ["masked_array"]),
    "nothing": (lambda: HeldOut(COUNTS * 0, NET["x"]), ["nothing is held out"]),
    "no draws": (lambda: HeldOut(HELD, NET["x"]).perplexity(), ["no draws", "add_chain"]),
    "shape": (
        lambda: HeldOut(HELD, NET["x"]).add_chain(NET.chain({"x": COUNTS[:4]})),
        ["(30, 15)", "(4, 15)"],
    ),
    "rows of a chain": (
        lambda: HeldOut(COUNTS, NET["x"], by="row").add_chain(NET.chain({"x": COUNTS})),
        ["by='row'", "add_draws"],
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


@pytest.mark.parametrize("sampler", ["collapsed", "partial", "blocked"])
def test_the_current_topics_are_scored_though_nobody_looked_at_them(sampler: str) -> None:
    X = np.random.default_rng(5).poisson(0.6, (30, 12))
    net = pg.zoo.pfa(4)
    chain = net.chain({"x": X}, sampler=sampler, threads=1).sweep(5)
    found = []
    for _ in range(2):
        held_out = HeldOut(X, net["x"])
        held_out.add_chain(chain)
        found.append(held_out.perplexity())
        chain._select(["phi1"])  # looking changes nothing
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
        held_out = HeldOut({"x": [[9, 0], [0, 8]], "author": numbers}, net["x"], by="row")
        held_out.add_draws(draws)
        found.append(held_out.perplexity())
    assert found[0] < 0.5 * found[1]
    with pytest.raises(pg.DataError, match="no 'x' among"):
        HeldOut({"author": [0]}, net["x"], by="row")
