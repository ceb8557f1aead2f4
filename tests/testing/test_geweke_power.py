"""The joint-distribution test on samplers broken on purpose: it must see each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pgbn import Bernoulli, BernoulliPoisson, Chain, Network, zoo
from pgbn.engine.plan import Draw, make_step
from pgbn.testing import GewekeResult, geweke
from tests.helpers.first_layer_variants import VARIANT_SIZES, VARIANTS
from tests.helpers.models import MILD, pgbn, sizes_of


def step_names(chain: Chain) -> list[str]:
    return [step.name for step in chain.schedule if not step.on_demand]


def reordered(order: list[str]) -> Callable[[Chain], None]:
    """The steps of a chain in an order that the check would refuse."""

    def broken(chain: Chain) -> None:
        names = step_names(chain)
        assert sorted(names) == sorted(order)
        steps = dict(zip(names, chain._turns, strict=True))
        chain._turns = [steps[name] for name in order]

    return broken


def seen(result: GewekeResult, record_property: Callable[[str, str], None]) -> None:
    worst = max(result.z, key=lambda name: abs(result.z[name]))
    record_property("geweke", f"{abs(result.z[worst]):.1f} ({worst})")
    assert result.worst > 6, result


UP = ["counts(x)", "counts(theta1)", "counts(theta2)", "counts(r)", "phi1", "phi2"]
MATLAB = [*UP, "c0", "gamma0", "r", "p2", "c3", "theta2", "theta1"]


@pytest.mark.parametrize("sampler", ["blocked", "composed", "collapsed"])
def test_r_before_the_rates_that_read_the_old_theta(sampler, record_property):
    network = pgbn(2)
    drawn_later = ("phi1", "theta1") if sampler == "collapsed" else ()
    order = reordered([name for name in MATLAB if name not in drawn_later])
    result = geweke(network, sizes_of(network), 12_000, 8, 1, sampler, broken=order)
    seen(result, record_property)


@pytest.mark.parametrize("order", [["theta", "pi", "beta", "nu"], ["pi", "theta", "beta", "nu"]],
                         ids=["theta-pi-nu", "pi-theta-nu"])  # fmt: skip
def test_pgds_in_the_released_orders(order, record_property):
    network = zoo.pgds(2, 0.5, 0.5, 1.0, 2.0, MILD, MILD)
    every = ["counts(x)", "counts(theta)", "delta", "phi", *order]
    result = geweke(network, sizes_of(network), 15_000, 8, 1, broken=reordered(every))
    seen(result, record_property)


@pytest.mark.parametrize("node", ["c0", "c3", "gamma0", "r", "theta2"])
def test_rate_used_as_scale(node, record_property):
    def posterior(count, exposure, shape, rate):
        return {"shape": shape + count, "rate": 1 / (rate + exposure)}

    def broken(chain: Chain) -> None:
        at = step_names(chain).index(node)
        draws = chain._program.wiring.draws
        draws[node] = replace(draws[node], posterior=posterior)
        step = make_step(chain._program, Draw(chain.network[node]))
        chain._turns[at] = replace(chain._turns[at], run=step)

    network = pgbn(2)
    result = geweke(network, sizes_of(network), 2_000, 4, 1, broken=broken)
    seen(result, record_property)


def test_a_node_that_is_never_drawn():
    def broken(chain: Chain) -> None:
        del chain._turns[step_names(chain).index("c0")]

    network = pgbn(1)
    result = geweke(network, sizes_of(network), 1000, 4, 1, broken=broken)
    assert result.z["c0"] == np.inf


# ---- first layers that have kernels of their own, and gates ----


def _weights_without_the_rate(chain: Chain) -> None:
    """b_jv with φ (m + a), as if θ were given: the factor (c + q) / s is forgotten."""
    sampler = chain._first_layer
    assert sampler is not None
    right = sampler.pseudo
    sampler.pseudo = lambda fixed: right(True)  # type: ignore[method-assign]


def _counts_of_one_node(chain: Chain) -> None:
    """The labels of the one kind of data drawn as if the other had told θ nothing."""
    for sampler in chain._samplers:
        sampler.other_counts = lambda: None  # type: ignore[method-assign]


def _old_eta(chain: Chain) -> None:
    """η as a number: the labels are drawn given another one than the tables."""
    sampler: Any = chain._first_layer
    sampler.__class__ = type("Wrong", (type(sampler),), {"eta": 0.3})


def _counts_without_a_scale(chain: Chain) -> None:
    """The rates of binary data without the size of the row."""
    sampler: Any = chain._first_layer
    sampler.row_scale.get = lambda: np.ones(sampler.rows)


@pytest.mark.parametrize(
    ("name", "sampler", "broken", "replicates"),
    [
        ("background and size", "collapsed", _weights_without_the_rate, 6000),
        ("background of documents", "partial", _weights_without_the_rate, 6000),
        pytest.param(
            "two kinds of data", "collapsed", _counts_of_one_node, 36_000, marks=pytest.mark.long
        ),
        ("inferred eta", "collapsed", _old_eta, 6000),
        pytest.param(
            "binary data, background",
            "blocked",
            _counts_without_a_scale,
            60_000,
            marks=pytest.mark.long,
        ),
    ],
)
def test_mistakes_of_first_layers_are_seen(
    name: str, sampler: str, broken: Callable[[Chain], None], replicates: int
) -> None:
    network = VARIANTS[name]()
    sizes = {dim: VARIANT_SIZES[dim] for dim in network.dims if dim in VARIANT_SIZES}
    result = geweke(network, sizes, replicates, 6, 1, sampler, broken=broken)
    assert result.worst > 5, result


def _always_on(chain: Chain) -> None:
    chain._program.values["h"] = np.ones(chain._program.shape["h"])


def _shifted(chain: Chain) -> None:
    """log(1+h) changes by 1 in every replicate."""
    chain._program.values["h"] = (1 + chain._program.values["h"]) * np.e - 1


@pytest.mark.parametrize(
    ("broken", "least"), [(lambda chain: None, np.inf), (_shifted, 1e9), (_always_on, 4.0)]
)
def test_broken_gates_are_seen(broken, least):
    """In place of the draw of a gate that the data pin down."""
    net = Network(BernoulliPoisson("x", Bernoulli("h", 0.5, dims="i") * 1000.0, dims="i"))

    def replaced(chain: Chain) -> None:
        at = step_names(chain).index("h")
        chain._turns[at] = replace(chain._turns[at], run=lambda key: broken(chain))

    assert geweke(net, {"i": 1}, 1000, 1, broken=replaced).z["h"] >= least
