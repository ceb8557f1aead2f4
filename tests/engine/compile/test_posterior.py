"""What a draw rule may return: new values of the slots of its node."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from pgbn import Gamma, NetworkError
from pgbn.engine.compile.composed import check_posterior

NODE = Gamma("g", 1, 1)


@pytest.mark.parametrize(
    "updated",
    [{}, {"shape": 2.0}, {"shape": np.array([0, 1]), "rate": np.inf}, {"rate": np.array(True)}],
)
def test_right_answers(updated: dict[str, Any]) -> None:
    check_posterior(NODE, updated)


@pytest.mark.parametrize(
    ("updated", "words"),
    [
        (None, "returned NoneType; return a dict from names of slots (shape, rate)"),
        ({"shapes": 1.0}, "returned a value of 'shapes', which is no slot; its slots are shape"),
        ({"shape": "a"}, "returned 'a' for 'shape'; return numbers"),
        ({"shape": [1.0, np.nan]}, "returned NaN for 'shape'"),
        ({"rate": [1.0, -2.0]}, "returned the negative value -2 for 'rate'; has it a wrong sign?"),
    ],
)
def test_wrong_answers(updated: Any, words: str) -> None:
    with pytest.raises(NetworkError) as caught:
        check_posterior(NODE, updated)
    assert str(caught.value).startswith("g: the draw rule of Gamma returned ")
    assert words in str(caught.value)


def test_the_rules_that_it_heard_may_have_the_wrong_sign() -> None:
    with pytest.raises(NetworkError, match=r"has it, or the rule for Poisson\.rate of x, a wrong"):
        check_posterior(NODE, {"shape": -1.0}, ("Poisson.rate of x", "Poisson.rate of x"))


def test_slots_that_may_be_negative() -> None:
    class Shifted(Gamma):
        real_slots: ClassVar[tuple[str, ...]] = ("shape",)

    check_posterior(Shifted("g", 1, 1), {"shape": -1.0})
    with pytest.raises(NetworkError, match=r"wrong sign\? \(a slot .* real_slots = \('rate',\)\)"):
        check_posterior(Shifted("g", 1, 1), {"rate": -1.0})
