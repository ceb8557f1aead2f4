"""Forward filtering and backward sampling, against all paths written out."""

from __future__ import annotations

from itertools import product

import numpy as np

import pgbn as pg
from pgbn.engine.plan import Draw
from pgbn.engine.run.chain import Chain
from pgbn.engine.steps import time
from pgbn.engine.steps.time import filter_states, sample_states, state_draw
from pgbn.testing import geweke
from tests.helpers.state_networks import STATES, states_of

LENGTH, STATE_COUNT, DRAWS = 3, 3, 40_000


def small() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(LENGTH, 1, STATE_COUNT))
    moves = rng.dirichlet(np.ones(STATE_COUNT), (LENGTH, STATE_COUNT))
    moves[0] = moves[0, 0]
    return logs, moves.reshape(LENGTH, STATE_COUNT, 1, STATE_COUNT)


def exact() -> dict[tuple[int, ...], float]:
    logs, moves = small()
    weights = {}
    for path in product(range(STATE_COUNT), repeat=LENGTH):
        weight = moves[0, 0, 0, path[0]]
        for row in range(1, LENGTH):
            weight *= moves[row, path[row - 1], 0, path[row]]
        weights[path] = weight * np.exp(sum(logs[row, 0, path[row]] for row in range(LENGTH)))
    total = sum(weights.values())
    return {path: weight / total for path, weight in weights.items()}


def test_paths_have_their_probabilities() -> None:
    logs, moves = (np.repeat(a, DRAWS, axis=i) for a, i in zip(small(), (1, 2), strict=True))
    uniforms = np.random.default_rng(1).random((LENGTH, DRAWS))
    paths = sample_states(filter_states(logs, moves), moves, uniforms)
    for path, probability in exact().items():
        found = np.equal(paths.T, path).all(axis=1).mean()
        assert abs(found - probability) < 4.5 * np.sqrt(probability / DRAWS)


def test_the_filter_is_the_law_of_the_last_state() -> None:
    last = filter_states(*small())[-1, 0]
    for state in range(STATE_COUNT):
        total = sum(p for path, p in exact().items() if path[-1] == state)
        assert np.isclose(last[state], total)


def test_which_nodes_it_draws() -> None:
    for name, served in (("states", True), ("mixture", False)):
        net = STATES[name]()
        program = Chain.replicated(net, states_of(net), 1, 0, "composed", 1).program
        assert (state_draw(program, Draw(net["z"])) is not None) is served


def test_sampling_forward_fails(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """States drawn from the filter, one by one, are not the chain given all data."""

    def alone(filtered, moves, uniforms):  # type: ignore[no-untyped-def]
        return sample_states(filtered, np.ones_like(moves), uniforms)

    monkeypatch.setattr(time, "sample_states", alone)
    net = STATES["several"]()
    assert geweke(net, states_of(net), 4000, 8).worst > 4


def test_given_states_tell_their_transitions() -> None:
    """Found by a random network: a chain that is given hears nothing, and still tells its slots."""
    start, moves = (
        pg.Dirichlet("start", 1.0, over="k"),
        pg.Dirichlet("moves", 1.0, over="k", dims="old"),
    )
    probability = pg.Shift(moves @ pg.Self(k="old"), along="time", initial=start)
    z = pg.Categorical("z", probability, over="k", dims="time")
    rate = pg.Gamma("rate", 2.0, 1.5, dims="k")
    net = pg.Network(pg.Poisson("x", z @ rate, dims="time"), sizes={"k": 2, "old": 2})
    states = np.eye(2)[[0, 1, 1, 1, 1, 1, 0]]
    draws = net.sample({"x": [0, 2, 3, 1, 2, 4, 0]}, given={"z": states}, burn_in=5, draws=400,
                       progress=False)  # fmt: skip
    # moves from 1: four stay, one leaves; from 0: one leaves
    np.testing.assert_allclose(draws.mean("moves"), [[1 / 3, 2 / 3], [2 / 7, 5 / 7]], atol=0.05)
