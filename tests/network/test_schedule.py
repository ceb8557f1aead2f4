"""Derived orders are valid; orders that a user gives are checked, and the known wrong ones refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pgbn import StaleReadError, zoo
from pgbn.network.evidence import Read
from pgbn.network.schedule import Freshness, check_order
from tests.helpers.models import algorithm1, interleaved, pgbn, zoo_models

MODELS = zoo_models()
DEPTHS = [1, 2, 3, 4]


def matlab(depth: int) -> list[str]:
    """r, γ0 and c0 first, then p and c given the old θᵀ, then θ: the order of a released code."""
    order = algorithm1(depth)
    roots = ["c0", "gamma0", "r"]
    rest = [name for name in order if name not in roots]
    at = rest.index("p2")
    return [*rest[:at], *roots, *rest[at:]]


def refused(network, order, reader, stale, culprit):
    """The order is refused in words that name the step, the stale value and who made it so."""
    with pytest.raises(StaleReadError) as caught:
        network.with_order(order)
    message = str(caught.value)
    assert re.match(rf"{re.escape(reader)}( of the next sweep)? conditions on {stale}, ", message)
    assert f"{culprit} was drawn with {stale} integrated out" in message


# ---- derived orders ---------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_derived_orders(name):
    """Everything is drawn once, counts first; what is integrated out is redrawn later in the sweep."""
    network = MODELS[name]
    check_order(network.schedule)
    upward = [step.upward for step in network.schedule]
    assert upward == sorted(upward, reverse=True)
    steps = [step for step in network.schedule if not step.upward]
    assert sorted(step.node for step in steps) == sorted(network.latent)
    place = {step.node: i for i, step in enumerate(steps)}
    assert all(place[out] > place[step.node] for step in steps for out in step.marginalises)
    again = network.with_order(network.schedule.names)
    assert again.schedule.names == network.schedule.names


@pytest.mark.parametrize("name", MODELS)
def test_printing_lists_every_step_with_what_it_reads(name):
    schedule = MODELS[name].schedule
    for number, step in enumerate(schedule, 1):
        assert f"{number}. {step.name}" in str(schedule)
        assert step.equation in schedule.latex()
    assert "\\mathrm" not in str(schedule)
    assert str(schedule).count("reads ") == len(schedule)


# ---- orders of a user -------------------------------------------------------------------


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("order", [algorithm1, interleaved])
def test_valid_orders_are_accepted(order, depth):
    network = pgbn(depth).with_order(order(depth))
    assert network.schedule.names == order(depth)
    for sampler in ("collapsed", "partial", "blocked"):
        chain = network.chain({"x": np.eye(3, dtype=int)}, sampler=sampler).sweep(2)
        assert chain.sampler == sampler


@pytest.mark.parametrize("depth", DEPTHS[1:])
def test_r_before_the_rates_is_refused(depth):
    top = f"theta{depth}"
    with pytest.raises(StaleReadError, match=r"conditions on theta2, .*: r was drawn with theta2"):
        pgbn(depth).with_order(matlab(depth))
    moved = matlab(depth)  # p2 before r is not enough: the rate of the top layer reads θᵀ too
    moved.remove("p2")
    moved.insert(moved.index("c0"), "p2")
    for t in range(3, depth + 1):
        moved.remove(f"c{t}")
        moved.insert(moved.index("c0"), f"c{t}")
    refused(pgbn(depth), moved, f"c{depth + 1}", top, "r")


def test_with_one_layer_the_same_order_is_valid():
    assert pgbn(1).with_order(matlab(1)).schedule.names == matlab(1)


PGDS = ["counts(x)", "counts(theta)", "delta", "phi"]


@pytest.mark.parametrize(
    ("order", "culprit"),
    [
        (["theta", "pi", "beta", "nu"], "nu"),
        (["theta", "beta", "nu", "pi"], "pi"),
        (["pi", "theta", "beta", "nu"], "nu"),
    ],
)
def test_pgds_with_theta_before_what_integrates_it_out(order, culprit):
    refused(MODELS["pgds"], [*PGDS, *order], "counts(x)", "theta", culprit)


@pytest.mark.parametrize("order", [["beta", "nu", "pi", "theta"], ["pi", "nu", "beta", "theta"]])
def test_pgds_with_theta_last(order):
    assert MODELS["pgds"].with_order([*PGDS, *order])


def moved(order: list[str], name: str, after: str) -> list[str]:
    """An order with one step right after another."""
    rest = [each for each in order if each != name]
    return [*rest[: rest.index(after) + 1], name, *rest[rest.index(after) + 1 :]]


LATE_GAMMA0 = moved(algorithm1(2), "gamma0", "r")
GATED = MODELS["gated_pfa"]


@pytest.mark.parametrize(
    ("network", "order", "words"),
    [
        (pgbn(2), LATE_GAMMA0, ("theta2", "r", "gamma0")),
        (pgbn(2), moved(LATE_GAMMA0, "c0", "gamma0"), ("c0", "r", "gamma0")),
        (pgbn(2), moved(algorithm1(2), "p2", "theta1"), ("counts(x)", "theta1", "p2")),
        (pgbn(2), moved(algorithm1(2), "theta1", "r"), ("theta1", "theta2", "r")),
        (GATED, moved(GATED.schedule.names, "h", "theta"), ("counts(x)", "theta", "h")),
    ],
)
def test_what_is_integrated_out_too_late(network, order, words):
    refused(network, order, *words)


def test_counts_before_those_they_are_made_from():
    order = algorithm1(2)
    order.remove("counts(theta1)")
    with pytest.raises(StaleReadError, match=r"counts\(theta1\) reads counts\(x\).*not been drawn"):
        pgbn(2).with_order(["counts(theta1)", *order])


def test_counts_redrawn_make_those_above_stale():
    order = pgbn(2).schedule.names
    at = order.index("counts(r)") + 1
    with pytest.raises(
        StaleReadError, match=r"phi2 conditions on counts\(theta1\), .*: counts\(x\)"
    ):
        pgbn(2).with_order([*order[:at], "counts(x)", *order[at:]])


def test_the_order_survives_a_change_of_sizes():
    network = pgbn(2).with_order(algorithm1(2))
    assert network.with_sizes(doc=3).schedule.names == algorithm1(2)


def test_a_chain_is_drawn_after_the_counts_that_its_rows_pass_back() -> None:
    net = zoo.gp_dpfa(2)
    names = [name for name in net.schedule.names if name != "theta"]
    with pytest.raises(StaleReadError, match=r"counts\(theta\)"):
        net.with_order(["counts(x)", "theta", *[name for name in names if name != "counts(x)"]])


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
