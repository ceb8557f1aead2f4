"""Gates that the data pin down: right samplers whose values never change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pgbn import Bernoulli, BernoulliPoisson, Chain, Network, Poisson
from pgbn.testing import geweke


def gated(link: type[Poisson] | type[BernoulliPoisson]) -> Network:
    return Network(link("x", Bernoulli("h", 0.5, dims="i") * 1000.0, dims="i"))


@pytest.mark.parametrize("link", [Poisson, BernoulliPoisson])
@pytest.mark.parametrize("sweeps", [1, 4, 6, 8])  # the last 1 to 4 sweeps are averaged
def test_a_gate_that_never_changes_passes(link, sweeps):
    result = geweke(gated(link), {"i": 3}, 1000, sweeps)
    assert result.z["h"] == result.z["h/(1+h)"] == 0.0
    assert result.worst < 4, result


def without_draw(chain: Chain) -> None:
    names = [step.name for step in chain.schedule if not step.on_demand]
    del chain._turns[names.index("h")]


def always_on(chain: Chain) -> None:
    names = [step.name for step in chain.schedule if not step.on_demand]

    def run(key: int) -> None:
        chain.program.values["h"] = np.ones(chain.program.shape["h"])

    at = names.index("h")
    chain._turns[at] = replace(chain._turns[at], run=run)


def shifted(chain: Chain) -> None:
    names = [step.name for step in chain.schedule if not step.on_demand]
    first = chain.program.values["h"]

    def run(key: int) -> None:  # log(1+h) changes by 1 in every replicate
        chain.program.values["h"] = (1 + first) * np.e - 1

    at = names.index("h")
    chain._turns[at] = replace(chain._turns[at], run=run)


@pytest.mark.parametrize(
    ("broken", "least"), [(without_draw, np.inf), (shifted, 1e9), (always_on, 4.0)]
)
def test_broken_gates_fail(broken, least):
    result = geweke(gated(BernoulliPoisson), {"i": 1}, 1000, 4, broken=broken)
    assert result.z["h"] >= least
