"""Our logarithms and exponentials against thirty digits, at the edges, and bit for bit."""

from __future__ import annotations

import math
from decimal import Context, Decimal

import numpy as np
import pytest

from pgbn.samplers import elementary
from pgbn.samplers.elementary import (
    exp_of,
    expm1_of,
    log1p_of,
    log1p_ratio,
    log_of,
)

DIGITS = Context(prec=40)
BITS = [
    "-0x1.26bb1bbb55515p+1",
    "0x1.7622c78a98a07p-3",
    "0x1.7565011e49676p-3",
    "0x1.6641632306a56p-2",
]
RANDOM = np.random.default_rng(0)
NEAR, WIDE = RANDOM.normal(size=300) * 1e-4, RANDOM.uniform(-700, 700, 300)
CASES = {
    "log": (log_of, lambda x: DIGITS.ln(x), [np.exp(WIDE), RANDOM.uniform(0.5, 2, 300), 1 + NEAR], 2),
    "log1p": (log1p_of, lambda x: DIGITS.ln(x + 1), [RANDOM.uniform(-0.99, 3, 300), NEAR], 3),
    "exp": (exp_of, DIGITS.exp, [WIDE, RANDOM.uniform(-1, 1, 300), NEAR], 2),
    "expm1": (expm1_of, lambda x: DIGITS.exp(x) - 1, [RANDOM.uniform(-5, 5, 300), NEAR], 4),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_to_a_few_units_of_the_last_place(name: str) -> None:
    function, exact, parts, units = CASES[name]
    x = np.concatenate(parts)
    for number, found in zip(x.tolist(), function(x).tolist(), strict=True):
        true = exact(Decimal(number))
        error = abs(Decimal(found) - true) / Decimal(math.ulp(float(true)))
        assert error < units, (number, found)


def test_at_the_edges() -> None:
    inf, nan = math.inf, math.nan
    x = np.array([0.0, -0.0, -1.0, inf, -inf, nan])
    with np.errstate(all="ignore"):
        for ours, theirs in (
            (log_of, np.log), (exp_of, np.exp), (expm1_of, np.expm1), (log1p_of, np.log1p),
        ):  # fmt: skip
            np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-15)
    small = np.array([5e-324, 1e-310, 2.2e-308])
    np.testing.assert_allclose(log_of(small), [math.log(s) for s in small], rtol=1e-15)
    np.testing.assert_array_equal(exp_of([709.0, 710.0, -746.0]), [math.exp(709.0), inf, 0.0])
    np.testing.assert_allclose(exp_of([-740.0, -745.0]), [math.exp(-740), 5e-324], rtol=0.1)


def test_numbers_arrays_and_orders() -> None:
    assert isinstance(log_of(2), float)
    assert log_of(np.arange(1, 7).reshape(2, 3).T).shape == (3, 2)
    assert log_of([]).shape == (0,)
    assert elementary.log(2.0) == log_of(2.0) == elementary.LN_2


def test_factorials() -> None:
    for n in (0, 1, 2, 9, 10, 11, 57, 1000):
        true = math.log(math.factorial(n))
        assert elementary.log_factorial(float(n)) == pytest.approx(true, rel=4e-15, abs=1e-15)


def test_the_bits_are_these() -> None:
    """Whatever the machine; recorded once."""
    found = elementary.log(0.1), elementary.exp(-1.7), elementary.log1p(0.2), elementary.expm1(0.3)
    assert [number.hex() for number in found] == BITS


def test_logarithms_of_quotients_do_not_overflow() -> None:
    x, y = np.array([3.0, 700.0, 0.0, 1e300]), np.array([2.0, 2.3e-308, 1e-300, 1e-300])
    expected = [np.log(2.5), np.log(700.0) - np.log(2.3e-308), 0.0, 600 * np.log(10.0)]
    np.testing.assert_allclose(log1p_ratio(x, y), expected, rtol=1e-15)
    np.testing.assert_allclose(list(map(elementary.log1p_quotient, x, y)), expected, rtol=1e-15)
    assert log1p_ratio(3.0, 2.0) == elementary.log1p_quotient(3.0, 2.0) == log1p_of(1.5)
