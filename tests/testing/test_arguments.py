"""Wrong arguments of the tests of samplers are named."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import pgbn as pg
from pgbn import testing
from tests.testing.test_edges import EDGE, SIZES

NETWORK = pg.Network(pg.Poisson("x", pg.Gamma("a", 2, 2), dims="i"))
CALLS: dict[str, Callable[[], Any]] = {
    **{
        f"{test.__name__}: network=3; give a pgbn.Network": partial(test, 3)
        for test in (testing.geweke, testing.check_conjugacy, testing.sbc, testing.mutant_table)
    },
    **{
        f"{test.__name__}: sizes=3: give a dict": partial(test, NETWORK, 3)
        for test in (testing.geweke, testing.check_conjugacy, testing.mutant_table)
    },
    "simulations": lambda: testing.sbc(NETWORK, {"i": 2}, 1),
    "mutants: network=3; give a pgbn.Network": lambda: testing.mutants(3),  # type: ignore[arg-type]
    "geweke: broken=3: give a function": lambda: testing.geweke(NETWORK, {"i": 2}, broken=3),  # type: ignore[arg-type]
    "sbc: broken='a': give a function": lambda: testing.sbc(NETWORK, {"i": 2}, broken="a"),  # type: ignore[arg-type]
    "seed='a' must be": lambda: testing.sbc(NETWORK, {"i": 2}, seed="a"),  # type: ignore[arg-type]
    "check_edge: sizes=3": lambda: testing.check_edge(EDGE, 3),  # type: ignore[arg-type]
    "check_edge: size of day=-1": lambda: testing.check_edge(EDGE, {**SIZES, "day": -1}),
    "seed=-1 must be": lambda: testing.check_edge(EDGE, SIZES, seed=-1),
    "compare_kernel: make=3": lambda: testing.compare_kernel(3, NETWORK),  # type: ignore[arg-type]
    r"would need 10\^\d+ GB of memory": lambda: testing.geweke(NETWORK, {"i": 10**400}),
}


@pytest.mark.parametrize("words", CALLS)
def test_wrong_arguments_are_named(words: str) -> None:
    with pytest.raises(pg.PgbnError, match=words):
        CALLS[words]()


def test_the_last_seed_is_one() -> None:
    assert testing.sbc(NETWORK, {"i": 2}, simulations=20, draws=1, seed=2**64 - 1).draws == 1
