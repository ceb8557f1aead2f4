"""The report of a network that was grown of a family of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.cli import run_command as main
from pgbn.report import run_data_from_grown

rng = np.random.default_rng(0)
DATA = {"words": rng.poisson(0.5, (30, 12)), "tags": rng.random((30, 4)) < 0.3}


def two_kinds(widths: Any) -> pgbn.Network:
    return zoo.multimodal(widths, {"words": "poisson", "tags": "bernoulli"})


@pytest.fixture(scope="module")
def training() -> Any:
    return pgbn.train_layerwise(DATA, 6, 2, family=two_kinds, burn_in=3, collect=4, keep_draws=2,
                                progress=False)  # fmt: skip


def test_the_topics_and_the_traces(training: Any) -> None:
    grown = training.deepest
    data = run_data_from_grown(grown)
    assert {each.name for each in data.simplexes} >= {"phi1_words", "phi1_tags", "phi2"}
    shown = next(each for each in data.simplexes if each.name == "phi1_words")
    np.testing.assert_allclose(shown.mean, grown.draws["phi1_words"].mean(axis=0))
    assert [series.name for series in data.series] == ["log likelihood", "width"]
    np.testing.assert_array_equal(data.series[0].values[0], grown.traces["log_likelihood"])
    assert data.settings["widths"] == " – ".join(map(str, training.widths))
    without = run_data_from_grown(pgbn.GrownNetwork(grown.model, grown.layers, grown.means,
                                                    grown.traces))  # fmt: skip
    means = next(each for each in without.simplexes if each.name == "phi1_words")
    np.testing.assert_allclose(means.mean, grown.means["phi1_words"])


def test_the_verb_and_the_command(
    training: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    coords = {"term_words": [f"w{i}" for i in range(12)]}
    page = training.report(tmp_path / "a.html", title="Words & tags", coords=coords)
    text = page.read_text()
    assert "<title>Words &amp; tags</title>" in text
    assert "<bdi>w3</bdi>" in text
    assert "phi1_tags" in text
    pgbn.save(training, tmp_path / "model")
    assert main(["report", str(tmp_path / "model"), "-o", str(tmp_path / "b.html")]) == 0
    assert "phi1_tags" in (tmp_path / "b.html").read_text()
    capsys.readouterr()
    two = ["report", str(tmp_path / "model"), str(tmp_path / "model"), "-o", str(tmp_path / "c")]
    assert main(two) == 1
    assert "give one folder" in capsys.readouterr().err
