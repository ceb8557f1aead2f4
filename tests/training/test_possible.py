"""Parts of a trained network that are refused, whoever made them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn.errors import DataError
from tests.helpers.trained import model_of


@pytest.mark.parametrize(("fields", "words"), [
    ({"eta": ("a",)}, "eta="), ({"eta": (-1.0, 1.0)}, "eta="), ({"noise": float("nan")}, "noise="),
    ({"priors": pgbn.Priors(p=("a", "b"))}, "priors: p="), ({"priors": 3}, "priors=3"),
    ({"priors": pgbn.Priors(c=(1.0,))}, "priors: c="), ({"sweeps": "9"}, "sweeps="),
    ({"traces": {"width": np.ones(3)}}, "traces"), ({"traces": 3}, "traces is int"),
    ({"traces": {"sweep": np.ones(3), "width": np.ones(2)}}, "traces"),
    ({"state": {"theta1": np.full((3, 5), np.inf)}}, "state['theta1'] has values that no chain"),
    ({"state": {"theta1": np.array(["a"])}}, "state['theta1']"), ({"labels": [1]}, "labels is list"),
])  # fmt: skip
def test_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError) as caught:
        model_of(**fields)
    assert words in str(caught.value)


def test_states_scaled_beyond_all_numbers() -> None:
    """They gave NaN in the next sweep."""
    X = np.random.default_rng(0).poisson(1.0, (8, 6))
    chain = pgbn.zoo.pgbn([3, 2]).chain({"x": X}).sweep(2)
    state = chain.state()
    for name in ("values/theta2", "values/r"):
        bad = {**state, name: state[name] * 1e300}
        with pytest.raises(
            DataError, match=f"{name} has the value .*; give values of at most 1e.150"
        ):
            chain.restore(bad, 2)
