"""A trained network on its own: what it is given, labels, and folders."""

import math

import numpy as np
import pytest

import pgbn
import pgbn.report
from pgbn.errors import DataError, StorageError
from pgbn.evaluation import (
    project,
    topic_weights,
)
from pgbn.training import train_layerwise
from pgbn.training.trained import TrainedNetwork
from tests.helpers.trained import model_of
from tests.helpers.training import X


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"c": [1.0, math.nan]}, "c=.*nan"),
        ({"c": [1.0, -1.0]}, "c=.*-1"),
        ({"c": [1.0]}, r"c has shape \(1,\), expected \(2,\)"),
        ({"r": [1.0, math.nan, 1.0]}, "r=.*nan.*finite numbers"),
        ({"r": [1.0, 2.0]}, r"r has shape \(2,\), expected \(3,\)"),
        ({"r": ["a", "b", "c"]}, "TrainedNetwork: r has the dtype"),
        ({"r": [1.0, 2e9, 1.0], "link": "bernoulli"}, r"r=.*give finite numbers from 0 to 1e\+09"),
        ({"link": "x"}, "link='x'"),
        ({"phi": np.eye(3)}, "phi is ndarray; give a tuple"),
        ({"phi": ()}, "phi is empty"),
        ({"phi": (np.ones(3), np.eye(3))}, r"phi\[0\] has shape \(3,\), expected \(K1, terms\)"),
        ({"phi": ([[1.0], [0.5, 0.5]],)}, r"phi\[0\] has rows"),
        ({"weights": ([1.0], [1.0])}, r"weights\[0\] has shape"),
        ({"weights": ([1.0],)}, "weights of 1 layers"),
    ],
)
def test_a_trained_network_is_checked(fields, message):
    model = model_of()
    with pytest.raises(DataError, match=message):
        TrainedNetwork(**{"phi": model.phi, "r": model.r, "c": model.c, **fields})


def test_a_trained_network_of_lists():
    model = model_of()
    lists = TrainedNetwork([phi.tolist() for phi in model.phi], model.r.tolist(), [1, 1],
                           weights=[[1] * 5, [1] * 3])  # fmt: skip
    np.testing.assert_array_equal(project(lists, 2), project(model, 2))
    assert topic_weights(lists, 2).tolist() == [1 / 3] * 3
    assert lists.c.dtype == np.float64
    assert TrainedNetwork(model.phi, model.r, model.c).phi[0] is model.phi[0]  # not copied
    for name in ("depth", "widths", "vocabulary_size"):
        assert getattr(TrainedNetwork, name).__doc__


def test_a_file_that_is_not_a_network(tmp_path, trained):
    np.savez(tmp_path / "x.npz", a=np.ones(3))
    with pytest.raises(StorageError, match="no saved model there"):
        TrainedNetwork.load(tmp_path / "x.npz")
    pgbn.save(pgbn.zoo.pfa(3), tmp_path / "network")
    with pytest.raises(DataError, match="holds a Network, not a trained network"):
        TrainedNetwork.load(tmp_path / "network")
    pgbn.save(trained, tmp_path / "training")
    assert TrainedNetwork.load(tmp_path / "training").widths == trained.widths
    with pytest.raises(DataError, match="start_from=3: give a trained network"):
        train_layerwise(X, 12, 3, start_from=3)


def test_shapes_and_sums_are_checked():
    with pytest.raises(DataError, match="sum to one"):
        TrainedNetwork((np.ones((2, 3)),), np.ones(2), np.ones(1))
    with pytest.raises(DataError, match="r has shape"):
        TrainedNetwork((np.full((2, 4), 0.25),), np.ones(3), np.ones(1))


def test_labels_of_topics_are_saved_and_shown(trained, tmp_path):
    named = trained.deepest.with_labels({(1, 0): "weather \u202e", (2, 1): "<b>travel"})
    pgbn.save(named, tmp_path / "named", vocabulary=[f"w{v}" for v in range(30)])
    loaded = pgbn.load(tmp_path / "named")
    assert loaded.labels == {(1, 0): "weather \u202e", (2, 1): "<b>travel"}
    shown = {topic.index: topic for topic in pgbn.evaluation.topics(loaded, 2)}
    assert shown[1].label == "<b>travel"
    assert ") <b>travel: w" in str(shown[1])
    assert shown[0].label == ""
    page = loaded.report(tmp_path / "report.html").read_text("utf-8")
    assert '"labels":{"0":"weather' in page
    assert "\\u003cb\\u003etravel" in page
    assert "&lt;b&gt;travel" in pgbn.report.summary_html(loaded, topics=99)
    assert loaded.with_labels({(1, 0): ""}).labels == {(2, 1): "<b>travel"}
    for wrong in ({(9, 0): "x"}, {(1, 99): "x"}, {(1, 0): 3}, {"a": "b"}, 3,
                  {"x": np.eye(2)}, {(1, 0): np.eye(2)}):  # fmt: skip
        with pytest.raises(DataError, match="labels"):
            loaded.with_labels(wrong)
