"""Sums over pairs that are apart, against sums over all pairs with a mask."""

from __future__ import annotations

from itertools import product as every

import numpy as np
import pytest

from pgbn.engine.compile.layout import Labelled
from pgbn.engine.compile.products import before_and_after, compile_product, mask_of, relation_holds
from pgbn.network.sumproduct import Operand, PairMask, reduce_product

SIZES = {"i": 5, "j": 5, "k": 3, "l": 2}


def reader(replicates: int) -> dict[str, Labelled]:
    rng = np.random.default_rng(0)
    found = {}
    for name in ("ik", "jk", "jl", "k", "i", "ij"):
        value = rng.random((replicates, *(SIZES[dim] for dim in name)))
        found[name] = Labelled(lambda value=value: value, tuple(name), replicates)
    return found


@pytest.mark.parametrize("relation", ["upper", "distinct", "same"])
@pytest.mark.parametrize(
    ("names", "over"),
    [
        (["ik", "jk", "k"], "ij"),
        (["ik", "jk", "k"], "j"),
        (["jk", "k"], "j"),
        (["ik", "jl"], "ij"),
        (["ik", "jl"], "i"),
        (["ik"], "ij"),
        (["ik", "jk"], ""),
        (["ij", "jk"], "j"),
        (["ik", "jk", "k"], "ijk"),
    ],
)
def test_against_a_mask(names: list[str], over: str, relation: str) -> None:
    known = reader(2)
    mask = PairMask(dims=("i", "j"), relation=relation)
    dense = Labelled(lambda: mask_of(mask, SIZES), ("i", "j"), 1)
    operands = [*(Operand(name=name, dims=tuple(name)) for name in names), mask]
    found = compile_product(
        reduce_product(0.5, operands, tuple(over)),
        lambda operand: dense if operand is mask else known[operand.name],
        SIZES,
    )
    kept = "".join(dict.fromkeys(dim for dim in "".join([*names, "ij"]) if dim not in over))
    formula = ",".join(["Z" + name for name in names] + ["ij"]) + "->Z" + kept
    expected = np.einsum(formula, *(known[name].get() for name in names), mask_of(mask, SIZES)[0])
    order = [0, *(kept.index(dim) + 1 for dim in found.dims)]
    np.testing.assert_allclose(found.get(), 0.5 * expected.transpose(order), rtol=1e-12)


def test_nothing_cancels() -> None:
    """S − φ_i would lose all digits of the small entries, even below 0."""
    value = np.array([[1e30, 1e-3, 2e-3]])
    assert before_and_after(value, 1, False, True).tolist() == [[3e-3, 2e-3, 0.0]]


@pytest.mark.parametrize("relation", ["upper", "distinct", "same"])
def test_relations(relation: str) -> None:
    for i, j in every(range(3), repeat=2):
        expected = {"upper": i < j, "distinct": i != j, "same": i == j}[relation]
        assert relation_holds(relation, np.array(i), np.array(j)) == expected
