"""The commands that use a model, and that name its topics."""

from __future__ import annotations

import csv
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.cli.models import Model, open_model
from pgbn.storage import open_saved
from tests.helpers.commands import Capture, Patch, ask, rejected, run
from tests.helpers.corpora import WORDS


def test_topics(place: Path, capsys: Capture) -> None:
    found = ask(capsys, "topics", place / "model", "--layer", 1, "--top", 5)
    themes = [set(words.split()) for words in WORDS.values()]
    top = [set(topic["terms"]) - {"größe", "naïve"} for topic in found[:3]]
    assert all(any(terms <= theme for theme in themes) for terms in top)
    assert sum(topic["weight"] for topic in found) == pytest.approx(1.0)
    assert run(["topics", place / "model", "-n", "2"]) == 0
    text = capsys.readouterr().out
    assert "Layer 2" in text
    assert "Layer 1" in text


def test_transform(place: Path, tmp_path: Path, capsys: Capture) -> None:
    model = place / "model"
    found = ask(capsys, "transform", model, place / "texts")
    features = np.array([row["features"] for row in found["rows"]])
    assert np.allclose(features.sum(axis=1), 1.0)
    names = [row["document"] for row in found["rows"]]
    for name in ("f.csv", "f.npy", "f.npz"):
        facts = ask(capsys, "transform", model, place / "texts", "-o", tmp_path / name)
        assert facts["documents"] == 60
    assert np.array_equal(np.load(tmp_path / "f.npy"), features)
    with np.load(tmp_path / "f.npz") as file:
        assert np.array_equal(file["features"], features)
        assert file["documents"].tolist() == names
    rows = list(csv.reader((tmp_path / "f.csv").open(encoding="utf-8")))
    assert rows[0] == ["document", *found["columns"]]
    assert np.allclose(np.array(rows[1:])[:, 1:].astype(float), features, atol=1e-5)
    assert run(["transform", model, place / "texts"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("document,layer1_topic0")
    every = ask(capsys, "transform", model, place / "named.npz", "--concat")
    widths = open_saved(model).object.widths
    assert len(every["columns"]) == sum(widths)


def test_unknown_terms_are_reported(place: Path, tmp_path: Path, capsys: Capture) -> None:
    np.savez(tmp_path / "x.npz", X=np.array([[3, 1]]), vocabulary=np.array(["ship", "spaceship"]))
    assert run(["transform", place / "model", tmp_path / "x.npz"]) == 0
    assert "1 unknown terms with 1 counts were dropped" in capsys.readouterr().err


def test_the_other_commands(place: Path, tmp_path: Path, capsys: Capture) -> None:
    model = place / "model"
    found = ask(capsys, "perplexity", model, place / "texts")
    assert 2.0 < found["perplexity"] < 23.0
    assert run(["perplexity", model, place / "texts"]) == 0
    said = capsys.readouterr().out
    assert f"held-out tokens of {found['documents']} documents, given 50% of each" in said
    drawn = ask(capsys, "generate", model, "-n", 3, "--length", 40)
    assert [sum(document.values()) for document in drawn] == [40, 40, 40]
    assert ask(capsys, "generate", model, "-n", 3, "--length", 40) == drawn
    assert "θ⁽²⁾" in ask(capsys, "explain", model)["text"]
    network = tmp_path / "network.json"
    network.write_text(pgbn.zoo.pfa(3).to_json())
    for form, start in (("latex", r"\documentclass"), ("html", "<!DOCTYPE html>")):
        assert ask(capsys, "explain", network, "--format", form)["text"].startswith(start)
    facts = ask(capsys, "info", model)
    assert (facts["kind"], facts["documents"]) == ("training", 60)
    page = ask(capsys, "report", model, "-o", tmp_path / "r.html")
    assert page["bytes"] == (tmp_path / "r.html").stat().st_size
    assert "harbour" in (tmp_path / "r.html").read_text("utf-8")
    for words in (["generate", str(model)], ["explain", str(model)], ["info", str(model)],
                  ["perplexity", str(model), str(place / "plain.txt")]):  # fmt: skip
        capsys.readouterr()
        assert run(words) == 0
        assert capsys.readouterr().out.strip()


def test_generated_documents_are_as_long_as_those_of_the_training(
    place: Path, capsys: Capture
) -> None:
    lengths = open_saved(place / "model").data.sum(axis=1)
    drawn = ask(capsys, "generate", place / "model", "-n", 8)
    assert {sum(document.values()) for document in drawn} <= set(lengths.tolist())


@pytest.mark.parametrize(("name", "begins"), [
    ("d.tex", r"\documentclass"), ("d.html", "<!DOCTYPE html>"), ("d.md", "#"),
])  # fmt: skip
def test_the_suffix_chooses_the_format_of_a_derivation(
    tmp_path: Path, name: str, begins: str, capsys: Capture
) -> None:
    (tmp_path / "net.json").write_text(pgbn.zoo.pfa(3).to_json())
    facts = ask(capsys, "explain", tmp_path / "net.json", "-o", tmp_path / name)
    assert facts["output"] == str(tmp_path / name)
    assert (tmp_path / name).read_text("utf-8").startswith(begins)
    told = rejected(capsys, ["explain", tmp_path / "net.json", "-o", tmp_path / "d.pdf"], 2)
    assert "the name must end in .txt, .md, .tex or .html" in told


def test_results_as_files(place: Path, tmp_path: Path, capsys: Capture) -> None:
    """Every command whose result is a table writes it to a .csv file; other names are refused
    before any work."""
    model, to = place / "model", tmp_path / "result.csv"

    def rows_of(*words: object) -> list[dict[str, str]]:
        facts = ask(capsys, *words, "-o", to)
        rows = list(csv.DictReader(to.open(encoding="utf-8")))
        assert facts["output"] == str(to)
        assert len(rows) in facts.values()
        return rows

    topics = rows_of("topics", model, "--layer", 1)
    assert [row["terms"] for row in topics] == [
        " ".join(topic["terms"]) for topic in ask(capsys, "topics", model, "--layer", 1)
    ]
    assert {"fact": "documents", "value": "60"} in rows_of("info", model)
    found = ask(capsys, "perplexity", model, place / "texts")
    (row,) = rows_of("perplexity", model, place / "texts")
    assert float(row["perplexity"]) == pytest.approx(found["perplexity"])
    drawn = ask(capsys, "generate", model, "-n", 2, "--length", 40)
    rows = rows_of("generate", model, "-n", 2, "--length", 40)
    assert [(row["term"], int(row["count"])) for row in rows if row["document"] == "2"] == [
        *drawn[1].items()
    ]
    for words in (["info"], ["topics"], ["generate"]):
        assert "must end in .csv" in rejected(
            capsys, [*words, model, "-o", tmp_path / "result.txt"], 2
        )


def test_other_kinds_of_models(tmp_path: Path, capsys: Capture) -> None:
    pgbn.save(pgbn.zoo.pfa(3), tmp_path / "network")
    pgbn.save(pgbn.zoo.pfa(3).chain({"x": np.eye(4, dtype=int)}, 7).sweep(5), tmp_path / "chain")
    pgbn.save(pgbn.PGBN(), tmp_path / "estimator")
    assert ask(capsys, "info", tmp_path / "network")["kind"] == "network"
    assert ask(capsys, "info", tmp_path / "chain")["sweeps"] == 5
    assert ask(capsys, "info", tmp_path / "estimator")["kind"] == "estimator"
    for kind in ("network", "chain"):
        assert ask(capsys, "explain", tmp_path / kind)["text"]
        assert "needs a trained model" in rejected(capsys, ["topics", tmp_path / kind])
    assert "not fitted" in rejected(capsys, ["explain", tmp_path / "estimator"])


def test_info_of_what_is_no_belief_network(tmp_path: Path, capsys: Capture) -> None:
    X = np.random.default_rng(0).poisson(1.0, (8, 5))
    grown = pgbn.train_layerwise({"x": X}, 3, 1, burn_in=2, sweeps=2, family=pgbn.zoo.pgbn)
    pgbn.save(grown, tmp_path / "grown")
    facts = ask(capsys, "info", tmp_path / "grown")
    assert (facts["kind"], facts["widths"]) == ("training", list(grown.widths))
    assert (facts["sweeps"], facts["link"]) == (4, None)
    assert run(["resume", tmp_path / "grown"]) == 0
    assert "next: pgbn info" in capsys.readouterr().out
    transformer = pgbn.NetworkTransformer(pgbn.zoo.lda(2), features="theta", burn_in=2, draws=2)
    transformer.fit(X)
    pgbn.save(transformer, tmp_path / "transformer")
    assert ask(capsys, "info", tmp_path / "transformer")["kind"] == "transformer"


def test_empty_documents_are_called_as_in_the_results(
    place: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "new.txt").write_text("ship wave\nzzz qqq\noven", "utf-8")
    assert run(["transform", place / "model", tmp_path / "new.txt"]) == 0
    shown = capsys.readouterr()
    assert "1 of 3 documents have no known term: 2; their" in shown.err
    assert shown.err.count("no known term") == 1
    assert [row.partition(",")[0] for row in shown.out.splitlines()[1:]] == ["1", "2", "3"]


@pytest.fixture
def model(place: Path, tmp_path: Path) -> Path:
    """A model of one's own, to be changed."""
    return Path(shutil.copytree(place / "model", tmp_path / "model"))


def test_names_by_hand_and_by_words_stand_in_all_lists(model: Path, capsys: Capture) -> None:
    before = open_saved(model)
    theme, words = next(iter(WORDS.items()))
    first, second = words.split()[:2]
    found = ask(
        capsys,
        "label",
        model,
        "layer2_topic0=upper part",
        "--keyword",
        f"{theme}={first}, {second}",
    )
    assert found.pop("layer2_topic0") == "upper part"
    ((place, name),) = found.items()
    assert name == theme
    topics = {each["topic"]: each for each in ask(capsys, "topics", model)}
    assert topics[place]["label"] == theme
    assert first in topics[place]["terms"]
    after = open_saved(model)
    assert (after.names, after.record, after.columns) == (
        before.names, before.record, before.columns
    )  # fmt: skip
    assert (after.data != before.data).nnz == 0
    np.testing.assert_array_equal(after.object.deepest.phi[0], before.object.deepest.phi[0])
    assert ask(capsys, "label", model, "layer2_topic0=") == {place: theme}
    assert run(["label", model]) == 0
    assert capsys.readouterr().out.strip() == f"{place} {theme}"
    ask(capsys, "label", model, "-o", model.parent / "names.csv")
    assert (model.parent / "names.csv").read_text() == f"topic,label\n{place},{theme}\n"


@pytest.mark.parametrize(("words", "code", "told"), [
    (["1/0=weather"], 2, "such as layer1_topic0=weather"),
    (["layer1_topic0"], 2, "such as layer1_topic0=weather"),
    (["layer1_topic" + "9" * 5000 + "=weather"], 2, "such as layer1_topic0=weather"),
    (["layer9_topic0=weather"], 1, "layers"),
    (["layer1_topic999=weather"], 1, "999"),
    (["--keyword", "weather"], 2, "such as weather=rain,sun"),
    (["--keyword", "sky=zzz"], 1, "'zzz' is not a term"),
])  # fmt: skip
def test_what_is_no_name_is_refused(
    model: Path, capsys: Capture, words: list[str], code: int, told: str
) -> None:
    assert run(["label", str(model), *words]) == code
    assert told in capsys.readouterr().err


def test_an_estimator_keeps_its_names(tmp_path: Path, capsys: Capture) -> None:
    X = np.random.default_rng(0).poisson(1.0, (12, 8))
    fitted = pgbn.PGBN((4, 3), burn_in=3, sweeps=2, random_state=0, min_width=1).fit(X)
    pgbn.save(fitted, tmp_path / "model", vocabulary=[f"w{v}" for v in range(8)])
    assert run(["label", tmp_path / "model"]) == 0
    assert "no topic has a label" in capsys.readouterr().out
    assert ask(capsys, "label", tmp_path / "model", "layer1_topic0=one") == {"layer1_topic0": "one"}
    loaded = pgbn.load(tmp_path / "model")
    assert {topic.label for topic in loaded.topics(1)} == {"", "one"}
    assert ask(capsys, "label", tmp_path / "model", "layer1_topic0=") == {}


def test_a_name_is_one_line_of_the_list(model: Path, capsys: Capture) -> None:
    assert run(["label", model, "layer1_topic0=a\nlayer2_topic0 b"]) == 0
    assert capsys.readouterr().out == "layer1_topic0 a\\nlayer2_topic0 b\n"


@pytest.mark.parametrize("file", ["", "model.json"])
def test_nobody_else_writes_between_reading_and_saving(
    model: Path, file: str, monkeypatch: Patch, capsys: Capture
) -> None:
    """Of two who label at once, one is refused: else the names of the first would be lost."""
    others: list[Any] = []

    def opened(path: Path) -> Model:
        found = open_model(path)
        with ThreadPoolExecutor(1) as pool:  # as another process
            others.append(pool.submit(pgbn.save, found.network, model).exception())
        return found

    monkeypatch.setattr("pgbn.cli.models.open_model", opened)
    assert run(["label", model / file, "layer1_topic0=mine"]) == 0
    assert "another process is writing there" in str(others[0])
    assert capsys.readouterr().out == "layer1_topic0 mine\n"
    assert run(["label", model]) == 0
    assert others[1] is None  # to look at names locks nothing
