"""Kernels on blocks of rows, in threads."""

import os

import numpy as np
import pytest
from numpy.typing import NDArray

from pgbn.errors import DataError
from pgbn.samplers import Stream, Threads, vectorised
from pgbn.samplers.executor import executor_of
from tests.helpers.own_executor import Backwards

KEY = 0xFEDC_BA98_7654_3210  # above 2^63, where signed integers would fail
LARGE = (2, 30, 40, 50)  # above the size where threads are used


def test_rows_covers_each_row_once() -> None:
    for rows in (0, 1, 2, 7, 1000):
        for threads in (1, 2, 3):
            seen = np.zeros(rows, int)

            def visit(key: np.uint64, start: int, stop: int, out: NDArray) -> None:
                assert isinstance(key, np.uint64)
                out[start:stop] += 1

            Threads(threads).rows(visit, rows, KEY, seen)
            assert (seen == 1).all()


def test_rows_raises_what_a_block_raises() -> None:
    def fail(_key: np.uint64, start: int, _stop: int) -> None:
        if start:
            raise RuntimeError("in a block")

    with pytest.raises(RuntimeError, match="in a block"):
        Threads(2).rows(fail, 100, KEY)


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
    Threads(2).behind(lambda i: seen.append(("a", i)), lambda i: seen.append(("b", i)),
                      lambda i: seen.append(("c", i)), 3)  # fmt: skip
    assert [i for step, i in seen if step == "b"] == [0, 1, 2]
    for i in range(3):
        assert seen.index(("a", i)) < seen.index(("b", i)) < seen.index(("c", i))
    with pytest.raises(ZeroDivisionError):
        Threads(2).behind(lambda i: None, lambda i: None, lambda i: 1 // 0, 2)


def test_calls_keep_their_order() -> None:
    calls = [lambda i=i: i * i for i in range(20)]
    assert Threads(3).calls(calls) == Threads(1).calls(calls) == [i * i for i in range(20)]


def test_threads_or_an_executor() -> None:
    assert executor_of(3) == Threads(3)
    assert executor_of(None, Threads(2)) == Threads(2)
    with pytest.raises(DataError, match="give one of them"):
        executor_of(2, Threads(2))
    with pytest.raises(DataError, match="no method 'rows'"):
        executor_of(None, object())  # type: ignore[arg-type]
    idle = type("Idle", (Backwards,), {"workers": 0})()
    with pytest.raises(DataError, match="workers=0 must be an integer of at least 1"):
        executor_of(None, idle)


def test_a_stream_takes_a_number_of_threads() -> None:
    one, two = (vectorised.gamma(Stream(KEY, LARGE, n), 1.0, 1.0) for n in (1, Threads(2)))
    assert np.array_equal(one, two)
    assert Stream(KEY, LARGE, np.int64(2)).child("other").executor == Threads(2)


def test_threads_are_a_whole_number() -> None:
    assert Threads(2.0) == Threads(2)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="Threads: workers=0 must be an integer of at least 1"):
        Threads(0)
