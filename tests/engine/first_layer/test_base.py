"""What the samplers of the first layer share: memory, states, further terms, shared rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Categories, Dirichlet, Gamma, Network, Poisson
from pgbn.engine.first_layer.choice import find_patterns
from pgbn.engine.first_layer.samplers import read_state
from pgbn.errors import DataError
from tests.engine.shards.test_driver import assert_same, everything
from tests.same_bits.networks import topical


def test_labels_of_tokens_need_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 50_000)
    data = np.full((12, 9), 1000)
    with pytest.raises(DataError, match=r"x: labels of 108000 tokens would need .*'blocked'"):
        pgbn.zoo.pfa(3).chain({"x": data}, sampler="collapsed")
    assert pgbn.zoo.pfa(3).chain({"x": data}, sampler="blocked").sweep().sweeps == 1


@pytest.mark.parametrize("value", [np.inf, np.nan, -1.0])
def test_reals_of_a_state_are_finite_and_not_negative(value: float) -> None:
    """The topics of older files; integers are in tests/engine/run/test_state.py."""
    good = np.array([0.5, 2.0])
    assert np.array_equal(read_state({"n": good}, "n", (2,)), good)
    for bad in (np.array([0.5, value]), good.astype(int), good[:1]):
        with pytest.raises(DataError, match="restore: 'n' of the state has the shape"):
            read_state({"n": bad}, "n", (2,))


def two_views() -> pgbn.Network:
    """Two kinds of data of each document, whose layers meet in θ2."""
    r = pgbn.Gamma("r", 1.0, 1.0, dims="theme")
    top = pgbn.Gamma("theta2", shape=r, rate=1.0, dims=("doc", "theme"))

    def view(name: str) -> pgbn.Poisson:
        topic, term = f"topic_{name}", f"term_{name}"
        above = pgbn.Dirichlet(f"w_{name}", 0.5, over=topic, dims="theme")
        theta = pgbn.Gamma(f"theta_{name}", shape=above @ top, rate=1.0, dims=("doc", topic))
        phi = pgbn.Dirichlet(f"phi_{name}", 0.5, over=term, dims=topic)
        return pgbn.Poisson(name, rate=phi @ theta, dims=("doc", term))

    return pgbn.Network(view("x"), view("y"), sizes={"topic_x": 4, "topic_y": 3, "theme": 2})


@pytest.mark.parametrize("sampler", ["collapsed", "partial"])
def test_tables_that_hear_of_two_data_wait_for_both(sampler: str) -> None:
    """θ2 hears of θ_x and θ_y: its tables can follow neither row by row. In `trace` each step comes
    by itself."""
    rng = np.random.default_rng(0)
    data = {"x": rng.poisson(0.7, (60, 12)), "y": rng.poisson(0.7, (60, 9))}
    one, other = (two_views().chain(data, seed=1, sampler=sampler, threads=1) for _ in range(2))
    one.sweep(3)
    for _ in range(3):
        assert list(other.trace())
    for name, value in one.values.items():
        np.testing.assert_array_equal(value, other.values[name])


# ---- rows that share scores: their counts together, and the samplers that see them so ------------


AUTHOR = Categories("author", dims="doc", of="writer")
X = topical(40, 30, 0.5)
AUTHORS = np.random.default_rng(0).integers(0, 6, 40)
AUTHORS[AUTHORS == 4] = 0  # who has no document


def network(**fields: Any) -> Network:
    r = Gamma("r", Gamma("g0", 1, 1) / 5, 1, dims="topic")
    theta = Gamma("theta", r, Gamma("c", 1, 1, dims="writer"), dims=("writer", "topic"))
    phi, size = Dirichlet("phi", 0.1, over="term", dims="topic"), Gamma("s", 1, 1, dims="doc")
    rate = size * (phi @ theta[AUTHOR])
    x = fields.get("kind", Poisson)("x", fields.get("rate", lambda each: each)(rate),
                                    dims=("doc", "term"))  # fmt: skip
    return Network(x, sizes={"topic": 5})


def data(counts: Any = X) -> dict[str, Any]:
    return {"x": counts, "author": AUTHORS}


@pytest.mark.parametrize("sampler", ["collapsed", "partial", "blocked"])
def test_threads_files_and_resumed_chains_have_the_same_bits(sampler: str, tmp_path: Path) -> None:
    one = network().chain(data(), sampler=sampler, threads=1).sweep(4)
    assert one.sampler == sampler
    half = network().chain(data(), sampler=sampler, threads=1).sweep(2)
    pgbn.save(half, tmp_path / "chain")
    disk = pgbn.Disk(tmp_path / "rows", memory="200MB")
    for other in (
        network().chain(data(), sampler=sampler, threads=2).sweep(4),
        network().chain(data(), sampler=sampler, executor=disk).sweep(4),
        pgbn.load(tmp_path / "chain").sweep(2),
    ):
        assert_same(everything(one), everything(other))


def test_auto_integrates_scores_of_authors_out() -> None:
    assert network().chain(data(), threads=1).sampler == "collapsed"
    assert find_patterns(network().with_indexes(author=AUTHORS).wiring)[0].index == "author"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"kind": pgbn.BernoulliPoisson}, "theta is read through author, together with counts"),
        (
            {"rate": lambda rate: rate + Gamma("b", 1, 1, dims="term")},
            "together with further terms",
        ),
    ],
)
def test_what_is_left_to_the_general_rules(fields: dict[str, Any], reason: str) -> None:
    net = network(**fields)
    assert reason in find_patterns(net.wiring)
    assert net.chain(data(np.minimum(X, 1)), threads=1).sweep().sampler == "composed"


def test_missing_cells_are_left_to_the_general_rules() -> None:
    masked = np.ma.masked_array(X, np.arange(X.size).reshape(X.shape) % 7 == 0)
    chain = network().chain(data(masked), threads=1).sweep()
    assert chain.sampler == "composed"
    with pytest.raises(pgbn.NetworkError, match="some cells are missing"):
        network().chain(data(masked), threads=1, sampler="partial")
