"""The reference sampler: right by itself, and the same law as the engine.

Three kinds of evidence. Joint-distribution tests of every model of the zoo. For a fixed state, and
with all random variates replaced by fixed functions of their parameters, every downward step of
the reference gives what the engine's rules give, to rounding: so counts, exposures and posterior
parameters agree. And planted mistakes are found by both.
"""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import pgbn
from pgbn.engine.data.reading import complete_sizes
from pgbn.engine.run.chain import Chain
from pgbn.engine.run.generate import to_axes
from pgbn.network.terms import PREVIOUS
from pgbn.nodes.base import Latent
from pgbn.nodes.rules import Evidence
from pgbn.reference import Reference
from pgbn.samplers import vectorised
from pgbn.samplers.plain import PlainVariates
from pgbn.samplers.random import Stream
from pgbn.testing.geweke import GewekeResult, joint_test
from tests.helpers.models import sizes_of, zoo_models
from tests.helpers.own_edges import Carried
from tests.helpers.random_networks import SIZES, draft
from tests.helpers.wider_models import wider_models

Array = NDArray[Any]


def models() -> dict[str, tuple[pgbn.Network, dict[str, int]]]:
    """Every model of the zoo, with mild priors and tiny sizes."""
    return {name: (net, sizes_of(net)) for name, net in zoo_models().items()} | wider_models()


def other_models() -> dict[str, tuple[pgbn.Network, dict[str, int]]]:
    """What no model of the zoo has: an edge of a user's own, and a completed Dirichlet."""
    theta = pgbn.Gamma("theta", 2.0, 1.0, dims=("time", "topic"))
    phi = pgbn.Dirichlet("phi", 0.7, over="term", dims="topic")
    moved = Carried(theta, axis=1, weights=(1.0, 0.5))
    edge = pgbn.Network(pgbn.Poisson("x", phi @ moved, dims=("time", "term")), sizes={"topic": 2})
    weight = pgbn.Gamma("weight", 2.0, 2.0, dims="term")
    varied = pgbn.Network(
        pgbn.Poisson("x", weight * (phi @ theta), dims=("time", "term")), sizes={"topic": 2}
    )
    return {"edge": (edge, {"time": 3, "term": 3}), "completed": (varied, {"time": 2, "term": 3})}


EVERY = models() | other_models()


class Replicates:
    """Many chains of the reference at exact draws, as `joint_test` looks at chains."""

    seed = 0

    def __init__(
        self, network: pgbn.Network, sizes: dict[str, int], copies: int, seed: int
    ) -> None:
        every, variates = (
            complete_sizes(network, sizes, {}),
            PlainVariates(np.random.default_rng(seed)),
        )
        self.chain = Reference(network, {}, every, variates, replicates=copies)
        self.network, self._program, self.replicates = network, self, copies
        self.storage = {node.name: node.axes for node in network}
        for node in network:
            for part in self.chain.parts(node):
                self.chain.generate(node, part)

    @property
    def values(self) -> dict[str, Array]:
        return {name: self.chain.values[name] for name in self.network.latent}

    @property
    def cells(self) -> dict[str, Any]:
        data = {name: self.chain.values[name] for name in self.network.observed}
        return {n: SimpleNamespace(dense=lambda v=v: v, values=v) for n, v in data.items()}

    def sweep(self) -> None:
        self.chain.sweep()

    def _refresh(self) -> None:
        pass

    def _redraw(self, name: str, key: int) -> None:
        self.chain.generate(self.network[name])


def joint(name: str, copies: int, sweeps: int, seed: int = 1) -> GewekeResult:
    return joint_test(Replicates(*EVERY[name], copies, seed), sweeps)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", EVERY)
def test_the_joint_distribution_stays(name: str) -> None:
    result = joint(name, 300, 4)
    assert result.worst < 4, str(result)


@pytest.mark.long
@pytest.mark.parametrize("name", EVERY)
def test_the_joint_distribution_stays_at_full_power(name: str) -> None:
    result = joint(name, 20_000, 8, seed=2)
    assert result.worst < 4.5, str(result)


def joint_of_case(number: int, copies: int) -> float:
    """The largest |z| of a random network of the whole language; 0 if the network is rejected."""
    network = draft(number).network
    if network is None:
        return 0.0
    sizes = {dim: size for dim, size in SIZES.items() if dim in network.dims}
    return joint_test(Replicates(network, sizes, copies, number), 3).worst  # type: ignore[arg-type]


