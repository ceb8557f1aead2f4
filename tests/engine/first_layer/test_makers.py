"""The steps that a sampler of the first layer takes over."""

from __future__ import annotations

import pytest

import pgbn
from pgbn.engine.first_layer.choice import FirstCounts, first_counts, first_loadings
from pgbn.engine.plan import Counts, Draw, make_step
from tests.helpers.small_data import X


@pytest.mark.parametrize("layer1", ["collapsed", "partial", "blocked"])
def test_its_counts_and_its_topics(layer1: str) -> None:
    chain = pgbn.zoo.pgbn([3, 2]).chain({"x": X}, layer1=layer1)
    program, nodes, sampler = chain.program, chain.network.nodes, chain.sampler
    assert sampler is not None
    step = make_step(program, Counts(nodes["x"]))
    assert isinstance(step, FirstCounts)
    assert step.sampler is sampler
    assert make_step(program, Draw(nodes["phi1"])) == sampler.draw_loadings


def test_other_nodes_are_left_to_others() -> None:
    chain = pgbn.zoo.pgbn([3, 2]).chain({"x": X}, layer1="blocked")
    nodes = chain.network.nodes
    assert first_counts(chain.program, Counts(nodes["theta1"])) is None
    assert first_loadings(chain.program, Draw(nodes["phi2"])) is None


def test_without_a_sampler_there_is_nothing_to_take_over() -> None:
    chain = pgbn.zoo.pgbn([3, 2]).chain({"x": X}, layer1="composed")
    nodes = chain.network.nodes
    assert first_counts(chain.program, Counts(nodes["x"])) is None
    assert first_loadings(chain.program, Draw(nodes["phi1"])) is None


def test_a_step_is_that_of_the_sampler() -> None:
    chain = pgbn.zoo.pfa(2).chain({"x": X}, layer1="blocked")
    assert chain.sampler is not None
    FirstCounts(chain.sampler)(3)
    assert chain.sampler.m.sum(axis=1).tolist() == X.sum(axis=1).tolist()
