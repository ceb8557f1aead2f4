"""Folders that belong to others, a disk that is full, files that change, and data of odd sizes."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import pgbn
from tests.campaign.harness import forked

COUNTS = np.random.default_rng(0).poisson(0.8, (12, 9))
NETWORK = pgbn.zoo.pgbn([3, 2])
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs the rights of root"
)


def sample(folder: Path) -> pgbn.Draws:
    return NETWORK.sample({"x": COUNTS}, 2, 3, chains=1, threads=1, progress=False, save=folder)


WRITERS: dict[str, Callable[[Path], object]] = {
    "run": sample,
    "network": lambda folder: pgbn.save(NETWORK, folder),
    "picture": lambda folder: NETWORK.plot().save(folder / "graph.svg"),
    "corpus": lambda folder: pgbn.Corpus.build(COUNTS, folder),
}


def as_another_user(work: Callable[[], object]) -> None:
    """In a child process that has given up the rights of root; its errors fail the test."""

    def lowered() -> None:
        os.setgid(65534)
        os.setuid(65534)
        work()

    forked(lowered)


@pytest.fixture
def open_place(tmp_path: Path) -> Path:
    """A folder that everybody can read, as far as pytest's own folders allow."""
    for folder in (tmp_path, *tmp_path.parents):
        if not folder.stat().st_mode & 0o005:  # up to those that everybody can read already
            folder.chmod(0o755)
    return tmp_path


@needs_root
@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_of_another_user(name: str, open_place: Path) -> None:
    """What is not there cannot be made; the error says why."""
    WRITERS[name](open_place)  # imports what the other user may not be able to read

    def refused() -> None:
        with pytest.raises(pgbn.PgbnError, match=r"could not be written \("):
            WRITERS[name](open_place / "new")

    as_another_user(refused)
    assert not (open_place / "new").exists()


@needs_root
def test_a_run_of_another_user_is_read_and_not_changed(open_place: Path) -> None:
    run = open_place / "run"
    kept = sample(run)["r"]
    for path in (run, *run.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = {path.name: path.read_bytes() for path in run.iterdir()}

    def use() -> None:
        assert np.array_equal(pgbn.load(run)["r"], kept)
        with pytest.raises(pgbn.PgbnError, match="Permission denied"):
            pgbn.save(NETWORK, run)

    as_another_user(use)
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before
    (run / "model.json").chmod(0)

    def read() -> None:
        with pytest.raises(pgbn.PgbnError, match=r"cannot be read \(Permission denied\)"):
            pgbn.load(run)

    as_another_user(read)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 kB."""
    words = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(tmp_path)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@needs_root
@pytest.mark.parametrize("name", ["run", "picture"])
def test_a_full_disk_is_left_empty(name: str, full_disk: Path) -> None:
    (full_disk / "other").write_bytes(b"x" * 12_000)
    with pytest.raises(pgbn.PgbnError, match="No space left on device"):
        WRITERS[name](full_disk / "new" if name == "run" else full_disk)
    assert [path.name for path in full_disk.iterdir()] == ["other"]


def test_files_that_change_while_they_are_read(tmp_path: Path) -> None:
    """A corpus, or an error that names the folder."""
    files = [tmp_path / f"text{number}.txt" for number in range(300)]
    for path in files:
        path.write_text("ship wave storm sea " * 20)
    over = threading.Event()

    def change() -> None:
        number = 0
        while not over.is_set():
            path = files[number % len(files)]
            if number % 3 == 1:
                path.unlink(missing_ok=True)
            else:
                path.write_text("oven flour " * (number % 50 + 1))
            number += 7

    changing = threading.Thread(target=change)
    changing.start()
    try:
        for _ in range(4):
            try:
                found = pgbn.Corpus.read(tmp_path, min_df=1)
            except pgbn.PgbnError as error:
                said = str(error)
            else:
                assert found.counts.shape[0] == len(found.names)
                said = str(tmp_path)
            assert str(tmp_path) in said
    finally:
        over.set()
        changing.join()


def test_an_exposure_of_zero() -> None:
    """Without a count it says nothing; with one it is impossible."""
    known = pgbn.Constant(np.array([0.0, 1.0, 2.0]), dims="doc")
    theta = pgbn.Gamma("theta", 1, 1, dims="doc")
    network = pgbn.Network(pgbn.Poisson("x", known * theta, dims="doc"))
    draws = network.sample({"x": np.array([0, 3, 9])}, 0, 2000, chains=1, progress=False)
    assert np.allclose(draws.mean("theta"), [1.0, 2.0, 10 / 3], atol=0.2)
    with pytest.raises(pgbn.DataError, match="the value 1 at doc 0 has probability 0"):
        network.chain({"x": np.array([1, 3, 9])})


@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_a_document_of_a_million_tokens(sampler: str) -> None:
    rng = np.random.default_rng(1)
    long = rng.multinomial(10**6, rng.dirichlet([0.1] * 50))
    x = np.vstack([long, rng.poisson(0.3, (3, 50))])
    chain = pgbn.zoo.pgbn([4, 2]).chain({"x": x}, sampler=sampler, threads=1).sweep(1)
    assert chain.counts["theta1"].sum() == x.sum()
    assert np.isfinite(chain.log_likelihood())
