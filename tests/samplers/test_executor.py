"""Kernels on blocks of rows, in threads."""

from __future__ import annotations

import os
import threading
import time
from functools import partial

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.errors import DataError
from pgbn.samplers import Stream, Threads, vectorised
from pgbn.samplers.executor import executor_of, shrinking
from tests.helpers.own_executor import Backwards

KEY = 0xFEDC_BA98_7654_3210  # above 2^63, where signed integers would fail
LARGE = (2, 30, 40, 50)  # above the size where threads are used


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_threads_after_a_fork() -> None:
    expected = vectorised.gamma(Stream(KEY, LARGE, Threads(2)), 1.0, 1.0)
    child = os.fork()
    if child == 0:
        same = np.array_equal(vectorised.gamma(Stream(KEY, LARGE, Threads(2)), 1.0, 1.0), expected)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_work_behind_runs_in_order_and_passes_errors_on():
    seen = []
    Threads(2).pipeline(lambda i: seen.append(("a", i)), lambda i: seen.append(("b", i)),
                      lambda i: seen.append(("c", i)), 3)  # fmt: skip
    assert [i for step, i in seen if step == "b"] == [0, 1, 2]
    for i in range(3):
        assert seen.index(("a", i)) < seen.index(("b", i)) < seen.index(("c", i))
    with pytest.raises(ZeroDivisionError):
        Threads(2).pipeline(lambda i: None, lambda i: None, lambda i: 1 // 0, 2)


def test_blocks_shrink_and_cover_all_rows() -> None:
    for rows, workers in ((1, 2), (7, 2), (11_314, 2), (1000, 3), (10**8, 16)):
        ranges = shrinking(rows, workers)
        assert [start for start, _ in ranges] == [0, *(stop for _, stop in ranges[:-1])]
        assert ranges[-1][1] == rows
        sizes = [stop - start for start, stop in ranges]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] <= max(1, rows // (2 * workers))  # no thread is left without
        assert len(ranges) <= 32 * workers + 1


def test_all_calls_are_made_though_one_fails() -> None:
    made: list[int] = []

    def call(i: int) -> None:
        made.append(i)
        if i in (3, 7):
            raise ValueError(f"call {i}")

    with pytest.raises(ValueError, match="call 3"):
        Threads(2).calls([partial(call, i) for i in range(20)])
    assert sorted(made) == list(range(20))


def test_ctrl_c_leaves_no_call_behind() -> None:
    """The thread that asked is interrupted: others end what they have begun, and begin no more."""
    begun: list[int] = []
    other = threading.Event()

    def call(i: int) -> None:
        begun.append(i)
        if threading.current_thread() is threading.main_thread():
            other.wait(10)
            raise KeyboardInterrupt
        other.set()
        time.sleep(0.05)
        begun.append(-i)

    with pytest.raises(KeyboardInterrupt):
        Threads(2).calls([partial(call, i) for i in range(1, 100)])
    now = list(begun)
    time.sleep(0.1)
    assert begun == now  # nothing was still at work
    assert len(begun) < 20


def test_calls_within_calls_do_not_wait_for_each_other() -> None:
    inner = [partial(int, i) for i in range(5)]
    found = Threads(2).calls([partial(Threads(2).calls, inner)] * 6)
    assert found == [[0, 1, 2, 3, 4]] * 6  # in their order


def test_threads_or_an_executor() -> None:
    assert executor_of(3) == Threads(3)
    assert executor_of(None, Threads(2)) == Threads(2)
    with pytest.raises(DataError, match="give one of them"):
        executor_of(2, Threads(2))
    with pytest.raises(DataError, match=r"subclass of pgbn\.extend\.Executor"):
        executor_of(None, object())  # type: ignore[arg-type]
    idle = type("Idle", (Backwards,), {"workers": 0})()
    with pytest.raises(DataError, match="workers=0 must be an integer of at least 1"):
        executor_of(None, idle)
    assert Threads(2.0) == Threads(2)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="Threads: workers=0 must be an integer of at least 1"):
        Threads(0)


def test_pools_of_other_numbers_of_threads_are_freed() -> None:
    """One pool for each number ever asked for left hundreds of threads."""

    def living() -> int:
        return sum(thread.name.startswith("pgbn") for thread in threading.enumerate())

    for workers in range(2, 14):
        barrier = threading.Barrier(workers)  # all threads of the pool are needed
        Threads(workers).calls([barrier.wait] * workers)
    until = time.monotonic() + 10
    while living() > 9 + 10 + 11 + 12 and time.monotonic() < until:
        time.sleep(0.01)
    assert living() <= 9 + 10 + 11 + 12


# ---- an executor outside the package --------------------------------------------------------

X = np.random.default_rng(0).poisson(0.5, (600, 70))
MODELS = {
    "pgbn": zoo.pgbn([30, 20]),
    "bernoulli": zoo.pgbn([30, 20], link="bernoulli"),
    "lda": zoo.lda(30, 0.1, 0.1),
    "time": zoo.gp_dpfa(30),
}


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        ("pgbn", "collapsed"),
        ("pgbn", "partial"),
        ("pgbn", "blocked"),
        ("pgbn", "composed"),
        ("bernoulli", "auto"),
        ("lda", "auto"),
        ("time", "auto"),
    ],
)
def test_another_executor_gives_the_same_bits(name: str, sampler: str) -> None:
    data = {"x": np.minimum(X, 1) if name == "bernoulli" else X}
    executor = Backwards()
    own = MODELS[name].chain(data, sampler=sampler, executor=executor).sweep(2)
    threads = MODELS[name].chain(data, sampler=sampler, threads=2).sweep(2)
    assert sum(executor.used.values()) > 0
    for node, value in threads.values.items():
        assert np.array_equal(own.values[node], value), node


def test_every_kind_of_work_goes_through_it() -> None:
    executor = Backwards()
    for sampler in ("collapsed", "composed"):
        MODELS["pgbn"].chain({"x": X}, sampler=sampler, executor=executor).sweep(1)
    assert min(executor.used.values()) > 0, executor.used
    with pytest.raises(pgbn.DataError, match="give one of them"):
        MODELS["pgbn"].chain({"x": X}, threads=2, executor=executor)
