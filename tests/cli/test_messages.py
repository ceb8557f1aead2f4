"""What the commands that train say before and after."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
from pgbn.cli.models import open_model
from pgbn.cli.train import announce, hierarchy
from pgbn.evaluation import topics
from pgbn.training.settings import Settings


def test_topics_stand_under_those_that_hold_most_of_them(place: Path) -> None:
    model = open_model(place / "model")
    network = model.network
    lines = hierarchy(network, model.vocabulary)
    themes = [line for line in lines if not line.startswith("    ")]
    upper, lower = (topics(network, layer, 6, model.vocabulary) for layer in (2, 1))
    assert [line.split("%  ")[1] for line in themes] == [" ".join(each.terms) for each in upper]
    weight = np.zeros(network.widths[1])
    weight[[each.index for each in upper]] = [each.weight for each in upper]
    above = (weight[:, None] * network.phi[1]).argmax(axis=0)
    theme, number, largest = -1, dict.fromkeys(range(len(weight)), 0), lower[0]
    for line in lines:
        if line in themes:
            theme = upper[themes.index(line)].index
            continue
        words = line.split("%  ")[1]
        assert theme in {above[each.index] for each in lower if " ".join(each.terms) == words}
        number[theme] += 1
    assert 0 < max(number.values()) <= 3
    assert any(" ".join(largest.terms) in line for line in lines)


def test_what_the_sweeps_are_good_for_is_said_before(capsys: pytest.CaptureFixture[str]) -> None:
    announce(Settings((20, 5), 2, burn_in=300, collect=200))
    said = capsys.readouterr().err
    assert "sweeps: 1000, enough to explore" in said
    assert "--burn-in 1000 --collect 500 (about 3 times as long)" in said
    announce(Settings(20, 1, burn_in=900, collect=500))
    assert "--collect 500; compare several seeds" in capsys.readouterr().err
    announce(Settings(20, 1, burn_in=1000, collect=500))
    assert capsys.readouterr().err == "sweeps: 1500\n"


def test_fit_without_a_folder(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pgbn.cli import run_command

    monkeypatch.chdir(tmp_path)
    assert run_command(["fit", str(place / "texts"), "--max-df", "1.0", "--max-width", "4",
                        "--depth", "1", "--burn-in", "2", "--collect", "2"]) == 0  # fmt: skip
    assert "sweeps: 4, enough to explore" in capsys.readouterr().err
    assert open_model(tmp_path / "model").network.depth == 1
