"""What every node has: a name, dims and slots."""

from __future__ import annotations

import numpy as np
import pytest

from pgbn import (
    Bernoulli,
    Beta,
    Dirichlet,
    Gamma,
    Latent,
    NetworkError,
    PgbnError,
    PoissonGamma,
    Slot,
)
from pgbn.nodes.base import check_methods, draw_node, node_types
from pgbn.samplers.random import Stream
from tests.helpers.refusals import Case, check_refused
from tests.helpers.small_networks import gamma

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


def test_slots_are_the_fields_that_take_expressions() -> None:
    assert Gamma.slots() == ("shape", "rate")
    assert Dirichlet.slots() == ("concentration",)
    assert Gamma("g", 1, 1, dims=("doc", "topic")).slot_axes("shape") == ("doc", "topic")


@pytest.mark.parametrize(
    ("node", "value", "words"),
    [
        (Gamma("g", 1, 1, dims="i"), [0.0, 2.0], None),
        (Gamma("g", 1, 1, dims="i"), [1.0, -2.0], "has the value -2; give finite values"),
        (Gamma("g", 1, 1, dims="i"), [1.0, np.nan], "has the value nan"),
        (Dirichlet("d", 1, over="k"), [0.25, 0.75], None),
        (Dirichlet("d", 1, over="k"), [0.5, 0.7], "sums to 1.2 over 'k'; divide by the sum"),
    ],
)
def test_possible_values(node: Latent, value: list[float], words: str | None) -> None:
    complaint = node.refuses(np.array(value))
    assert complaint is None if words is None else words in str(complaint)


def test_a_tag_stands_for_one_type() -> None:
    assert node_types()["gamma"] is Gamma
    with pytest.raises(NetworkError, match="node type 'gamma' is defined twice"):
        type("Other", (Latent,), {"tag": "gamma"})
    assert node_types()["gamma"] is Gamma


def test_a_draw_has_as_many_cells_as_its_stream() -> None:
    stream = Stream(1, (1, 1, 2, 3))
    drawn = draw_node(Gamma("g", 1, 1), stream, (1, 2, 3), {"shape": 1.0, "rate": 1.0})
    assert drawn.shape == (1, 2, 3)
    with pytest.raises(NetworkError, match=r"g: .* returned an array of shape \(1, 1, 2, 3\)"):
        draw_node(Gamma("g", 1, 1), stream, (1, 2), {"shape": 1.0, "rate": 1.0})


def test_what_a_type_leaves_out_is_named() -> None:
    class Bare(Latent):
        level: Slot

    with pytest.raises(NetworkError, match=r"b: the node type Bare does not define generate\(\)"):
        check_methods(Bare("b", level=1.0))
    with pytest.raises(NetworkError, match=r"def log_density\(self, value, \*\*slots\)"):
        Bare("b", level=1.0).log_density(np.ones(1))
    check_methods(Gamma("g", 1, 1))


def test_text() -> None:
    node = Gamma("g", 1, 2.5, dims="doc")
    assert str(node) == "g"
    assert repr(node) == "Gamma('g', shape=1, rate=2.5, dims=('doc',))"
    assert node.formula(shape="a", rate="c") == r"\mathrm{Gam}(a,\ c)"
