"""The skeletons of examples/skeletons run as they stand, are right, and are seen when they are not.

Each is loaded as a user would load a copy of it: from its file, outside the package.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats

import pgbn
from pgbn.engine import plan
from pgbn.nodes.rules import registry
from pgbn.samplers import Threads
from pgbn.testing import check_conjugacy, check_edge, geweke
from tests.helpers.repository import ROOT


@pytest.fixture(autouse=True)
def _kernels_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel registers itself when it is imported: other tests must not see it."""
    monkeypatch.setattr(plan, "_makers", {key: [*found] for key, found in plan._makers.items()})


SKELETONS = sorted((ROOT / "examples" / "skeletons").glob("*.py"))


def load(name: str) -> ModuleType:
    """The skeleton as a module; once, since a node type may be declared once only."""
    module = f"skeleton_{name}"
    if module not in sys.modules:
        path = ROOT / "examples" / "skeletons" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(module, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[module] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[module])
    return sys.modules[module]


@pytest.mark.parametrize("path", SKELETONS, ids=lambda path: path.stem)
def test_a_skeleton_runs_from_anywhere_and_tests_itself(path: Path, tmp_path: Path) -> None:
    """A copy in another folder, which cannot lean on its neighbours."""
    copy = tmp_path / path.name
    copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8", str(copy)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_is_a_skeleton_of_each_kind() -> None:
    assert [path.stem for path in SKELETONS] == ["edge", "kernel", "model", "node"]


# ---- edge -------------------------------------------------------------------------------

ECHO = {"lag": 2, "day": 3, "place": 2}


def test_the_edge_is_right() -> None:
    net = load("edge").network()
    assert load("edge").is_right(net)
    assert not check_conjugacy(net, {"day": 5}).failures
    assert geweke(net, {"day": 5}, replicates=5_000, sweeps=6).worst < 4


def test_a_wrong_edge_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights the other way round: a right sampler of another model, so the value tells."""
    edge = load("edge")
    right = edge.Moving.expand

    def wrong(self: Any) -> Any:
        return right(self.model_copy(update={"weights": self.weights[::-1]}))

    monkeypatch.setattr(edge.Moving, "expand", wrong)
    assert not edge.is_right(edge.network())


def test_the_edge_with_its_own_evaluation_is_right() -> None:
    edge = load("edge")
    net = edge.echo_network()
    assert not check_edge(edge.Echo(net["w2"], net["felt"]), ECHO, 5_000).failures
    assert not check_conjugacy(net, {"day": 3}).failures
    assert geweke(net, {"day": 3}, replicates=4_000, sweeps=5).worst < 4


@pytest.mark.long
def test_the_edge_with_its_own_evaluation_is_right_at_length() -> None:
    result = geweke(load("edge").echo_network(), {"day": 3}, replicates=30_000, sweeps=8)
    assert result.worst < 4, str(result)


def test_a_wrong_split_of_the_edge_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts of the weights belong to other lags than those of the events."""
    edge = load("edge")
    right = edge.Echo.split

    def wrong(self: Any, *args: Any, **operands: Any) -> Any:
        found = right(self, *args, **operands)
        return {**found, "weights": found["weights"][:, ::-1]}

    monkeypatch.setattr(edge.Echo, "split", wrong)
    net = edge.echo_network()
    assert check_edge(edge.Echo(net["w2"], net["felt"]), ECHO, 2_000).worst > 6
    assert geweke(net, {"day": 3}, replicates=4_000, sweeps=5).worst > 6


# ---- node -------------------------------------------------------------------------------


def test_the_node_is_right() -> None:
    net = load("node").network()
    assert not check_conjugacy(net, {"doc": 2, "term": 3}).failures
    assert geweke(net, {"doc": 2, "term": 3}, replicates=10_000, sweeps=6).worst < 4


