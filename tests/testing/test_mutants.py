"""Samplers broken on purpose."""

from __future__ import annotations

import numpy as np
import pytest

import pgbn as pg
from pgbn.samplers.random import Stream
from pgbn.testing import geweke, mutant_table, mutants, z_counts
from pgbn.testing.mutants import _off_by_one
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
    found = mutants(network.with_given("a"))
    assert "theta" in found["rate for scale"].words
    graph = pg.zoo.epm(2)
    assert "phi" not in mutants(graph)["rate for scale"].words.split()


def test_the_network_is_not_changed() -> None:
    network = small_zoo()["pgbn poisson 2"]
    rules = dict(network.wiring.rules)
    for mutant in mutants(network).values():
        chain = network.chain({"x": np.ones((3, 3), int)}, sampler=mutant.sampler, threads=1)
        mutant(chain)
        assert network.wiring.rules == rules
        assert chain._program.kernels is (mutant.sampler != "composed")
        chain.sweep(2)
        assert all(np.isfinite(value).all() for value in chain.values.values())


@pytest.mark.parametrize("name", ["CRT off by one", "rate for scale"])
@pytest.mark.parametrize("model", ["pgbn poisson 1", "hdp_lda", "bnbp", "pgds"])
def test_gross_mistakes_are_seen_with_few_replicates(name: str, model: str) -> None:
    network = small_zoo()[model]
    sizes = {dim: SMALL_SIZES[dim] for dim in network.dims if dim in SMALL_SIZES}
    mutant = mutants(network)[name]
    result = geweke(network, sizes, 1500, 3, 0, mutant.sampler, 1, mutant)
    assert result.worst > 6, result


@pytest.mark.parametrize(
    "network",
    [
        pytest.param(pg.zoo.pgbn([2, 2], p_prior=(2, 4)), id="vague", marks=pytest.mark.long),
        pytest.param(pg.zoo.pgbn([2, 2], 0.5, (2, 4), (4, 4), (4, 4), (4, 4)), id="mild"),
    ],
)
def test_every_mistake_is_seen_and_the_right_sampler_passes(network) -> None:
    """Most data of a vague prior are empty, and some huge: neither hides a mistake."""
    table = mutant_table(network, {"doc": 3, "term": 4}, threads=2)
    assert list(table.rows) == EVERY
    for name, (_, right, wrong) in table.rows.items():
        assert right.worst < 4, (name, right)
        assert wrong.worst > 6, (name, wrong)
    assert "gamma0 is drawn with scale c + q" in str(table)
    assert table._repr_markdown_().count("\n") == 6


def test_off_by_one_is_the_sum_of_its_coins() -> None:
    a, m, n = 1.5, 5, 20_000
    law = np.array([1.0])
    for i in range(1, m + 1):  # the sum of Bern(a/(a + i))
        p = a / (a + i)
        law = np.append(law * (1 - p), 0.0) + np.append(0.0, law * p)
    drawn = _off_by_one(Stream(1, (1, 1, 1, n)), np.full(n, m), a)
    assert z_counts(drawn, lambda x: np.append(law, np.zeros(60))[x]) < 4
    assert (_off_by_one(Stream(2, (1, 1, 1, 3)), 0, a) == 0).all()
