"""Which rows read an entry: by categories, by a lag, through an operation of a user's own."""

from __future__ import annotations

import pytest

import pgbn as pg
from pgbn.explain.algebra import Formula
from pgbn.explain.notation import Notation, entry_mark, over, readers_beside, weight_of
from tests.helpers.own_edges import Carried

DIMS = "day"


def received(rate: pg.nodes.expression.Expression) -> tuple[dict[str, str], str, str, str]:
    net = pg.Network(pg.Poisson("x", rate, dims=DIMS))
    notation = Notation(net)
    (source,) = net.wiring.sources["event"]
    inner, readers = readers_beside(notation, source, notation.index)
    weight = weight_of(notation, source, notation.index, inner).latex
    return inner, readers, weight, entry_mark(notation, source, notation.index)


EVENT = pg.Gamma("event", 1.0, 1.0, dims="day")
MONTHLY = pg.Gamma("event", 1.0, 1.0, dims="month")
MONTH = pg.Categories("month_of", dims="day", of="month", values=[0, 0, 1])


def test_a_plain_factor_has_equal_indices() -> None:
    inner, readers, weight, mark = received(2.0 * EVENT)
    assert list(inner) == ["day"]
    assert (readers, weight, mark) == ("", "1", "")


def test_categories_are_named() -> None:
    _, readers, weight, mark = received(MONTHLY[MONTH])
    assert "month" in readers
    assert " = " in readers
    assert (weight, mark) == ("1", "")


def test_a_lag_is_in_the_index() -> None:
    inner, readers, _, _ = received(pg.Shift(EVENT, along="day", initial=1.0, lag=2))
    assert inner["day"].endswith("+2")
    assert readers == ""


def test_an_operation_is_weighed_by_its_derivative() -> None:
    inner, readers, weight, mark = received(Carried(EVENT, axis=1, weights=(1.0, 0.5)))
    assert readers == inner["day"]
    assert inner["day"].endswith("'")
    assert r"\partial" in weight
    assert "event" in mark


@pytest.mark.parametrize(("readers", "wanted"), [("", "x"), ("j", r"\sum_{j} x")])
def test_a_sum_stands_where_there_are_readers(readers: str, wanted: str) -> None:
    assert over(readers, Formula("x")).latex == wanted
