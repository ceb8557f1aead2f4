"""The log likelihood by cell, of every model of the zoo, and as a function for arviz-stats."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.evaluation import log_likelihood
from tests.helpers.models import zoo_models
from tests.helpers.prediction import sampled

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


def test_cells_of_a_multinomial_are_vectors() -> None:
    draws = sampled(pg.zoo.lda(2))
    assert draws.log_likelihood("x").shape == (1, 2, 3)


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
