"""Estimates: expectations against averages of draws, objectives that never fall, known answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn as pg
from pgbn.samplers import vectorised
from pgbn.samplers.expected import ExpectedVariates, GeometricVariates, expected_tables
from pgbn.samplers.plain import PlainVariates
from pgbn.samplers.random import Stream
from tests.evidence.networks import networks

DRAWS = 40_000
SLOW = ("polya_gamma", "hidden_count, given", "hidden_count", "gig")

# A draw of each kind, from a stream of (DRAWS, 1, 1, n).
DRAWN: dict[str, Callable[[Stream], Any]] = {
    "gamma": lambda s: vectorised.gamma(s, [0.3, 2.0, 9.0], [1.0, 0.5, 3.0]),
    "dirichlet": lambda s: vectorised.dirichlet(s, [0.3, 2.0, 1.0], 3),
    "beta": lambda s: vectorised.beta(s, [0.5, 2.0, 7.0], [1.0, 3.0, 0.4]),
    "neg_log_beta": lambda s: vectorised.neg_log_beta(s, [0.5, 2.0, 0.1], [3, 0, 40]),
    "normal": lambda s: vectorised.normal(s, [0.0, -2.0, 5.0], [1.0, 2.0, 0.1]),
    "bernoulli": lambda s: vectorised.bernoulli(s, [0.1, 0.5, 0.99]),
    "poisson": lambda s: vectorised.poisson(s, [0.1, 2.0, 30.0]),
    "truncated_poisson": lambda s: vectorised.truncated_poisson(s, [1e-9, 1.0, 8.0]),
    "binomial": lambda s: vectorised.binomial(s, [1, 7, 40], [0.2, 0.9, 0.5]),
    "crt": lambda s: vectorised.crt(s, [1, 40, 300], [0.5, 0.05, 6.0]),
    "bessel": lambda s: vectorised.bessel(s, [-9.0, 0.5, 3.0]),
    "hidden_count": lambda s: vectorised.hidden_count(s, [0.5, 3.0, 20.0], [1.0, 0.4, 2.0]),
    "hidden_count, given": lambda s: vectorised.hidden_count(s, [0.5, 3.0], [1.0, 0.4], [2, 7]),
    "multinomial": lambda s: vectorised.multinomial(s, 12, [1.0, 2.0, 5.0], 3),
    "categorical": lambda s: vectorised.categorical(s, [0.0, -1.0, 2.0], 3),
    "polya_gamma": lambda s: vectorised.polya_gamma(s, [0.0, 1.5]),
    "gig": lambda s: vectorised.gig(s, [0.7, -2.0], [2.0, 1.0], [1.0, 3.0]),
}


@pytest.mark.parametrize("name", DRAWN)
def test_an_expectation_is_the_average_of_the_draws(name: str) -> None:
    draws = 4_000 if name in SLOW else DRAWS
    size = 2 if name in ("polya_gamma", "gig", "hidden_count, given") else 3

    def draw(variates: Any, rows: int) -> Any:
        return np.asarray(DRAWN[name](Stream(0, (rows, 1, 1, size), variates=variates)))

    generator = np.random.default_rng(5)
    found = draw(PlainVariates(generator), draws).reshape(draws, size)
    mean = draw(ExpectedVariates(generator), 1).reshape(size)
    error = found.std(axis=0) / np.sqrt(draws) + 1e-9
    assert (np.abs(found.mean(axis=0) - mean) / error).max() < 4


@pytest.mark.parametrize("mean", [0.05, 0.7, 3.0, 60.0])
@pytest.mark.parametrize("r", [0.01, 0.5, 5.0])
def test_tables_of_a_mean_count_are_near_those_of_poisson_counts(mean: float, r: float) -> None:
    generator = np.random.default_rng(1)
    m = generator.poisson(mean, 20_000)
    exact = expected_tables(m, r)
    assert np.array_equal(exact[m == 0], np.zeros((m == 0).sum()))
    assert expected_tables(mean, r) == pytest.approx(exact.mean(), rel=0.1)


def test_geometric_means_are_those_of_the_draws() -> None:
    generator = np.random.default_rng(3)
    for name in ("gamma", "dirichlet"):
        variates = GeometricVariates(generator)
        DRAWN[name](Stream(0, (1, 1, 1, 3), variates=variates))
        drawn = DRAWN[name](Stream(0, (DRAWS, 1, 1, 3), variates=PlainVariates(generator)))
        logs = np.log(drawn).reshape(DRAWS, 3)
        error = np.abs(logs.mean(axis=0) - np.log(variates.geometric).ravel())
        assert (error < 4 * logs.std(axis=0) / np.sqrt(DRAWS)).all()


# ---- networks with given shapes, where the objective never falls --------------------------------

K = 4
DOCUMENTS = ("doc", "topic")


def _factor_analysis() -> pg.Network:
    phi = pg.Dirichlet("phi", 0.3, over="term", dims="topic")
    theta = pg.Gamma("theta", 0.7, 0.5, dims=DOCUMENTS)
    return pg.Network(pg.Poisson("x", phi @ theta, dims=("doc", "term")), sizes={"topic": K})


def _background() -> pg.Network:
    b = pg.Gamma("b", 0.5, 0.5, dims=("term", "topic"))
    theta = pg.Gamma("theta", 0.7, 0.5, dims=DOCUMENTS)
    own, size = pg.Gamma("own", 1, 1, dims="term"), pg.Gamma("size", 2, 2, dims="doc")
    rate = theta @ b * size + own
    return pg.Network(pg.BernoulliPoisson("x", rate, dims=("doc", "term")), sizes={"topic": K})


def _latent_rates() -> pg.Network:
    b = pg.Gamma("b", 0.5, pg.Gamma("c", 1, 1, dims="topic"), dims=("term", "topic"))
    theta = pg.Gamma("theta", 0.7, pg.Gamma("d", 1, 1, dims="doc"), dims=DOCUMENTS)
    return pg.Network(pg.Poisson("x", theta @ b, dims=("doc", "term")), sizes={"topic": K})


def _counts(documents: int = 60, terms: int = 40) -> Any:
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(terms, 0.2), K)
    return rng.poisson(20 * rng.gamma(0.3, 1, (documents, K)) @ phi)


NETWORKS = {"factor analysis": _factor_analysis, "background": _background, "rates": _latent_rates}


@pytest.mark.parametrize("method", ["expectation", "variational"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_objective_never_falls_and_sparse_data_give_the_same(name: str, method: str) -> None:
    net, X = NETWORKS[name](), _counts()
    X = (X > 0).astype(int) if name == "background" else X
    dense, sparse = (
        net.estimate({"x": data}, method=method, sweeps=300, tolerance=0.0, seed=3)
        for data in (X, sp.csr_matrix(X))
    )
    objective = np.array(dense.attributes["objective"])
    assert len(objective) > 20
    assert np.diff(objective).min() > -1e-6
    np.testing.assert_allclose(sparse.attributes["objective"], objective, rtol=1e-9)
    for node in dense:
        np.testing.assert_allclose(sparse[node], dense[node], rtol=1e-5, atol=1e-12)


def test_one_gamma_has_its_mode_and_its_exact_posterior() -> None:
    net = pg.Network(pg.Poisson("x", pg.Gamma("rate", 2.0, 3.0), dims="row"))
    data = {"x": np.array([1, 4, 0, 7])}
    point = net.estimate(data)
    assert point["rate"].item() == pytest.approx((2 + 12) / (3 + 4))
    assert point.attributes["converged"]
    draws = net.estimate(data, method="variational", draws=20_000)["rate"]
    assert draws.mean() == pytest.approx(2.0, abs=0.02)
    assert draws.var() == pytest.approx(14 / 49, rel=0.05)


def test_the_evidence_bound_is_the_evidence_where_the_posterior_is_exact() -> None:
    from scipy.stats import nbinom

    net = pg.Network(pg.Poisson("x", pg.Gamma("rate", 2.0, 3.0, dims="row"), dims="row"))
    x = np.array([1, 4, 0, 7])
    bound = net.estimate({"x": x}, method="variational", sweeps=50, tolerance=0.0)
    assert bound.attributes["objective"][-1] == pytest.approx(nbinom.logpmf(x, 2, 3 / 4).sum())


def test_with_flat_priors_it_ends_where_kl_nmf_ends() -> None:
    from sklearn.decomposition import NMF

    X = _counts(80, 30)
    flat = 1e-9, 1e-9  # in ln θ
    theta = pg.Gamma("theta", *flat, dims=DOCUMENTS)
    b = pg.Gamma("b", *flat, dims=("topic", "term"))
    net = pg.Network(pg.Poisson("x", theta @ b, dims=("doc", "term")), sizes={"topic": K})
    rng = np.random.default_rng(0)
    start = {"theta": rng.gamma(2, 1, (80, K)), "b": rng.gamma(2, 1, (K, 30))}

    def fit(W: Any, H: Any) -> float:
        rate = np.maximum(W @ H, 1e-300)
        return float((X * np.log(rate) - rate).sum())

    nmf = NMF(K, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=1000, tol=0)
    W = nmf.fit_transform(X.astype(float), W=start["theta"].copy(), H=start["b"].copy())
    point = net.estimate({"x": sp.csr_matrix(X)}, sweeps=1500, tolerance=0.0, start=start)
    own = fit(point["theta"][0, 0], point["b"][0, 0])
    assert own == pytest.approx(fit(W, nmf.components_), rel=1e-3)


# ---- every network ------------------------------------------------------------------------------

EVERY = {
    name: pair for name, pair in networks().items()
    if set(pair[1]) <= {dim for n in pair[0].observed for dim in pair[0][n].axes} | set(pair[0].sizes)
}  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_every_network_has_an_estimate(name: str) -> None:
    network, sizes = EVERY[name]
    nodes = network.generate(seed=1, sizes=sizes)
    data = {node: nodes[node] for node in network.observed}
    for method in ("expectation", "variational"):
        point = network.estimate(data, method=method, sweeps=4, seed=1)
        assert set(point) == set(network.free)
        for node in point:
            assert np.isfinite(point[node]).all(), (method, node)
            assert network[node].refuses_mean(point[node][0, 0]) is None or network[node].finite


def test_it_does_not_depend_on_threads() -> None:
    X = sp.csr_matrix(_counts(300, 50))
    one, two = (
        pg.zoo.pgbn([6, 3]).estimate({"x": X}, sweeps=15, threads=threads) for threads in (1, 2)
    )
    for node in one:
        assert np.array_equal(one[node], two[node]), node


def test_an_estimate_finds_planted_topics() -> None:
    rng = np.random.default_rng(4)
    topics = np.kron(np.eye(3), np.full(10, 0.1))
    X = rng.poisson(30 * rng.dirichlet(np.full(3, 0.2), 200) @ topics)
    phi = pg.zoo.pfa(3).estimate({"x": sp.csr_matrix(X)}, seed=1)["phi1"][0, 0]
    share = phi @ np.kron(np.eye(3), np.ones((10, 1)))
    assert sorted(share.argmax(axis=1)) == [0, 1, 2]
    assert share.max(axis=1).min() > 0.9


def test_nodes_without_an_expectation_are_named() -> None:
    a = pg.Gamma("a", 2.0, 2.0, update="slice")
    net = pg.Network(pg.Poisson("x", pg.Gamma("rate", a, 3.0, dims="row"), dims="row"))
    assert net.estimate({"x": [1, 2, 3]}, sweeps=5).attributes["drawn"] == ["a"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "map"}, "'expectation' or 'variational'"),
        ({"tolerance": -1}, "tolerance=-1"),
        ({"draws": 5}, "method='variational'"),
        ({"sweeps": 0}, "sweeps=0"),
        ({"start": {"phi": 1.0}}, "Did you mean 'phi1'"),
        ({"start": 3}, "start=3"),
        ({"start": {"phi1": np.ones((2, 2))}}, "phi1"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(pg.PgbnError, match=words):
        pg.zoo.pfa(3).estimate({"x": _counts(9, 5)}, **arguments)


# ---- starts -------------------------------------------------------------------------------------


def test_a_chain_that_starts_from_an_estimate_needs_fewer_sweeps() -> None:
    X = sp.csr_matrix(_counts(300, 60))
    net = pg.zoo.pfa(8)
    random = net.chain({"x": X}, seed=1).sweep(2).log_likelihood()
    far = net.chain({"x": X}, seed=1).sweep(60).log_likelihood()
    chains = [net.chain({"x": X}, seed=1, chain=n, start="estimate").sweep(2) for n in (0, 1)]
    for chain in chains:
        assert chain.log_likelihood() - random > 0.8 * (far - random)
    phi = [chain.values["phi1"] for chain in chains]
    assert not np.allclose(*phi)  # each has an estimate of its own


def test_draws_and_estimates_can_be_a_start(tmp_path: Any) -> None:
    data, net = {"x": _counts(20, 8)}, pg.zoo.pfa(3)
    point = net.estimate(data, sweeps=20)
    for start in (point, {"phi1": point["phi1"][0, 0]}, "estimate"):
        kept = net.sample(data, 2, 3, start=start, progress=False)
        saved = net.sample(data, 2, 3, start=start, progress=False, save=tmp_path / str(id(start)))
        assert np.array_equal(kept["phi1"], saved["phi1"])
    with pytest.raises(pg.DataError, match="'estimate'"):
        net.sample(data, 2, 3, start="nmf", progress=False)


def test_a_switch_that_is_half_on_is_left_out_of_a_start() -> None:
    data, net = {"x": _counts(20, 8)}, pg.zoo.gated_pfa(3)
    point = net.estimate(data, sweeps=3)
    assert set(np.unique(net.chain(data, start=point).values["h"])) <= {0.0, 1.0}
