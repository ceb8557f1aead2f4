"""Functions that kernels call are linked into them, and compiled by themselves for Python alone."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from numba.core.compiler import Flags

from pgbn.samplers.compiled import njit
from pgbn.samplers.elementary import log1p
from pgbn.samplers.linked import _Flags


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
    assert [len(each.linked.signatures) for each in (half_square, square)] == [1, 1]
    (inner,) = half_square.linked.overloads.values()
    assert "define" in inner.library.get_llvm_str()  # intermediate code, and no address
    assert inner.library.get_function(inner.fndesc.llvm_func_name).name


def test_the_same_function_from_python() -> None:
    assert sum_of(np.array([3.0])) == half_square(3.0) == 4.5
    assert len(half_square.signatures) == 1
    assert square(3) == 9


def test_errors_come_through() -> None:
    with pytest.raises(ValueError, match="below zero"):
        sum_of(np.array([1.0, -1.0]))
    with pytest.raises(ValueError, match="below zero"):
        half_square(-1.0)


def test_bits_are_those_of_the_function_alone() -> None:
    @njit(nogil=True)
    def through(x: Any) -> Any:
        return log1p(x)

    for x in np.random.default_rng(0).standard_exponential(50):
        assert through(x) == log1p(x)


def test_a_kernel_goes_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(sum_of))
    assert again(np.array([2.0])) == 2.0


def test_functions_within_and_sums_of_arrays() -> None:
    """numba's steps for these are left out only where there are none."""

    @njit(nogil=True)
    def total(a: Any) -> Any:
        def twice(x: Any) -> Any:
            return 2.0 * x

        added = a + a * a
        return added[0] + twice(added[1])

    assert total(np.array([1.0, 2.0])) == 14.0


def test_division_is_numpys_unless_asked() -> None:
    def over(x: Any) -> Any:
        return 1.0 / x

    assert njit(nogil=True)(over)(0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        njit(nogil=True, error_model="python")(over)(0.0)


def test_options_are_equal_where_numba_says_so() -> None:
    default, same, other = Flags(), Flags(), Flags()
    same.release_gil, other.release_gil = False, True  # the former is the default, said aloud
    for a, b in itertools.product((default, same, other), repeat=2):
        assert (_Flags(a) == b) == (a == _Flags(b)) == (_Flags(a) == _Flags(b)) == (a == b)
        assert hash(_Flags(a)) == hash(a)
    assert _Flags(other) != default
    assert _Flags(same) == default != 3
