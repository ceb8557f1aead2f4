"""Bad networks are refused when they are built, in words: the culprit, the value, the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgbn
from pgbn import (
    Bernoulli,
    Beta,
    BetaOdds,
    Constant,
    Dirichlet,
    Gamma,
    MissingRuleError,
    Mix,
    Multinomial,
    Network,
    NetworkError,
    Poisson,
    PoissonGamma,
    Product,
    Self,
    Shift,
    StaleReadError,
    Sum,
)

Case = tuple[Callable[[], Any], type[Exception], list[str]]


def gamma(name: str = "g", shape: Any = 1.0, rate: Any = 1.0, **fields: Any) -> Gamma:
    return Gamma(name, shape, rate, **fields)


def poisson(rate: Any, dims: Any = ("doc", "term")) -> Network:
    return Network(Poisson("x", rate, dims=dims))


def theta(**fields: Any) -> Gamma:
    return gamma("theta", dims=("doc", "topic"), **fields)


def phi(name: str = "phi", over: str = "term") -> Dirichlet:
    return Dirichlet(name, 0.1, over=over, dims="topic")


def odds() -> BetaOdds:
    return BetaOdds("p", 1, 1, dims="doc")


def chain(shape: Any) -> Network:
    return poisson(gamma("g", shape, dims="doc"))


def square(node: Gamma) -> Product:
    return node * node


def two_modalities() -> Network:
    shared = theta(rate=odds())
    return Network(
        Poisson("x", phi() @ shared, dims=("doc", "term")),
        Poisson("y", phi("psi", "tag") @ shared, dims=("doc", "tag")),
    )


def two_kinds() -> Network:
    shared = odds()
    return Network(
        Poisson("x", gamma("t", 1, shared, dims="doc"), dims="doc"),
        Poisson("y", shared, dims="doc"),
    )


PARAMETERS: dict[str, Case] = {
    "negative": (lambda: gamma(shape=-1), NetworkError, ["Gamma('g')", "shape", "positive", "-1"]),
    "zero": (lambda: gamma(rate=0), NetworkError, ["rate", "positive", "got 0"]),
    "nan": (lambda: gamma(shape=float("nan")), NetworkError, ["shape", "nan", "finite"]),
    "infinite": (lambda: gamma(rate=np.inf), NetworkError, ["rate", "inf", "finite"]),
    "complex": (lambda: gamma(shape=1j), NetworkError, ["shape", "1j", "give a number"]),
    "string": (lambda: gamma(shape="1"), NetworkError, ["shape", "'1'", "str", "give a number"]),
    "none": (lambda: gamma(shape=None), NetworkError, ["shape", "None", "give a number"]),
    "bool": (lambda: gamma(shape=True), NetworkError, ["shape", "True", "give a number"]),
    "dict": (lambda: gamma(shape={}), NetworkError, ["shape", "{}", "give a number"]),
    "negative entry": (lambda: gamma(shape=[1, -2]), NetworkError, ["shape", "positive", "-2"]),
    "strings": (lambda: gamma(shape=["a"]), NetworkError, ["shape", "['a']", "numbers"]),
    "complex array": (lambda: gamma(shape=np.array([1j])), NetworkError, ["1.j", "numbers"]),
    "objects": (lambda: gamma(shape=[None]), NetworkError, ["[None]", "numbers"]),
    "ragged": (lambda: gamma(shape=[[1, 2], [3]]), NetworkError, ["shape", "unequal length"]),
    "empty": (lambda: gamma(shape=[]), NetworkError, ["shape", "[]", "empty"]),
    "long array": (lambda: gamma(shape=["a"] * 999), NetworkError, ["'a', 'a'", "…"]),
    "probability": (lambda: Bernoulli("h", 1.5), NetworkError, ["probability", "1.5", "0 and 1"]),
    "concentration": (lambda: Dirichlet("d", -1, over="k"), NetworkError, ["concentration", "-1"]),
    "beta": (lambda: Beta("b", 0, 1), NetworkError, ["Beta('b')", "a:", "positive"]),
    "noise": (lambda: PoissonGamma("y", 1, -1), NetworkError, ["noise", "positive", "-1"]),
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
    "a dim twice in a constant": (
        lambda: Constant(np.ones((2, 2)), dims=("doc", "doc")),
        NetworkError,
        ["Constant: dims", "twice"],
    ),
}

ARGUMENTS: dict[str, Case] = {
    "unknown": (
        lambda: Gamma("t", shape=1, scale=2),
        NetworkError,
        ["Gamma('t')", "scale", "not a parameter", "shape, rate"],
    ),
    "missing": (lambda: Gamma("t", 1), NetworkError, ["rate", "missing", "takes name, dims"]),
    "too many": (lambda: Gamma("t", 1, 2, 3), NetworkError, ["2 positional", "got 3"]),
    "twice": (lambda: Gamma("t", 1, 2, shape=2), NetworkError, ["shape is given twice"]),
    "over": (lambda: Dirichlet("d", 1), NetworkError, ["over", "missing"]),
    "over is a tuple": (lambda: Dirichlet("d", 1, over=("k",)), NetworkError, ["over", "string"]),
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
    "shift": (lambda: Shift(Self()), NetworkError, ["Shift", "along", "missing"]),
    "shift along a number": (lambda: Shift(Self(), along=3), NetworkError, ["along", "got 3"]),
    "mix": (lambda: Mix(factors=3), NetworkError, ["Mix", "factors", "got 3"]),
    "mix of nothing": (lambda: Mix(factors=()), NetworkError, ["Mix", "factors", "at least 1"]),
    "product of nothing": (lambda: Product(factors=()), NetworkError, ["factors", "at least 1"]),
    "sum of nothing": (lambda: Sum(terms=()), NetworkError, ["terms", "at least 1"]),
    "mix, unknown": (lambda: Mix(terms=()), NetworkError, ["Mix: terms", "not a parameter"]),
    "constant": (lambda: Constant("a"), NetworkError, ["Constant: value", "'a'"]),
    "rename": (lambda: gamma(dims="k").rename(k=3), NetworkError, ["Rename", "names.k", "got 3"]),
    "4 dims": (
        lambda: poisson(gamma(), tuple("abcd")).generate(sizes=dict.fromkeys("abcd", 1)),
        NetworkError,
        ["x", "4 dims", "at most 3"],
    ),
}

OPERATORS: dict[str, Case] = {
    "/ node": (lambda: gamma() / gamma("h"), NetworkError, ["g /", "'h'", "division by a number"]),
    "/ 0": (lambda: gamma() / 0, NetworkError, ["g / 0", "positive"]),
    "/ nan": (lambda: gamma() / float("nan"), NetworkError, ["g / nan", "positive"]),
    "/ inf": (lambda: gamma() / float("inf"), NetworkError, ["g / inf", "finite"]),
    "/ str": (lambda: gamma() / "a", NetworkError, ["g / 'a'"]),
    "number /": (lambda: 1 / gamma(), NetworkError, ["g", "division by a node"]),
    "-": (lambda: gamma() - 1, NetworkError, ["g", "no conjugate update", "@, +, *"]),
    "negation": (lambda: -gamma(), NetworkError, ["g", "no conjugate update"]),
    "**": (lambda: gamma() ** 2, NetworkError, ["g", "no conjugate update"]),
    "* str": (lambda: gamma() * "a", NetworkError, ["'a'", "give a number, a node"]),
    "+ None": (lambda: gamma() + None, NetworkError, ["None", "give a number, a node"]),
    "@ str": (lambda: gamma() @ "a", NetworkError, ["'a'", "give a number, a node"]),
    "* nan": (lambda: gamma() * float("nan"), NetworkError, ["nan", "finite"]),
}

STRUCTURE: dict[str, Case] = {
    "no node": (lambda: Network(), NetworkError, ["at least one observed node", "Network(x)"]),
    "latent": (lambda: Network(gamma()), NetworkError, ["'g'", "not an observed node", "Poisson"]),
    "list": (lambda: Network([Poisson("x", 1.0)]), NetworkError, ["not an observed node"]),
    "duplicate": (
        lambda: poisson(gamma("a") * gamma("a")),
        NetworkError,
        ["two nodes are called 'a'", "rename"],
    ),
    "duplicate of the data": (lambda: poisson(gamma("x")), NetworkError, ["called 'x'", "rename"]),
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
        ["'g' appears twice in one product", "use two nodes"],
    ),
    "observed parent": (
        lambda: Network(Poisson("y", Poisson("x", gamma(), dims="doc") * gamma("h"), dims="doc")),
        NetworkError,
        ["y: rate", "x is observed", "only latent nodes"],
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
        lambda: chain(Shift(Self(), along="doc", initial=1) + Shift(Self(), along="doc")),
        NetworkError,
        ["g: shape", "two Shifts"],
    ),
    "shift of data": (
        lambda: Network(Poisson("x", Shift(Self(), along="doc", initial=1.0), dims="doc")),
        NetworkError,
        ["x: rate", "x is observed", "latent Gamma"],
    ),
}

CONJUGACY: dict[str, Case] = {
    "no rule": (
        lambda: poisson(gamma(shape=Beta("b", 1, 1), dims="doc")),
        MissingRuleError,
        [
            "b (Beta) stands in the shape of g (Gamma)",
            "Beta hears ['probability']",
            "Gamma.shape tells 'poisson' evidence to",
            "Gamma.rate tells 'odds' evidence to BetaOdds",
            "@pgbn.evidence_rule(Gamma, 'shape')",
            "make the parameter a number",
        ],
    ),
    "no rule for the slot": (
        lambda: poisson(gamma("t", 1, BetaOdds("p", gamma("a"), 1, dims="doc"), dims="doc"), "doc"),
        MissingRuleError,
        ["a (Gamma) stands in the a of p (BetaOdds)", "Rules of BetaOdds", "none"],
    ),
    "two kinds": (two_kinds, MissingRuleError, ["p (BetaOdds)", "rate of y", "Poisson.rate tells"]),
    "mixed kinds": (
        lambda: poisson(gamma("t", 1, gamma("a") * BetaOdds("b", 1, 1), dims="doc")),
        MissingRuleError,
        ["t: rate mixes a, b", "different kinds"],
    ),
    "exposure varies over the simplex": (
        lambda: poisson(phi() @ theta() * gamma("w", dims="term")),
        MissingRuleError,
        ["phi sums to one over 'term'", "from x", "w", "varies over 'term'", "make phi a Gamma"],
    ),
    "odds and two modalities": (
        two_modalities,
        MissingRuleError,
        ["p is the rate of theta", "exposure is 1 + 1 instead of 1", "pgbn.Gamma('p', 1, 1"],
    ),
    "odds and a scaled rate": (
        lambda: poisson(phi() @ theta(rate=odds()) * 2.0),
        MissingRuleError,
        ["p is the rate of theta", "exposure is 2 instead of 1", "make p a Gamma"],
    ),
    "odds in a product": (
        lambda: poisson(gamma("t", 1, 2 * odds(), dims="doc"), "doc"),
        MissingRuleError,
        ["t: rate", "p must stand alone"],
    ),
    "real counts into tables": (
        lambda: poisson(gamma("t", 1, gamma("c", gamma("a")), dims="doc")),
        MissingRuleError,
        ["a stands in the shape of c", "real-valued count from the rate of t", "a number"],
    ),
    "multinomial of a gamma": (
        lambda: Network(Multinomial("x", phi() @ theta(), over="term", dims="doc")),
        NetworkError,
        ["x: probability = phi @ theta", "does not sum to one over 'term'", "Dirichlet factors"],
    ),
    "multinomial of a sum": (
        lambda: Network(
            Multinomial(
                "x",
                Dirichlet("a", 1, over="term") + Dirichlet("b", 1, over="term"),
                over="term",
                dims="doc",
            )
        ),
        NetworkError,
        ["x: probability = a + b", "does not sum to one"],
    ),
    "sum in a rate": (
        lambda: poisson(gamma("t", 1, gamma("a") + gamma("b"), dims="doc")),
        MissingRuleError,
        ["t: rate is a sum (a + b)", "single node or product"],
    ),
    "mix in a rate": (
        lambda: poisson(gamma("t", 1, gamma("a", dims="k") @ gamma("b", dims="k"), dims="doc")),
        MissingRuleError,
        ["t: rate is a sum (a @ b)", "single node or product"],
    ),
    "shift in a rate": (
        lambda: poisson(gamma("g", 1, Shift(Self(), along="doc", initial=1.0), dims="doc")),
        MissingRuleError,
        ["g: rate holds a Shift", "shape of a Gamma"],
    ),
    "shift in a Dirichlet": (
        lambda: poisson(
            Dirichlet("d", Shift(Self(), along="doc", initial=1.0), over="term", dims="doc")
        ),
        MissingRuleError,
        ["d: concentration holds a Shift", "shape of a Gamma"],
    ),
}

SIZES: dict[str, Case] = {
    "unknown": (lambda: sized({"dok": 3}), NetworkError, ["'dok'", "Did you mean 'doc'?"]),
    "not a string": (lambda: sized({3: 3}), NetworkError, ["no node has a dim 3", "Known"]),
    "zero": (lambda: sized({"doc": 0}), NetworkError, ["doc=0", "positive integer"]),
    "real": (lambda: sized({"doc": 2.5}), NetworkError, ["doc=2.5", "positive integer"]),
    "string": (lambda: sized({"doc": "2"}), NetworkError, ["doc='2'", "positive integer"]),
    "none": (lambda: sized({"doc": None}), NetworkError, ["doc=None", "positive integer"]),
    "nan": (lambda: sized({"doc": float("nan")}), NetworkError, ["doc=nan"]),
    "infinite": (lambda: sized({"doc": float("inf")}), NetworkError, ["doc=inf"]),
    "bool": (lambda: sized({"doc": True}), NetworkError, ["doc=True"]),
    "not a dict": (lambda: sized(3), NetworkError, ["sizes=3", "dict"]),
    "no such node": (lambda: sized({})["thta"], NetworkError, ["'thta'", "Did you mean 'theta'?"]),
    "unknown step": (lambda: sized({}).with_order(["q"]), NetworkError, ["'q'", "counts(x)"]),
    "a step left out": (lambda: sized({}).with_order([]), NetworkError, ["missing", "counts(x)"]),
    "order of numbers": (lambda: sized({}).with_order([None]), NetworkError, ["'None'"]),
    "no order": (lambda: sized({}).with_order(3), NetworkError, ["order=3", "list"]),
    "order as a string": (lambda: sized({}).with_order("x"), NetworkError, ["order='x'", "list"]),
    "stale": (
        lambda: deep().with_order(["counts(x)", "counts(theta)", "r", "c", "theta"]),
        StaleReadError,
        ["c conditions on theta", "stale", "r was drawn with theta integrated out", "move c"],
    ),
}


def sized(sizes: Any) -> Network:
    return Network(Poisson("x", theta() @ gamma("w", dims="topic"), dims="doc"), sizes=sizes)


def deep() -> Network:
    return poisson(gamma("theta", gamma("r", 2, 1), gamma("c"), dims="doc"))


ALL = {
    f"{group}: {name}": case
    for group, cases in {
        "parameter": PARAMETERS,
        "argument": ARGUMENTS,
        "operator": OPERATORS,
        "structure": STRUCTURE,
        "conjugacy": CONJUGACY,
        "sizes": SIZES,
    }.items()
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", ALL)
def test_refused(name: str) -> None:
    build, error, words = ALL[name]
    with pytest.raises(error) as caught:
        build()
    assert isinstance(caught.value, pgbn.PgbnError)
    for word in words:
        assert word in str(caught.value)


def test_the_order_of_the_paper_is_accepted() -> None:
    order = ["counts(x)", "counts(theta)", "c", "r", "theta"]
    assert deep().with_order(order).schedule.names == order


def test_cycles_are_refused() -> None:
    """Nodes are frozen, so only a file can hold a cycle."""
    text = poisson(gamma("a", gamma("b"))).to_json()
    knot = text.replace('"shape": 1.0', '"shape": {"node": "a"}')
    with pytest.raises(NetworkError, match=r"cycle: (a → b → a|b → a → b); use a Shift"):
        Network.from_json(knot)
    with pytest.raises(ValueError, match="frozen"):
        gamma().name = "other"


@pytest.mark.parametrize(
    "network",
    [
        lambda: poisson(1.0),
        lambda: poisson(gamma()),
        lambda: poisson(gamma("a", dims="doc") + gamma("b") + 0.5),
        lambda: poisson(gamma("t", Bernoulli("h", 0.5, dims="doc"), 1, dims="doc")),
        lambda: Network(PoissonGamma("x", gamma("a"), gamma("b") + gamma("c"), dims="doc")),
        lambda: poisson(Constant([1, 0, 2], dims="doc") * gamma()),
        lambda: Network(Poisson("x", gamma())),
    ],
)
def test_unusual_networks_work(network: Callable[[], Network]) -> None:
    """What is odd but well defined is not refused."""
    net = network()
    data = net.generate(seed=1, sizes=dict.fromkeys(net.dims, 3))
    chain = net.chain({"x": data["x"]}, seed=1).sweep(5)
    assert np.isfinite(chain.log_joint())
