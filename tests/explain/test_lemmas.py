"""The lemmas: each is cited where it is stated, has a proof, and holds in numbers; references."""

from __future__ import annotations

import re

import pytest

import pgbn as pg
from pgbn.explain.lemmas import lemmas
from tests.helpers.compositions import COMPOSITIONS


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_every_lemma_that_is_cited_is_stated(name: str) -> None:
    text = COMPOSITIONS[name]().explain()
    stated = {int(n) for n in re.findall(r"^Lemma (\d+)\. ", text, re.MULTILINE)}
    own_words = text.replace("Lemma 1 of Zhou", "").replace("Lemma 4.1", "").replace("\n", " ")
    cited = {
        int(number)
        for numbers in re.findall(r"Lemmas? (\d+(?:(?: and|,) \d+)*)", own_words)
        for number in re.findall(r"\d+", numbers)
    }
    assert cited == stated == set(range(1, len(stated) + 1))


@pytest.mark.parametrize("key", lemmas())
def test_a_lemma_is_stated_and_proved(key: str) -> None:
    lemma = lemmas()[key]
    assert lemma.title
    assert lemma.statement
    assert lemma.equations
    assert len(lemma.proof) > 40
    assert lemma.proof.endswith((".", ")"))
    assert all(line.count("&") == 1 for line in lemma.equations)


def test_references_are_full_and_only_those_used() -> None:
    chain, layers = COMPOSITIONS["gamma_markov_chain"]().explain(), pg.zoo.pgbn([3, 2]).explain()
    assert "Acharya, A." in chain
    assert "Acharya, A." not in layers
    assert "The Poisson gamma belief network. NIPS." in " ".join(layers.split())
