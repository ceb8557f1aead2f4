"""The first layer, token by token."""

from __future__ import annotations

import pytest

import pgbn as pg
from tests.helpers.derivations import SHAPE

PAPER = (
    r"P(z_{j i} = k_1 \mid -) &\propto \frac{0.05 + x^{-}_{v \cdot k_1}}{V / 20 + "
    rf"x^{{-}}_{{\cdot \cdot k_1}}}}\, \left({SHAPE} + x^{{-}}_{{\cdot j k_1}}\right)"
)


def test_the_equation_of_the_paper() -> None:
    text = pg.zoo.pgbn([3, 2]).explain("latex")
    assert text.count(PAPER) == 2  # derived, and as the step
    assert r"\Gamma(0.05 + x_{v \cdot k_1})" in text
    assert r"x_{v j k_1} &= \sum_{i} 1(v_{j i} = v,\ z_{j i} = k_1)" in text


def test_with_topics_held() -> None:
    text = pg.zoo.pgbn([3, 2]).explain("latex", "partial")
    assert r"P(z_{j i} = k_1 \mid -) &\propto \phi^{(1)}_{v k_1}\, \left(" in text
    assert r"\bigl(\phi^{(1)}_{v k_1}\bigr)^{x_{v \cdot k_1}}" in text
    assert r"\Gamma(0.05" not in text


def test_of_dirichlet_scores_no_rate_is_left() -> None:
    text = pg.zoo.lda(3).explain()
    assert "∫ … dθ ∝ Π[k, j] (Γ(16.6667 + x[· j k]))/(Γ(16.6667))\n" in text
    assert "The power of the rate" not in text


@pytest.mark.parametrize("layer1", ["blocked", "composed"])
def test_cells_have_no_tokens(layer1: str) -> None:
    text = pg.zoo.pgbn([3, 2]).explain(layer1=layer1)
    assert "token" not in text


def test_a_letter_that_a_node_has_is_marked() -> None:
    z = pg.Gamma("z", 1, 1, dims=("doc", "topic"))
    phi = pg.Dirichlet("phi", 0.1, over="term", dims="topic")
    net = pg.Network(pg.Poisson("x", phi @ z, dims=("doc", "term")), sizes={"topic": 2})
    assert r"P(\tilde{z}_{j i} = k \mid -)" in net.explain("latex", "collapsed")
