"""A trained network on its own: what it is given, weights of topics, labels, and folders."""

import math
from dataclasses import replace

import numpy as np
import pytest

import pgbn
import pgbn.report
from pgbn.errors import DataError, NetworkError, StorageError
from pgbn.evaluation.topic_words import topic_terms, topic_weights
from pgbn.training import train_layerwise
from pgbn.training.trained import Priors, TrainedNetwork, tokens_of_topics
from pgbn.training.training_result import LayerwiseTraining
from tests.helpers.saved import forge
from tests.helpers.trained import model_of
from tests.helpers.training import QUICK, X


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
        ({"phi": (np.ones((2, 3)),)}, r"the rows of phi\[0\] must sum to one"),
        ({"weights": ([1.0], [1.0])}, r"weights\[0\] has shape"),
        ({"weights": ([1.0],)}, "weights of 1 layers"),
        ({"eta": ("a",)}, "eta="),
        ({"eta": (-1.0, 1.0)}, "eta="),
        ({"noise": float("nan")}, "noise="),
        ({"priors": Priors(p=(1e200, 1.0))}, "priors: p="),
        ({"priors": 3}, "priors=3"),
        ({"sweeps": "9"}, "sweeps="),
        ({"labels": [1]}, "labels is list"),
        ({"traces": 3}, "traces is int; give a dict"),
        ({"traces": {"width": np.ones(3)}}, "traces"),
        ({"traces": {"sweep": np.ones(3), "width": np.ones(2)}}, "traces"),
        ({"state": {"theta1": np.full((3, 5), np.inf)}}, "theta1'. has values that no chain"),
        ({"state": {"theta1": np.ones((4, 2))}}, r"state: theta1 has shape \(4, 2\), but its dims"),
        ({"state": {"theta1": np.ones(3)}}, r"state: theta1 has shape \(3,\), but its dims"),
        ({"state": {"other": np.ones(3)}}, "state: 'other' is not a node"),
        ({"state": {"theta1": np.array(["a"])}}, "state: theta1 has the dtype"),
        ({"draws": {"r": np.ones((3, 3))}}, "draws have no phi1"),
    ],
)
def test_a_trained_network_is_checked(fields, message):
    model = model_of()
    with pytest.raises(DataError, match=message):
        TrainedNetwork.of_topics(**{"phi": model.phi, "r": model.r, "c": model.c, **fields})


def test_a_belief_network_has_all_its_means():
    model = model_of()
    means = {name: value for name, value in model.means.items() if name != "r"}
    with pytest.raises(DataError, match="means have no r"):
        replace(model, means=means)


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("means", {"phi1": np.full((3, 5), 1 / 5), "r": np.ones(2)}),
        ("means", {"phi1": np.full((3, 6), 1 / 5)}),
        ("state", {"theta1": np.ones((8, 4))}),
        ("state", {"theta1": np.ones((8, 3)), "c2": np.ones(7)}),
        ("state", {"phi1": np.full((3, 5), 1 / 5)}),
        ("draws", {"r": np.ones(3)}),
        ("draws", {"r": np.ones((2, 3)), "phi1": np.ones((3, 3, 6))}),
        ("traces", {"sweep": np.ones((2, 2))}),
        *((field, 3) for field in ("means", "state", "draws", "traces")),
    ],
)
def test_a_network_of_any_family_is_checked(field, bad):
    model = pgbn.zoo.pgbn([3])
    means = {"phi1": np.full((3, 6), 1 / 6), "r": np.ones(3)}
    state = model.chain({"x": np.random.default_rng(0).poisson(1.0, (8, 6))}).values
    whole = TrainedNetwork(model, ("topic1",), means, state=state)
    assert whole.widths == (3,)
    with pytest.raises(AttributeError, match="not a belief network"):
        _ = whole.phi
    with pytest.raises(DataError, match=f"TrainedNetwork: {field}"):
        TrainedNetwork(model, ("topic1",), **{"means": means, field: bad})


def test_states_scaled_beyond_all_numbers():
    """They gave NaN in the next sweep."""
    chain = pgbn.zoo.pgbn([3, 2]).chain({"x": np.ones((8, 6), int)}).sweep(2)
    state = chain.state()
    for name in ("values/theta2", "values/r"):
        bad = {**state, name: state[name] * 1e300}
        with pytest.raises(DataError, match=f"{name} has the value .*at most 1e.150"):
            chain.restore(bad, 2)


def test_a_trained_network_of_lists():
    model = model_of()
    lists = TrainedNetwork.of_topics(
        [phi.tolist() for phi in model.phi], model.r.tolist(), [1, 1], weights=[[1] * 5, [1] * 3]
    )
    np.testing.assert_array_equal(topic_terms(lists, 2), topic_terms(model, 2))
    assert topic_weights(lists, 2).tolist() == [1 / 3] * 3
    assert lists.c.dtype == np.float64
    assert TrainedNetwork.of_topics(model.phi, model.r, model.c).phi[0] is model.phi[0]  # no copy


