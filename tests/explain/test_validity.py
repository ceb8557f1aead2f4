"""The argument that an order is valid, and what is said of one that is not."""

from __future__ import annotations

import numpy as np

import pgbn as pg
from pgbn.testing import mutants


def plain(text: str) -> str:
    return " ".join(text.split())


def test_the_life_of_every_value_that_goes_stale() -> None:
    text = plain(pg.zoo.pgbn([3, 2]).explain(layer1="blocked"))
    assert (
        "theta1 is stale from step 6 (phi2) on, once more after steps 9, 10, 11 and 12, until "
        "step 13 draws it. Steps 7 to 12 do not read it." in text
    )
    assert "theta2 is stale from step 10 (gamma0) on, once more after step 11" in text
    assert "Step 11 does not read it." in text
    assert "r is stale from step 10 (gamma0) on, until step 11 draws it. No step comes" in text


def test_sums_are_exempt_and_their_algebra_is_stated() -> None:
    text = plain(pg.zoo.pgbn([4, 3, 2], order="paper").explain())
    assert "theta2 is stale from step 6 (phi3) on" in text
    assert "read its sum over k₂ alone, which Lemma" in text
    assert "the Jacobian of (s, u)" in text


def test_draws_token_by_token_leave_the_conditional_invariant() -> None:
    network = pg.zoo.pgbn([3, 2])
    assert "token by token, leaves it invariant" in plain(network.explain())
    assert "invariant" not in plain(network.explain(layer1="blocked"))


def test_an_order_that_was_not_checked_is_not_praised() -> None:
    network = pg.zoo.pgbn([3, 2])
    chain = network.chain({"x": np.ones((3, 4), int)}, layer1="composed", threads=1)
    mutants(network)["stale order"](chain)
    text = plain(chain.explain())
    assert "The order below was not checked." in text
    assert "This order is not valid" in text
    assert "(c3) reads theta2, which gamma0 has integrated out" in text or (
        "(c3) reads theta2, which r has integrated out" in text
    )
    assert "of which θ⁽²⁾ summed over k₂ is stale: a mistake." in text
