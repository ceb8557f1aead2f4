"""Every case has the hash that was recorded, for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from .cases import CASES
from .digest import digest
from .machine import differences
from .record import read

RECORD = read()
ELSEWHERE = differences(RECORD["machine"])


def test_every_case_is_recorded() -> None:
    """If not: python -m tests.same_bits.record NAME."""
    assert set(CASES) == set(RECORD["hashes"])


@pytest.mark.parametrize("name", CASES)
def test_same_bits(name: str) -> None:
    case = CASES[name]
    if ELSEWHERE and not case.everywhere:
        pytest.skip(f"recorded on another machine: {ELSEWHERE}")
    expected = dict.fromkeys(case.threads, RECORD["hashes"].get(name))
    assert case.hashes() == expected, f"meant? python -m tests.same_bits.record {name!r}"


def test_a_hash_sees_every_bit() -> None:
    one = np.arange(6.0).reshape(2, 3)
    other = one.copy()
    other[1, 2] = np.nextafter(other[1, 2], 9.0)
    assert digest(one) == digest(one.copy(order="F"))
    values = [one, other, one.T, one.ravel(), one.astype(np.float32), [one], {"a": one}, {"b": one}]
    assert len({digest(value) for value in values}) == len(values)
    assert digest({"a": 1, "b": 2.5}) == digest({"b": np.float64(2.5), "a": np.int64(1)})
    assert digest(0.0) != digest(-0.0)
    assert digest(["ab", "c"]) != digest(["a", "bc"])
