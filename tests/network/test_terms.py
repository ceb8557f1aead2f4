"""The normal form of a slot: terms, factors, the dims that are summed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import (
    Constant,
    Dirichlet,
    Mix,
    Multinomial,
    NetworkError,
    PgbnError,
    Poisson,
    Self,
    Shift,
)
from pgbn.network.lowering import lower
from pgbn.network.terms import ALWAYS, FIRST, LATER
from pgbn.nodes.expression import Expression
from tests.helpers.refusals import Case, check_refused
from tests.helpers.small_networks import chain, gamma, phi, poisson, square, theta

A, B, C = (
    gamma(name, dims=dims) for name, dims in (("a", ("doc", "k")), ("b", ("k", "term")), ("c", "k"))
)

REFUSED: dict[str, Case] = {
    "negative rate": (lambda: poisson(-1.0), NetworkError, ["x: rate", "negative number -1"]),
    "negative factor": (lambda: poisson(gamma() * -2.0), NetworkError, ["x: rate", "-2"]),
    "negative weights": (
        lambda: poisson(Constant([1.0, -3.0], dims="doc") * gamma()),
        NetworkError,
        ["x: rate", "negative number -3"],
    ),
    "zero rate": (lambda: poisson(0.0), NetworkError, ["x: rate", "zero", "positive number"]),
    "unnamed axes": (
        lambda: poisson(gamma(shape=np.ones((2, 2)), dims=("doc", "term"))),
        NetworkError,
        ["g: shape", "2 axes", "dims=('doc', 'term')"],
    ),
    "too many names": (
        lambda: poisson(Constant([1.0], dims=("doc", "term")) * gamma()),
        NetworkError,
        ["1 axes", "dims="],
    ),
    "dims": (
        lambda: poisson(gamma("a", dims="topic")),
        NetworkError,
        ["x: rate", "a has dim topic", "['doc', 'term']", "add it to dims= of x", "@"],
    ),
    "nothing to sum": (
        lambda: poisson(gamma("a", dims="doc") @ gamma("b", dims="term")),
        NetworkError,
        ["a @ b has no dim to sum over", "['doc'] and ['term']", "write *"],
    ),
    "sum over a missing dim": (
        lambda: poisson(Mix(factors=(gamma("a", dims="k"), gamma("b", dims="doc")), over="z")),
        NetworkError,
        ["sums over 'z'", "no factor has", "['doc', 'k']"],
    ),
    "sum over a dim of the node": (
        lambda: poisson(Mix(factors=(gamma("a", dims="doc"),), over="doc")),
        NetworkError,
        ["sums over 'doc'", "x ['doc', 'term'] has", "rename"],
    ),
    "rename of a missing dim": (
        lambda: poisson(gamma("a", dims="k").rename(z="doc")),
        NetworkError,
        ["rename of ['z']", "a has the dims ['k']"],
    ),
    "rename to the same": (
        lambda: poisson(gamma("a", dims=("k", "l")).rename(k="doc", l="doc")),
        NetworkError,
        ["rename by", "twice"],
    ),
    "rename to another": (
        lambda: poisson(gamma("a", dims=("k", "doc")).rename(k="doc")),
        NetworkError,
        ["rename by", "twice"],
    ),
    "summed inside, used outside": (
        lambda: poisson((phi() @ theta()) * gamma("w", dims="topic")),
        NetworkError,
        ["'topic'", "summed inside and used outside", "rename"],
    ),
    "twice in a product": (
        lambda: poisson(square(gamma())),
        NetworkError,
        ["'g' stands twice in one product", "self loop", "use two nodes"],
    ),
    "itself": (lambda: chain(Self()), NetworkError, ["g: shape", "only inside a Shift"]),
    "shift along no dim": (
        lambda: chain(Shift(Self(), along="time", initial=1.0)),
        NetworkError,
        ["g: shape", "'time'", "('doc',)"],
    ),
    "shift without itself": (
        lambda: chain(Shift(gamma("h"), along="doc", initial=1.0)),
        NetworkError,
        ["g: shape", "must contain Self()"],
    ),
    "shift without a beginning": (
        lambda: chain(Shift(Self(), along="doc")),
        NetworkError,
        ["g: shape", "first row", "initial=1.0"],
    ),
    "shift in a shift": (
        lambda: chain(Shift(Shift(Self(), along="doc"), along="doc", initial=1.0)),
        NetworkError,
        ["g: shape", "Shift inside a Shift"],
    ),
    "two shifts": (
        lambda: poisson(
            gamma(
                "g",
                Shift(Self(), along="doc", initial=1) + Shift(Self(), along="term", initial=1),
                dims=("doc", "term"),
            )
        ),
        NetworkError,
        ["g: shape", "Shifts along 'doc' and 'term'"],
    ),
    "a @ b @ c": (
        lambda: poisson(A @ B @ C),
        PgbnError,
        ["'k'", "a @ (b * c)", "pgbn.Mix(factors=(a, b, c))"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    check_refused(*REFUSED[name])


def test_remedies_of_a_product_of_three() -> None:
    for rate in (A @ (B * C), Mix(factors=(A, B, C))):
        assert len(poisson(rate)) == 4


class Wide(pgbn.Latent):
    """A layer that wants more dims in a slot than it has itself."""

    level: pgbn.Slot

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


AUTHOR = pgbn.Categories("author", dims="doc", of="writer")

INDEXED: dict[str, Case] = {
    "another dim": (
        lambda: poisson(gamma("g", dims="term")[AUTHOR]),
        NetworkError,
        ["entries of 'writer'", "['term']"],
    ),
    "a dim that it has": (
        lambda: poisson(gamma("g", dims=("writer", "doc"))[AUTHOR]),
        NetworkError,
        ["has the dim 'doc' itself", "rename"],
    ),
    "an index of an index": (
        lambda: poisson(gamma("g", dims="writer")[AUTHOR][pgbn.Categories("h", dims="term", of="doc")]),
        NetworkError,
        ["read through author", "does both"],
    ),
    "a simplex": (
        lambda: poisson(
            Dirichlet("phi", gamma("b"), over="writer", dims="k") [AUTHOR] @ gamma("a", dims="k")
        ),
        PgbnError,
        ["phi sums to one over 'writer'", "varies over 'writer'"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", INDEXED)
def test_indexes_that_are_refused(case: str) -> None:
    check_refused(*INDEXED[case])
