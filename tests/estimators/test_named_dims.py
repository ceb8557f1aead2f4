"""Arrays with named dims go by name, or are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError

pytest.importorskip("sklearn")
xarray = pytest.importorskip("xarray")

X = np.random.default_rng(0).poisson(1.0, (12, 9))


def test_estimators_go_by_name() -> None:
    turned = xarray.DataArray(X.T, dims=("term", "doc"))
    options = {"burn_in": 2, "collect": 1, "transform_burn_in": 1, "transform_samples": 1}
    one, two = (pgbn.PFA(3, random_state=0, **options).fit(data) for data in (X, turned))
    assert np.array_equal(one.components_, two.components_)
    assert np.array_equal(one.transform(X), one.transform(turned))
    assert one.perplexity(X) == one.perplexity(turned)
    with pytest.raises(DataError, match="X: an array with the dims"):
        one.transform(xarray.DataArray(X, dims=("row", "column")))


def test_a_dataset_is_refused_by_name() -> None:
    dataset = xarray.DataArray(X, dims=("doc", "term"), name="counts").to_dataset()
    for model in (pgbn.PGBN(3, 1), pgbn.PFA(3)):
        with pytest.raises(DataError, match=r"X: an xarray.Dataset of 'counts'; give one of its"):
            model.fit(dataset)


def test_reports_and_units_go_by_name(tmp_path: Path) -> None:
    few = {"burn_in": 2, "collect": 1, "transform_burn_in": 1, "transform_samples": 1}
    model = pgbn.PFA(3, random_state=0, **few).fit(X)
    turned = xarray.DataArray(X.T, dims=("term", "doc"))
    one, two = (
        model.training_.report(tmp_path / f"{len(data)}.html", data) for data in (X, turned)
    )
    assert one.read_bytes() == two.read_bytes()
    with pytest.raises(DataError, match="dims"):
        model.training_.report(tmp_path / "no.html", turned.rename(doc="row"))
    units = model.transform(X)
    named = xarray.DataArray(units, dims=("doc", "topic")).transpose("topic", "doc")
    assert np.array_equal(model.inverse_transform(named), model.inverse_transform(units))
