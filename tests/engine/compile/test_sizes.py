"""The sizes of all dims: given, from data, from constants; and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pgbn
from pgbn import DataError, Network, NetworkError, Poisson
from tests.helpers.refusals import check_refused
from tests.helpers.small_data import NET, X, run

Cases = dict[str, tuple[Callable[[], Any], list[str]]]

REFUSED: Cases = {
    "size": (
        lambda: run(X, NET.with_sizes(doc=5)),
        ["x:", "'doc'", "size 3", "5 elsewhere", "sizes="],
    ),
    "constants of another size": (
        lambda: run(X[0], Network(Poisson("x", pgbn.Constant([1, 2], dims="d"), dims="d"))),
        ["x:", "constant", "size 2", "4"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    check_refused(build, (DataError, NetworkError), words)


def test_an_unknown_size_is_asked_for_where_it_can_be_given() -> None:
    w, u = (pgbn.Gamma(name, 2, 2, dims="k") for name in "wu")
    network = pgbn.Network(pgbn.Poisson("x", w @ u))
    with pytest.raises(pgbn.DataError, match=r"Network\(\.\.\., sizes="):
        network.chain({"x": 1})
