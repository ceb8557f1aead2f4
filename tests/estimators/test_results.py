"""Tables of topics and documents, labels; topics by class, over time, and covariates."""

import copy
import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")

import pgbn
from pgbn.errors import DataError

pandas = pytest.importorskip("pandas")

FAST = {"burn_in": 8, "sweeps": 4, "transform_burn_in": 4, "transform_draws": 4,
        "random_state": 0, "min_width": 1}  # fmt: skip
rng = np.random.default_rng(0)
# The first half of the documents has the first ten terms, the second half the others.
HALF = np.repeat([0, 1], 20)
X = np.where(HALF[:, None] == (np.arange(20) >= 10)[None], rng.poisson(4.0, (40, 20)), 0)
NAMES = [f"word{v}" for v in range(20)]


@pytest.fixture(scope="module")
def model():
    return pgbn.PGBN((4, 3), **FAST).fit(pandas.DataFrame(X, columns=NAMES))


@pytest.fixture(scope="module")
def documents():
    return pandas.DataFrame(X, columns=NAMES, index=[f"doc{j}" for j in range(40)])


def test_topics_as_a_table(model):
    frame = model.topics_frame()
    assert list(frame.columns) == ["topic", "label", "weight", "words"]
    assert len(frame) == sum(model.widths_)
    assert frame.topic.iloc[0].startswith("layer2_")
    assert set(frame.topic[-model.widths_[0] :]) == {
        f"layer1_topic{k}" for k in range(model.widths_[0])
    }
    one = model.topics_frame(layer=1, top=3)
    assert one.words.str.split().str.len().tolist() == [3] * model.widths_[0]
    np.testing.assert_allclose(one.weight.sum(), 1.0)


@pytest.mark.parametrize("relevance", [0.0, 1.0])
def test_words_stand_by_the_relevance_that_is_asked_for(model, relevance):
    for layer in (1, 2):
        words = {each.name: " ".join(each.terms)
                 for each in model.topics(layer, 4, relevance=relevance)}  # fmt: skip
        frame = model.topics_frame(layer, top=4, relevance=relevance)
        assert dict(zip(frame.topic, frame.words, strict=True)) == words
        graph = model.to_networkx(top=4, relevance=relevance)
        assert {f"layer{layer}_topic{k}": graph.nodes[layer, k]["terms"]
                for k in range(len(words))} == words  # fmt: skip
        network = model.training_.deepest
        assert model.similar_topics(layer, 1, 4, relevance=relevance) == network.similar_topics(
            layer, 1, 4, relevance
        )
    for call in (model.topics_frame, model.to_networkx, model.similar_topics):
        with pytest.raises(DataError, match="relevance=2"):
            call(relevance=2)


def test_documents_as_a_table(model, documents):
    frame = model.document_topics_frame(documents, layer=2)
    assert frame.index.tolist() == documents.index.tolist()
    np.testing.assert_array_equal(
        frame.to_numpy(), copy.deepcopy(model).set_params(layer=2).transform(documents)
    )
    named = model.document_topics_frame(X[:2], names=["a", "b"])
    assert named.index.tolist() == ["a", "b"]
    with pytest.raises(DataError, match="names: 1 names for 2 documents"):
        model.document_topics_frame(X[:2], names=["a"])
    with pytest.raises(pgbn.DataError, match="names=3: give"):
        model.document_topics_frame(X[:2], names=3)
    with pytest.raises(pgbn.DataError, match="texts=3: give"):
        model.top_documents(X[:2], 0, texts=3)
    assert model.document_topics_frame(X[:2].tolist()).shape == named.shape  # a list has an index()


