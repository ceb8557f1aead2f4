"""The normal form of a slot: terms, factors, the dims that are summed."""

from __future__ import annotations

from typing import Any

import pytest

import pgbn
from pgbn import Constant, Dirichlet, Multinomial, Poisson, Self, Shift
from pgbn.extend import Mix
from pgbn.network.lowering import lower
from pgbn.network.terms import ALWAYS, FIRST, LATER
from pgbn.nodes.expression import Expression
from tests.helpers.small_networks import gamma, poisson

A, B, C = (
    gamma(name, dims=dims) for name, dims in (("a", ("doc", "k")), ("b", ("k", "term")), ("c", "k"))
)


def test_remedies_of_a_product_of_three() -> None:
    for rate in (A @ (B * C), Mix(factors=(A, B, C))):
        assert len(poisson(rate)) == 4


class Wide(pgbn.extend.Latent):
    """A layer that wants more dims in a slot than it has itself."""

    level: pgbn.extend.Slot

    def slot_axes(self, slot: str) -> tuple[str, ...]:
        return (*self.axes, "choice")


def test_a_slot_has_the_dims_of_its_node() -> None:
    with pytest.raises(pgbn.NetworkError, match=r"slot_axes\('level'\) names \['choice'\]"):
        pgbn.Network(pgbn.Poisson("x", Wide("wide", level=1.0)))


# ---- what is allowed ------------------------------------------------------------------------


def normal_form(rate: Expression) -> list[tuple[float, list[str], tuple[str, ...]]]:
    """The coefficient, the factors and the summed dims of every term."""
    polynomial = lower(Poisson("x", rate, dims=("doc", "term")), "rate")
    return [
        (term.coefficient, [factor.name for factor in term.factors], term.contracted)
        for term in polynomial.terms
    ]


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (Constant(2.5), [(2.5, [], ())]),
        (C.rename(k="doc"), [(1.0, ["c"], ())]),
        (A @ B, [(1.0, ["a", "b"], ("k",))]),
        (2 * (A @ B) / 4, [(0.5, ["a", "b"], ("k",))]),
        (A @ B + 3.0, [(1.0, ["a", "b"], ("k",)), (3.0, [], ())]),
        (gamma("g") * (gamma("h") + 2), [(1.0, ["g", "h"], ()), (2.0, ["g"], ())]),
        (Mix(factors=(A,), over="k"), [(1.0, ["a"], ("k",))]),
        (gamma("g") + 0.0 * gamma("h"), [(1.0, ["g"], ())]),
        (Constant([1.0, 2.0], dims="doc") * gamma("g"), [(1.0, ["constant", "g"], ())]),
    ],
)
def test_normal_forms(rate: Expression, expected: list[Any]) -> None:
    assert normal_form(rate) == expected


def test_the_terms_of_a_shift_have_phases() -> None:
    shape = Shift(2.0 * Self(), along="doc", initial=gamma("nu")) + 0.5
    polynomial = lower(gamma("g", shape, dims="doc"), "shape")
    assert polynomial.along == "doc"
    assert [(term.coefficient, term.phase) for term in polynomial.terms] == [
        (2.0, LATER),
        (1.0, FIRST),
        (0.5, ALWAYS),
    ]
    assert polynomial.names == ("nu",)
    before = polynomial.terms[0].factors[0]
    assert before.previous
    assert not polynomial.is_plain


def test_a_slot_that_is_not_given_may_be_zero() -> None:
    node = Multinomial("x", Dirichlet("d", 1, over="k"), over="k")
    assert [term.coefficient for term in lower(node, "total").terms] == [0.0]
