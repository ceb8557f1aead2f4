"""The plan: who makes the function of each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Gamma, zoo
from pgbn.engine import plan
from pgbn.engine.plan import Counts, DataCounts, Draw, SlotCounts, Task
from pgbn.engine.steps.gamma_layers import LayerTables
from tests.helpers.small_data import corpus


def test_the_kernels_are_used_where_they_fit():
    chain = zoo.pgbn([4, 3, 2]).chain({"x": corpus(documents=20)}, layer1="blocked")
    fused = [turn.run for turn in chain._turns if "fused" in getattr(turn.run, "__module__", "")]
    assert [run for run in fused if not isinstance(run, LayerTables)]
    composed = zoo.pgbn([4, 3, 2]).chain({"x": corpus(documents=20)}, layer1="composed")
    assert not any(
        "fused" in getattr(run, "__module__", "") for run in (turn.run for turn in composed._turns)
    )


# ---- the order of makers --------------------------------------------------------------------

GAMMA = Gamma("g", 1, 1)
TASKS = (Draw(GAMMA), Counts(GAMMA), DataCounts(GAMMA), SlotCounts(GAMMA, "shape"))


@dataclass
class Kernels:
    """All that `make_step` asks of a program."""

    kernels: bool = True
    by_rows: bool = True


@pytest.fixture
def makers(monkeypatch: pytest.MonkeyPatch) -> dict[Any, list[Any]]:
    """No maker but those that a test registers."""
    monkeypatch.setattr(plan, "_makers", {})
    return plan._makers


def serving(name: str, asked: list[str], serves: bool = True) -> Any:
    """A maker that notes that it was asked, and serves or does not."""

    def make(program: Any, task: Any) -> Any:
        asked.append(name)
        return name if serves else None

    return make


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_stages_are_tried_in_order(makers: Any, task: Task) -> None:
    asked: list[str] = []
    for stage in reversed(plan.STAGES):
        plan.maker(stage, type(task))(serving(stage, asked, stage == "composed"))
    assert plan.make_step(Kernels(), task) == "composed"
    assert asked == ["time", "in turn", "completion", "linear", "first layer", "fused", "composed"]


def test_the_first_maker_that_serves_is_taken(makers: Any) -> None:
    asked: list[str] = []
    for name in ("one", "two", "three"):
        plan.maker("fused", Draw)(serving(name, asked, name != "one"))
    assert plan.make_step(Kernels(), Draw(GAMMA)) == "two"
    assert asked == ["one", "two"]


def test_kernels_of_others_are_asked_first(makers: Any) -> None:
    asked: list[str] = []
    plan.maker("fused", Draw)(serving("ours", asked))
    pgbn.register_kernel(Draw)(serving("theirs", asked, False))
    pgbn.register_kernel(Draw)(serving("the latest", asked, False))
    assert plan.make_step(Kernels(), Draw(GAMMA)) == "ours"
    assert asked == ["the latest", "theirs", "ours"]


def test_the_composed_rules_can_be_asked_for_alone(makers: Any) -> None:
    asked: list[str] = []
    for stage in plan.STAGES:
        plan.maker(stage, Draw)(serving(stage, asked, stage == "composed"))
    assert plan.make_step(Kernels(False), Draw(GAMMA)) == "composed"
    assert asked == ["time", "in turn", "completion", "linear", "composed"]


def test_a_maker_serves_its_own_kind_of_task(makers: Any) -> None:
    plan.maker("composed", Draw)(serving("draw", []))
    with pytest.raises(AssertionError, match="no maker serves Counts"):
        plan.make_step(Kernels(), Counts(GAMMA))


def test_a_decorated_function_stays_what_it_is(makers: Any) -> None:
    make = serving("any", [])
    assert plan.maker("fused", Draw)(make) is make
    assert pgbn.register_kernel(Draw)(make) is make


def test_composed_rules_serve_every_kind_of_task() -> None:
    assert {task for stage, task in plan._makers if stage == "composed"} == set(map(type, TASKS))


def test_a_kernel_of_somebody_stands_in_for_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """It draws nothing but ones; layer1="composed" does without it."""
    monkeypatch.setattr(plan, "_makers", {key: [*found] for key, found in plan._makers.items()})

    @pgbn.register_kernel(Draw)
    def ones(program: Any, task: Draw) -> Any:
        def run(key: int) -> None:
            program.values["g"] = np.ones(program.shape["g"])

        return run if task.node.name == "g" else None

    network = pgbn.Network(pgbn.Poisson("x", Gamma("g", 1, 1, dims="i"), dims="i"))
    own, composed = (
        network.chain({"x": [1, 2]}, layer1=layer1).sweep().values["g"].tolist()
        for layer1 in ("auto", "composed")
    )
    assert own == [1.0, 1.0]
    assert composed != own


@pytest.mark.parametrize("task", ["Draw", print, Counts])
def test_a_kernel_says_which_task_it_serves(task: Any) -> None:
    with pytest.raises(pgbn.NetworkError, match="give the kind of task that it serves"):
        pgbn.register_kernel(task)
