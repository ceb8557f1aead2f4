"""Chains: where they begin, sweeps, values, counts, copies, and one thread at a time."""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn as pg
from pgbn import Chain, DataError, NetworkError, zoo
from pgbn.checks import thread_count
from pgbn.network.schedule import Schedule
from tests.helpers.models import algorithm1
from tests.helpers.refusals import check_refused
from tests.helpers.saved import counts
from tests.helpers.small_data import NET, X, equal_arrays, run
from tests.helpers.workers_here import Spread

LAYER1 = ["composed", "blocked", "partial", "collapsed"]
THETA = np.ones((3, 2))
REFUSED: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "seed -1": (lambda: run(X, seed=-1), ["seed=-1", "integer from 0"]),
    "seed bool": (lambda: run(X, seed=True), ["seed=True"]),
    "seed 2^64": (lambda: run(X, seed=2**64), ["seed=18446744073709551616", "2^64 - 1"]),
    "chain": (lambda: run(X, chain=-1), ["chain=-1"]),
    "threads 0": (lambda: run(X, threads=0), ["threads=0", "integer"]),
    "sweep -1": (lambda: run(X).sweep(-1), ["n=-1", "integer"]),
    "sweep 1.5": (lambda: run(X).sweep(1.5), ["n=1.5"]),
    "sweep 10**400": (lambda: run(X).sweep(10**400), ["n=1000", "below 2^63"]),
    "init name": (lambda: run(X, start={"thet": 1}), ["start: 'thet'", "theta1"]),
    "init data": (lambda: run(X, start={"x": X}), ["start: 'x'", "latent"]),
    "init shape": (lambda: run(X, start={"theta1": np.ones((3, 3))}), ["theta1", "(3, 3)"]),
    "init ndim": (lambda: run(X, start={"theta1": np.ones(3)}), ["theta1", "(3,)"]),
    "init negative": (lambda: run(X, start={"theta1": -THETA}), ["theta1", "-1", "at least 0"]),
    "init complex": (lambda: run(X, start={"theta1": 1j * THETA}), ["complex128"]),
    "init ragged": (lambda: run(X, start={"theta1": [[1], [1, 2]]}), ["theta1", "unequal"]),
    "init simplex": (lambda: run(X, start={"phi1": np.ones((2, 4))}), ["sums to 4", "'term'"]),
    "init": (lambda: run(X, start=3), ["start=3", "dict"]),
    "init gate": (
        lambda: zoo.gated_pfa(2).chain({"x": np.ones((2, 3))}, start={"h": np.full((2, 2), 0.5)}),
        ["gate is 0 or 1"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    check_refused(build, (DataError, NetworkError), words)


@pytest.mark.parametrize("sampler", LAYER1)
def test_equal_seeds_give_equal_chains_and_others_do_not(documents, sampler) -> None:
    net = zoo.pgbn([6, 4])
    first = net.chain({"x": documents}, seed=5, sampler=sampler, threads=1).sweep(4)
    again = net.chain({"x": sp.coo_array(documents)}, seed=5, sampler=sampler, threads=2)
    for _ in range(4):  # looking does not change the chain
        again.sweep()
        _ = again.values, again.counts, again.log_joint()
    assert first.sampler == sampler
    assert equal_arrays(first.values, again.values)
    assert equal_arrays(first.counts, again.counts)
    other = net.chain({"x": documents}, seed=6, sampler=sampler).sweep(4)
    number = net.chain({"x": documents}, seed=5, chain=1, sampler=sampler).sweep(4)
    for chain in (other, number):
        assert not np.array_equal(first.values["theta2"], chain.values["theta2"])


@pytest.mark.parametrize("sampler", LAYER1)
def test_counts_add_up(documents, sampler) -> None:
    chain = zoo.pgbn([6, 4]).chain({"x": documents}, seed=2, sampler=sampler).sweep(3)
    counts = chain.counts
    assert np.array_equal(counts["phi1"].sum(axis=0), documents.sum(axis=0))
    assert np.array_equal(counts["theta1"].sum(axis=1), documents.sum(axis=1))
    assert np.array_equal(counts["phi1"].sum(axis=1), counts["theta1"].sum(axis=0))
    assert np.array_equal(counts["phi2"].sum(axis=1), counts["theta2"].sum(axis=0))
    assert (counts["phi2"].sum(axis=0) <= counts["theta1"].sum(axis=0)).all()
    assert (counts["r"] <= counts["theta2"].sum(axis=0)).all()
    assert ((counts["phi2"].sum(axis=0) > 0) == (counts["theta1"].sum(axis=0) > 0)).all()
    some = chain._counts_of(["theta1", "c0"])  # c0 receives exposures alone
    assert list(some) == ["theta1"]
    assert np.array_equal(some["theta1"], counts["theta1"])


def test_values_are_positive_finite_read_only_and_sum_to_one(documents) -> None:
    chain = zoo.pgbn([6, 4]).chain({"x": documents}, seed=3).sweep(20)
    for name, value in chain.values.items():
        assert np.isfinite(value).all(), name
        assert (value >= 0).all(), name
    for name in ("phi1", "phi2"):
        np.testing.assert_allclose(chain.values[name].sum(axis=1), 1, rtol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        chain._select("r")["r"][0] = 1.0


@pytest.mark.parametrize(
    ("threads", "words"),
    [("0", "=0 .*at least 1"), ("99999", "=99999 .*at most"), ("many", "='many'")],
)
def test_threads_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, threads: str, words: str
) -> None:
    monkeypatch.setenv("PGBN_THREADS", threads)
    with pytest.raises(DataError, match=f"^PGBN_THREADS{words}"):
        run(X)
    monkeypatch.setenv("PGBN_THREADS", "3")
    assert (thread_count(None), thread_count(1)) == (3, 1)


def test_what_is_drawn_on_demand_is_drawn_anew_after_every_sweep() -> None:
    data = {"x": np.zeros((5, 6), int)}
    chain = zoo.pfa(3).chain(data, sampler="collapsed", threads=1)
    first = chain.sweep().values["phi1"].copy()
    assert (chain.sweep().values["phi1"] != first).all()


# ---- where a chain begins ----


def test_one_token_and_a_tiny_eta_begin_and_continue() -> None:
    """Shapes of the first layer underflow to 0: what is drawn there is not impossible."""
    one = np.zeros((3, 4), int)
    one[0, 1] = 1
    for sampler in LAYER1:
        chain = zoo.pgbn([3, 2], eta=1e-12).chain({"x": one}, sampler=sampler, threads=1)
        assert np.isfinite(chain.sweep(3).log_joint())


def test_nodes_begin_independently_and_within_bounds() -> None:
    a, b = (pg.Gamma(name, 0.01, 0.01, dims="doc") for name in "ab")
    network = pg.Network(pg.Poisson("x", a, dims="doc"), pg.Poisson("y", b, dims="doc"))
    ones = np.ones(50, int)
    values = network.chain({"x": ones, "y": ones}, threads=1).values
    assert (values["a"] != values["b"]).any()
    odds = zoo.pfa(2).chain({"x": np.ones((50, 3), int)}, threads=1).values["p2"]
    for value in (*values.values(), odds):
        assert value.min() >= 0.01
        assert value.max() <= 100


def test_initial_values_are_taken_and_others_drawn_from_streams_of_their_own() -> None:
    """φ is (topic, term) for users and (term, topic) in memory."""
    phi = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]])
    given = ({"theta1": THETA + n, "phi1": phi} for n in (0, 1))
    one, two = (NET.chain({"x": X}, seed=5, start=init) for init in given)
    assert one.values["theta1"].tolist() == THETA.tolist()
    assert one.values["phi1"].tolist() == phi.tolist()
    assert one._program.values["phi1"].tolist() == [phi.T.tolist()]
    assert np.array_equal(one.values["r"], two.values["r"])
    assert not np.array_equal(one.values["r"], NET.chain({"x": X}, seed=6).values["r"])


