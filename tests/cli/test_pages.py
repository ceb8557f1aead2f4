"""The commands that write about a model."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import pgbn
from pgbn.report import report_data
from pgbn.storage import open_saved
from tests.helpers.commands import FAST, Capture, ask, rejected, run


def test_report_of_several_chains(place: Path, tmp_path: Path, capsys: Capture) -> None:
    """R-hat and effective sample size are those of all chains."""
    fit = ["fit", str(place / "texts"), *FAST, "--max-df", "1.0"]
    assert run([*fit, "-o", tmp_path / "b", "--seed", "1"]) == 0
    chains = [place / "model", tmp_path / "b"]
    found = ask(capsys, "report", *chains, "-o", tmp_path / "r.html")
    expected = report_data([open_saved(chain).object for chain in chains]).series
    assert not any(np.isfinite(series.ess) for series in expected)  # so few sweeps
    assert {q["ess"] for q in found["quantities"]} == {None}  # NaN is not JSON
    assert run(["report", *chains, "-o", tmp_path / "r.html"]) == 0
    assert "log likelihood: too few sweeps" in capsys.readouterr().out

    chains = [tmp_path / "long0", tmp_path / "long1"]
    for seed, chain in enumerate(chains):
        assert run([*fit, "-o", chain, "--seed", seed, "--sweeps", "80"]) == 0
    words = [*chains, "-o", tmp_path / "r.html", "--title", "Two <chains>"]
    found = ask(capsys, "report", *words)
    expected = report_data([open_saved(chain).object for chain in chains]).series
    assert found["chains"] == 2
    assert [q["name"] for q in found["quantities"]] == [series.name for series in expected]
    assert [q["ess"] for q in found["quantities"]] == [series.ess for series in expected]
    finite = [series.rhat if np.isfinite(series.rhat) else None for series in expected]
    assert [q["rhat"] for q in found["quantities"]] == finite  # of a constant it is infinite
    assert expected[0].values.shape[0] == 2
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "seeds of the chains" in page
    assert '<h1 dir="auto">Two &lt;chains&gt;</h1>' in page
    assert run(["report", *chains, "-o", tmp_path / "r.html"]) == 0
    told = capsys.readouterr().out
    assert "log likelihood: R-hat" in told
    for series in expected:
        assert f"{series.name}: R-hat {series.rhat:.3f}" in told
        assert series.verdict == "mixed" or f"; {series.verdict}\n" in told
    assert run([*fit, "-o", tmp_path / "c", "--seed", "2", "--eta", "0.1"]) == 0
    assert "eta=0.1, but eta=0.05" in rejected(capsys, ["report", place / "model", tmp_path / "c"])
    counts = ["fit", str(place / "counts.npz"), "-o", str(tmp_path / "d"), *FAST]
    assert run(counts) == 0
    assert "other terms or documents" in rejected(
        capsys, ["report", place / "model", tmp_path / "d"]
    )


def test_report_of_a_run(tmp_path: Path, capsys: Capture) -> None:
    """Of any network: a folder of a run or of draws."""
    x = np.random.default_rng(0).poisson(1.0, (6, 3))
    network = pgbn.zoo.pfa(2)
    draws = network.sample({"x": x}, burn_in=1, draws=8, chains=2, coords={"term": list("abc")})
    draws.save(tmp_path / "draws")
    found = ask(capsys, "report", tmp_path / "draws", "-o", tmp_path / "r.html")
    assert (found["chains"], found["bytes"]) == (2, (tmp_path / "r.html").stat().st_size)
    assert [q["name"] for q in found["quantities"]] == [s.name for s in report_data(draws).series]
    page = (tmp_path / "r.html").read_text("utf-8")
    assert '<h1 dir="auto">Topics of 6 documents</h1>' in page
    assert set(json.loads(re.search(r'"words":(\[.*?\])', page)[1])) == set("abc")
    assert "data:image/svg+xml;base64," in page
    words = ["report", str(tmp_path / "draws"), "-o", str(tmp_path / "r.html")]
    assert run([*words, "--title", "Mine"]) == 0
    assert "total of r: R-hat" in capsys.readouterr().out
    assert '<h1 dir="auto">Mine</h1>' in (tmp_path / "r.html").read_text("utf-8")
    assert "give one folder" in rejected(capsys, [*words, tmp_path / "draws"])
    pgbn.save(network, tmp_path / "network")
    assert "holds a network" in rejected(capsys, ["report", tmp_path / "network"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_network_that_is_a_pipe_is_not_waited_for(tmp_path: Path, capsys: Capture) -> None:
    os.mkfifo(tmp_path / "net.json")
    assert "net.json: not a file, but a pipe" in rejected(
        capsys, ["explain", tmp_path / "net.json"]
    )


def test_a_family_that_was_not_fitted_has_no_network(tmp_path: Path, capsys: Capture) -> None:
    """It was called without widths."""
    pgbn.save(pgbn.NetworkTransformer(pgbn.zoo.pgbn), tmp_path)
    assert "not fitted has none yet" in rejected(capsys, ["explain", tmp_path])
    pgbn.save(pgbn.NetworkTransformer(pgbn.zoo.lda(2)), tmp_path)
    assert run(["explain", tmp_path]) == 0
