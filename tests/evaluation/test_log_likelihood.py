"""Replicates of the data, and the log likelihood by cell and by row, of every model of the zoo."""

from __future__ import annotations

import warnings
from itertools import product
from math import lgamma

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import betaln, gammaln, logsumexp

import pgbn as pg
from pgbn.evaluation import log_likelihood
from tests.helpers.models import sizes_of, zoo_models
from tests.helpers.prediction import latent_only, row_density_by_brute_force, sampled
from tests.helpers.refusals import check_refused

MODELS = zoo_models()


@pytest.mark.parametrize("name", MODELS)
def test_cells_sum_up_to_the_log_density(name: str) -> None:
    network = MODELS[name]
    draws = sampled(network)
    data = {n: cells.dense()[0] for n, cells in draws.data.items()}
    for draw in range(2):
        values = {n: draws[n][0, draw] for n in network.latent}
        chain = network.chain(data, start=values, sampler="composed")
        each = [draws.log_likelihood(x)[0, draw].sum() for x in network.observed]
        assert sum(each) == pytest.approx(chain.log_likelihood(), rel=1e-9)
        joint = log_likelihood.log_joint(draws)[0, draw]
        assert joint == pytest.approx(chain.log_joint(), rel=1e-9)


def test_missing_cells_say_nothing() -> None:
    counts = np.array([[1, 2, 0], [3, 0, 1]])
    mask = np.array([[True, False, False], [False, False, True]])
    net = pg.zoo.pfa(2)
    draws = net.sample({"x": np.ma.masked_array(counts, mask)}, burn_in=1, draws=2, progress=False)
    found = draws.log_likelihood("x")
    assert (found[:, :, mask] == 0).all()
    assert (found[:, :, ~mask] < 0).all()


def test_too_large_is_refused_with_the_way_out(monkeypatch) -> None:
    draws = sampled(MODELS["pfa"])
    monkeypatch.setattr(log_likelihood, "SMALL", 10)
    with pytest.raises(pg.DataError, match="log_likelihood_function"):
        draws.log_likelihood("x")


def test_the_function_gives_the_array_cell_by_cell() -> None:
    xarray = pytest.importorskip("xarray")
    net = pg.zoo.pfa(2)
    counts = np.array([[1, 2, 0], [3, 0, 1]])
    draws = net.sample({"x": counts}, burn_in=1, draws=3, chains=2, progress=False,
                       coords={"term": ["a", "b", "c"]})  # fmt: skip
    whole, function = draws.log_likelihood("x"), draws.log_likelihood_function("x")
    coords = {"doc": [0, 1], "term": ["a", "b", "c"]}
    observed = xarray.DataArray(counts, coords=coords, dims=("doc", "term"))
    np.testing.assert_allclose(function(observed, None), whole)
    np.testing.assert_allclose(function(observed[1, 2], None), whole[:, :, 1, 2])
    np.testing.assert_allclose(function(observed[:, ::2], None), whole[:, :, :, ::2])
    with pytest.raises(pg.DataError, match="vectors"):
        sampled(pg.zoo.lda(2)).log_likelihood_function("x")


DRAWS = 400


def check_moments(first, second) -> None:
    """Means over draws of x and of min(x, 3)² agree within 4.5 standard errors; heavy tails are
    cut."""
    for function in (lambda x: np.minimum(x, 5.0), lambda x: np.minimum(x, 3.0) ** 2):
        a, b = (function(each.reshape(DRAWS, -1).astype(float)) for each in (first, second))
        error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / DRAWS) + 1e-9
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) / error < 4.5).all()


@pytest.mark.parametrize("name", MODELS)
def test_predictive_moments_are_those_of_simulation(name: str) -> None:
    network = MODELS[name]
    joint = network.prior_predictive(DRAWS, sizes_of(network), seed=5)
    held = latent_only(joint)
    for x in network.observed:
        check_moments(joint[x][0], held.predict(x, seed=6)[0])


@pytest.mark.parametrize("name", ["pgbn, T=2", "pgbn, bernoulli, T=1", "gated_pfa", "multimodal"])
def test_new_rows_have_the_law_of_rows(name: str) -> None:
    network = MODELS[name]
    joint = network.prior_predictive(DRAWS, sizes_of(network), seed=7)
    held = latent_only(joint)
    x = network.observed[0]
    new = held.predict(x, sizes={"doc": 2}, seed=8)
    assert new.shape == (1, DRAWS, 2, joint[x].shape[-1])
    check_moments(joint[x][0][:, :2], new[0])
    assert not np.array_equal(new, held.predict(x, sizes={"doc": 2}, seed=9))


def test_prior_draws_are_of_every_node() -> None:
    draws = MODELS["pgbn, T=2"].prior_predictive(7, {"doc": 4}, coords={"term": list("abcde")})
    assert draws["x"].shape == (1, 7, 4, 5)
    assert draws["theta2"].shape == (1, 7, 4, 2)
    assert draws.coords == {"term": list("abcde")}
    again = MODELS["pgbn, T=2"].prior_predictive(7, {"doc": 4, "term": 5})
    np.testing.assert_array_equal(draws["x"], again["x"])


