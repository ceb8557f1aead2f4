"""The commands that train."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("sklearn")
import pgbn
from pgbn import checkpoint
from pgbn.cli import run_command as run
from pgbn.cli.console import as_options
from pgbn.corpus import read_corpus
from pgbn.storage import open_saved
from pgbn.storage.atomic_files import locked
from tests.helpers.commands import FAST, ask


def test_fit_and_what_is_saved(place: Path) -> None:
    saved = open_saved(place / "model")
    assert saved.vocabulary is not None
    assert {"ship", "oven", "jury", "größe"} <= set(saved.vocabulary)
    assert saved.data.shape == (60, len(saved.vocabulary))
    assert len(saved.labels or []) == 60
    assert saved.record["arguments"]["burn_in"] == 20
    assert saved.object.deepest.depth == 2


def test_draws_are_kept_on_demand(place: Path, tmp_path: Path) -> None:
    words = ["fit", str(place / "texts"), "-o", str(tmp_path / "m"), *FAST, "--max-df", "1.0"]
    assert run([*words, "--keep-draws", "3"]) == 0
    kept, without = pgbn.load(tmp_path / "m"), pgbn.load(place / "model")
    assert len(kept.deepest.draws["r"]) == 3
    assert not without.deepest.draws
    assert np.array_equal(kept.deepest.phi[0], without.deepest.phi[0])


def test_resume(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A training stopped by Ctrl-C in the middle of the second layer."""
    corpus = read_corpus(place / "texts", stop_words="english", min_df=2, max_df=1.0)

    def press(event: pgbn.Event) -> None:
        if event.done == 37:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        checkpoint.train(corpus.counts, tmp_path / "m", 8, 2, burn_in=20, collect=10, seed=0,
                         vocabulary=corpus.vocabulary, callback=press)  # fmt: skip
    facts = ask(capsys, "info", tmp_path / "m")
    assert (facts["kind"], facts["depth"], facts["sweep"]) == ("checkpoint", 2, 7)
    assert run(["topics", str(tmp_path / "m")]) == 1
    assert "pgbn resume" in capsys.readouterr().err
    assert run(["fit", str(place / "texts"), "-o", str(tmp_path / "m")]) == 1
    assert "pgbn resume" in capsys.readouterr().err
    ask(capsys, "resume", tmp_path / "m")
    one, two = open_saved(tmp_path / "m"), open_saved(place / "model")
    assert one.vocabulary == two.vocabulary
    assert np.array_equal(one.object.deepest.phi[1], two.object.deepest.phi[1])


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "demo", "-o", tmp_path / "d", "--sweeps", 8, "--max-width", 20)
    assert found["documents"] > 2000
    assert len(found["widths"]) == 3
    assert {"1", "2", "3"} == set(found["topics"])
    assert (tmp_path / "d" / "report.html").stat().st_size < 1_000_000


