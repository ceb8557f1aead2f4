"""Markdown with formulas between dollars."""

from __future__ import annotations

import pytest

import pgbn as pg
from tests.helpers.compositions import COMPOSITIONS


@pytest.fixture(scope="module", params=COMPOSITIONS)
def network(request: pytest.FixtureRequest) -> pg.Network:
    return COMPOSITIONS[request.param]()


def test_markdown_formulas_are_closed(network: pg.Network) -> None:
    text = network.explain("markdown").replace('`$x^~\\"|`', "")
    assert text.count("$$") % 2 == 0
    for line in text.replace("$$", "").splitlines():
        assert line.replace("\\$", "").count("$") % 2 == 0, line
    assert text.count(r"\begin{aligned}") == text.count(r"\end{aligned}") == text.count("$$") / 2
