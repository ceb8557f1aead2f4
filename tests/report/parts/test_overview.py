"""The first screen: themes that differ, what they are made of, an example of each."""

import dataclasses
import re

import numpy as np

from pgbn.report import report_data
from pgbn.report.sections import distinct_topics, example_of, overview_html, theme_layer
from tests.helpers.report_models import texts, titles, trained, vocabulary


def data_of(widths=(30, 12, 4), terms=60, **options):
    return report_data(trained(widths, terms), vocabulary=vocabulary(terms), **options)


def test_the_largest_topics_that_differ() -> None:
    data = data_of()
    phi = data.phi[1].copy()
    order = np.argsort(-data.weights[1], kind="stable").tolist()
    assert distinct_topics(data, 2, 3) == order[:3]
    phi[order[1]] = phi[order[0]]  # a twin of the largest
    twin = dataclasses.replace(data, phi=(data.phi[0], phi, data.phi[2]))
    assert distinct_topics(twin, 2, 2) == [order[0], order[2]]
    active = (data.active[0], np.arange(12) != order[0], data.active[2])
    assert distinct_topics(dataclasses.replace(data, active=active), 2, 1) == [order[1]]


def test_the_layer_of_themes_has_ten_of_them() -> None:
    assert theme_layer(data_of()) == 2
    assert theme_layer(data_of((60, 40, 30), 900)) == 3
    assert theme_layer(data_of((30, 5, 3))) == 2
    assert theme_layer(data_of((30,))) == 1


def test_children_shares_and_examples() -> None:
    data = data_of(titles=titles(), texts=texts())
    html = overview_html(data)
    themes = distinct_topics(data, 2)
    assert html.count('<li class="theme">') == len(themes) == 10
    assert html.startswith('<p class="plain">80 documents with 60 different terms hold 30 topics')
    assert (
        "layer 2 joins them into 12 themes, layer 3 joins these into 4 themes".lower()
        in html.lower()
    )
    first = html.split('<li class="theme">')[1]
    chosen = re.findall(r'data-choose="(\d+)/(\d+)"', first)
    assert chosen[0] == ("2", str(themes[0]))
    row = data.phi[1][themes[0]]
    best = [k for k in np.argsort(-row, kind="stable")[:4] if row[k] >= 0.05]
    assert chosen[1:] == [("1", str(k)) for k in best]
    shown = re.findall(r'data-paper="(\d+)"', html)
    assert len(set(shown)) == 10, "no document is an example of two themes"
    assert "<b>" not in html


def test_an_example_holds_the_words_of_its_theme() -> None:
    data = data_of(titles=titles(), texts=texts())
    k = distinct_topics(data, 2)[0]
    leading = data.leading(2, 40)[k].tolist()
    changed = list(data.texts)
    changed[leading[2]] = " ".join(data.words(2, k, 15))
    rich = dataclasses.replace(data, texts=changed)
    assert example_of(rich, 2, k, set()) == leading[2]
    bare = dataclasses.replace(data, texts=None)
    assert example_of(bare, 2, k, set()) == leading[0]
    assert example_of(bare, 2, k, {leading[0]}) == leading[1]


def test_one_layer_and_no_documents() -> None:
    data = dataclasses.replace(data_of((12,)), theta=())
    html = overview_html(data)
    assert "layer" not in re.sub(r'aria-label="[^"]*"', "", html)
    assert "For example" not in html
