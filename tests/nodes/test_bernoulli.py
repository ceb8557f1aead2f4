"""Gates: certain ones, and logistic ones with their mistakes that the joint test sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Gamma, LogitBernoulli, Network, Poisson, StaleReadError
from pgbn.engine.compile import quadratic
from pgbn.extend import Evidence
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import geweke
from tests.helpers.normal_networks import belief


def test_a_gate_of_probability_1_stays_open() -> None:
    """At an exposure of 3000, e^{−q} is 0 as a double, and so was the odds of the gate."""
    gate = pgbn.Bernoulli("gate", pgbn.Constant([1.0, 0.0, 0.5], dims="i"), dims="i")
    theta = Gamma("theta", 1000.0 * gate, 1, dims="i")
    net = Network(Poisson("x", 20.0 * theta, dims="i"))
    with np.errstate(all="raise"):
        chain = net.chain({"x": [0, 0, 0]}).sweep(3)
    assert chain.values["gate"].tolist() == [1.0, 0.0, 0.0]


# ---- logistic gates -------------------------------------------------------------------------


def test_a_gate_with_counts_is_on() -> None:
    gate = LogitBernoulli("h", pgbn.Normal("b", -3.0, 1.0), dims="doc")
    theta = pgbn.Gamma("theta", 1.0 * gate, 1.0, dims="doc")
    net = pgbn.Network(pgbn.Poisson("x", theta, dims="doc"))
    draws = net.sample({"x": np.array([0, 4, 0, 9])}, burn_in=1, draws=20, seed=1)
    assert (draws["h"][..., [1, 3]] == 1).all()
    assert 0 < draws["h"][..., [0, 2]].mean() < 1


NAMES = belief().schedule.names
LATE = [*(n for n in NAMES if n != "w"), "w"]  # the gates move, then w hears of the old ones


def test_weights_after_their_gates_are_refused() -> None:
    assert NAMES.index("counts(h)") < NAMES.index("w") < NAMES.index("h")
    with pytest.raises(StaleReadError, match=r"w conditions on counts\(h\), but counts\(h\) is"):
        belief().with_order(LATE)


def test_the_joint_test_sees_old_variables() -> None:
    result = geweke(belief(), {}, 6000, 6, seed=1, order=LATE, unchecked=True)
    assert result.worst > 6, result


def _untilted(stream: Stream, value: Any, logit: Any) -> Evidence:
    return Evidence(value - 0.5, vectorised.polya_gamma(stream, 0.0 * logit))


def _whole(stream: Stream, value: Any, logit: Any) -> Evidence:
    return Evidence(value, vectorised.polya_gamma(stream, logit))


@pytest.mark.parametrize("wrong", [_untilted, _whole])
def test_the_joint_test_sees_a_wrong_conditional(wrong: Callable[..., Evidence]) -> None:
    net = belief()
    rule = net.wiring.rules["h", "logit"]
    net.wiring.rules["h", "logit"] = replace(rule, count=wrong)
    result = geweke(net, {}, 6000, 6, seed=1)
    assert result.worst > 6, result


def test_the_joint_test_sees_a_predictor_without_its_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """w @ g alone, as if the b beside it were 0."""

    def read(form: Any) -> Any:
        return quadratic.quadratic_form(*form._evidence(), form.design[0]())

    monkeypatch.setattr(quadratic._Predictor, "read", read)
    result = geweke(belief(), {}, 6000, 6, seed=1)
    assert result.worst > 6, result
