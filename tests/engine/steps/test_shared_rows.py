"""The kernel for scores that are read through categories, against the composed rules."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import Chain
from pgbn.engine.plan import DataCounts, data_step
from pgbn.engine.steps import shared_rows as module
from tests.helpers.categories import authors, looked_up_pairs

REPEATS = 600


def chain_of(threads: int = 1) -> Chain:
    data = {"x": authors().generate(seed=2)["x"] + 2}
    return Chain._of_data(authors(), data, 0, threads=threads, sampler="general")


def alike(name: str) -> bool:
    """Whether kernel and rules share out counts with the same means, and all of them."""
    chain = chain_of()
    program, task = chain._program, DataCounts(chain.network["x"])
    kernel, rules = module.shared_rows(program, task), data_step(program, task)
    assert kernel is not None
    found = []
    for step in (kernel, rules):
        drawn = []
        for key in range(REPEATS):
            step(key)
            drawn.append(program.counts["x", name].reshape(-1))
        found.append(np.array(drawn, np.float64))
        assert (found[-1].sum(axis=1) == program.cells["x"].values.sum()).all()
    error = np.sqrt(sum(each.var(axis=0) for each in found) / REPEATS) + 1e-9
    return bool((np.abs(found[0].mean(axis=0) - found[1].mean(axis=0)) < 5 * error).all())


@pytest.mark.parametrize("name", ["theta", "phi", "s"])
def test_shares_have_the_means_of_the_composed_rules(name: str) -> None:
    assert alike(name)


def test_it_serves_sums_over_topics_only() -> None:
    network = looked_up_pairs()
    chain = Chain._of_data(network, {"x": network.generate(seed=1)["x"]}, threads=1)
    assert module.shared_rows(chain._program, DataCounts(network["x"])) is None
