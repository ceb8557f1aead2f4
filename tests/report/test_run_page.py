"""The page of any run."""

import re

import numpy as np
import pytest

import pgbn
from pgbn.report import report_html, run_data, write_report
from pgbn.report.run_page import run_html


def page_of(network, data, **options):
    draws = network.sample(data, burn_in=1, draws=4, chains=2, progress=False)
    return run_html(run_data(draws, network, picture=str(network.plot()), **options))


def test_every_part_is_there():
    x = np.random.default_rng(1).poisson(1.0, (6, 5))
    page = page_of(pgbn.zoo.lda(2), {"x": x}, coords={"term": list("abcde")}, title="A <b> run")
    assert '<h1 dir="auto">A &lt;b&gt; run</h1>' in page
    for name in ("network", "simplex-0", "simplex-1", "traces", "derivation", "settings"):
        assert f'<section id="{name}"' in page
        assert f'<a href="#{name}">' in page
    assert page.count('class="trace c0"') == page.count('class="trace c1"') == 2
    assert "<bdi>a</bdi>" in page
    assert "data:image/svg+xml;base64," in page


@pytest.mark.parametrize("name", ["pgds", "gamma_markov_chain", "bnbp", "gated_pfa", "pgbn"])
def test_models_of_every_kind_have_one(name):
    network = getattr(pgbn.zoo, name)(*([[3, 2]] if name == "pgbn" else [2]))
    x = np.random.default_rng(1).poisson(1.0, (4, 3))
    page = page_of(network, {network.observed[0]: x})
    assert all(f'<td class="">{node}</td>' in page for node in network.nodes)


def test_nothing_is_asked_for_and_nothing_runs():
    page = page_of(pgbn.zoo.lda(2), {"x": np.ones((3, 3), int)})
    assert "<script" not in page
    assert "script-src" not in page
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)


def test_constant_traces_and_gaps_are_drawn(tmp_path):
    network = pgbn.zoo.lda(2)
    draws = network.sample({"x": np.ones((3, 3), int)}, burn_in=0, draws=5, progress=False)
    draws.values["phi"][:] = 1 / 3
    draws.values["theta"][0, 2] = np.nan
    data = run_data(draws, network)
    page = report_html(data)
    paths = re.findall(r'class="trace c0" d="([^"]*)"', page)
    assert [path.count("M") for path in paths] in ([1, 2], [2, 1])
    assert "nan" not in "".join(paths)
    assert write_report(data, tmp_path / "run.html").read_text("utf-8") == page


def test_many_vectors_are_cut_and_told():
    x = np.ones((250, 3), int)
    page = page_of(pgbn.zoo.lda(2), {"x": x})
    assert "The first 200 of 250 vectors are shown." in page
