"""What the samplers of the first layer share: memory, states, further terms, shared rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import Categories, Constant, Dirichlet, Gamma, Network, Poisson
from pgbn.engine.first_layer.base import FirstLayer, read_state
from pgbn.engine.first_layer.pattern import find_patterns
from pgbn.errors import DataError
from tests.same_bits.networks import topical


def test_labels_of_tokens_need_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 50_000)
    data = np.full((12, 9), 1000)
    with pytest.raises(DataError, match=r"x: labels of 108000 tokens would need .*'blocked'"):
        pgbn.zoo.pfa(3).chain({"x": data}, layer1="collapsed")
    assert pgbn.zoo.pfa(3).chain({"x": data}, layer1="blocked").sweep().sweeps == 1


@pytest.mark.parametrize(
    ("array", "shape", "below", "good"),
    [
        (np.array([0, 4]), (2,), 5, True),
        (np.array([0, 5]), (2,), 5, False),
        (np.array([-1, 4]), (2,), 5, False),
        (np.array([0.0, 4.0]), (2,), 5, False),
        (np.array([0, 4]), (3,), 5, False),
        (np.array([0.5, 2.0]), (2,), 0, True),
        (np.array([0.5, np.inf]), (2,), 0, False),
        (np.array([0.5, -1.0]), (2,), 0, False),
        (np.array([0.5, np.nan]), (2,), 0, False),
        (np.array([1, 2]), (2,), 0, False),
        (np.array([], np.int64), (0,), 5, True),
    ],
)
def test_arrays_of_a_state(array: Any, shape: tuple[int, ...], below: int, good: bool) -> None:
    """Integers below a bound, or finite reals from 0."""
    if good:
        assert np.array_equal(read_state({"n": array}, "n", shape, below), array)
    else:
        with pytest.raises(DataError, match="restore: 'n' of the state has the shape"):
            read_state({"n": array}, "n", shape, below)


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


@pytest.mark.parametrize("layer1", ["collapsed", "partial"])
def test_tables_that_hear_of_two_data_wait_for_both(layer1: str) -> None:
    """θ2 hears of θ_x and θ_y: its tables can follow neither row by row. In `trace` each step comes
    by itself."""
    rng = np.random.default_rng(0)
    data = {"x": rng.poisson(0.7, (60, 12)), "y": rng.poisson(0.7, (60, 9))}
    one, other = (two_views().chain(data, seed=1, layer1=layer1, threads=1) for _ in range(2))
    one.sweep(3)
    for _ in range(3):
        assert list(other.trace())
    for name, value in one.values.items():
        np.testing.assert_array_equal(value, other.values[name])


# ---- what a first layer has beside φ·θ, as arrays ------------------------------------------------


X = np.array([[1, 0, 2], [3, 1, 0]])
SIZE = np.array([0.5, 2.0])


def layer() -> FirstLayer:
    """x ~ Pois(2 (G s) φ·θ + 3 s' d + ψ·w): a size of groups, a background and two pseudo-topics."""
    theta = Gamma("theta", 1, 1, dims=("doc", "topic"))
    phi = Dirichlet("phi", 1, over="term", dims="topic")
    member = Constant([[1.0, 0.0], [0.25, 0.75]], dims=("doc", "group"))
    size = 2.0 * (member @ Gamma("s", 1, 1, dims="group"))
    usual = 3.0 * Gamma("t", 1, 1, dims="doc") * Gamma("d", 1, 1, dims="term")
    other = Dirichlet("psi", 1, over="term", dims="other") @ Gamma("w", 1, 1, dims=("doc", "other"))
    network = Network(
        Poisson("x", size * (phi @ theta) + usual + other, dims=("doc", "term")),
        sizes={"topic": 2, "other": 2},
    )
    init = {"s": SIZE, "t": [1.0, 4.0], "d": [0.1, 0.2, 0.3], "w": [[1.0, 2.0], [3.0, 4.0]],
            "psi": [[0.5, 0.25, 0.25], [0.2, 0.2, 0.6]]}  # fmt: skip
    sampler = network.chain({"x": X}, init=init, layer1="blocked").sampler
    assert sampler is not None
    return sampler


@pytest.mark.parametrize("held", [True, False])
def test_the_weights_beside_those_of_the_topics(held: bool) -> None:
    """Beside s θ they are divided by s; with θ integrated out, by s / (c + q) too, and q = s."""
    sampler = layer()
    scale = sampler.row_scale.get()
    pseudo, plain = sampler.pseudo(held), sampler.further.weights(np.ones(2))
    assert pseudo is not None
    assert plain is not None
    factor = 1 / scale if held else (1.0 + scale) / scale
    assert np.allclose(pseudo.row, plain.row * factor[:, None])


def test_counts_go_to_their_factors() -> None:
    sampler = layer()
    sampler.m[...] = [[5, 1], [2, 2]]
    sampler.further.counts.row[...] = [[1, 2, 3], [4, 5, 6]]
    sampler.further.counts.word[...] = [[1, 7, 0], [4, 0, 9], [0, 0, 0]]
    sampler.deliver_others(3)
    counts = {pair[1]: array[0] for pair, array in sampler.program.counts.items()}
    assert counts["t"].tolist() == [1, 4]
    assert counts["d"].tolist() == [1, 4, 0]
    assert counts["w"].tolist() == [[2, 3], [5, 6]]
    assert counts["psi"].tolist() == [[7, 0], [0, 9], [0, 0]]
    assert counts["s"].sum() == 10
    assert counts["s"][0] >= 6  # the first row is of the first group


# ---- rows that share scores: their counts together, and the samplers that see them so ------------


AUTHOR = Categories("author", dims="doc", of="writer")
X_SHARED = topical(40, 30, 0.5)
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


def data(counts: Any = X_SHARED) -> dict[str, Any]:
    return {"x": counts, "author": AUTHORS}


def everything(chain: pgbn.Chain) -> dict[str, Any]:
    values = {f"value of {name}": np.array(value) for name, value in chain.values.items()}
    return values | chain.state()


def assert_same(one: pgbn.Chain, other: pgbn.Chain) -> None:
    first, second = everything(one), everything(other)
    assert first.keys() == second.keys()
    for name, array in first.items():
        assert np.array_equal(array, second[name]), name


def test_counts_of_one_author_are_added_up() -> None:
    chain = network().chain(data(), layer1="partial", threads=1)
    cells = chain.samplers[0].cells
    expected = np.zeros((6, 30), int)
    np.add.at(expected, AUTHORS, X_SHARED)
    assert np.array_equal(cells.dense()[0], expected)
    assert cells.indices.dtype == np.int32
    assert (np.diff(cells.indptr) >= 0).all()
    assert chain.samplers[0].m.sum() == X_SHARED.sum()
    assert chain.samplers[0].m[4].sum() == 0


@pytest.mark.parametrize("layer1", ["collapsed", "partial", "blocked"])
def test_threads_files_and_resumed_chains_have_the_same_bits(layer1: str, tmp_path: Path) -> None:
    one = network().chain(data(), layer1=layer1, threads=1).sweep(4)
    assert one.layer1 == layer1
    assert_same(one, network().chain(data(), layer1=layer1, threads=2).sweep(4))
    disk = pgbn.Disk(tmp_path / "rows", memory="200MB")
    assert_same(one, network().chain(data(), layer1=layer1, executor=disk).sweep(4))
    half = network().chain(data(), layer1=layer1, threads=1).sweep(2)
    pgbn.save(half, tmp_path / "chain")
    assert_same(one, pgbn.load(tmp_path / "chain").sweep(2))


def test_auto_integrates_scores_of_authors_out() -> None:
    assert network().chain(data(), threads=1).layer1 == "collapsed"
    assert find_patterns(network().with_indexes(author=AUTHORS).wiring)[0].index == "author"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"kind": pgbn.BernoulliPoisson}, "theta is read through author, beside counts that"),
        ({"rate": lambda rate: rate + Gamma("b", 1, 1, dims="term")}, "beside further terms"),
    ],
)
def test_what_is_left_to_the_general_rules(fields: dict[str, Any], reason: str) -> None:
    net = network(**fields)
    assert reason in find_patterns(net.wiring)
    assert net.chain(data(np.minimum(X_SHARED, 1)), threads=1).sweep().layer1 == "composed"


def test_missing_cells_are_left_to_the_general_rules() -> None:
    masked = np.ma.masked_array(X_SHARED, np.arange(X_SHARED.size).reshape(X_SHARED.shape) % 7 == 0)
    chain = network().chain(data(masked), threads=1).sweep()
    assert chain.layer1 == "composed"
    with pytest.raises(pgbn.NetworkError, match="some cells are missing"):
        network().chain(data(masked), threads=1, layer1="partial")
