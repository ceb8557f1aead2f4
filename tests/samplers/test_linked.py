"""Functions that kernels call are linked into them, and compiled by themselves for Python alone."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numba.core import registry

from pgbn.samplers.compiled import njit
from pgbn.samplers.linked import uninterrupted


@njit(nogil=True, forceinline=True)
def square(x):
    return x * x


@njit(nogil=True)
def half_square(x):
    if x < 0.0:
        raise ValueError("below zero")
    return square(x) / 2.0


@njit(nogil=True)
def sum_of(values):
    total = 0.0
    for i in range(values.size):
        total += half_square(values[i])
    return total


def test_what_a_kernel_calls_is_not_compiled_by_itself() -> None:
    assert sum_of(np.array([2.0, 4.0])) == 10.0
    assert [len(each.signatures) for each in (sum_of, half_square, square)] == [1, 0, 0]
    assert sum_of(np.array([3.0])) == half_square(3.0) == 4.5  # for Python it is
    assert len(half_square.signatures) == 1
    assert square(3) == 9


def test_errors_come_through() -> None:
    with pytest.raises(ValueError, match="below zero"):
        sum_of(np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="below zero"):
        half_square(-1.0)


def test_a_kernel_goes_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(sum_of))
    assert again(np.array([2.0])) == 2.0


def test_division_is_numpys_unless_asked() -> None:
    def over(x: Any) -> Any:
        return 1.0 / x

    assert njit(nogil=True)(over)(0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        njit(nogil=True, error_model="python")(over)(0.0)


# ---- Ctrl-C waits for the compiler -----------------------------------------------------


@pytest.fixture
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_it_is_heeded_afterwards(handler: None) -> None:
    done = []

    def work() -> None:
        with uninterrupted(), uninterrupted():
            press()
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [1]


def test_whoever_heeds_it_hears_each_press(handler: None) -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        with uninterrupted():
            press()
            press()
            assert received == []
    finally:
        signal.signal(signal.SIGINT, before)
    assert received == [signal.SIGINT] * 2


def test_outside_the_main_thread(handler: None) -> None:
    def look() -> Any:
        with uninterrupted():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(look).result() is signal.getsignal(signal.SIGINT)


def test_a_kernel_is_compiled_whole(handler: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of the compiler it could end the interpreter, minutes later."""
    kernel = njit()(lambda x: x + 1)
    true = registry.CPUDispatcher.compile

    def pressed(self: Any, sig: Any) -> Any:
        press()
        return true(self, sig)

    monkeypatch.setattr(registry.CPUDispatcher, "compile", pressed)
    with pytest.raises(KeyboardInterrupt):
        kernel(1)
    monkeypatch.undo()
    assert len(kernel.signatures) == 1
    assert kernel(1) == 2


# ---- memory ---------------------------------------------------------------------------

_LEAKS = """
import warnings
import numpy as np
import pgbn
from numba.core.runtime import rtsys

warnings.simplefilter("ignore")
rows = np.random.default_rng(0).poisson(0.5, (40, 30))

def work():
    for sampler in ("collapsed", "partial", "blocked"):
        pgbn.zoo.pgbn([6, 4]).chain({"x": rows}, seed=0, sampler=sampler).sweep(3)
    pgbn.PGBN(5, 2, burn_in=3, sweeps=2, random_state=0).fit(rows).transform(rows)

work()
before = rtsys.get_allocation_stats()
work()
after = rtsys.get_allocation_stats()
print(after.alloc - before.alloc, after.free - before.free)
"""


def test_whatever_a_sweep_allocates_is_freed() -> None:
    command = [sys.executable, "-c", "import os; os.environ['NUMBA_NRT_STATS'] = '1'\n" + _LEAKS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    made, freed = map(int, done.stdout.split())
    assert made == freed > 100
