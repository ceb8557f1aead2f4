"""Counts and exposures that nodes hear."""

from __future__ import annotations

import pytest

import pgbn as pg
from tests.helpers.derivations import section, two_layers


@pytest.mark.parametrize(
    "line",
    [
        r"q^{(2)}_{j} &= \ln(1 + q^{(1)} / c^{(2)}_{j})",
        r"q^{(r)} &= \sum_{j} \ln(1 + q^{(2)}_{j} / c^{(3)}_{j})",
        r"q^{(\gamma_{0})} &= \ln(1 + q^{(r)} / c_{0})",
        r"q^{(c_{0})} &= r_{\cdot}",
        r"q^{(c^{(3)})}_{j} &= \theta^{(2)}_{\cdot j}",
    ],
)
def test_all_exposures_are_in_one_place(line: str) -> None:
    assert line in section(two_layers(), "All exposures", "One sweep")


def test_nothing_comes_from_beyond_the_last_row() -> None:
    text = pg.zoo.pgds(3).explain("latex")
    assert text.count(r"\zeta^{(\theta)}_{T+1} &= 0") == 2
    assert r"\ell^{(\theta)}_{k, T+1} &= 0" in text


def test_no_two_nodes_have_one_symbol() -> None:
    text = pg.zoo.multimodal([3, 2], {"a": "poisson", "b": "poisson"}).explain("latex", brief=True)
    lines = [line.split(" &= ")[0] for line in text.splitlines() if line.startswith("q^")]
    assert len(lines) == len(set(lines)) > 4
