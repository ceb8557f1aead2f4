"""What every node has: a name, dims and slots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pgbn import (
    Bernoulli,
    Beta,
    Constant,
    Dirichlet,
    Gamma,
    Latent,
    Mix,
    Multinomial,
    Network,
    NetworkError,
    PgbnError,
    PoissonGamma,
    Product,
    Self,
    Shift,
    Sum,
    zoo,
)
from pgbn.nodes.base import node_types
from tests.helpers.refusals import Case, check_refused
from tests.helpers.small_networks import gamma

A, B = gamma("a"), gamma("b")


def multinomial(total: Any) -> Network:
    return Network(Multinomial("x", Dirichlet("p", 1, over="k"), over="k", dims="d", total=total))


REFUSED: dict[str, Case] = {
    "negative": (lambda: gamma(shape=-1), NetworkError, ["Gamma('g')", "shape", "positive", "-1"]),
    "zero": (lambda: gamma(rate=0), NetworkError, ["rate", "positive", "got 0"]),
    "negative entry": (lambda: gamma(shape=[1, -2]), NetworkError, ["shape", "positive", "-2"]),
    "probability": (lambda: Bernoulli("h", 1.5), NetworkError, ["probability", "1.5", "0 and 1"]),
    "concentration": (lambda: Dirichlet("d", -1, over="k"), NetworkError, ["concentration", "-1"]),
    "beta": (lambda: Beta("b", 0, 1), NetworkError, ["Beta('b')", "a:", "positive"]),
    "noise": (lambda: PoissonGamma("y", 1, -1), NetworkError, ["noise", "positive", "-1"]),
    "no name": (lambda: Gamma(shape=1, rate=1), NetworkError, ["name", "letters"]),
    "name": (lambda: Gamma("a b", 1, 1), NetworkError, ["'a b'", "letters, digits"]),
    "name of a step": (lambda: Gamma("counts(x)", 1, 1), NetworkError, ["'counts(x)'", "letters"]),
    "name not a string": (lambda: Gamma(3, 1, 1), NetworkError, ["Gamma(3)", "name", "string"]),
    "reserved name": (lambda: Gamma("self", 1, 1), NetworkError, ["'self'", "another name"]),
    "dims": (lambda: Gamma("a", 1, 1, dims=3), NetworkError, ["dims", "got 3"]),
    "dims of numbers": (lambda: Gamma("a", 1, 1, dims=(1,)), NetworkError, ["dims.0", "got 1"]),
    "dims twice": (lambda: Gamma("a", 1, 1, dims=("d", "d")), NetworkError, ["twice", "another"]),
    "empty dim": (lambda: Gamma("a", 1, 1, dims=("",)), NetworkError, ["dims", "empty name"]),
    "over is a dim": (
        lambda: Dirichlet("d", 1, over="doc", dims="doc"),
        NetworkError,
        ["Dirichlet('d')", "('doc', 'doc')", "twice"],
    ),
    "chain": (
        lambda: Gamma("a", 1, 1, dims=("doc", "chain")),
        PgbnError,
        ["Gamma('a')", "'chain'", "name"],
    ),
    "over draw": (
        lambda: Dirichlet("a", 1, over="draw"),
        PgbnError,
        ["Dirichlet('a')", "'draw'"],
    ),
    "name twice": (lambda: Gamma("g", 1, 1, name="h"), PgbnError, ["Gamma('g')", "twice", "'h'"]),
    "nan": (lambda: gamma(shape=float("nan")), NetworkError, ["shape", "nan", "finite"]),
    "infinite": (lambda: gamma(rate=np.inf), NetworkError, ["rate", "inf", "finite"]),
    "complex": (lambda: gamma(shape=1j), NetworkError, ["shape", "1j", "give a number"]),
    "string": (lambda: gamma(shape="1"), NetworkError, ["shape", "'1'", "str", "give a number"]),
    "none": (lambda: gamma(shape=None), NetworkError, ["shape", "None", "give a number"]),
    "bool": (lambda: gamma(shape=True), NetworkError, ["shape", "True", "give a number"]),
    "dict": (lambda: gamma(shape={}), NetworkError, ["shape", "{}", "give a number"]),
    "strings": (lambda: gamma(shape=["a"]), NetworkError, ["shape", "['a']", "numbers"]),
    "complex array": (lambda: gamma(shape=np.array([1j])), NetworkError, ["1.j", "numbers"]),
    "objects": (lambda: gamma(shape=[None]), NetworkError, ["[None]", "numbers"]),
    "ragged": (lambda: gamma(shape=[[1, 2], [3]]), NetworkError, ["shape", "unequal length"]),
    "empty": (lambda: gamma(shape=[]), NetworkError, ["shape", "[]", "empty"]),
    "long array": (lambda: gamma(shape=["a"] * 999), NetworkError, ["'a', 'a'", "…"]),
    "unknown": (
        lambda: Gamma("t", shape=1, scale=2),
        NetworkError,
        ["Gamma('t')", "scale", "not a parameter", "shape, rate"],
    ),
    "missing": (lambda: Gamma("t", 1), NetworkError, ["rate", "missing", "takes name, dims"]),
    "too many": (lambda: Gamma("t", 1, 2, 3), NetworkError, ["2 positional", "got 3"]),
    "twice": (lambda: Gamma("t", 1, 2, shape=2), NetworkError, ["shape is given twice"]),
    "over": (lambda: Dirichlet("d", 1), NetworkError, ["over", "missing"]),
    "over holds a number": (
        lambda: Dirichlet("d", 1, over=("k", 3)),
        NetworkError,
        ["over", "string", "3"],
    ),
    "over names no dim": (lambda: Dirichlet("d", 1, over=()), NetworkError, ["over", "no dim"]),
    "shift": (lambda: Shift(Self()), NetworkError, ["Shift", "along", "missing"]),
    "shift along a number": (lambda: Shift(Self(), along=3), NetworkError, ["along", "got 3"]),
    "mix": (lambda: Mix(factors=3), NetworkError, ["Mix", "factors", "got 3"]),
    "mix of nothing": (lambda: Mix(factors=()), NetworkError, ["Mix", "factors", "at least 1"]),
    "product of nothing": (lambda: Product(factors=()), NetworkError, ["factors", "at least 1"]),
    "sum of nothing": (lambda: Sum(terms=()), NetworkError, ["terms", "at least 1"]),
    "mix, unknown": (lambda: Mix(terms=()), NetworkError, ["Mix: terms", "not a parameter"]),
    "constant": (lambda: Constant("a"), NetworkError, ["Constant: value", "'a'"]),
    "rename": (lambda: gamma(dims="k").rename(k=3), NetworkError, ["Rename", "names.k", "got 3"]),
    "Product(g, 1)": (
        lambda: Product(A, 1),
        PgbnError,
        ["Product: takes 0", "got 2", "factors=… by name"],
    ),
    "Mix(a, b)": (lambda: Mix(A, B), PgbnError, ["Mix: takes 0", "factors=…, over=… by name"]),
    "Sum(a)": (lambda: Sum(A), PgbnError, ["Sum: takes 0", "terms=…"]),
    "Constant()": (lambda: Constant(), PgbnError, ["Constant: value: is missing"]),
    "Constant(1, 2)": (lambda: Constant(1, 2), PgbnError, ["Constant: takes 1", "dims=…"]),
    "Constant(1, value=2)": (
        lambda: Constant(1, value=2),
        PgbnError,
        ["Constant: value is given twice"],
    ),
    "Shift()": (lambda: Shift(along="d"), PgbnError, ["Shift: of: is missing"]),
    "Self(1)": (lambda: Self("k"), PgbnError, ["Self: takes 0"]),
    "total": (
        lambda: multinomial(2.5),
        PgbnError,
        ["Multinomial('x')", "total", "whole number", "2.5"],
    ),
    "totals": (lambda: multinomial(Constant([1, 1.5], dims="d")), PgbnError, ["total", "got 1.5"]),
    "total, multiplied": (
        lambda: multinomial(Constant(1) * 2.5).generate(sizes={"d": 2, "k": 2}),
        PgbnError,
        ["x: total=", "whole number"],
    ),
    "generate: total": (
        lambda: zoo.lda(2).generate(sizes={"doc": 2, "term": 2}),
        PgbnError,
        ["x", "total="],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    check_refused(*REFUSED[name])


@pytest.mark.parametrize(
    "name", ["a-b", "a b", "<b>", "a&b", 'a"', "a\n", "a\0", "\x1b[1m", "a'", "a.b", "", "$", "é-"]
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(NetworkError, match="letters, digits and underscores"):
        Gamma(name, 1, 1)


@pytest.mark.parametrize("name", ["a", "theta1", "1", "50_größe", "φ", "中", "_"])
def test_names(name: str) -> None:
    assert Gamma(name, 1, 1).name == name


def test_a_tag_stands_for_one_type() -> None:
    assert node_types()["gamma"] is Gamma
    with pytest.raises(NetworkError, match="node type 'gamma' is defined twice"):
        type("Other", (Latent,), {"tag": "gamma"})
    assert node_types()["gamma"] is Gamma


def test_text() -> None:
    node = Gamma("g", 1, 2.5, dims="doc")
    assert str(node) == "g"
    assert repr(node) == "Gamma('g', shape=1, rate=2.5, dims=('doc',))"
    assert node.formula(shape="a", rate="c") == r"\mathrm{Gam}(a,\ c)"


def test_what_is_not_known_is_named_before_what_is_missing() -> None:
    with pytest.raises(NetworkError, match=r"shap: is not a parameter\. Did you mean 'shape'\?"):
        Gamma("g", shap=1)