def test_tables_have_intervals_from_the_posterior(model, documents):
    topic = model.find_topics("word3", n=1)[0][0].name
    one = model.topics_frame(layer=1, X=documents, draws=6)
    assert list(one.columns[2:6]) == ["weight", "share", "low", "high"]
    assert ((one.low <= one.share) & (one.share <= one.high) & (one.low < one.high)).all()
    np.testing.assert_allclose(one.share.sum(), 1.0)
    long = model.document_topics_frame(documents, interval=0.8, draws=6)
    assert list(long.columns) == ["document", "topic", "share", "low", "high"]
    assert long.document.tolist() == np.repeat(documents.index, model.widths_[0]).tolist()
    np.testing.assert_allclose(long.groupby("document").share.sum(), 1.0)
    assert ((long.low <= long.share) & (long.share <= long.high)).mean() > 0.99
    own = long[long.topic == topic]
    assert own.low[:20].min() > own.high[20:].max()  # the first half has the topic, the other not
    wide = model.document_topics_frame(documents, interval=0.99, draws=6)
    assert (wide.high - wide.low).sum() > (long.high - long.low).sum()
    best = model.top_documents(documents, topic, n=3, interval=0.8, draws=6)
    assert list(best.columns) == ["document", "share", "low", "high"]
    same = own.set_index("document").loc[documents.index[best.document]]
    np.testing.assert_array_equal(best[["share", "low"]], same[["share", "low"]])
    for call in (model.document_topics_frame, lambda X, interval: model.topics_frame(
            X=X, interval=interval)):  # fmt: skip
        with pytest.raises(DataError, match="interval=2"):
            call(documents, interval=2)


def test_top_documents_are_those_of_the_topic(model, documents):
    topic = model.find_topics("word3", n=1)[0][0].index
    found = model.top_documents(documents, topic, n=4, texts=[f"text {j}" for j in range(40)])
    assert (found.document < 20).all()
    assert found.share.is_monotonic_decreasing
    assert found.text.tolist() == [f"text {j}" for j in found.document]
    assert list(model.top_documents(documents, topic).columns) == ["document", "share"]
    with pytest.raises(DataError, match="topic=99: layer 1 has topics 0 to"):
        model.top_documents(documents, 99)
    with pytest.raises(DataError, match="texts: 2 entries for 40"):
        model.top_documents(documents, 0, texts=["a", "b"])


def test_top_documents_of_a_topic_as_it_is_listed(model, documents):
    for layer in (1, 2):
        topic = model.topics(layer)[-1]
        found = model.top_documents(documents, topic, n=4)
        pandas.testing.assert_frame_equal(
            found, model.top_documents(documents, topic.index, n=4, layer=layer)
        )
        pandas.testing.assert_frame_equal(
            found, model.top_documents(documents, topic, n=4, layer=layer)
        )
    with pytest.raises(DataError, match=f"topic={model.topics(1)[0].name}, but layer=2"):
        model.top_documents(documents, model.topics(1)[0], layer=2)
    with pytest.raises(DataError, match="topic=99: layer 1 has topics 0 to"):
        model.top_documents(documents, replace(topic, layer=1, index=99))
    with pytest.raises(DataError, match="topic=") as caught:
        model.top_documents(documents, [topic])
    assert len(str(caught.value)) < 200


def test_labels_by_hand_and_by_keyword_are_saved(model, documents, tmp_path):
    model.set_labels({(2, 0): "upper"}).label_by_keywords({"first": ["word3", "word4"]})
    labels = {
        (t.layer, t.index): t.label for layer in (1, 2) for t in model.topics(layer) if t.label
    }
    assert sorted(labels.values()) == ["first", "upper"]
    pgbn.save(model, tmp_path / "m")
    again = pgbn.load(tmp_path / "m")
    assert again.training_.deepest.labels == labels
    assert set(again.topics_frame().label) == {"", "first", "upper"}
    assert again.models_[-1].labels == labels
    again.set_labels(dict.fromkeys(labels, ""))
    assert not again.training_.deepest.labels
    with pytest.raises(DataError, match="labels"):
        model.set_labels({(9, 9): "nowhere"})


def test_likeness_and_other_packages(model, documents):
    assert model.similarity(2).shape == (model.widths_[1],) * 2
    found = model.stability(documents, seeds=1)
    assert found.shape == (1, model.widths_[0])
    assert ((found >= 0) & (found <= 1)).all()
    assert len(model.to_networkx()) == sum(model.widths_)
    assert model.to_pyldavis(documents)["doc_topic_dists"].shape == (40, model.widths_[0])