@pytest.mark.parametrize("pair", ["wrong", (1.0,), (1.0, -1.0), [[1.0], 2.0]])
def test_priors_are_pairs_of_positive_numbers(pair):
    with pytest.raises(NetworkError, match="Priors: c"):
        Priors(c=pair)
    assert Priors(c=[1, 2]).c == (1.0, 2.0)


# ---- tokens that topics account for: exact sums, no document that outweighs the others ----


def test_tokens_are_shared_out_in_proportion(monkeypatch):
    first = np.array([[1.0, 2.0], [6.0, 0.0], [4.0, 4.0]])  # 3, 6 and 8 tokens
    second = np.array([[1.0, 1.0, 0.0], [500.0, 0.0, 1500.0], [0.0, 0.0, 0.0]])
    for rows in (4096, 2):
        monkeypatch.setattr("pgbn.training.trained.ROWS", rows)
        below, above = tokens_of_topics([first, second])
        assert below.tolist() == [11.0, 6.0]
        # Half of 3 and a quarter of 6; half of 3; three quarters of 6. The last has no units.
        assert above.tolist() == [3.0, 1.5, 4.5]
    assert tokens_of_topics([np.zeros((0, 2)), np.zeros((0, 1))])[1].tolist() == [0.0]


def test_the_scale_of_a_document_is_no_weight():
    """Every layer accounts for the same tokens, and a topic above for those of its topics."""
    model = train_layerwise(X, (7, 4), 2, min_width=1, progress=False, **QUICK).deepest
    units = [model.state[f"theta{t}"] for t in (1, 2)]
    assert [w.sum() for w in model.weights] == pytest.approx([units[0].sum()] * 2)
    shares = units[1] / units[1].sum(axis=1, keepdims=True)
    expected = units[0].sum(axis=1) @ shares
    np.testing.assert_allclose(topic_weights(model, 2), expected / expected.sum(), rtol=1e-12)


# ---- folders ------------------------------------------------------------------------------


def test_a_file_that_is_not_a_network(tmp_path, trained):
    np.savez(tmp_path / "x.npz", a=np.ones(3))
    with pytest.raises(StorageError, match="no saved model there"):
        pgbn.load(tmp_path / "x.npz")
    trained.save(tmp_path / "training")
    assert pgbn.load(tmp_path / "training").widths == trained.widths
    with pytest.raises(DataError, match="start_from=3: give a trained network"):
        train_layerwise(X, 12, 3, start_from=3)
    forge(tmp_path / "training", lambda body: body["content"]["object"].update(networks=[]))
    with pytest.raises(StorageError, match="one network or more"):
        pgbn.load(tmp_path / "training")


def test_noise_and_priors_are_saved(tmp_path):
    priors = Priors(p=(2.0, 3.0), c=(6.0, 7.0), noise=(4.0, 5.0))
    model = model_of((2,), link="gamma", noise=2.5, priors=priors, eta=(0.3,))
    pgbn.save(LayerwiseTraining((model,), "depth"), tmp_path / "model")
    loaded = pgbn.load(tmp_path / "model").deepest
    assert (loaded.noise, loaded.priors, loaded.eta) == (2.5, priors, (0.3,))


def test_labels_of_topics_are_saved_and_shown(trained, tmp_path):
    named = trained.deepest.with_labels({(1, 0): "weather \u202e", (2, 1): "<b>travel"})
    pgbn.save(named, tmp_path / "named", vocabulary=[f"w{v}" for v in range(30)])
    loaded = pgbn.load(tmp_path / "named")
    assert loaded.labels == {(1, 0): "weather \u202e", (2, 1): "<b>travel"}
    shown = {topic.index: topic for topic in loaded.topics(2)}
    assert shown[1].label == "<b>travel"
    assert ") <b>travel: w" in str(shown[1])
    assert shown[0].label == ""
    page = loaded.report(tmp_path / "report.html").read_text("utf-8")
    assert '"labels":{"0":"weather' in page
    assert "\\u003cb\\u003etravel" in page
    largest = loaded.topics(1)[0].index
    assert "&lt;b&gt;rain" in loaded.with_labels({(1, largest): "<b>rain"})._repr_html_()
    assert loaded.with_labels({(1, 0): ""}).labels == {(2, 1): "<b>travel"}
    for wrong in ({(9, 0): "x"}, {(1, 99): "x"}, {(1, 0): 3}, {"a": "b"}, 3,
                  {"x": np.eye(2)}, {(1, 0): np.eye(2)}):  # fmt: skip
        with pytest.raises(DataError, match="labels"):
            loaded.with_labels(wrong)