def test_random_networks_keep_their_joint_distribution() -> None:
    assert max(joint_of_case(number, 200) for number in range(25)) < 4.5


@pytest.mark.long
@pytest.mark.parametrize("number", range(300))
def test_a_random_network_keeps_its_joint_distribution(number: int) -> None:
    assert joint_of_case(number, 3000) < 5


# ---- the same numbers as the engine, where nothing is random -----------------------------------


def _full(stream: Stream, value: Any) -> Array:
    return np.array(np.broadcast_to(value, stream.shape), np.float64)


def _one(stream: Stream, log_weight: Any, axis: int) -> Array:
    weights = _full(stream, log_weight)
    return (weights == weights.max(axis=axis, keepdims=True)).astype(np.int64)


def _normalised(stream: Stream, a: Any, axis: Any) -> Array:
    full = _full(stream, a)
    return np.asarray(full / full.sum(axis=axis, keepdims=True))


FIXED: dict[str, Any] = {  # in place of draws: functions of the parameters that forget none of them
    "gamma": lambda stream, a, c: _full(stream, np.asarray(a) / c),
    "beta_odds": lambda stream, a, b: _full(stream, np.asarray(b) / a),
    "beta": lambda stream, a, b: _full(stream, np.asarray(a) / (np.asarray(a) + b)),
    "dirichlet": _normalised,
    "normal": lambda stream, mean=0.0, sd=1.0: _full(stream, np.asarray(mean) + 0.1 * sd),
    "bernoulli": lambda stream, p: (_full(stream, p) > 0.5).astype(np.float64),
    "poisson": lambda stream, rate: np.floor(_full(stream, rate) + 0.5).astype(np.int64),
    "hidden_count": lambda stream, w, a, m=-1: np.floor(
        _full(stream, np.sqrt(w) + np.maximum(m, 0) / (1.0 + np.asarray(a)))
    ).astype(np.int64),
    "log_normal": lambda stream, mean, precision, n=0.0, q=0.0: _full(
        stream, np.exp((np.asarray(mean) * precision + n) / (np.asarray(precision) + n + q))
    ),
    "uniform": lambda stream: _full(stream, 0.37),
    "categorical": _one,
}


def _joint_mean(stream: Stream, matrix: Array, vector: Array) -> Array:
    return np.asarray(np.linalg.solve(matrix, vector[..., None])[..., 0])


def _joint_bits(stream: Stream, matrix: Array, vector: Array, odds: Array, value: Array) -> Array:
    x = np.array(value, np.float64)
    for i in range(x.shape[-1]):
        others = (matrix[..., i, :] * x).sum(axis=-1) - matrix[..., i, i] * x[..., i]
        x[..., i] = odds[..., i] + vector[..., i] - 0.5 * matrix[..., i, i] - others > 0
    return x


