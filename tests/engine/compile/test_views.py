"""Arrays that are read through an edge with its own evaluation, or through categories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pgbn as pg
from pgbn.engine.compile.program import View
from pgbn.network.terms import Lookup
from pgbn.testing import geweke
from tests.helpers.language import carried, with_edge
from tests.helpers.own_edges import Carried, Moving

DAYS = {"day": 3}
X = np.array([[3, 0], [1, 2], [4, 1]])


def moving(of: Any) -> Any:
    along = "time" if isinstance(of, pg.nodes.expression.Rename) else "day"
    return Moving(of, along=along, size=3, weights=(0.5, 0.3))


def test_it_has_the_value_and_the_density_of_what_it_stands_for() -> None:
    both = [with_edge(edge) for edge in (carried, moving)]
    start = both[0].chain({"x": X}, seed=2).sweep(3).values
    found = [net.chain({"x": X}, start=start).log_joint() for net in both]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_it_can_be_kept_explained_and_held() -> None:
    net = with_edge(carried)
    edge = carried(net["event"])
    draws = net.sample({"x": X}, burn_in=1, draws=2, keep={"e": net["event"], "felt": edge},
                       progress=False)  # fmt: skip
    np.testing.assert_allclose(draws["felt"], edge.evaluate(of=draws["e"][0])[None])
    text = str(net.explain())
    assert "summands s of Carried(event)" in text
    assert "∂ Carried(event)" in text
    given = {"a": np.ones((3, 2))}
    held = net.sample({"x": X}, given=given, burn_in=1, draws=1, progress=False)
    assert np.isfinite(held["scale"]).all()


EVENT = pg.Gamma("event", 1.5, 2.0, dims=("day", "place"))


def small(expression: Any, **sizes: int) -> pg.Network:
    return pg.Network(pg.Poisson("x", expression, dims=("day", "place")), sizes=sizes)


WRONG_RESULTS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "shape of the value": ("evaluate", lambda self, of: of[:, :1], r"evaluate\(\) returned an array"),
    "nan": ("evaluate", lambda self, of: of * np.nan, "not finite"),
    "no array": ("evaluate", lambda self, of: "of", "return an array"),
    "negative exposure": ("expose", lambda s, slot, exposure, shape: -exposure, "at least 0"),
    "no dict": ("split", lambda self, stream, count, of: count, "return a dict from the slots"),
    "reals": ("split", lambda self, stream, count, of: {"of": count * 0.5}, "return counts"),
    "lost": ("split", lambda self, stream, count, of: {"of": count // 2}, "every count goes to"),
    "zeros": ("evaluate", lambda self, of: of * 0.0, "has counts where its rate"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_RESULTS)
def test_what_an_edge_returns_is_checked(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, function, words = WRONG_RESULTS[wrong]
    monkeypatch.setattr(Carried, method, function)
    net = small(Carried(EVENT, axis=1, weights=(1.0, 0.5)))
    with pytest.raises(pg.PgbnError, match=words):
        net.chain({"x": X}).sweep(2)


def by_place(edge: Any) -> pg.Network:
    """Places whose days feel the days before; the level is all that places share."""
    event = pg.Gamma("event", 1.5, pg.Gamma("c", 4, 3), dims=("place", "day"))
    rate = pg.Gamma("level", 4, 2) * edge(event)
    return pg.Network(pg.Poisson("x", rate, dims=("place", "day")))


NEW = np.array([[3, 0, 1], [0, 9, 2], [3, 0, 1]])
SHARED = {"c": np.array(1.2), "level": np.array(2.0)}


def test_new_rows_along_dims_that_the_edge_calls_independent() -> None:
    """The law of what the edge stands for, and the same bits for a row alone and among others."""
    asked: dict[str, Any] = {"given": SHARED, "rows": "place", "burn_in": 100, "nodes": ["event"]}
    own, other = (by_place(edge).infer({"x": NEW}, draws=4000, seed=1, **asked)
                  for edge in (carried, moving))  # fmt: skip
    error = np.maximum(own.sd["event"], other.sd["event"]) / np.sqrt(300)  # draws are correlated
    assert (abs(own["event"] - other["event"]) < 4 * error).all()
    alone = by_place(carried).infer({"x": NEW[1:2]}, draws=10, **asked)
    among = by_place(carried).infer({"x": NEW}, draws=10, **asked)
    np.testing.assert_array_equal(alone["event"][0], among["event"][1])
    np.testing.assert_array_equal(among["event"][0], among["event"][2])


def test_an_operand_that_is_a_sum() -> None:
    """Every summand is evaluated alone, with its dims in the order of the others."""
    known = pg.Constant(np.arange(1.0, 7.0).reshape(2, 3), dims=("place", "day"))
    other = pg.Gamma("other", 1.5, 2.0, dims=("place", "day"))
    edge = Carried(EVENT + 2.0 * other + known, axis=1, weights=(0.5, 0.3))
    net = small(edge)
    keep = {"edge": edge, "event": EVENT, "other": other}
    found = net.sample({"x": X}, burn_in=1, draws=2, keep=keep, progress=False)
    whole = found["event"][0] + 2.0 * found["other"][0].transpose(0, 2, 1) + known.value.T
    np.testing.assert_allclose(found["edge"][0], edge.evaluate(of=whole))
    assert geweke(net, DAYS | {"place": 2}, replicates=2_000, sweeps=4).worst < 4
    low = pg.Gamma("low", 1.5, 2.0, dims="place")
    for summand, name in ((low, "low"), (0.5, "constant")):
        with pytest.raises(pg.NetworkError, match=rf"dims .'day', 'place'. to {name}, which has"):
            small(Carried(EVENT + summand, axis=1, weights=(0.5, 0.3)))


def test_independent_dims_are_dims_of_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Carried, "independent_dims", lambda self, of: ("hour",))
    with pytest.raises(pg.NetworkError, match=r"independent_dims\(\) returned \('hour',\)"):
        by_place(carried)


# ---- views through categories ---------------------------------------------------------------------


SIZES = {"doc": 4, "writer": 3, "year": 2, "topic": 5}
AUTHOR = Lookup("author", "writer", ("doc",))


def test_replicates_may_have_categories_of_their_own() -> None:
    own = np.array([[2, 0, 0, 2], [1, 1, 1, 0]])
    view = View((AUTHOR,), ("writer", "topic"), SIZES, {"author": own})
    shared = np.random.default_rng(0).random((1, 3, 5))
    assert np.array_equal(view.take(shared), shared[0][own])
    each = np.random.default_rng(0).random((2, 3, 5))
    assert np.array_equal(view.take(each), np.stack([each[0][own[0]], each[1][own[1]]]))
