"""Sparse constants: the same sums and laws as dense ones, through their entries only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import pgbn as pg
from pgbn.engine.compile import splitting
from pgbn.engine.compile.layout import Labelled
from pgbn.engine.compile.products import SparseEntries, compile_product
from pgbn.network.sumproduct import ConstantArray, Operand, SparseConstant, reduce_product
from pgbn.testing import geweke
from tests.helpers.weighted import EXPOSURES, NETWORKS, SHARES, known_exposures, several_authors

SIZES = {"doc": 4, "author": 3, "topic": 2, "term": 5}
DATA = {"x": np.array([[2, 0, 1], [0, 1, 1], [3, 0, 0], [1, 1, 0]])}


def arrays(*dims: tuple[str, ...]) -> list[Operand]:
    random = np.random.default_rng(0)
    return [ConstantArray(dims=d, value=random.random([SIZES[x] for x in d])) for d in dims]


def read(operand: Any) -> Labelled:
    return Labelled(lambda: operand.value[None], operand.dims, 1)


@pytest.mark.parametrize(
    ("others", "over"),
    [
        ([("author", "topic")], ("author",)),
        ([("doc", "topic")], ("doc",)),
        ([("author", "topic"), ("topic", "term")], ("author", "topic")),
        ([("author", "topic"), ("doc",)], ("author", "doc")),
        ([("topic", "author"), ("author",), ("topic",)], ("author", "topic")),
        ([("topic",)], ("author", "topic")),
        ([("doc", "author", "topic")], ("author",)),
        ([("author", "topic")], ()),
        ([], ("author",)),
    ],
)
def test_a_product_with_a_sparse_matrix_is_that_with_the_whole(
    others: list[tuple[str, ...]], over: tuple[str, ...]
) -> None:
    beside = arrays(*others)
    sparse = SparseConstant(dims=("doc", "author"), value=SHARES)
    whole = ConstantArray(dims=("doc", "author"), value=SHARES.toarray())
    found = compile_product(reduce_product(2.0, [sparse, *beside], over), read, SIZES)
    wanted = compile_product(reduce_product(2.0, [whole, *beside], over), read, SIZES)
    assert found.value == wanted.value
    order = [found.dims.index(dim) + 1 for dim in wanted.dims]
    np.testing.assert_allclose(
        np.broadcast_to(found.get(), found.get().shape).transpose(0, *order), wanted.get()
    )


def test_rows_that_sum_to_one_drop_out() -> None:
    sparse = SparseConstant(dims=("doc", "author"), value=SHARES)
    assert reduce_product(1.0, [sparse], ("author",)).is_one
    assert not reduce_product(1.0, [sparse], ("doc",)).is_one


def test_entries_are_found_at_cells() -> None:
    rows, columns = np.mgrid[:4, :3].reshape(2, -1)
    assert np.array_equal(
        SparseEntries(EXPOSURES).at(rows, columns), EXPOSURES.toarray().reshape(-1)
    )
    assert SparseEntries(csr_array((2, 2))).at(np.array([1]), np.array([1])).tolist() == [0.0]


def test_shares_by_wrong_weights_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = splitting.thin_weighted

    def equal(key: Any, start: int, stop: int, counts: Any, weights: Any, *rest: Any) -> None:
        right(key, start, stop, counts, weights._replace(values=weights.values**0), *rest)

    monkeypatch.setattr(splitting, "thin_weighted", equal)
    assert geweke(several_authors(), replicates=3000, sweeps=6).worst > 5


@pytest.mark.parametrize("make", NETWORKS)
def test_sparse_networks_are_saved_and_give_the_same_bits(
    make: Callable[[], pg.Network], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through JSON and on several threads, and the matrix is never made dense."""
    monkeypatch.setattr(csr_array, "toarray", None)
    monkeypatch.setattr(csr_array, "todense", None)
    net = make()
    read_back = pg.Network.from_json(net.to_json())
    assert read_back.to_json() == net.to_json()
    data = {"x": DATA["x"] * np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])}  # possible
    one = net.sample(data, burn_in=3, draws=3, seed=1, threads=1)
    two = read_back.sample(data, burn_in=3, draws=3, seed=1, threads=2)
    for name in net.latent:
        assert np.array_equal(one[name], two[name])


