"""Unicode for a terminal."""

from __future__ import annotations

import re

import pytest

import pgbn as pg
from tests.helpers.compositions import COMPOSITIONS


@pytest.fixture(scope="module", params=COMPOSITIONS)
def network(request: pytest.FixtureRequest) -> pg.Network:
    return COMPOSITIONS[request.param]()


def test_text_holds_no_latex(network: pg.Network) -> None:
    text = network.explain("text").replace('$x^~\\"|', "")
    assert not re.search(r"\\[a-z]+|\$|\{|mathrm|textstyle", text.replace("{ 1 if", ""))
