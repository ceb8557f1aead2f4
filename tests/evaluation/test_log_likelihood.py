"""Replicates of the data and the log likelihood by cell, of every model of the zoo."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn as pg
from pgbn.evaluation import log_likelihood
from tests.helpers.models import sizes_of, zoo_models
from tests.helpers.prediction import latent_only, sampled
from tests.helpers.refusals import check_refused

MODELS = zoo_models()


@pytest.mark.parametrize("name", MODELS)
def test_cells_sum_up_to_the_log_density(name: str) -> None:
    network = MODELS[name]
    draws = sampled(network)
    data = {n: cells.dense()[0] for n, cells in draws.data.items()}
    for draw in range(2):
        values = {n: draws[n][0, draw] for n in network.latent}
        chain = network.chain(data, init=values, layer1="composed")
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
    "open size": (lambda: MODELS["pfa"].prior_predictive(2), ["size of dim"]),
    "bare": (lambda: pg.Draws({}, {}).predict("x"), ["do not know their network"]),
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
