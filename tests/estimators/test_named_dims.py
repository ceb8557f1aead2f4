"""Arrays with named dims go by name, or are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.errors import DataError

pytest.importorskip("sklearn")
xarray = pytest.importorskip("xarray")

X = np.random.default_rng(0).poisson(1.0, (12, 9))


def test_estimators_go_by_name() -> None:
    turned = xarray.DataArray(X.T, dims=("term", "doc"))
    options = {"burn_in": 2, "sweeps": 1, "transform_burn_in": 1, "transform_draws": 1}
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
    few = {"burn_in": 2, "sweeps": 1, "transform_burn_in": 1, "transform_draws": 1}
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


FEW = {"burn_in": 2, "sweeps": 1, "transform_burn_in": 1, "transform_draws": 1}
TERMS = [f"w{number}" for number in range(9)]


def test_labels_along_terms_are_names_of_columns() -> None:
    """They were left unread: terms in another order went by position."""
    named = xarray.DataArray(X.T, dims=("term", "doc"), coords={"term": TERMS})
    frame = named.T.to_pandas()
    model = pgbn.PFA(3, random_state=0, **FEW).fit(named)
    features = model.transform(named)
    assert list(model.feature_names_in_) == TERMS
    assert np.array_equal(features, model.transform(frame))
    for other in (named[::-1], frame[TERMS[::-1]]):
        with pytest.raises(DataError, match="must be in the same order"):
            model.transform(other)
    ways = {"burn_in": 1, "draws": 1, "seed": 0}
    found = model.training_.infer(X, **ways).features()
    for other in (named, named[::-1], frame[TERMS[::-1]]):
        assert np.array_equal(model.training_.infer(other, **ways).features(), found)
    with pytest.raises(DataError, match="X: none of its columns, 'a', …, is a term of the model"):
        model.training_.infer(frame.set_axis(list("abcdefghi"), axis=1), **ways)


def test_a_network_has_dims_of_its_own() -> None:
    net = pgbn.zoo.hpf(3)
    model = pgbn.NetworkTransformer(net, rows="user", burn_in=2, draws=2, random_state=0)
    turned = xarray.DataArray(X.T, dims=("item", "user"))
    assert np.array_equal(model.fit(X).transform(X), model.fit(turned).transform(turned))
    with pytest.raises(DataError, match=r"but \('user', 'item'\) are needed"):
        model.transform(turned.rename(user="doc"))


@pytest.mark.parametrize("wrapped", [False, True])
def test_arrays_of_the_package_sparse(wrapped: bool, tmp_path: Path) -> None:
    sparse = pytest.importorskip("sparse")
    given = sparse.COO(X)
    given = xarray.DataArray(given.T, dims=("term", "doc")) if wrapped else given
    model = pgbn.PFA(3, random_state=0, **FEW)
    assert np.array_equal(model.fit(given).transform(given), model.fit(X).transform(X))
    ways = {"burn_in": 1, "draws": 1, "seed": 0}
    one, two = (model.training_.infer(data, **ways).features() for data in (given, X))
    assert np.array_equal(one, two)
    built = pgbn.Corpus.build(given, tmp_path / "corpus")
    assert np.array_equal(built.counts.toarray(), X)


def test_a_dictionary_of_keys_is_a_matrix() -> None:
    """It is a mapping too, and was taken for data by the names of nodes."""
    few = {"burn_in": 2, "sweeps": 1, "seed": 0, "progress": False}
    one, two = (pgbn.train_layerwise(data, 3, 1, **few).deepest for data in (X, sp.dok_array(X)))
    assert np.array_equal(one.phi[0], two.phi[0])
