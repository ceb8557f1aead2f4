"""Rows that are spread over workers give the bits that threads give, also where workers are lost."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgbn
from pgbn import zoo
from pgbn.engine.run.bound_steps import RemoteRun
from pgbn.engine.shards import worker
from pgbn.engine.shards.worker import shard_edges
from pgbn.samplers.executor import ROW_BLOCK
from pgbn.storage.archive import read_manifest
from pgbn.training.checkpoints import train_with_checkpoints
from tests.helpers.workers_here import Spread
from tests.same_bits.networks import LARGE_SIZES, data_for, large_zoo, topical

ROWS = 600  # three blocks, of which the last is not full
X = topical(ROWS, 40, 0.3)
AUTHORS = np.random.default_rng(1).integers(0, 7, ROWS)
CASES: dict[str, tuple[pgbn.Network, str, dict[str, Any]]] = {
    "partial": (zoo.pgbn([12, 6, 4]), "partial", {"x": X}),
    "blocked": (zoo.pgbn([12, 6, 4]), "blocked", {"x": X}),
    "bernoulli": (zoo.pgbn([12, 6], link="bernoulli"), "auto", {"x": np.minimum(X, 1)}),
    "lda": (zoo.lda(12), "partial", {"x": X}),
    "author_topic": (zoo.author_topic(12), "general", {"x": X, "author": AUTHORS}),
}


def everything(chain: pgbn.Chain) -> dict[str, NDArray[Any]]:
    """All values of a chain, of which some are drawn on demand, and then its state."""
    values = {f"value of {name}": np.array(v) for name, v in chain.values.items()}
    return values | chain.state()


def assert_same(one: dict[str, NDArray[Any]], other: dict[str, NDArray[Any]]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert array.shape == other[name].shape, name
        assert np.array_equal(array, other[name]), name


def spread_out(chain: pgbn.Chain) -> list[str]:
    """The steps that the workers run."""
    return [turn.step.name for turn in chain._turns if isinstance(turn.run, RemoteRun)]


@pytest.fixture(scope="module", params=list(CASES))
def threads(request: Any) -> tuple[Any, ...]:
    network, sampler, data = CASES[request.param]
    chain = network.chain(data, sampler=sampler, threads=2).sweep(3)
    return network, sampler, data, everything(chain), chain.log_joint()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_bits_are_those_of_threads(threads: tuple[Any, ...], workers: int) -> None:
    network, sampler, data, expected, log_joint = threads
    chain = network.chain(data, sampler=sampler, executor=Spread(workers)).sweep(3)
    shards = chain._program.shards
    assert shards is not None
    assert len(shards.edges) == workers
    assert "counts(x)" in spread_out(chain)
    assert_same(everything(chain), expected)
    assert chain.log_joint() == log_joint


@pytest.mark.parametrize("commit", [1, 3])
def test_workers_that_are_lost_are_replaced(threads: tuple[Any, ...], commit: int) -> None:
    network, sampler, data, expected, _ = threads
    lost = 0
    for seed in range(3):
        executor = Spread(3, loses=0.015, commit=commit, seed=seed)
        chain = network.chain(data, sampler=sampler, executor=executor).sweep(3)
        assert_same(everything(chain), expected)
        lost += executor.here.lost
    assert lost > 0


def test_what_is_shared_is_drawn_by_the_driver_and_the_rest_by_workers() -> None:
    """Rows stay with the workers."""
    network, sampler, data = CASES["partial"]
    chain = network.chain(data, sampler=sampler, executor=Spread(2)).sweep(2)
    assert spread_out(chain) == [
        "counts(x)", "counts(theta1)", "counts(theta2)", "counts(theta3)", "c4", "c3", "p2",
        "theta3", "theta2",
    ]  # fmt: skip
    shards = chain._program.shards
    assert shards is not None
    here = shards.tables["values"].data
    assert all(here[name] is None for name in ("theta1", "theta2", "theta3"))
    assert shards.tables["counts"].data["x", "theta1"] is None


def test_a_state_goes_from_one_executor_to_another() -> None:
    network, sampler, data = CASES["blocked"]
    begun = network.chain(data, sampler=sampler, threads=1).sweep(2)
    chain = network.chain(data, sampler=sampler, executor=Spread(3)).restore(begun.state(), 2)
    again = network.chain(data, sampler=sampler, threads=1).restore(chain.sweep(1).state(), 3)
    assert_same(everything(again.sweep(1)), everything(begun.sweep(2)))
    assert_same(everything(chain.sweep(1)), everything(begun))


def test_a_wrong_state_is_refused() -> None:
    network, sampler, data = CASES["partial"]
    chain = network.chain(data, sampler=sampler, executor=Spread(2))
    state = chain.state()
    for labels in (state["sampler/labels"][:-1], np.full_like(state["sampler/labels"], 99)):
        with pytest.raises(pgbn.DataError, match="labels"):
            chain.restore(state | {"sampler/labels": labels}, 1)


def test_a_chain_goes_on_in_another_order() -> None:
    network, sampler, data = CASES["partial"]
    chain = network.chain(data, sampler=sampler, executor=Spread(2)).sweep(1)
    other = network.chain(data, sampler=sampler, threads=1).sweep(1)
    for each in (chain, other):
        each._follow(each.schedule)
    assert_same(everything(chain.sweep(1)), everything(other.sweep(1)))


def test_given_values_change_with_the_sweeps() -> None:
    network, _, data = CASES["partial"]
    phi = np.random.default_rng(0).dirichlet(np.ones(40), (2, 12))
    given = {"phi1": phi}
    chain = network.chain(data, sampler="partial", given=given, executor=Spread(2)).sweep(3)
    other = network.chain(data, sampler="partial", given=given, threads=1).sweep(3)
    assert_same(everything(chain), everything(other))


def test_missing_cells_are_imputed_by_the_workers() -> None:
    data = np.ma.masked_array(X, np.random.default_rng(0).random(X.shape) < 0.1)
    network = zoo.pgbn([8, 4])
    chain = network.chain({"x": data}, executor=Spread(3)).sweep(2)
    other = network.chain({"x": data}, threads=1).sweep(2)
    assert_same(everything(chain), everything(other))
    assert np.array_equal(chain.imputed("x"), other.imputed("x"))


def test_collapsed_is_refused_and_partial_named() -> None:
    network, _, data = CASES["partial"]
    for sampler in ("collapsed", "auto"):
        with pytest.raises(pgbn.NetworkError, match=r"'collapsed'.*use sampler='partial'"):
            network.chain(data, sampler=sampler, executor=Spread(2))


@pytest.mark.parametrize("sampler", ["auto", "partial"])
def test_rows_that_share_scores_are_refused_and_the_rules_named(sampler: str) -> None:
    network, _, data = CASES["author_topic"]
    with pytest.raises(pgbn.NetworkError, match=r"share theta.*use sampler='general'"):
        network.chain(data, sampler=sampler, executor=Spread(2))


def test_rows_that_are_appended_go_to_the_workers() -> None:
    network, sampler, data = CASES["partial"]
    chains = [network.chain(data, sampler=sampler, threads=1).sweep(1),
              network.chain(data, sampler=sampler, executor=Spread(2)).sweep(1)]  # fmt: skip
    one, other = (chain.append({"x": X[:50]}).sweep(1) for chain in chains)
    assert other._program.shards is not None
    assert_same(everything(one), everything(other))


def test_a_worker_that_is_lost_again_and_again_is_named() -> None:
    network, sampler, data = CASES["partial"]
    with pytest.raises(pgbn.PgbnError, match=r"worker [01].*lost 3 times at one step"):
        network.chain(data, sampler=sampler, executor=Spread(2, loses=1.0))


@pytest.mark.long
@pytest.mark.parametrize("name", list(large_zoo()))
def test_every_model_of_the_zoo(name: str) -> None:
    network = large_zoo()[name]
    data = data_for(network, {**LARGE_SIZES, "doc": ROWS})
    for sampler in ("blocked", "composed"):
        chain = network.chain(data, sampler=sampler, executor=Spread(3)).sweep(2)
        other = network.chain(data, sampler=sampler, threads=1).sweep(2)
        assert_same(everything(chain), everything(other))


# ---- each worker writes its part of a checkpoint, which any executor reads ----

OPTIONS: dict[str, Any] = {"burn_in": 2, "draws": 3, "progress": False, "keep": ["r"]}


class Stopped(Exception):
    pass


def stop(event: Any) -> None:
    if event.done == 4:
        raise Stopped


@pytest.mark.parametrize("name", list(CASES))
def test_a_checkpoint_in_parts_goes_on_anywhere(name: str, tmp_path: Path) -> None:
    network, sampler, data = CASES[name]
    wanted = {"keep": network.latent}
    whole = network.sample(data, sampler=sampler, threads=1, **(OPTIONS | wanted))
    for place, executor in (("threads", None), ("workers", Spread(3))):
        with pytest.raises(Stopped):
            network.sample(data, sampler=sampler, executor=Spread(2), callback=stop, minutes=0,
                           save=tmp_path / place, **(OPTIONS | wanted))  # fmt: skip
        parts = read_manifest(tmp_path / place)["parts"]
        assert len(parts["state/0"]["files"]) == 2
        resumed = pgbn.resume(tmp_path / place, executor=executor, progress=False)
        for node in whole:
            assert np.array_equal(resumed[node], whole[node]), node


def test_the_driver_gathers_no_rows(tmp_path: Path) -> None:
    network, sampler, data = CASES["partial"]
    chain = network.chain(data, sampler=sampler, executor=Spread(2)).sweep(2)
    shards = chain._program.shards
    assert shards is not None
    before = [dict(table.data) for table in shards.tables.values()]
    pgbn.save(chain, tmp_path / "chain")
    for table, data in zip(shards.tables.values(), before, strict=True):
        assert all(table.data[key] is array for key, array in data.items())
    assert shards.tables["values"].data["theta1"] is None
    again = pgbn.load(tmp_path / "chain", threads=1)
    assert_same(everything(again.sweep(1)), everything(chain.sweep(1)))


def test_workers_may_be_lost_while_they_write(tmp_path: Path) -> None:
    network, sampler, data = CASES["partial"]
    chain = network.chain(data, sampler=sampler, threads=1).sweep(3)
    lost = 0
    for seed in range(5):
        executor = Spread(3, seed=seed)
        spread = network.chain(data, sampler=sampler, executor=executor).sweep(3)
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
    network, sampler, data = CASES["partial"]
    write = worker.write_part
    monkeypatch.setattr(
        worker, "write_part", lambda probe, *rest: None if rest[1][0] else write(probe, *rest)
    )
    chain = network.chain(data, sampler=sampler, executor=Spread(2)).sweep(1)
    with pytest.warns(pgbn.errors.PgbnWarning, match=r"worker 1 of .* a folder that all machines"):
        pgbn.save(chain, tmp_path / "chain")
    pgbn.save(chain, tmp_path / "chain")  # warnings are errors in tests
    body = read_manifest(tmp_path / "chain")
    assert "parts" not in body
    assert {path.name for path in (tmp_path / "chain").iterdir()} == {"model.json", *body["files"]}
    assert_same(everything(pgbn.load(tmp_path / "chain", threads=1)), everything(chain))


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    network, sampler, data = CASES["partial"]
    with pytest.raises(Stopped):
        network.sample(data, sampler=sampler, executor=Spread(2), callback=stop, minutes=0,
                       save=tmp_path / "run", **OPTIONS)  # fmt: skip
    name = read_manifest(tmp_path / "run")["parts"]["state/0"]["files"][1]
    data = bytearray((tmp_path / "run" / name).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "run" / name).write_bytes(bytes(data))
    with pytest.raises(pgbn.errors.StorageError, match=f"{name}: damaged"):
        pgbn.resume(tmp_path / "run", progress=False)


def test_a_training_is_checkpointed_in_parts(tmp_path: Path) -> None:
    options: dict[str, Any] = {"burn_in": 2, "sweeps": 2, "sampler": "partial", "progress": False}

    def stop_training(event: Any) -> None:
        if event.depth == 2 and event.phase == "collect":
            raise Stopped

    with pytest.raises(Stopped):
        train_with_checkpoints(X, tmp_path / "model", 8, 2, executor=Spread(2), every=1, share=2.0,
                              callback=stop_training, **options)  # fmt: skip
    assert len(read_manifest(tmp_path / "model")["parts"]["state"]["files"]) == 2
    found = pgbn.resume(tmp_path / "model", threads=1, progress=False).deepest
    threads = pgbn.train_layerwise(X, 8, 2, threads=1, **options).deepest
    assert all(map(np.array_equal, found.phi, threads.phi))


# ---- where shards begin ----


@pytest.mark.parametrize(
    ("rows", "workers", "edges"),
    [
        (10, 3, [(0, 10)]),
        (256, 2, [(0, 256)]),
        (257, 2, [(0, 257)]),  # no shard of one row
        (258, 2, [(0, 256), (256, 258)]),
        (1024, 2, [(0, 512), (512, 1024)]),
        (1024, 4, [(0, 256), (256, 512), (512, 768), (768, 1024)]),
        (1024, 9, [(0, 256), (256, 512), (512, 768), (768, 1024)]),
    ],
)
def test_edges(rows: int, workers: int, edges: list[tuple[int, int]]) -> None:
    assert shard_edges(np.arange(rows + 1) * 3, rows, workers) == edges


def test_shards_have_about_as_many_cells() -> None:
    lengths = np.repeat([90, 10], 5 * ROW_BLOCK)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    (_, middle), _ = shard_edges(starts, lengths.size, 2)
    assert middle == 3 * ROW_BLOCK
