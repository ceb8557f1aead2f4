"""Sums of products on arrays, against einsum."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn.engine.compile import products
from pgbn.engine.compile.layout import Labelled, labelled_number
from pgbn.engine.compile.products import compile_product
from pgbn.network.sumproduct import Operand, reduce_product
from pgbn.samplers.executor import SERIAL, Threads

SIZES = {"d": 5, "k": 3, "v": 4, "t": 2}
LETTERS = dict(zip(SIZES, "dkvt", strict=True))


def arrays(replicates: int = 1) -> dict[str, Labelled]:
    """Arrays called by their dims; "w" never has replicates, "two" is a number."""
    rng = np.random.default_rng(0)
    found = {}
    for name in ("dk", "vk", "kv", "d", "dkv", "k"):
        value = rng.random((replicates, *(SIZES[dim] for dim in name)))
        found[name] = Labelled(lambda value=value: value, tuple(name), replicates)
    constant = rng.random((1, SIZES["k"]))
    found["w"] = Labelled(lambda: constant, ("k",), 1)
    found["two"] = labelled_number(2.0)
    return found


@pytest.mark.parametrize("replicates", [1, 3])
@pytest.mark.parametrize(
    ("names", "over"),
    [
        (["dk"], ""),
        (["dk"], "k"),
        (["dk"], "d"),
        (["dkv"], "kv"),
        (["dk", "vk"], "k"),
        (["vk", "dk"], "k"),
        (["dk", "kv"], "k"),
        (["dk", "d"], ""),
        (["dk", "k"], "dk"),
        (["dk", "w"], "k"),
        (["dk", "vk", "d"], "k"),
        (["two", "dk"], "k"),
        (["d"], "t"),
        (["two"], "t"),
    ],
)
def test_products(names: list[str], over: str, replicates: int) -> None:
    known = arrays(replicates)
    operands = [Operand(name=name, dims=known[name].dims) for name in names]
    product = reduce_product(0.5, operands, tuple(over))
    found = compile_product(product, lambda operand: known[operand.name], SIZES)
    real = [name for name in names if known[name].value is None]
    kept = "".join(dict.fromkeys(d for name in real for d in known[name].dims if d not in over))
    formula = ",".join("Z" + "".join(known[name].dims) for name in real) + "->Z" + kept
    wide = [np.broadcast_to(known[n].get(), (replicates, *known[n].get().shape[1:])) for n in real]
    expected = np.einsum(formula, *wide) if real else np.ones(1)
    expected = expected * 0.5 * (2.0 if "two" in names else 1.0) * (2.0 if over == "t" else 1.0)
    order = [0, *(kept.index(dim) + 1 for dim in found.dims)]
    np.testing.assert_allclose(found.get(), expected.transpose(order), rtol=1e-12)
    assert set(found.dims) == set(kept)


def test_a_product_of_numbers_is_a_number() -> None:
    product = reduce_product(0.5, [Operand(name="two", dims=())], ("t", "d"))
    found = compile_product(product, lambda operand: labelled_number(2.0), SIZES)
    assert found.value == 0.5 * 2.0 * 2 * 5


def test_an_operand_that_lacks_a_declared_dim_is_repeated() -> None:
    product = reduce_product(1.0, [Operand(name="d", dims=("d", "t"))], ("t",))
    found = compile_product(product, lambda operand: arrays()["d"], SIZES)
    np.testing.assert_allclose(found.get(), 2 * arrays()["d"].get())


def test_a_matrix_product_is_kept_until_a_value_is_replaced() -> None:
    values = {name: arrays()[name].get() for name in ("dk", "vk")}
    known = {n: Labelled(lambda n=n: values[n], tuple(n), 1) for n in values}
    operands = [Operand(name=name, dims=tuple(name)) for name in values]
    found = compile_product(
        reduce_product(1.0, operands, ("k",)), lambda operand: known[operand.name], SIZES
    )
    first = found.get()
    assert found.get() is first
    values["dk"] = values["dk"] * 2
    np.testing.assert_allclose(found.get(), 2 * first)


@pytest.mark.parametrize("replicates", [1, 3])
def test_sums_in_order_are_those_at_once(replicates: int) -> None:
    sizes = {"i": 3, "j": 4, "l": 5, "k": 2}
    rng = np.random.default_rng(0)
    arrays = {
        dims: rng.random((replicates if "j" in dims else 1, *(sizes[d] for d in dims)))
        for dims in (("i", "k"), ("k", "j"), ("l",), ("j",), ("i", "l", "k"))
    }
    labelled = [Labelled(lambda a=a: a, dims, len(a)) for dims, a in arrays.items()]
    for summed in (("j",), ("j", "l"), ("l", "k"), ("i", "j", "l", "k"), ()):
        at_once = products._einsum(labelled, summed)
        in_order = products._in_order(labelled, summed, sizes, SERIAL)
        order = [0, *(in_order.dims.index(dim) + 1 for dim in at_once.dims)]
        np.testing.assert_allclose(in_order.get().transpose(order), at_once.get(), rtol=1e-12)


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
