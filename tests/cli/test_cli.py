"""The command line, from data in files to results, and what it says when something is wrong."""

from __future__ import annotations

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

pytest.importorskip("typer")
pytest.importorskip("sklearn")

import pgbn
from pgbn import checkpoint
from pgbn.cli import run_command as run
from pgbn.corpus import count_terms, read_corpus
from pgbn.docstrings import docstrings
from pgbn.errors import DataError
from pgbn.report import report_data
from pgbn.storage import open_saved

WORDS = {
    "sea": "ship wave storm sail harbour anchor captain",
    "kitchen": "butter flour oven sugar recipe spoon plate",
    "law": "court judge verdict appeal statute witness jury",
}
FAST = ["--burn-in", "20", "--collect", "10", "--max-width", "8", "--depth", "2"]


def texts(number: int = 60) -> dict[str, str]:
    rng = np.random.default_rng(0)
    themes = list(WORDS.values())
    out = {}
    for n in range(number):
        words = themes[n % 3].split()
        out[f"doc{n}"] = " ".join(rng.choice(words, 30)) + ". Größe naïve"
    return out


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same texts in every format, and a model."""
    place = tmp_path_factory.mktemp("cli")
    (place / "texts").mkdir()
    for name, text in texts().items():
        (place / "texts" / f"{name}.txt").write_text(text, "utf-8")
    (place / "texts" / ".hidden").write_bytes(b"\xff\xfe")
    with (place / "table.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "review"])
        writer.writerows(texts().items())
    lines = [json.dumps({"id": name, "review": text}) for name, text in texts().items()]
    with gzip.open(place / "lines.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    (place / "plain.txt").write_text("\n".join(texts().values()), "utf-8")
    corpus = count_terms(texts())
    scipy.io.mmwrite(place / "counts.mtx", sp.coo_array(corpus.counts))
    sp.save_npz(place / "counts.npz", sp.csr_matrix(corpus.counts))
    np.savez(place / "named.npz", X=corpus.counts.toarray(), vocabulary=np.array(corpus.vocabulary))
    from sklearn.datasets import dump_svmlight_file

    dump_svmlight_file(corpus.counts, np.zeros(60), str(place / "counts.svmlight"))
    (place / "terms.txt").write_text("\n".join(corpus.vocabulary or []), "utf-8")
    assert (
        run(["fit", str(place / "texts"), "-o", str(place / "model"), *FAST, "--max-df", "1.0"])
        == 0
    )
    return place


def ask(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    """The JSON that a command prints."""
    capsys.readouterr()
    code = run([*map(str, words), "--json"])
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return json.loads(shown.out)


# ---- reading --------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "options"), [
    ("texts", {}), ("table.csv", {"column": "review", "label": "id"}),
    ("lines.jsonl.gz", {"column": "review", "label": "id"}), ("plain.txt", {}),
    ("counts.mtx", {"terms": "terms.txt"}), ("counts.npz", {"terms": "terms.txt"}),
    ("named.npz", {}), ("counts.svmlight", {"terms": "terms.txt"}),
])  # fmt: skip
def test_formats(place: Path, name: str, options: dict[str, Any]) -> None:
    if "terms" in options:
        options = {"terms": place / options["terms"]}
    corpus, expected = read_corpus(place / name, **options), count_terms(texts())
    assert corpus.vocabulary == expected.vocabulary
    order = np.argsort(corpus.labels) if name == "texts" else np.arange(60)
    wanted = np.argsort([f"{n}.txt" for n in texts()]) if name == "texts" else order
    assert np.array_equal(corpus.counts.toarray()[order], expected.counts.toarray()[wanted])
    assert corpus.counts.dtype == np.int64
    if "label" in options:
        assert corpus.labels == list(texts())


def test_vectorizer_options(place: Path) -> None:
    corpus = read_corpus(place / "texts", min_df=15, max_features=10, ngram_range=(1, 2),
                         stop_words=["ship"], lowercase=False)  # fmt: skip
    assert corpus.vocabulary is not None
    assert len(corpus.vocabulary) == 10
    assert "ship" not in corpus.vocabulary
    assert (
        "Größe naïve"
        in read_corpus(place / "texts", lowercase=False, ngram_range=(2, 2)).vocabulary
    )


def test_bad_data(tmp_path: Path) -> None:
    def wrong(name: str, data: bytes, words: str, **options: Any) -> None:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DataError, match=words):
            read_corpus(tmp_path / name, **options)

    wrong("a.csv", b"id,txt\n1,hello", r"no column 'text'.*mean 'txt'")
    wrong("b.csv", b"", "no column 'text'")
    wrong("c.csv", b"text\n\xff\xfe", "not utf-8 at byte.*latin-1")
    wrong("d.jsonl", b'{"text": "a b"}\n{oops', "line 2 is not JSON")
    wrong("e.jsonl", b'{"text": 3}', "line 1 has no text 'text'")
    wrong("f.jsonl", b"[" * 100_000, "line 1 is not JSON")
    wrong("g.txt", b"", "no documents")
    wrong("h.txt", b"the a of", "no terms could be counted", stop_words="english")
    wrong("i.txt", b"hello you", "no terms could be counted.*token_pattern", token_pattern="(")
    wrong("j.txt", b"hello you", "no terms could be counted.*min_df", min_df=-3)
    wrong("k.mtx", b"%%MatrixMarket nonsense", "not a matrix in the format mtx")
    wrong(
        "l.mtx", b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n9 9 1\n", "format mtx"
    )
    wrong("m.npz", b"PK\x03\x04 nonsense", "not a matrix in the format npz")
    wrong("n.svmlight", b"1 a:b\n", "format svmlight")
    wrong("o.xyz", b"", "unknown kind of file; name its format")
    wrong("p.txt", b"a", "is not known", format="exel")
    wrong("q.txt", b"caf\xe9 bar", "nonsense", encoding="nonsense")
    wrong("r.jsonl.gz", b"not gzip", "cannot be read")
    np.savez(tmp_path / "s.npz", X=np.array([{"a": 1}], object))
    with pytest.raises(DataError, match="format npz"):
        read_corpus(tmp_path / "s.npz")
    np.savez(tmp_path / "t.npz", a=np.ones(3), b=np.ones(3))
    with pytest.raises(DataError, match="no array 'X'"):
        read_corpus(tmp_path / "t.npz")
    np.savez(tmp_path / "u.npz", X=np.full((2, 2), np.nan))
    with pytest.raises(DataError, match="not finite"):
        read_corpus(tmp_path / "u.npz")
    with pytest.raises(DataError, match="no such file"):
        read_corpus(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no documents"):
        read_corpus(tmp_path / "empty")
    matrix = sp.csr_matrix(np.eye(3))
    matrix.indices = matrix.indices + 9
    sp.save_npz(tmp_path / "v.npz", matrix)
    with pytest.raises(DataError):
        read_corpus(tmp_path / "v.npz")


@pytest.mark.parametrize(("name", "line"), [
    ("a.txt.gz", b"sea ship sail\n"), ("b.csv.gz", b'text,\n"sea",\n'),
    ("c.jsonl.gz", b'{"text": "sea ship"}\n'), ("d.mtx.gz", b"% a comment\n"),
    ("e.svmlight.gz", b"0 1:1 2:1\n"), ("f.txt", b"sea ship sail\n"),
])  # fmt: skip
def test_what_unpacks_to_more_than_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, line: bytes
) -> None:
    """A small file of two megabytes, where a quarter of the memory is one."""
    header = b"%%MatrixMarket matrix coordinate integer general\n" if "mtx" in name else b""
    data = header + line * (2_000_000 // len(line))
    (tmp_path / name).write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    monkeypatch.setattr("pgbn.storage.bounded.memory", lambda: 4_000_000)
    with pytest.raises(DataError, match=rf"{name}: .*more than 0\.0 GB.*give a part"):
        read_corpus(tmp_path / name)


def test_packed_matrices(place: Path, tmp_path: Path) -> None:
    for name in ("counts.mtx", "counts.svmlight"):
        packed = tmp_path / f"{name}.gz"
        packed.write_bytes(gzip.compress((place / name).read_bytes()))
        one, two = read_corpus(packed), read_corpus(place / name)
        assert np.array_equal(one.counts.toarray(), two.counts.toarray())


def test_a_folder_larger_than_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(3):
        (tmp_path / f"{n}.txt").write_text("sea ship " * 1000)
    (tmp_path / "x.csv").write_text("text\n" + "sea\n" * 1000)  # small texts take room too
    for module in ("memory", "corpus"):
        monkeypatch.setattr(f"pgbn.storage.{module}.memory", lambda: 60_000)
    for path in (tmp_path, tmp_path / "x.csv"):
        with pytest.raises(DataError, match="its documents would need"):
            read_corpus(path)


def test_docstrings() -> None:
    found = docstrings()
    assert len(found) > 2000
    assert "singular" in found["numpy.linalg.svd"].lower()
    assert len(set(found.values())) == len(found)
    assert not any("tests" in name.split(".") for name in found)


# ---- commands -------------------------------------------------------------------------


def test_fit_and_what_is_saved(place: Path) -> None:
    saved = open_saved(place / "model")
    assert saved.vocabulary is not None
    assert {"ship", "oven", "jury", "größe"} <= set(saved.vocabulary)
    assert saved.data.shape == (60, len(saved.vocabulary))
    assert len(saved.labels or []) == 60
    assert saved.record["arguments"]["burn_in"] == 20
    assert saved.object.deepest.depth == 2


def test_topics(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ask(capsys, "topics", place / "model", "--layer", 1, "--top", 5)
    themes = [set(words.split()) for words in WORDS.values()]
    top = [set(topic["terms"]) - {"größe", "naïve"} for topic in found[:3]]
    assert all(any(terms <= theme for theme in themes) for terms in top)
    assert sum(topic["weight"] for topic in found) == pytest.approx(1.0)
    assert run(["topics", str(place / "model"), "-n", "2"]) == 0
    text = capsys.readouterr().out
    assert "Layer 2" in text
    assert "Layer 1" in text


def test_transform(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert run(["transform", str(model), str(place / "texts")]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("document,layer1_topic0")
    every = ask(capsys, "transform", model, place / "named.npz", "--concat")
    widths = open_saved(model).object.widths
    assert len(every["columns"]) == sum(widths)


def test_unknown_terms_are_reported(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "x.npz", X=np.array([[3, 1]]), vocabulary=np.array(["ship", "spaceship"]))
    assert run(["transform", str(place / "model"), str(tmp_path / "x.npz")]) == 0
    assert "1 unknown terms with 1 counts were dropped" in capsys.readouterr().err


def test_the_other_commands(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = place / "model"
    found = ask(capsys, "perplexity", model, place / "texts")
    assert 2.0 < found["perplexity"] < 23.0
    drawn = ask(capsys, "generate", model, "-n", 3, "--length", 40)
    assert [sum(document.values()) for document in drawn] == [40, 40, 40]
    assert ask(capsys, "generate", model, "-n", 3, "--length", 40) == drawn
    assert "θ⁽²⁾" in ask(capsys, "explain", model)["text"]
    network = tmp_path / "network.json"
    network.write_text(pgbn.zoo.pfa(3).to_json())
    assert ask(capsys, "explain", network, "--format", "latex")["text"]
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


def test_other_kinds_of_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pgbn.save(pgbn.zoo.pfa(3), tmp_path / "network")
    pgbn.save(pgbn.zoo.pfa(3).chain({"x": np.eye(4, dtype=int)}, 7).sweep(5), tmp_path / "chain")
    pgbn.save(pgbn.PGBN(), tmp_path / "estimator")
    assert ask(capsys, "info", tmp_path / "network")["kind"] == "network"
    assert ask(capsys, "info", tmp_path / "chain")["sweeps"] == 5
    assert ask(capsys, "info", tmp_path / "estimator")["kind"] == "estimator"
    for kind in ("network", "chain"):
        assert ask(capsys, "explain", tmp_path / kind)["text"]
        assert run(["topics", str(tmp_path / kind)]) == 1
        assert "needs a trained model" in capsys.readouterr().err
    assert run(["explain", str(tmp_path / "estimator")]) == 1
    assert "not fitted" in capsys.readouterr().err


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


# ---- what can go wrong ----------------------------------------------------------------


@pytest.mark.parametrize(("words", "code", "says"), [
    (["topics", "nowhere"], 1, "nowhere: no saved model there"),
    (["topics", "MODEL", "--layer", "9"], 1, "layers are numbered from 1 to 2"),
    (["topics", "MODEL", "--layer", "x"], 2, "layer"),
    (["topics", "MODEL", "--top", "0"], 2, "top"),
    (["topic"], 2, "topic"),
    (["fit", "TEXTS"], 2, "output"),
    (["fit"], 2, "see pgbn fit --help"),
    (["fit", "TEXTS", "-o", "MODEL"], 1, "there is a model already"),
    (["fit", "TEXTS", "-o", "NEW", "--burn-in", "many"], 2, "--burn-in 'many'"),
    (["fit", "TEXTS", "-o", "NEW", "--burn-in", "5,5"], 2, "--burn-in 5,5: 2 numbers"),
    (["fit", "TEXTS", "-o", "NEW", "--eta", "1,1,1,1"], 2, "--eta 1,1,1,1: 4 numbers"),
    (["fit", "TEXTS", "-o", "NEW", "--minutes", "-1"], 2, "minutes': -1 is not"),
    (["fit", "TEXTS", "-o", "NEW", "--minutes", "nan"], 2, "minutes': nan is not"),
    (["fit", "TEXTS", "-o", "NEW", "--column", "review"], 1, "column='review'"),
    (["fit", "PLAIN", "-o", "NEW", "--label", "id"], 1, "label='id'"),
    (["fit", "TEXTS", "-o", "NEW", "--terms", "PLAIN"], 1, "has texts"),
    (["fit", "COUNTS", "-o", "NEW", "--max-features", "9"], 1, "--max-features: only for texts"),
    (["fit", "COUNTS", "-o", "NEW", "--stop-words", "none"], 1, "--stop-words: only for texts"),
    (["fit", "TEXTS", "-o", "NEW", "--collect", "0"], 2, "--collect 0: give whole numbers above 0"),
    (["fit", "TEXTS", "-o", "NEW", "--ngrams", "0"], 2, "'--ngrams'"),
    (["transform", "MODEL", "TEXTS", "--samples", "0"], 2, "'--samples'"),
    (["resume", "MODEL", "--minutes", "nan"], 2, "minutes': nan is not"),
    (["demo", "-o", "MODEL"], 1, "not of the demo"),
    (["demo", "-o", "NEW", "--sweeps", "0"], 2, "'--sweeps'"),
    (["report", "MODEL", "MODEL"], 1, "the same chain as"),
    (["fit", "TEXTS", "-o", "NEW", "--depth", "0"], 2, "'--depth'"),
    (["fit", "TEXTS", "-o", "NEW", "--max-width", "-3"], 2, "'--max-width'"),
    (["fit", "TEXTS", "-o", "NEW", "--eta", "-1"], 2, "--eta -1: give finite numbers above 0"),
    (["fit", "TEXTS", "-o", "NEW", "--link", "cauchy"], 2, "--link='cauchy'"),
    (["fit", "TEXTS", "-o", "NEW", "--seed", "-1"], 2, "seed=-1"),
    (["fit", "TEXTS", "-o", "NEW", "--threads", "0"], 2, "'--threads'"),
    (["fit", "TEXTS", "-o", "NEW", "--min-df", "lots"], 2, "--min-df 'lots'"),
    (["fit", "TEXTS", "-o", "NEW", "--stop-words", "klingon"], 2, "--stop-words klingon"),
    (["fit", "nowhere", "-o", "NEW"], 1, "no such file"),
    (["fit", "TEXTS", "-o", "PLAIN"], 1, "could not be written"),
    (["transform", "MODEL", "TEXTS", "-o", "x.doc"], 2, "must end in .csv"),
    (["transform", "MODEL", "TEXTS", "--layer", "1", "--concat"], 2, "--layer 1 is one layer"),
    (["transform", "MODEL", "TEXTS", "-o", "no/x.csv"], 1, "no/x.csv: could not be written (no"),
    (["transform", "MODEL", "TEXTS", "--layer", "0"], 2, "'--layer'"),
    (["transform", "MODEL", "TEXTS", "--format", "xyz"], 2, "'xyz' is none of the choices. Known: csv, folder"),
    (["perplexity", "MODEL", "TEXTS", "--encoding", "nonsense"], 2, "unknown encoding: nonsense"),
    (["topics", "MODEL", "--layer", "0"], 2, "'--layer'"),
    (["perplexity", "MODEL", "TEXTS", "--fraction", "2"], 2, "fraction': 2 does not lie between 0 and 1"),
    (["generate", "MODEL", "--c", "mode"], 2, "'mode' is none of the choices"),
    (["explain", "MODEL", "--format", "word"], 2, "'word' is none of the choices. Known: latex"),
    (["explain", "PLAIN"], 1, "plain.txt"),
    (["report", "MODEL", "-o", "nowhere/r.html"], 1, "nowhere/r.html: could not be written (no"),
    (["report", "MODEL", "-o", "."], 1, "it is a folder"),
    (["fit", "TEXTS", "-o", "NEW", "--eta", "inf"], 2, "--eta inf: give finite numbers above 0"),
    (["fit", "TEXTS", "-o", "NEW", "--token-pattern", "["], 2, "'[' is no regular expression"),
    (["fit", "TEXTS", "-o", "NEW", "--min-df", "0"], 2, "--min-df 0: give a number of documents"),
    (["fit", "TEXTS", "-o", "NEW", "--max-df", "0.0"], 2, "--max-df 0.0 leaves out all terms"),
    (["resume", "MODEL"], 1, "nothing to resume"),
])  # fmt: skip
def test_errors_in_one_line(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                            words: list[str], code: int, says: str,
                            monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    known = {"MODEL": place / "model", "TEXTS": place / "texts", "NEW": tmp_path / "new",
             "PLAIN": place / "plain.txt", "COUNTS": place / "counts.npz"}  # fmt: skip
    arguments = [str(known.get(word, word)) for word in words]
    capsys.readouterr()
    assert run(arguments) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    last = shown.err.strip().splitlines()[-1]
    assert last.startswith("pgbn: ")
    assert says in last
    assert "Traceback" not in shown.err
    assert run([*arguments, "--json"]) == code
    assert says in json.loads(capsys.readouterr().out)["error"]


@pytest.mark.parametrize("words", [
    "--burn-in a,b", "--burn-in 0", "--collect 5,5", "--eta -1", "--max-width 0", "--depth 101",
    "--link foo", "--seed -1", "--threads 0", "--minutes -1", "--max-df much", "--max-features 0",
    "--min-df 0", "--min-df 1.5", "--min-df nan", "--min-df -1", "--max-df 0.0", "--max-df 0",
    "--token-pattern [", "--token-pattern (a)(b)", "--format xyz", "--encoding nonsense",
    "--encoding hex",
])  # fmt: skip
def test_nothing_is_read_before_the_options_are_right(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    def read(*arguments: Any, **options: Any) -> None:
        pytest.fail("the data were read")

    monkeypatch.setattr("pgbn.cli.train.read_corpus", read)
    assert run(["fit", str(place / "texts"), "-o", str(tmp_path / "m"), *words.split()]) == 2


@pytest.mark.parametrize("words", [
    ["transform", "MODEL", "TEXTS", "-o", "no/x.csv"], ["report", "MODEL", "-o", "no/x.html"],
    ["perplexity", "MODEL", "TEXTS", "--format", "xyz"],
])  # fmt: skip
def test_nothing_is_done_before_the_target_is_known_to_be_there(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    def work(*arguments: Any, **options: Any) -> None:
        pytest.fail("the model was read")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pgbn.cli.models.open_model", work)
    known = {"MODEL": place / "model", "TEXTS": place / "texts"}
    assert run([str(known.get(word, word)) for word in words]) in (1, 2)


@pytest.mark.parametrize("share", ["1.0", "0.0", "3"])
def test_shares_and_numbers_of_documents(place: Path, tmp_path: Path, share: str) -> None:
    texts, model = str(place / "texts"), str(tmp_path / "m")
    assert run(["fit", texts, "-o", model, *FAST, "--max-df", "1.0", "--min-df", share]) == 0


def test_choices_are_listed_once(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(place / "model"), "--format", "html"]) == 2
    assert capsys.readouterr().err.count("markdown") == 1
    assert run(["explain", str(place / "model"), "--format", "latx"]) == 2
    assert "Did you mean 'latex'?" in capsys.readouterr().err


def test_the_demo_names_its_least_number_of_sweeps(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--help"]) == 0
    assert "at least 8" in " ".join(capsys.readouterr().out.split())


def test_empty_documents_are_called_as_in_the_results(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new.txt").write_text("ship wave\nzzz qqq\noven", "utf-8")
    assert run(["transform", str(place / "model"), str(tmp_path / "new.txt")]) == 0
    shown = capsys.readouterr()
    assert "1 of 3 documents have no known term: 2; their" in shown.err
    assert shown.err.count("no known term") == 1
    assert [row.partition(",")[0] for row in shown.out.splitlines()[1:]] == ["1", "2", "3"]


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_nothing_but_the_name_shows_the_help(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run(words) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Usage: pgbn")
    assert "..." not in shown.out.partition("Commands:")[2]  # every command is told in full
    assert shown.err == ""


def test_few_terms_are_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Frequent terms are left out, which may be all of a small corpus."""
    (tmp_path / "x.txt").write_text("sea ship sail\nsea ship\nsail court\ncourt ship sea")
    assert run(["fit", str(tmp_path / "x.txt"), "-o", str(tmp_path / "m"), *FAST]) == 0
    assert "few terms are left; --min-df 1" in capsys.readouterr().err
    np.savez(tmp_path / "zero.npz", X=np.zeros((3, 4), int))
    assert run(["fit", str(tmp_path / "zero.npz"), "-o", str(tmp_path / "z"), *FAST]) == 0
    assert "all counts are zero" in capsys.readouterr().err


