"""The comparison of a kernel with the rules: right ones pass, wrong ones and idle ones do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pgbn import Gamma, Network, NetworkError, Poisson
from pgbn.engine.compile.program import Program
from pgbn.engine.plan import Draw, Run
from pgbn.samplers import vectorised
from pgbn.testing import compare_kernel

NETWORK = Network(Poisson("x", Gamma("g", 2.0, Gamma("c", 3, 2), dims="i"), dims="i"))


def maker(extra: float, by_thread: bool = False) -> Any:
    """A kernel for the draw of a gamma with so many counts too many."""

    def make(program: Program, task: Draw) -> Run | None:
        if not isinstance(task, Draw) or task.node.name != "g":
            return None
        count, exposure = program.received_count("g"), program.exposure("g")
        rate = program.slot("g", "rate")

        def run(key: int) -> None:
            stream = program.stream("g", key + by_thread * program.executor.workers)
            shape = 2.0 + extra + count.get()
            drawn = vectorised.gamma(stream, shape, rate.get() + exposure.get())
            program.values["g"] = drawn.reshape(program.shape["g"])

        return run

    return make


def test_a_right_kernel_passes() -> None:
    result = compare_kernel(maker(0.0), NETWORK, {"i": 3}, replicates=2000)
    assert result.worst < 4
    assert result.errors["two threads"] == 0
    assert set(result.z) == {"g", "g²", "g/(1+)"}


def test_a_wrong_kernel_fails() -> None:
    assert compare_kernel(maker(0.2), NETWORK, {"i": 3}, replicates=2000).worst > 4


def test_a_kernel_that_depends_on_threads_is_seen() -> None:
    result = compare_kernel(maker(0.0, True), NETWORK, {"i": 3}, replicates=50)
    assert "two threads" in result.failures


def test_the_state_is_left_as_it_was() -> None:
    assert np.isclose(*(compare_kernel(maker(0.0), NETWORK, {"i": 2}, 200).worst for _ in range(2)))


def test_a_kernel_without_a_step_is_refused() -> None:
    with pytest.raises(NetworkError, match="make serves no step of this network"):
        compare_kernel(maker(0.0), Network(Poisson("x", Gamma("h", 1, 1))))
