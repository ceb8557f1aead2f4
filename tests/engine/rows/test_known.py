"""New rows of which only some data are known, and what they are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import pgbn as pg
from pgbn.engine.rows.independent import row_network
from pgbn.engine.rows.infer import known_data, row_coords, seen_network


def network() -> pg.Network:
    """Counts of terms and labels, both on the topics of a document."""
    theta = pg.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
    effects = pg.Gamma("effects", 1.0, 1.0, dims=("topic", "label"))
    x = pg.Poisson("x", phi @ theta, dims=("doc", "term"))
    y = pg.BernoulliPoisson("y", effects @ theta, dims=("doc", "label"))
    return pg.Network(x, y, sizes={"topic": 2})


NET = network()
SIZES = {"doc": 12, "term": 3, "label": 2}
DRAWN = NET.generate(seed=1, sizes=SIZES)
X = pd.DataFrame(DRAWN["x"], columns=["a", "b", "c"], index=[f"d{i}" for i in range(12)])
Y = pd.DataFrame(DRAWN["y"], columns=["old", "new"], index=X.index)
PAST = NET.sample({"x": X, "y": Y}, burn_in=5, draws=4, progress=False)


def test_data_of_the_rows() -> None:
    local = row_network(NET, "doc")
    assert set(known_data(NET, local, DRAWN)) == {"x", "y"}
    with pytest.raises(pg.DataError, match="no node 'z'"):
        known_data(NET, local, {"z": 1})
    assert seen_network(NET, local, DRAWN, "doc") is local
    assert seen_network(NET, local, {"x": 1}, "doc").held == ("phi",)


def test_what_is_not_known_is_left_out_as_if_all_of_it_were_masked() -> None:
    many: dict[str, Any] = {"burn_in": 50, "samples": 2000, "rows": "doc"}
    given = {name: PAST.mean(name) for name in ("phi", "effects")}
    alone = NET.infer({"x": X[:3]}, given, **many)
    masked = NET.infer({"x": X[:3], "y": np.ma.masked_all((3, 2), int)}, given, **many)
    np.testing.assert_allclose(alone["theta"], masked["theta"], atol=0.15)
    assert alone.given == ("phi",)


@pytest.mark.long
def test_labels_are_predicted() -> None:
    """E y = 1 − exp(−rate), averaged over the draws of both factors."""
    rows = NET.infer({"x": X[:3]}, PAST, "doc", samples=240, keep="draws")
    draws = rows.to_draws()
    assert draws.coords == {"doc": ["d0", "d1", "d2"], "term": list("abc"), "label": ["old", "new"]}
    found = draws.predict("y")[0]
    effects = np.repeat(PAST["effects"][0], 60, axis=0)
    expected = -np.expm1(-rows.draws["theta"] @ effects)
    np.testing.assert_allclose(found.mean(axis=0), expected.mean(axis=0), atol=0.13)
    assert draws.log_likelihood("x").shape == (1, 240, 3, 3)
    assert draws.log_likelihood("x", by="row").shape == (1, 240, 3)
    tree = draws.to_arviz(predict=["y"], log_likelihood=["x"])
    assert list(tree["posterior_predictive"]["y"].coords["label"].values) == ["old", "new"]
    assert np.isfinite(tree["sample_stats"]["lp"]).all()


def test_labels_along_dims() -> None:
    local = row_network(NET, "doc")
    assert row_coords(local, {"x": X[:1]}, PAST, "doc")["doc"] == ["d0"]
    with pytest.raises(pg.DataError, match="labels along 'term' are not those of the draws"):
        NET.infer({"x": X[["b", "a", "c"]]}, PAST, "doc")
    with pytest.raises(pg.PgbnError, match='keep="draws"'):
        NET.infer({"x": X[:1]}, PAST, "doc", burn_in=1, samples=4).to_draws()
