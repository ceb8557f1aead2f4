"""The log conditional of a node: the joint density, up to what does not depend on it."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.engine.compile.density import ConditionalDensity, kernel_step, log_density
from pgbn.engine.plan import Draw
from pgbn.engine.run.chain import Chain
from tests.helpers.kernel_networks import SLICED, sizes_of

NODES = {"shape_of_gammas": "a", "beside_conjugate": "a", "twice": "a", "concentrations": "e",
         "scores": "theta", "probability": "p"}  # fmt: skip


@pytest.mark.parametrize(("name", "node"), NODES.items())
def test_differences_are_those_of_the_joint_density(name: str, node: str) -> None:
    net = SLICED[name]()
    chain = Chain.replicated(net, sizes_of(net), 3, 0, "composed", 1)
    program = chain.program
    conditional = ConditionalDensity(program, net[node])

    def joint() -> np.ndarray:
        return sum(log_density(program, every) for every in net.nodes)

    old = program.values[node]
    new = 0.3 + 0.5 * old
    before, after = (conditional(v.reshape(program.shape4[node])) for v in (old, new))
    assert program.values[node] is old
    first = joint()
    program.values[node] = new
    difference = joint() - first
    assert np.allclose((after - before).reshape(3, -1).sum(axis=1), difference)


def test_rules_are_left_to_the_composed_draws() -> None:
    net = SLICED["shape_of_gammas"]()
    program = Chain.replicated(net, sizes_of(net), 1, 0, "composed", 1).program
    assert kernel_step(program, Draw(net["c"])) is None
    assert kernel_step(program, Draw(net["a"])) is not None
