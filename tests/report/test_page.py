"""The page: its sections, its frame, what its script reads, its file, and the summary."""

import base64
import dataclasses
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import pgbn as pg
from pgbn.errors import DataError, PgbnError
from pgbn.report import page, report_data, write_report
from pgbn.report.data import Series
from pgbn.report.page import payload, report_html, summary_html
from pgbn.report.sections import SECTIONS, Section
from pgbn.report.text import script_json
from tests.helpers.report_models import HOSTILE, texts, titles, trained, vocabulary

# ---- sections -----------------------------------------------------------------------------------


def sections_of(html: str) -> list[str]:
    return re.findall(r'<section id="(\w+)"', html)


def page_of(network, data, **options):
    draws = network.sample(data, burn_in=1, draws=4, chains=2, progress=False)
    return report_html(draws, **options)


def test_sections_are_in_the_order_of_the_table_and_linked() -> None:
    html = report_html(trained(), classes=["a"] * 80)
    every = [section.name for section in SECTIONS if section.name != "proportions"]
    assert sections_of(html) == re.findall(r'<a href="#(\w+)">', html) == every


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"series": ()}, {"traces"}),
        ({"theta": ()}, {"documents", "map", "groups"}),
        ({"classes": None}, {"groups"}),
        ({"derivation": ()}, {"derivation"}),
        ({"nodes": ()}, {"network"}),
    ],
)
def test_a_section_without_anything_to_show_is_missing(change, missing) -> None:
    data = report_data(trained(), classes=["a"] * 80)
    fewer = dataclasses.replace(data, **change)
    assert set(sections_of(report_html(data))) - set(sections_of(report_html(fewer))) == missing


def test_a_new_section_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    new = Section("new", "New chart", lambda data: data.depth > 1,
                  lambda data: f"<p>{data.depth} layers</p>",
                  lambda data: {"new": [data.depth]})  # fmt: skip
    monkeypatch.setattr(page, "SECTIONS", (*SECTIONS, new))
    html = report_html(trained())
    assert sections_of(html)[-1] == "new"
    assert '<h2 id="new-title">New chart</h2>\n<p>3 layers</p>' in html
    assert '"new":[3]' in html
    one_layer = sections_of(report_html(trained((5,))))
    assert not {"new", "hierarchy"} & set(one_layer)


def test_sections_of_a_network_without_topics() -> None:
    x = np.random.default_rng(1).poisson(1.0, (6, 5))
    html = page_of(pg.zoo.lda(2), {"x": x}, coords={"term": list("abcde")}, title="A <b> run")
    assert '<h1 dir="auto">A &lt;b&gt; run</h1>' in html
    assert sections_of(html) == ["network", "proportions", "traces", "derivation", "settings"]
    assert "<bdi>a</bdi>" in html
    assert "data:image/svg+xml;base64," in html
    assert "layout plain" in html
    assert "<aside" not in html
    many = page_of(pg.zoo.lda(2), {"x": np.ones((250, 3), int)})
    assert "The first 200 of 250 vectors are shown." in many


@pytest.mark.parametrize("name", ["pgds", "gp_dpfa", "bnbp", "gated_pfa", "pgbn"])
def test_models_of_every_kind_have_a_page(name) -> None:
    network = getattr(pg.zoo, name)(*([[3, 2]] if name == "pgbn" else [2]))
    html = page_of(network, {network.observed[0]: np.eye(4, 3, dtype=int)})
    assert all(f'<td class="">{node}</td>' in html for node in network.nodes)
    assert ("topics" in sections_of(html)) is (name == "pgbn")


# ---- frame --------------------------------------------------------------------------------------