def test_report_of_several_chains(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R-hat and effective sample size are those of all chains."""
    fit = ["fit", str(place / "texts"), *FAST, "--max-df", "1.0"]
    assert run([*fit, "-o", str(tmp_path / "b"), "--seed", "1"]) == 0
    chains = [place / "model", tmp_path / "b"]
    found = ask(capsys, "report", *chains, "-o", tmp_path / "r.html")
    expected = report_data([open_saved(chain).object for chain in chains]).series
    assert not any(np.isfinite(series.ess) for series in expected)  # so few sweeps
    assert {q["ess"] for q in found["quantities"]} == {None}  # NaN is not JSON
    assert run(["report", *map(str, chains), "-o", str(tmp_path / "r.html")]) == 0
    assert "log likelihood: too few sweeps" in capsys.readouterr().out

    chains = [tmp_path / "long0", tmp_path / "long1"]
    for seed, chain in enumerate(chains):
        assert run([*fit, "-o", str(chain), "--seed", str(seed), "--collect", "80"]) == 0
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
    assert run(["report", *map(str, chains), "-o", str(tmp_path / "r.html")]) == 0
    assert "log likelihood: R-hat" in capsys.readouterr().out
    assert run([*fit, "-o", str(tmp_path / "c"), "--seed", "2", "--eta", "0.1"]) == 0
    assert run(["report", str(place / "model"), str(tmp_path / "c")]) == 1
    assert "eta=0.1, but eta=0.05" in capsys.readouterr().err
    counts = ["fit", str(place / "counts.npz"), "-o", str(tmp_path / "d"), *FAST]
    assert run(counts) == 0
    assert run(["report", str(place / "model"), str(tmp_path / "d")]) == 1
    assert "other terms or documents" in capsys.readouterr().err


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(pgbn.StorageError):
        run(["topics", "nowhere", "--debug"])


def test_a_bug_is_one_line_too(capsys: pytest.CaptureFixture[str], place: Path,
                               monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    def broken(*arguments: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("pgbn.evaluation.topics", broken)
    assert run(["topics", str(place / "model")]) == 1
    assert capsys.readouterr().err == "pgbn: ZeroDivisionError: oops (a bug? --debug shows where)\n"


@pytest.mark.parametrize("command", [
    "demo", "fit", "resume", "info", "topics", "transform", "perplexity", "generate", "explain",
    "report",
])  # fmt: skip
def test_help_has_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Example" in text
    assert f"pgbn {command}" in text


def test_as_a_process(place: Path) -> None:
    """`python -m pgbn`, its exit codes, and a reader that closes the pipe early."""
    command = [sys.executable, "-m", "pgbn"]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"pgbn {pgbn.__version__}\n"
    done = subprocess.run([*command, "topics"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    pipe = f"{sys.executable} -m pgbn transform {place / 'model'} {place / 'texts'} | head -1"
    done = subprocess.run(["sh", "-c", pipe], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("document,")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", [["topics", "MODEL"], ["info", "MODEL", "--json"], ["--help"]])
def test_a_full_disk_behind_standard_output(place: Path, words: list[str]) -> None:
    arguments = [str(place / "model") if word == "MODEL" else word for word in words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "pgbn", *arguments], stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False)  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "pgbn: [Errno 28] No space left on device\n"


def test_without_typer() -> None:
    code = (
        "import sys; sys.modules['typer'] = None; from pgbn.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "pgbn: the command needs typer: pip install 'pgbn[cli]'\n"
