"""Copies of chains continue bit-identically, and neither of the two changes the other."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Chain, DataError, zoo
from pgbn.network.schedule import Schedule
from tests.helpers.saved import counts
from tests.helpers.small_data import NET, X, equal_arrays, sample
from tests.helpers.workers_here import Spread

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda chain: pickle.loads(pickle.dumps(chain)),
}


@pytest.fixture(params=COPIES)
def copied(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return COPIES[request.param]


def check_copy(make: Callable[[], Chain], copied: Callable[[Any], Any], cut: int = 3) -> Chain:
    """The original and its copy, advanced alternately, are both the chain that nobody copied."""
    alone, chain = make().sweep(cut + 3), make().sweep(cut)
    twin = copied(chain)
    assert (twin.seed, twin.number, twin.sweeps) == (chain.seed, chain.number, chain.sweeps)
    for _ in range(3):
        twin.sweep()
        chain.sweep()
    for each in (chain, twin):
        assert equal_arrays(each.values, alone.values)
        assert equal_arrays(each.counts, alone.counts)
        assert each.log_joint() == alone.log_joint()
    return twin


@pytest.mark.parametrize("layer1", ["collapsed", "partial", "blocked", "general", "composed"])
def test_a_copy_continues_as_the_chain(layer1: str, copied: Callable[[Any], Any]) -> None:
    data = {"x": counts()}
    twin = check_copy(lambda: zoo.pgbn([6, 4]).chain(data, 7, 2, layer1=layer1), copied)
    assert twin.program.kernels == (layer1 != "composed")


def test_a_chain_that_has_not_begun(copied: Callable[[Any], Any]) -> None:
    check_copy(lambda: zoo.pgbn([6, 4]).chain({"x": counts()}, 1), copied, cut=0)


def test_given_values_and_missing_cells(copied: Callable[[Any], Any]) -> None:
    dense = counts().toarray()
    masked = np.ma.masked_array(dense, mask=np.random.default_rng(0).random(dense.shape) < 0.1)
    check_copy(lambda: zoo.pgbn([5, 4]).chain({"x": masked}), copied)
    phi = np.random.default_rng(1).dirichlet(np.ones(dense.shape[1]), (2, 5))
    check_copy(lambda: zoo.pfa(5).chain({"x": dense}, given={"phi1": phi}), copied)


def test_the_order_of_the_steps_is_copied(copied: Callable[[Any], Any]) -> None:
    def make() -> Chain:
        chain = zoo.pgbn([5, 4]).chain({"x": counts()}, 1, layer1="composed")
        chain.follow(Schedule(tuple(reversed(tuple(chain.schedule)))))
        return chain

    check_copy(make, copied)


def test_rows_in_files_stay_in_files(tmp_path: Path, copied: Callable[[Any], Any]) -> None:
    disk = pgbn.Disk(tmp_path, memory="2MB", threads=1)
    data = {"x": counts()}
    twin = check_copy(lambda: zoo.pgbn([6, 4]).chain(data, layer1="partial", executor=disk), copied)
    assert isinstance(twin.program.executor, pgbn.Disk)


def test_rows_with_workers() -> None:
    def make() -> Chain:
        return zoo.pgbn([6, 4]).chain({"x": counts()}, layer1="partial", executor=Spread(2))

    check_copy(make, copy.deepcopy)


def test_replicated_chains_are_rejected_with_the_remedy(copied: Callable[[Any], Any]) -> None:
    chain = Chain.replicated(NET, {"doc": 3, "term": 4}, 5)
    with pytest.raises(DataError, match=r"5 replicates.*Chain\.replicated"):
        copied(chain)


def test_what_is_made_by_chains_is_copied_as_ever(copied: Callable[[Any], Any]) -> None:
    draws = sample(draws=2)
    assert equal_arrays(copied(draws).values, draws.values)
    assert copied(NET).to_json() == NET.to_json()
    few: dict[str, Any] = {"burn_in": 2, "collect": 2}
    trained = pgbn.train_layerwise(X, 2, 1, **few, progress=False).deepest
    assert np.array_equal(copied(trained).phi[0], trained.phi[0])
    fitted = pgbn.PGBN(2, 1, **few, random_state=0).fit(X)
    assert np.array_equal(copied(fitted).transform(X), fitted.transform(X))
