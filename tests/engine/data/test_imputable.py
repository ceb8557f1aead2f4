"""Masked cells are for nodes whose unknown counts can be drawn."""

from __future__ import annotations

import pytest

import pgbn
from pgbn.engine.data.cells import check_imputable, is_imputable

RATE = pgbn.Gamma("rate", 1.0, 1.0, dims=("doc", "term"))


def test_poisson_counts_are_imputed() -> None:
    network = pgbn.Network(pgbn.Poisson("x", RATE, dims=("doc", "term")))
    assert is_imputable(network.nodes["x"])
    check_imputable(network, network.nodes["x"])


def test_counts_that_share_a_total_are_not() -> None:
    share = pgbn.Dirichlet("share", 1.0, over="term", dims="doc")
    network = pgbn.Network(pgbn.Multinomial("x", share, over="term", dims="doc"))
    assert not is_imputable(network.nodes["x"])
    with pytest.raises(pgbn.DataError, match="cannot be imputed for Multinomial"):
        check_imputable(network, network.nodes["x"])
