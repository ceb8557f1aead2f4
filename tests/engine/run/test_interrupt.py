"""What Ctrl-C leaves: the draws that were kept."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import zoo
from pgbn.engine.run.progress import Event


def counts() -> Any:
    return np.random.default_rng(0).poisson(1.0, (12, 9))


def press_at(sweep: int) -> Any:
    def press(event: Event) -> None:
        if event.done == sweep:
            os.kill(os.getpid(), signal.SIGINT)

    return press


@pytest.mark.parametrize(("sweep", "kept"), [(4, 1), (5, 1), (8, 3), (9, 3)])
def test_sampling_keeps_the_draws_before_the_stop(sweep: int, kept: int) -> None:
    network, data = zoo.pfa(3), {"x": counts()}
    whole = network.sample(data, 2, 5, thin=2, threads=1)
    with pytest.warns(
        pgbn.PgbnWarning, match=rf"sweep {sweep} of 12: {kept} of 5 draws"
    ) as received:
        draws = network.sample(data, 2, 5, thin=2, threads=1, callback=press_at(sweep))
    assert len(received) == 1
    assert draws.interrupted
    assert not whole.interrupted
    assert not draws.unfinished
    for name, value in whole.values.items():
        np.testing.assert_array_equal(draws[name], value[:, :kept])
    assert draws.chain is not None
    assert draws.chain.sweeps == sweep


def test_sampling_keeps_whole_chains_and_the_rest() -> None:
    network, data = zoo.pfa(3), {"x": counts()}
    whole = network.sample(data, 1, 4, chains=3, threads=1)
    with pytest.warns(pgbn.PgbnWarning, match="6 of 12 draws"):
        draws = network.sample(data, 1, 4, chains=3, threads=1, callback=press_at(8))
    np.testing.assert_array_equal(draws["r"], whole["r"][:1])
    np.testing.assert_array_equal(draws.unfinished["r"], whole["r"][1:2, :2])


def test_a_stop_in_the_middle_of_a_sweep_keeps_the_draws() -> None:
    """Ctrl-C twice: the chain is not to be used, the draws are."""

    def twice(event: Event) -> None:
        if event.done == 4:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(pgbn.PgbnWarning, match="1 of 5 draws"):
        draws = zoo.pfa(3).sample({"x": counts()}, 2, 5, threads=1, callback=twice)
    assert draws.interrupted
    assert draws.chain is None


def test_ctrl_c_at_the_last_sweep_changes_nothing() -> None:
    draws = zoo.pfa(3).sample({"x": counts()}, 2, 5, threads=1, callback=press_at(7))
    assert not draws.interrupted
    assert draws["r"].shape[:2] == (1, 5)
