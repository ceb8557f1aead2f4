"""Figures show what the data say; matplotlib draws on a canvas without a window."""

import numpy as np
import pytest

from pgbn import plot
from pgbn.errors import DataError
from pgbn.plot.figures import _plain
from pgbn.report import report_data
from tests.helpers.report_models import trained, vocabulary

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")


@pytest.fixture
def data():
    chains = [trained(seed=0), trained(seed=1)]
    yield report_data(chains, vocabulary=vocabulary(), max_width=20)
    matplotlib.pyplot.close("all")


def drawn(ax) -> None:
    ax.figure.canvas.draw()


@pytest.mark.filterwarnings("ignore:Glyph")
def test_topic_graph(data) -> None:
    ax = plot.topic_graph(data, topics=5, links=2)
    drawn(ax)
    labels = [text.get_text() for text in ax.texts]
    assert {"Layer 1", "Layer 2", "Layer 3"} <= set(labels)
    assert len(labels) == 5 + 5 + 3 + 3  # the heaviest topics, and a head for each layer
    heaviest = int(np.argmax(data.weights[2]))
    name = " ".join(data.words(3, heaviest, 3)).replace("$", r"\$")
    assert any(label.startswith(name[:25]) for label in labels)


def test_layer_widths(data) -> None:
    ax = plot.layer_widths(data)
    drawn(ax)
    assert [text.get_text().strip() for text in ax.texts] == ["12 of 20", "6 of 12", "3 of 6"]


def test_traces(data) -> None:
    axes = plot.traces(data)
    drawn(axes[0])
    assert len(axes) == 2
    chains = [line for line in axes[0].lines if len(line.get_xdata()) == 60]
    np.testing.assert_array_equal(chains[1].get_ydata(), data.series[0].values[1])
    assert f"R-hat {data.series[0].rhat:.3f}" in axes[0].get_title(loc="left")


@pytest.mark.filterwarnings("ignore:Glyph")
def test_document_map(data) -> None:
    ax = plot.document_map(data)
    drawn(ax)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 80
    assert len(ax.get_legend().get_texts()) == 3
    with pytest.raises(DataError, match="an integer from 1 to 3"):
        plot.document_map(data, layer=4)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_top_words(data) -> None:
    ax = plot.top_words(data, 2, 4, top=6)
    drawn(ax)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, data.project(2)[4][data.ranked(2, 6)[4]])
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [_plain(word) for word in data.words(2, 4, 6)]
    assert _plain("a$\x00\ud800") == "a\\$\ufffd?"
    with pytest.raises(DataError, match="topic=99"):
        plot.top_words(data, 2, 99)


def test_what_is_missing_is_said(data) -> None:
    bare = type(data)(phi=data.phi, weights=data.weights, active=data.active, budget=data.budget,
                      vocabulary=data.vocabulary)  # fmt: skip
    with pytest.raises(DataError, match="trace_every"):
        plot.traces(bare)
    with pytest.raises(DataError, match="X="):
        plot.document_map(bare)


def test_a_model_will_do() -> None:
    """Figures take a trained model as they take the data of a report."""
    model = trained()
    ax = plot.topic_graph(model, vocabulary=vocabulary(), topics=3, links=1)
    assert len(ax.texts) == 3 + 3 + 3 + 3
    ax = plot.layer_widths(model, max_width=20)
    assert ax.texts[0].get_text().strip() == "12 of 20"
    with pytest.raises(DataError, match="model is int"):
        plot.traces(3)
    matplotlib.pyplot.close("all")
