"""Samplers broken on purpose."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.testing import geweke, mutants
from tests.same_bits.networks import SMALL_SIZES, small_zoo

EVERY = ["CRT off by one", "rate for scale", "stale order", "tokens in topic order"]


def test_what_a_network_has_no_place_for_is_left_out() -> None:
    zoo = small_zoo()
    assert list(mutants(zoo["pgbn poisson 2"])) == EVERY
    assert list(mutants(zoo["lda"])) == EVERY[3:]
    assert list(mutants(zoo["bnbp"])) == EVERY[:3]


def test_kernels_held_nodes_and_entries_in_turn_are_left_alone() -> None:
    """A completed simplex and a slice read their own values; a held gamma is not drawn at all."""
    sizes = pg.Constant([1.0, 2.0, 0.5], dims="term")
    phi = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
    held, sliced = pg.Gamma("a", 2, 2), pg.Gamma("b", 2, 2, update="slice")
    theta = pg.Gamma("theta", held * sliced, 2.0, dims=("doc", "topic"))
    network = pg.Network(pg.Poisson("x", sizes * (phi @ theta), dims=("doc", "term")))
    found = mutants(network.holding("a"))
    assert "theta" in found["rate for scale"].words
    graph = pg.zoo.epm(2)
    assert "phi" not in mutants(graph)["rate for scale"].words.split()


def test_the_network_is_not_changed() -> None:
    network = small_zoo()["pgbn poisson 2"]
    rules = dict(network.wiring.rules)
    for mutant in mutants(network).values():
        chain = network.chain({"x": np.ones((3, 3), int)}, layer1=mutant.layer1, threads=1)
        mutant(chain)
        assert network.wiring.rules == rules
        assert chain.program.kernels is (mutant.layer1 != "composed")
        chain.sweep(2)
        assert all(np.isfinite(value).all() for value in chain.values.values())


@pytest.mark.parametrize("name", ["CRT off by one", "rate for scale"])
@pytest.mark.parametrize("model", ["pgbn poisson 1", "hdp_lda", "bnbp", "pgds"])
def test_gross_mistakes_are_seen_with_few_replicates(name: str, model: str) -> None:
    network = small_zoo()[model]
    sizes = {dim: SMALL_SIZES[dim] for dim in network.dims if dim in SMALL_SIZES}
    mutant = mutants(network)[name]
    result = geweke(network, sizes, 1500, 3, 0, mutant.layer1, 1, mutant)
    assert result.worst > 6, result


def test_an_order_that_is_refused_can_be_run_unchecked() -> None:
    network = small_zoo()["pgbn poisson 2"]
    names = [name for name in network.schedule.names if name != "c3"]
    order = [*names[: names.index("theta2")], "c3", *names[names.index("theta2") :]]
    with pytest.raises(pg.StaleReadError, match="c3 conditions on theta2"):
        geweke(network, {"doc": 3, "term": 3}, 100, 1, order=order)
    result = geweke(network, {"doc": 3, "term": 3}, 20_000, 6, 1, "blocked", 2, order=order,
                    unchecked=True)  # fmt: skip
    assert result.worst > 6, result
    with pytest.raises(pg.NetworkError, match="there is no step 'c4'"):
        geweke(network, {"doc": 3, "term": 3}, 100, 1, order=["c4"], unchecked=True)


def test_a_valid_order_passes() -> None:
    network = small_zoo()["pgbn poisson 2"]
    paper = pg.zoo.pgbn([2, 2], order="paper").schedule.names
    result = geweke(network, {"doc": 3, "term": 3}, 4000, 4, 1, "blocked", 2, order=paper)
    assert result.worst < 4, result
