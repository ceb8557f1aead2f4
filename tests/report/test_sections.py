"""The sections of the page, one by one."""

import base64
import dataclasses
import json
import re
import time
import zlib

import numpy as np
import pandas as pd
import pytest

from pgbn.explain import derivation
from pgbn.explain.render import html_body
from pgbn.report import report_data
from pgbn.report.data import Series
from pgbn.report.page import report_html
from pgbn.report.sections import (
    END,
    STARTS,
    TokenFinder,
    _spread,
    derivation_html,
    diagnosis_html,
    distinct_topics,
    documents_payload,
    example_of,
    examples,
    groups_html,
    groups_payload,
    marked_text,
    overview_html,
    theme_layer,
    widths_html,
)
from pgbn.training import train_layerwise
from tests.evaluation.test_layer_quality import three_topics
from tests.helpers.report_models import texts, titles, trained, vocabulary

WORDS = [f"word{v}" for v in range(60)]

# ---- overview ------------------------------------------------------------------------------------


def themes_of(widths=(30, 12, 4), terms=60, **options):
    return report_data(trained(widths, terms), vocabulary=vocabulary(terms), **options)


def test_the_largest_topics_that_differ() -> None:
    data = themes_of()
    phi = data.phi[1].copy()
    order = np.argsort(-data.weights[1], kind="stable").tolist()
    assert distinct_topics(data, 2, 3) == order[:3]
    phi[order[1]] = phi[order[0]]  # a twin of the largest
    twin = dataclasses.replace(data, phi=(data.phi[0], phi, data.phi[2]))
    assert distinct_topics(twin, 2, 2) == [order[0], order[2]]
    active = (data.active[0], np.arange(12) != order[0], data.active[2])
    assert distinct_topics(dataclasses.replace(data, active=active), 2, 1) == [order[1]]


def test_the_layer_of_themes_has_ten_of_them() -> None:
    assert theme_layer(themes_of()) == 2
    assert theme_layer(themes_of((60, 40, 30), 900)) == 3
    assert theme_layer(themes_of((30, 5, 3))) == 2
    assert theme_layer(themes_of((30,))) == 1


def test_children_shares_and_examples() -> None:
    data = themes_of(names=titles(), texts=texts())
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
    shown = re.findall(r'data-open="(\d+)"', html)
    assert len(set(shown)) == 10, "no document is an example of two themes"
    assert "<b>" not in html


def test_an_example_holds_the_words_of_its_theme() -> None:
    data = themes_of(names=titles(), texts=texts())
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
    data = dataclasses.replace(themes_of((12,)), theta=())
    html = overview_html(data)
    assert "layer" not in re.sub(r'aria-label="[^"]*"', "", html)
    assert "For example" not in html


# ---- documents -----------------------------------------------------------------------------------


def records(found: dict) -> list:
    raw = zlib.decompress(base64.b64decode(found["documents"]["data"]))
    return [json.loads(line) for line in raw.decode().splitlines()]


def data_of(documents: int, length: int):
    g = np.random.default_rng(0)
    texts = [" ".join(g.choice(WORDS, length)) for _ in range(documents)]
    return report_data(trained((12, 6), documents=documents), vocabulary=WORDS, texts=texts)