def test_the_kernel_of_shared_rows_has_the_law_of_the_composed_rules() -> None:
    chain = pg.Chain.of_data(several_authors(), DATA, seed=0)
    reference = pg.Chain.of_data(several_authors(), DATA, seed=0, layer1="composed")
    found, wanted = [], []
    for _ in range(400):
        chain.sweep()
        reference.sweep()
        found.append(chain.program.values["theta"].sum(axis=2))
        wanted.append(reference.program.values["theta"].sum(axis=2))
    difference = np.mean(found, axis=0) - np.mean(wanted, axis=0)
    spread = np.sqrt((np.var(found, axis=0) + np.var(wanted, axis=0)) / 100)  # of a chain
    assert np.all(np.abs(difference) < 4 * spread)


def test_refusals_say_what_to_write() -> None:
    theta = pg.Gamma("theta", 1.0, 1.0, dims="author")
    shares = pg.Constant(SHARES, dims=("doc", "author"))
    with pytest.raises(pg.NetworkError, match=r"needs as many names: pgbn\.Constant"):
        pg.Network(pg.Poisson("x", SHARES @ theta, dims="doc"))
    back = pg.Constant(SHARES.T, dims=("author", "other"))
    other = pg.Gamma("other_", 1.0, 1.0, dims="other")
    with pytest.raises(pg.NetworkError, match=r"two sparse constants .*Constant\(A @ B"):
        pg.Network(pg.Poisson("x", shares @ (back @ other), dims="doc"))
    author = pg.Categories("who", dims="doc", of="author")
    with pytest.raises(pg.NetworkError, match=r"index the sparse matrix itself"):
        pg.Network(pg.Poisson("x", pg.Constant(SHARES.T, dims=("author", "k"))[author]
                              @ pg.Gamma("k_", 1.0, 1.0, dims="k"), dims="doc"))  # fmt: skip
    with pytest.raises(pg.NetworkError, match=r"negative number -1"):
        pg.Network(pg.Poisson("x", pg.Constant(-1 * SHARES, dims=("doc", "author")) @ theta,
                              dims="doc"))  # fmt: skip
    with pytest.raises(pg.NetworkError, match="not finite"):
        pg.Constant(csr_array([[np.inf]]), dims=("doc", "author"))
    with pytest.raises(pg.NetworkError, match="no real numbers"):
        pg.Constant(csr_array([[1j]]), dims=("doc", "author"))
    with pytest.raises(pg.NetworkError, match="leave empty rows and columns out"):
        pg.Constant(csr_array((2, 10**9)), dims=("doc", "author"))
    for kind in ("csr", "csc", "coo"):
        broken = csr_array(np.eye(2)).asformat(kind)
        (broken.coords[0] if kind == "coo" else broken.indices)[0] = 99  # scipy would follow it
        with pytest.raises(pg.NetworkError, match="is damaged"):
            pg.Constant(broken, dims=("doc", "author"))
    chain = pg.Shift(pg.Constant(SHARES, dims=("author", "k")) @ pg.Self(author="k"), along="t",
                     initial=1.0)  # fmt: skip
    with pytest.raises(pg.NetworkError, match=r"beside Self\(\).*toarray"):
        pg.Network(pg.Poisson("x", pg.Gamma("z", chain, 1.0, dims=("t", "author")),
                              dims=("t", "author")))  # fmt: skip


def test_data_where_the_matrix_is_zero_are_impossible() -> None:
    with pytest.raises(pg.DataError, match=r"doc 0, term 2 has probability 0"):
        known_exposures().sample({"x": np.ones((4, 3), int)})
    lonely = csr_array(np.array([[1.0, 0.0], [0.0, 0.0]]))
    rate = pg.Constant(lonely, dims=("doc", "author")) @ pg.Gamma("g", 1.0, 1.0, dims="author")
    with pytest.raises(pg.DataError, match=r"doc 1 has probability 0"):
        pg.Network(pg.Poisson("x", rate, dims="doc")).sample({"x": [1, 1]})


def test_a_forged_matrix_is_refused() -> None:
    text = several_authors().to_json().replace('"indptr": [', '"indptr": [9, ')
    with pytest.raises(pg.NetworkError, match="sparse constant is not complete"):
        pg.Network.from_json(text)


def test_explain_knows_a_sparse_matrix() -> None:
    assert "known sparse matrix" in str(several_authors().explain())
