"""Arrays with named dims go by name, or are refused."""

from __future__ import annotations

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
