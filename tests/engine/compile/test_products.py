"""Sums of products on arrays, against einsum; counts shared out among terms and their factors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import pgbn
import pgbn as pg
from pgbn import Gamma, Network, Poisson, Self, Shift
from pgbn.engine.compile import products
from pgbn.engine.compile.products import Labelled, Products, before_and_after, mask_of
from pgbn.engine.plan import splitter_of
from pgbn.network.sumproduct import ConstantArray, Operand, PairMask, SparseConstant, reduce_product
from pgbn.samplers.executor import SERIAL, Threads
from pgbn.testing import geweke
from tests.helpers.weighted import NETWORKS

SIZES = {"i": 5, "j": 5, "k": 3, "l": 2, "t": 2}
RELATIONS = ("upper", "distinct", "same")
SPARSE = csr_array(np.arange(15).reshape(5, 3) % 4 * 0.5)
DATA = {"x": np.array([[2, 0, 1], [0, 1, 1], [3, 0, 0], [1, 1, 0]])}


def operand_named(name: str, replicates: int) -> tuple[Operand, str, np.ndarray]:
    """An operand, its dims and its array: a name says the dims; "k1" has no replicates."""
    if name in RELATIONS:
        mask = PairMask(dims=("i", "j"), relation=name)
        return mask, "ij", mask_of(mask, SIZES)
    if name == "sparse":
        return SparseConstant(dims=("i", "k"), value=SPARSE), "ik", SPARSE.toarray()[None]
    dims, copies = name.strip("1"), 1 if name.endswith("1") else replicates
    shape = (copies, *(SIZES[dim] for dim in dims))
    return Operand(name=name, dims=tuple(dims)), dims, np.random.default_rng(0).random(shape)


DENSE = ["ik:", "ik:k", "ik:i", "ikl:kl", "ik jk:k", "jk ik:k", "ik kl:k", "ik i:", "ik k:ik",
         "ik k1:k", "ik jk i:k", "i:t", "ik kj l j ikl:jl", "ik kj l1 j ikl:ijlk"]  # fmt: skip
PAIRS = ["ik jk k:ij", "ik jk k:j", "jk k:j", "ik jl:ij", "ik jl:i", "ik:ij", "ik jk:", "ij jk:j",
         "ik jk k:ijk"]  # fmt: skip
WEIGHTED = ["sparse kl:k", "sparse il:i", "sparse kl lt:kl", "sparse kl i:ki", "sparse lk k l:kl",
            "sparse l:kl", "sparse ikl:k", "sparse kl:", "sparse:k"]  # fmt: skip
CASES = [*DENSE, *WEIGHTED, *(f"{relation} {case}" for case, relation in product(PAIRS, RELATIONS))]


@pytest.mark.parametrize("replicates", [1, 3])
@pytest.mark.parametrize("small", [0, products.SMALL], ids=["in order", "at once"])
@pytest.mark.parametrize("case", CASES)
def test_products(case: str, small: int, replicates: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "SMALL", small)
    names, over = case.split(":")
    operands, dims, arrays = zip(
        *(operand_named(name, replicates) for name in names.split()), strict=True
    )

    def read(operand: Operand) -> Labelled:
        array = operand.value[None] if isinstance(operand, ConstantArray) else None
        array = arrays[operands.index(operand)] if array is None else array
        return Labelled(lambda: array, operand.dims, len(array))

    found = Products(read, SIZES).compile(reduce_product(0.5, operands, tuple(over)))
    every = "".join(dict.fromkeys("".join(dims)))
    kept = "".join(dim for dim in every if dim not in over)
    wide = [np.broadcast_to(each, (replicates, *each.shape[1:])) for each in arrays]
    expected = np.einsum(",".join(f"Z{own}" for own in dims) + f"->Z{kept}", *wide)
    expected = expected * 0.5 * np.prod([SIZES[dim] for dim in over if dim not in every])
    assert set(found.dims) == set(kept)
    order = [0, *(kept.index(dim) + 1 for dim in found.dims)]
    value = np.broadcast_to(found.get(), (replicates, *found.get().shape[1:]))
    np.testing.assert_allclose(value, expected.transpose(order), rtol=1e-12)


def test_a_matrix_product_is_kept_until_a_value_is_replaced() -> None:
    values = {name: operand_named(name, 1)[2] for name in ("ik", "jk")}
    operands = [Operand(name=name, dims=tuple(name)) for name in values]
    found = Products(lambda o: Labelled(lambda: values[o.name], o.dims, 1), SIZES).compile(
        reduce_product(1.0, operands, ("k",))
    )
    first = found.get()
    assert found.get() is first
    values["ik"] = values["ik"] * 2
    np.testing.assert_allclose(found.get(), 2 * first)


def test_nothing_cancels() -> None:
    """S − φ_i would lose all digits of the small entries, even below 0."""
    value = np.array([[1e30, 1e-3, 2e-3]])
    assert before_and_after(value, 1, False, True).tolist() == [[3e-3, 2e-3, 0.0]]


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_sums_of_rows_have_the_same_bits_on_threads(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_MANY", 100)
    value = (np.random.default_rng(0).random((1, 50, 7)) * 1e9).astype(kind)
    one, two = (products._row_sums(value, executor) for executor in (SERIAL, Threads(2)))
    assert one.dtype == two.dtype == value.sum(axis=-1).dtype  # of int32, too, 64 bits
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one, value.sum(axis=-1), rtol=1e-14)


# ---- networks with sparse constants ------------------------------------------------------------


@pytest.mark.parametrize("make", NETWORKS)
def test_the_matrix_is_never_made_dense(
    make: Callable[[], pg.Network], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csr_array, "toarray", None)
    monkeypatch.setattr(csr_array, "todense", None)
    network = make()
    again = pg.Network.from_json(network.to_json())
    assert again.to_json() == network.to_json()
    data = {"x": DATA["x"] * np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]])}  # possible
    draws = again.sample(data, burn_in=1, draws=1, threads=1)
    assert all(np.isfinite(draws[name]).all() for name in network.latent)


# ---- counts of the terms --------------------------------------------------------------------


def single() -> Network:
    """A node without dims."""
    total = Gamma("a", 2, 1) + Gamma("b", 1, 2)
    return Network(Poisson("x", Gamma("t", total, 1), dims="i"))


def column() -> Network:
    """A last dim of the size 1."""
    total = Gamma("a", 2, 1, dims=("i", "k")) + Gamma("b", 1, 2)
    node = Gamma("t", total, 1, dims=("i", "k"))
    return Network(Poisson("x", node @ Gamma("c", 3, 3, dims="k"), dims="i"), sizes={"k": 1})


def chain() -> Network:
    """A Markov chain with its time dim only."""
    shape = Shift(Self(), along="i", initial=1.0) + Gamma("b", 1, 2)
    return Network(Poisson("x", Gamma("t", shape, 1, dims="i"), dims="i"))


def layers() -> Network:
    """φ2·θ2 plus a base, with one topic in the first layer."""
    theta2 = Gamma("b", 1, 1, dims=("i", "topic2"))
    phi2 = pgbn.Dirichlet("a", 1, over="topic1", dims="topic2")
    theta1 = Gamma("t", phi2 @ theta2 + Gamma("base", 2, 2), 1, dims=("i", "topic1"))
    phi1 = pgbn.Dirichlet("c", 1, over="term", dims="topic1")
    x = Poisson("x", phi1 @ theta1, dims=("i", "term"))
    return Network(x, sizes={"topic1": 1, "topic2": 2})


@pytest.mark.parametrize("make", [single, column, chain, layers])
def test_sums_over_a_single_entry(make: Any) -> None:
    net = make()
    sizes = {dim: 3 if dim == "i" else 1 for dim in net["x"].axes}
    assert geweke(net, sizes, 5_000, 5, seed=1).worst < 4


# ---- one draw -------------------------------------------------------------------------------


def test_no_count_goes_to_a_term_of_rate_0() -> None:
    gate = pgbn.Bernoulli("h", 0.5, dims="i")
    network = Network(Poisson("x", gate + Gamma("b", 1, 1, dims="i"), dims="i"))
    program = network.chain({"x": [5, 5]}, start={"h": [0.0, 1.0], "b": [1.0, 1e-300]})._program
    (h,), (b,) = splitter_of(program, network["x"], "rate").cells(
        1, program.cells["x"], program.cells["x"].values
    )
    assert h.tolist() == [[0, 5]]
    assert b.tolist() == [[5, 0]]
