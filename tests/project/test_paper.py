"""The scripts of examples/paper run, go on where they were stopped, and classify as LIBLINEAR."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.helpers.repository import ROOT

SCRIPTS = ROOT / "examples" / "paper"
sys.path.insert(0, str(SCRIPTS))

import binary  # noqa: E402
import common  # noqa: E402
import logistic  # noqa: E402
import multiclass  # noqa: E402
import perplexity  # noqa: E402
import plots  # noqa: E402
import structure  # noqa: E402
import table  # noqa: E402
import words  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::pgbn.PgbnWarning")

# ---- the classifier -------------------------------------------------------------------


def simulated(seed: int = 0, documents: int = 240, features: int = 12, classes: int = 4):
    """Proportions of features, as topic models give them, and classes that depend on them."""
    random = np.random.default_rng(seed)
    labels = random.integers(classes, size=documents)
    shape = 0.2 + random.gamma(0.5, 1.0, (classes, features))
    X = random.gamma(shape[labels])
    return X / X.sum(axis=1, keepdims=True), labels


@pytest.mark.parametrize("C", [2.0**-10, 1.0, 2.0**15])
def test_logistic_regression_is_that_of_liblinear(C: float) -> None:
    from sklearn.linear_model import LogisticRegression

    X, labels = simulated()
    target = logistic.one_against_rest(labels)
    w = logistic.fit(X, target, C, tolerance=1e-9)
    for k in range(target.shape[1]):
        peer = LogisticRegression(
            C=C, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=10_000
        )
        peer.fit(X, target[:, k])
        assert w[:, k] == pytest.approx(peer.coef_[0], rel=1e-5, abs=1e-7)


def test_cross_validation_is_that_of_single_fits() -> None:
    X, labels = simulated(4, documents=100)
    fold = np.random.default_rng(7).permutation(100) % 5
    strengths = [2.0**-6, 1.0, 2.0**6]
    best, found = logistic.choose_strength(X, labels, strengths, seed=7)
    for C, accuracy in zip(strengths, found, strict=True):
        right = 0
        for held in range(5):
            w = logistic.fit(X[fold != held], logistic.one_against_rest(labels)[fold != held], C)
            right += ((X[fold == held] @ w).argmax(axis=1) == labels[fold == held]).sum()
        assert accuracy == pytest.approx(right, abs=1.0)  # percent of 100: one border case
    assert found[strengths.index(best)] == max(found)


# ---- the scripts ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> dict[str, str]:
    """Files like those of the two corpora, with simulated documents."""
    folder, random = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    pairs = [group for task in binary.TASKS.values() for group in task]
    groups = np.array([*pairs, *(f"group{i}" for i in range(16))])
    vocabulary = np.array([f"word{v}" for v in range(120)])
    shares = random.dirichlet(np.full(120, 0.1), 20)
    arrays: dict[str, np.ndarray] = {"groups": groups, "vocabulary": vocabulary}
    for part, documents in (("train", 200), ("test", 100)):
        labels = np.arange(documents) % 20
        X = sp.csr_array(random.poisson(20 * shares[labels]))
        arrays |= {f"{part}_{name}": getattr(X, name) for name in ("data", "indices", "indptr")}
        arrays[f"{part}_labels"] = labels
    np.savez(folder / "20newsgroups.npz", **arrays)
    X = sp.csr_array(random.poisson(50 * shares))
    nips = {name: getattr(X, name) for name in ("data", "indices", "indptr")}
    np.savez(folder / "nips12.npz", vocabulary=vocabulary, **nips)
    return {path.stem: str(path) for path in folder.iterdir()}


def options(data: dict[str, str], corpus: str, out: Path) -> list[str]:
    return ["--data", data[corpus], "--out", str(out), "--threads", "1", "--quick"]


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory) -> Path:
    """A folder where every experiment has been run."""
    out = tmp_path_factory.mktemp("results")
    for script in (multiclass, words, binary, structure):
        script.main(options(data, "20newsgroups", out))
    perplexity.main(options(data, "nips12", out))
    perplexity.main([*options(data, "20newsgroups", out), "--corpus", "20newsgroups"])
    structure.main([*options(data, "nips12", out), "--corpus", "nips12"])
    return out / "quick"


def records(path: Path) -> dict[str, dict[str, object]]:
    """The results without what depends on the clock and on the machine."""
    found = json.loads(path.read_text())
    return {
        key: {name: value for name, value in record.items() if "seconds" not in name}
        for key, record in found.items()
    }


def test_experiments_run(finished: Path) -> None:
    found = records(finished / "multiclass.json")
    assert list(found) == ["V=120 K1max=10 T=1 seed=0", "V=120 K1max=10 T=2 seed=0"]
    assert all(record["accuracy"] > 30 for record in found.values())  # of 20 classes
    assert len(records(finished / "binary.json")) == 4
    assert len(records(finished / "words.json")) == 2
    for name in ("perplexity", "heldout"):
        found = records(finished / f"{name}.json")
        assert list(found) == ["K1max=10 T=1 seed=0", "K1max=10 T=2 seed=0"]
        for record in found.values():
            assert 1 < record["perplexity"] < 120
            assert record["samples"] == 4
    pages = sorted(path.name for path in (finished / "structure").iterdir())
    assert pages == ["multiclass-V120-K10-seed0-T2.md", "perplexity-K10-seed0-T2.md"]
    page = (finished / "structure" / pages[0]).read_text()
    assert page.count("**Layer") == 2
    assert len(re.findall(r"^\d+\. word", page, re.MULTILINE)) == 10


def test_a_run_that_is_killed_again_and_again_gives_the_same_results(
    data, finished: Path, tmp_path: Path, monkeypatch
) -> None:
    """Every run does one piece of work and is killed in the next, before it is saved."""

    class Killed(BaseException):
        pass

    do, pieces = common.work, []

    def work(options, task, *inputs, **settings):
        done = do(options, task, *inputs, **settings)
        pieces.append(task.__name__)
        if len(pieces) > 1:
            raise Killed
        return done

    monkeypatch.setattr(common, "work", work)
    first, seconds = tmp_path / "quick/networks/multiclass-V120-K10-seed0-T1.json", set()
    kept = []
    for _ in range(20):
        pieces.clear()
        try:
            multiclass.main(options(data, "20newsgroups", tmp_path))
            break
        except Killed:
            kept.append(pieces[0])
            seconds.add(json.loads(first.read_text())["seconds"])
    # The last piece, the second classifier, ends the last run.
    layer = ["train_layerwise", "infer", "infer"]
    assert kept == [*layer, "classify", *layer]
    assert len(seconds) == 1
    found = tmp_path / "quick" / "multiclass.json"
    assert records(found) == records(finished / "multiclass.json")
    stored = json.loads(found.read_text())["V=120 K1max=10 T=1 seed=0"]
    assert {stored["training_seconds"]} == seconds


def test_stages_and_networks_of_others(data, finished: Path, tmp_path: Path) -> None:
    """Training alone; then the rest, from networks of which nothing else is known."""
    given = options(data, "20newsgroups", tmp_path)
    multiclass.main([*given, "--stages", "features", "classify"])  # nothing to work on
    assert not (tmp_path / "quick" / "multiclass.json").exists()
    multiclass.main([*given, "--stages", "train"])
    networks = tmp_path / "quick" / "networks"
    assert len(list(networks.glob("*/model.json"))) == 2
    assert not list((tmp_path / "quick" / "features").iterdir())
    for facts in networks.glob("*.json"):
        facts.unlink()
    before = {path: path.stat().st_mtime_ns for path in networks.glob("*/*")}
    multiclass.main([*given, "--stages", "features", "classify"])
    assert {path: path.stat().st_mtime_ns for path in networks.glob("*/*")} == before
    ours, theirs = (
        records(folder / "multiclass.json") for folder in (tmp_path / "quick", finished)
    )
    assert {key: (r["accuracy"], r["widths"], r["sweeps"]) for key, r in ours.items()} == {
        key: (r["accuracy"], r["widths"], r["sweeps"]) for key, r in theirs.items()
    }
    stored = json.loads((tmp_path / "quick" / "multiclass.json").read_text())
    assert all(record["training_seconds"] is None for record in stored.values())


@pytest.mark.parametrize(("script", "corpus", "needs"), [
    (multiclass, "nips12", "no array 'groups'; this experiment needs 20newsgroups.npz"),
    (words, "nips12", "needs 20newsgroups.npz"), (binary, "nips12", "needs 20newsgroups.npz"),
    (structure, "nips12", "needs 20newsgroups.npz"),
    (perplexity, "20newsgroups", "no array 'data'; this experiment needs nips12.npz"),
])  # fmt: skip
def test_the_file_that_is_needed_is_named(data, tmp_path: Path, script, corpus, needs) -> None:
    with pytest.raises(SystemExit, match=needs):
        script.main(options(data, corpus, tmp_path))
    (tmp_path / "text.npz").write_text("no array at all")
    with pytest.raises(SystemExit, match=r"cannot be read as an \.npz file; this experiment needs"):
        script.main(["--data", str(tmp_path / "text.npz"), "--out", str(tmp_path)])


# ---- tables and pictures --------------------------------------------------------------


def record(**values: object) -> dict[str, object]:
    usual = {"terms": 2000, "max_width": 128, "depth": 1, "seed": 0, "accuracy": 66.4, "C": 64.0,
             "widths": [128], "sweeps": 1500, "training_seconds": 100.0, "feature_seconds": 10.0,
             "classifier_seconds": 1.0, "commit": "abc", "training_commit": "abc"}  # fmt: skip
    return usual | values


def lines_of(section, folder: Path) -> list[str]:
    return section(table.Found(folder, folder / "images"))


def test_tables_set_our_numbers_beside_the_papers(tmp_path: Path) -> None:
    ours = [record(), record(seed=1, accuracy=66.0), record(depth=5, accuracy=67.0, training_seconds=None),
            record(terms=33749, max_width=200, widths=[200, 150, 130, 94, 63], depth=5)]  # fmt: skip
    content = {str(i): one for i, one in enumerate(ours)}
    (tmp_path / "multiclass.json").write_text(json.dumps(content))
    rows = lines_of(table.accuracy, tmp_path)
    assert ("| 128 | 66.2 ± 0.3 | not run | not run | not run | 67.0 | 65.9 ± 0.4 | +0.3 | 67.5 ± 0.4 | -0.5 "
            "| 0, 1 |") in rows  # fmt: skip
    assert any(row.startswith("| 256 | not run | not run") for row in rows)
    widths = lines_of(table.widths, tmp_path)
    assert ("| multiclass | 200 | 200, 161, 130, 94, 63 | 200, 150, 130, 94, 63 "
            "| 1.00, 0.93, 1.00, 1.00, 1.00 | 0 |") in widths  # fmt: skip
    runs = lines_of(table.runs, tmp_path)
    assert "| 2000 | 128 | 0 | 128 | 1500 | – | 20 | 2 | 64, 64 | abc |" in runs


def test_the_page_is_written_anew_from_results(finished: Path, tmp_path: Path) -> None:
    page = tmp_path / "paper.md"
    page.write_text((ROOT / "docs" / "paper.md").read_text(encoding="utf-8"), encoding="utf-8")
    plots.main(["--out", str(finished), "--images", str(tmp_path / "images")])
    pictures = {path.name for path in (tmp_path / "images").iterdir()}
    assert {
        "paper-multiclass-V120.png",
        "paper-perplexity.png",
        "paper-binary-science-boxes.png",
    } <= pictures
    table.main(["--out", str(finished), "--page", str(page)])
    text = page.read_text(encoding="utf-8")
    assert "![Perplexity against depth, NIPS12](images/paper-perplexity.png)" in text
    assert "### nips12\n\nV = 120, K1max = 10, seed 0." in text
    table.main(["--out", str(finished), "--page", str(page)])
    assert page.read_text(encoding="utf-8") == text  # nothing grows


@pytest.mark.parametrize("script", [table, plots])
def test_a_folder_without_results_is_refused(script, tmp_path: Path, monkeypatch) -> None:
    """Else every table of the page would become "not run"."""
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "paper.md"
    page.write_text("<!-- begin words -->\n\n77.8\n\n<!-- end words -->")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"--out results: there are no results.*docs/results"):
        script.main([])
    assert "77.8" in page.read_text()