def test_totals_of_a_multinomial_are_those_of_the_data() -> None:
    counts = np.array([[2, 0, 1], [0, 0, 0], [1, 3, 1]])
    draws = pg.zoo.lda(2).sample({"x": counts}, burn_in=2, draws=3, progress=False)
    assert (draws.predict("x").sum(axis=-1) == counts.sum(axis=1)).all()


def test_sparse_dense_and_statistics_are_one(monkeypatch) -> None:
    draws = sampled(MODELS["pfa"], draws=4)
    dense = draws.predict("x", seed=1)
    sparse = draws.predict("x", seed=1, sparse=True)
    assert all(isinstance(each, sp.csr_array) for each in sparse[0])
    np.testing.assert_array_equal(dense[0], [each.toarray() for each in sparse[0]])
    zeros = draws.predict("x", seed=1, statistic=lambda x: (x == 0).mean())
    np.testing.assert_allclose(zeros, (dense == 0).mean(axis=(2, 3)))
    monkeypatch.setattr(log_likelihood, "SMALL", 100)
    with pytest.raises(pg.DataError, match="sparse=True"):
        draws.predict("x")
    np.testing.assert_array_equal(draws.predict("x", seed=1, sparse=False), dense)


def test_blocks_of_rows_give_whole_replicates(monkeypatch) -> None:
    from pgbn.engine.compile import by_cell

    draws = sampled(MODELS["pfa"], draws=200)
    whole = draws.predict("x")
    monkeypatch.setattr(by_cell, "_BLOCK", 3)
    rows = draws.predict("x")
    assert rows.shape == whole.shape
    error = np.sqrt((rows.var(axis=(0, 1)) + whole.var(axis=(0, 1))) / 200) + 1e-9
    assert (np.abs(rows.mean(axis=(0, 1)) - whole.mean(axis=(0, 1))) / error < 4.5).all()


def test_threads_change_nothing() -> None:
    draws = sampled(MODELS["pgbn, T=2"], draws=2)
    np.testing.assert_array_equal(draws.predict("x", threads=1), draws.predict("x", threads=2))


KEPT = pg.zoo.pfa(2).sample(
    {"x": np.ones((2, 2), int)}, burn_in=1, draws=1, keep=["phi1"], progress=False
)

WHOLE = sampled(MODELS["pfa"])

REFUSED = {
    "name": (lambda: WHOLE.predict("y"), ["'y' is not an observed node", "x"]),
    "not kept": (lambda: KEPT.predict("x"), ["theta1", "keep=['phi1', 'theta1']"]),
    "statistic": (lambda: WHOLE.predict("x", statistic=3), ["statistic=3", "function"]),
    "sizes": (lambda: WHOLE.predict("x", sizes={"topic1": 3}), ["no dim 'topic1'", "doc"]),
    "draws": (lambda: MODELS["pfa"].prior_predictive(0, {"doc": 1, "term": 1}), ["draws=0"]),
    "open size": (lambda: MODELS["pfa"].prior_predictive(2), ["sizes of some dims"]),
    "bare": (lambda: pg.Draws({}, {}).predict("x"), ["do not contain their network"]),
    "by of rows": (lambda: WHOLE.log_likelihood("x", by="document"), ["by='document'", "'row'"]),
    "rows": (lambda: WHOLE.log_likelihood("x", by="row", rows="page"), ["rows='page'", "doc"]),
    "particles": (lambda: WHOLE.log_likelihood("x", by="row", particles=0), ["particles=0"]),
    "rows not kept": (lambda: KEPT.log_likelihood("x", by="row"), ["theta1", "not kept"]),
    "new cells": (lambda: WHOLE.log_likelihood("x", data={"x": [[1, 2, 3]]}), ["by='row'"]),
    "new name": (
        lambda: WHOLE.log_likelihood("x", by="row", data={"y": [[1]]}),
        ["data: no node 'y'", "Known: x"],
    ),
    "name of rows": (lambda: WHOLE.log_likelihood("z", by="row"), ["'z' is not an observed node"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_refused(build, (pg.PgbnError,), words)


def authors() -> pg.Draws:
    author = pg.Categories("author", dims="doc", of="writer", values=[0, 1, 1])
    rate = pg.Gamma("rate", 2, 2, dims=("writer", "term"))
    net = pg.Network(pg.Poisson("x", rate[author], dims=("doc", "term")))
    x = np.array([[90, 0], [0, 2], [0, 1]])
    return net.sample({"x": x}, burn_in=2, draws=30, seed=1, progress=False, threads=1)


def test_new_rows_have_authors_of_their_own() -> None:
    found = authors().predict("x", sizes={"doc": 4}, indexes={"author": [1, 0, 0, 1]})
    assert found.shape == (1, 30, 4, 2)
    assert (found.mean(axis=(0, 1))[:, 0] > 20).tolist() == [False, True, True, False]
    with pytest.raises(pg.PgbnError, match=r"author: 3 numbers along 'doc'"):
        authors().predict("x", sizes={"doc": 4})


BY_ROW = [name for name in MODELS if name not in ("gp_dpfa", "pgds", "lda", "hdp_lda")]


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
    for name in ("gp_dpfa", "pgds"):
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