def test_a_wrong_draw_rule_of_the_node_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """One count too many."""

    def wrong(count: Any, exposure: Any, rate: Any) -> dict[str, Any]:
        return {"gain": count + 1, "rate": rate + exposure}

    node = load("node")
    rule = registry.find_draw(node.network()["theta"])
    monkeypatch.setitem(
        registry._draws,
        (node.Exponential, rule.kind),
        replace(rule, posterior=wrong),
    )
    net = node.network()
    assert check_conjugacy(net, {"doc": 2, "term": 3}).failures
    assert geweke(net, {"doc": 2, "term": 3}, replicates=5_000, sweeps=6).worst > 6


# ---- model ------------------------------------------------------------------------------


def test_the_model_is_right() -> None:
    net = load("model").small()
    assert not check_conjugacy(net, {"person": 3, "item": 3}).failures
    assert geweke(net, {"person": 3, "item": 3}, replicates=10_000, sweeps=6).worst < 4


def test_a_model_that_holds_a_node_still_is_seen() -> None:
    def without_theta(chain: pgbn.Chain) -> None:
        names = [step.name for step in chain.schedule if not step.on_demand]
        chain._turns.pop(names.index("theta"))

    net = load("model").small()
    result = geweke(net, {"person": 3, "item": 3}, 2_000, 4, broken=without_theta)
    assert result.worst > 6


def test_the_model_learns_from_data() -> None:
    """Two groups of people who take the items of their own: the factors find them."""
    x = np.kron(np.eye(2, dtype=int), np.full((10, 6), 5))
    net = load("model").hierarchical_factorisation(2)
    draws = net.sample({"x": x}, burn_in=100, draws=50, seed=0, progress=False)
    likes = draws.mean("theta")
    likes = likes / likes.sum(axis=1, keepdims=True)
    assert abs(likes[:10].mean(axis=0) - likes[10:].mean(axis=0)).min() > 0.8


@pytest.mark.parametrize(
    ("argument", "value"), [("width", 0), ("taste", -1.0), ("activity_prior", (1.0,))]
)
def test_the_model_names_a_wrong_argument(argument: str, value: Any) -> None:
    with pytest.raises(pgbn.NetworkError, match=argument):
        load("model").hierarchical_factorisation(**{"width": 2, argument: value})


# ---- kernel -----------------------------------------------------------------------------


ONE = Threads(1)


def agreement(draw: Callable[..., Any], counts: list[int], shape: float) -> float:
    """p of a χ² test of 40,000 draws of a column against its exact law; 0 if one is impossible."""
    replicates = 40_000
    expected = replicates * load("kernel").exact_law(np.array(counts), shape)
    m = np.broadcast_to(np.array(counts)[:, None], (replicates, len(counts), 1))
    tables = draw(3, m, np.full((replicates, 1), shape), ONE)[:, 0]
    found = np.bincount(tables, minlength=expected.size)
    if found.size > expected.size or found[expected == 0].any():
        return 0.0
    rare = expected < 5  # taken together
    expected = np.append(expected[~rare], expected[rare].sum())
    found = np.append(found[~rare], found[rare].sum())
    if (expected > 0).sum() == 1:  # a certain number
        return 1.0
    return float(stats.chisquare(found[expected > 0], expected[expected > 0]).pvalue)


COLUMNS = [([3], 0.7), ([3, 0, 1, 5], 0.7), ([1, 1], 2.0), ([0, 0], 1.0), ([12, 7, 7, 2], 0.05),
           ([40, 3], 6.0)]  # fmt: skip


@pytest.mark.parametrize(("counts", "shape"), COLUMNS)
def test_the_kernel_draws_from_the_exact_law(counts: list[int], shape: float) -> None:
    assert agreement(load("kernel").column_tables, counts, shape) > 1e-4


def test_the_exact_law_is_that_of_tables() -> None:
    """P(ℓ | m = 3, r) ∝ |s(3, ℓ)| r^ℓ, with the Stirling numbers 2, 3 and 1."""
    r = 0.7
    expected = np.array([0, 2 * r, 3 * r**2, r**3])
    np.testing.assert_allclose(
        load("kernel").exact_law(np.array([3]), r), expected / expected.sum()
    )