def test_frames_need_pandas(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DataError, match="pip install pandas"):
        model.topics_frame()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.top_documents(0, 2), r"top_documents\(X, topic\): give all"),
        (lambda model: model.topics_per_class(["a", "b"]), r"topics_per_class\(X, y\)"),
        (lambda model: model.topics_over_time([1999, 2000]), r"topics_over_time\(X, dates\)"),
        (lambda model: model.effects("~ year", {"year": [1]}), r"effects\(formula, frame, X\)"),
        (lambda model: model.find_topics("rain"), r"'rain': the model has no names"),
    ],
)
def test_what_is_left_out_is_asked_for(call, message):
    model = pgbn.PGBN((3, 2), burn_in=1, sweeps=1, random_state=0).fit(np.ones((4, 5), int))
    with pytest.raises(DataError, match=message):
        call(model)
    names = ["rain", "sun", "sea", "sand", "wind"]
    assert len(model.find_topics("rain", vocabulary=names)) == 3
    assert model.label_by_keywords({"weather": "rain"}, vocabulary=names) is model


# ---- groups of documents --------------------------------------------------------------------


def test_classes_time_and_effects_tell_the_halves_apart(model, documents):
    topic = model.find_topics("word3", n=1)[0][0].name
    classes = model.topics_per_class(documents, np.where(HALF, "late", "early"), draws=4)
    assert list(classes.columns) == ["class", "documents", "topic", "share", "low", "high"]
    early = classes[(classes["class"] == "early") & (classes.topic == topic)].iloc[0]
    late = classes[(classes["class"] == "late") & (classes.topic == topic)].iloc[0]
    assert early.low > late.high
    assert early.documents == 20
    times = model.topics_over_time(documents, 2000 + HALF * 10, bins=2, draws=4)
    assert times.time.dtype == np.int64
    assert sorted(set(times.time)) == [2000, 2006]
    np.testing.assert_allclose(times[times.time == 2000].share.to_numpy(),
                               classes[classes["class"] == "early"].share.to_numpy())  # fmt: skip
    found = model.effects("~ half", pandas.DataFrame({"half": HALF}), documents, draws=4)
    slope = found[(found.term == "half") & (found.topic == topic)].iloc[0]
    assert slope.high < 0
    assert slope.effect == pytest.approx(late.share - early.share, abs=0.05)
    with pytest.raises(DataError, match="frame has 3 rows, but X has 40 documents"):
        model.effects("~ half", {"half": [1, 2, 3]}, documents, draws=2)
    with pytest.raises(DataError, match="draws=1"):
        model.topics_per_class(documents, HALF, draws=1)


def test_periods_are_those_of_the_report_unless_a_number_is_asked_for(model, documents):
    years = pandas.Series([None, *(2000 + np.arange(39) % 11)], dtype=object)
    times = model.topics_over_time(documents, years, draws=2)
    assert sorted(set(times.time)) == list(range(2000, 2011))
    assert times.documents.sum() == 39 * model.widths_[0]
    five = model.topics_over_time(documents, years, bins=5, draws=2)
    assert sorted(set(five.time)) == [2000, 2003, 2006, 2009]


def test_rows_of_pandas_in_another_order(model, tmp_path):
    """A table that was sorted gave documents the classes and dates of others, without a word."""
    documents = pandas.DataFrame(X, columns=NAMES)
    about = pandas.DataFrame({"half": HALF, "name": [f"page {j}" for j in range(40)]})[::-1]
    for call, name in (
        (lambda: model.topics_per_class(documents, about.half, draws=2), "y"),
        (lambda: model.topics_over_time(documents, 2000 + about.half, draws=2), "dates"),
        (lambda: model.effects("~ half", about, documents, draws=2), "frame"),
        (lambda: model.top_documents(documents, 0, texts=about.name), "texts"),
        (lambda: model.report(tmp_path / "page.html", documents, names=about.name), "names"),
    ):
        with pytest.raises(DataError, match=rf"^{name}: its rows.*39.*{name}.loc\[X.index\]"):
            call()
    again = model.topics_per_class(documents, about.half.loc[documents.index], draws=2)
    for plain in (HALF, pandas.Series(HALF, index=range(100, 140))):  # by position, as they were
        assert again.equals(model.topics_per_class(documents, plain, draws=2))
