"""Draws as xarray and ArviZ take them: groups, coords, and arviz-stats on them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pgbn as pg

az = pytest.importorskip("arviz_base")
COUNTS = np.random.default_rng(0).poisson(1.0, (6, 4))
FRAME = pd.DataFrame(COUNTS, index=[f"d{j}" for j in range(6)], columns=list("abcd"))


def draws_of(network: pg.Network, data=FRAME, **options) -> pg.Draws:
    return network.sample({"x": data}, burn_in=5, draws=8, chains=2, progress=False, **options)


def test_groups_and_coords(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = draws_of(pg.zoo.pfa(2), coords={"topic1": ["sport", "art"]})
    tree = draws.to_arviz(predict=["x"], log_likelihood={"x": "row"})
    assert set(tree.children) == {
        "posterior", "sample_stats", "posterior_predictive", "log_likelihood", "observed_data",
    }  # fmt: skip
    theta = tree["posterior"]["theta1"]
    assert theta.dims == ("chain", "draw", "doc", "topic1")
    np.testing.assert_array_equal(theta.sel(topic1="art", doc="d3"), draws["theta1"][:, :, 3, 1])
    assert tree["posterior_predictive"]["x"].dims == ("chain", "draw", "doc", "term")
    assert tree["log_likelihood"]["x"].dims == ("chain", "draw", "doc")
    np.testing.assert_array_equal(tree["observed_data"]["x"].sel(term="b"), COUNTS[:, 1])
    assert tree["sample_stats"]["lp"].shape == (2, 8)
    assert tree["posterior"].attrs["burn_in"] == 5
    assert list(draws.to_xarray().coords["term"].values) == list("abcd")
    monkeypatch.setattr("pgbn.evaluation.inference_data.SMALL", 1)  # of larger data, none
    assert "observed_data" not in draws.to_arviz().children


def test_the_prior_has_groups_of_its_own() -> None:
    tree = pg.zoo.pfa(2).prior_predictive(5, {"doc": 3, "term": 4}).to_arviz()
    assert set(tree.children) == {"prior", "prior_predictive"}
    assert tree["prior_predictive"]["x"].shape == (1, 5, 3, 4)
    assert "x" not in tree["prior"]


def test_missing_data_are_nan() -> None:
    masked = np.ma.masked_array(COUNTS, COUNTS == 2)
    tree = draws_of(pg.zoo.pfa(2), masked).to_arviz()
    found = tree["observed_data"]["x"].values
    assert np.isnan(found[COUNTS == 2]).all()
    np.testing.assert_array_equal(found[COUNTS != 2], COUNTS[COUNTS != 2])


def test_arviz_stats_take_the_log_likelihood() -> None:
    """LOO by row, by cell, and cell by cell from the function: the two agree."""
    stats = pytest.importorskip("arviz_stats")
    draws = pg.zoo.pfa(2, p_prior=(2.0, 2.0)).sample(
        {"x": FRAME}, burn_in=20, draws=50, chains=2, progress=False
    )
    by_row = stats.loo(draws.to_arviz(log_likelihood={"x": "row"}), pointwise=True)
    by_cell = stats.loo(draws.to_arviz(log_likelihood=["x"]), pointwise=True)
    assert by_row.n_data_points == 6
    assert by_cell.n_data_points == 24
    assert by_row.elpd < by_cell.elpd < 0
    one = stats.loo_i({"doc": "d2", "term": "c"}, draws.to_arviz(), var_name="x",
                      log_lik_fn=draws.log_likelihood_function("x"))  # fmt: skip
    assert one.elpd == pytest.approx(float(by_cell.elpd_i.sel(doc="d2", term="c")), rel=1e-6)


def test_trainings_and_estimators_hand_over_kept_draws() -> None:
    from pgbn.estimators import PFA

    model = PFA(3, burn_in=4, sweeps=6, keep_draws=3, random_state=0).fit(FRAME)
    for each in (model, model.training_, model.training_.deepest):
        posterior = each.to_arviz()["posterior"]
        assert posterior["phi1"].dims == ("chain", "draw", "topic1", "term")
        assert posterior["phi1"].shape[:2] == (1, 3)
        assert list(posterior.coords["term"].values) == list("abcd")
    with pytest.raises(pg.DataError, match="keep_draws=20"):
        PFA(3, burn_in=2, sweeps=2, random_state=0).fit(FRAME).to_arviz()


def test_a_network_that_was_grown_hands_over_its_draws() -> None:
    settings = {"burn_in": 2, "sweeps": 3, "keep_draws": 3, "progress": False}
    training = pg.train_layerwise({"x": FRAME}, 3, 1, family=lambda w: pg.zoo.pgbn(w), **settings)
    for each in (training, training.deepest):
        assert each.to_arviz()["posterior"]["phi1"].dims == ("chain", "draw", "topic1", "term")


@pytest.mark.parametrize("argument", ["predict", "log_likelihood"])
@pytest.mark.parametrize("value", [0.5, np.eye(2), [np.eye(2)], [3]])
def test_what_is_no_name(argument: str, value: object) -> None:
    with pytest.raises(pg.DataError, match=f"(?s){argument}=.*: give names of observed nodes"):
        draws_of(pg.zoo.pfa(2)).to_arviz(**{argument: value})
