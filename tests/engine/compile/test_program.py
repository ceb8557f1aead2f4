"""The sizes of dims, memory that is used again, and expressions that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn
import pgbn as pg
from pgbn import DataError, Network, Poisson
from pgbn.engine.compile.program import Pool
from pgbn.engine.data.reading import check_fits, complete_sizes
from tests.helpers.small_data import NET


def address(array) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize(
    "hold",
    [
        lambda array: array,
        lambda array: array.reshape(12)[3:],
        lambda array: memoryview(array),
        lambda array: {"kept": [array.T]},
        lambda array: np.asarray(memoryview(array)).view(np.int64),
    ],
)
def test_whoever_looks_at_an_array_keeps_it(hold):
    pool = Pool()
    array = pool.empty((3, 4))
    first, held = address(array), hold(array)
    del array
    assert address(pool.empty((3, 4))) != first
    del held
    assert address(pool.empty((3, 4))) == first


def test_a_view_is_given_out_once():
    """As of an executor whose arrays are parts of a file: who looks at a view of it is not seen."""
    pool = Pool(lambda shape, dtype: np.frombuffer(bytearray(64), dtype).reshape(shape))
    first = pool.empty((2, 4)).reshape(8)
    assert address(pool.empty((2, 4))) != address(first)


@pytest.mark.parametrize("threads", [1, 2])
def test_values_that_were_seen_do_not_change(threads):
    X = np.random.default_rng(0).poisson(0.5, (300, 40))
    chain = pgbn.zoo.pgbn([80, 80, 80]).chain({"x": X}, seed=1, threads=threads)
    seen, copies, places = [], [], set()
    for _ in range(6):
        chain.sweep()
        now = {**chain.values, **chain._program.values, "counts": chain.counts["theta2"]}
        seen.append(now)
        copies.append({name: value.copy() for name, value in now.items()})
    for now, copy in zip(seen, copies, strict=True):
        assert all(np.array_equal(now[name], copy[name]) for name in copy)
    now = seen = copies = None
    for _ in range(12):
        chain.sweep()
        places.add(address(chain._program.values["theta2"]))
    assert len(places) < 12  # and memory is used again


# ---- expressions that are kept beside nodes ------------------------------------------------------


THETA = pg.Gamma("theta", 1.0, 1.0, dims=("doc", "topic"))
PHI = pg.Dirichlet("phi", 0.5, over="term", dims="topic")
BASE = pg.Gamma("base", 1.0, 1.0, dims="term")
MIXED = pg.Network(pg.Poisson("x", PHI @ THETA + BASE, dims=("doc", "term")), sizes={"topic": 2})
COUNTS = np.array([[1, 0, 2], [0, 3, 1]])


def sample(keep):
    return MIXED.sample({"x": COUNTS}, burn_in=2, draws=3, chains=2, keep=keep, progress=False)


def test_values_and_dims() -> None:
    draws = sample({
        "theta": THETA, "phi": PHI, "base": BASE,
        "rate": PHI @ THETA + BASE,
        "total": pg.extend.Mix(factors=(THETA,), over="topic"),
        "twice": 2.0 * BASE,
    })  # fmt: skip
    rate = np.einsum("cdjk,cdkv->cdjv", draws["theta"], draws["phi"]) + draws["base"][:, :, None]
    assert set(draws.dims["rate"]) == {"chain", "draw", "doc", "term"}
    order = [draws.dims["rate"].index(dim) for dim in ("chain", "draw", "doc", "term")]
    np.testing.assert_allclose(draws["rate"].transpose(order), rate)
    np.testing.assert_allclose(draws["total"], draws["theta"].sum(axis=-1))
    assert draws.dims["total"] == ("chain", "draw", "doc")
    np.testing.assert_allclose(draws["twice"], 2 * draws["base"])


# ---- the sizes of all dims: given, from data, from constants; and memory -------------------------


@pytest.mark.parametrize(
    ("sizes", "shapes", "expected"),
    [
        ({"doc": 2, "term": 3}, {}, {"topic1": 2, "doc": 2, "term": 3}),
        ({}, {"x": (3, 4)}, {"topic1": 2, "doc": 3, "term": 4}),
        ({"term": 4.0}, {"p2": (3,)}, {"topic1": 2, "doc": 3, "term": 4}),
    ],
)
def test_sizes_come_from_the_network_the_user_and_arrays(
    sizes: Any, shapes: Any, expected: dict[str, int]
) -> None:
    assert complete_sizes(NET, sizes, shapes) == expected


def test_the_size_of_a_renamed_dim_is_that_of_the_node() -> None:
    theta = pgbn.Gamma("theta", 1, 1, dims="k")
    network = Network(Poisson("x", theta.rename(k="z") * pgbn.Gamma("w", 1, 1, dims="d"),
                              dims=("d", "z")))  # fmt: skip
    assert complete_sizes(network, {"d": 2, "k": 5}, {}) == {"d": 2, "k": 5, "z": 5}


def test_what_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two arrays of 8 bytes for each number: θ has 1000 · 2 of them, p 1000, x 4000."""
    sizes = complete_sizes(NET, {"doc": 1000, "term": 4}, {})
    latent = 16 * (1000 * 2 + 1000 + 2 * 4 + 2 + 1 + 1)
    for module in ("pgbn.engine.data.reading", "pgbn.storage.read_limits"):
        monkeypatch.setattr(f"{module}.memory", lambda: latent)
    check_fits(NET, sizes)
    with pytest.raises(DataError, match=r"theta1 \[doc=1000, topic1=2\] would need .*doc smaller"):
        check_fits(NET, sizes, replicates=2)
    with pytest.raises(DataError, match=r"n=3: x \[doc=1000, term=4\] would need"):
        check_fits(NET, sizes, data=True, argument="n=3: ")


def test_rows_on_disk_leave_room_for_what_they_share(monkeypatch: pytest.MonkeyPatch) -> None:
    net = pgbn.zoo.pfa(100)
    monkeypatch.setattr("pgbn.storage.read_limits.memory", lambda: 10**9)  # of the machine
    check_fits(net, {"doc": 10**7, "term": 1000, **net.sizes}, rows_in=10**8)
    words = r"2000000000 bytes for rows and 642\d+ for what all rows share .*smaller memory="
    with pytest.raises(pgbn.DataError, match=words):
        check_fits(net, {"doc": 10**7, "term": 1000, **net.sizes}, rows_in=2 * 10**9)
