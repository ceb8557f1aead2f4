"""A LaTeX article that needs amsmath only."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import pgbn as pg
from pgbn.engine.first_layer.pattern import plain_pattern
from tests.helpers.compositions import COMPOSITIONS
from tests.helpers.models import zoo_models
from tests.helpers.wider_models import wider_models
from tests.same_bits.networks import large_zoo


@pytest.fixture(scope="module", params=COMPOSITIONS)
def network(request: pytest.FixtureRequest) -> pg.Network:
    return COMPOSITIONS[request.param]()


def test_latex_is_a_document(network: pg.Network) -> None:
    text = network.explain("latex")
    assert text.startswith(r"\documentclass")
    assert text.rstrip().endswith(r"\end{document}")
    assert re.findall(r"\\usepackage.*", text) == [r"\usepackage{amsmath}"]
    plain = re.sub(r"\\[{}]", "", text)
    assert plain.count("{") == plain.count("}")


def _log_of(text: str, place: Path) -> str:
    """What LaTeX says of a text."""
    (place / "explain.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "explain.tex"]
    run = subprocess.run(command, cwd=place, capture_output=True, timeout=120)
    log = run.stdout.decode("latin-1")
    assert run.returncode == 0, log[-2000:]
    return log


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on the PATH")
def test_latex_compiles(network: pg.Network, tmp_path: Path) -> None:
    log = _log_of(str(network.explain("latex")), tmp_path)
    wide = [float(width) for width in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    if all(name.isidentifier() for name in network.nodes):
        assert max(wide, default=0) < 30  # nothing runs off the page


ZOO = [
    (name, layer1)
    for name, network in large_zoo().items()
    for layer1 in ("blocked", "partial", "collapsed")
    if layer1 == "blocked" or not isinstance(plain_pattern(network.wiring), str)
]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on the PATH")
@pytest.mark.parametrize(("name", "layer1"), ZOO)
def test_no_text_of_the_zoo_is_hidden(name: str, layer1: str, tmp_path: Path) -> None:
    """No line is wider than the page, no label is given twice, no character is missing."""
    log = _log_of(str(large_zoo()[name].explain("latex", layer1)), tmp_path)
    assert not re.search(r"Overfull|Missing character|multiply defined", log)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on the PATH")
@pytest.mark.parametrize("name", wider_models())
def test_no_text_of_the_wider_zoo_is_hidden(name: str, tmp_path: Path) -> None:
    log = _log_of(str(wider_models()[name][0].explain("latex")), tmp_path)
    assert not re.search(r"Overfull|Missing character|multiply defined", log)


def test_equations_have_numbers_and_labels() -> None:
    text = pg.zoo.pgbn([3, 2]).explain("latex")
    labels = re.findall(r"\\label\{(.*?)\}", text)
    assert len(labels) == len(set(labels)) > 30
    assert {"eq:model-theta1", "eq:exposure-gamma0", "eq:step-9-p2", "eq:step-9-p2-2"} <= {*labels}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on the PATH")
@pytest.mark.parametrize("name", [*zoo_models(), *wider_models()])
def test_the_short_form_of_every_model_is_two_pages(name: str, tmp_path: Path) -> None:
    networks = zoo_models() | {each: network for each, (network, _) in wider_models().items()}
    log = _log_of(str(networks[name].explain("latex", brief=True)), tmp_path)
    assert re.search(r"\((1 page|2 pages),", log), log[-300:]
