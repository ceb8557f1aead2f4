"""Messages whose remedy works, and what has to be refused with a message at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn import Constant, Gamma, Mix, Network, NetworkError, Poisson, Product, Self, Shift, Sum

A, B, C = (Gamma(n, 1, 1, dims=d) for n, d in (("a", ("d", "k")), ("b", ("k", "v")), ("c", "k")))


def poisson(rate: Any) -> Network:
    return Network(Poisson("x", rate, dims=("d", "v")))


def gate() -> pg.Bernoulli:
    return pg.Bernoulli("h", 0.5)


def multinomial(total: Any) -> Network:
    return Network(
        pg.Multinomial("x", pg.Dirichlet("p", 1, over="k"), over="k", dims="d", total=total)
    )


REFUSED: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "array * node": (lambda: poisson(np.ones(3) * A @ B), ["rate", "needs as many names"]),
    "array @ node": (lambda: poisson(np.ones(3) @ A), ["rate", "needs as many names"]),
    "array + node": (lambda: poisson(np.ones(3) + A), ["rate", "needs as many names"]),
    "array / node": (lambda: np.ones(3) / A, ["a:", "division by a node"]),
    "array - node": (lambda: np.ones(3) - A, ["a:", "made with @"]),
    "chain": (lambda: Gamma("a", 1, 1, dims=("doc", "chain")), ["Gamma('a')", "'chain'", "name"]),
    "over draw": (lambda: pg.Dirichlet("a", 1, over="draw"), ["Dirichlet('a')", "'draw'"]),
    "Product(g, 1)": (lambda: Product(A, 1), ["Product: takes 0", "got 2", "factors=… by name"]),
    "Mix(a, b)": (lambda: Mix(A, B), ["Mix: takes 0", "factors=…, over=… by name"]),
    "Sum(a)": (lambda: Sum(A), ["Sum: takes 0", "terms=…"]),
    "Constant()": (lambda: Constant(), ["Constant: value: is missing"]),
    "Constant(1, 2)": (lambda: Constant(1, 2), ["Constant: takes 1", "dims=…"]),
    "Constant(1, value=2)": (lambda: Constant(1, value=2), ["Constant: value is given twice"]),
    "Shift()": (lambda: Shift(along="d"), ["Shift: of: is missing"]),
    "Self(1)": (lambda: Self("k"), ["Self: takes 0"]),
    "name twice": (lambda: Gamma("g", 1, 1, name="h"), ["Gamma('g')", "twice", "'h'"]),
    "a @ b @ c": (
        lambda: poisson(A @ B @ C),
        ["'k'", "a @ (b * c)", "pgbn.Mix(factors=(a, b, c))"],
    ),
    "weight of a chain": (
        lambda: Network(
            Poisson("x", Gamma("t", Shift(Self() * Gamma("w", 1, 1), along="d", initial=1), 1,
                               dims="d"), dims="d")
        ),
        ["w has no conjugate update", "integrate out; make w a number"],
    ),
    "total": (lambda: multinomial(2.5), ["Multinomial('x')", "total", "whole number", "2.5"]),
    "totals": (lambda: multinomial(Constant([1, 1.5], dims="d")), ["total", "got 1.5"]),
    "total, multiplied": (
        lambda: multinomial(Constant(1) * 2.5).generate(sizes={"d": 2, "k": 2}),
        ["x: total=", "whole number"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    build, words = REFUSED[name]
    with pytest.raises(pg.PgbnError) as caught:
        build()
    for word in words:
        assert word in str(caught.value)


def test_remedies_of_a_product_of_three() -> None:
    for rate in (A @ (B * C), Mix(factors=(A, B, C))):
        assert len(poisson(rate)) == 4


def test_numpy_numbers_on_the_left() -> None:
    assert str(np.float64(2) * A) == "a * 2"
    assert str(np.int64(2) + A) == "a + 2"
    assert str(np.array(2.0) * A) == "a * 2"


@pytest.mark.parametrize(
    "name", ["a-b", "a b", "<b>", "a&b", 'a"', "a\n", "a\0", "\x1b[1m", "a'", "a.b", "", "$", "é-"]
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(NetworkError, match="letters, digits and underscores"):
        Gamma(name, 1, 1)


@pytest.mark.parametrize("name", ["a", "theta1", "1", "50_größe", "φ", "中", "_"])
def test_names(name: str) -> None:
    assert Gamma(name, 1, 1).name == name


def test_a_gate_gets_a_remedy_that_works() -> None:
    """A number may be added where counts are integers, and only there."""
    with pytest.raises(NetworkError, match="can be 0") as caught:
        Network(Poisson("x", Gamma("t", 1, gate() * Gamma("b", 1, 1))))
    assert "0.1" not in str(caught.value)
    assert "into the shape of a Gamma" in str(caught.value)
    with pytest.raises(NetworkError, match=r"concentration=... \+ 0.1"):
        Network(Poisson("x", pg.Dirichlet("p", gate(), over="k"), dims="k"))
    Network(Poisson("x", pg.Dirichlet("p", gate() + 0.1, over="k"), dims="k"))


@pytest.mark.parametrize(("threads", "word"), [("0", "at least 1"), ("99999", "at most")])
def test_threads_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, threads: str, word: str
) -> None:
    monkeypatch.setenv("PGBN_THREADS", threads)
    with pytest.raises(pg.DataError, match=f"^PGBN_THREADS={threads} .*{word}"):
        Network(Poisson("x", Gamma("g", 1, 1))).chain({"x": 1})


def test_a_network_knows_its_nodes() -> None:
    net = poisson(A @ B)
    assert all(item in net for item in ("a", A, net["x"]))
    assert not any(item in net for item in ("c", C, Gamma("a", 1, 1)))
    assert [node.name for node in net] == list(net.nodes)
    assert len(net) == 3


def test_no_paragraph_begins_with_a_space() -> None:
    net = Network(Poisson("x", Gamma("g", 1, 1)))
    for format in ("text", "markdown"):
        lines = net.explain(format).splitlines()
        assert not [line for line in lines if line.startswith((" It", " By"))]
        assert any(line.lstrip().startswith("It reads") for line in lines)