def test_only_the_script_and_style_of_the_page_run_and_nothing_is_fetched() -> None:
    html = page_of(pg.zoo.lda(2), {"x": np.ones((3, 3), int)})
    for kind, element in (("script", "<script>"), ("style", "<style>")):
        text = re.search(f"{element}(.*?)</{kind}>", html, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in html
    assert "default-src 'none'" in html
    assert not re.search(r'(?:src|href)="(?!#|data:)', html)
    assert "scripts are off" in html


def test_the_page_is_repeatable_and_encodable() -> None:
    options = {"vocabulary": vocabulary(), "names": titles(), "texts": texts()}
    html = report_html(trained(), title="<i>&", **options)
    assert html == report_html(trained(), title="<i>&", **options)
    html.encode("utf-8")
    assert "<title>&lt;i&gt;&amp;</title>" in html
    outside = re.sub(r'(?s)<script type="application/json".*?</script>', "", html)
    assert outside.count("<img") == 1, "the graph of the network"
    assert outside.count("onerror") == outside.count("&lt;img src=x onerror=window.hacked=1&gt;")
    assert html.count("</script>") == 2
    assert "http:" not in html.replace("http://www.w3.org/", "")
    assert "https:" not in html


def test_the_first_line_has_the_effective_widths() -> None:
    model = trained((4, 2)).deepest
    uneven = model.with_topics(weights=(np.array([97.0, 1.0, 1.0, 1.0]), np.array([5.0, 5.0])))
    lead = re.search(r'<p class="lead">(.*?)</p>', report_html(uneven))[1]
    assert "2 layers of 4 – 2 topics, effectively 1 – 2 · 60 terms · 80 documents" in lead


def test_names_do_not_command_a_terminal_that_shows_the_file() -> None:
    names = [f"\x1b]0;x\x07\x9b2J{v}" for v in range(60)]
    html = report_html(trained(), vocabulary=names, title="\x1b[2J")
    assert not re.search("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", html)


# ---- payload ------------------------------------------------------------------------------------


def test_the_payload_has_no_infinities() -> None:
    series = Series("odd", np.arange(3.0), np.array([[np.nan, np.inf, 1.0]]))
    odd = replace(report_data(trained((3,))), series=(series,))
    assert payload(odd)["series"][0]["values"] == [[None, None, 1]]
    assert "too few draws" in report_html(odd)


def test_no_section_overwrites_what_another_gives() -> None:
    data = report_data(trained())
    given = [key for each in SECTIONS if each.applies(data) for key in each.payload(data)]
    assert len(given) == len(set(given))
    found = payload(data)
    assert list(found)[-len(given) - 1 :] == [*given, "documents"]
    assert len(found) == len(given) + 8


@pytest.mark.parametrize("relevance", [0.0, 0.6, 1.0])
def test_the_page_begins_with_the_given_relevance(relevance) -> None:
    data = report_data(trained(), relevance=relevance)
    found = payload(data)
    for t, layer in enumerate(found["layers"], 1):
        assert layer["relevance"] == relevance
        for topic in trained().topics(t, 10, relevance=relevance):
            columns = [int(term.removeprefix("term")) for term in topic.terms]
            assert data.words(t, topic.index) == [data.vocabulary[v] for v in columns]
            shown = {found["words"][number] for number in layer["topics"][topic.index][0]}
            assert set(data.words(t, topic.index)) <= shown


def test_script_json_cannot_end_its_element() -> None:
    value = {"words": HOSTILE[:9]}
    text = script_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


# ---- files --------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_usual_model_stays_under_a_megabyte() -> None:
    g = np.random.default_rng(0)
    documents, widths = 11_000, (128, 64, 32)
    model = trained(widths, terms=2000, documents=documents)
    words = ["".join(chr(97 + c) for c in g.integers(0, 26, 9)) for _ in range(2000)]
    html = report_html(
        model,
        vocabulary=words,
        names=[f"The title of document number {j}" for j in range(documents)],
        texts=["Some text of ordinary length. " * 40] * documents,
    )
    assert len(html.encode()) < 1_000_000
    kept = int(re.search(r'"kept":(\d+)', html)[1])
    assert 500 < kept < documents, "documents take the bytes that remain"


def test_writing_is_all_or_nothing(tmp_path) -> None:
    target = tmp_path / "report.html"
    assert write_report(trained(), target) == target
    before = target.read_bytes()
    with pytest.raises(DataError, match="vocabulary: 3 names, but 60"):
        write_report(trained(), target, vocabulary=["a", "b", "c"])
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(PgbnError, match=r"missing.*: could not be written"):
        write_report(trained(), tmp_path / "missing" / "report.html")


def test_the_summary_escapes() -> None:
    html = summary_html(trained(), vocabulary=vocabulary(), title="<x>")
    assert "&lt;x&gt;" in html
    assert "12 – 6 – 3 topics" in html
    assert "<script" not in html
    assert "<img" not in html
