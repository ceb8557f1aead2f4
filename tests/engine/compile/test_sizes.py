"""The sizes of all dims: given, from data, from constants; and memory."""

from __future__ import annotations

from typing import Any

import pytest

import pgbn
from pgbn import DataError, Network, Poisson
from pgbn.engine.compile.sizes import check_fits, complete_sizes
from tests.helpers.small_data import NET


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


@pytest.mark.parametrize(
    ("sizes", "shapes", "words"),
    [
        ({"docs": 2}, {}, r"no node has a dim 'docs'\. Did you mean 'doc'\?"),
        ({"doc": 2}, {}, r"the size of dim 'term' is not known"),
        ({"doc": 2}, {"x": (3, 4)}, "x: dim 'doc' has size 3 here, but 2 elsewhere"),
        ({}, {"x": (3,)}, r"x: an array of shape \(3,\), but its dims are \('doc', 'term'\)"),
    ],
)
def test_sizes_that_do_not_agree(sizes: Any, shapes: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        complete_sizes(NET, sizes, shapes)


def test_a_constant_of_another_size() -> None:
    network = Network(Poisson("x", pgbn.Constant([1, 2], dims="d"), dims="d"))
    with pytest.raises(DataError, match="x: constant has size 2 along 'd', but 'd' has size 4"):
        complete_sizes(network, {}, {"x": (4,)})


def test_what_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two arrays of 8 bytes for each number: θ has 1000 · 2 of them, p 1000, x 4000."""
    sizes = complete_sizes(NET, {"doc": 1000, "term": 4}, {})
    latent = 16 * (1000 * 2 + 1000 + 2 * 4 + 2 + 1 + 1)
    for module in ("pgbn.engine.compile.sizes", "pgbn.storage.read_limits"):
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
