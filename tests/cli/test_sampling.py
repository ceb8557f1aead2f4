"""The commands for any network, and files for its data."""

from __future__ import annotations

import csv
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import pgbn
from pgbn.cli.sampling import data_labels, files_of, in_run_order, read_labels, read_nodes
from pgbn.errors import DataError, PgbnWarning
from pgbn.storage.tables import Numbers
from tests.helpers.commands import Capture, Patch, ask, rejected, run
from tests.helpers.small_networks import words_and_sizes

X = np.random.default_rng(0).poisson(1.0, (12, 6))
NEW = np.random.default_rng(1).poisson(1.0, (3, 6))
TERMS = list("abcdef")
SHORT = ["--burn-in", "2", "--draws", "4"]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network, data, new rows with their columns in another order, and a run of two chains."""
    here = tmp_path_factory.mktemp("run")
    (here / "net.json").write_text(pgbn.zoo.lda(2).to_json())
    scipy.io.mmwrite(here / "x.mtx", sp.csr_array(X))
    (here / "terms.txt").write_text("\n".join(TERMS))
    lines = [",".join(["doc", *reversed(TERMS)])]
    lines += [f"new {i},{','.join(map(str, reversed(row.tolist())))}" for i, row in enumerate(NEW)]
    (here / "new.csv").write_text("\n".join(lines))
    words = ["sample", here / "net.json", here / "x.mtx", "-o", here / "run", *SHORT, "--chains",
             "2", "--parallel", "2", "--seed", "3", "--coords", f"term={here / 'terms.txt'}"]  # fmt: skip
    assert run(list(map(str, words))) == 0
    return here


def test_sample_is_net_sample(here: Path, capsys: Capture) -> None:
    expected = pgbn.zoo.lda(2).sample({"x": X}, burn_in=2, draws=4, chains=2, seed=3)
    draws = pgbn.load(here / "run")
    assert list(draws) == ["phi", "theta"]
    assert all(np.array_equal(draws[name], expected[name]) for name in expected)
    assert draws.coords == {"term": TERMS}
    assert ask(capsys, "info", here / "run")["shapes"]["phi"] == [2, 4, 2, 6]
    words = ["sample", here / "run", f"x={here / 'x.mtx'}", "-o", here / "phi", *SHORT,
             "--keep", "phi", "--thin", 2, "--sampler", "blocked", "--threads", 1]  # fmt: skip
    assert ask(capsys, *words) == {"run": str(here / "phi"), "nodes": ["phi"]}
    expected = pgbn.zoo.lda(2).sample({"x": X}, burn_in=2, draws=4, thin=2, sampler="blocked")
    assert np.array_equal(pgbn.load(here / "phi")["phi"], expected["phi"])
    assert run(["infer", here / "phi", here / "x.mtx"]) == 0


@pytest.mark.parametrize("sampler", ["composed", "general"])
def test_samplers_of_the_general_rules(here: Path, tmp_path: Path, sampler: str) -> None:
    """Both that `Network.chain` tells of."""
    words = ["sample", here / "run", here / "x.mtx", "-o", tmp_path / "run", *SHORT]
    assert run([*words, "--sampler", sampler]) == 0


def test_several_data(tmp_path: Path, capsys: Capture) -> None:
    net = words_and_sizes()
    (tmp_path / "net.json").write_text(net.to_json())
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "y.csv").write_text("\n".join(map(str, X.sum(axis=1))))
    files = [f"y={tmp_path / 'y.csv'}", f"x={tmp_path / 'x.npy'}"]
    ask(capsys, "sample", tmp_path / "net.json", *files, "-o", tmp_path / "run", *SHORT)
    expected = net.sample({"x": X, "y": X.sum(axis=1)}, burn_in=2, draws=4)
    found = pgbn.load(tmp_path / "run")
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    told = ask(capsys, "infer", tmp_path / "run", *files, "--nodes", "size", "--burn-in", 1,
               "--draws", 4)  # fmt: skip
    assert told["columns"] == ["size", "size_sd"]


def test_stopped_and_gone_on_with(
    here: Path, tmp_path: Path, monkeypatch: Patch, capsys: Capture
) -> None:
    """SIGTERM after a sweep; a report of what is there; and the same bits in the end."""
    from pgbn.engine.run import sampling

    tell = sampling.Run._event

    def press(run: Any, chain: Any, clock: Any) -> Any:
        event = tell(run, chain, clock)
        if event.done == stop_at:
            os.kill(os.getpid(), signal.SIGTERM)
        return event

    monkeypatch.setattr(sampling.Run, "_event", press)
    words = ["sample", str(here / "net.json"), str(here / "x.mtx"), *SHORT, "--seed", "3"]
    stop_at = 1
    assert run([*words, "-o", tmp_path / "early"]) == 143
    assert "none was kept so far" in rejected(
        capsys, ["report", tmp_path / "early", "-o", tmp_path / "r.html"]
    )
    assert "no draws so far; continue with pgbn resume" in rejected(
        capsys, ["infer", tmp_path / "early", here / "x.mtx"]
    )

    stop_at, folder = 4, str(tmp_path / "run")
    assert run([*words, "-o", folder]) == 143
    assert f"pgbn resume {folder}" in capsys.readouterr().err
    assert f"use pgbn resume {folder}" in rejected(capsys, [*words, "-o", folder])
    assert ask(capsys, "info", folder)["draws so far"] == [2]
    assert ask(capsys, "report", folder, "-o", tmp_path / "r.html")["chains"] == 1
    assert "the draws so far" in (tmp_path / "r.html").read_text("utf-8")
    stop_at = -1
    assert ask(capsys, "resume", folder)["nodes"] == ["phi", "theta"]
    whole = pgbn.load(here / "run")["phi"][:1]
    assert np.array_equal(pgbn.load(folder)["phi"], whole)


def test_numbers_of_categories(tmp_path: Path, capsys: Capture) -> None:
    """As a file of their own; what the network has already need not be told again. Of new rows they
    are needed, while data of other nodes may be missing."""
    net, authors = pgbn.zoo.author_topic(2), np.arange(12) % 3
    (tmp_path / "net.json").write_text(net.to_json())
    np.save(tmp_path / "x.npy", X)
    np.savetxt(tmp_path / "author.csv", authors, "%d")
    words = ["sample", tmp_path / "net.json", tmp_path / "x.npy", *SHORT, "-o"]
    ask(capsys, *words, tmp_path / "run", f"author={tmp_path / 'author.csv'}")
    expected = net.sample({"x": X, "author": authors}, burn_in=2, draws=4, progress=False)
    assert np.array_equal(pgbn.load(tmp_path / "run")["phi"], expected["phi"])
    assert "author: no numbers of these categories" in rejected(
        capsys, [*map(str, words), str(tmp_path / "none")]
    )
    words[1] = tmp_path / "run"
    ask(capsys, *words, tmp_path / "again")
    assert np.array_equal(pgbn.load(tmp_path / "again")["phi"], expected["phi"])
    np.savetxt(tmp_path / "x.csv", NEW, "%d", ",")
    np.savetxt(tmp_path / "author.csv", [2, 0, 1], "%d")
    words = ["infer", tmp_path / "run", f"x={tmp_path / 'x.csv'}", "--burn-in", 1, "--draws", 4]
    ask(capsys, *words, f"author={tmp_path / 'author.csv'}", "-o", tmp_path / "out.npz")
    new = net.infer({"x": NEW, "author": [2, 0, 1]}, expected, "doc", burn_in=1, draws=4)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npz")["length"], new["length"])
    assert "'author': no numbers of the new rows" in rejected(capsys, words)
    data = {"x": X, "y": np.arange(12)}
    words_and_sizes().sample(data, burn_in=1, draws=2, progress=False).save(tmp_path / "both")
    assert run(["infer", tmp_path / "both", f"x={tmp_path / 'x.csv'}"]) == 0


def test_infer_is_net_infer(here: Path, tmp_path: Path, capsys: Capture) -> None:
    net, draws = pgbn.zoo.lda(2), pgbn.load(here / "run")
    words = ["infer", here / "run", here / "new.csv", "--burn-in", 2, "--draws", 8, "--seed", 5]
    one = {"phi": draws["phi"][1]}
    for chain, given in (("1", one), ("all", {"phi": draws["phi"]})):
        found = ask(capsys, *words, "--chain", chain)
        expected = net.infer({"x": NEW}, given=given, burn_in=2, draws=8, seed=5)
        assert found["columns"] == ["theta[0]", "theta[1]", "theta_sd[0]", "theta_sd[1]"]
        assert [row["name"] for row in found["rows"]] == ["new 0", "new 1", "new 2"]
        values = np.array([row["values"] for row in found["rows"]])
        assert np.array_equal(values, np.hstack([expected["theta"], expected.sd["theta"]]))
    for name in ("rows.csv", "rows.npz"):
        facts = ask(capsys, *words, "--chain", "all", "--nodes", "theta", "-o", tmp_path / name)
        assert facts == {"output": str(tmp_path / name), "rows": 3, "nodes": ["theta"]}
    with np.load(tmp_path / "rows.npz", allow_pickle=False) as file:
        assert np.array_equal(file["theta"], expected["theta"])
        assert np.array_equal(file["theta_sd"], expected.sd["theta"])
        assert file["doc_names"].tolist() == ["new 0", "new 1", "new 2"]
    rows = list(csv.reader((tmp_path / "rows.csv").open(encoding="utf-8")))
    assert rows[0] == ["doc", *found["columns"]]
    assert np.allclose(np.array(rows[1:])[:, 1:].astype(float), values, atol=1e-5)


@pytest.mark.parametrize(("words", "option"), [
    ("--keep phy", "--keep"), ("--keep ,", "--keep"), ("--sampler quick", "--sampler"),
    ("--coords term", "--coords"), ("--draws 0", "--draws"), ("--thin 0", "--thin"),
    ("--chains 0", "--chains"), ("--parallel 0", "--parallel"), ("--burn-in -1", "--burn-in"),
    ("--seed -1", "--seed"), ("--minutes -1", "--minutes"), ("--threads 0", "--threads"),
    ("y=x.mtx", "DATA"), ("x.mtx", "DATA"),
])  # fmt: skip
def test_wrong_options_of_sample(
    here: Path, tmp_path: Path, words: str, option: str, monkeypatch: Patch,
    capsys: Capture,
) -> None:  # fmt: skip
    """They are told before the data are read."""
    monkeypatch.setattr("pgbn.cli.sampling.read_numbers", lambda *_, **__: pytest.fail("read"))
    begin = ["sample", str(here / "net.json"), str(here / "x.mtx"), "-o", str(tmp_path / "r")]
    assert option in rejected(capsys, [*begin, *words.split()], 2)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(("words", "option"), [
    ("--nodes phi", "--nodes"), ("--rows dc", "--rows"), ("--chain 2", "--chain"),
    ("--draws 0", "--draws"), ("-o rows.txt", "--output"), ("y=x.mtx", "DATA"),
])  # fmt: skip
def test_wrong_options_of_infer(
    here: Path, words: str, option: str, monkeypatch: Patch,
    capsys: Capture,
) -> None:  # fmt: skip
    monkeypatch.setattr("pgbn.cli.sampling.read_numbers", lambda *_, **__: pytest.fail("read"))
    assert option in rejected(capsys, ["infer", here / "run", here / "x.mtx", *words.split()], 2)


def test_what_is_there_or_cannot_be(here: Path, tmp_path: Path, capsys: Capture) -> None:
    net, data = str(here / "net.json"), str(here / "x.mtx")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "time.json").write_text(pgbn.zoo.pgds(2).to_json())
    assert run(["sample", tmp_path / "time.json", data, "-o", tmp_path / "t", *SHORT]) == 0
    keep = ["--keep", "theta"]
    assert run(["sample", net, data, "-o", tmp_path / "theta", *SHORT, *keep]) == 0
    for words, message in (
        (["sample", net, data, "-o", str(here / "run")], "something saved already"),
        (["sample", net, data, "-o", str(tmp_path / "file")], "is a file"),
        (
            ["sample", str(tmp_path / "bad.json"), data, "-o", str(tmp_path / "r")],
            "bad.json: not a",
        ),
        (["sample", str(tmp_path / "no.json"), data, "-o", str(tmp_path / "r")], "no such file"),
        (["sample", net, str(tmp_path / "no.csv"), "-o", str(tmp_path / "r")], "no such file"),
        (["infer", str(tmp_path / "t"), data], "net.forecast"),
        (["infer", str(tmp_path / "theta"), data], "no draws of 'phi', on which new rows depend"),
        (["infer", str(here / "run"), data, "-o", str(tmp_path / "no" / "a.csv")], "no folder"),
    ):
        capsys.readouterr()
        assert run(words) == 1
        assert message in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(("words", "observed", "message"), [
    (["z=a"], ["x"], r"'z=a' names no observed node.*Give x=FILE"),
    (["a"], ["x", "y"], r"'a' names no observed node.*Give x=FILE y=FILE"),
    (["a", "b"], ["x"], "there is a file of 'x' already"),
    (["x=a"], ["x", "y"], "no data of 'y'; give y=FILE"),
])  # fmt: skip
def test_words_that_are_refused(
    words: list[str], observed: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        files_of(words, observed)
    assert files_of(["x=a=b.mtx"], ["x"]) == {"x": Path("a=b.mtx")}
    odd = tmp_path / "k=3.mtx"
    odd.write_text("")
    assert files_of([str(odd)], ["x"]) == {"x": odd}


def test_nodes_are_read_with_their_names(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("doc,sea,oven\n1,2,3\n4,5,6\n")
    (tmp_path / "y.csv").write_text("doc,visits\n1,7\n4,8\n")
    read = read_nodes(words_and_sizes(), {"x": tmp_path / "x.csv", "y": tmp_path / "y.csv"})
    assert np.array_equal(read["x"].values, [[2, 3], [5, 6]])
    assert np.array_equal(read["y"].values, [7, 8])
    assert data_labels(words_and_sizes(), read) == {"doc": ["1", "4"], "term": ["sea", "oven"]}
    (tmp_path / "y.csv").write_text("doc,visits\n4,7\n1,8\n")
    read = read_nodes(words_and_sizes(), {"x": tmp_path / "x.csv", "y": tmp_path / "y.csv"})
    with pytest.raises(DataError, match="y: the names along 'doc' are not those of the other data"):
        data_labels(words_and_sizes(), read)


def test_names_along_dims(tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text("sea\noven\n\n", "utf-8")
    assert read_labels([f"term={tmp_path / 'terms.txt'}"], words_and_sizes()) == {
        "term": ["sea", "oven"]
    }
    for word, message in (("term", "give DIM=FILE"), ("trm=a", "Did you mean 'term'"),
                          (f"term={tmp_path / 'gone'}", "cannot be read")):  # fmt: skip
        with pytest.raises(DataError, match=message):
            read_labels([word], words_and_sizes())
    (tmp_path / "terms.txt").write_text("a\nb\nc\n")
    with pytest.raises(DataError, match="3 labels along 'topic', but its size is 2"):
        read_labels([f"topic={tmp_path / 'terms.txt'}"], words_and_sizes())


def test_new_rows_in_the_order_of_the_run() -> None:
    axes, coords = ("doc", "term"), {"term": ["sea", "oven", "court"], "doc": ["a"]}
    values = np.array([[1, 2, 4]])

    def ordered(numbers: Numbers, plate: str = "doc", known: Any = coords) -> Any:
        found = in_run_order("x", numbers, axes, plate, known)
        return found if isinstance(found, np.ndarray) else found.toarray()

    for numbers in (Numbers(values), Numbers(values, None, coords["term"]), Numbers(values, ["b"])):
        assert ordered(numbers) is values
    assert ordered(Numbers(values, None, ["u", "v", "w"]), known={}) is values
    with pytest.warns(PgbnWarning, match="1 of 'term' with 2 counts that the run does not have"):
        assert ordered(Numbers(values, None, ["oven", "ship", "sea"])).tolist() == [[4, 1, 0]]
    other = Numbers(values.T, ["b", "c", "d"], ["new"])
    with pytest.raises(DataError, match="the names along 'doc' are not those of the run"):
        ordered(other, plate="term")