def test_all_documents_if_there_is_room() -> None:
    data = data_of(80, 20)
    found = documents_payload(data, 100_000)
    rows = records(found)
    assert found["documents"]["kept"] == 80
    assert sorted(row[0] for row in rows) == list(range(80))
    shown = list(examples(data).values())
    numbers = [row[0] for row in rows]
    assert numbers[: len(shown)] == shown, "the examples of the overview come first"
    rest = [j for j in data.leading(2, 1)[:, 0] if j not in shown]
    assert numbers[len(shown)] == rest[0], "then those that lead"
    for number, _, shares, _, topics, cut in rows[:20]:
        for theta, flat in zip(data.theta, shares, strict=True):
            best = np.argsort(-theta[number], kind="stable")[: len(flat) // 2]
            assert flat[::2] == best.tolist()
            np.testing.assert_allclose(flat[1::2], 1000 * theta[number][best], rtol=5e-3)
        assert topics
        assert not cut


@pytest.mark.parametrize("room", [6_000, 30_000])
def test_never_more_bytes_than_room(room: int) -> None:
    found = documents_payload(data_of(500, 300), room)
    rows = records(found)
    assert len(found["documents"]["data"]) <= room
    assert 0 < len(rows) == found["documents"]["kept"] < 500
    assert all(row[5] for row in rows), "long texts are cut, and it is said"


def test_without_texts_the_topics_are_told() -> None:
    found = documents_payload(report_data(trained()), 50_000)
    assert not found["documents"]["texts"]
    assert {len(row) for row in records(found)} == {3}


def test_the_others_are_spread_evenly() -> None:
    assert all(sorted(_spread(size, {0})) == list(range(1, size)) for size in (1, 10, 7919, 20_000))
    first = np.fromiter(_spread(20_000, set()), np.int64)[:500]
    assert np.histogram(first, bins=10, range=(0, 20_000))[0].min() > 25


def test_space_takes_linear_time_and_paragraphs_stay() -> None:
    """A run of n spaces once took n² steps: for these 400,000, minutes."""
    data = data_of(5, 3)
    texts = ["word1 \n \n\n word2\nword3" + " " * 400_000 + "word4", *data.texts[1:]]
    before = time.process_time()
    rows = {
        row[0]: row
        for row in records(documents_payload(dataclasses.replace(data, texts=texts), 100_000))
    }
    assert time.process_time() - before < 10
    bare = re.sub("[\ue000-\ue0ff]", "", rows[0][3])
    assert bare.startswith("word1\n\nword2")


# ---- topics of words -----------------------------------------------------------------------------


def test_each_word_has_its_most_likely_topic() -> None:
    data = report_data(trained(), vocabulary=WORDS)
    text = "Word3, word17 & WORD3! unknown word3x word41 " + STARTS[2] + "end" + END
    marked, topics = marked_text(data, 7, text, TokenFinder(data))
    pieces = re.findall("([" + "".join(STARTS) + "])([^" + END + "]*)" + END, marked)
    expected = [int(np.argmax(data.phi[0][:, v] * data.theta[0][7])) for v in (3, 17, 3, 41)]
    assert [word for _, word in pieces] == ["Word3", "word17", "WORD3", "word41"]
    assert [topics[STARTS.index(mark)] for mark, _ in pieces] == expected
    bare = re.sub("[" + "".join(STARTS) + END + "]", "", marked)
    assert bare == "Word3, word17 & WORD3! unknown word3x word41 end"  # foreign marks are gone


def test_a_pattern_with_a_group() -> None:
    data = report_data(trained(), vocabulary=[f"w{v}" for v in range(60)], token_pattern=r"#(w\d+)")
    assert TokenFinder(data)("w1 #w2") == [(4, 6, 2)]


def test_documents_differ_in_the_topics_of_words_and_rare_topics_share_a_colour() -> None:
    data = report_data(trained((6, 3)), vocabulary=WORDS)
    found = []
    for document in (0, 1):
        marked, topics = marked_text(data, document, " ".join(WORDS), TokenFinder(data))
        found.append([topics[STARTS.index(c)] for c in marked if c in STARTS])
        best = (data.phi[0] * data.theta[0][document][:, None]).argmax(axis=0)
        assert found[-1] == best.tolist()
    assert found[0] != found[1]
    data = report_data(trained((30, 4), seed=3), vocabulary=WORDS)
    flat = dataclasses.replace(data, theta=(np.full_like(data.theta[0], 1 / 30), data.theta[1]))
    marked, topics = marked_text(flat, 0, " ".join(WORDS), TokenFinder(flat))
    assert len(topics) == 7
    assert STARTS[7] in marked


# ---- time and class ------------------------------------------------------------------------------


def test_columns_of_a_data_frame() -> None:
    kinds, names = list("ab") * 40, [f"t{j}" for j in range(80)]
    years = [2000 + j % 3 for j in range(80)]
    series = [pd.Series(column, index=range(100, 180)) for column in (kinds, names, years)]
    plain, framed = (
        report_data(trained(), classes=c, names=t, dates=d)
        for c, t, d in ((kinds, names, years), series)
    )
    assert report_html(framed) == report_html(plain)


def test_mean_shares_by_period_and_class() -> None:
    years = [2000 + j % 3 if j else None for j in range(80)]
    kinds = [None if j == 5 else "<b>" if j % 4 else "b" for j in range(80)]
    data = report_data(trained(), dates=years, classes=kinds, columns={"date": "<i>"})
    found = groups_payload(data)["groups"]
    assert found["time"]["labels"] == ["2000", "2001", "2002"]
    assert found["time"]["sizes"] == [26, 27, 26]
    rows = [j for j in range(80) if j and j % 3 == 1]
    np.testing.assert_allclose(
        found["time"]["layers"][1][1], 1000 * data.theta[1][rows].mean(axis=0), rtol=6e-3
    )
    assert found["class"]["labels"] == ["<b>", "b"]
    assert found["class"]["sizes"] == [59, 20]
    rows = [j for j in range(80) if kinds[j] == "b"]
    np.testing.assert_allclose(
        found["class"]["layers"][0][1], 1000 * data.theta[0][rows].mean(axis=0), rtol=6e-3
    )
    html = groups_html(data)
    assert "Over time: &lt;i&gt;" in html
    assert html.count("1 documents without one are omitted") == 2


def test_rare_classes_are_one() -> None:
    data = report_data(trained(), classes=[f"c{min(j, 20)}" for j in range(80)])
    found = groups_payload(data)["groups"]["class"]
    assert len(found["labels"]) == 13
    assert found["labels"][0] == "c20"
    assert found["labels"][-1] == "all others"
    assert sum(found["sizes"]) == 80
    assert "time" not in groups_payload(data)["groups"]


# ---- widths --------------------------------------------------------------------------------------


def test_twins_and_diversity_stand_beside_the_widths():
    first = three_topics().with_topics(
        phi=three_topics().phi[:1], r=np.ones(3), c=np.ones(1), weights=(np.ones(3),)
    )
    page = widths_html(report_data(first, max_width=3))
    figures = re.findall(r'<td class="figure">([^<]*)</td>', page)
    assert figures == ["3", "3", "3.0", "2", "0.67"]
    assert "Layer 1 uses all topics that it may have" in page
    assert "six of their ten words" in page


# ---- convergence ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
def test_a_training_too_short_to_settle_shows_dashes() -> None:
    counts = np.random.default_rng(0).poisson(1.0, (30, 12))
    model = train_layerwise(counts, 6, 2, burn_in=9, sweeps=1, min_width=1, threads=1)
    data = report_data(model)
    assert data.series[0].settled == data.series[0].sweeps.size  # nothing is left
    page = report_html(data)
    assert not re.findall(r"<td[^>]*>[^<]*nan[^<]*</td>", page)
    assert '<td class="figure">–</td>' * 4 in page


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        (np.array([[4.0, 0.0, 3.0, 1.0, 2.0, 5.0]]), "too few draws"),  # R-hat 0.842, ESS 5
        (np.random.default_rng(1).normal(size=(1, 60)), "too few draws"),
        (np.random.default_rng(0).normal(size=(1, 400)), "mixed"),
        (np.random.default_rng(0).normal(size=(4, 60)), "too few draws"),
        (np.random.default_rng(0).normal(size=(4, 400)), "mixed"),
        (np.arange(400.0)[None], "run longer"),
        (np.repeat([[1.0, 2.0]], 200, axis=1), "run longer"),  # R-hat is infinite
        (np.full((1, 3), 1.0), "too few draws"),
    ],
)
def test_the_verdict_needs_enough_draws(values, verdict) -> None:
    series = Series("log likelihood", np.arange(float(values.shape[1])), values)
    assert series.verdict == verdict
    page = diagnosis_html([series])
    assert re.search(f">{verdict}(</span>)?</td></tr>", page)
    assert ('class="note">“' in page) is (verdict != "mixed"), "what it means is explained"


# ---- derivation ----------------------------------------------------------------------------------


def test_the_report_shows_what_explain_writes() -> None:
    data = report_data(trained())
    assert data.derivation == derivation(trained().deepest.network)
    html = derivation_html(data)
    assert html_body(data.derivation, ("h3", "h3", "h4")) in html
    assert "<h3>The generative model</h3>" in html
    assert "<h4>Lemma 1. " in html
