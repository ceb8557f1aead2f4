"""The formats of an explanation, and what `explain` returns."""

from __future__ import annotations

import copy
import os
import pickle
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

import pgbn as pg
from pgbn.engine.first_layer.choice import plain_pattern
from pgbn.explain import Explanation, derivation
from pgbn.explain.document import Heading, Items, Paragraph, code
from pgbn.explain.render import FORMATS, html_body
from tests.helpers.compositions import COMPOSITIONS
from tests.helpers.models import zoo_models
from tests.helpers.wider_models import wider_models
from tests.same_bits.networks import large_zoo


@pytest.fixture(scope="module", params=COMPOSITIONS)
def network(request: pytest.FixtureRequest) -> pg.Network:
    return COMPOSITIONS[request.param]()


def test_unknown_format_names_the_allowed_ones() -> None:
    expected = r"format='word'.*'text', 'markdown', 'latex', 'html'"
    with pytest.raises(pg.NetworkError, match=expected):
        pg.zoo.pfa(3).explain("word")


def test_a_new_format_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "length", lambda blocks: str(len(list(blocks))))
    assert int(pg.zoo.pfa(3).explain("length")) > 20


def test_it_is_a_string_that_notebooks_show_with_formulas() -> None:
    network = pg.zoo.pfa(3)
    text = network.explain()
    assert isinstance(text, str)
    assert repr(text) == str(text)
    assert text._repr_markdown_() == network.explain("markdown")
    assert network.explain("latex")._repr_markdown_() == text._repr_markdown_()
    for again in (copy.copy(text), pickle.loads(pickle.dumps(text))):
        assert isinstance(again, Explanation)
        assert str(again) == str(text)
        assert again.blocks == text.blocks


def test_the_text_does_not_depend_on_the_hashes_of_names() -> None:
    """Sets of reads have another order in another process."""
    program = "import pgbn; print(pgbn.zoo.gated_pfa(4).explain())"
    texts = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, check=True,
        ).stdout
        for seed in "01"
    }  # fmt: skip
    assert len(texts) == 1


# ---- prose --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "html"),
    [
        (Paragraph("a < b & `c<d`"), "<p>a &lt; b &amp; <code>c&lt;d</code></p>"),
        (Paragraph("5 \\ and _ <i>"), "<p>5 \\ and _ &lt;i&gt;</p>"),
        (Items(("one", "two")), "<ul><li>one</li><li>two</li></ul>"),
        (Heading(2, "a $b$"), "<h4>a <math><mi>b</mi></math></h4>"),
        (Paragraph(code("a`b$c$")), "<p><code>a&#x27;b$c$</code></p>"),  # a name cannot end itself
        (Paragraph(""), "<p></p>"),
    ],
)
def test_prose(block: Paragraph | Items | Heading, html: str) -> None:
    assert html_body([block], ("", "h4")) == html


def test_text_holds_no_latex(network: pg.Network) -> None:
    text = network.explain("text").replace('$x^~\\"|', "")
    assert not re.search(r"\\[a-z]+|\$|\{|mathrm|textstyle", text.replace("{ 1 if", ""))


def test_markdown_formulas_are_closed(network: pg.Network) -> None:
    text = network.explain("markdown").replace('`$x^~\\"|`', "")
    assert text.count("$$") % 2 == 0
    for line in text.replace("$$", "").splitlines():
        assert line.replace("\\$", "").count("$") % 2 == 0, line
    assert text.count(r"\begin{aligned}") == text.count(r"\end{aligned}") == text.count("$$") / 2


# ---- html ---------------------------------------------------------------------------------------


def test_every_formula_becomes_mathml(network: pg.Network) -> None:
    """The HTML is well formed, and no command is left over or unknown."""
    tree = ElementTree.fromstring(f"<div>{html_body(derivation(network))}</div>")
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


def test_explain_gives_a_complete_page_that_asks_for_nothing(network: pg.Network) -> None:
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


# ---- latex --------------------------------------------------------------------------------------

needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on the PATH")


def test_equations_have_numbers_and_labels() -> None:
    text = pg.zoo.pgbn([3, 2]).explain("latex")
    labels = re.findall(r"\\label\{(.*?)\}", text)
    assert len(labels) == len(set(labels)) > 30
    assert {"eq:model-theta1", "eq:exposure-gamma0", "eq:step-9-p2", "eq:step-9-p2-2"} <= {*labels}


def _log_of(text: str, place: Path) -> str:
    """What LaTeX says of a text."""
    (place / "explain.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "explain.tex"]
    run = subprocess.run(command, cwd=place, capture_output=True, timeout=120)
    log = run.stdout.decode("latin-1")
    assert run.returncode == 0, log[-2000:]
    return log


@needs_latex
def test_latex_compiles(network: pg.Network, tmp_path: Path) -> None:
    log = _log_of(str(network.explain("latex")), tmp_path)
    wide = [float(width) for width in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    if all(name.isidentifier() for name in network.nodes):
        assert max(wide, default=0) < 30  # nothing runs off the page


WIDER = {name: network for name, (network, _) in wider_models().items()}
ZOO = [
    (network, sampler)
    for network in large_zoo().values()
    for sampler in ("blocked", "partial", "collapsed")
    if sampler == "blocked" or not isinstance(plain_pattern(network.wiring), str)
] + [(network, "auto") for network in WIDER.values()]


@needs_latex
@pytest.mark.parametrize(("network", "sampler"), ZOO)
def test_no_text_is_hidden(network: pg.Network, sampler: str, tmp_path: Path) -> None:
    """No line is wider than the page, no label is given twice, no character is missing."""
    log = _log_of(str(network.explain("latex", sampler)), tmp_path)
    assert not re.search(r"Overfull|Missing character|multiply defined", log)


@needs_latex
@pytest.mark.parametrize("name", [*zoo_models(), *WIDER])
def test_the_short_form_of_every_model_is_two_pages(name: str, tmp_path: Path) -> None:
    log = _log_of(str((zoo_models() | WIDER)[name].explain("latex", brief=True)), tmp_path)
    assert re.search(r"\((1 page|2 pages),", log), log[-300:]
