"""Topics by class, over time, and how they depend on covariates."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

import pgbn
from pgbn.errors import DataError
from tests.estimators.test_results import FAST, HALF, NAMES, X

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def documents():
    return pandas.DataFrame(X, columns=NAMES)


@pytest.fixture(scope="module")
def model(documents):
    return pgbn.PGBN((4, 3), **FAST).fit(documents)


def test_classes_time_and_effects_tell_the_halves_apart(model, documents):
    topic = model.find_topics("word3", n=1)[0][0].index
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.topics_per_class(["a", "b"]), r"topics_per_class\(X, y\)"),
        (lambda model: model.topics_over_time([1999, 2000]), r"topics_over_time\(X, dates\)"),
        (lambda model: model.effects("~ year", {"year": [1]}), r"effects\(formula, frame, X\)"),
    ],
)
def test_what_is_left_out_is_asked_for(model, call, message):
    with pytest.raises(DataError, match=message):
        call(model)


def test_rows_of_pandas_in_another_order(model, documents, tmp_path):
    """A table that was sorted gave documents the classes and dates of others, without a word."""
    about = pandas.DataFrame({"half": HALF, "name": [f"page {j}" for j in range(40)]})[::-1]
    for call, name in (
        (lambda: model.topics_per_class(documents, about.half, draws=2), "y"),
        (lambda: model.topics_over_time(documents, 2000 + about.half, draws=2), "dates"),
        (lambda: model.effects("~ half", about, documents, draws=2), "frame"),
        (lambda: model.top_documents(documents, 0, texts=about.name), "texts"),
        (lambda: model.report(tmp_path / "page.html", documents, titles=about.name), "titles"),
    ):
        with pytest.raises(DataError, match=rf"^{name}: its rows.*39.*{name}.loc\[X.index\]"):
            call()
    again = model.topics_per_class(documents, about.half.loc[documents.index], draws=2)
    for plain in (HALF, pandas.Series(HALF, index=range(100, 140))):  # by position, as they were
        assert again.equals(model.topics_per_class(documents, plain, draws=2))
