"""A LaTeX article that needs amsmath only."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import pgbn as pg
from tests.helpers.compositions import COMPOSITIONS


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


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on the PATH")
def test_latex_compiles(network: pg.Network, tmp_path: Path) -> None:
    (tmp_path / "explain.tex").write_text(network.explain("latex"), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "explain.tex"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
    log = run.stdout.decode("latin-1")
    assert run.returncode == 0, log[-2000:]
    wide = [float(width) for width in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    if all(name.isidentifier() for name in network.nodes):
        assert max(wide, default=0) < 30  # nothing runs off the page
