"""Lemmas: what is cited is stated."""

from __future__ import annotations

import re

import pytest

import pgbn as pg
from tests.helpers.compositions import COMPOSITIONS


@pytest.fixture(scope="module", params=COMPOSITIONS)
def network(request: pytest.FixtureRequest) -> pg.Network:
    return COMPOSITIONS[request.param]()


def test_every_lemma_that_is_cited_is_stated(network: pg.Network) -> None:
    text = network.explain()
    stated = {int(n) for n in re.findall(r"^Lemma (\d+)\. ", text, re.MULTILINE)}
    own_words = text.replace("Lemma 1 of Zhou", "").replace("Lemma 4.1", "").replace("\n", " ")
    cited = {
        int(number)
        for numbers in re.findall(r"Lemmas? (\d+(?:(?: and|,) \d+)*)", own_words)
        for number in re.findall(r"\d+", numbers)
    }
    assert cited == stated == set(range(1, len(stated) + 1))
