"""The features of documents: the names of their columns, data frames, and back to the terms."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

import sklearn
from sklearn.base import clone

from pgbn import PFA, PGBN
from pgbn.errors import DataError

FAST = {"burn_in": 5, "collect": 3, "transform_burn_in": 3, "transform_samples": 3,
        "random_state": 0}  # fmt: skip
X = np.random.default_rng(0).poisson(1.0, (60, 24))


@pytest.fixture(scope="module")
def model():
    return PGBN(8, 2, **FAST).fit(X)


def test_names_of_features(model):
    assert model.get_feature_names_out()[0] == "pgbn0"
    assert len(model.get_feature_names_out()) == model.widths_[0]
    concat = clone(model).set_params(output="concat").fit(X)
    assert len(concat.get_feature_names_out()) == sum(concat.widths_)
    assert concat.transform(X).shape[1] == sum(concat.widths_)
    first, second = (list(model.get_feature_names_out(layer=t)) for t in (1, 2))
    assert second[:2] == ["pgbn2_0", "pgbn2_1"]
    assert len(second) == model.widths_[1]
    assert list(concat.get_feature_names_out()) == first + second


@pytest.mark.parametrize("everywhere", [True, False], ids=["set_config", "set_output"])
def test_data_frames_have_the_columns_that_were_asked_for(model, everywhere):
    pandas = pytest.importorskip("pandas")
    rows = [f"d{j}" for j in range(60)]
    documents = pandas.DataFrame(X, index=rows)
    chosen = pickle.loads(pickle.dumps(model)).set_output(
        transform=None if everywhere else "pandas"
    )
    with sklearn.config_context(transform_output="pandas" if everywhere else "default"):
        frames = [chosen.transform(documents), chosen.transform(documents, layer=2)]
        both = chosen.transform(documents, output="concat")
        chosen.set_params(layer=2)
        pandas.testing.assert_frame_equal(chosen.transform(documents), frames[1])
    for layer, frame in enumerate(frames, 1):
        assert list(frame.columns) == list(model.get_feature_names_out(layer=layer))
        assert list(frame.index) == rows
        np.testing.assert_array_equal(frame.to_numpy(), model.transform(X, layer=layer))
    pandas.testing.assert_frame_equal(both, pandas.concat(frames, axis=1))


def test_data_frames_of_one_layer():
    pandas = pytest.importorskip("pandas")
    one = PFA(3, **FAST).set_output(transform="pandas").fit(X)
    frame = one.transform(X)
    assert list(frame.columns) == ["pfa0", "pfa1", "pfa2"]
    pandas.testing.assert_frame_equal(one.transform(X, output="concat"), frame)


def test_pandas_output(model):
    pandas = pytest.importorskip("pandas")
    chosen = clone(model).set_output(transform="pandas").fit(X)
    frame = chosen.transform(X)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(chosen.get_feature_names_out())
    assert list(chosen.fit_transform(X).columns) == list(frame.columns)
    terms = chosen.inverse_transform(chosen.transform(X, layer=2), layer=2)
    np.testing.assert_allclose(terms.sum(axis=1), 1.0)
    names = [f"word{v}" for v in range(24)]
    named = clone(model).fit(pandas.DataFrame(X, columns=names))
    assert set(named.topics(top=3)[0].terms) <= set(names)


def test_inverse_transform_gives_term_proportions(model):
    features = model.transform(X)
    terms = model.inverse_transform(features)
    np.testing.assert_allclose(terms.sum(axis=1), 1.0)
    np.testing.assert_allclose(terms, features @ model.components_)
    second = model.inverse_transform(model.transform(X, layer=2), layer=2)
    np.testing.assert_allclose(second.sum(axis=1), 1.0)
    with pytest.raises(DataError, match="columns"):
        model.inverse_transform(np.ones((2, 3)))
    concat = pickle.loads(pickle.dumps(model)).set_params(output="concat")
    both = concat.transform(X)
    np.testing.assert_allclose(concat.inverse_transform(both), terms)
    np.testing.assert_allclose(concat.inverse_transform(both, layer=2), second)


def test_a_layer_that_is_asked_for_wins_over_the_output_of_the_estimator(model):
    concat = pickle.loads(pickle.dumps(model)).set_params(output="concat")
    for layer in (1, 2):
        names = list(model.get_feature_names_out(layer=layer))
        assert list(concat.get_feature_names_out(layer=layer)) == names
        features = concat.transform(X, layer=layer)
        np.testing.assert_array_equal(features, model.transform(X, layer=layer))
        # Features of one layer have a way back too, and so have all layers side by side.
        np.testing.assert_allclose(
            concat.inverse_transform(features, layer=layer),
            concat.inverse_transform(concat.transform(X), layer=layer),
        )
    assert concat.transform(X).shape[1] == sum(model.widths_)
    both = {"layer": 2, "output": "concat"}
    for ask in (lambda: model.transform(X, **both), lambda: model.get_feature_names_out(**both)):
        with pytest.raises(DataError, match=r"layer=2, output='concat': give the layer, or"):
            ask()
