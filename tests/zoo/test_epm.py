"""The edge partition models: data that are refused, small graphs, what is found."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from pgbn import DataError, Network, zoo
from tests.helpers.models import MILD

MILDLY = {
    "epm": lambda weighted: zoo.epm(2, weighted, MILD, MILD, MILD, MILD),
    "hgp_epm": lambda weighted: zoo.hgp_epm(2, weighted, 2.0, MILD, MILD, MILD, MILD, MILD),
}
EDGES = np.triu(np.ones((4, 4), int), 1)


@pytest.mark.parametrize("network", [zoo.epm(2), zoo.hgp_epm(2), zoo.epm(2, weighted=True)])
@pytest.mark.parametrize("matrix", [EDGES, sp.csr_array(EDGES), np.zeros((3, 3), int)])
def test_small_graphs(network: Network, matrix: object) -> None:
    chain = network.chain({"x": matrix}).sweep(5)
    assert all(np.isfinite(value).all() for value in chain.values.values())
    assert np.isfinite(chain.log_joint())


@pytest.mark.parametrize(
    ("matrix", "place"), [(EDGES + EDGES.T, "i 1, j 0"), (EDGES + np.eye(4, dtype=int), "i 0, j 0")]
)
def test_each_edge_once_and_no_self_loops(matrix: np.ndarray, place: str) -> None:
    with pytest.raises(DataError, match=rf"the value 1 at {place} .* i < j only.*triu\(A, 1\)"):
        zoo.epm(2).chain({"x": matrix})


def test_masked_pairs_are_imputed_where_they_can_be() -> None:
    masked = np.ma.masked_array(EDGES, np.eye(4, dtype=bool) | (np.indices((4, 4)).sum(0) == 1))
    chain = zoo.epm(2, weighted=True).chain({"x": masked}).sweep(20)
    assert not np.diag(chain.imputed("x")).any()


def test_the_square_graph_is_needed() -> None:
    with pytest.raises(DataError, match="size"):
        zoo.epm(2).chain({"x": np.zeros((3, 4), int)})


def two_groups(rng: np.random.Generator, size: int) -> np.ndarray:
    """A graph of two groups that hardly link to each other."""
    group = np.arange(2 * size) // size
    links = rng.random((2 * size, 2 * size)) < np.where(group[:, None] == group, 0.5, 0.02)
    return np.triu(links, 1).astype(int)


def test_groups_are_found() -> None:
    network = zoo.epm(5)
    graph = two_groups(np.random.default_rng(0), 15)
    draws = network.sample({"x": graph}, 100, 100, seed=1, progress=False, keep=network.latent)
    linked = draws.predict("x").mean(axis=(0, 1))
    inside = np.concatenate([linked[:15, :15][np.triu_indices(15, 1)],
                             linked[15:, 15:][np.triu_indices(15, 1)]])  # fmt: skip
    assert inside.mean() > 0.35
    assert linked[:15, 15:].mean() < 0.1