@pytest.fixture
def nothing_random(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, function in FIXED.items():
        monkeypatch.setattr(vectorised, name, function)
    monkeypatch.setattr("pgbn.nodes.normal.joint_normal", _joint_mean)
    monkeypatch.setattr("pgbn.nodes.bernoulli.binary_field", _joint_bits)


def engine_chain(network: pgbn.Network, sizes: dict[str, int]) -> Chain:
    """Chains of the engine, by its rules alone, after two sweeps."""
    chain = Chain._replicated(network, sizes, 3, 5, "composed")
    chain.sweep(2)
    chain._refresh()
    return chain


def copy_of(chain: Chain) -> Reference:
    """The reference in the state of a chain: all values, and all counts of the last sweep."""
    program, network = chain._program, chain.network
    data = {n: c.dense().astype(np.float64) for n, c in program.cells.items()}
    values = {n: np.array(to_axes(program, n, v)) for n, v in program.values.items()}
    copy = Reference(network, data | values, program.sizes, None, replicates=program.replicates)
    for (child, parent), counts in program.counts.items():
        if parent == PREVIOUS:
            node = network[child]
            time = program.storage[child].index(program.wiring.connections.time_dim(child) or "")
            sizes = [program.sizes[d] for i, d in enumerate(program.storage[child]) if i != time]
            rows = np.asarray(counts).reshape(len(counts), program.replicates, *sizes)
            stored = np.moveaxis(rows, 0, 1 + time)
            copy.from_later[node.name] = to_axes(program, child, stored)
        else:
            stored = np.asarray(counts).reshape(program.shape[parent])
            copy.counts[child, parent] = to_axes(program, parent, stored)
    for (name, slot), drawn in program.drawn.items():
        pair = drawn if program.wiring.rules[name, slot].is_quadratic else (0.0 * drawn, drawn)
        whole = [_beside(chain, name, part) for part in pair]
        copy.drawn[name, slot] = Evidence(*whole)
    for name, counts in program.latent_counts.items():
        copy.behind[name] = program.cells[name].dense(counts)
    return copy


def _beside(chain: Chain, name: str, part: Array) -> Array:
    """An array beside a node, perhaps of size 1 along some dims or without them, as a whole one."""
    program, stored = chain._program, chain._program.storage[name]
    if part.ndim < len(program.shape4[name]):  # (R, *dims of the exposure)
        kept = [d for d in stored if d not in chain.network[name].sums_over]
        shape = [program.sizes[d] if d in kept else 1 for d in stored]
    else:
        shape = list(part.shape[len(part.shape) - len(stored) :])
    whole = np.broadcast_to(part.reshape(program.replicates, *shape), program.shape[name])
    return to_axes(program, name, np.array(whole))


def differences(name: str) -> dict[str, float]:
    """How far each node is, after its downward step, from what the engine's rules give."""
    chain = engine_chain(*EVERY[name])
    copy, program, found = copy_of(chain), chain._program, dict[str, float]()
    turns = {turn.step.name: turn for turn in (*chain._turns, *chain._later.values())}
    for step in chain.network.schedule:
        node = chain.network[step.node]
        in_time = chain.network.wiring.connections.time_dim(step.node) is not None
        if step.upward or (isinstance(node, Latent) and node.finite and in_time):
            continue
        turns[step.name].run(1)
        copy.draw(step)
        for each in step.draws:
            own = to_axes(program, each, program.values[each])
            scale = 1.0 + np.abs(own)
            found[each] = float(np.max(np.abs(copy.values[each] - own) / scale, initial=0.0))
            copy.values[each] = np.array(own)
    return found


@pytest.mark.usefixtures("nothing_random")
@pytest.mark.parametrize("name", EVERY)
def test_evidence_and_posteriors_are_those_of_the_engine(name: str) -> None:
    found = differences(name)
    assert found
    assert max(found.values()) < 1e-10, found


# ---- planted mistakes ---------------------------------------------------------------------------


def test_a_missing_table_draw_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts in place of their tables."""
    monkeypatch.setattr(PlainVariates, "crt", lambda self, stream, m, r: np.asarray(m, np.int64))
    assert joint("pgbn, T=2", 1000, 4).worst > 6


def test_a_wrong_exposure_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Reference.through
    monkeypatch.setattr(Reference, "through", lambda *args: 0.8 * right(*args))
    assert joint("gp_dpfa", 2000, 4).worst > 6


@pytest.mark.usefixtures("nothing_random")
def test_a_slightly_wrong_exposure_differs_from_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Reference.through
    monkeypatch.setattr(Reference, "through", lambda *args: (1 + 1e-8) * right(*args))
    assert max(differences("pgbn, T=2").values()) > 1e-10


# ---- net.sample(engine="reference") -------------------------------------------------------------


def _data(seed: int = 0) -> dict[str, Array]:
    return {"x": np.random.default_rng(seed).poisson(1.5, (5, 6))}


def _score(draws: pgbn.Draws, name: str) -> Array:
    """A number for each draw that does not depend on the order of topics."""
    value = np.log(1e-3 + draws[name][0])
    return np.asarray(value.reshape(len(value), -1).mean(axis=1))


def _z(one: Array, other: Array) -> float:
    """The difference of two means, in standard errors by batches of 25 draws."""
    each = [score.reshape(-1, 25).mean(axis=1) for score in (one, other)]
    error = np.sqrt(sum(batch.var(ddof=1) / batch.size for batch in each))
    return float((each[0].mean() - each[1].mean()) / error)


def _against_engine(network: pgbn.Network, data: Any, draws: int, **given: Any) -> dict[str, float]:
    runs = [network.sample(data, 100, draws, progress=False, seed=3, engine=engine, **given)
            for engine in ("reference", "fast")]  # fmt: skip
    return {name: _z(*(_score(run, name) for run in runs)) for name in runs[0]}


def test_posterior_means_are_those_of_the_engine() -> None:
    network = pgbn.zoo.pfa(2, 0.5, p_prior=(3, 3), c0_prior=(3, 3), gamma0_prior=(3, 3))
    found = _against_engine(network, _data(), 600)
    assert max(map(abs, found.values())) < 4, found


@pytest.mark.long
@pytest.mark.parametrize("name", models())
def test_posterior_means_are_those_of_the_engine_for_every_model(name: str) -> None:
    network, sizes = models()[name]
    data = {n: v for n, v in network.generate(4, sizes).items() if n in network.observed}
    found = _against_engine(network, data, 5000)
    assert max(abs(z) for z in found.values() if np.isfinite(z)) < 4.5, found


def test_missing_cells_and_given_nodes_have_the_law_of_the_engine() -> None:
    network = pgbn.zoo.pfa(2, 0.5, p_prior=(3, 3), c0_prior=(3, 3), gamma0_prior=(3, 3))
    x = _data()["x"]
    masked = np.ma.masked_array(x, np.arange(x.size).reshape(x.shape) % 4 == 1)
    found = _against_engine(network, {"x": masked}, 400, keep=["x", "theta1", "p2"])
    phi = np.random.default_rng(1).dirichlet(np.ones(6), 2)
    found |= {f"{name}, given": z for name, z in
              _against_engine(network, {"x": x}, 400, given={"phi1": phi}).items()}  # fmt: skip
    assert max(map(abs, found.values())) < 4, found


def test_draws_are_those_of_a_seed_and_have_the_usual_form() -> None:
    network, theta = pgbn.zoo.pfa(2), "theta1"
    one, again, other = (
        network.sample(_data(), 3, 4, 2, 2, seed, engine="reference") for seed in (1, 1, 2)
    )
    assert one[theta].shape == (2, 4, 5, 2)
    assert np.array_equal(one[theta], again[theta])
    assert not np.array_equal(one[theta], other[theta])


def test_expressions_are_kept_with_the_draws_that_they_are_made_of() -> None:
    network = pgbn.zoo.pfa(2)
    keep = {name: network[name] for name in ("phi1", "theta1")}
    keep["rate"] = network["phi1"] @ network["theta1"]  # type: ignore[assignment]
    draws = network.sample(_data(), 3, 4, keep=keep, engine="reference")
    assert draws.dims["rate"] == ("chain", "draw", "term", "doc")
    made = np.einsum("cdkv,cdjk->cdvj", draws["phi1"], draws["theta1"])
    assert np.allclose(draws["rate"], made)


@pytest.mark.parametrize(
    "option",
    [{"save": "run"}, {"threads": 2}, {"executor": pgbn.Threads(1)}, {"parallel": 2},
     {"callback": print}, {"sampler": "blocked"}],
)  # fmt: skip
def test_options_of_the_engine_are_rejected(option: dict[str, Any]) -> None:
    with pytest.raises(pgbn.DataError, match=f"{next(iter(option))}=.*engine='reference'"):
        pgbn.zoo.pfa(2).sample(_data(), 1, 1, engine="reference", **option)


def test_another_engine_is_rejected() -> None:
    with pytest.raises(pgbn.DataError, match="must be 'fast' or 'reference'"):
        pgbn.zoo.pfa(2).sample(_data(), 1, 1, engine="slow")


ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
"""

WITHOUT_COMPILER = """
import numpy as np
import pgbn

network = pgbn.zoo.pgbn([3, 2])
assert "CRT" in str(network.explain())
assert "svg" in str(network.plot()) and "svg" in str(network.schedule.plot())
x = np.random.default_rng(0).poisson(1.0, (4, 5))
draws = network.sample({"x": x}, 2, 3, engine="reference")
assert draws["theta1"].shape == (1, 3, 4, 3)
features = np.ones((4, 1))
pgbn.zoo.covariates(2, features).sample({"x": x}, 1, 1, engine="reference")
pgbn.zoo.dpfa_sbn([2, 2]).sample({"x": x}, 1, 1, engine="reference")
try:
    network.sample({"x": x}, 1, 1)
except pgbn.PgbnError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("before", "disabled", "remedy"),
    [
        (ABSENT, "0", "pip install numba, or"),
        ("", "1", "NUMBA_DISABLE_JIT switches off: unset it, or"),
    ],
)
def test_all_but_kernels_works_without_a_compiler(before: str, disabled: str, remedy: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", before + WITHOUT_COMPILER], capture_output=True, text=True,
        check=False, env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert remedy in run.stdout
    assert "engine='reference'" in run.stdout