def test_a_kernel_that_counts_from_zero_is_seen() -> None:
    """Customer n opens a table with probability r/(r + n): a known mistake."""

    def off_by_one(key: int, counts: Any, shape: Any, executor: Any) -> Any:
        return load("kernel").column_tables(key, counts + (counts > 0), shape, executor) - 1

    assert agreement(off_by_one, [3, 0], 0.7) < 1e-8


def test_a_shape_of_zero_gives_one_table_to_each_restaurant() -> None:
    counts = np.array([[[4], [0], [1]]])
    assert load("kernel").column_tables(1, counts, np.zeros((1, 1)), ONE)[0, 0] == 2


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_the_kernel_draws_the_same_bits_on_any_threads(threads: int) -> None:
    random = np.random.default_rng(0)
    counts, shape = random.poisson(3.0, (7, 20, 30)), random.gamma(1.0, size=(7, 30))
    one, several = (
        load("kernel").column_tables(5, counts, shape, Threads(n)) for n in (1, threads)
    )
    assert np.array_equal(one, several)
    assert not np.array_equal(one, load("kernel").column_tables(6, counts, shape, ONE))


def layer() -> pgbn.Network:
    """A gamma layer whose rows share their shapes: its tables are what the kernel draws."""
    r = pgbn.Gamma("r", 3, 2, dims="topic")
    theta = pgbn.Gamma("theta", r, pgbn.Gamma("c", 4, 4), dims=("doc", "topic"))
    return pgbn.Network(pgbn.Poisson("x", 3 * theta, dims=("doc", "topic")))


def fit(monkeypatch: pytest.MonkeyPatch, draw: Callable[..., Any] | None = None) -> None:
    """Register the kernel of the skeleton, or another ``draw`` in its place."""
    kernel = load("kernel")
    if draw is not None:
        monkeypatch.setattr(kernel, "column_tables", draw)
    pgbn.register_kernel(plan.SlotCounts)(kernel.tables_by_column)


def is_used(layer1: str) -> bool:
    chain = pgbn.Chain.replicated(layer(), {"doc": 3, "topic": 2}, 5, layer1=layer1)
    return any("kernel" in getattr(turn.run, "__module__", "") for turn in chain._turns)


def test_the_kernel_in_place_of_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_used("blocked")
    fit(monkeypatch)
    assert is_used("blocked")
    assert not is_used("composed")
    result = geweke(layer(), {"doc": 3, "topic": 2}, 10_000, 6)
    assert result.worst < 4, result


def test_a_wrong_kernel_in_place_of_the_rules_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def every_customer(key: int, counts: Any, shape: Any, executor: Any) -> Any:
        return counts.sum(axis=1)

    fit(monkeypatch, every_customer)
    result = geweke(layer(), {"doc": 3, "topic": 2}, 10_000, 6)
    assert result.worst > 6


def test_the_kernel_leaves_other_networks_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shape that is a mix, a scaled node or a number is not what it draws."""
    X = np.random.default_rng(0).poisson(2.0, (6, 5))
    before = {name: network.chain({"x": X}, layer1="blocked").sweep(2).values
              for name, network in others().items()}  # fmt: skip
    fit(monkeypatch)
    for name, network in others().items():
        after = network.chain({"x": X}, layer1="blocked").sweep(2).values
        assert all(np.array_equal(after[node], before[name][node]) for node in after)


def others() -> dict[str, pgbn.Network]:
    deep = pgbn.zoo.pgbn([3, 2])
    r = pgbn.Gamma("r", 3, 2, dims="term")
    scaled = pgbn.Gamma("theta", 2 * r, 1, dims=("doc", "term"))
    return {"mix": deep, "scaled": pgbn.Network(pgbn.Poisson("x", scaled, dims=("doc", "term")))}
