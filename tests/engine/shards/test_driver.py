"""Rows that are spread over workers give the bits that threads give, also where workers are lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgbn
from pgbn import zoo
from pgbn.engine.run.bound_steps import RemoteRun
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
    network, layer1, data = CASES[request.param]
    chain = network.chain(data, layer1=layer1, threads=2).sweep(3)
    return network, layer1, data, everything(chain), chain.log_joint()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_bits_are_those_of_threads(threads: tuple[Any, ...], workers: int) -> None:
    network, layer1, data, expected, log_joint = threads
    chain = network.chain(data, layer1=layer1, executor=Spread(workers)).sweep(3)
    shards = chain.program.shards
    assert shards is not None
    assert len(shards.edges) == workers
    assert "counts(x)" in spread_out(chain)
    assert_same(everything(chain), expected)
    assert chain.log_joint() == log_joint


@pytest.mark.parametrize("commit", [1, 3])
def test_workers_that_are_lost_are_replaced(threads: tuple[Any, ...], commit: int) -> None:
    network, layer1, data, expected, _ = threads
    lost = 0
    for seed in range(3):
        executor = Spread(3, loses=0.015, commit=commit, seed=seed)
        chain = network.chain(data, layer1=layer1, executor=executor).sweep(3)
        assert_same(everything(chain), expected)
        lost += executor.here.lost
    assert lost > 0


def test_what_is_shared_is_drawn_by_the_driver_and_the_rest_by_workers() -> None:
    network, layer1, data = CASES["partial"]
    chain = network.chain(data, layer1=layer1, executor=Spread(2))
    assert spread_out(chain) == [
        "counts(x)", "counts(theta1)", "counts(theta2)", "counts(theta3)", "c4", "c3", "p2",
        "theta3", "theta2",
    ]  # fmt: skip


def test_rows_stay_with_the_workers() -> None:
    network, layer1, data = CASES["partial"]
    chain = network.chain(data, layer1=layer1, executor=Spread(2)).sweep(2)
    shards = chain.program.shards
    assert shards is not None
    here = shards.tables["values"].data
    assert all(here[name] is None for name in ("theta1", "theta2", "theta3"))
    assert shards.tables["counts"].data["x", "theta1"] is None


def test_a_state_goes_from_one_executor_to_another() -> None:
    network, layer1, data = CASES["blocked"]
    begun = network.chain(data, layer1=layer1, threads=1).sweep(2)
    chain = network.chain(data, layer1=layer1, executor=Spread(3)).restore(begun.state(), 2)
    again = network.chain(data, layer1=layer1, threads=1).restore(chain.sweep(1).state(), 3)
    assert_same(everything(again.sweep(1)), everything(begun.sweep(2)))
    assert_same(everything(chain.sweep(1)), everything(begun))


def test_a_wrong_state_is_refused() -> None:
    network, layer1, data = CASES["partial"]
    chain = network.chain(data, layer1=layer1, executor=Spread(2))
    state = chain.state()
    for labels in (state["sampler/labels"][:-1], np.full_like(state["sampler/labels"], 99)):
        with pytest.raises(pgbn.DataError, match="labels"):
            chain.restore(state | {"sampler/labels": labels}, 1)


def test_a_chain_goes_on_in_another_order() -> None:
    network, layer1, data = CASES["partial"]
    chain = network.chain(data, layer1=layer1, executor=Spread(2)).sweep(1)
    other = network.chain(data, layer1=layer1, threads=1).sweep(1)
    for each in (chain, other):
        each.follow(each.schedule)
    assert_same(everything(chain.sweep(1)), everything(other.sweep(1)))


def test_tracing_is_sweeping() -> None:
    network, layer1, data = CASES["partial"]
    chain = network.chain(data, layer1=layer1, executor=Spread(2))
    names = [event.step.name for event in chain.trace()]
    assert "counts(x)" in names
    swept = network.chain(data, layer1=layer1, threads=1).sweep(1)
    assert_same(everything(chain), everything(swept))


def test_given_values_change_with_the_sweeps() -> None:
    network, _, data = CASES["partial"]
    phi = np.random.default_rng(0).dirichlet(np.ones(40), (2, 12))
    given = {"phi1": phi}
    chain = network.chain(data, layer1="partial", given=given, executor=Spread(2)).sweep(3)
    other = network.chain(data, layer1="partial", given=given, threads=1).sweep(3)
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
    for layer1 in ("collapsed", "auto"):
        with pytest.raises(pgbn.NetworkError, match=r"'collapsed'.*use layer1='partial'"):
            network.chain(data, layer1=layer1, executor=Spread(2))


@pytest.mark.parametrize("layer1", ["auto", "partial"])
def test_rows_that_share_scores_are_refused_and_the_rules_named(layer1: str) -> None:
    network, _, data = CASES["author_topic"]
    with pytest.raises(pgbn.NetworkError, match=r"share theta.*use layer1='general'"):
        network.chain(data, layer1=layer1, executor=Spread(2))


def test_of_a_corpus_auto_is_partial(tmp_path: Path) -> None:
    corpus = pgbn.Corpus.build(X, tmp_path / "corpus", block_rows=100)
    network = zoo.pgbn([12, 6])
    chain = network.chain({"x": corpus}, executor=Spread(2)).sweep(1)
    assert chain.layer1 == "partial"
    other = network.chain({"x": X}, layer1="partial", threads=1).sweep(1)
    assert_same(everything(chain), everything(other))


def test_a_run_is_saved_and_resumed(tmp_path: Path) -> None:
    network, layer1, data = CASES["partial"]
    options: dict[str, Any] = {"burn_in": 1, "thin": 1, "layer1": layer1, "progress": False}
    kept = network.sample(data, draws=3, keep=["theta1", "r"], threads=1, **options)

    def stop(event: Any) -> None:
        if event.done == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        network.sample(data, draws=3, keep=["theta1", "r"], executor=Spread(2), callback=stop,
                       save=tmp_path / "run", minutes=0, **options)  # fmt: skip
    resumed = pgbn.resume(tmp_path / "run", executor=Spread(3), progress=False)
    for name in ("theta1", "r"):
        assert np.array_equal(resumed[name], kept[name])


def test_training_layer_by_layer() -> None:
    options: dict[str, Any] = {"burn_in": 2, "collect": 2, "layer1": "partial", "progress": False}
    spread = pgbn.train_layerwise(X, 8, 2, executor=Spread(2), **options).deepest
    threads = pgbn.train_layerwise(X, 8, 2, threads=1, **options).deepest
    assert all(map(np.array_equal, spread.phi, threads.phi))
    assert_same(spread.state, threads.state)


def test_rows_that_are_appended_go_to_the_workers() -> None:
    network, layer1, data = CASES["partial"]
    chains = [network.chain(data, layer1=layer1, threads=1).sweep(1),
              network.chain(data, layer1=layer1, executor=Spread(2)).sweep(1)]  # fmt: skip
    one, other = (chain.append({"x": X[:50]}).sweep(1) for chain in chains)
    assert other.program.shards is not None
    assert_same(everything(one), everything(other))


def test_a_worker_that_is_lost_again_and_again_is_named() -> None:
    network, layer1, data = CASES["partial"]
    with pytest.raises(pgbn.PgbnError, match=r"worker [01].*lost 3 times at one step"):
        network.chain(data, layer1=layer1, executor=Spread(2, loses=1.0))


@pytest.mark.long
@pytest.mark.parametrize("name", list(large_zoo()))
def test_every_model_of_the_zoo(name: str) -> None:
    network = large_zoo()[name]
    data = data_for(network, {**LARGE_SIZES, "doc": ROWS})
    for layer1 in ("blocked", "composed"):
        chain = network.chain(data, layer1=layer1, executor=Spread(3)).sweep(2)
        other = network.chain(data, layer1=layer1, threads=1).sweep(2)
        assert_same(everything(chain), everything(other))
