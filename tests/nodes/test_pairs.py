"""Pairs of dims: what is built, shown and written."""

from __future__ import annotations

import pytest

from pgbn import Gamma, NetworkError, Pairs, distinct, same

PHI = Gamma("phi", 1, 1, dims="vertex")
BOTH = PHI.rename(vertex="i") * PHI.rename(vertex="j")


@pytest.mark.parametrize(
    ("pairs", "relation", "text"),
    [
        (distinct(BOTH, "i", "j"), "upper", "[i < j] (phi * phi)"),
        (distinct(BOTH, "i", "j", ordered=True), "distinct", "[i ≠ j] (phi * phi)"),
        (same(PHI, "vertex", "j"), "same", "[vertex = j] (phi)"),
    ],
)
def test_built(pairs: Pairs, relation: str, text: str) -> None:
    assert (pairs.relation, str(pairs)) == (relation, text)


def test_one_dim_twice() -> None:
    with pytest.raises(NetworkError, match=r"both 'i'.*rename"):
        distinct(BOTH, "i", "i")
