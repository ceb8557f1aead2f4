"""Links: the counts behind data."""

from __future__ import annotations

import pytest

import pgbn as pg
from pgbn.explain.lemmas import LEMMAS
from pgbn.explain.notation import Notation
from pgbn.explain.steps import link_lemma, link_lines
from pgbn.nodes.rules.registry import find_link

LAYER = r"\sum_{k_1} \phi^{(1)}_{v k_1}\, \theta^{(1)}_{k_1 j}"


@pytest.mark.parametrize(
    ("link", "lemma", "lines"),
    [
        ("poisson", None, []),
        ("bernoulli", "bernoulli-poisson",
         [rf"(n_{{v j}} \mid x_{{v j}} = 1) &\sim \mathrm{{Pois}}_{{+}}({LAYER})"]),
        ("gamma", "poisson-gamma",
         [r"(n_{v j} \mid x_{v j} > 0) &\sim \mathrm{Bessel}_{-1}\bigl(2 \sqrt{\mathrm{noise}\, "
          rf"x_{{v j}}\, \left({LAYER}\right)}}\bigr)"]),
    ],
)  # fmt: skip
def test_links(link: str, lemma: str | None, lines: list[str]) -> None:
    network = pg.zoo.pgbn([3], link=link)
    node = network["x"]
    rule = find_link(node)
    assert rule is not None
    assert link_lemma(node) == lemma
    assert lemma is None or lemma in LEMMAS
    assert link_lines(Notation(network), node, rule) == lines
