"""The learner: roles of nodes by the graph alone, what rows say, and steps with their law."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import pgbn
from pgbn.errors import NetworkError
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.training.minibatch import learner
from pgbn.training.minibatch.learner import Learner, Pace, find_roles, receive, step_proportions

PRIORS = {"p_prior": (3.0, 4.0), "c0_prior": (4.0, 4.0), "gamma0_prior": (4.0, 2.0), "eta": 0.8}
ROWS, TERMS = 6, 4
X = sp.csr_array(np.random.default_rng(0).poisson(1.0, (30, 8)))


def tiny(widths: tuple[int, ...]) -> pgbn.Network:
    return pgbn.zoo.pgbn(widths, c_prior=(4.0, 4.0), **PRIORS)


def test_the_roles_of_a_belief_network() -> None:
    roles = find_roles(pgbn.zoo.pgbn((4, 3), link="gamma"), "doc")
    assert set(roles.shared) == {"phi1", "phi2", "r", "gamma0", "c0", "noise"}
    assert set(roles.proportions) == {"phi1", "phi2"}
    assert set(roles.received) == {"r", "noise"}
    assert roles.above is not None
    assert set(roles.above.free) == {"r", "gamma0", "c0", "noise"}


def test_a_network_of_the_users_own() -> None:
    a = pgbn.Gamma("a", 1.0, 1.0)
    theta = pgbn.Gamma("theta", a, 1.0, dims=("page", "topic"))
    phi = pgbn.Dirichlet("phi", 0.1, over="word", dims="topic")
    x = pgbn.Poisson("x", phi @ theta, dims=("page", "word"))
    roles = find_roles(pgbn.Network(x, sizes={"topic": 3}), "page")
    assert (roles.proportions, roles.received) == (("phi",), ("a",))


def test_what_has_no_step_is_named() -> None:
    eta = pgbn.Gamma("eta", 1.0, 1.0)
    theta = pgbn.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
    phi = pgbn.Dirichlet("phi", eta, over="term", dims="topic")
    x = pgbn.Poisson("x", phi @ theta, dims=("doc", "term"))
    with pytest.raises(NetworkError, match="the concentration of phi depends on eta"):
        find_roles(pgbn.Network(x, sizes={"topic": 3}), "doc")
    odds = pgbn.BetaOdds("odds", 1.0, 1.0)
    theta = pgbn.Gamma("theta", 1.0, odds, dims=("doc", "topic"))
    phi = pgbn.Dirichlet("phi", 0.1, over="term", dims="topic")
    x = pgbn.Poisson("x", phi @ theta, dims=("doc", "term"))
    with pytest.raises(NetworkError, match="odds is a BetaOdds, which has no stochastic step"):
        find_roles(pgbn.Network(x, sizes={"topic": 3}), "doc")


@pytest.mark.parametrize("link", ["poisson", "bernoulli"])
def test_counts_are_all_heard_and_shared_values_stay(link) -> None:
    network = pgbn.zoo.pgbn((4, 3), link=link)
    data = X if link == "poisson" else sp.csr_array((X > 0).astype(int))
    first = network.chain({"x": data}, seed=1, sampler="blocked")
    values = {name: np.array(first.values[name]) for name in ("phi1", "phi2", "r", "gamma0", "c0")}
    found = receive(network, find_roles(network, "doc"), {"x": data}, values, 5, (2, 3))
    count, _ = found.received["phi1"]
    assert count.shape == (4, 8)
    if link == "poisson":
        np.testing.assert_allclose(count.sum(axis=0), X.sum(axis=0))
    else:  # at least one count behind every 1
        assert (count.sum(axis=0) >= data.sum(axis=0)).all()
    count, exposure = found.received["r"]
    assert count.shape == exposure.shape == (3,)
    assert 0 < count.sum() <= found.received["phi2"][0].sum() <= found.received["phi1"][0].sum()
    assert (exposure > 0).all()
    for name, value in values.items():
        np.testing.assert_array_equal(found.chain.values[name], value)


def test_the_exposure_is_that_of_the_formula() -> None:
    """Of one layer, q = Σ_j ln(1 + 1/c_j), averaged over sweeps."""
    network = pgbn.zoo.pfa(3)
    first = network.chain({"x": X}, seed=1, sampler="blocked")
    values = {name: np.array(first.values[name]) for name in ("phi1", "r", "gamma0", "c0")}
    found = receive(network, find_roles(network, "doc"), {"x": X}, values, 5, (4, 1))
    rates = found.chain.values["p2"]
    np.testing.assert_allclose(found.received["r"][1], np.log1p(1.0 / rates).sum(), rtol=1e-12)


def test_layers_above_the_data_take_their_steps_as_often_as_there_are_layers() -> None:
    network = pgbn.zoo.pgbn((4, 3, 2))
    first = network.chain({"x": X}, seed=1, sampler="partial")
    roles = find_roles(network, "doc")
    values = {name: np.array(first.values[name]) for name in roles.shared}
    found = receive(network, roles, {"x": X}, values, 5, (1, 1)).chain.schedule.names
    expected = [step.name for step in first.schedule if step.node not in roles.shared]
    above = [n for n in expected if n != "counts(x)"]
    assert found == [*expected, *above, *above]
    network.with_order([*network.schedule.names, *above, *above])  # no step reads what is stale


def test_steps_shrink_as_they_say() -> None:
    pace = Pace(1.0, 4.0, 0.75)
    assert pace.step(0) == 1.0
    assert pace.step(12) == pytest.approx(4.0**-0.75)


def test_averages_of_what_was_heard() -> None:
    learner = Learner(tiny((3,)), "doc", 1, Pace(1.0, 1.0, 1.0, 1, 2))
    received = [learner.step({"x": X}, 2.0).received for _ in range(3)]
    mean = sum(each["phi1"][0] for each in received) / 3  # ε = 1, 1/2, 1/3
    np.testing.assert_allclose(learner.counts["phi1"], 2.0 * mean)
    assert learner.counts["phi1"].sum() == pytest.approx(2 * X.sum())
    shape = 0.8 + 2.0 * mean
    np.testing.assert_allclose(learner.mean("phi1"), shape / shape.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(learner.values["phi1"].sum(axis=1), 1.0)


def test_draws_are_given_the_averages() -> None:
    """Of φ ~ Dir(η + M), by its mean and variance; the same for the same step, and not a step."""
    learner = Learner(tiny((3, 2)), "doc", 1, Pace(0.2, 10.0, 0.6, 1, 2))
    learner.step({"x": X}, 2.0)
    values = {name: np.array(value) for name, value in learner.values.items()}
    names = ["phi1", "phi2", "r"]
    one, other = learner.draw(names), learner.draw(names)
    drawn = {name: [] for name in names}
    for learner.steps in range(4000):
        for name, value in learner.draw(names).items():
            drawn[name].append(value)
    for name in names:
        np.testing.assert_array_equal(one[name], other[name])
        np.testing.assert_array_equal(learner.values[name], values[name])
    np.testing.assert_array_equal(one["r"], values["r"])
    for name in ("phi1", "phi2"):
        shape = 0.8 + learner.counts[name]
        total = shape.sum(axis=1, keepdims=True)
        mean = shape / total
        variance = mean * (1.0 - mean) / (total + 1.0)
        z = (np.mean(drawn[name], axis=0) - mean) / np.sqrt(variance / 4000)
        assert np.abs(z).max() < 4.5
        np.testing.assert_allclose(np.var(drawn[name], axis=0), variance, rtol=0.2)


def scores(widths: tuple[int, ...], replicates: int, scale: float) -> np.ndarray:
    """z of statistics of what rows share after two steps on all rows, with data drawn anew in
    between: with ε = 1, one sample and ρ = 1 each is a draw given the data, and the joint law
    stays, but for what is left of where the rows begin after 30 sweeps."""
    network = tiny(widths)
    names = [*(f"phi{t + 1}" for t in range(len(widths))), "r", "gamma0", "c0"]
    sizes = {"doc": ROWS, "term": TERMS}

    def statistics(values: dict[str, np.ndarray]) -> list[float]:
        r, gamma0, c0 = (values[name] for name in ("r", "gamma0", "c0"))
        squares = [float((values[name] ** 2).sum()) for name in names if name.startswith("phi")]
        found = [r.sum(), np.log(r).mean(), gamma0, c0, gamma0 * c0, r.sum() * c0]
        return [*squares, *(float(each) for each in found)]

    before, after = [], []
    for seed in range(replicates):
        drawn = network.generate(seed=2 * seed, sizes=sizes)
        before.append(statistics(network.generate(seed=2 * seed + 1, sizes=sizes)))
        values = {name: drawn[name] for name in names}
        learner = Learner(network, "doc", seed, Pace(1.0, 1e12, 1.0, 30, 1), values=values)
        learner.step({"x": sp.csr_array(drawn["x"])}, scale)
        again = network.generate(seed=10**6 + seed, sizes=sizes, given=learner.values)
        learner.step({"x": sp.csr_array(again["x"])}, scale)
        after.append(statistics(learner.values))
    one, other = np.array(before), np.array(after)
    spread = np.sqrt((one.var(axis=0) + other.var(axis=0)) / replicates)
    return (other.mean(axis=0) - one.mean(axis=0)) / spread


@pytest.mark.long
@pytest.mark.parametrize("widths", [(2,), (3, 2)])
def test_all_rows_at_once_leave_the_joint_law(widths) -> None:
    found = scores(widths, 8000, 1.0)
    assert np.abs(found).max() < 4, found


@pytest.mark.long
def test_a_wrong_scale_is_seen() -> None:
    assert np.abs(scores((2,), 1000, 8.0)).max() > 5


# ---- the step of proportions ----------------------------------------------------------------

A = np.array([0.05, 0.5, 3.0, 20.0])  # a zero count with a small η among them
LINES = 40_000
SHAPE = (1, 1, LINES, A.size)


def moved(time: float, steps: int = 1, start: np.ndarray | None = None, key: int = 0) -> np.ndarray:
    goal = np.broadcast_to(A, SHAPE).copy()
    value = vectorised.dirichlet(Stream(90 + key, SHAPE), goal, 3) if start is None else start
    for step in range(steps):
        times = np.full((1, 1, LINES, 1), time)
        value = step_proportions(Stream(100 * key + step, SHAPE), value, goal, times)
    return value[0, 0]


def z_scores(value: np.ndarray) -> np.ndarray:
    """z of the means of φ, φ² and, near 0, of 1(φ_1 < 0.001), against the exact ones."""
    total = A.sum()
    mean = A / total
    square = A * (A + 1) / (total * (total + 1))
    fourth = square * (A + 2) * (A + 3) / ((total + 2) * (total + 3))
    exact = np.concatenate((mean, square))
    spread = np.concatenate((square - mean**2, fourth - square**2))
    found = np.concatenate((value.mean(axis=0), (value**2).mean(axis=0)))
    return (found - exact) / np.sqrt(spread / len(value))


@pytest.mark.parametrize("time", [0.01, 0.3, 5.0])
def test_the_law_stays(time) -> None:
    value = moved(time, key=1)
    assert np.abs(z_scores(value)).max() < 4
    np.testing.assert_allclose(value.sum(axis=1), 1.0)


def test_a_wrong_step_is_seen(monkeypatch) -> None:
    draw = vectorised.dirichlet
    wrong = lambda stream, shape, axis: draw(stream, shape + 0.2, axis)  # noqa: E731
    monkeypatch.setattr(learner.vectorised, "dirichlet", wrong)
    goal = np.broadcast_to(A, SHAPE).copy()
    start = draw(Stream(5, SHAPE), goal, 3)
    assert np.abs(z_scores(moved(0.3, start=start, key=2))).max() > 10


def test_how_far_a_step_goes() -> None:
    """E[ω(h) | ω] = a + (ω − a) e⁻ʰ; of proportions of a large total nearly so."""
    goal = np.broadcast_to(1000.0 * A, SHAPE).copy()
    start = np.broadcast_to([0.25, 0.25, 0.25, 0.25], SHAPE).copy()
    times = np.full((1, 1, LINES, 1), 0.4)
    found = step_proportions(Stream(7, SHAPE), start, goal, times)[0, 0].mean(axis=0)
    mean = A / A.sum()
    np.testing.assert_allclose(found, mean + (0.25 - mean) * np.exp(-0.4), rtol=2e-3)