# ---- copies: neither of the two changes the other ----


def saved(chain: Chain) -> Chain:
    with tempfile.TemporaryDirectory() as folder:
        chain.save(folder)
        return pg.load(folder, threads=2)


COPIES: dict[str, Callable[[Any], Any]] = {
    "folder": saved,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda chain: pickle.loads(pickle.dumps(chain)),
}


@pytest.fixture(params=COPIES)
def copied(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return COPIES[request.param]


def reversed_order() -> Chain:
    chain = zoo.pgbn([5, 4]).chain({"x": counts()}, 1, sampler="composed")
    chain._follow(Schedule(tuple(reversed(tuple(chain.schedule)))))
    return chain


def masked() -> Any:
    dense = counts().toarray()
    return np.ma.masked_array(dense, mask=np.random.default_rng(0).random(dense.shape) < 0.1)


PHI = np.random.default_rng(1).dirichlet(np.ones(counts().shape[1]), (2, 5))
ORIGINALS: dict[str, Callable[[], Chain]] = {
    **{sampler: lambda sampler=sampler: zoo.pgbn([6, 4]).chain({"x": counts()}, 7, 2, sampler=sampler)
       for sampler in ("collapsed", "partial", "blocked", "general", "composed")},
    "another order": reversed_order,
    "order of the network": lambda: zoo.pgbn([5, 4]).with_order(algorithm1(2)).chain(
        {"x": counts()}, sampler="blocked"),
    "missing cells": lambda: zoo.pgbn([5, 4]).chain({"x": masked()}),
    "given values": lambda: zoo.pfa(5).chain({"x": counts()}, given={"phi1": PHI}),
}  # fmt: skip


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


@pytest.mark.parametrize("name", ORIGINALS)
def test_a_copy_continues_as_the_chain(name: str, copied: Callable[[Any], Any]) -> None:
    cut = 0 if name == "collapsed" else 3
    twin = check_copy(ORIGINALS[name], copied, cut)
    assert twin._program.kernels == (name not in ("composed", "another order"))


def test_rows_in_files_and_with_workers_stay_there(tmp_path: Path) -> None:
    disk = pg.Disk(tmp_path, memory="2MB", threads=1)
    for executor in (disk, Spread(2)):
        twin = check_copy(
            lambda each=executor: zoo.pgbn([6, 4]).chain(
                {"x": counts()}, sampler="partial", executor=each
            ),
            copy.deepcopy,
        )
        assert isinstance(twin._program.executor, pg.Disk) == (executor is disk)


@pytest.mark.parametrize("copied", [copy.copy, pickle.dumps])
def test_replicated_chains_are_rejected_with_the_remedy(copied: Callable[[Any], Any]) -> None:
    chain = Chain._replicated(NET, {"doc": 3, "term": 4}, 5)
    with pytest.raises(DataError, match=r"5 replicates.*make another one"):
        copied(chain)


# ---- one thread at a time: a second one meets an error, not a wrong chain ----


def make() -> Chain:
    return NET.chain({"x": X}, threads=1).sweep(2)


STATE = make().state()
USES: dict[str, Callable[[Chain], Any]] = {
    "sweep": lambda chain: chain.sweep(),
    "trace": lambda chain: list(chain.trace()),
    "restore": lambda chain: chain.restore(STATE, 2),
    "state": lambda chain: chain.state(),
    "append": lambda chain: chain.append({"x": X}, sweeps=1),
    "copy": copy.copy,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_chain_in_use_is_not_used_by_another_thread(use: Callable[[Chain], Any]) -> None:
    chain, inside, leave = make(), Event(), Event()
    last = chain._turns[-1]

    def slow(key: int) -> None:
        inside.set()
        assert leave.wait(10)
        last.run(key)

    chain._turns[-1] = replace(last, run=slow)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(chain.sweep)
        assert inside.wait(10)
        try:
            with pytest.raises(DataError, match=r"another thread.*a chain of its own"):
                use(chain)
        finally:
            leave.set()
        other.result()
    assert equal_arrays(chain.values, make().sweep().values)
    use(chain)  # nobody uses it now


def test_a_trace_that_has_not_ended_and_a_failure_that_has() -> None:
    chain = make()
    with pytest.raises(DataError, match="no value of"):
        chain.restore({}, 2)
    trace = chain.trace()
    next(trace)
    _ = chain.values  # looking is allowed
    with pytest.raises(DataError, match="trace"):
        chain.sweep()
    trace.close()
    assert equal_arrays(chain.sweep().values, make().sweep(2).values)
