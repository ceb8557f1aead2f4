"""Rules of a user: the wrong ones are refused in words, where their result is first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy import stats

import pgbn
from pgbn import DataError, MissingRuleError, Network, NetworkError, StaleReadError
from pgbn.extend import Evidence
from pgbn.nodes.base import Array
from pgbn.samplers import vectorised
from pgbn.samplers.random import Stream
from pgbn.testing import geweke

DATA = np.array([[1, 2, 3], [0, 4, 1]])


def own_counts(count: Callable[..., Any], **options: Any) -> type[pgbn.extend.Observed]:
    """A type of Poisson data whose rule for the rate has this function of the count."""

    class Own(pgbn.extend.Observed):
        rate: pgbn.extend.Slot

        def generate(self, stream: Stream, **slots: Any) -> Array:
            return vectorised.poisson(stream, slots["rate"])

    pgbn.extend.evidence_rule(Own, "rate", relation="given", **{"exposure": 1.0, **options})(count)
    return Own


def sweep(own: type[pgbn.extend.Observed], dims: tuple[str, ...] = ("i", "j")) -> Array:
    """The first draw of a gamma under a type; with two dims a kernel draws it."""
    net = Network(own("x", rate=pgbn.Gamma("g", 2, 2, dims=dims), dims=("i", "j")))
    return net.chain({"x": DATA}).sweep().values["g"]


@pytest.mark.parametrize("dims", [("i", "j"), ("i",), ()])
def test_a_right_rule(dims: tuple[str, ...]) -> None:
    drawn = sweep(own_counts(lambda stream, value: value), dims)
    computed = sweep(own_counts(lambda value: 1.0 * value), dims)
    assert drawn.shape == computed.shape == DATA.shape[: len(dims)]
    assert (drawn > 0).all()


@pytest.mark.parametrize("dims", [("i", "j"), ("i",), ()])
@pytest.mark.parametrize(
    ("count", "exposure", "words"),
    [
        (lambda value: -10.0 * value, 1.0, r"negative value -\d+ for 'shape'"),
        (lambda value: value, -5.0, r"negative value -\d+ for 'rate'"),
        (lambda value: value, lambda value: -5.0 * value, r"negative value -[\d.]+ for 'rate'"),
        (lambda value: value * np.nan, 1.0, "NaN for 'shape'"),
    ],
)
def test_a_wrong_sign_is_refused(
    dims: tuple[str, ...], count: Callable[..., Any], exposure: Any, words: str
) -> None:
    with pytest.raises(NetworkError, match=f"g: the draw rule of Gamma returned .*{words}") as told:
        sweep(own_counts(count, exposure=exposure), dims)
    assert "NaN" in words or "Own.rate of x" in str(told.value)


SHAPE = r"it must return an array of the shape \(1, 1, 2, 3\)"
WHOLE = "a count that is drawn must be 0, 1, 2"


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (lambda value: 1.0, f"returned 1.0 of the type float; {SHAPE}"),
        (lambda value: None, f"returned None; {SHAPE}"),
        (lambda value: np.ones(7), rf"returned an array of the shape \(7,\) .*; {SHAPE}"),
        (lambda value: value.astype(str), f"and the type <U21; {SHAPE}"),
        (lambda stream, value: None, f"returned None; {SHAPE}"),
        (lambda stream, value: value.sum(axis=2), rf"the shape \(1, 1, 3\) .*; {SHAPE}"),
        (lambda stream, value: value + 0.75, f"drew the count 1.75; {WHOLE}"),
        (lambda stream, value: -value, f"drew the count -1; {WHOLE}"),
        (lambda stream, value: value * np.nan, f"drew the count nan; {WHOLE}"),
        (lambda stream, value: Evidence(value, value), "returned an Evidence; .*drawn="),
    ],
)
def test_a_wrong_result_is_refused(count: Callable[..., Any], words: str) -> None:
    with pytest.raises(DataError, match=rf"x: the rule of Own for 'rate', <lambda>\(\), .*{words}"):
        sweep(own_counts(count))


@pytest.mark.parametrize(
    "count",
    [
        lambda value: 1.0 * value.T,
        lambda value: np.moveaxis(value, 2, 3),
        lambda stream, value: value + 1e30,
        lambda stream, value: value + np.inf,
    ],
    ids=["reversed", "moved", "beyond integers", "infinite"],
)
def test_results_that_would_be_misread_are_refused(count: Callable[..., Any]) -> None:
    with pytest.raises(DataError, match="x: the rule of Own for 'rate'"):
        sweep(own_counts(count), ("i",))


def test_a_wrong_exposure_is_refused() -> None:
    with pytest.raises(DataError, match=rf"for 'rate', <lambda>\(\), returned None; {SHAPE}"):
        sweep(own_counts(lambda value: value, exposure=lambda value: None))
    with pytest.raises(DataError, match="returned None; it must return one number"):
        sweep(own_counts(lambda value: value, exposure=lambda: None))
    options = {"exposure": None, "drawn": lambda node: node.dims}
    with pytest.raises(DataError, match=r"must return pgbn.extend.Evidence\(count, exposure\)"):
        sweep(own_counts(lambda stream, value: value, **options))
    with pytest.raises(DataError, match=r"returned as exposure 1.0 .* shape \(1, 2, 3\)"):
        sweep(own_counts(lambda stream, value: Evidence(value, 1.0), **options))


def test_a_wrong_link_is_refused() -> None:
    own = own_counts(lambda value: value)
    pgbn.extend.link_rule(own, "rate")(lambda stream, value: value + 0.5)
    pgbn.extend.evidence_rule(own, "rate", relation="given", count="count", exposure=1.0)
    with pytest.raises(DataError, match=f"x: .*for 'rate', .* drew the count 1.5; {WHOLE}"):
        sweep(own)


def test_a_draw_rule_returns_numbers() -> None:
    class Named(pgbn.Gamma):
        pass

    pgbn.extend.draw_rule(Named)(lambda count, rate: {"shape": None, "rate": rate})
    chain = Network(pgbn.Poisson("x", Named("g", 1, 1))).chain({"x": 3})
    with pytest.raises(NetworkError, match=r"g: .* returned None for 'shape'; return numbers"):
        _ = chain.sweep().values["g"]


# ---- several rules that draw --------------------------------------------------------------


class Pair(pgbn.extend.Observed):
    """Two slots with a rule each (no real distribution: for the checks)."""

    first: pgbn.extend.Slot
    second: pgbn.extend.Slot

    def generate(self, stream: Stream, **slots: Any) -> Array:
        return vectorised.poisson(stream, slots["first"] + slots["second"])


class Uneven(Pair):
    """The rule for the second slot reads the first one too."""


class Crossed(Pair):
    """Each rule reads the slot of the other too."""


def _tables(stream: Stream, value: Array, shape: Array) -> Evidence:
    return Evidence(vectorised.crt(stream, value, shape), value)


def _drawn(own: type[Pair], slot: str, count: Callable[..., Any]) -> None:
    pgbn.extend.evidence_rule(own, slot, relation="given", drawn=lambda node: node.dims)(count)


_drawn(Pair, "first", lambda stream, value, first: _tables(stream, value, first))
_drawn(Pair, "second", lambda stream, value, second: _tables(stream, value, second))
_drawn(Uneven, "second", lambda stream, value, first, second: Evidence(value, value))
_drawn(Crossed, "first", lambda stream, value, first, second: Evidence(value, value))
_drawn(Crossed, "second", lambda stream, value, first, second: Evidence(value, value))


def test_two_draws_that_read_each_others_slot_are_refused() -> None:
    g, h = pgbn.Gamma("g", 2, 2, dims="i"), pgbn.Gamma("h", 2, 2, dims="i")
    words = "x: the rules of Crossed for 'first' and 'second' both draw.*separate node.*link_rule"
    with pytest.raises(MissingRuleError, match=words):
        Network(Crossed("x", g, h, dims="i"))
    Network(Crossed("x", g, 1.0, dims="i"))  # one of them alone is right
    Network(Pair("x", g, h, dims="i"))


def test_a_draw_that_reads_another_slot_is_used_before_that_is_redrawn() -> None:
    """Else it belongs to an old value: such a sampler has |z| = 22 in `geweke`."""
    g, h = pgbn.Gamma("g", 2, 2, dims="i"), pgbn.Gamma("h", 2, 2, dims="i")
    net = Network(Uneven("x", g, h, dims="i"))
    assert [step.name for step in net.schedule] == ["counts(x)", "h", "g"]
    with pytest.raises(StaleReadError):
        net.with_order(["counts(x)", "g", "h"])
    even = Network(Pair("x", g, h, dims="i"))
    even.with_order(["counts(x)", "g", "h"])
    even.with_order(["counts(x)", "h", "g"])


# ---- rules of all forms together ----------------------------------------------------------


class SparseNegativeBinomial(pgbn.extend.Observed):
    """x ~ NB(r, p) again, with the data as counts that p hears and tables drawn from them."""

    r: pgbn.extend.Slot
    p: pgbn.extend.Slot

    def generate(self, stream: Stream, **slots: Any) -> Array:
        p = slots["p"]
        rate = vectorised.gamma(stream.child("rate"), slots["r"], (1 - p) / p)
        return vectorised.poisson(stream, rate)

    def log_density(self, value: Array, **slots: Any) -> Array:
        return stats.nbinom(slots["r"], 1 - slots["p"]).logpmf(value)


pgbn.extend.counts_are_data(SparseNegativeBinomial, "p")
pgbn.extend.evidence_rule(
    SparseNegativeBinomial, "p", relation="given", kind="probability", count="count", exposure="r"
)


@pgbn.extend.evidence_rule(SparseNegativeBinomial, "r", exposure=lambda p: -np.log1p(-p))
def _tables_of_data(stream: Stream, count: Array, r: Array) -> Array:
    return vectorised.crt(stream, count, r)


def test_linked_counts_and_drawn_counts_together() -> None:
    r, p = pgbn.Gamma("r", 2, 3, dims="doc"), pgbn.Beta("p", 3, 4, dims="term")
    net = pgbn.Network(SparseNegativeBinomial("x", r=r, p=p, dims=("doc", "term")))
    result = geweke(net, {"doc": 2, "term": 2}, replicates=4_000, sweeps=6)
    assert result.worst < 4, str(result)
    data = np.array([[3, 0], [1, 2]])
    chain = net.chain({"x": data}, start={"r": [1.0, 2.0], "p": [0.3, 0.6]})
    expected = stats.nbinom([[1.0], [2.0]], [0.7, 0.4]).logpmf(data).sum()
    assert chain.log_likelihood() == pytest.approx(expected)


class OwnGate(pgbn.LogitBernoulli):
    """A logistic gate with its rule again: counts of other kinds may be any numbers."""

    tag: ClassVar[str] = "tests.own_gate"


@pgbn.extend.evidence_rule(
    OwnGate, "logit", relation="given", kind="quadratic", drawn=lambda node: node.axes
)
def _logistic(stream: Stream, value: Array, logit: Array) -> Evidence:
    return Evidence(value - 0.5, vectorised.polya_gamma(stream, logit))


def test_counts_of_other_kinds_may_be_any_numbers() -> None:
    gate = OwnGate("h", pgbn.Normal("b", 0.0, 1.0), dims="i")
    net = Network(pgbn.Poisson("x", pgbn.Gamma("g", 1.0 * gate, 1.0, dims="i"), dims="i"))
    assert np.isfinite(net.chain({"x": [0, 3]}).sweep(2).values["b"])
