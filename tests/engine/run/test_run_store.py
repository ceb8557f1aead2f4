"""What a run keeps in its folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.engine.run import run_store
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.run_plan import RunningChain, RunPlan
from pgbn.engine.run.run_store import FolderStore, run_facts
from pgbn.storage import runner
from pgbn.storage.archive import read_manifest
from pgbn.storage.runner import Rhythm, Runner, Timing
from tests.helpers.saved_kinds import read_body, sign
from tests.helpers.small_data import counts

NEVER = Timing(minutes=None)
PLAN = RunPlan(2, 6, 1, 2, 1, ("r", "theta1"))


def begun(folder: Path) -> FolderStore:
    store = FolderStore(Runner(folder, "run", asdict(PLAN), NEVER), PLAN, 1)
    chains = (Chain.of_data(zoo.pfa(3), {"x": counts()}, 1, n, threads=1) for n in range(2))
    store.begin(chains, lambda chain: {})
    return store


def advance(store: FolderStore, at: RunningChain, sweeps: int) -> None:
    for _ in range(sweeps):
        at.chain.sweep()
        at.keep_draw()
        store.after_sweep(at)


def test_a_commit_keeps_what_others_wrote(tmp_path: Path) -> None:
    store = begun(tmp_path)
    first, second = store.open(0), store.open(1)
    advance(store, first, 5)
    store.commit(first)
    assert (store.sweeps(0), store.sweeps(1)) == (5, 0)
    assert first.waiting == {}
    assert pgbn.load(tmp_path)["r"].shape == (2, 0, 3)
    files = set(read_manifest(tmp_path)["files"])
    advance(store, second, 4)
    store.commit(second)
    assert len(files & set(read_manifest(tmp_path)["files"])) == len(files) - 2  # state and trace
    found = pgbn.load(tmp_path)
    assert found.interrupted
    expected = zoo.pfa(3).sample({"x": counts()}, 2, 2, chains=2, seed=1, threads=1)
    np.testing.assert_array_equal(found["theta1"], expected["theta1"])
    facts = run_facts(read_manifest(tmp_path)["content"])
    assert (facts["sweeps"], facts["draws so far"], facts["of"]) == ([5, 4], [3, 2], 8)


def test_draws_that_wait_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run needs no memory for its draws, though no checkpoint is due."""
    monkeypatch.setattr(run_store, "BLOCK_BYTES", 1000)
    store = begun(tmp_path)
    at = store.open(0)
    most = 0
    for _ in range(8):
        advance(store, at, 1)
        most = max(most, at.bytes)
    assert most < 1000 + 8 * counts().shape[0] * 4
    assert store.sweeps(0) > 2


def test_files_that_are_gone(tmp_path: Path) -> None:
    """The data are written again; of a lost block or state, the file is named."""
    store = begun(tmp_path)
    at = store.open(0)
    groups = read_manifest(tmp_path)["groups"]
    (tmp_path / groups["data"]).unlink()
    advance(store, at, 3)
    store.commit(at)
    assert store.open(0).chain.sweeps == 3
    (tmp_path / groups["state/1"]).unlink()
    advance(store, at, 1)
    with pytest.raises(
        pgbn.StorageError, match=rf"{groups['state/1']} of this run is gone.*resume"
    ):
        store.commit(at)


def test_a_full_disk_is_told_and_the_draws_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = begun(tmp_path)
    store.runner.rhythms[0] = Rhythm(Timing(sweeps=1, share=1e9))
    at, real, full = store.open(0), runner.write, [True]

    def write(*arguments: Any) -> Any:
        if full[0]:
            raise pgbn.StorageError("No space left on device")
        return real(*arguments)

    monkeypatch.setattr(runner, "write", write)
    with pytest.warns(pgbn.PgbnWarning, match="the run goes on: No space left"):
        advance(store, at, 5)
    assert len(at.waiting["r"]) == 3
    full[0] = False
    advance(store, at, 1)
    assert store.sweeps(0) == 6
    assert at.waiting == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c["settings"].update(chains=5000), "5000 chains, but the states of"),
        (lambda c: c["settings"].update(chains=10**15), "chains=1000000000000000 would need"),
        (lambda c: c["settings"].update(chains=1), "1 chains, but the states of"),
        (lambda c: c["chains"].update({"-1": c["chains"].pop("1")}), "but the states of"),
        (lambda c: c["chains"]["0"].update(sweeps=99), "chain 0 has more sweeps than 8"),
        (lambda c: c["chains"]["0"].update(sweeps=-1), "sweeps of chain 0=-1"),
        (
            lambda c: c["settings"].update(keep=["r", "THETA1"]),
            "the draws are not those of r, THETA1",
        ),
        (lambda c: c["settings"].update(keep=["r"]), "the draws are not those of r"),
        (lambda c: c["layout"].update(r=[[]]), "the draws are not those of"),
        (lambda c: c["layout"].update(r=[3, []]), "damaged: layout/r/0 is 3"),
        (lambda c: c["layout"].update(r=3), "damaged: layout/r is 3"),
        (lambda c: c["entries"].update(r=3), "damaged: entries/r is 3"),
        (lambda c: c["entries"].pop("r"), "the draws are not those of"),
    ],
)
def test_a_forged_run_is_refused_before_any_sweep(tmp_path: Path, change: Any, words: str) -> None:
    """With more chains it made a list for each; others ended in a KeyError in the end."""
    begun(tmp_path)
    body = read_body(tmp_path)
    content = body["content"]
    change({"settings": content["settings"], **content["object"]})
    sign(tmp_path, body)
    with pytest.raises(pgbn.StorageError, match=words) as caught:
        pgbn.resume(tmp_path, progress=False)
    assert str(tmp_path) in str(caught.value)


def test_more_chains_than_any_memory_has_room_for(tmp_path: Path) -> None:
    with pytest.raises(pgbn.DataError, match="chains=1000000000000 would need"):
        zoo.pfa(2).sample({"x": counts()}, 1, 1, chains=10**12, save=tmp_path / "run")


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["chains"]["0"].update(number=2000),
        lambda c: c["entries"].update(r=[4]),
    ],
)
def test_a_chain_of_another_run(tmp_path: Path, change: Any) -> None:
    begun(tmp_path)
    body = read_body(tmp_path)
    change(body["content"]["object"])
    sign(tmp_path, body)
    with pytest.raises(pgbn.StorageError, match="chain 0 is not one of this run"):
        pgbn.resume(tmp_path, progress=False)
