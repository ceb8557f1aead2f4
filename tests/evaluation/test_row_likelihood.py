"""Rows with their own latent values integrated out: against exact sums and brute force."""

from __future__ import annotations

from itertools import product
from math import lgamma

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp

import pgbn as pg
from tests.helpers.models import zoo_models
from tests.helpers.prediction import row_density_by_brute_force, sampled
from tests.helpers.refusals import check_refused

MODELS = zoo_models()
BY_ROW = [name for name in MODELS if name not in ("gamma_markov_chain", "pgds", "lda", "hdp_lda")]


def exact_pfa(x, phi, r, prior) -> float:
    """log p(x | φ, r) with θ_k ~ Gam(r_k, c), c = (1 − p)/p, p ~ Beta(prior): summed over all ways
    to share out the counts, each of which is a product of gamma functions."""
    a, b = prior
    logs = []
    ways = [[s for s in product(range(n + 1), repeat=len(r)) if sum(s) == n] for n in x]
    for shares in product(*ways):
        split = np.array(shares)  # terms × topics
        m = split.sum(axis=0)
        each = (split * np.log(phi.T) - gammaln(split + 1)).sum()
        each += (gammaln(r + m) - gammaln(r)).sum()
        # ∫ c^{r·} / (c + 1)^{r· + m·} dp = B(a + m·, b + r·) / B(a, b)
        each += betaln(a + m.sum(), b + r.sum()) - betaln(a, b)
        logs.append(each)
    return float(logsumexp(logs))


@pytest.mark.parametrize("new", [False, True])
def test_exact_for_one_layer(new: bool) -> None:
    """Tiny data, by enumeration of all shares of the counts. Rows that no draw has seen begin at
    the prior; draws of Φ and r are enough for them."""
    prior, counts = (2.0, 3.0), np.array([[2, 0, 1], [0, 0, 0], [1, 3, 2]])
    net = pg.zoo.pfa(2, eta=1.0, p_prior=prior, c0_prior=(2.0, 2.0), gamma0_prior=(4.0, 2.0))
    past, keep = (np.array([[2, 0, 1], [0, 4, 0]]), ["phi1", "r"]) if new else (counts, None)
    draws = net.sample({"x": past}, burn_in=5, draws=2, keep=keep, progress=False, seed=1)
    data = {"x": counts} if new else None
    found = np.stack([draws.log_likelihood("x", by="row", particles=40, seed=s, data=data)
                      for s in range(6)])  # fmt: skip
    assert found.shape == (6, 1, 2, 3)
    for draw, row in product(range(2), range(3)):
        exact = exact_pfa(counts[row], draws["phi1"][0, draw], draws["r"][0, draw], prior)
        each = found[:, 0, draw, row]
        assert logsumexp(each) - np.log(len(each)) == pytest.approx(exact, abs=0.08)
        assert each.mean() < exact + 0.06  # the bias of the log is downward


def test_exact_for_rows_that_read_categories() -> None:
    """x_jv ~ Pois(s_j λ_{author(j) v}), s_j ~ Gam(2, 3): s_j is integrated out by hand."""
    author = pg.Categories("author", dims="doc", of="writer")
    rates = pg.Gamma("rates", 2.0, 1.0, dims=("writer", "term"))
    size = pg.Gamma("size", 2.0, 3.0, dims="doc")
    net = pg.Network(pg.Poisson("x", size * rates[author], dims=("doc", "term")))
    rng = np.random.default_rng(0)
    x, who = rng.poisson(3.0, (6, 4)), np.array([0, 2, 1, 1, 2, 0])
    draws = net.sample({"x": x, "author": who}, burn_in=3, draws=2, progress=False)
    new, other = x[:4] + 1, np.array([1, 1, 0, 2])
    for data, rows, writers in ((None, x, who), ({"x": new, "author": other}, new, other)):
        found = draws.log_likelihood("x", by="row", particles=40, data=data)[0]
        rate, n = draws["rates"][0][:, writers], rows.sum(axis=1)
        expected = (rows * np.log(rate) - gammaln(rows + 1)).sum(axis=2) + gammaln(2 + n)
        expected += 2 * np.log(3.0) - (2 + n) * np.log(3.0 + rate.sum(axis=2))
        np.testing.assert_allclose(found, expected, atol=0.1)
    with pytest.raises(pg.DataError, match="'author': no numbers of the new rows"):
        draws.log_likelihood("x", by="row", data={"x": x})


