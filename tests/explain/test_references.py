"""References: whole entries, and only of what a network uses."""

from __future__ import annotations

import pgbn as pg
from tests.helpers.compositions import gamma_markov_chain


def test_references_are_full_and_only_those_used() -> None:
    chain, layers = gamma_markov_chain().explain(), pg.zoo.pgbn([3, 2]).explain()
    assert "Acharya, A." in chain
    assert "Acharya, A." not in layers
    assert "The Poisson gamma belief network. NIPS." in " ".join(layers.split())
