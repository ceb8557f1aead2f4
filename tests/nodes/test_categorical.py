"""Hidden choices: the power of the joint-distribution test, given choices, brackets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pgbn import Categorical, DataError, Dirichlet, Gamma, Network, Poisson
from pgbn.nodes.base import Array
from pgbn.nodes.categorical import choices
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import geweke
from tests.helpers.language import chosen_rates
from tests.helpers.state_networks import STATES, states_of


def without_prior(stream: Stream, log_conditional: Any) -> Array:
    logs = [log_conditional.likelihood(c) for c in choices(stream.shape, stream.simplex)]
    return vectorised.categorical(stream, np.concatenate(logs, axis=3), 3)


def test_without_its_prior_it_fails() -> None:
    net = STATES["mixture"]()
    net.wiring.draws["z"] = replace(net.wiring.draws["z"], posterior=without_prior)
    assert geweke(net, states_of(net), 1500, 5).worst > 4


def test_given_choices_must_be_choices() -> None:
    net = STATES["mixture"]()
    data = {"x": np.ones((3, 2), int)}
    with pytest.raises(DataError, match=r"z.*zeros with a single 1"):
        net.chain(data, given={"z": np.full((3, 2), 0.5)})
    net.chain(data, given={"z": np.eye(2)[[0, 1, 0]]}).sweep()


# ---- rate[z] ------------------------------------------------------------------------------


def test_a_choice_in_brackets_is_a_sum_over_choices() -> None:
    z = Categorical("z", Dirichlet("pi", 1.0, over="component"), over="component", dims="doc")
    rate = Gamma("rate", 1.5, 1.0, dims=("component", "term"))
    mixed = Network(Poisson("x", z @ rate, dims=("doc", "term")), sizes={"component": 2})
    chosen = chosen_rates(by_team=False)
    assert str(chosen["x"].rate) == "rate[z]"
    data = {"x": np.array([[3, 0], [1, 2], [0, 5], [4, 4]])}
    one, two = (n.sample(data, burn_in=2, draws=3, progress=False) for n in (mixed, chosen))
    assert np.array_equal(one["z"], two["z"])
    assert np.array_equal(one["rate"], two["rate"])
