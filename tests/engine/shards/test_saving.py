"""Each worker writes its part of a checkpoint, which any executor reads."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.engine.shards import worker
from pgbn.storage.archive import read_manifest
from tests.engine.shards.test_driver import CASES, X, assert_same, everything
from tests.helpers.workers_here import Spread

OPTIONS: dict[str, Any] = {"burn_in": 2, "draws": 3, "progress": False, "keep": ["r"]}


class Stopped(Exception):
    pass


def stop(event: Any) -> None:
    if event.done == 4:
        raise Stopped


def stopped_run(folder: Path, name: str = "partial", workers: int = 2, **options: Any) -> None:
    """A run whose last checkpoint is the one after its third sweep."""
    network, layer1, data = CASES[name]
    with pytest.raises(Stopped):
        network.sample(data, layer1=layer1, executor=Spread(workers, **options), callback=stop,
                       save=folder, minutes=0, **OPTIONS)  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_a_checkpoint_in_parts_goes_on_anywhere(name: str, tmp_path: Path) -> None:
    network, layer1, data = CASES[name]
    wanted = {"keep": network.latent}
    whole = network.sample(data, layer1=layer1, threads=1, **(OPTIONS | wanted))
    for place, executor in (("threads", None), ("workers", Spread(3))):
        with pytest.raises(Stopped):
            network.sample(data, layer1=layer1, executor=Spread(2), callback=stop, minutes=0,
                           save=tmp_path / place, **(OPTIONS | wanted))  # fmt: skip
        parts = read_manifest(tmp_path / place)["parts"]
        assert len(parts["state/0"]["files"]) == 2
        resumed = pgbn.resume(tmp_path / place, executor=executor, progress=False)
        for node in whole:
            assert np.array_equal(resumed[node], whole[node]), node


def test_the_driver_gathers_no_rows(tmp_path: Path) -> None:
    network, layer1, data = CASES["partial"]
    chain = network.chain(data, layer1=layer1, executor=Spread(2)).sweep(2)
    shards = chain.program.shards
    assert shards is not None
    before = [dict(table.data) for table in shards.tables.values()]
    pgbn.save(chain, tmp_path / "chain")
    for table, data in zip(shards.tables.values(), before, strict=True):
        assert all(table.data[key] is array for key, array in data.items())
    assert shards.tables["values"].data["theta1"] is None
    again = pgbn.load(tmp_path / "chain", threads=1)
    assert_same(everything(again.sweep(1)), everything(chain.sweep(1)))


def test_workers_may_be_lost_while_they_write(tmp_path: Path) -> None:
    network, layer1, data = CASES["partial"]
    chain = network.chain(data, layer1=layer1, threads=1).sweep(3)
    lost = 0
    for seed in range(5):
        executor = Spread(3, seed=seed)
        spread = network.chain(data, layer1=layer1, executor=executor).sweep(3)
        executor.here.loses, executor.here.random = 0.08, random.Random(seed)
        pgbn.save(spread, tmp_path / "chain")
        lost += executor.here.lost
        executor.here.loses = 0.0
        folder = tmp_path / "chain"
        assert_same(everything(pgbn.load(folder, threads=1)), everything(chain))
    assert lost > 0


def test_a_folder_that_a_worker_does_not_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers of another machine: the driver gathers the rows, and says so once."""
    network, layer1, data = CASES["partial"]
    write = worker.write_part
    monkeypatch.setattr(
        worker, "write_part", lambda probe, *rest: None if rest[1][0] else write(probe, *rest)
    )
    chain = network.chain(data, layer1=layer1, executor=Spread(2)).sweep(1)
    with pytest.warns(pgbn.errors.PgbnWarning, match=r"worker 1 of .* a folder that all machines"):
        pgbn.save(chain, tmp_path / "chain")
    pgbn.save(chain, tmp_path / "chain")  # warnings are errors in tests
    body = read_manifest(tmp_path / "chain")
    assert "parts" not in body
    assert {path.name for path in (tmp_path / "chain").iterdir()} == {"model.json", *body["files"]}
    assert_same(everything(pgbn.load(tmp_path / "chain", threads=1)), everything(chain))


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    stopped_run(tmp_path / "run")
    name = read_manifest(tmp_path / "run")["parts"]["state/0"]["files"][1]
    data = bytearray((tmp_path / "run" / name).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "run" / name).write_bytes(bytes(data))
    with pytest.raises(pgbn.errors.StorageError, match=f"{name}: damaged"):
        pgbn.resume(tmp_path / "run", progress=False)


def test_a_training_is_checkpointed_in_parts(tmp_path: Path) -> None:
    options: dict[str, Any] = {"burn_in": 2, "collect": 2, "layer1": "partial", "progress": False}

    def stop_training(event: Any) -> None:
        if event.depth == 2 and event.phase == "collect":
            raise Stopped

    with pytest.raises(Stopped):
        pgbn.checkpoint.train(X, tmp_path / "model", 8, 2, executor=Spread(2), sweeps=1, share=2.0,
                              callback=stop_training, **options)  # fmt: skip
    assert len(read_manifest(tmp_path / "model")["parts"]["state"]["files"]) == 2
    found = pgbn.resume(tmp_path / "model", threads=1, progress=False).deepest
    threads = pgbn.train_layerwise(X, 8, 2, threads=1, **options).deepest
    assert all(map(np.array_equal, found.phi, threads.phi))