@pytest.mark.parametrize("words", [
    "--burn-in a,b", "--burn-in 0", "--collect 5,5", "--eta -1", "--max-width 0", "--depth 101",
    "--link foo", "--seed -1", "--threads 0", "--minutes -1", "--max-df much", "--max-features 0",
    "--min-df 0", "--min-df 1.5", "--min-df nan", "--min-df -1", "--max-df 0.0", "--max-df 0",
    "--token-pattern [", "--token-pattern (a)(b)", "--format xyz", "--encoding nonsense",
    "--encoding hex", "--keep-draws -1", "--keep-draws 201",
])  # fmt: skip
def test_nothing_is_read_before_the_options_are_right(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    def read(*arguments: Any, **options: Any) -> None:
        pytest.fail("the data were read")

    monkeypatch.setattr("pgbn.cli.train.read_corpus", read)
    assert run(["fit", str(place / "texts"), "-o", str(tmp_path / "m"), *words.split()]) == 2


@pytest.mark.parametrize("share", ["1.0", "0.0", "3"])
def test_shares_and_numbers_of_documents(place: Path, tmp_path: Path, share: str) -> None:
    texts, model = str(place / "texts"), str(tmp_path / "m")
    assert run(["fit", texts, "-o", model, *FAST, "--max-df", "1.0", "--min-df", share]) == 0


def test_the_demo_names_its_least_number_of_sweeps(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--help"]) == 0
    assert "at least 8" in " ".join(capsys.readouterr().out.split())


def test_few_terms_are_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Frequent terms are left out, which may be all of a small corpus."""
    (tmp_path / "x.txt").write_text("sea ship sail\nsea ship\nsail court\ncourt ship sea")
    assert run(["fit", str(tmp_path / "x.txt"), "-o", str(tmp_path / "m"), *FAST]) == 0
    assert "few terms are left; --min-df 1" in capsys.readouterr().err
    np.savez(tmp_path / "zero.npz", X=np.zeros((3, 4), int))
    assert run(["fit", str(tmp_path / "zero.npz"), "-o", str(tmp_path / "z"), *FAST]) == 0
    assert "all counts are zero" in capsys.readouterr().err


def test_resume_of_a_finished_model(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in (place / "model").iterdir()}
    capsys.readouterr()
    assert run(["resume", str(place / "model")]) == 0
    shown = capsys.readouterr()
    assert "model: finished already" in shown.err
    assert "next: pgbn topics" in shown.out
    assert before == {path.name: path.read_bytes() for path in (place / "model").iterdir()}


def test_two_writers_in_one_folder(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second is refused before it reads anything; when the first is done, it is not."""
    with ThreadPoolExecutor(1) as other, locked(tmp_path / "m"):
        words = ["fit", str(place / "nowhere"), "-o", str(tmp_path / "m")]
        assert other.submit(run, words).result() == 1
        shown = capsys.readouterr().err
        assert f"{tmp_path / 'm'}: another process is writing there" in shown
        assert "another folder" in shown
    assert run(["fit", str(place / "nowhere"), "-o", str(tmp_path / "m")]) == 1
    assert "no such file" in capsys.readouterr().err


def test_resume_and_info_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run of any network that was stopped, as the commands see it."""
    X = np.random.default_rng(0).poisson(1.0, (12, 9))
    network, folder = pgbn.zoo.lda(3), tmp_path / "run"
    options: dict[str, Any] = {"burn_in": 2, "draws": 4, "chains": 2, "keep": ["phi"]}

    def press(event: pgbn.Event) -> None:
        if event.done == 9:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        network.sample({"x": X}, **options, save=folder, callback=press)
    facts = ask(capsys, "info", folder)
    assert (facts["kind"], facts["sweeps"], facts["of"]) == ("run", [6, 3], 6)
    assert facts["draws so far"] == [4, 1]
    assert facts["resume"] == f"pgbn resume {folder}"
    assert ask(capsys, "resume", folder) == {"run": str(folder), "nodes": ["phi"]}
    facts = ask(capsys, "info", folder)
    assert (facts["kind"], facts["shapes"]) == ("draws", {"phi": [2, 4, 3, 9]})
    assert run(["resume", str(folder)]) == 0
    assert "finished already" in capsys.readouterr().err
    assert run(["topics", str(folder)]) == 1
    assert "holds a draws; this command needs a trained model" in capsys.readouterr().err
    expected = network.sample({"x": X}, **options)
    assert np.array_equal(pgbn.load(folder)["phi"], expected["phi"])


def test_a_corpus_is_built_and_fitted(tmp_path: Path, capsys: Any) -> None:
    """What is built from parts of a file, and then fitted, is what is fitted from the file."""
    (tmp_path / "d.txt").write_text("\n".join(["sea ship", "oven flour", "wave sea"] * 5))
    lines = (tmp_path / "d.txt").read_text().splitlines()
    parts = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for path, some in zip(parts, (lines[:5], lines[5:]), strict=True):
        path.write_text("\n".join(some))
    counting = ["--max-df", "1.0", "--min-df", "1"]
    found = ask(capsys, "corpus", "build", *parts, "-o", tmp_path / "corpus", *counting)
    assert (found["documents"], found["blocks"]) == (len(lines), 1)
    assert run(["fit", str(tmp_path / "corpus"), "-o", str(tmp_path / "a"), *FAST]) == 0
    assert run(["fit", str(tmp_path / "d.txt"), "-o", str(tmp_path / "b"), *FAST, *counting]) == 0
    one, other = (pgbn.load(tmp_path / name).deepest for name in "ab")
    np.testing.assert_array_equal(one.phi[0], other.phi[0])
    assert one.vocabulary == other.vocabulary
    assert run(["corpus", "build", str(parts[0]), "-o", str(tmp_path / "corpus")]) == 1
    assert "name another folder" in capsys.readouterr().err
    np.savez(tmp_path / "x.npz", X=np.eye(3, dtype=int))
    assert run(["corpus", "build", str(tmp_path / "x.npz"), "-o", str(tmp_path / "c"),
                "--min-df", "3"]) == 2  # fmt: skip
    assert "holds counts" in capsys.readouterr().err
    words = ["transform", tmp_path / "a", tmp_path / "corpus", "--burn-in", "3", "--samples", "3"]
    assert ask(capsys, *words, "-o", tmp_path / "f.npy")["documents"] == len(lines)
    rows = ask(capsys, *words)["rows"]  # all of it in memory
    np.testing.assert_allclose(np.load(tmp_path / "f.npy"), [row["features"] for row in rows], 1e-6)


def test_fit_ends_with_how_the_layers_read(place: Path, tmp_path: Path, capsys: Any) -> None:
    words = ["fit", place / "texts", "-o", tmp_path / "m", "--burn-in", 4, "--collect", 2,
             "--max-df", "1.0", "--max-width", "6,5"]  # fmt: skip
    found = ask(capsys, *words)
    assert found["widths"] == [6, 5]  # as many layers as there are numbers
    assert [layer["layer"] for layer in found["layers"]] == [1, 2]
    assert run([*map(str, words), "--overwrite"]) == 0
    said = capsys.readouterr()
    assert "layer 1: 6 topics, effectively" in said.out


def test_notes_name_options() -> None:
    assert as_options("a longer burn_in, max_df") == "a longer --burn-in, --max-df"


def one_pair_of_five(model: Any) -> Any:
    """The second layer has twins while it has five topics."""
    return pgbn.merge_topics(model, [(0, 1)], 2) if model.widths[1] == 5 else None


def test_twins_are_merged_where_each_layer_has_a_budget(
    place: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    quality = import_module("pgbn.evaluation.layer_quality")  # a function has this name, too
    monkeypatch.setattr(quality, "merge_twins", one_pair_of_five)
    words = ["fit", place / "texts", "-o", tmp_path / "m", "--max-df", "1.0", "--burn-in", 3,
             "--collect", 2, "--keep-draws", 2, "--overwrite", "--max-width"]  # fmt: skip
    assert ask(capsys, *words, "6,5", "--keep-twins")["widths"] == [6, 5]
    found = ask(capsys, *words, "6,5")
    assert found["widths"] == [6, 4]
    assert found["stopped"].endswith("twins were merged, 6-5 to 6-4")
    saved = open_saved(tmp_path / "m")
    assert saved.record["arguments"]["max_width"] == [6, 5]
    assert saved.object.deepest.vocabulary is not None
    assert saved.object.deepest.sweeps == 60
    assert len(saved.object.deepest.draws["r"]) == 2
    assert len(saved.labels or []) == 60
    assert len(ask(capsys, *words, "6", "--depth", 2)["widths"]) == 2  # the paper's rule


def test_twins_are_merged_after_a_stop_too(
    place: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the training, and in the sweeps after merging: resumed, the bits are the same."""

    quality = import_module("pgbn.evaluation.layer_quality")  # a function has this name, too
    monkeypatch.setattr(quality, "merge_twins", one_pair_of_five)
    sweep, when = pgbn.Chain.sweep, {"sweeps": -1}

    def counting(chain: Any, *number: Any) -> Any:
        when["sweeps"] -= 1
        if when["sweeps"] == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return sweep(chain, *number)

    monkeypatch.setattr(pgbn.Chain, "sweep", counting)
    words = ["fit", str(place / "texts"), "--max-df", "1.0", "--burn-in", "3", "--collect", "2",
             "--max-width", "6,5", "-o"]  # fmt: skip
    assert run([*words, str(tmp_path / "whole")]) == 0
    whole = open_saved(tmp_path / "whole")
    assert whole.object.widths == (6, 4)
    for after, widths in ((7, None), (20, (6, 5))):  # of 10 in the training, and 50 after merging
        folder, when["sweeps"] = tmp_path / str(after), after
        assert run([*words, str(folder)]) == 130
        assert f"pgbn resume {folder}" in capsys.readouterr().err
        assert widths is None or open_saved(folder).object.widths == widths
        assert run(["resume", str(folder)]) == 0
        assert "finished already" not in capsys.readouterr().err
        again = open_saved(folder)
        assert again.object.stopped == whole.object.stopped
        assert again.record.keys() == whole.record.keys()
        assert np.array_equal(again.object.deepest.phi[1], whole.object.deepest.phi[1])
        assert run(["resume", str(folder)]) == 0
        assert "finished already" in capsys.readouterr().err
