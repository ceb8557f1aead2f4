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
    ({"priors": pgbn.Priors(p=(1e200, 1.0))}, "priors: p="), ({"priors": 3}, "priors=3"),
    ({"sweeps": "9"}, "sweeps="),
    ({"traces": {"width": np.ones(3)}}, "traces"), ({"traces": 3}, "traces is int"),
    ({"traces": {"sweep": np.ones(3), "width": np.ones(2)}}, "traces"),
    ({"state": {"theta1": np.full((3, 5), np.inf)}}, "state['theta1'] has values that no chain"),
    ({"state": {"theta1": np.ones((4, 2))}}, "state: theta1 has shape (4, 2), but its dims"),
    ({"state": {"theta1": np.ones(3)}}, "state: theta1 has shape (3,), but its dims"),
    ({"state": {"other": np.ones(3)}}, "state: 'other' is no node"),
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


def test_the_state_of_a_grown_network_fits_it() -> None:
    X = np.random.default_rng(0).poisson(1.0, (8, 6))
    model = pgbn.zoo.pgbn([3])
    means = {"phi1": np.full((3, 6), 1 / 6), "r": np.ones(3)}
    whole = pgbn.GrownNetwork(model, ("topic1",), means, state=model.chain({"x": X}).values)
    assert whole.widths == (3,)
    for field, bad in (
        ("means", {"phi1": np.full((3, 5), 1 / 5), "r": np.ones(2)}),
        ("state", {"theta1": np.ones((8, 4))}),
        ("state", {"theta1": np.ones((8, 3)), "c2": np.ones(7)}),
        ("state", {"phi1": np.full((3, 5), 1 / 5)}),
        ("draws", {"r": np.ones(3)}),
        ("draws", {"r": np.ones((2, 3)), "phi1": np.ones((3, 3, 6))}),
        ("traces", {"sweep": np.ones((2, 2))}),
    ):
        with pytest.raises(DataError, match=f"GrownNetwork: {field}"):
            pgbn.GrownNetwork(model, ("topic1",), **{"means": means, field: bad})
