"""Naming topics on the command line."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
import pgbn
from pgbn.cli import run_command as run
from pgbn.cli.models import Model, open_model
from pgbn.storage import open_saved
from tests.helpers.commands import ask
from tests.helpers.corpora import WORDS


@pytest.fixture
def model(place: Path, tmp_path: Path) -> Path:
    """A model of one's own, to be changed."""
    return Path(shutil.copytree(place / "model", tmp_path / "model"))


def test_names_by_hand_and_by_words_stand_in_all_lists(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = open_saved(model)
    theme, words = next(iter(WORDS.items()))
    first, second = words.split()[:2]
    found = ask(capsys, "label", model, "2/0=upper part", "--keyword", f"{theme}={first}, {second}")
    assert found.pop("2/0") == "upper part"
    ((place, name),) = found.items()
    assert name == theme
    topics = {f"{t['layer']}/{t['topic']}": t for t in ask(capsys, "topics", model)}
    assert topics[place]["label"] == theme
    assert first in topics[place]["terms"]
    after = open_saved(model)
    assert (after.labels, after.record, after.columns) == (
        before.labels, before.record, before.columns
    )  # fmt: skip
    assert (after.data != before.data).nnz == 0
    np.testing.assert_array_equal(after.object.deepest.phi[0], before.object.deepest.phi[0])
    assert ask(capsys, "label", model, "2/0=") == {place: theme}
    assert run(["label", str(model)]) == 0
    assert capsys.readouterr().out.strip() == f"{place} {theme}"
    ask(capsys, "label", model, "-o", model.parent / "names.csv")
    layer, topic = place.split("/")
    assert (
        model.parent / "names.csv"
    ).read_text() == f"layer,topic,label\n{layer},{topic},{theme}\n"


@pytest.mark.parametrize(("words", "code", "told"), [
    (["1=weather"], 2, "such as 1/0=weather"),
    (["1/0"], 2, "such as 1/0=weather"),
    (["1/" + "9" * 5000 + "=weather"], 2, "such as 1/0=weather"),
    (["9/0=weather"], 1, "layers"),
    (["1/999=weather"], 1, "1/999"),
    (["--keyword", "weather"], 2, "such as weather=rain,sun"),
    (["--keyword", "sky=zzz"], 1, "'zzz' is no term"),
])  # fmt: skip
def test_what_is_no_name_is_refused(
    model: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: int, told: str
) -> None:
    assert run(["label", str(model), *words]) == code
    assert told in capsys.readouterr().err.replace("(1, 999)", "1/999")


def test_an_estimator_keeps_its_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X = np.random.default_rng(0).poisson(1.0, (12, 8))
    fitted = pgbn.PGBN((4, 3), burn_in=3, collect=2, random_state=0, min_width=1).fit(X)
    pgbn.save(fitted, tmp_path / "model", vocabulary=[f"w{v}" for v in range(8)])
    assert run(["label", str(tmp_path / "model")]) == 0
    assert "no topic has a name" in capsys.readouterr().out
    assert ask(capsys, "label", tmp_path / "model", "1/0=one") == {"1/0": "one"}
    loaded = pgbn.load(tmp_path / "model")
    assert {topic.label for topic in loaded.topics(1)} == {"", "one"}
    assert ask(capsys, "label", tmp_path / "model", "1/0=") == {}


def test_a_name_is_one_line_of_the_list(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["label", str(model), "1/0=a\n2/0 b"]) == 0
    assert capsys.readouterr().out == "1/0 a\\n2/0 b\n"


@pytest.mark.parametrize("file", ["", "model.json"])
def test_nobody_else_writes_between_reading_and_saving(
    model: Path, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two who label at once, one is refused: else the names of the first would be lost."""
    others: list[Any] = []

    def opened(path: Path) -> Model:
        found = open_model(path)
        with ThreadPoolExecutor(1) as pool:  # as another process
            others.append(pool.submit(pgbn.save, found.network, model).exception())
        return found

    monkeypatch.setattr("pgbn.cli.models.open_model", opened)
    assert run(["label", str(model / file), "1/0=mine"]) == 0
    assert "another process is writing there" in str(others[0])
    assert capsys.readouterr().out == "1/0 mine\n"
    assert run(["label", str(model)]) == 0
    assert others[1] is None  # to look at names locks nothing
