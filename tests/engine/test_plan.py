"""The plan: who makes the function of each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Gamma, zoo
from pgbn.engine import plan
from pgbn.engine.plan import Counts, Draw, find_step
from tests.helpers.language import COMPLETED
from tests.helpers.normal_networks import log_linear

SERVED = {
    "time": (zoo.gp_dpfa(2), Draw, "theta", "steps.time"),
    "in turn": (zoo.epm(2), Draw, "phi", "steps.sequential"),
    "completion": (COMPLETED["rates of units"](), Draw, "phi2", "plan.completed_draw"),
    "linear": (log_linear(), Draw, "w", "compile.quadratic"),
    "first layer": (zoo.pfa(2), Counts, "x", "first_layer.samplers"),
    "fused": (zoo.pfa(2), Draw, "theta1", "steps.gamma_layers"),
    "composed": (zoo.pfa(2), Draw, "c0", "plan"),
}


@pytest.mark.parametrize("stage", plan.STAGES)
def test_each_stage_serves_its_pattern(stage: str) -> None:
    """With the composed rules alone, kernels are not asked; other stages are."""
    network, task, name, module = SERVED[stage]
    sizes = {dim: 3 for dim in network.dims if dim not in network.sizes}
    data = network.generate(seed=1, sizes=sizes)
    for sampler in ("auto", "composed"):
        chain = network.chain({each: data[each] for each in network.observed}, sampler=sampler)
        run: Any = find_step(chain._program, task(network[name]))[0]
        made = run if hasattr(run, "__qualname__") else type(run)
        kernel = stage in ("first layer", "fused")
        used = "plan" if kernel and sampler == "composed" else module
        assert f"{made.__module__}.{made.__qualname__}".startswith(f"pgbn.engine.{used}.")


def test_kernels_of_others_are_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """This one draws nothing but ones; sampler="composed" does without it."""
    monkeypatch.setattr(plan, "_makers", {key: [*found] for key, found in plan._makers.items()})
    asked = []

    @pgbn.extend.register_kernel(Draw)
    def ones(program: Any, task: Draw) -> Any:
        def run(key: int) -> None:
            program.values["g"] = np.ones(program.shape["g"])

        return run if task.node.name == "g" else None

    pgbn.extend.register_kernel(Draw)(lambda program, task: asked.append(task.node.name))
    network = pgbn.Network(pgbn.Poisson("x", Gamma("g", 1, 1, dims="i"), dims="i"))
    own, composed = (
        network.chain({"x": [1, 2]}, sampler=sampler).sweep().values["g"].tolist()
        for sampler in ("auto", "composed")
    )
    assert own == [1.0, 1.0]
    assert composed != own
    assert asked == ["g"]


@pytest.mark.parametrize("task", ["Draw", print, Counts])
def test_a_kernel_says_which_task_it_serves(task: Any) -> None:
    with pytest.raises(pgbn.NetworkError, match="give the kind of task that it serves"):
        pgbn.extend.register_kernel(task)
