"""The samplers of the first layer: memory, states, further terms, shared rows; each by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pgbn
import pgbn as pg
from pgbn import Categories, Dirichlet, Gamma, Network, Poisson
from pgbn.engine.first_layer.choice import find_patterns
from pgbn.engine.first_layer.samplers import read_state
from pgbn.errors import DataError
from pgbn.testing import geweke
from tests.engine.shards.test_driver import assert_same, everything
from tests.helpers.language import scaled_mix
from tests.helpers.small_data import corpus
from tests.helpers.small_networks import topics_of_gammas
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


# ---- φ and θ integrated out -----------------------------------------------------------------


@pytest.mark.parametrize("build", [lambda: pg.zoo.pgbn([24, 20, 17]), scaled_mix, topics_of_gammas])
def test_overlapping_the_steps_changes_nothing(build) -> None:
    usual, plain = (
        build().chain({"x": corpus()}, seed=3, sampler="collapsed", threads=2) for _ in range(2)
    )
    plain._first_layer.mix = None  # one step after the other
    usual.sweep(2), plain.sweep(2)
    assert np.array_equal(usual._first_layer.tokens.labels, plain._first_layer.tokens.labels)
    for name, value in plain.values.items():
        assert np.array_equal(usual.values[name], value)


def test_tables_of_other_rows_wait_for_the_counts_of_the_data() -> None:
    """φ2 is a gamma: its tables have a row a topic, while the collapsed sampler goes by document."""
    sizes = {"doc": 3, "term": 4}
    assert geweke(topics_of_gammas(), sizes, 4000, 6, seed=1, sampler="collapsed").worst < 4


def test_many_tokens_are_counted_without_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same numbers, with four bytes less for each token."""
    X = np.random.default_rng(3).poisson(0.5, (60, 20))
    found = []
    for many in (10**7, 1):
        monkeypatch.setattr("pgbn.engine.first_layer.samplers._MANY", many)
        chain = pg.zoo.pgbn([8, 4]).chain({"x": X}, sampler="partial", threads=2).sweep(3)
        found.append((chain.counts["phi1"], "order" in vars(chain._first_layer.tokens)))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert [ordered for _, ordered in found] == [True, False]


# ---- φ fixed: cell by cell, and token by token ----------------------------------------------


def test_missing_cells_are_imputed_as_by_the_rules() -> None:
    x = np.array([[2, 0, 3], [1, 4, 0], [0, 1, 2]])
    hidden = np.eye(3, dtype=bool)
    network = pgbn.zoo.pfa(2, 0.5, (2.0, 4.0), (4.0, 4.0), (4.0, 4.0))
    means = {}
    for sampler in ("blocked", "composed"):
        chain = network.chain({"x": np.ma.masked_array(x, hidden)}, seed=1, sampler=sampler)
        assert chain.sampler == sampler
        drawn = [chain.sweep().imputed("x") for _ in range(1500)]
        assert all(np.array_equal(each[~hidden], x[~hidden]) for each in drawn[::100])
        means[sampler] = np.log1p([each[hidden] for each in drawn]).mean(axis=0)
    assert np.allclose(means["blocked"], means["composed"], atol=0.1)
    assert means["blocked"].min() > 0.1


# ---- the first layer with θ integrated out and φ held: P(z = k) ∝ φ_vk (m⁻_jk + a_jk) ------------


@pytest.mark.parametrize("is_shared", [False, True])
def test_many_tokens_of_a_word_have_the_joint_law(is_shared: bool) -> None:
    """About forty tokens of each term and 24 topics, as in large corpora: no lists where documents
    share the prior of their scores, and lists in two parts where they do not."""
    phi = pgbn.Dirichlet("phi", 0.1, over="term", dims=("topic",))
    shape = 0.3 if is_shared else pgbn.Constant(np.array([0.2, 0.3, 0.4]), dims="doc")
    theta = pgbn.Gamma("theta", shape, 0.2, dims=("doc", "topic"))
    net = pgbn.Network(pgbn.Poisson("x", theta @ phi, dims=("doc", "term")), sizes={"topic": 24})
    chain = net.chain({"x": np.full((3, 3), 15)}, sampler="partial", threads=1).sweep(2)
    loadings = chain._first_layer.loadings
    assert bool(loadings.high.any()) != is_shared
    assert bool(loadings.topic.size) != is_shared
    sizes = {"doc": 3, "term": 3}
    assert geweke(net, sizes, 3000, 4, seed=2, sampler="partial", threads=1).worst < 4
