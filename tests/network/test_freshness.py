"""What is stale between the steps of a sweep."""

from __future__ import annotations

from pgbn import zoo
from pgbn.network.reads import Read
from pgbn.network.schedule import Freshness
from tests.helpers.models import algorithm1


def test_a_node_is_stale_from_the_step_that_integrates_it_out_until_it_is_drawn() -> None:
    network = zoo.pgbn([3, 2])
    freshness = Freshness()
    for step in network.schedule:
        assert all(freshness.is_current(read) for read in step.reads)
        freshness.run(step)
        assert all(freshness.left_by[name] is step for name in step.marginalises)
        assert step.name not in freshness.stale
        if step.name == "r":
            assert not freshness.is_current(Read("theta1"))
    assert freshness.stale == {}


def test_what_was_never_drawn_is_stale_and_no_step_left_it_so() -> None:
    freshness = Freshness(["counts(x)"])
    assert not freshness.is_current(Read("counts(x)"))
    assert freshness.left_by == {}
    freshness.run(zoo.pfa(3).schedule[0])
    assert freshness.is_current(Read("counts(x)"))


def test_a_sum_stays_current_when_a_dirichlet_is_drawn() -> None:
    """phi3 shares out the shape of theta2; c3 reads no more than the sum over its topics."""
    network = zoo.pgbn([4, 3, 2]).with_order(algorithm1(3))
    freshness = Freshness()
    for step in network.schedule:
        if step.name == "c3":
            break
        freshness.run(step)
    summed = Read("theta2", frozenset({"topic2"}))
    assert freshness.left_by["theta2"].name == "phi3"
    assert freshness.is_current_sum(summed)
    assert freshness.is_current(summed)
    assert not freshness.is_current(Read("theta2"))
    assert not freshness.is_current_sum(Read("theta2", frozenset({"doc"})))
    assert not freshness.is_current_sum(Read("gamma0", frozenset({"topic2"})))  # not stale at all
