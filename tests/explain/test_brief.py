"""The short form."""

from __future__ import annotations

import pytest

import pgbn as pg
from pgbn.explain.render import FORMATS
from tests.same_bits.networks import small_zoo


@pytest.mark.parametrize("name", small_zoo())
def test_every_step_is_in_it_and_no_lemma(name: str) -> None:
    network = small_zoo()[name]
    text = network.explain(brief=True)
    assert "Lemma" not in text
    for step in network.schedule:
        assert step.name in text
    assert len(text) < 0.45 * len(network.explain())


def test_like_steps_stand_together() -> None:
    text = " ".join(pg.zoo.pgbn([3, 2]).explain(layer1="blocked", brief=True).split())
    assert "Steps 2 to 4: counts(theta1), counts(theta2) and counts(r)." in text
    assert "Steps 7 and 8: c0 and c3." in text
    assert "Steps 10 to 13: gamma0, r, theta2 and theta1, with r, θ⁽²⁾ and θ⁽¹⁾ integrated" in text
    assert "m⁽¹⁾[k₁ j] = x[· j k₁]" in text


@pytest.mark.parametrize("format", FORMATS)
def test_it_has_every_format(format: str) -> None:
    assert pg.zoo.pgbn([3, 2]).explain(format, brief=True)
