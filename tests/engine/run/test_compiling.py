"""What is said while kernels are compiled."""

import re
import threading

import numba

from pgbn.engine.run.progress import compiling


def kernel():
    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer_kernel(x):
        return inner(x) * 2

    return outer_kernel


def test_each_outermost_kernel_is_told_once():
    told = []
    with compiling(told.append):
        first, second = kernel(), kernel()
        assert first(1) == 4
        assert first(2) == 6  # compiled already
        assert second(1) == 4
    assert [re.sub(r"\d+ s$", "", text) for text in told] == [
        "first run: compiling kernel 1 (outer kernel), ",
        "first run: compiling kernel 2 (outer kernel), ",
    ]
    kernel()(1)
    assert len(told) == 2  # nobody listens any more


def test_how_many_are_to_come_is_told_as_long_as_it_can_be_true():
    told = []
    with compiling(told.append, of=1):
        assert kernel()(1) == kernel()(1) == 4
    assert "kernel 1 of about 1 (" in told[0]
    assert "kernel 2 (" in told[1]


def test_other_threads_are_not_told_of():
    told = []
    with compiling(told.append):
        other = threading.Thread(target=lambda: kernel()(1))
        other.start()
        other.join()
    assert told == []
