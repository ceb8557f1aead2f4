"""Kernels on blocks of rows, in threads."""

import os

import numpy as np
import pytest
from numpy.typing import NDArray

from pgbn.samplers import Stream, run_rows, vectorised
from pgbn.samplers.threads import run_behind

KEY = 0xFEDC_BA98_7654_3210  # above 2^63, where signed integers would fail
LARGE = (2, 30, 40, 50)  # above the size where threads are used


def test_run_rows_covers_each_row_once() -> None:
    for rows in (0, 1, 2, 7, 1000):
        for threads in (1, 2, 3):
            seen = np.zeros(rows, int)

            def visit(key: np.uint64, start: int, stop: int, out: NDArray) -> None:
                assert isinstance(key, np.uint64)
                out[start:stop] += 1

            run_rows(visit, rows, threads, KEY, seen)
            assert (seen == 1).all()


def test_run_rows_raises_what_a_block_raises() -> None:
    def fail(_key: np.uint64, start: int, _stop: int) -> None:
        if start:
            raise RuntimeError("in a block")

    with pytest.raises(RuntimeError, match="in a block"):
        run_rows(fail, 100, 2, KEY)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_threads_after_a_fork() -> None:
    expected = vectorised.gamma(Stream(KEY, LARGE, 2), 1.0, 1.0)
    child = os.fork()
    if child == 0:
        same = np.array_equal(vectorised.gamma(Stream(KEY, LARGE, 2), 1.0, 1.0), expected)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_work_behind_runs_in_order_and_passes_errors_on():
    seen = []
    run_behind(2, lambda i: seen.append(("a", i)), lambda i: seen.append(("b", i)),
               lambda i: seen.append(("c", i)), 3)  # fmt: skip
    assert [i for step, i in seen if step == "b"] == [0, 1, 2]
    for i in range(3):
        assert seen.index(("a", i)) < seen.index(("b", i)) < seen.index(("c", i))
    with pytest.raises(ZeroDivisionError):
        run_behind(2, lambda i: None, lambda i: None, lambda i: 1 // 0, 2)
