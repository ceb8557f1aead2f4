"""HTML with MathML: a page of its own, and the body that the report takes."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import pgbn as pg
from pgbn.explain import derivation
from pgbn.explain.document import Heading, Items, Paragraph
from pgbn.explain.render import html_body, to_html
from tests.helpers.compositions import COMPOSITIONS


@pytest.fixture(scope="module", params=COMPOSITIONS)
def network(request: pytest.FixtureRequest) -> pg.Network:
    return COMPOSITIONS[request.param]()


def test_every_formula_becomes_mathml(network: pg.Network) -> None:
    """The HTML is well formed, and no command is left over or unknown."""
    html = html_body(derivation(network))
    tree = ElementTree.fromstring(f"<div>{html}</div>")
    markdown = network.explain("markdown").replace('`$x^~\\"|`', "")
    inline = len(re.findall(r"(?<![\\$])\$[^$\n]+\$", markdown))
    assert len(tree.findall(".//math")) == markdown.count("aligned}") // 2 + inline
    known = {"_", "#", "%", "&"}  # characters of names, which LaTeX escapes
    assert {text.text for text in tree.findall(".//mtext")} <= known, "an unknown command"
    formulas = "".join("".join(math.itertext()) for math in tree.findall(".//math"))
    assert not set("\\}$") & set(formulas)
    assert len(tree.findall("h1")) == 1
    assert len(tree.findall("h2")) == len(re.findall(r"(?m)^## ", markdown))
    assert len(tree.findall("h3")) == len(re.findall(r"(?m)^### ", markdown))


NETWORKS = {
    "pgbn": lambda: pg.zoo.pgbn([4, 2]),
    "bernoulli": lambda: pg.zoo.pgbn([4], link="bernoulli"),
    "gamma": lambda: pg.zoo.pgbn([4], link="gamma"),
    "pgds": lambda: pg.zoo.pgds(3),
    "lda": lambda: pg.zoo.lda(3),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_derivation_is_well_formed_and_complete(name: str) -> None:
    """Every formula becomes MathML; no command is left over or unknown."""
    markdown = NETWORKS[name]().explain("markdown")
    html = html_body(derivation(NETWORKS[name]()), ("h3", "h3", "h4"))
    tree = ElementTree.fromstring(f"<div>{html}</div>")
    inline = len(re.findall(r"(?<![\\$])\$[^$\n]+\$", markdown))
    assert len(tree.findall(".//math")) == markdown.count("aligned}") // 2 + inline
    assert not tree.findall(".//mtext"), "a command that mathml.py does not know"
    shown = "".join(tree.itertext())
    assert not set("\\{}$") & set(shown)
    assert len(tree.findall(".//h3")) == len(re.findall(r"(?m)^##? ", markdown))


def test_prose() -> None:
    assert html_body([Paragraph("a < b & `c<d`")]) == "<p>a &lt; b &amp; <code>c&lt;d</code></p>"
    assert html_body([Paragraph("5 \\ and _ <i>")]) == "<p>5 \\ and _ &lt;i&gt;</p>"
    assert html_body([Items(("one", "two"))]) == "<ul><li>one</li><li>two</li></ul>"
    assert html_body([Heading(2, "a $b$")], ("", "h4")) == "<h4>a <math><mi>b</mi></math></h4>"
    assert html_body([Paragraph("`a＄b`")]) == "<p><code>a$b</code></p>"


class Reader(HTMLParser):
    """The elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.shown = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)

    def handle_data(self, data: str) -> None:
        self.shown += data


def test_explain_gives_a_whole_page_that_asks_for_nothing(network: pg.Network) -> None:
    page = network.explain("html")
    assert page.startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
    assert '<meta charset="utf-8">' in page
    assert "<title>A network and its Gibbs sampler</title>" in page
    assert html_body(derivation(network)) in page
    reader = Reader()
    reader.feed(page)
    assert not {"script", "link", "img", "b"} & set(reader.seen)
    for step in network.schedule:
        assert step.node in reader.shown
    assert "http" not in page


def test_a_title_is_text() -> None:
    page = to_html([Heading(1, "`a<b` and $c$")])
    assert "<title>a&lt;b and c</title>" in page
