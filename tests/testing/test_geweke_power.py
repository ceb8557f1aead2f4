"""The joint-distribution test on samplers broken on purpose: it must see each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pgbn import Chain, DataError, Evidence, zoo
from pgbn.engine.plan import Draw, make_step
from pgbn.errors import PgbnWarning
from pgbn.nodes import Dirichlet, Gamma
from pgbn.nodes.rules import registry
from pgbn.testing import GewekeResult, geweke, mutants
from tests.helpers.models import MILD, pgbn, sizes_of


def reordered(order: list[str]) -> Callable[[Chain], None]:
    """The steps of a chain in an order that the check would refuse."""

    def broken(chain: Chain) -> None:
        names = [step.name for step in chain.schedule if not step.on_demand]
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


@pytest.mark.parametrize("layer1", ["blocked", "composed"])
def test_r_before_the_rates_that_read_the_old_theta(layer1, record_property):
    network = pgbn(2)
    result = geweke(network, sizes_of(network), 12_000, 8, 1, layer1, broken=reordered(MATLAB))
    seen(result, record_property)


def test_r_before_the_rates_collapsed(record_property):
    network = pgbn(2)
    order = [name for name in MATLAB if name not in ("phi1", "theta1")]
    result = geweke(network, sizes_of(network), 12_000, 8, 1, "collapsed", broken=reordered(order))
    seen(result, record_property)


@pytest.mark.parametrize("order", [["theta", "pi", "beta", "nu"], ["pi", "theta", "beta", "nu"]],
                         ids=["theta-pi-nu", "pi-theta-nu"])  # fmt: skip
def test_pgds_in_the_released_orders(order, record_property):
    network = zoo.pgds(2, 0.5, 0.5, 1.0, 2.0, MILD, MILD)
    every = ["counts(x)", "counts(theta)", "delta", "phi", *order]
    result = geweke(network, sizes_of(network), 15_000, 8, 1, broken=reordered(every))
    seen(result, record_property)


def tables_off_by_one(stream, count, shape):
    """Customer i opens a table with probability a/(a + i) instead of a/(a + i − 1)."""
    generator = np.random.default_rng(stream.key)
    count, shape = np.broadcast_to(count, stream.shape), np.broadcast_to(shape, stream.shape)
    tables = np.zeros(stream.shape, np.int64)
    for i in range(1, int(count.max()) + 1):
        tables += (count >= i) & (generator.random(stream.shape) * (shape + i) < shape)
    return tables


def test_tables_of_a_gamma_off_by_one(monkeypatch, record_property):
    rule = replace(registry._evidence[Gamma, "shape", "poisson"], count=tables_off_by_one)
    monkeypatch.setitem(registry._evidence, (Gamma, "shape", "poisson"), rule)
    network = pgbn(1)
    result = geweke(network, sizes_of(network), 2_000, 6, 1, "composed")
    seen(result, record_property)


def test_tables_of_a_dirichlet_off_by_one(monkeypatch, record_property):
    network = zoo.hdp_lda(2, MILD, MILD, 0.5, total=[2, 0, 5])
    right = geweke(network, sizes_of(network), 4_000, 6, 1, "composed")
    assert right.worst < 4, right
    rule = registry._evidence[Dirichlet, "concentration", "poisson"]

    def count(stream, count, concentration):
        right = rule.count(stream, count, concentration)
        return Evidence(tables_off_by_one(stream, count, concentration), right.exposure)

    broken = replace(rule, count=count)
    monkeypatch.setitem(registry._evidence, (Dirichlet, "concentration", "poisson"), broken)
    network = network.with_sizes()  # built anew, with the broken rule
    result = geweke(network, sizes_of(network), 2_000, 6, 1, "composed")
    seen(result, record_property)


@pytest.mark.parametrize("node", ["c0", "c3", "gamma0", "r", "theta2"])
def test_rate_used_as_scale(node, record_property):
    def posterior(count, exposure, shape, rate):
        return {"shape": shape + count, "rate": 1 / (rate + exposure)}

    def broken(chain: Chain) -> None:
        names = [step.name for step in chain.schedule if not step.on_demand]
        at = names.index(node)
        draws = chain.program.wiring.draws
        draws[node] = replace(draws[node], posterior=posterior)
        step = make_step(chain.program, Draw(chain.network[node]))
        chain._turns[at] = replace(chain._turns[at], run=step)

    network = pgbn(2)
    result = geweke(network, sizes_of(network), 2_000, 4, 1, broken=broken)
    seen(result, record_property)


def test_a_node_that_is_never_drawn():
    def broken(chain: Chain) -> None:
        names = [step.name for step in chain.schedule if not step.on_demand]
        del chain._turns[names.index("c0")]

    network = pgbn(1)
    result = geweke(network, sizes_of(network), 1000, 4, 1, broken=broken)
    assert result.z["c0"] == np.inf


@pytest.mark.parametrize("layer1", ["collapsed", pytest.param("partial", marks=pytest.mark.long)])
def test_tokens_redrawn_in_topic_order(layer1, record_property):
    network = zoo.pgbn([3, 2], 0.5, (8, 4), MILD, MILD, (8, 4))  # several tokens in a cell
    sizes = {"doc": 2, "term": 2}
    right = geweke(network, sizes, 6_000, 6, 1, layer1)
    assert right.worst < 4, right
    result = geweke(
        network, sizes, 12_000, 6, 1, layer1, broken=mutants(network)["tokens in topic order"]
    )
    seen(result, record_property)


def test_priors_whose_counts_cannot_be_counted_are_refused() -> None:
    with pytest.warns(PgbnWarning, match="rate"), pytest.raises(DataError, match="p_prior"):
        geweke(zoo.pgbn([2, 2]), {"doc": 3, "term": 4}, replicates=500, sweeps=1)
