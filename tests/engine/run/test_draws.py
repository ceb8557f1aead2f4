"""Draws that are kept, with their names and dims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn.engine.run.shown import Summary
from tests.helpers.small_data import sample


def test_draws_have_names_and_shapes(documents) -> None:
    net = pg.zoo.pgbn([4, 3])
    draws = net.sample(
        {"x": documents}, burn_in=3, draws=5, thin=2, chains=2, seed=1, keep=["phi1", "r"]
    )
    assert draws["phi1"].shape == (2, 5, 4, 25)
    assert draws.dims["phi1"] == ("chain", "draw", "topic1", "term")
    assert draws.mean("r").shape == (3,)
    chain = net.chain({"x": documents}, seed=1, chain=1).sweep(3 + 2 * 5)
    assert np.array_equal(draws["phi1"][1, -1], chain.values["phi1"])
    assert list(draws) == ["phi1", "r"]
    assert "r" in draws
    assert "theta1" not in draws
    assert len(draws) == 2
    assert list(draws.keys()) == list(draws)
    assert [value.shape for value in draws.values()] == [(2, 5, 4, 25), (2, 5, 3)]
    assert dict(draws.items())["r"] is draws["r"]


def test_notebooks_show_names_dims_and_settings_and_escape_them() -> None:
    theta = pg.Gamma("theta", 1.0, 1.0, dims="i")
    net = pg.Network(pg.Poisson("x", theta, dims="i"))
    draws, chain = net.sample({"x": [1, 2]}, 1, 2, seed=3), net.chain({"x": [1, 2]})
    for shown in (draws, chain, net.infer({"x": [1, 2]}, {}, burn_in=1, draws=1)):
        assert "<td>theta</td><td>i</td><td>2</td>" in shown._repr_html_()
        assert "theta[i] (2,)" in repr(shown)
    page = Summary("<h>", [("a<b>", ("i&j",), (2,))], {"given": "<c>"}).html()
    assert "&lt;h&gt;" in page
    assert "<td>a&lt;b&gt;</td><td>i&amp;j</td><td>2</td>" in page
    assert "<li>given: &lt;c&gt;</li>" in page
    assert "1 chain × 2 draws" in repr(draws)
    assert "seed 3, burn_in 1" in repr(draws)
    assert repr(chain.sweep()).startswith("Chain 0: 1 sweep\n")


def test_draws_go_to_xarray_and_arviz(documents) -> None:
    xarray = pytest.importorskip("xarray")
    draws = pg.zoo.pfa(3).sample({"x": documents}, burn_in=1, draws=2, chains=2, keep=["theta1"])
    dataset = draws.to_xarray()
    assert isinstance(dataset, xarray.Dataset)
    assert dataset["theta1"].dims == ("chain", "draw", "doc", "topic1")
    np.testing.assert_array_equal(dataset["theta1"], draws["theta1"])
    pytest.importorskip("arviz_base")
    posterior = draws.to_arviz()["posterior"]
    np.testing.assert_array_equal(posterior["theta1"], draws["theta1"])
    assert posterior["theta1"].dims == ("chain", "draw", "doc", "topic1")


def test_integral_floats_are_integers() -> None:
    draws = sample(burn_in=1.0, draws=2.0)
    assert draws["theta1"].shape == (1, 2, 3, 2)


@pytest.mark.parametrize("name", ["zz", None, 3, [], {}])
def test_what_was_not_kept_or_held_is_named(documents, name: Any) -> None:
    draws = pg.zoo.pgbn([2]).sample({"x": documents}, burn_in=1, draws=1, keep="r")
    assert name not in draws
    with pytest.raises(pg.PgbnError, match=r"no draws of .* were kept"):
        draws[name]
    with pytest.raises(pg.PgbnError, match="has no given value"):
        draws.given_value(name)