def test_exact_for_a_multinomial() -> None:
    """LDA of two topics: p(x | φ) by a sum over the shares, with a Dirichlet–multinomial each."""
    net = pg.zoo.lda(2, alpha=0.7)
    counts = np.array([[2, 0, 1], [1, 2, 1]])
    draws = net.sample({"x": counts}, burn_in=3, draws=1, progress=False)
    found = draws.log_likelihood("x", by="row", particles=40)[0, 0]
    phi, alpha = draws["phi"][0, 0], 0.7
    for row, x in enumerate(counts):
        logs = []
        ways = [[s for s in product(range(n + 1), repeat=2) if sum(s) == n] for n in x]
        for shares in product(*ways):
            split = np.array(shares)
            m = split.sum(axis=0)
            each = (split * np.log(phi.T) - gammaln(split + 1)).sum() + lgamma(x.sum() + 1)
            each += (gammaln(alpha + m) - gammaln(alpha)).sum()
            each += gammaln(2 * alpha) - gammaln(2 * alpha + m.sum())
            logs.append(each)
        assert found[row] == pytest.approx(logsumexp(logs), abs=0.15)


@pytest.mark.parametrize("name", BY_ROW)
def test_every_model_agrees_with_brute_force(name: str) -> None:
    network = MODELS[name]
    draws = sampled(network, draws=1)
    x = network.observed[0]
    found = np.stack(
        [draws.log_likelihood(x, by="row", particles=8, seed=s)[0, 0] for s in range(4)]
    )
    mean, spread = logsumexp(found, axis=0) - np.log(4), found.std(axis=0)
    for row in (0, 1):
        brute, error = row_density_by_brute_force(draws, "doc", row, 5000)
        assert abs(mean[row] - brute) < 0.1 + 4 * error + 3 * spread[row], (mean, brute)


def test_rows_that_depend_on_each_other_are_refused() -> None:
    for name in ("gamma_markov_chain", "pgds"):
        draws = sampled(MODELS[name], draws=1)
        with pytest.raises(pg.DataError, match="not independent given the rest"):
            draws.log_likelihood("x", by="row")


def test_nothing_to_integrate_out_is_exact() -> None:
    base = pg.Gamma("base", 2.0, 2.0, dims="term")
    net = pg.Network(pg.Poisson("x", base, dims=("doc", "term")))
    draws = net.sample({"x": np.array([[1, 2], [0, 3]])}, burn_in=1, draws=2, progress=False)
    np.testing.assert_allclose(
        draws.log_likelihood("x", by="row"), draws.log_likelihood("x").sum(axis=-1)
    )


WHOLE = sampled(MODELS["pfa"], draws=1)
KEPT = pg.zoo.pfa(2).sample(
    {"x": np.ones((2, 2), int)}, burn_in=1, draws=1, keep=["phi1"], progress=False
)
REFUSED = {
    "by": (lambda: WHOLE.log_likelihood("x", by="document"), ["by='document'", "'row'"]),
    "rows": (lambda: WHOLE.log_likelihood("x", by="row", rows="page"), ["rows='page'", "doc"]),
    "particles": (lambda: WHOLE.log_likelihood("x", by="row", particles=0), ["particles=0"]),
    "not kept": (lambda: KEPT.log_likelihood("x", by="row"), ["theta1", "not kept"]),
    "new cells": (lambda: WHOLE.log_likelihood("x", data={"x": [[1, 2, 3]]}), ["by='row'"]),
    "new name": (
        lambda: WHOLE.log_likelihood("x", by="row", data={"y": [[1]]}),
        ["data: no node 'y'", "Known: x"],
    ),
    "name": (lambda: WHOLE.log_likelihood("z", by="row"), ["'z' is not an observed node"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    check_refused(build, (pg.DataError,), words)
