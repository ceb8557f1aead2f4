"""Things of another kind in the place of what a report is given: the error names it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import pgbn
from pgbn import plot
from pgbn.report import report_data, report_data_from_draws, run_data, summary_html
from tests.helpers.trained import model_of

NETWORK = pgbn.zoo.pgbn([3, 2])
X = np.random.default_rng(0).poisson(1.0, (12, 5))
KINDS: list[object] = [
    3.5, np.array([1, 2]), np.ones((12, 2)), {1, 2}, object(), int, [[1], [2, 3]], np.array(["a", "b"]),
]  # fmt: skip


@cache
def drawn() -> pgbn.Draws:
    return NETWORK.sample({"x": X}, burn_in=1, draws=2, chains=1, threads=1, progress=False)


@pytest.mark.parametrize(
    "name", ["settings", "columns", "token_pattern", "dates", "classes", "title", "repeat"]
)
def test_of_a_trained_network(name: str) -> None:
    for value in KINDS:
        with pytest.raises(pgbn.PgbnError, match=rf"\b{name}\b"):
            report_data(model_of(terms=5), X, **{name: value})


@pytest.mark.parametrize("width", ["a", [], [3, 3, 3, 3], np.ones((2, 2)), {}, 10**400, -1, int])
def test_widths(width: object) -> None:
    with pytest.raises(pgbn.PgbnError, match="max_width"):
        report_data(model_of(terms=5), max_width=width)


@pytest.mark.parametrize("value", KINDS, ids=lambda value: type(value).__name__)
def test_of_draws(value: object) -> None:
    for make in (
        lambda: report_data_from_draws(value, drawn()),
        lambda: report_data_from_draws(NETWORK, value),
        lambda: report_data_from_draws(NETWORK, drawn(), settings=value),
        lambda: run_data(value),
        lambda: run_data(drawn(), value),
        lambda: run_data(drawn(), coords=value),
        lambda: run_data(drawn(), settings=value),
        lambda: run_data(drawn(), title=value),
    ):
        with pytest.raises(pgbn.PgbnError, match=r"give (a|draws)\b"):
            make()


@pytest.mark.parametrize(
    "value", [*KINDS, -1, 10**400, "a", None], ids=lambda value: f"{value!r:.20}"
)
def test_numbers_of_figures(value: object) -> None:
    pytest.importorskip("matplotlib")
    model = model_of(terms=5)
    for name, draw in {
        "layer": lambda: plot.top_words(model, value, 0),
        "topic": lambda: plot.top_words(model, 1, value),
        "top": lambda: plot.top_words(model, 1, 0, top=value),
        "topics": lambda: plot.topic_graph(model, topics=value),
        "links": lambda: plot.topic_graph(model, links=value),
        "words": lambda: plot.topic_graph(model, words=value),
        "ax": lambda: plot.layer_widths(model, value if value is not None else 3),
        "topics of a summary": lambda: summary_html(model, value),
        "words of a summary": lambda: summary_html(model, words=value),
    }.items():
        with pytest.raises(pgbn.PgbnError, match=rf"\b{name.split()[0]}="):
            draw()
