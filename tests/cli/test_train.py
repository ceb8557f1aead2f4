"""The commands that train, and what they say and keep."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import zlib
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.cli.models import open_model
from pgbn.cli.train import announce, hierarchy
from pgbn.storage import open_saved
from pgbn.storage.atomic_files import locked
from pgbn.training import checkpoints
from pgbn.training.settings import Settings
from tests.helpers.commands import FAST, Capture, Patch, ask, rejected, run
from tests.helpers.corpora import texts


def test_resume(place: Path, tmp_path: Path, capsys: Capture) -> None:
    """A training stopped by Ctrl-C in the middle of the second layer."""
    corpus = pgbn.Corpus.read(place / "texts", stop_words="english", min_df=2, max_df=1.0)

    def press(event: pgbn.Event) -> None:
        if event.done == 37:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        checkpoints.train_with_checkpoints(corpus.counts, tmp_path / "m", 8, 2, burn_in=20, sweeps=10, seed=0,
                         vocabulary=corpus.vocabulary, callback=press)  # fmt: skip
    facts = ask(capsys, "info", tmp_path / "m")
    assert (facts["kind"], facts["depth"], facts["sweep"]) == ("checkpoint", 2, 7)
    assert "pgbn resume" in rejected(capsys, ["topics", tmp_path / "m"])
    assert "pgbn resume" in rejected(capsys, ["fit", place / "texts", "-o", tmp_path / "m"])
    ask(capsys, "resume", tmp_path / "m")
    one, two = open_saved(tmp_path / "m"), open_saved(place / "model")
    assert one.vocabulary == two.vocabulary
    assert {"ship", "oven", "jury", "größe"} <= set(two.vocabulary)
    assert two.data.shape == (60, len(two.vocabulary))
    assert two.record["arguments"]["burn_in"] == 20
    assert np.array_equal(one.object.deepest.phi[1], two.object.deepest.phi[1])


def test_demo(tmp_path: Path, capsys: Capture) -> None:
    found = ask(capsys, "demo", "-o", tmp_path / "d", "--sweeps", 8, "--max-width", 20)
    assert found["documents"] > 2000
    assert len(found["widths"]) == 3
    assert {"1", "2", "3"} == set(found["topics"])
    assert (tmp_path / "d" / "report.html").stat().st_size < 1_000_000


@pytest.mark.parametrize("share", ["1.0", "0.0", "3"])
def test_shares_and_numbers_of_documents(place: Path, tmp_path: Path, share: str) -> None:
    texts, model = str(place / "texts"), str(tmp_path / "m")
    assert run(["fit", texts, "-o", model, *FAST, "--max-df", "1.0", "--min-df", share]) == 0


def test_few_terms_are_noticed(tmp_path: Path, capsys: Capture) -> None:
    """Frequent terms are left out, which may be all of a small corpus."""
    (tmp_path / "x.txt").write_text("sea ship sail\nsea ship\nsail court\ncourt ship sea")
    assert run(["fit", tmp_path / "x.txt", "-o", tmp_path / "m", *FAST]) == 0
    assert "few terms remain; --min-df 1" in capsys.readouterr().err
    np.savez(tmp_path / "zero.npz", X=np.zeros((3, 4), int))
    assert run(["fit", tmp_path / "zero.npz", "-o", tmp_path / "z", *FAST]) == 0
    assert "all counts are zero" in capsys.readouterr().err


def test_resume_of_a_finished_model(place: Path, capsys: Capture) -> None:
    before = {path.name: path.read_bytes() for path in (place / "model").iterdir()}
    capsys.readouterr()
    assert run(["resume", place / "model"]) == 0
    shown = capsys.readouterr()
    assert "model: finished already" in shown.err
    assert "next: pgbn topics" in shown.out
    assert before == {path.name: path.read_bytes() for path in (place / "model").iterdir()}


def test_two_writers_in_one_folder(place: Path, tmp_path: Path, capsys: Capture) -> None:
    """The second is refused before it reads anything; when the first is done, it is not."""
    with ThreadPoolExecutor(1) as other, locked(tmp_path / "m"):
        words = ["fit", str(place / "nowhere"), "-o", str(tmp_path / "m")]
        assert other.submit(run, words).result() == 1
        shown = capsys.readouterr().err
        assert f"{tmp_path / 'm'}: another process is writing there" in shown
        assert "another folder" in shown
    assert "no such file" in rejected(capsys, ["fit", place / "nowhere", "-o", tmp_path / "m"])


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
    assert run(["fit", tmp_path / "corpus", "-o", tmp_path / "a", *FAST]) == 0
    assert run(["fit", tmp_path / "d.txt", "-o", tmp_path / "b", *FAST, *counting]) == 0
    one, other = (pgbn.load(tmp_path / name).deepest for name in "ab")
    np.testing.assert_array_equal(one.phi[0], other.phi[0])
    assert one.vocabulary == other.vocabulary
    assert "name another folder" in rejected(
        capsys, ["corpus", "build", parts[0], "-o", tmp_path / "corpus"]
    )
    np.savez(tmp_path / "x.npz", X=np.eye(3, dtype=int))
    assert run(["corpus", "build", str(tmp_path / "x.npz"), "-o", str(tmp_path / "c"),
                "--min-df", "3"]) == 2  # fmt: skip
    assert "holds counts" in capsys.readouterr().err
    words = ["transform", tmp_path / "a", tmp_path / "corpus", "--burn-in", "3", "--draws", "3"]
    assert ask(capsys, *words, "-o", tmp_path / "f.npy")["documents"] == len(lines)
    rows = ask(capsys, *words)["rows"]  # all of it in memory
    np.testing.assert_allclose(np.load(tmp_path / "f.npy"), [row["features"] for row in rows], 1e-6)


def test_fit_ends_with_how_the_layers_read(place: Path, tmp_path: Path, capsys: Any) -> None:
    words = ["fit", place / "texts", "-o", tmp_path / "m", "--burn-in", 4, "--sweeps", 2,
             "--max-df", "1.0", "--max-width", "6,5"]  # fmt: skip
    found = ask(capsys, *words)
    assert found["widths"] == [6, 5]  # as many layers as there are numbers
    assert [layer["layer"] for layer in found["layers"]] == [1, 2]
    assert run([*words, "--overwrite"]) == 0
    said = capsys.readouterr()
    assert "layer 1: 6 topics, effectively" in said.out


def one_pair_of_five(model: Any) -> Any:
    """The second layer has duplicates while it has five topics."""
    return model.merge([(0, 1)], 2) if model.widths[1] == 5 else None


def test_twins_are_merged_where_each_layer_has_a_budget(
    place: Path, tmp_path: Path, capsys: Any, monkeypatch: Patch
) -> None:
    quality = import_module("pgbn.evaluation.layer_quality")  # a function has this name, too
    monkeypatch.setattr(quality, "merge_duplicates", one_pair_of_five)
    words = ["fit", place / "texts", "-o", tmp_path / "m", "--max-df", "1.0", "--burn-in", 3,
             "--sweeps", 2, "--keep-draws", 2, "--overwrite", "--max-width"]  # fmt: skip
    assert ask(capsys, *words, "6,5", "--keep-duplicates")["widths"] == [6, 5]
    found = ask(capsys, *words, "6,5")
    assert found["widths"] == [6, 4]
    assert found["stopped"].endswith("duplicates were merged, 6-5 to 6-4")
    saved = open_saved(tmp_path / "m")
    assert saved.record["arguments"]["max_width"] == [6, 5]
    assert saved.object.deepest.vocabulary is not None
    assert saved.object.deepest.sweeps == 60
    assert len(saved.object.deepest.draws["r"]) == 2
    assert len(saved.names or []) == 60
    assert ask(capsys, *words, "5", "--depth", 2)["widths"] == [5, 5]  # the paper's rule


def test_twins_are_merged_after_a_stop_too(
    place: Path, tmp_path: Path, capsys: Any, monkeypatch: Patch
) -> None:
    """Stopped in the training, and in the sweeps after merging: resumed, the bits are the same."""

    quality = import_module("pgbn.evaluation.layer_quality")  # a function has this name, too
    monkeypatch.setattr(quality, "merge_duplicates", one_pair_of_five)
    sweep, when = pgbn.Chain.sweep, {"sweeps": -1}

    def counting(chain: Any, *number: Any) -> Any:
        when["sweeps"] -= 1
        if when["sweeps"] == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return sweep(chain, *number)

    monkeypatch.setattr(pgbn.Chain, "sweep", counting)
    words = ["fit", str(place / "texts"), "--max-df", "1.0", "--burn-in", "3", "--sweeps", "2",
             "--max-width", "6,5", "-o"]  # fmt: skip
    assert run([*words, tmp_path / "whole"]) == 0
    whole = open_saved(tmp_path / "whole")
    assert whole.object.widths == (6, 4)
    for after, widths in ((7, None), (20, (6, 5))):  # of 10 in the training, and 50 after merging
        folder, when["sweeps"] = tmp_path / str(after), after
        assert run([*words, folder]) == 130
        assert f"pgbn resume {folder}" in capsys.readouterr().err
        assert widths is None or open_saved(folder).object.widths == widths
        assert run(["resume", folder]) == 0
        assert "finished already" not in capsys.readouterr().err
        again = open_saved(folder)
        assert again.object.stopped == whole.object.stopped
        assert again.record.keys() == whole.record.keys()
        assert np.array_equal(again.object.deepest.phi[1], whole.object.deepest.phi[1])
        assert run(["resume", folder]) == 0
        assert "finished already" in capsys.readouterr().err


def test_topics_stand_under_those_that_hold_most_of_them(place: Path) -> None:
    model = open_model(place / "model")
    network = model.network
    lines = hierarchy(network, model.vocabulary)
    themes = [line for line in lines if not line.startswith("    ")]
    upper, lower = (network.topics(layer, 6, model.vocabulary) for layer in (2, 1))
    assert [line.split("%  ")[1] for line in themes] == [" ".join(each.terms) for each in upper]
    weight = np.zeros(network.widths[1])
    weight[[each.index for each in upper]] = [each.weight for each in upper]
    above = (weight[:, None] * network.phi[1]).argmax(axis=0)
    theme, number, largest = -1, dict.fromkeys(range(len(weight)), 0), lower[0]
    for line in lines:
        if line in themes:
            place = themes.index(line)
            theme = upper[place].index
            continue
        share, words = line.split("%  ")[:2]
        words = re.sub(r"  \([\d.]+% in all\)$", "", words)
        assert float(share) <= float(themes[place].split("%")[0]), "no child is larger"
        assert theme in {above[each.index] for each in lower if " ".join(each.terms) == words}
        number[theme] += 1
    assert 0 < max(number.values()) <= 3
    assert any(" ".join(largest.terms) in line for line in lines)


def test_what_the_sweeps_are_good_for_is_said_before(capsys: Capture) -> None:
    announce(Settings((20, 5), 2, burn_in=300, sweeps=200))
    said = capsys.readouterr().err
    assert "1,000 sweeps: fine for exploring" in said
    assert "--burn-in 1000 --sweeps 500 (about 3 times as long)" in said
    announce(Settings(20, 1, burn_in=900, sweeps=500))
    assert "--sweeps 500, and compare several seeds" in capsys.readouterr().err
    announce(Settings(20, 1, burn_in=1000, sweeps=500))
    assert capsys.readouterr().err == "1,500 sweeps\n"


def test_fit_without_a_folder(
    place: Path, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["fit", str(place / "texts"), "--max-df", "1.0", "--max-width", "4",
                        "--depth", "1", "--burn-in", "2", "--sweeps", "2"]) == 0  # fmt: skip
    assert "4 sweeps: fine for exploring" in capsys.readouterr().err
    assert open_model(tmp_path / "model").network.depth == 1


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "news.jsonl"
    rows = [
        {
            "body": text,
            "id": name,
            "published": f"2019-0{1 + n % 9}-15",
            "category": "sea" if n % 3 else "law",
        }
        for n, (name, text) in enumerate(texts().items())
    ]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def test_columns_reach_the_page(table: Path, tmp_path: Path, capsys: Capture) -> None:
    model = tmp_path / "m"
    kept = ["--text-column", "body", "--keep-texts", "--name-column", "id",
            "--date-column", "published", "--class-column", "category"]  # fmt: skip
    words = ["fit", str(table), "-o", str(model), *FAST, "--max-df", "1.0"]
    assert run([*words, *kept]) == 0
    saved = open_saved(model)
    assert saved.names == list(texts())
    assert saved.columns["text"] == list(texts().values())
    assert saved.columns["date"][:2] == ["2019-01-15", "2019-02-15"]
    assert saved.columns["class"][:2] == ["law", "sea"]
    ask(
        capsys,
        "report",
        model,
        "-o",
        tmp_path / "r.html",
        "--held-out",
        table,
        "--text-column",
        "body",
    )
    page = (tmp_path / "r.html").read_text("utf-8")
    assert '<h1 dir="auto">Topics in news.jsonl</h1>' in page
    assert "Over time: published" in page
    assert "By class: category" in page
    held = re.search(r"Held-out perplexity.*?: ([\d.]+) with 1 layer, ([\d.]+) with 2 layers", page)
    assert held is not None
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])  # type: ignore[index]
    assert data["groups"]["class"]["labels"] == ["sea", "law"]
    packed = zlib.decompress(base64.b64decode(data["documents"]["data"])).decode()
    assert "harbour" in packed
    assert run([*words, "--overwrite", "--text-column", "body"]) == 0
    assert open_saved(model).columns == {}, "texts are kept only when they are asked for"
    assert run([*words, "--overwrite", "--text-column", "body", "--keep-texts"]) == 0
    assert list(open_saved(model).columns) == ["text"]


@pytest.mark.parametrize(("options", "code", "said"), [
        (["--text-column", "body", "--date-column", "day"], 2, "but: body, id, published, category"),
    (["--text-column", "body", "--class-column", "category", "--name-column", "name"], 2,
     "--name-column name"),
    (["--text-column", "body", "--class-column", "kind"], 2, "--class-column kind"),
    (["--text-column", "body", "--date-column", "category"], 1, "'law' of document 0 is not a date"),
])  # fmt: skip
def test_wrong_columns_are_refused(
    table: Path, tmp_path: Path, capsys: Capture, options: list[str], code: int,
    said: str,
) -> None:  # fmt: skip
    assert run(["fit", str(table), "-o", str(tmp_path / "m"), *FAST, *options]) == code
    shown = " ".join(capsys.readouterr().err.split())
    assert said in re.sub(r"[│╭╮╰╯─]", "", shown).replace("  ", " ")
    assert not (tmp_path / "m").exists()


def test_what_has_no_columns(place: Path, tmp_path: Path, capsys: Capture) -> None:
    fit = ["fit", "-o", str(tmp_path / "m"), *FAST]
    assert "has no columns" in rejected(capsys, [*fit, place / "texts", "--date-column", "day"], 2)
    assert "holds counts, not texts" in rejected(
        capsys, [*fit, place / "counts.npz", "--keep-texts"]
    )
    assert "tell how --held-out is read" in rejected(
        capsys, ["report", place / "model", "--text-column", "x"]
    )


def test_fit_quick(place: Path, tmp_path: Path, capsys: Capture) -> None:
    """A point estimate is a model for all other commands."""
    found = ask(capsys, "fit", place / "texts", "-o", tmp_path / "q", "--quick", "--max-width", "6,3",
                "--min-df", 2, "--max-df", "1.0", "--sweeps", 20)  # fmt: skip
    assert found["stopped"].startswith("an estimate that")
    assert len(ask(capsys, "topics", tmp_path / "q")) == sum(found["widths"])
    ask(capsys, "transform", tmp_path / "q", place / "texts", "-o", tmp_path / "f.csv",
        "--burn-in", 5, "--draws", 5)  # fmt: skip
    assert len((tmp_path / "f.csv").read_text().splitlines()) == 61
    ask(capsys, "report", tmp_path / "q", "-o", tmp_path / "r.html")
