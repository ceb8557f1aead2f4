"""The turns of a sweep: each step with the key of its streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn.engine.run.bound_steps import BoundStep, PipelinedStep, arrange, joined
from pgbn.engine.steps.gamma_layers import LayerTables
from pgbn.samplers.random import stream_key, word_of
from tests.helpers.models import algorithm1, pgbn
from tests.helpers.small_data import X, equal_arrays
from tests.helpers.small_networks import topics_of_gammas


def test_a_step_may_come_twice_and_draws_anew():
    order = algorithm1(2)
    order.insert(order.index("c0"), "c3")
    chain = pgbn(2).with_order(order).chain({"x": np.eye(3, dtype=int)}, layer1="blocked")
    keys = [turn.base for turn in chain._turns]
    assert len(keys) == len(order)
    assert len(set(keys)) == len(keys)


def turns_of(layer1: str, **options: Any) -> tuple[pg.Chain, list[str]]:
    chain = pg.zoo.pgbn([3, 2]).chain({"x": X}, layer1=layer1, **options)
    return chain, [turn.step.name for turn in chain._turns]


def test_turns_follow_the_schedule_and_the_rest_waits() -> None:
    chain, names = turns_of("collapsed")
    assert names == [step.name for step in chain.schedule if not step.on_demand]
    assert list(chain._later) == ["phi1", "theta1"]
    chain, names = turns_of("blocked")
    assert names == chain.schedule.names
    assert chain._later == {}


@pytest.mark.parametrize("options", [{"seed": 1}, {"chain": 1}])
def test_keys_are_of_the_seed_the_chain_and_the_step(options: dict[str, int]) -> None:
    base = {turn.step.name: turn.base for turn in turns_of("blocked")[0]._turns}
    other = {turn.step.name: turn.base for turn in turns_of("blocked", **options)[0]._turns}
    assert base["r"] == stream_key(0, 0, word_of("r"))
    assert len(set(base.values())) == len(base)
    assert not set(base.values()) & set(other.values())


def test_a_turn_runs_with_the_key_of_its_sweep() -> None:
    keys: list[int] = []
    turn = BoundStep(pg.zoo.pfa(2).schedule[0], 5, keys.append)
    turn(1)
    turn(2)
    assert keys == [stream_key(5, 1), stream_key(5, 2)]


def test_a_step_that_comes_again_has_a_key_of_its_own() -> None:
    program = pg.zoo.pfa(2).chain({"x": X}, layer1="composed").program
    schedule = program.network.schedule
    first = schedule[0]
    turns, _ = arrange(program, [first, first], 0, 0)
    assert [turn.base for turn in turns] == [
        stream_key(0, 0, word_of("counts(x)")),
        stream_key(0, 0, word_of("counts(x) 2")),
    ]


def test_tables_right_after_the_data_are_joined_to_them() -> None:
    """counts(x), counts(theta1) and counts(theta2) are one turn; counts(r) has other rows."""
    chain, names = turns_of("collapsed")
    first, second, *rest = joined(chain._turns)
    assert isinstance(first, PipelinedStep)
    assert [part.node for part, _ in first.tables] == ["theta1", "theta2"]
    assert isinstance(second, BoundStep)
    assert second.step.name == "counts(r)"
    assert len(rest) == len(names) - 4
    assert all(isinstance(turn, BoundStep) for turn in joined(turns_of("composed")[0]._turns))


def test_tables_of_other_rows_are_not_joined() -> None:
    """φ2 has a row a topic: its tables wait for all counts of the data."""
    chain = topics_of_gammas().chain({"x": X}, layer1="collapsed")
    assert [turn.step.name for turn in chain._turns][:3] == [
        "counts(x)",
        "counts(theta1)",
        "counts(phi2)",
    ]
    first, second, *_ = joined(chain._turns)
    assert isinstance(first, PipelinedStep)
    assert [part.node for part, _ in first.tables] == ["theta1"]
    assert isinstance(second, BoundStep)
    assert isinstance(second.run, LayerTables)


def test_joined_turns_draw_what_the_turns_draw() -> None:
    one, two = (turns_of("collapsed")[0] for _ in range(2))
    for turn in joined(one._turns):
        turn(1)
    for each in two._turns:
        each(1)
    assert equal_arrays(one.program.values, two.program.values)


def test_an_order_that_reads_counts_before_they_are_drawn_finds_some() -> None:
    """A wrong order, run to be seen: before its first sweep all counts are drawn once."""
    from pgbn.network.schedule import reorder

    network = pgbn(2)
    steps = {step.name: step for step in network.schedule}
    for early in ("theta1", "counts(r)"):
        order = [early, *(name for name in steps if name != early)]
        chain = network.chain({"x": X}, layer1="blocked")
        chain.follow(reorder(steps, order, check=False))
        assert chain.sweep(2).sweeps == 2
    page = network.animate({"x": X[:2]}, order=order, sweeps=2)
    assert "which is wrong" in str(page)
