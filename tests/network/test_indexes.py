"""The categories of a network, and their numbers."""

from __future__ import annotations

import pytest

from pgbn import Categories, NetworkError
from pgbn.network.network import find_categories, known_indexes
from tests.helpers.refusals import Case, check_refused
from tests.helpers.small_networks import gamma, poisson

AUTHOR = Categories("author", dims="doc", of="writer")
THETA = gamma("theta", dims="writer")

REFUSED: dict[str, Case] = {
    "name of a node": (
        lambda: poisson(THETA[Categories("theta", dims="doc", of="writer")]),
        NetworkError,
        ["'theta'", "of a node", "theta_of"],
    ),
    "two of one name": (
        lambda: poisson(THETA[AUTHOR] * gamma("b", dims="k")[Categories("author", dims="doc", of="k")]),
        NetworkError,
        ["two categories", "'author'"],
    ),
    "unknown dim": (
        lambda: find_categories([gamma("a", THETA[Categories("g", dims="dok", of="writer")], dims="doc")]),
        NetworkError,
        ["categories g have the dim 'dok'", "doc"],
    ),
    "unknown categories": (
        lambda: poisson(THETA[AUTHOR]).with_indexes(writer=[0]),
        NetworkError,
        ["no categories 'writer'", "author"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    check_refused(*REFUSED[case])


def test_numbers_that_are_given_come_before_those_declared() -> None:
    declared = Categories("g", dims="doc", of="a", values=[0, 1])
    assert known_indexes({"g": declared}, {})["g"].tolist() == [0, 1]
    assert known_indexes({"g": declared}, {"g": [1, 1]})["g"].tolist() == [1, 1]
