"""How dims map to axes, in memory and beside a node."""

from __future__ import annotations

import pytest

from pgbn import NetworkError
from tests.helpers.refusals import Case, check_refused
from tests.helpers.small_networks import gamma, poisson

REFUSED: dict[str, Case] = {
    "4 dims": (
        lambda: poisson(gamma(), tuple("abcd")).generate(sizes=dict.fromkeys("abcd", 1)),
        NetworkError,
        ["x", "4 dims", "at most 3"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    check_refused(*REFUSED[name])
