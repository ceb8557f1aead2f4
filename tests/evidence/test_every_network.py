"""What holds for every network: its bits on any executor, and those of a chain saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Chain
from pgbn.samplers import disk
from pgbn.samplers.executor import Threads
from tests.helpers.first_layers import samplers_of_network

from .matrix import EXECUTORS
from .networks import networks

# Arrays of so many replicates are shared among threads; one row at a time takes longer.
REPLICATES = {"threads": 3000, "disk": 3000, "own": 200}


@pytest.mark.parametrize("name", networks())
def test_bits_do_not_depend_on_the_executor(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "_SMALL", 1000)  # arrays from a kilobyte on are files
    network, sizes = networks()[name]
    for sampler in {samplers_of_network(network)[0], "composed"}:

        def values(executor: Any, replicates: int, sampler: str = sampler) -> dict[str, Any]:
            chain = Chain._replicated(network, sizes, replicates, 3, sampler, executor=executor)
            chain.sweep(1)._refresh()
            return chain._program.values

        serial = {number: values(Threads(1), number) for number in set(REPLICATES.values())}
        for how, number in REPLICATES.items():
            for node, value in values(EXECUTORS[how](str(tmp_path)), number).items():
                assert np.array_equal(value, serial[number][node]), (node, sampler, how)


@pytest.mark.parametrize("name", networks())
def test_a_chain_that_was_saved_continues_with_its_bits(name: str, tmp_path: Path) -> None:
    network, sizes = networks()[name]
    network = network.with_sizes(**{d: n for d, n in sizes.items() if d not in network.sizes})
    drawn = network.generate(5)
    chain = network.chain({x: drawn[x] for x in network.observed}, seed=3).sweep(2)
    pgbn.save(chain, tmp_path / "chain")
    loaded = pgbn.load(tmp_path / "chain").sweep(2)
    for node, value in chain.sweep(2).values.items():
        assert np.array_equal(value, loaded.values[node]), node
