"""Bad input of the network builder, the zoo and JSON: a working network, or an error in words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pgbn
from pgbn import Constant, Dirichlet, Gamma, Network, Poisson, Self, Shift, zoo
from pgbn.errors import DataError, NetworkError
from pgbn.extend import Mix, Product, Sum
from tests.helpers.hostile import HUGE, ODD, attempt, campaign, odd, odd_or_huge, words

DATA = np.random.default_rng(0).poisson(1.0, (4, 3))


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check_sweep(network: Network, data: Any = None) -> bool:
    """A chain of the network runs, and stays finite."""
    if data is None:
        data = dict.fromkeys(network.observed, DATA)
    chain = network.chain(data, threads=1).sweep(2)
    assert all(np.isfinite(value).all() for value in chain.values.values())
    return True


# ---- nodes and operators ----------------------------------------------------------------

NODES = (pgbn.Gamma, pgbn.Dirichlet, pgbn.Beta, pgbn.BetaOdds, pgbn.Bernoulli, pgbn.Poisson,
         pgbn.BernoulliPoisson, pgbn.PoissonGamma, pgbn.Multinomial, Constant, Mix, Product, Sum,
         Shift, pgbn.Rename, Self)  # fmt: skip
FIELDS = ("shape", "rate", "concentration", "over", "dims", "a", "b", "probability", "noise",
          "total", "value", "factors", "terms", "of", "along", "initial", "names", "no_such")  # fmt: skip


@campaign(300)
@given(st.sampled_from(NODES), st.lists(odd | words, max_size=3),
       st.dictionaries(st.sampled_from(FIELDS), odd | words, max_size=3))  # fmt: skip
def test_nodes(make: Any, arguments: list[Any], fields: dict[str, Any]) -> None:
    # "argument": too many or too few by position, which Python itself refuses
    try:
        node = make(*arguments, **fields)
    except (NetworkError, TypeError) as error:
        text = str(error)
    else:
        text = f"{make.__name__} {node}"
    assert any(name in text for name in (make.__name__, "argument", *fields))


leaves = st.sampled_from([
    Gamma("a", 1, 1), Gamma("d", 1, 1, dims="doc"), Gamma("theta", 1, 1, dims=("doc", "topic")),
    Dirichlet("phi", 0.1, over="term", dims="topic"), Constant(2.0), Constant([1, 2, 3], dims="term"),
    Constant(np.ones((2, 2)), dims=("topic", "term")), Self(), 0.5, 2,
])  # fmt: skip


def _join(parts: Any) -> Any:
    first, second, operator = parts
    if operator == "shift":
        return lambda: Shift(first(), along="doc", initial=second())
    if operator == "rename":
        return lambda: first().rename(doc="term", topic="doc")
    return lambda: {"+": lambda a, b: a + b, "*": lambda a, b: a * b, "@": lambda a, b: a @ b,
                    "/": lambda a, b: a / b, "-": lambda a, b: a - b}[operator](first(), second())  # fmt: skip


expressions = st.recursive(
    leaves.map(lambda leaf: lambda: leaf),
    lambda inner: st.tuples(
        inner, inner, st.sampled_from(["+", "*", "@", "/", "-", "shift", "rename"])
    ).map(_join),
    max_leaves=6,
)


@campaign(300)
@given(expressions, st.sampled_from([("doc", "term"), ("doc",), ("doc", "topic"), ()]))
def test_expressions(build: Callable[[], Any], dims: tuple[str, ...]) -> None:
    def run() -> bool:
        try:
            rate = build()
        except (TypeError, AttributeError, ZeroDivisionError):  # 2 @ 2, or 2 .rename: of Python
            return True
        network = Network(Poisson("x", rate, dims=dims), sizes={})
        sizes = {dim: {"doc": 4, "term": 3}.get(dim, 2) for dim in network.dims}
        network = network.with_sizes(**sizes)
        data = network.generate(sizes=sizes)["x"]
        return check_sweep(network, {"x": np.minimum(data, 1000)})

    attempt(run, ["x", "Shift", "sizes", "/", "-", "Mix", "rename", "a", "d"])


def test_expressions_that_explode_are_refused_at_once() -> None:
    a = Gamma("a", 1, 1)

    def double() -> Any:
        sum_of = a
        for _ in range(60):
            sum_of = sum_of + sum_of
        return sum_of

    def multiply() -> Any:
        product: Any = a
        for n in range(40):
            product = product * (Gamma(f"b{n}", 1, 1) + Gamma(f"c{n}", 1, 1))
        return product

    def nest() -> Any:
        deep: Any = a
        for n in range(2000):
            deep = deep + Gamma(f"b{n}", 1, 1)
        return deep

    for build in (double, multiply, nest):
        with pytest.raises(NetworkError, match="is too large"):
            build()


def test_networks_of_too_many_nodes_are_refused_at_once() -> None:
    for layers in (200, 3000):
        with pytest.raises(NetworkError, match="nodes"):
            zoo.pgbn([2] * layers)
    assert len(zoo.pgbn([2] * 20)) > 60


# ---- the verbs of a network ---------------------------------------------------------------

VERBS = {
    "sample": ("burn_in", "draws", "thin", "chains", "seed", "keep", "sampler", "threads"),
    "chain": ("seed", "chain", "start", "sampler", "threads"),
    "generate": ("seed", "sizes", "given"),
    "explain": ("format",),
    "with_order": ("order",),
    "from_json": ("text",),
}
CALLS = [(verb, name) for verb, names in VERBS.items() for name in names]
SLOW = ("burn_in", "thin")  # a huge number is work that was asked for


@campaign(300)
@given(st.sampled_from(CALLS), odd_or_huge)
def test_verbs(call: tuple[str, str], value: Any) -> None:
    verb, name = call
    if name in SLOW and any(value is huge for huge in HUGE):
        return
    fields: dict[str, Any] = {name: value}
    if verb in ("sample", "chain"):
        fields["data"] = {"x": DATA}
    if verb == "sample":
        fields = {"burn_in": 1, "draws": 2, "progress": False, "threads": 1, **fields}
    if verb == "generate":
        fields.setdefault("sizes", {"doc": 3, "term": 3})
    network = zoo.pfa(3)
    attempt(lambda: getattr(network, verb)(**fields), [name, "sizes", "not a network", "dim 'doc'"])


@pytest.mark.parametrize(
    "size", [*HUGE, *(value for value in ODD if not isinstance(value, np.ndarray))]
)
def test_sizes(size: Any) -> None:
    network = zoo.pfa(3)
    attempt(
        lambda: network.with_sizes(topic1=size).generate(sizes={"doc": 3, "term": 3}), ["topic1"]
    )
    attempt(lambda: network.generate(sizes={"doc": size, "term": 3}), ["doc"])
    attempt(lambda: network.chain({"x": size}), ["x"])
    attempt(lambda: network.chain(size), ["data"])


def test_draws_that_do_not_fit_into_memory() -> None:
    with pytest.raises(DataError, match=r"draws=1000000000000, .* would need .* GB of memory"):
        zoo.pfa(3).sample({"x": DATA}, draws=10**12, threads=1, progress=False)
    with pytest.raises(DataError, match=r"threads=1000000000 must be at most"):
        zoo.pfa(3).chain({"x": DATA}, threads=10**9)
