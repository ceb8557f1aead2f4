"""Counts that are drawn belong to the values that they were drawn given: orders of own types."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import pgbn as pg
from pgbn.samplers import vectorised
from pgbn.testing import geweke


class Product(pg.extend.Observed):
    """x ~ Pois(first · second); the exposure of the second slot is drawn with its count."""

    tag: ClassVar[str] = "test_count_draws.product"
    first: pg.extend.Slot
    second: pg.extend.Slot

    def generate(self, stream: Any, **slots: Any) -> Any:
        return vectorised.poisson(stream, slots["first"] * slots["second"])


@pg.extend.evidence_rule(Product, "first", relation="given", exposure="second")
def _first(stream: Any, value: Any) -> Any:
    return value


@pg.extend.evidence_rule(Product, "second", relation="given", drawn=lambda node: node.dims)
def _second(stream: Any, value: Any, first: Any) -> pg.extend.Evidence:
    return pg.extend.Evidence(value, np.broadcast_to(first, stream.shape))


class DrawnGamma(pg.Gamma):
    """A gamma whose tables come with their exposure."""

    tag: ClassVar[str] = "test_count_draws.gamma"


@pg.extend.evidence_rule(DrawnGamma, "shape", relation="collapsed", drawn=lambda node: node.dims)
def _tables(stream: Any, count: Any, exposure: Any, shape: Any, rate: Any) -> pg.extend.Evidence:
    passed = np.broadcast_to(np.log1p(exposure / rate), stream.shape)
    return pg.extend.Evidence(vectorised.crt(stream, count, shape), passed)


class Parts(pg.extend.Observed):
    """x ~ Pois(first · (1 + second)): which counts are of the second part is drawn."""

    tag: ClassVar[str] = "test_count_draws.parts"
    first: pg.extend.Slot
    second: pg.extend.Slot

    def generate(self, stream: Any, **slots: Any) -> Any:
        return vectorised.poisson(stream, slots["first"] * (1 + slots["second"]))


@pg.extend.evidence_rule(Parts, "first", relation="given", exposure=lambda second: 1 + second)
def _all(stream: Any, value: Any) -> Any:
    return value


@pg.extend.evidence_rule(Parts, "second", relation="given", exposure="first")
def _some(stream: Any, value: Any, first: Any, second: Any) -> Any:
    return vectorised.binomial(stream, value, first * second / (first + first * second))


class Background(pg.extend.Observed):
    """x ~ Pois(rate + back): the link draws the counts of the rate."""

    tag: ClassVar[str] = "test_count_draws.background"
    rate: pg.extend.Slot
    back: pg.extend.Slot

    def generate(self, stream: Any, **slots: Any) -> Any:
        return vectorised.poisson(stream, slots["rate"] + slots["back"])


@pg.extend.link_rule(Background, "rate")
def _of_rate(stream: Any, value: Any, rate: Any, back: Any) -> Any:
    return vectorised.binomial(stream, value, rate / (rate + back))


pg.extend.evidence_rule(Background, "rate", relation="given", count="count", exposure=1.0)


class DrawnBackground(Background):
    tag: ClassVar[str] = "test_count_draws.drawn_background"


@pg.extend.evidence_rule(DrawnBackground, "back", relation="given", exposure=1.0)
def _again(stream: Any, value: Any, rate: Any, back: Any) -> Any:
    return vectorised.binomial(stream, value, back / (rate + back))


class RestBackground(Background):
    tag: ClassVar[str] = "test_count_draws.rest_background"


@pg.extend.evidence_rule(RestBackground, "back", relation="given", exposure=1.0)
def _rest(value: Any, count: Any) -> Any:
    return value - count


def under_a_shape() -> pg.Network:
    a = pg.Gamma("a", pg.Gamma("top", 1, 0.5), 0.5, dims="i")
    return pg.Network(Product("x", first=a, second=pg.Gamma("b", 1, 1, dims="i"), dims="i"))


def above_tables() -> pg.Network:
    """b hears the drawn counts, and its own shape hears tables of them."""
    b = pg.Gamma("b", pg.Gamma("top", 2, 1), 1, dims="i")
    a = pg.Gamma("a", 4, 4, dims="i")
    return pg.Network(Parts("x", first=a, second=b, dims=("i", "j")))


def exposed() -> pg.Network:
    theta = DrawnGamma("th", pg.Gamma("r", 1, 0.5), 1.0, dims="i")
    return pg.Network(pg.Poisson("x", theta * pg.Gamma("w", 1, 1, dims="i"), dims=("i", "j")))


SIZES = {"i": 2, "j": 2}


@pytest.mark.parametrize("replicates", [4_000, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("build", [under_a_shape, above_tables, exposed])
def test_the_order_that_is_derived_is_right(build: Any, replicates: int) -> None:
    network = build()
    sizes = {dim: SIZES[dim] for dim in network.dims}
    assert geweke(network, sizes, replicates, 6, seed=1).worst < 4


@pytest.mark.parametrize(
    ("build", "order", "message"),
    [
        (under_a_shape, ["counts(x)", "counts(a)", "top", "b", "a"], "b conditions on counts"),
        (above_tables, ["counts(x)", "counts(b)", "a", "top", "b"], "top conditions on counts"),
        (exposed, ["counts(x)", "counts(th)", "w", "r", "th"], "r conditions on counts"),
    ],
)
def test_orders_that_use_old_counts_are_refused(build: Any, order: Any, message: str) -> None:
    with pytest.raises(pg.StaleReadError, match=message):
        build().with_order(order)


@pytest.mark.parametrize("form", ["sum", "product", "mix"])
def test_what_was_drawn_for_another_slot_stays_current(form: str) -> None:
    g, k = (pg.Gamma(name, 4, 4, dims="i") for name in "gk")
    w, v = pg.Gamma("w", 4, 4, dims=("i", "u")), pg.Gamma("v", 4, 4, dims="u")
    first = {"sum": g + k, "product": g * k, "mix": w @ v}[form]
    sizes = {"u": 2} if form == "mix" else {}
    second = pg.Gamma("b", 4, 4, dims="i")
    network = pg.Network(Parts("x", first=first, second=second, dims=("i", "j")), sizes=sizes)
    assert geweke(network, SIZES, 5000, 4, seed=1).worst < 4


def test_a_link_and_a_rule_that_draw_apart_are_refused() -> None:
    g, h = (pg.Gamma(name, 4, 4, dims="i") for name in "gh")
    with pytest.raises(pg.MissingRuleError, match="'back' and 'rate' both draw"):
        pg.Network(DrawnBackground("x", rate=g, back=h, dims=("i", "j")))
    network = pg.Network(RestBackground("x", rate=g, back=h, dims=("i", "j")))
    assert geweke(network, SIZES, 4_000, 6, seed=1).worst < 4
