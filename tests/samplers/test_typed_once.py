"""Types of operations that numba is asked for once."""

from __future__ import annotations

import operator
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

from pgbn.samplers.compiled import njit
from pgbn.samplers.typed_once import _Typing

VECTOR = numba.float64[::1]


class _Counting:
    """numba's rules, which count how often they are asked."""

    def __init__(self) -> None:
        self.rules, self.asked = cpu_target.typing_context, 0
        self.rules.refresh()

    def resolve_function_type(self, *what: Any) -> Any:
        self.asked += 1
        return self.rules.resolve_function_type(*what)

    def other(self) -> str:
        return "of numba"


@pytest.mark.parametrize(
    ("operation", "kinds", "result"),
    [
        (operator.sub, (numba.uint64, numba.float32), numba.float64),
        (operator.getitem, (VECTOR, numba.uint32), numba.float64),
        (operator.lt, (numba.int32, numba.float32), numba.boolean),
    ],
)
def test_numbers_and_arrays_are_asked_for_once(operation: Any, kinds: Any, result: Any) -> None:
    rules, _Typing.known = _Counting(), {}
    function = rules.rules.resolve_value_type(operation)
    found = [_Typing(rules).resolve_function_type(function, kinds, {}) for _ in range(3)]
    assert [each.return_type for each in found] == [result] * 3
    assert rules.asked == 1


def test_all_else_is_asked_every_time() -> None:
    rules, _Typing.known = _Counting(), {}
    typing = _Typing(rules)
    text = numba.types.unicode_type
    for _ in range(2):
        typing.resolve_function_type(rules.rules.resolve_value_type(operator.add), (text, text), {})
    assert rules.asked == 2
    assert typing.resolve_setitem(VECTOR, numba.int64, numba.int32) is not None
    assert typing.resolve_setitem(VECTOR, numba.int64, numba.int32) is not None
    assert rules.asked == 3
    assert typing.other() == "of numba"


@njit(cache=False)
def _operations(a, b, i, j):
    a[i] = b[j] + a[j]
    a[0] += b[i] // 2
    t = (a[1], b)
    t[1][i] = j
    a[2] = np.uint64(3) - np.int64(5)
    return t[0] ** 2 + (a[i] > 1.0) + (b < 3).sum()


def test_operations_have_the_values_of_numpy() -> None:
    """Literals, negative and unsigned indices, tuples, comparisons of arrays."""
    for i, j in ((1, 2), (-1, 0), (np.uint64(2), np.int32(1))):
        a, b = np.array([1.0, 2.5, -3.0]), np.array([4, 7, 1])
        c, d = a.copy(), b.copy()
        assert _operations(a, b, i, j) == _operations.py_func(c, d, i, j)
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, d)
